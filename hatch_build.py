"""The build hook that compiles the engine with mypyc, from the very source that is
otherwise interpreted.

A wheel is compiled where there is a C compiler, and pure Python otherwise; an editable
installation is never compiled. The environment variable SMP_COMPILE decides
differently: 0 never compiles, 1 fails where it cannot.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = (
    "smp/values.py",
    "smp/schema/model.py",
    "smp/schema/walk.py",
    "smp/strategic/_ordering.py",
    "smp/strategic/_directives.py",
    "smp/strategic/_diff.py",
    "smp/strategic/_apply.py",
    "smp/strategic/_conflicts.py",
    "smp/strategic/_patch_paths.py",
    "smp/enums.py",
    "smp/unions/_intent.py",
    "smp/unions/_situation.py",
    "smp/unions/_normalize.py",
    "smp/unions/_validate.py",
    "smp/unions/_operations.py",
    "smp/update.py",
    "smp/three_way.py",
    "smp/strategic/_operations.py",
    "smp/handler/_shape.py",
    "smp/handler/_conformance.py",
    "smp/handler/_identity.py",
    "smp/handler/_request.py",
    "smp/handler/_pipeline.py",
    "smp/wire/partial.py",
    "smp/codec.py",
    "smp/wire/_lazy.py",
    "smp/wire/_operations.py",
)
REQUIREMENTS = ("msgspec>=0.19", "mypy>=2.4", "setuptools>=80")


class CompiledEngine(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's configuration, which is not used
    """Adds the compiled modules to a wheel, beside their sources."""

    _temporary: Path | None = None

    def dependencies(self) -> list[str]:
        """Return what compiling needs, if there is to be any."""
        return [*REQUIREMENTS] if self.target_name == "wheel" and _wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what came out."""
        if version != "standard" or not _wanted():
            return
        self._temporary = Path(mkdtemp())
        try:
            libraries = compiled(Path(self.root), self._temporary)
        except (Exception, SystemExit) as error:  # whatever a compiler comes up with
            if _setting() == "1":
                raise
            self.app.display_warning(
                f"the engine stays pure Python: it could not be compiled: {error}"
            )
            return
        build_data["force_include"].update(
            {str(self._temporary / name): name for name in libraries}
        )
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        """Remove what was built on the way."""
        del version, build_data, artifact_path
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


def compiled(root: Path, target: Path) -> list[str]:
    """Compile the engine of a source tree into a folder, and return the paths of the
    libraries within it.
    """
    from mypyc.build import mypycify
    from setuptools import Distribution

    before = Path.cwd()
    os.chdir(root)
    try:
        extensions = mypycify(
            [
                "--config-file=",
                "--follow-imports=silent",
                "--ignore-missing-imports",
                *MODULES,
            ],
            debug_level="0",
            group_name="smp.engine",
            target_dir=str(target / "c"),
        )
        build = Distribution(
            {"name": "smp", "ext_modules": extensions}
        ).get_command_obj("build_ext")
        build.build_lib, build.build_temp = str(target), str(target / "o")
        build.ensure_finalized()
        build.run()
    finally:
        os.chdir(before)
    return sorted(
        str(path.relative_to(target))
        for path in (target / "smp").rglob("*")
        if path.is_file()
    )


def _setting() -> str:
    return os.environ.get("SMP_COMPILE", "")


def _wanted() -> bool:
    return _setting() == "1" or (
        _setting() != "0" and sys.implementation.name == "cpython" and _has_compiler()
    )


def _has_compiler() -> bool:
    command = (sysconfig.get_config_var("CC") or "cl").split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(command) is not None and header.exists()
