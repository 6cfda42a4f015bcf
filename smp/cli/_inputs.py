"""Reading documents: files, directories, standard input; and which of them take part."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from io import BytesIO
from typing import Final

import click
import msgspec

from smp.cli._errors import printable
from smp.cli._objects import Object, is_object
from smp.documents import Document, read, read_one
from smp.errors import DocumentError

STDIN: Final = "-"
_CLOSED: Final = BytesIO()  # sys.stdin is None where the caller closed it
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_NO_OBJECT: Final = "not a Kubernetes object: no apiVersion, no kind"


class Inputs(msgspec.Struct):
    """What one run of the command reads, and what of it was passed over and why."""

    skipped: list[tuple[Document, str]] = []
    definitions: list[Document] = []
    stdin_is_read: bool = False

    def data(self, path: str) -> bytes:
        """Read a file or standard input. Raises DocumentError."""
        try:
            return self._stdin() if path == STDIN else _content(path)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else "") or str(
                error
            )
            raise DocumentError(
                f"cannot read it: {reason}", code="unreadable", source=name_of(path)
            ) from None

    def _stdin(self) -> bytes:
        if self.stdin_is_read:
            raise DocumentError(
                "standard input can be read only once",
                code="unreadable",
                source=name_of(STDIN),
            )
        self.stdin_is_read = True
        data: bytes = getattr(sys.stdin, "buffer", _CLOSED).read()
        return data

    def files(self, path: str, suffixes: Collection[str] = _SUFFIXES) -> list[str]:
        """List the files of a directory, at any depth; a file is its own list. Raises
        DocumentError for none.
        """
        if path == STDIN or not os.path.isdir(path or "."):
            return [path]
        from pathlib import Path

        found = [
            str(Path(folder) / name)
            for folder, _, names in os.walk(path)
            for name in names
        ]
        wanted = sorted(name for name in found if Path(name).suffix in suffixes)
        if not wanted:
            hint = "files end in " + ", ".join(sorted(suffixes))
            raise DocumentError(
                "there is no document in the directory",
                code="no-documents",
                source=path,
                hint=hint,
            )
        return wanted

    def one(self, path: str) -> Document:
        """Read the only document of a file. Raises DocumentError."""
        return read_one(self.data(path), source=name_of(path))

    def documents(self, paths: Iterable[str]) -> list[Document]:
        """Read every document of files and directories. Raises DocumentError, also
        where a named file has none.
        """
        return [document for path in paths for document in self._documents(path)]

    def _documents(self, path: str) -> Iterator[Document]:
        files = self.files(path)
        for file in files:
            try:
                yield from read(self.data(file), source=name_of(file))
            except DocumentError as error:
                # A file of a directory was not asked for by name; it may be empty.
                if error.code != "empty-document" or files == [path]:
                    raise
                self.skipped.append((Document(None, file, 1), error.problem))

    def objects(self, paths: Iterable[str]) -> list[Object]:
        """Read every Kubernetes object; other documents are passed over. Raises
        DocumentError where none is left.
        """
        return [each for path in paths for each in self._objects(path)]

    def _objects(self, path: str) -> list[Object]:
        documents = self.documents([path])
        found = [Object.of(each) for each in documents if is_object(each)]
        if not found:
            hint = "an object has apiVersion and kind"
            raise DocumentError(
                "no Kubernetes object in it",
                code="no-objects",
                source=name_of(path),
                hint=hint,
            )
        self.skipped += [
            (each, _NO_OBJECT) for each in documents if not is_object(each)
        ]
        self.definitions += [
            each.document
            for each in found
            if each.group_kind[1] == "CustomResourceDefinition"
        ]
        return found

    def skip(self, objects: Iterable[Object], reason: str) -> None:
        """Remember objects that take no part."""
        self.skipped += [(each.document, f"{each.label}: {reason}") for each in objects]

    def report_skipped(self) -> None:
        """Count and name on standard error what was passed over."""
        if self.skipped:
            plural = "s" if len(self.skipped) > 1 else ""
            click.echo(f"smp: skipped {len(self.skipped)} document{plural}:", err=True)
        for document, reason in self.skipped:
            click.echo(
                f"  {printable(f'{document.source}:{document.line}: {reason}')}",
                err=True,
            )


def _content(path: str) -> bytes:
    with open(path or ".", "rb") as file:
        return file.read()


def name_of(path: str) -> str:
    """Return the name that messages call a file by."""
    return "<stdin>" if path == STDIN else path
