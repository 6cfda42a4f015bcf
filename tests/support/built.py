"""Programs in Go that are built from a module of this folder of tests.

A build takes minutes and a gigabyte of Go's caches the first time, and is kept in the
user's cache directory. An environment variable is the path of a program to use instead,
or ``build`` to build one where there is none yet. Without either, tests that need the
program are skipped where none was built.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple


class GoProgram(NamedTuple):
    """The program ``command`` of the module ``required``, as the go.mod in ``folder``
    pins it; ``variable`` is that of the environment.
    """

    folder: Path
    required: str
    command: str
    variable: str

    def version(self) -> str:
        """Return the version that the Go module pins."""
        text = (self.folder / "go.mod").read_text()
        required = re.search(rf"\b{re.escape(self.required)} (v\S+)", text)
        assert required
        return required[1]

    def binary(self) -> Path | None:
        """Return the program to use, built if that was asked for, or None."""
        return _binary(self)


@cache
def _binary(program: GoProgram) -> Path | None:
    asked = os.environ.get(program.variable, "")
    if asked not in {"", "build"}:
        return Path(asked)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = program.command.rpartition("/")[2]
    built = cache / "smp-tests" / f"{name}-{program.version()}"
    if not built.exists() and asked == "build":
        built.parent.mkdir(parents=True, exist_ok=True)
        # Built beside its place: another process may look for it meanwhile.
        unfinished = built.with_suffix(f".{os.getpid()}")
        command = f"{program.required}/{program.command}"
        subprocess.run(
            ["go", "build", "-ldflags=-s -w", "-o", unfinished, command],  # noqa: S607
            cwd=program.folder,
            check=True,
        )
        unfinished.rename(built)
    return built if built.exists() else None
