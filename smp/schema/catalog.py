"""Kinds and their schemas: from the bundle, OpenAPI, CRDs or Go, corrected by overlays.

The bundle has one file for each minor version of Kubernetes: lines of text, compressed
with zlib. The first line is a header with the index of kinds. Each other line is a
type: its name, a tab, and its type document. The header of compiled definitions also
has what these say beside their types. Opening a file decompresses and splits it;
a type is parsed, and corrected by the bundled overlay, when it is first asked for. This
is, with ``smp.schema.bundle``, the only module of the core that reads files.
"""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from smp._values.plain import over_json, plain_document, require_object
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    show,
)
from smp.errors import (
    ObjectError,
    SchemaError,
    UnknownKindError,
    bounded,
    did_you_mean,
    listing,
)
from smp.paths import Path
from smp.schema.bundle import (
    FOLDER,
    holds_in,
    read_bundled_file,
    read_bundled_table,
    version_number,
)
from smp.schema.model import Loader, Schema, TypeDocument, Types
from smp.schema.overlay import Overlay
from smp.schema.sources import crd

if TYPE_CHECKING:
    from smp.schema.sources.openapi import Compiled, Kind

_SUFFIX: Final = ".types"

# As a cluster writes its version: v1.33.4, v1.33.4+k3s1, v1.33.4-eks-113cf36.
_VERSION: Final = r"v?(\d+\.\d+)(?:[.+-].*)?"

