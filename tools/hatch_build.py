"""The build hooks: the engine compiled with mypyc, and what an index page shows.

The same source is compiled that is interpreted without it. A wheel is compiled where
there is a C compiler, and pure Python otherwise; an editable installation is never
compiled. The environment variable SMP_COMPILE overrides this: with 0 nothing is
compiled, with 1 the build fails where the engine cannot be compiled. Where it is not
set, nothing is compiled for a hook of pre-commit. SMP_COMPILE_LEVEL is how much the C
compiler optimizes: 1 by default, 3 for the wheels of a release.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from email.parser import HeaderParser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

MODULES = (
    "smp/_values/steps.py",
    "smp/_values/values.py",
    "smp/_values/api_objects.py",
    "smp/_values/quantities.py",
    "smp/_values/times.py",
    "smp/_values/sharing.py",
    "smp/documents/_scalars.py",
    "smp/documents/_heads.py",
    "smp/documents/_yaml_lines.py",
    "smp/documents/_yaml_writer.py",
    "smp/schema/model.py",
    "smp/schema/plan.py",
    "smp/schema/walk.py",
    "smp/schema/sides.py",
    "smp/schema/structural.py",
    "smp/_storage/defaults/_rules.py",
    "smp/_storage/defaults/_filling.py",
    "smp/_strategic/_go_sort.py",
    "smp/_strategic/_ordering.py",
    "smp/_strategic/_directives.py",
    "smp/_strategic/_patch_merge.py",
    "smp/_strategic/_diff.py",
    "smp/_strategic/_apply.py",
    "smp/_strategic/_leftovers.py",
    "smp/_strategic/_conflicts.py",
    "smp/_strategic/_patch_paths.py",
    "smp/_strategic/_whole_objects.py",
    "smp/_values/names.py",
    "smp/_storage/typed_storage/_scalars.py",
    "smp/_storage/typed_storage/_plan.py",
    "smp/_storage/typed_storage/_decoding.py",
    "smp/_storage/typed_storage/_stored.py",
    "smp/_storage/protobuf/_messages.py",
    "smp/_storage/protobuf/wire.py",
    "smp/_storage/protobuf/_decoding.py",
    "smp/_storage/enums.py",
    "smp/validation/_formats.py",
    "smp/validation/_judged.py",
    "smp/validation/_value_checks.py",
    "smp/validation/_metadata_checks.py",
    "smp/validation/_quantity_checks.py",
    "smp/validation/_selector_checks.py",
    "smp/validation/_pod_checks.py",
    "smp/validation/_network_checks.py",
    "smp/validation/_job_checks.py",
    "smp/validation/_content_checks.py",
    "smp/validation/_rule.py",
    "smp/custom_resources/_schema_node.py",
    "smp/custom_resources/_structure.py",
    "smp/custom_resources/_invariants.py",
    "smp/custom_resources/_cel_values.py",
    "smp/custom_resources/_rules.py",
    "smp/unions/_situation.py",
    "smp/unions/_defaults.py",
    "smp/unions/_normalize.py",
    "smp/unions/_validate.py",
    "smp/_storage/semantic_equality.py",
    "smp/_storage/service_addresses.py",
    "smp/_storage/update_rules.py",
    "smp/_storage/update.py",
    "smp/_storage/immutable.py",
    "smp/managed_fields/_elements.py",
    "smp/managed_fields/_set_walks.py",
    "smp/managed_fields/_shapes.py",
    "smp/managed_fields/_compare.py",
    "smp/managed_fields/_fields_below.py",
    "smp/managed_fields/_typed.py",
    "smp/managed_fields/_creation.py",
    "smp/managed_fields/_merge.py",
    "smp/managed_fields/_ownership.py",
    "smp/hazards/_objects.py",
    "smp/hazards/_last_applied.py",
    "smp/hazards/_changes.py",
    "smp/hazards/_find.py",
    "smp/handler/_shape.py",
    "smp/_storage/conformance.py",
    "smp/lint/_rules.py",
    "smp/handler/_identity.py",
    "smp/handler/_request.py",
    "smp/handler/_pipeline.py",
    "smp/wire/partial.py",
    "smp/comparison/_meanings.py",
    "smp/comparison/_walk.py",
    "smp/explain/_sides.py",
    "smp/explain/_judgement.py",
    "smp/explain/_explanation.py",
    "smp/managed_fields/_owned_paths.py",
    "smp/fleet/_objects.py",
    "smp/fleet/_memory.py",
    "smp/fleet/_equality.py",
    "smp/wire/_lazy.py",
    "smp/server/objects/metadata.py",
    "smp/server/registry/envelope.py",
)
_OLDEST_PYTHON = (3, 11)
PROGRESS_SECONDS = 10
REQUIREMENTS = ("msgspec>=0.19", "mypy>=2.4", "setuptools>=80")


# The type argument would be a class for the hook's configuration, which has none.
class CompiledEngine(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled modules to a wheel, beside their sources."""

    _temporary: Path | None = None

    def dependencies(self) -> list[str]:
        """Return the requirements of a build that compiles; none for another.

        Exits where Python is too old.
        """
        # pip compares requires-python only after it has looked for the dependencies,
        # and its message would be about one of those.
        if sys.version_info < _OLDEST_PYTHON:
            running = ".".join(str(number) for number in sys.version_info[:3])
            raise SystemExit(
                f"strategic-merge-patch needs Python 3.11 or newer, this is {running}"
            )
        if self.target_name == "wheel" and _is_wanted(Path(self.root)):
            return [*REQUIREMENTS]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the engine, and add the libraries to the wheel."""
        if version != "standard" or not _is_wanted(Path(self.root)):
            return
        self._temporary = Path(mkdtemp())
        say = self.app.display_info
        say(f"compiling {len(MODULES)} modules, a minute; SMP_COMPILE=0 skips it")
        try:
            libraries = compiled(Path(self.root), self._temporary, say)
        except (Exception, SystemExit) as error:  # mypyc exits where it finds an error
            if _setting() == "1":
                raise
            self.app.display_warning(
                f"the engine stays pure Python, which is up to four times slower: it"
                f" could not be compiled: {error}"
            )
            return
        build_data["force_include"].update(
            {str(self._temporary / name): name for name in libraries}
        )
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        """Remove the intermediate files."""
        del version, build_data, artifact_path
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


class IndexPage(MetadataHookInterface):
    """Writes what an index shows: the long description, and the project's URLs.

    It is read where the repository is not, so relative links of the README lead
    nowhere. The environment variable SMP_README_BASE is the address that they are
    relative to, such as https://HOST/OWNER/REPOSITORY/blob/v0.2.0; without it they are
    plain text. The URLs are below SMP_REPOSITORY_URL; an sdist keeps them for the
    wheels that are built from it, and other sources have none, as a fork is elsewhere.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme and the URLs of the project."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        base = os.environ.get("SMP_README_BASE", "").rstrip("/")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": readme_of_an_index(text, base),
        }
        repository = os.environ.get("SMP_REPOSITORY_URL", "").rstrip("/")
        metadata["urls"] = urls_of(repository, Path(self.root, "PKG-INFO"))


