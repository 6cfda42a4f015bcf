"""The one schema model that every source compiles to and every engine reads.

A source (OpenAPI, a CRD, Go types, the bundle) compiles to *type documents*: plain
JSON, small and without references to the source's own vocabulary. This module turns
type documents into linked types, each only when somebody asks for it, so that a catalog
of a thousand types opens at once.

A type document is a string or an object:

    "string" "integer" "number" "boolean" "int-or-string"   a scalar
    "any"                                                    free-form: any JSON, merged by RFC 7396
    "#NAME"                                                  the named type NAME
    {"fields": {NAME: FIELD}, "values": TYPE, "any": true}   an object; "values" types undeclared names,
                                                             "any" makes them free-form; neither: unknown
    {"items": TYPE, "list_type": .., "map_keys": [..]}       a list
    {"type": SCALAR, "enum": [..]}                           a scalar with an enum

A FIELD is a type document, or ``{"is": TYPE, "strategy": "merge,retainKeys", "key":
"name"}`` where the field has a patch strategy or a patch merge key of its own. Objects
may also carry ``map_type``, ``embedded`` (a whole Kubernetes object), ``unions``, as
their source published them, and ``profile``, the one that those follow which have none
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, Self, TypeAlias

from msgspec import Struct, structs

from smp.errors import Option, SchemaError, UnknownFieldError
from smp.paths import Path
from smp.schema.union_groups import UnionGroup, read_unions
from smp.values import JSON, JSONObject

UnknownFields: TypeAlias = Literal["error", "merge"]
TypeDocument: TypeAlias = "str | JSONObject"
Loader: TypeAlias = "Callable[[str], TypeDocument | None]"
SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "int-or-string"})


class Strategy(Struct, frozen=True):
    """A patch strategy: how a list or an object of a field is patched, and whether keys
    are retained.
    """

    merge: bool = False
    replace: bool = False
    retain_keys: bool = False

    @classmethod
    def parse(cls, text: str) -> Strategy:
        """Parse ``merge``, ``replace``, ``retainKeys`` or a pair with retainKeys, in
        any order.

        ``,`` separates in published schemas, ``|`` in the retainKeys proposal. Raises
        SchemaError.
        """
        words = text.replace("|", ",").split(",") if text else []
        known = {"merge", "replace", "retainKeys"}
        if (
            len(set(words)) != len(words)
            or not known.issuperset(words)
            or {"merge", "replace"} <= set(words)
        ):
            raise SchemaError(
                f"patch strategy {text!r} is not one",
                code="invalid-strategy",
                hint="merge or replace, alone or with retainKeys, or retainKeys alone",
            )
        return cls("merge" in words, "replace" in words, "retainKeys" in words)

    def __str__(self) -> str:
        words = (
            ("merge", self.merge),
            ("replace", self.replace),
            ("retainKeys", self.retain_keys),
        )
        return ",".join(word for word, on in words if on)


NO_STRATEGY: Final = Strategy()


class _Fields(dict[str, "Field | None"]):
    """The fields of a type: declared ones are linked on first use and kept, ``others``
    stands for the rest.
    """

    __slots__ = ("declared", "others", "types")

    def __init__(
        self, declared: JSONObject, types: Types | None, others: Field | None
    ) -> None:
        super().__init__()
        self.declared = declared
        self.types = types
        self.others = others

    def __missing__(self, name: str) -> Field | None:
        if self.types is None or name not in self.declared:
            return self.others
        field = self[name] = Field(
            name, _type_document(self.declared[name]), self.types
        )
        return field


class Type:
    """What every type answers: the field of a name, and the type of the elements.

    ``field(name)`` is the field of that name, or None where the schema does not know
    it; ``others`` is the field that an undeclared name stands for. No more than a
    look-up in a dictionary: engines ask for every field.
    """

    __slots__ = ("_fields", "field", "structured")

    def __init__(
        self,
        others: Field | None,
        declared: JSONObject | None = None,
        types: Types | None = None,
    ) -> None:
        self._fields = _Fields(declared or {}, types, others)
        self.field: Final[Callable[[str], Field | None]] = self._fields.__getitem__
        self.structured: Final = bool(declared)

    @classmethod
    def of(cls, *fields: Field) -> Self:
        """Make a type of fields that exist, which knows no other name."""
        made = cls(None)
        made._fields.update((field.name, field) for field in fields)
        return made

    @property
    def others(self) -> Field | None:
        """The field that an undeclared name stands for; None means that it is unknown."""
        return self._fields.others

    @property
    def items(self) -> Type:
        """The type of the elements: of a list as declared, of anything else as little
        known as its fields.
        """
        return OPAQUE if self.others is None else ANY


class ScalarType(Type):
    """A string, integer, number, boolean or int-or-string."""

    __slots__ = ("enum", "name")

    def __init__(self, name: str, enum: tuple[JSON, ...], others: Field | None) -> None:
        super().__init__(others)
        if name not in SCALARS:
            raise SchemaError(
                f"{name!r} is not a type",
                hint="one of " + ", ".join(sorted({*SCALARS, "any"})),
            )
        self.name = name
        self.enum = enum


class AnyType(Type):
    """Free-form JSON: objects merge by RFC 7396, lists are replaced."""

    __slots__ = ()


class Field:
    """A field: its name, its patch strategy and merge key, and its type, linked on
    first use.
    """

    def __init__(self, name: str, document: TypeDocument, types: Types) -> None:
        self.name = name
        facets = document if isinstance(document, dict) and "is" in document else {}
        self.strategy = (
            Strategy.parse(str(facets["strategy"]))
            if "strategy" in facets
            else NO_STRATEGY
        )
        self.merges = self.strategy.merge
        self.replaces = self.strategy.replace
        self.retain_keys = self.strategy.retain_keys
        self.merge_key = str(facets.get("key", ""))
        self._document = _type_document(facets.get("is", document))
        self._types = types
        self._type: Type | None = None

    @property
    def type(self) -> Type:
        """The type of the field's value."""
        if self._type is None:
            self._type = self._types.link(self._document)
        return self._type

    @property
    def reference(self) -> str:
        """The name of the field's type where it has one, else the empty string."""
        return (
            self._document[1:]
            if isinstance(self._document, str) and self._document[:1] == "#"
            else ""
        )