# A document, or a list of them.
Documents: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Catalog:
    """Schemas by apiVersion and kind; immutable, changes return another catalog.

    ``load`` returns the type document of a type's name, or None. ``source`` names where
    the schemas come from, beside a number of CustomResourceDefinitions; ``version`` is
    the minor version of Kubernetes, such as 1.33, or empty. ``structural`` has the
    schemas of custom resources as their definitions have them, with defaults.
    """

    __slots__ = (
        "_definitions",
        "_kinds",
        "_source",
        "_structural",
        "_types",
        "load",
        "version",
    )

    def __init__(
        self,
        kinds: Mapping[Kind, str],
        load: Loader,
        *,
        source: str = "",
        version: str = "",
        definitions: int = 0,
        structural: Mapping[Kind, crd.StructuralVersion] | None = None,
    ) -> None:
        self._kinds = kinds
        self.load: Loader = load
        self._types = Types(load, version=version)
        self._source = source
        self.version: str = version
        self._definitions = definitions
        self._structural = structural or {}

    @property
    def source(self) -> str:
        """Where the schemas come from: ``Kubernetes 1.37 + 327 definitions``."""
        parts = [self._source] if self._source else []
        if self._definitions == 1:
            parts.append("CustomResourceDefinition")
        elif self._definitions:
            parts.append(f"{self._definitions} definitions")
        return " + ".join(parts)

    @classmethod
    def from_openapi(cls, documents: Documents) -> Catalog:
        """Make a catalog of an OpenAPI v2 or v3 document, or of a list of them.

        Raises SchemaError and DepthError.
        """
        compiled = _compile_documents(plain_document(documents))
        return cls(compiled.kinds, compiled.types.get, source="OpenAPI")

    @classmethod
    def from_crd(cls, documents: Documents) -> Catalog:
        """Make a catalog of a CustomResourceDefinition, or of a list of them.

        The kinds' metadata is that of the newest bundled Kubernetes, so that finalizers
        and owner references merge. Join the catalogs to have the other kinds as well:
        ``smp.kubernetes() | catalog``. Raises SchemaError and DepthError.
        """
        plain = plain_document(documents)
        compiled = _compile_definitions(plain)
        # Each kind may have several versions.
        defined = {
            (version.rpartition("/")[0], kind) for version, kind in compiled.kinds
        }
        return cls(
            compiled.kinds,
            partial(_load_chained, compiled.types.get, _load_metadata),
            definitions=len(defined),
            structural=crd.structural_schemas(plain),
        )

    @classmethod
    def from_go(
        cls, paths: Iterable[str | os.PathLike[str]], *, profile: str = "kep1027"
    ) -> Catalog:
        """Make a catalog of Go types with tags and markers (extra ``go``).

        ``paths`` are files, or directories of them. Markers of unions are read by
        profile. Types that the sources import from Kubernetes are those of the newest
        bundled version. Markers that are not published, as unions among the elements
        of a list, are a UserWarning. Raises DocumentError, with file and line, and
        SchemaError.
        """
        # Imported here because the Go grammar is an extra.
        from smp.schema.sources.golang import (  # noqa: PLC0415  # see above
            generate,
            read_sources,
        )

        unpublished: list[str] = []
        sources = read_sources(paths)
        document = generate(sources, profile=profile, unpublished=unpublished)
        if unpublished:
            plural = "s are" if len(unpublished) > 1 else " is"
            text = f"{len(unpublished)} marker{plural} not published: {unpublished[0]}"
            warnings.warn(text, stacklevel=2)
        compiled = _compile_documents(document)
        load = partial(_load_chained, compiled.types.get, kubernetes().load)
        return cls(compiled.kinds, load, source="Go")

    # A loader is a function of a module, with its arguments, so that it can be pickled.
    # A copy is the catalog itself, because it is immutable.
    def __reduce__(self) -> tuple[object, ...]:
        make = partial(
            Catalog,
            source=self._source,
            version=self.version,
            definitions=self._definitions,
            structural=self._structural,
        )
        return make, (self._kinds, self.load)

    def __copy__(self) -> Catalog:
        return self

    def __deepcopy__(self, memo: object) -> Catalog:
        return self

    def kinds(self) -> tuple[Kind, ...]:
        """Return every (apiVersion, kind), sorted."""
        return tuple(sorted(self._kinds))

    def schema(self, api_version: str, kind: str) -> Schema:
        """Return the schema of a kind.

        Raises UnknownKindError, whose hint names similar kinds.
        """
        try:
            name = self._kinds.get((api_version, kind))
        except TypeError:
            # A list or an object, which names no kind.
            name = None
        if name is None:
            # The sentence is kubectl's (Go: meta.NoKindMatchError).
            raise UnknownKindError(
                f'{self.source} has no matches for kind "{_text(kind)}" '
                f'in version "{_text(api_version)}"',
                hint=self._suggestion(_text(api_version), _text(kind)),
            )
        defined = self._structural.get((api_version, kind))
        return Schema(
            f"#{name}",
            self._types,
            api_version,
            kind,
            self.source,
            defined.schema if defined else None,
            defined.subresources if defined else {},
        )

    @over_json("the object", "obj")
    def schema_of(self, obj: Mapping[str, Any]) -> Schema:
        """Return the schema of an object, by its apiVersion and kind.

        Raises ObjectError (code missing-kind where the object lacks one of them) and
        UnknownKindError.
        """
        obj = require_object("obj", obj)
        return self.schema(_require_text(obj, "apiVersion"), _require_text(obj, "kind"))

    def merged(self, other: Catalog) -> Catalog:
        """Return a catalog of both; for a kind or type in both, ``other`` wins."""
        # The version stays, because it is the version of the server that all the kinds
        # are on: custom resources have none.
        return Catalog(
            {**self._kinds, **other._kinds},
            partial(_load_chained, other.load, self.load),
            source=" + ".join([part for part in (self._source, other._source) if part]),
            version=self.version,
            definitions=self._definitions + other._definitions,
            structural={**self._structural, **other._structural},
        )

    __or__ = merged

    def with_overlay(self, document: Mapping[str, Any]) -> Catalog:
        """Return a catalog corrected by an overlay document (smp.schema.overlay).

        An overlay corrects types, kinds and unions. Raises SchemaError for what is not
        an overlay, and DepthError.
        """
        return self._overlaid(
            plain_document(document), source=f"{self.source} + overlay"
        )

    def without_enums(self, *, keeps_discriminators: bool = False) -> Catalog:
        """Return a catalog whose types allow every value, as before KEP-2887.

        It is what ``smp.without_enums`` makes of the OpenAPI document. Where unions are
        to be validated, discriminators keep their values: those that select nothing.
        """
        drop = partial(_drop_enums, keeps_discriminators=keeps_discriminators)
        return Catalog(
            self._kinds,
            partial(_load_changed, self.load, drop),
            source=self.source,
            version=self.version,
            structural=self._structural,
        )

    def _overlaid(self, document: JSON, *, source: str) -> Catalog:
        overlay = Overlay.read(document, self.version)
        return Catalog(
            {**self._kinds, **overlay.kinds},
            partial(overlay.load, self.load),
            source=source,
            version=self.version,
            structural=self._structural,
        )

    def _suggestion(self, api_version: str, kind: str) -> str:
        if (api_version, kind) == ("v1", "List"):
            return "the items of a List are a list of objects"
        names = [" ".join(kind) for kind in self.kinds()]
        # A kind in another group or version is a better guess than a similar name.
        elsewhere = [name for name in names if name.endswith(f" {kind}")]
        if elsewhere:
            return f"did you mean {' or '.join(elsewhere)}?"
        members = [name for version, name in self.kinds() if version == api_version]
        if not members:
            return did_you_mean(f"{api_version} {kind}", names)
        # Every group has kinds such as DeleteOptions, and a list for each kind.
        objects = [name for name in members if f"{name}List" in members]
        similar = did_you_mean(kind, objects, within=f"{api_version} ")
        return similar or listing(f"the kinds of {api_version}", objects)

    def __repr__(self) -> str:
        parts = ["Catalog", f"source={self.source!r}"]
        # Only the catalog of a bundled Kubernetes, and those made from it, have one.
        if self.version:
            parts.append(f"version={self.version!r}")
        parts.append(f"kinds={len(self._kinds)}")
        return f"<{' '.join(parts)}>"