def urls_of(repository: str, published: Path) -> dict[str, str]:
    """Return the URLs below that of a repository, or those that an sdist has."""
    if repository:
        return {
            "Repository": repository,
            "Documentation": f"{repository}/tree/HEAD/docs",
            "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
    if not published.exists():
        return {}
    headers = HeaderParser().parsestr(published.read_text(encoding="utf-8"))
    urls: dict[str, str] = {}
    for line in headers.get_all("Project-URL", []):
        name, _, url = line.partition(", ")
        urls[name] = url
    return urls


def readme_of_an_index(text: str, base: str) -> str:
    """Make the relative links of a README absolute, or plain text without a base.

    A picture is taken as it is, not as a page about it, and left out without a base.
    """
    link = r"\[([^]]+)\]\((?!https?:)([^)]+)\)"
    picture = f"!{link}"
    if base:
        text = re.sub(picture, rf"![\1]({base}/\2?raw=true)", text)
        return re.sub(link, rf"[\1]({base}/\2)", text)
    return re.sub(link, r"\1", re.sub(rf"{picture}\n\n", "", text))


def compiled(root: Path, target: Path, say: Callable[[str], None]) -> list[str]:
    """Compile the engine of a source tree into a folder, and say how far it is.

    Return the paths of the libraries within the folder.
    """
    # These are installed only for builds that compile (see ``dependencies``).
    from mypyc.build import mypycify  # noqa: PLC0415 - see above
    from setuptools import Distribution  # noqa: PLC0415 - see above
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415 - see above

    class ParallelBuild(build_ext):  # type: ignore[misc]  # setuptools has no types
        def build_extensions(self) -> None:
            compile_sources(self, say)
            super().build_extensions()

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
            opt_level=os.environ.get("SMP_COMPILE_LEVEL", "1"),
            debug_level="0",
            multi_file=True,
            group_name="smp.engine",
            target_dir=str(target / "c"),
        )
        # With a dot in the name of the group, mypyc writes headers a folder deeper than
        # where it includes them from.
        for extension in extensions:
            extension.include_dirs.append(str(target / "c" / "smp"))
        options = {"name": "smp", "ext_modules": extensions}
        build = ParallelBuild(Distribution(options))
        build.build_lib = str(target)
        build.build_temp = str(target / "o")
        build.parallel = os.cpu_count()
        build.ensure_finalized()
        build.run()
    finally:
        os.chdir(before)
    return sorted(
        str(path.relative_to(target))
        for path in (target / "smp").rglob("*")
        if path.is_file()
    )


