"""Structs as JSON sees them: JSON names, and the fields of inlined structs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from smp.errors import DocumentError
from smp.schema.sources.golang._json_fields import JSONField, JSONTag
from smp.schema.sources.golang._markers import (
    ENUM_MARKERS,
    NO_MARKERS,
    Markers,
    markers,
)
from smp.schema.sources.golang._packages import (
    DeclaredType,
    Packages,
    PublishedType,
    WellKnownType,
)
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._syntax import (
    GoField,
    GoName,
    SourcePosition,
    StructType,
)

StructPart: TypeAlias = "JSONField | InlinedStruct"
_TYPE_META: Final = PublishedType("io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta")


class InlinedStruct(msgspec.Struct, frozen=True):
    """The fields of another struct, in the place of an embedded field."""

    field: GoField
    struct: GoStruct


class GoStruct(msgspec.Struct, frozen=True):
    """A struct: its own fields and the inlined ones, in their order.

    It has no name and no markers where a field declares it.
    """

    at: SourcePosition
    parts: tuple[StructPart, ...]
    name: str = ""
    markers: Markers = NO_MARKERS

    @property
    def own_fields(self) -> tuple[JSONField, ...]:
        """The fields that are not inlined."""
        return tuple(part for part in self.parts if isinstance(part, JSONField))

    @property
    def inlined(self) -> tuple[InlinedStruct, ...]:
        """The inlined structs."""
        return tuple(part for part in self.parts if isinstance(part, InlinedStruct))

    def fields(self) -> Iterator[JSONField]:
        """Iterate over all fields, the inlined ones in their place."""
        for part in self.parts:
            if isinstance(part, JSONField):
                yield part
            else:
                yield from part.struct.fields()

    def fields_with(self, marker: str) -> list[JSONField]:
        """Return the fields of its own that have a marker."""
        return [field for field in self.own_fields if marker in field.markers]

    @property
    def is_object(self) -> bool:
        """Whether it is a Kubernetes object, or a list of them.

        Those inline metav1.TypeMeta and have metadata (API conventions, "Metadata" and
        "Lists and Simple kinds").
        """
        has_metadata = any(
            field.name == "metadata"
            and isinstance(field.field.type, GoName)
            and field.field.type.name in ("ObjectMeta", "ListMeta")
            for field in self.own_fields
        )
        return has_metadata and any(
            part.field.name == "TypeMeta" for part in self.inlined
        )


class StructReader:
    """Reads structs: which fields they have in JSON, and what they inline."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._problems = problems

    def declared(
        self, declared: DeclaredType, enclosing: tuple[str, ...] = ()
    ) -> GoStruct:
        """Read a declared struct; ``enclosing`` are the structs that inline it."""
        syntax = declared.syntax
        struct = self._packages.struct(declared) or StructType(syntax.at, ())
        read = self.read(struct, syntax.at, (*enclosing, declared.name))
        return replace(read, name=syntax.name, markers=declared.markers)

    def read(
        self, struct: StructType, at: SourcePosition, enclosing: tuple[str, ...] = ()
    ) -> GoStruct:
        """Read a struct type at the place of its declaration.

        The place may be in another file than the struct: ``type A B``.
        """
        parts: list[StructPart] = []
        for field in struct.fields:
            tag = JSONTag.of(field)
            if tag.skipped:
                continue
            try:
                inlined = self._read_embedded(field, enclosing) if tag.inline else None
            except DocumentError as error:
                self._problems.add(error)
                continue
            if inlined is not None:
                parts.append(InlinedStruct(field, inlined))
            elif field.name[:1].isupper():
                json_field = JSONField(field, tag, markers(field.comment))
                parts.append(json_field)
                # Go: kube-openapi's isOptional raises the same error.
                if {"optional", "required"} <= json_field.markers.keys():
                    problem = "a field is optional or required, not both"
                    self._problems.misuse_on(json_field, "required", problem)
                for marker in ENUM_MARKERS:
                    if marker in json_field.markers:
                        problem = f"+{marker} marks a type, not a field"
                        self._problems.misuse_on(json_field, marker, problem)
                if tag.misplaced_inline:
                    problem = (
                        f"only an embedded field is inlined, {field.name} has a name"
                    )
                    self._problems.add(field.at.error(problem, code="invalid-tag"))
        result = GoStruct(at, tuple(parts))
        # encoding/json prefers one of several fields of a name, or drops them all, by
        # how deep they are embedded. No API should rely on that.
        seen: set[str] = set()
        for json_field in result.fields():
            if json_field.name in seen:
                problem = f"two fields have the JSON name {json_field.name!r}"
                self._problems.add(json_field.at.error(problem, code="duplicate-field"))
            seen.add(json_field.name)
        return result

    def _read_embedded(
        self, field: GoField, enclosing: tuple[str, ...]
    ) -> GoStruct | None:
        """Read an embedded struct; None for an embedded type of another form."""
        resolved = self._packages.value_type(field.type)
        if resolved == _TYPE_META:
            # Every Kubernetes object inlines metav1.TypeMeta, so its source is not
            # required.
            string = GoName(field.at, "string")
            members = (("Kind", "kind"), ("APIVersion", "apiVersion"))
            type_meta = tuple(
                GoField(
                    field.at,
                    name,
                    string,
                    f'json:"{key},omitempty"',
                    (),
                    embedded=False,
                )
                for name, key in members
            )
            read = self.read(StructType(field.at, type_meta), field.at)
            return replace(read, name="TypeMeta")
        if isinstance(resolved, WellKnownType):
            # Embedding promotes its MarshalJSON (Go specification, "Struct types").
            raise field.at.error(
                f"{field.name} encodes itself as JSON, and so a struct that embeds it",
                code="unresolvable-type",
                hint="give the field a JSON name, or mark the struct with "
                "+k8s:openapi-gen=false",
            )
        if isinstance(resolved, PublishedType):
            raise field.at.error(
                f"{field.name} cannot be inlined without its source",
                code="unresolvable-type",
                hint="give its source, too",
            )
        if not isinstance(resolved, DeclaredType):
            return None
        if resolved.name in enclosing:
            raise field.at.error(
                f"{field.name} inlines itself", code="circular-reference"
            )
        return self.declared(resolved, enclosing)