def kubernetes(
    version: str | None = None, *, overlay: Mapping[str, Any] | Absent | None = ABSENT
) -> Catalog:
    """Return the catalog of a bundled minor version of Kubernetes.

    The newest is the default; ``1.33``, ``v1.33`` and ``v1.33.4`` name the same.
    ``overlay`` replaces the bundled overlay, which corrects the published unions and
    adds to them; None leaves the types as published. Raises UnknownKindError (code
    unknown-version), and SchemaError for what is not an overlay.
    """
    minor = versions()[-1] if version is None else _minor(_text(version))
    if minor not in versions():
        raise UnknownKindError(
            f"Kubernetes {_text(version)} is not bundled",
            code="unknown-version",
            hint="bundled are " + ", ".join(versions()),
        )
    # A catalog is shared by all callers, so that its types are linked once.
    if overlay is ABSENT:
        return _add_bundled_overlay(minor)
    catalog = _load_published(minor)
    return catalog if overlay is None else catalog.with_overlay(overlay)


def _minor(version: str) -> str:
    """Return the minor version, or the empty string for what is no version."""
    match = re.fullmatch(_VERSION, version, re.ASCII)
    return "" if match is None else match[1]


def _text(name: object) -> str:
    # A version may be written as the number 1.33.
    return name if isinstance(name, str) else show(name)


def bundled_overlay() -> Any:
    """Return a copy of the overlay of the bundled Kubernetes types.

    Use it for a catalog made from a cluster's OpenAPI, or change it first.
    """
    document: JSON = msgspec.json.decode(read_bundled_file("overlay.json"))
    return document


@cache
def read_published_enums(version: str) -> dict[str, dict[str, str]]:
    """Return the enums that a minor version of Kubernetes publishes, by place.

    A place is ``TYPE.FIELD``, with ``[]`` or ``{}`` behind it where the elements of a
    list or the values of a map have the enum. The values of an enum have what their Go
    constants say of them. The bundled types lack those of the enums whose values an API
    server does not check. There are none for a version that is not bundled.
    """
    found: dict[str, dict[str, str]] = {}
    if version not in versions():
        return found
    for enum in read_bundled_table("enums.json", _EnumTable).enums:
        for versions_, places in enum.places.items():
            since, _, until = versions_.partition("-")
            if holds_in(version, since, until or since):
                found.update(dict.fromkeys(places, enum.values))
    return found


