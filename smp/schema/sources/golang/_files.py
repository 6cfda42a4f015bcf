"""Go sources read from disk: the rest of the package does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Final

from smp.errors import DocumentError

_GENERATED: Final = ("_test.go", ".pb.go")
_LEFT_OUT: Final = frozenset({"vendor", "testdata"})


def read_sources(paths: Iterable[str | PathLike[str]]) -> dict[str, str]:
    """Read Go files, and those of directories and what is below them, by path.

    In directories, tests, ``zz_generated`` and protobuf files are left out, and so are
    ``vendor``, ``testdata`` and names that begin with a dot or an underscore, as the go
    command does. Raises DocumentError (code unreadable-file, or missing-source for a
    directory without Go files).
    """
    sources: dict[str, str] = {}
    for argument in paths:
        found = [*_go_files(Path(argument))]
        if not found:
            raise DocumentError(
                "there is no Go file in the directory",
                code="missing-source",
                source=str(argument),
                hint="tests, generated files, vendor and testdata are left out",
            )
        for path in found:
            try:
                sources[str(path)] = path.read_text(encoding="utf-8")
            except OSError as error:
                raise _unreadable(path, str(error.strerror)) from None
            except ValueError:
                raise _unreadable(path, "the file is not UTF-8") from None
    return sources


def _go_files(path: Path) -> Iterator[Path]:
    """Yield a file itself, and of a directory the files that declare types."""
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*.go")):
        parts = file.relative_to(path).parts
        if any(part[0] in "._" or part in _LEFT_OUT for part in parts):
            continue
        generated = file.name.endswith(_GENERATED)
        if not generated and not file.name.startswith("zz_generated"):
            yield file


def _unreadable(path: Path, reason: str) -> DocumentError:
    return DocumentError(
        f"cannot read the file: {reason}",
        code="unreadable-file",
        source=str(path),
        hint="a Go file, or a directory",
    )
