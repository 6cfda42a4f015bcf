"""The objects that a test names: as values, as YAML or JSON text, in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from smp import codec
from smp.documents import read
from smp.testing._faults import KubernetesApiError
from smp.values import JSONObject

# An object, YAML or JSON text, the path of a file or of a directory, or several.
Objects: TypeAlias = Mapping[str, Any] | str | bytes | Path | Iterable["Objects"]

_SUFFIXES: Final = (".json", ".yaml", ".yml")


def objects_of(given: Objects) -> list[JSONObject]:
    """Return the objects, those of a directory in the order of its file names.

    Raises DocumentError, OSError, and KubernetesApiError for anything else.
    """
    if isinstance(given, Path):
        return _in_files(given)
    if isinstance(given, str | bytes):
        return _in_text(given, "<text>")
    if isinstance(given, Mapping):
        # As a client would send it: a Kubernetes client's numbers and texts, no views.
        return _in_text(codec.encode(dict(given)), "<object>")
    if isinstance(given, Iterable):
        objects: list[JSONObject] = []
        for part in given:
            objects.extend(objects_of(part))
        return objects
    raise KubernetesApiError(
        f"cannot apply a value of type {type(given).__name__}",
        hint="an object, a list of objects, YAML text, or a pathlib.Path",
    )


def _in_files(path: Path) -> list[JSONObject]:
    if not path.is_dir():
        return _in_text(path.read_bytes(), str(path))
    objects: list[JSONObject] = []
    for file in sorted(path.iterdir()):
        if file.suffix in _SUFFIXES:
            objects.extend(_in_text(file.read_bytes(), str(file)))
    return objects


def _in_text(text: str | bytes, source: str) -> list[JSONObject]:
    objects: list[JSONObject] = []
    for document in read(text, source=source):
        if not isinstance(document.value, dict):
            raise KubernetesApiError(
                f"{document.source}, line {document.line}: not an object",
                hint="the path of a file is given as a pathlib.Path",
            )
        objects.append(document.value)
    return objects