class _Enum(msgspec.Struct, frozen=True):
    """An enum: what its constants say of its values, and its places by versions."""

    values: dict[str, str]
    places: dict[str, tuple[str, ...]]


class _EnumTable(msgspec.Struct, frozen=True):
    """The part of enums.json that is read here."""

    enums: tuple[_Enum, ...]


@cache
def versions() -> tuple[str, ...]:
    """Return the bundled minor versions of Kubernetes, such as 1.33, oldest first."""
    names = [entry.name for entry in os.scandir(FOLDER)]
    minors = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return tuple(sorted(minors, key=version_number))


@cache
def _read_minor(minor: str) -> Catalog:
    return read_compiled(read_bundled_file(f"{minor}{_SUFFIX}"), version=minor)


def _load_bundled(minor: str, name: str) -> TypeDocument | None:
    return _read_minor(minor).load(name)


@cache
def _load_published(minor: str) -> Catalog:
    catalog = _read_minor(minor)
    # This loader is pickled as the version, not as the texts of all types.
    load = partial(_load_bundled, minor)
    return Catalog(catalog._kinds, load, source=catalog.source, version=minor)  # noqa: SLF001  # a class of this module


@cache
def _add_bundled_overlay(minor: str) -> Catalog:
    catalog = _load_published(minor)
    overlay = bundled_overlay()
    return catalog._overlaid(overlay, source=catalog.source)  # noqa: SLF001  # a class of this module


@bounded("the OpenAPI document")
def compile_openapi(document: JSON, *, source: str) -> bytes:
    """Compile an OpenAPI document, or a list of them, to the format of the bundle.

    Equal documents give equal bytes. ``source`` becomes the source of the catalog.
    Raises SchemaError and DepthError.
    """
    return _pack(_compile_documents(plain_document(document)), source, [])


@bounded("the CustomResourceDefinition")
def compile_definitions(documents: JSON, *, source: str = "") -> bytes:
    """Compile a CustomResourceDefinition, or a list of them, to the same format.

    What ``read_compiled`` reads is what ``Catalog.from_crd`` makes of the documents;
    ``source`` is named beside their number. Raises SchemaError and DepthError.
    """
    plain = plain_document(documents)
    compiled = _compile_definitions(plain)
    return _pack(compiled, source, [*crd.definitions(plain)])


def _compile_documents(documents: JSON) -> Compiled:
    # Most catalogs are read compiled, and loading this takes longer.
    from smp.schema.sources.openapi import compile_documents  # noqa: PLC0415

    return compile_documents(documents)


def _compile_definitions(documents: JSON) -> Compiled:
    compiled = _compile_documents(crd.to_openapi(documents))
    for name in compiled.kinds.values():
        type_ = compiled.types[name]
        if isinstance(type_, dict):
            type_["custom"] = True
    for kind in crd.drop_status(documents):
        type_ = compiled.types[compiled.kinds[kind]]
        if isinstance(type_, dict) and "status" in as_object(type_.get("fields")):
            type_["no_status"] = True
    return compiled


def _pack(compiled: Compiled, source: str, definitions: Iterable[JSONObject]) -> bytes:
    for name in compiled.types:
        # A tab or a line break in a name would break the format.
        if not name.isprintable():
            raise SchemaError(
                "the name of a type has control characters", path=Path((name,))
            )
    # Sorted, so that equal documents give equal bytes.
    index: JSON = [[*kind, name] for kind, name in sorted(compiled.kinds.items())]
    header: JSONObject = {"source": source, "kinds": index}
    # Of several definitions of a kind the last one counts, as it does for its types.
    last: dict[tuple[str, str], JSON] = {}
    for definition in definitions:
        spec = as_object(definition["spec"])
        group, kind = as_text(spec["group"]), as_text(as_object(spec["names"])["kind"])
        document = crd.condense(definition)
        last[group, kind] = {"group": group, "kind": kind, "document": document}
    if last:
        header["definitions"] = [last[names] for names in sorted(last)]
    types = sorted(compiled.types.items())
    lines = [f"{name}\t{_compact(document)}" for name, document in types]
    return zlib.compress("\n".join([_compact(header), *lines]).encode(), level=9)


