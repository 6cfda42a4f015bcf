"""Kinds and their schemas: from the bundle, from OpenAPI, from CRDs, corrected by
overlays.

The bundle has one file a Kubernetes minor: zlib over lines of text. The first line is
the header with the index of kinds, each other line a type: its name, a tab, its type
document. Opening a file decompresses and splits it; a type is parsed, and corrected by
the bundled overlay, when somebody asks for it. This is the one module of the core that
reads files, and it reads no other.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Final

import msgspec

from smp.errors import DepthError, ObjectError, SchemaError, UnknownKindError
from smp.paths import Path
from smp.schema import __path__ as _home
from smp.schema.model import Loader, Schema, TypeDocument, Types
from smp.schema.overlay import Overlay
from smp.schema.sources import crd
from smp.schema.sources.openapi import Kind, compile_documents, resolve_alias
from smp.values import ABSENT, JSON, Absent, type_name

_DATA: Final = f"{_home[0]}/bundled"  # in a directory, as wheels are installed
_SUFFIX: Final = ".types"
_VERSION: Final = re.compile(r"v?(\d+\.\d+)(?:[.+-].*)?", re.ASCII)


class Catalog:
    """Schemas by apiVersion and kind; a catalog never changes, it makes others.

    ``load`` answers the name of a type with its type document, or None.
    """

    __slots__ = ("_kinds", "_types", "load", "source", "version")

    def __init__(
        self, kinds: Mapping[Kind, str], load: Loader, *, source: str, version: str = ""
    ) -> None:
        self._kinds = kinds
        self.load = load
        self._types = Types(partial(resolve_alias, load))
        self.source = source
        self.version = version

    @classmethod
    def from_openapi(cls, documents: JSON) -> Catalog:
        """Make a catalog of an OpenAPI v2 or v3 document, or of a list of them. Raises
        SchemaError.
        """
        compiled = compile_documents(documents)
        return cls(compiled.kinds, compiled.types.get, source="OpenAPI")

    @classmethod
    def from_crd(cls, documents: JSON) -> Catalog:
        """Make a catalog of a CustomResourceDefinition, or of a list of them. Raises
        SchemaError.

        The kinds' metadata is that of the newest bundled Kubernetes, so that finalizers
        and owner references merge; join the catalogs for the other kinds:
        ``smp.kubernetes() | catalog``.
        """
        compiled = compile_documents(crd.to_openapi(documents))
        return cls(
            compiled.kinds,
            _chained(compiled.types.get, _bundled_metadata),
            source="CustomResourceDefinition",
        )

    @classmethod
    def from_go(
        cls, paths: Iterable[str | os.PathLike[str]], *, profile: str = "kep1027"
    ) -> Catalog:
        """Make a catalog of Go types with tags and markers: files, or directories of
        them (extra ``go``).

        Markers of unions are read by profile. What the sources import from Kubernetes
        is that of the newest bundled version. Raises DocumentError, with file and line,
        and SchemaError.
        """
        # Imported here because the Go grammar is an extra.
        from smp.schema.sources.golang import generate
        from smp.schema.sources.golang.files import read_sources

        document = generate(read_sources(paths), profile=profile)
        compiled = compile_documents(document)
        load = _chained(compiled.types.get, kubernetes().load)
        return cls(compiled.kinds, load, source="Go")

    def kinds(self) -> tuple[Kind, ...]:
        """Return every (apiVersion, kind), sorted."""
        return tuple(sorted(self._kinds))

    def schema(self, api_version: str, kind: str) -> Schema:
        """Return the schema of a kind. Raises UnknownKindError, with what comes close."""
        name = self._kinds.get((api_version, kind))
        if name is None:
            raise UnknownKindError(
                f"no schema for {api_version} {kind} in {self.source}",
                hint=self._like(api_version, kind),
            )
        return Schema(f"#{name}", self._types, api_version, kind, self.source)

    def schema_of(self, obj: JSON) -> Schema:
        """Return the schema of an object, by its apiVersion and kind. Raises
        ObjectError and UnknownKindError.
        """
        return self.schema(_word_of(obj, "apiVersion"), _word_of(obj, "kind"))

    def merged(self, other: Catalog) -> Catalog:
        """Return a catalog of both; where both describe a kind or a type, the other
        catalog counts.
        """
        kinds = {**self._kinds, **other._kinds}
        load = _chained(other.load, self.load)
        return Catalog(
            kinds, load, source=f"{self.source} + {other.source}", version=self.version
        )

    __or__ = merged

    def with_overlay(self, document: JSON) -> Catalog:
        """Return a catalog corrected by an overlay document: types, kinds and unions
        (smp.schema.overlay).

        Raises SchemaError for what is not an overlay.
        """
        return self._overlaid(document, source=f"{self.source} + overlay")

    def _overlaid(self, document: JSON, *, source: str) -> Catalog:
        overlay = Overlay.read(document, self.version)
        kinds = {**self._kinds, **overlay.kinds}
        return Catalog(
            kinds, partial(overlay.load, self.load), source=source, version=self.version
        )

    def _like(self, api_version: str, kind: str) -> str:
        from difflib import get_close_matches

        elsewhere = [" ".join(known) for known in self.kinds() if known[1] == kind]
        close = elsewhere or get_close_matches(
            f"{api_version} {kind}", map(" ".join, self.kinds()), n=3
        )
        return "did you mean " + " or ".join(close) + "?" if close else ""


def kubernetes(
    version: str | None = None, *, overlay: JSON | Absent = ABSENT
) -> Catalog:
    """Return the catalog of a bundled Kubernetes minor, the newest by default.

    ``1.33``, ``v1.33`` and ``v1.33.4`` name the same. ``overlay`` replaces the bundled
    overlay, which corrects the published unions and adds to them; None is none. Raises
    UnknownKindError (code unknown-version), and SchemaError for what is not an overlay.
    """
    match = _VERSION.fullmatch(versions()[-1] if version is None else str(version))
    if match is None or match[1] not in versions():
        raise UnknownKindError(
            f"Kubernetes {version} is not bundled",
            code="unknown-version",
            hint="there is " + ", ".join(versions()),
        )
    if overlay is ABSENT:
        return _corrected(match[1])
    return (
        _bundled(match[1])
        if overlay is None
        else _bundled(match[1]).with_overlay(overlay)
    )


def bundled_overlay() -> JSON:
    """Return the overlay of the bundled Kubernetes types, for a catalog of one's own or
    to be changed.
    """
    document: JSON = msgspec.json.decode(_read("overlay.json"))
    return document


@cache
def versions() -> tuple[str, ...]:
    """Return the bundled Kubernetes minors, oldest first."""
    names = (entry.name for entry in os.scandir(_DATA))
    minors = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return tuple(
        sorted(minors, key=lambda minor: [int(number) for number in minor.split(".")])
    )


@cache
def _bundled(minor: str) -> Catalog:
    return read_compiled(_read(f"{minor}{_SUFFIX}"), version=minor)


@cache
def _corrected(minor: str) -> Catalog:
    catalog = _bundled(minor)
    return catalog._overlaid(bundled_overlay(), source=catalog.source)


def _read(name: str) -> bytes:
    # pathlib and importlib.resources would take longer to import than all else that
    # this module does.
    with open(f"{_DATA}/{name}", "rb") as file:
        return file.read()


def _bundled_metadata(name: str) -> TypeDocument | None:
    """Load what the metadata of custom resources refers to."""
    return kubernetes().load(name) if name.startswith("io.k8s.apimachinery.") else None


def compile_openapi(document: JSON, *, source: str) -> bytes:
    """Compile an OpenAPI document, or a list of them, to the form of the bundle; equal
    input, equal bytes.

    Raises SchemaError, and DepthError.
    """
    compiled = compile_documents(document)
    types = compiled.types
    index: JSON = [[*kind, name] for kind, name in sorted(compiled.kinds.items())]
    unusable = [name for name in types if not name.isprintable()]
    if unusable:
        raise SchemaError(
            "a type name with control characters", path=Path((unusable[0],))
        )
    header = _compact({"source": source, "kinds": index})
    lines = (f"{name}\t{_compact(types[name])}" for name in sorted(types))
    try:
        return zlib.compress("\n".join([header, *lines]).encode(), level=9)
    except RecursionError:
        raise DepthError("the OpenAPI document is nested too deeply") from None


def read_compiled(data: bytes, *, version: str = "") -> Catalog:
    """Read what ``compile_openapi`` wrote. Raises SchemaError for anything else."""
    try:
        header, *lines = zlib.decompress(data).decode().split("\n")
        texts = dict(line.split("\t", 1) for line in lines)
        index = msgspec.json.decode(header)
        kinds = {
            (api_version, kind): name for api_version, kind, name in index["kinds"]
        }
        return Catalog(
            kinds, partial(_parsed, texts), source=index["source"], version=version
        )
    except (zlib.error, msgspec.DecodeError, ValueError, KeyError, TypeError) as error:
        raise SchemaError("these bytes are not a compiled catalog") from error


def _parsed(texts: Mapping[str, str], name: str) -> TypeDocument | None:
    text = texts.get(name)
    document: TypeDocument | None = None if text is None else msgspec.json.decode(text)
    return document


def _compact(value: JSON) -> str:
    import json

    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _chained(first: Loader, second: Loader) -> Loader:
    def load(name: str) -> TypeDocument | None:
        document = first(name)
        return second(name) if document is None else document

    return load


def _word_of(obj: JSON, name: str) -> str:
    if not isinstance(obj, dict):
        raise ObjectError(f"a Kubernetes object is expected, not {type_name(obj)}")
    word = obj.get(name)
    if not isinstance(word, str) or not word:
        raise ObjectError(
            "an object without it has no schema",
            code="missing-kind",
            path=Path((name,)),
        )
    return word