class ObjectType(Type):
    """An object: declared fields, and what an undeclared name means (``others``; None
    is unknown).
    """

    __slots__ = ("_profile", "_unions", "embedded", "map_type", "name")

    def __init__(self, name: str, document: JSONObject, types: Types) -> None:
        declared = document.get("fields", {})
        super().__init__(
            self._undeclared(document, types),
            declared if isinstance(declared, dict) else {},
            types,
        )
        self.name = name
        self.map_type = str(document.get("map_type", "granular"))
        self.embedded = bool(document.get("embedded", False))
        self._unions: JSON | tuple[UnionGroup, ...] = document.get("unions", [])
        self._profile = str(document.get("profile", ""))

    @property
    def unions(self) -> tuple[UnionGroup, ...]:
        """The unions among the fields. Raises SchemaError for unions that contradict
        themselves.
        """
        if not isinstance(self._unions, tuple):
            declared = self._fields.declared
            groups = read_unions(
                self._unions,
                {name: _enum(node) for name, node in declared.items()},
                declared,
            )
            self._unions = tuple(
                structs.replace(group, profile=group.profile or self._profile)
                for group in groups
            )
        return self._unions

    @staticmethod
    def _undeclared(document: JSONObject, types: Types) -> Field | None:
        values = document.get("values")
        if values is not None:
            return Field("*", _type_document(values), types)
        return ANY_FIELD if document.get("any") else types.unknown

    def declares(self, name: str) -> bool:
        """Tell whether the name is a declared field (an additional property is not)."""
        return name in self._fields.declared

    def __iter__(self) -> Iterator[Field]:
        """Iterate over the declared fields, in the order of their names."""
        for name in sorted(self._fields.declared):
            field = self.field(name)
            if field is not None:
                yield field


class ListType(Type):
    """A list: the type of its elements, and server-side apply's list type and map keys."""

    def __init__(self, document: JSONObject, types: Types) -> None:
        super().__init__(types.unknown)
        self._items = _type_document(document["items"])
        self._types = types
        self.list_type = str(document.get("list_type", "atomic"))
        keys = document.get("map_keys", [])
        self.map_keys = tuple(map(str, keys)) if isinstance(keys, list) else ()
        self._linked: Type | None = None

    @property
    def items(self) -> Type:
        """The type of the elements."""
        if self._linked is None:
            self._linked = self._types.link(self._items)
        return self._linked


