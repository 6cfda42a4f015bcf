"""Structs as JSON sees them: fields under their JSON names, inlined structs among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from smp.errors import DocumentError
from smp.schema.sources.golang._markers import (
    NO_MARKERS,
    JSONTag,
    Marker,
    Markers,
    markers,
)
from smp.schema.sources.golang._packages import Bundled, Declaration, Known, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._syntax import Field, Name, Position, Struct

Part: TypeAlias = "Member | Inlined"
_TYPE_META: Final = Bundled("io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta")


@dataclass(frozen=True, slots=True)
class Member:
    """A field under its JSON name."""

    field: Field
    json: JSONTag
    markers: Markers

    @property
    def name(self) -> str:
        """The name in JSON."""
        return self.json.name

    @property
    def optional(self) -> bool:
        """Whether the field may be left out: as the markers say, else if it is omitted
        when empty.
        """
        if "required" in self.markers or "optional" in self.markers:
            return "required" not in self.markers
        return self.json.omitempty

    def marker(self, name: str) -> Marker | None:
        """Return the first marker of a name."""
        return self.markers[name][0] if name in self.markers else None


@dataclass(frozen=True, slots=True)
class Inlined:
    """The fields of another struct, standing in the place of an embedded field."""

    field: Field
    structure: Structure


@dataclass(frozen=True, slots=True)
class Structure:
    """A struct: its own fields and the inlined ones, in order."""

    at: Position
    name: str
    markers: Markers
    parts: tuple[Part, ...]

    @property
    def own(self) -> tuple[Member, ...]:
        """The fields that are not inlined."""
        return tuple(part for part in self.parts if isinstance(part, Member))

    @property
    def inlined(self) -> tuple[Inlined, ...]:
        """What is inlined."""
        return tuple(part for part in self.parts if isinstance(part, Inlined))

    def members(self) -> Iterator[Member]:
        """Iterate over all fields, the inlined ones in their place."""
        for part in self.parts:
            if isinstance(part, Member):
                yield part
            else:
                yield from part.structure.members()

    @property
    def is_object(self) -> bool:
        """Whether it is a Kubernetes object, or a list of them: metav1.TypeMeta
        inlined, and metadata.
        """
        metadata = [member for member in self.own if member.name == "metadata"]
        types = {
            member.field.type.name
            for member in metadata
            if isinstance(member.field.type, Name)
        }
        return bool(types & {"ObjectMeta", "ListMeta"}) and any(
            part.field.name == "TypeMeta" for part in self.inlined
        )


class Structs:
    """Makes structures of structs."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._problems = problems

    def declared(
        self, declaration: Declaration, above: tuple[str, ...] = ()
    ) -> Structure:
        """Make the structure of a declared struct; ``above`` are the structs that
        inline it.
        """
        syntax = declaration.syntax
        struct = self._packages.struct(declaration) or Struct(syntax.at, ())
        return self.of(
            struct,
            syntax.at,
            syntax.name,
            declaration.markers,
            (*above, declaration.name),
        )

    def of(
        self,
        struct: Struct,
        at: Position,
        name: str = "",
        marked: Markers = NO_MARKERS,
        above: tuple[str, ...] = (),
    ) -> Structure:
        """Make the structure of a struct."""
        parts = tuple(
            part for field in struct.fields for part in self._parts(field, above)
        )
        structure = Structure(at, name, marked, parts)
        self._check_names(structure)
        return structure

    def _parts(self, field: Field, above: tuple[str, ...]) -> Iterator[Part]:
        tag = JSONTag.of(field)
        if tag.skipped:
            return
        try:
            inlined = self._inlined(field, above) if tag.inline else None
        except DocumentError as error:
            self._problems.add(error)
            return
        if inlined is not None:
            yield Inlined(field, inlined)
        elif field.name[:1].isupper():
            member = Member(field, tag, markers(field.comment))
            self._check(member)
            yield member

    def _inlined(self, field: Field, above: tuple[str, ...]) -> Structure | None:
        """Make the structure of an embedded struct; None for an embedded type of
        another form.
        """
        resolved = self._packages.value_type(field.type)
        if resolved == _TYPE_META:
            return self.of(_type_meta(field.at), field.at, "TypeMeta")
        if isinstance(resolved, Bundled | Known):
            raise field.at.error(
                f"{field.name} cannot be inlined without its source",
                code="unresolvable-type",
                hint="give it, too",
            )
        if not isinstance(resolved, Declaration):
            return None
        if resolved.name in above:
            raise field.at.error(
                f"{field.name} inlines itself", code="circular-reference"
            )
        return self.declared(resolved, above)

    def _check(self, member: Member) -> None:
        if "optional" in member.markers and "required" in member.markers:
            self._problems.misuse(
                member.field.at,
                member.marker("required"),
                "a field is optional or required, not both",
            )
        if "enum" in member.markers:
            self._problems.misuse(
                member.field.at,
                member.marker("enum"),
                "+enum marks a type, not a field",
            )
        if member.json.stray_inline:
            problem = (
                f"only an embedded field is inlined, {member.field.name} has a name"
            )
            self._problems.add(member.field.at.error(problem, code="invalid-tag"))

    def _check_names(self, structure: Structure) -> None:
        seen = set[str]()
        for member in structure.members():
            if member.name in seen:
                error = member.field.at.error(
                    f"two fields are called {member.name!r} in JSON",
                    code="duplicate-field",
                )
                self._problems.add(error)
            seen.add(member.name)


def _type_meta(at: Position) -> Struct:
    """Declare metav1.TypeMeta, so well known that its source need not be given."""
    text = Name(at, "string")
    tags = (
        ("Kind", 'json:"kind,omitempty"'),
        ("APIVersion", 'json:"apiVersion,omitempty"'),
    )
    return Struct(
        at, tuple(Field(at, name, text, tag, (), embedded=False) for name, tag in tags)
    )
