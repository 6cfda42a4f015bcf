"""Objects as users give them: values, models of clients, YAML or JSON text, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.plain import as_object, content_of
from smp._values.values import JSONObject
from smp.documents import flatten_lists, read
from smp.errors import DocumentError, ObjectError, bounded

# An object, a model of a client, YAML or JSON text, the path of a file or of a
# directory, or several of these.
Objects: TypeAlias = (
    Mapping[str, Any] | str | bytes | os.PathLike[str] | Iterable["Objects"]
)

# Go: k8s.io/cli-runtime/pkg/resource, FileExtensions.
SUFFIXES: Final = (".json", ".yaml", ".yml")


class GivenObject(msgspec.Struct, frozen=True):
    """An object, the name of the text or file that it is from, and its line there.

    ``source`` is empty, and ``line`` 0, for one that was given as a value.
    """

    object: JSONObject
    source: str = ""
    line: int = 0


@bounded("the list of objects")
def objects_of(given: Objects) -> list[GivenObject]:
    """Return the objects; those of a directory in the order of its file names.

    A list of objects is replaced by its items. Raises DocumentError, OSError, and
    ObjectError for what is no object.
    """
    if isinstance(given, os.PathLike):
        return _read_files(given)
    if isinstance(given, str | bytes):
        return _read_text(given, "<text>")
    # A model of a client may be iterable as well.
    if isinstance(given, Mapping) or content_of(given) is not None:
        items = flatten_lists(as_object(given))
        return [GivenObject(as_object(item)) for item in items]
    if isinstance(given, Iterable):
        return [found for part in given for found in objects_of(part)]
    raise ObjectError(
        f"{type(given).__name__} is not an object",
        code="not-an-object",
        hint="give an object, a list of objects, YAML text, or a pathlib.Path",
    )


def _read_files(given: os.PathLike[str]) -> list[GivenObject]:
    from pathlib import Path  # noqa: PLC0415  # the command has readers of its own

    path = Path(given)
    if not path.is_dir():
        return _read_text(path.read_bytes(), str(path))
    return [
        found
        for file in sorted(path.iterdir())
        if file.suffix in SUFFIXES
        for found in _read_text(file.read_bytes(), str(file))
    ]


def _read_text(text: str | bytes, source: str) -> list[GivenObject]:
    found = []
    for document in read(text, source=source):
        if not isinstance(document.value, dict):
            raise DocumentError(
                "not an object",
                code="not-an-object",
                hint="the path of a file is given as a pathlib.Path",
                source=document.source,
                line=document.line,
            )
        found.append(GivenObject(document.value, document.source, document.line))
    return found