class CompiledDefinition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition beside its types: ``sources.crd.condensed``, as JSON.

    It is parsed when it is needed: most commands need few.
    """

    group: str
    kind: str
    document: msgspec.Raw

    def value(self) -> JSONObject:
        """Parse the definition."""
        value: JSONObject = msgspec.json.decode(self.document)
        return value


class _Header(msgspec.Struct, frozen=True):
    """The first line of a compiled catalog."""

    source: str
    kinds: tuple[tuple[str, str, str], ...]
    definitions: tuple[CompiledDefinition, ...] = ()


def read_compiled(data: bytes, *, version: str = "") -> Catalog:
    """Read the bytes that ``compile_openapi`` or ``compile_definitions`` wrote.

    Raises SchemaError for any other bytes.
    """
    catalog, _definitions = read_compiled_definitions(data, version=version)
    return catalog


def read_compiled_definitions(
    data: bytes, *, version: str = ""
) -> tuple[Catalog, tuple[CompiledDefinition, ...]]:
    """Read the same bytes, and what they have of definitions beside the types.

    Raises SchemaError.
    """
    try:
        # The types stay text until they are asked for: most commands need a few.
        first, *lines = zlib.decompress(data).decode().split("\n")
        texts = dict(line.split("\t", 1) for line in lines)
        header = msgspec.json.decode(first, type=_Header)
    except (zlib.error, msgspec.DecodeError, TypeError, ValueError) as error:
        raise SchemaError("these bytes are not a compiled catalog") from error
    kinds = {(api_version, kind): name for api_version, kind, name in header.kinds}
    load: Loader = partial(_load_text, texts)
    if header.definitions:
        load = partial(_load_chained, load, _load_metadata)
    catalog = Catalog(
        kinds,
        load,
        source=header.source,
        version=version,
        definitions=len(header.definitions),
    )
    return catalog, header.definitions


def _load_text(texts: Mapping[str, str], name: str) -> TypeDocument | None:
    text = texts.get(name)
    if text is None:
        return None
    document: TypeDocument = msgspec.json.decode(text)
    return document


def _compact(value: JSON) -> str:
    # Imported here because only compiling a bundle needs it.
    import json  # noqa: PLC0415  # see above

    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _load_changed(
    load: Loader, change: Callable[[TypeDocument], TypeDocument], name: str
) -> TypeDocument | None:
    document = load(name)
    return None if document is None else change(document)


def _drop_enums(document: TypeDocument, *, keeps_discriminators: bool) -> TypeDocument:
    """Return a type document, or that of a field, in which no scalar has an enum.

    A discriminator may keep its own, which says what values its union knows.
    """
    if isinstance(document, str):
        return document
    # Only a scalar has a member of this name: {"type": "string", "enum": [..]}.
    if "type" in document:
        return str(document["type"])
    changed = {**document}
    for name in ("is", "items", "values"):
        inner = document.get(name)
        if isinstance(inner, dict):
            changed[name] = _drop_enums(
                inner, keeps_discriminators=keeps_discriminators
            )
    fields: JSONObject = {}
    unions = as_list(document.get("unions")) if keeps_discriminators else []
    kept = [as_object(union).get("discriminator") for union in unions]
    for name, field in as_object(document.get("fields")).items():
        fields[name] = field
        if isinstance(field, dict) and name not in kept:
            fields[name] = _drop_enums(field, keeps_discriminators=keeps_discriminators)
    if fields:
        changed["fields"] = fields
    return changed


def _load_chained(first: Loader, second: Loader, name: str) -> TypeDocument | None:
    document = first(name)
    return second(name) if document is None else document


def _load_metadata(name: str) -> TypeDocument | None:
    # Names of other packages stay undefined: the schema in a CRD cannot refer to types,
    # only the metadata that a server adds does.
    if not name.startswith("io.k8s.apimachinery."):
        return None
    return kubernetes().load(name)


def _require_text(obj: JSONObject, name: str) -> str:
    value = obj.get(name)
    if not isinstance(value, str) or not value:
        raise ObjectError(f"{name} is missing", code="missing-kind", path=Path((name,)))
    return value
