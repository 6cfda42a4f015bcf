"""Reading Go sources from disk: the edge of this package, which the generator never
imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Final

from smp.errors import DocumentError

_GENERATED: Final = ("_test.go", ".pb.go")
_ELSEWHERE: Final = frozenset({"vendor", "testdata"})


def read_sources(paths: Iterable[str | PathLike[str]]) -> dict[str, str]:
    """Read Go files, and the files of directories and what is below them, by path.

    Of directories, tests, ``zz_generated`` and protobuf files are left out, and so are
    ``vendor``, ``testdata`` and what is hidden, as Go's own tools do. Raises
    DocumentError (code unreadable-file).
    """
    return {
        str(path): _read(path) for given in paths for path in _go_files(Path(given))
    }


def _go_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*.go")):
        below = file.relative_to(path).parts
        hidden = any(part[0] in "._" or part in _ELSEWHERE for part in below)
        if (
            not hidden
            and not file.name.endswith(_GENERATED)
            and not file.name.startswith("zz_generated")
        ):
            yield file


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DocumentError(
            f"cannot read it: {reason}",
            code="unreadable-file",
            source=str(path),
            hint="a Go file, or a directory",
        ) from None