class Types:
    """Named types of one source, linked on demand and kept; ``load`` answers a name
    with its document.
    """

    def __init__(self, load: Loader, unknown_fields: UnknownFields = "error") -> None:
        self._load = load
        self._named: dict[str, Type] = {}
        self._other_policy: Types | None = None
        self.unknown_fields = unknown_fields
        self.unknown = ANY_FIELD if unknown_fields == "merge" else None

    def named(self, name: str) -> Type:
        """Return the type of that name. Raises SchemaError where the source lacks it."""
        if name not in self._named:
            document = self._load(name)
            if document is None:
                raise SchemaError(
                    f"type {name!r} is referred to but nowhere defined",
                    code="dangling-reference",
                )
            self._named[name] = self.link(document, name)
        return self._named[name]

    def link(self, document: TypeDocument, name: str = "") -> Type:
        """Turn a type document into a type."""
        if isinstance(document, str):
            return (
                self.named(document[1:])
                if document[:1] == "#"
                else self._unnamed(document)
            )
        if "items" in document:
            return ListType(document, self)
        if "type" in document:
            enum = document.get("enum", [])
            return ScalarType(
                str(document["type"]),
                tuple(enum) if isinstance(enum, list) else (),
                self.unknown,
            )
        return ObjectType(name, document, self)

    def _unnamed(self, word: str) -> Type:
        return ANY if word == "any" else ScalarType(word, (), self.unknown)

    def with_policy(self, unknown_fields: UnknownFields) -> Types:
        """Return the same types under another policy for unknown fields."""
        if unknown_fields == self.unknown_fields:
            return self
        if self._other_policy is None:
            self._other_policy = Types(self._load, unknown_fields)
        return self._other_policy


class Schema(Struct, frozen=True):
    """A schema to compute and apply patches by: a root type, and where it comes from."""

    document: TypeDocument
    types: Types
    api_version: str = ""
    kind: str = ""
    source: str = "inline"

    @classmethod
    def inline(
        cls,
        document: TypeDocument,
        definitions: Mapping[str, TypeDocument] | None = None,
    ) -> Schema:
        """Make a schema of a type document and the named types that it refers to."""
        named: dict[str, TypeDocument] = {**(definitions or {}), "": document}
        return cls("#", Types(named.get))

    @property
    def type(self) -> Type:
        """The type of the whole object."""
        return self.types.link(self.document)

    def with_unknown_fields(self, policy: UnknownFields) -> Schema:
        """Return this schema under a policy for fields that it does not know.

        ``error`` (as the reference does) refuses to descend into an unknown object or
        list; ``merge`` continues by RFC 7396 below it.
        """
        return Schema(
            self.document,
            self.types.with_policy(policy),
            self.api_version,
            self.kind,
            self.source,
        )

    def descend(self, *names: str) -> Field:
        """Return the field at a path of names; a list is descended through to its
        elements.

        Raises UnknownFieldError, with the path, at the first name that the schema does
        not know.
        """
        current: Type = self.type
        field: Field | None = None
        for depth, name in enumerate(names):
            field = (current.items if isinstance(current, ListType) else current).field(
                name
            )
            if field is None:
                raise unknown_field().at(Path(names[: depth + 1]))
            current = field.type
        if field is None:
            raise UnknownFieldError("an empty path names no field")
        return field


def unknown_field() -> UnknownFieldError:
    """Make the error for a field that the schema does not know; the path is for the
    caller to add.
    """
    return UnknownFieldError(
        "the schema does not know this field, so there is no telling how to merge it",
        hint="a misspelled name, or a field of another version of the API",
        option=Option(
            name="unknown_fields", value="merge", effect="merges it by RFC 7396"
        ),
    )


def _enum(document: JSON) -> list[JSON]:
    facets = document.get("is", document) if isinstance(document, dict) else {}
    enum = facets.get("enum", []) if isinstance(facets, dict) else []
    return enum if isinstance(enum, list) else []


def _type_document(value: JSON) -> TypeDocument:
    if isinstance(value, str | dict):
        return value
    raise SchemaError(f"a type document is a string or an object, not {value!r}")


def _nothing(_name: str) -> None:
    return None


# Free-form data is a knot: the field of a free-form object is free-form again.
ANY: Final = AnyType(None)
ANY_FIELD: Final = Field("*", "any", Types(_nothing))
ANY._fields.others = ANY_FIELD
OPAQUE: Final = Type(None)