def compile_sources(build: Any, say: Callable[[str], None]) -> None:
    """Compile the sources of all extensions, one per processor at a time.

    What is left for setuptools is to link the objects. (Its own option ``parallel`` is
    for several extensions, and here one has nearly all of the code.)
    """
    pool = ThreadPoolExecutor(os.cpu_count())
    jobs = []
    for extension in build.extensions:
        of_extension = [
            pool.submit(
                build.compiler.compile,
                [source],
                output_dir=build.build_temp,
                include_dirs=extension.include_dirs,
                extra_postargs=extension.extra_compile_args,
            )
            for source in sorted(extension.sources)
        ]
        jobs.append((extension, of_extension))
    left = {job for _, of_extension in jobs for job in of_extension}
    count = len(left)
    try:
        while left:
            done, left = wait(left, PROGRESS_SECONDS, FIRST_EXCEPTION)
            say(f"compiled {count - len(left)} of {count} C files")
            for job in done:
                job.result()
    finally:
        pool.shutdown(cancel_futures=True)
    for extension, of_extension in jobs:
        extension.sources = []
        extension.extra_objects = [
            name for job in of_extension for name in job.result()
        ]


def _setting() -> str:
    return os.environ.get("SMP_COMPILE", "")


def _is_wanted(root: Path) -> bool:
    if _setting() in ("0", "1"):
        return _setting() == "1"
    if sys.implementation.name != "cpython" or _is_for_hook(root):
        return False
    return _has_compiler()


def _is_for_hook(root: Path) -> bool:
    """Tell whether this is for a hook of Git, as then a commit waits for it.

    The environments of pre-commit have such a name (``lang_base.environment_dir``), and
    prek has a file of its own in its clone of the repository.
    """
    of_pre_commit = Path(sys.prefix).name.startswith("py_env-")
    return of_pre_commit or (root / ".prek-repo.json").exists()


def _has_compiler() -> bool:
    command = (sysconfig.get_config_var("CC") or "cl").split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(command) is not None and header.exists()
