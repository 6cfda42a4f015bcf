"""Reading documents from files, directories and standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from io import BytesIO
from typing import Final

import click

from smp.cli._errors import printable
from smp.cli._objects import Object, is_object
from smp.documents import Document, read, read_one
from smp.errors import DocumentError

STDIN: Final = "-"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_NOT_AN_OBJECT: Final = "not a Kubernetes object: no apiVersion, no kind"


class Inputs:
    """What one run of a command reads.

    ``skipped`` are the documents that take no part, each with the reason;
    ``definitions`` the CustomResourceDefinitions among the objects.
    """

    def __init__(self) -> None:
        self.skipped: list[tuple[Document, str]] = []
        self.definitions: list[Document] = []
        self._stdin_is_read = False

    def data(self, path: str) -> bytes:
        """Read a file or standard input. Raises DocumentError."""
        try:
            # A second read would return an empty text.
            if path == STDIN and self._stdin_is_read:
                raise DocumentError(
                    "standard input can be read only once",
                    code="unreadable",
                    source=name_of(path),
                )
            if path == STDIN:
                self._stdin_is_read = True
                # sys.stdin is None where the caller closed it.
                data: bytes = getattr(sys.stdin, "buffer", BytesIO()).read()
                return data
            with open(path or ".", "rb") as file:  # noqa: PTH123  # without pathlib
                return file.read()
        # open() raises ValueError for a path with a null character.
        except (OSError, ValueError) as error:
            reason = str(error)
            if isinstance(error, OSError) and error.strerror:
                reason = error.strerror
            raise DocumentError(
                f"cannot read the file: {reason}",
                code="unreadable",
                source=name_of(path),
            ) from None

    def files(self, path: str, suffixes: Collection[str] = _SUFFIXES) -> list[str]:
        """List the files of a directory, at any depth; a file is its own list.

        Raises DocumentError for a directory without files of these suffixes.
        """
        # data() reports a path that does not exist.
        if path == STDIN or not os.path.isdir(path or "."):  # noqa: PTH112  # as above
            return [path]
        from pathlib import Path  # noqa: PLC0415  # loading it takes longer than a file

        files = [
            str(Path(folder) / name)
            for folder, _, names in os.walk(path)
            for name in names
            if Path(name).suffix in suffixes
        ]
        if not files:
            raise DocumentError(
                "no document found in the directory",
                code="no-documents",
                source=path,
                hint="files end in " + ", ".join(sorted(suffixes)),
            )
        return sorted(files)

    def document(self, path: str) -> Document:
        """Read the only document of a file. Raises DocumentError."""
        return read_one(self.data(path), source=name_of(path))

    def documents(self, paths: Iterable[str]) -> list[Document]:
        """Read every document of files and directories. Raises DocumentError."""
        documents: list[Document] = []
        for path in paths:
            files = self.files(path)
            for file in files:
                try:
                    documents += read(self.data(file), source=name_of(file))
                except DocumentError as error:
                    # A file in a directory may be empty; one that is named may not.
                    if error.code != "empty-document" or files == [path]:
                        raise
                    self.skipped.append((Document(None, file, 1), error.problem))
        return documents

    def objects(self, paths: Iterable[str]) -> list[Object]:
        """Read every Kubernetes object; other documents are skipped.

        Raises DocumentError, also for a path without objects.
        """
        objects: list[Object] = []
        for path in paths:
            documents = self.documents([path])
            if not any(is_object(document) for document in documents):
                raise DocumentError(
                    "no Kubernetes object found",
                    code="no-objects",
                    source=name_of(path),
                    hint="an object has apiVersion and kind",
                )
            for document in documents:
                if is_object(document):
                    objects.append(Object.of(document))
                else:
                    self.skipped.append((document, _NOT_AN_OBJECT))

        # A manifest often has a CustomResourceDefinition and objects of its kind.
        for obj in objects:
            _group, kind = obj.group_kind
            if kind == "CustomResourceDefinition":
                self.definitions.append(obj.document)
        return objects

    def skip(self, objects: Iterable[Object], reason: str) -> None:
        """Remember objects that take no part."""
        self.skipped += [(obj.document, f"{obj.label}: {reason}") for obj in objects]

    def report_skipped(self) -> None:
        """Count and name on standard error what was skipped."""
        if self.skipped:
            plural = "s" if len(self.skipped) > 1 else ""
            click.echo(f"smp: skipped {len(self.skipped)} document{plural}:", err=True)
        for document, reason in self.skipped:
            line = f"{document.source}:{document.line}: {reason}"
            click.echo(f"  {printable(line)}", err=True)


def name_of(path: str) -> str:
    """Return the name that messages call a file by."""
    return "<stdin>" if path == STDIN else path
