"""The one schema model that every source compiles to and every engine reads.

A source (OpenAPI, a CRD, Go types, the bundle) compiles to *type documents*: plain
JSON, small, and free of the source's own vocabulary. This module turns type documents
into linked types. A type is linked when it is first asked for, so that a catalog of a
thousand types opens at once.

A type document (TYPE) is a string or an object:

``"string" "integer" "number" "boolean" "int-or-string"``
    a scalar
``"any"``
    free-form data: any JSON, merged by RFC 7396
``"#NAME"``
    the named type NAME
``{"type": SCALAR, "enum": [VALUE], "or_any": [JSON_TYPE]}``
    a scalar with an enum; with ``or_any``, every value of these JSON types is allowed
    as well
``{"items": TYPE, "list_type": "map", "map_keys": [NAME]}``
    a list
``{"fields": {NAME: FIELD}, "values": TYPE, "any": true}``
    an object; undeclared names have the type ``values``, are free-form with ``any``,
    and unknown with neither

A FIELD is a type document, or ``{"is": TYPE, "strategy": "merge,retainKeys", "key":
"name"}`` where the field has a patch strategy or a patch merge key of its own. It may
have a ``default``, if that is a scalar, and, beside a reference, a ``map_type``
that counts instead of that of the type. Objects
may also have ``map_type``, ``embedded`` (a whole Kubernetes object), ``no_status`` (a
custom resource without the subresource ``status``), ``custom`` (a kind for which
servers take no strategic merge patch), ``unions`` as
their source published them, with ``required``, the names of the fields that have to be
set, and ``profile``, which applies to those of the unions that have no profile of their
own.

This module is compiled with mypyc (hatch_build.py). ``Type.field``, ``Field.type`` and
``Type.items`` are on the hot path of every engine: they are asked for each member of
each object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from smp._values.plain import plain_document
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    show,
    type_name,
)
from smp.errors import Option, SchemaError, UnknownFieldError
from smp.paths import Path
from smp.schema.union_groups import UnionGroup, read_unions

UnknownFields: TypeAlias = Literal["error", "merge"]
POLICIES: Final[tuple[UnknownFields, ...]] = ("error", "merge")
TypeDocument: TypeAlias = "str | JSONObject"
Loader: TypeAlias = "Callable[[str], TypeDocument | None]"
SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "int-or-string"})

# Go types that encode themselves are published without fields: those that keep any JSON
# as it is written, and those that are a schema in JSON, or a list of schemas (Go:
# UnmarshalJSON of k8s.io/apimachinery/pkg/runtime and k8s.io/apiextensions-apiserver).
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_RAW_TYPES: Final = frozenset(
    {"io.k8s.apimachinery.pkg.runtime.RawExtension", _EXTENSIONS + "JSON"}
)
_ENCODED_AS: Final = {
    _EXTENSIONS + "JSONSchemaPropsOr" + other: _EXTENSIONS + "JSONSchemaProps"
    for other in ("Array", "Bool", "StringArray")
}


class Strategy(msgspec.Struct, frozen=True):
    """A patch strategy: how the list or object in a field is patched.

    ``merge`` or ``replace`` may be combined with ``retain_keys``, which lets patches
    carry the directive ``$retainKeys``.
    """

    merge: bool = False
    replace: bool = False
    retain_keys: bool = False

    @classmethod
    def parse(cls, text: str) -> Strategy:
        """Parse ``merge``, ``replace``, ``retainKeys``, or one of them with retainKeys.

        The order does not matter. ``,`` separates in published schemas, ``|`` in the
        retainKeys proposal. Raises SchemaError (code invalid-strategy) for any other
        text (Go: strategicpatch.extractRetainKeysPatchStrategy).
        """
        parts = text.replace("|", ",").split(",") if text else []
        strategy = cls(
            merge="merge" in parts,
            replace="replace" in parts,
            retain_keys="retainKeys" in parts,
        )
        unknown = set(parts) - {"merge", "replace", "retainKeys"}
        repeated = len(set(parts)) != len(parts)
        if unknown or repeated or (strategy.merge and strategy.replace):
            raise SchemaError(
                f"{text!r} is not a patch strategy",
                code="invalid-strategy",
                hint="merge or replace, alone or with retainKeys, or retainKeys alone",
            )
        return strategy

    def __str__(self) -> str:
        parts = []
        if self.merge:
            parts.append("merge")
        if self.replace:
            parts.append("replace")
        if self.retain_keys:
            parts.append("retainKeys")
        return ",".join(parts)


NO_STRATEGY: Final = Strategy()


class _Fields(dict[str, "Field | None"]):
    """The fields of a type by name.

    A declared field is linked when it is first asked for; ``others`` is the answer for
    an undeclared name.
    """

    __slots__ = ("declared", "others", "types")

    def __init__(
        self, declared: JSONObject, types: Types | None, others: Field | None
    ) -> None:
        super().__init__()
        self.declared = declared
        self.types = types
        self.others = others

    # Why a dictionary with __missing__, and not a method that looks a field up: the
    # engines ask for the field of every member, and the second time ``fields[name]`` is
    # one look-up in C. Only the first one of a name gets here. An undeclared name is
    # never stored: names of labels and annotations come from objects, without limit.
    def __missing__(self, name: str) -> Field | None:
        if self.types is None or name not in self.declared:
            return self.others
        field = Field(name, _type_document(self.declared[name]), self.types)
        self[name] = field
        return field


class Type:
    """What every type answers: the field of a name, and the type of the elements.

    ``field(name)`` returns the field of that name, or None where the schema does not
    know it. ``structured`` tells whether the type declares any fields. On its own, this
    class is the type of a value that the schema does not describe (``OPAQUE``).
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
        """Make a type of existing fields, which knows no other name."""
        type_ = cls(None)
        for field in fields:
            type_._fields[field.name] = field
        return type_

    @property
    def others(self) -> Field | None:
        """The field that stands for an undeclared name; None where it is unknown."""
        return self._fields.others

    @property
    def items(self) -> Type:
        """The type of the elements; for a type that is not a list, free-form or opaque.

        A value may be a list where the schema says otherwise. Its elements are then as
        unknown as the undeclared fields of the type.
        """
        return OPAQUE if self.others is None else ANY

    @property
    def stored(self) -> Type:
        """The type that a server decodes a value as that is set as a whole."""
        return self

    def stored_member(self, name: str) -> Type:
        """Return the type that a server decodes a member of such a value as."""
        stored = self.stored
        if stored is RAW:
            return RAW
        field = stored.field(name)
        return OPAQUE if field is None else field.type.stored

    def stored_element(self) -> Type:
        """Return the type that a server decodes an element of such a value as."""
        # Go: JSONSchemaPropsOrArray is stored as one schema, or as a list of them.
        stored = self.stored
        return stored.items.stored if isinstance(stored, ListType) else stored

    def __reduce__(self) -> str | tuple[object, ...]:
        fields = self._fields
        return Type, (fields.others, fields.declared, fields.types)

    # A type never changes but for what it has linked, so it is its own copy.
    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: object) -> Type:
        return self

    def __repr__(self) -> str:
        return _representation(type(self).__name__)


class ScalarType(Type):
    """A string, integer, number, boolean or int-or-string, maybe with an enum.

    ``or_any`` are the JSON types whose values the enum does not restrict.
    """

    __slots__ = ("enum", "name", "or_any", "texts")

    def __init__(
        self,
        name: str,
        others: Field | None,
        enum: tuple[JSON, ...] = (),
        or_any: tuple[str, ...] = (),
    ) -> None:
        super().__init__(others)
        if name not in SCALARS:
            raise SchemaError(
                f"{name!r} is not a type",
                hint="one of " + ", ".join(sorted({*SCALARS, "any"})),
            )
        self.name: str = name
        self.enum: tuple[JSON, ...] = enum
        # An enum may be long, and is looked at for every value.
        self.texts: frozenset[str] = frozenset(
            value for value in enum if isinstance(value, str)
        )
        self.or_any: tuple[str, ...] = or_any

    def __reduce__(self) -> str | tuple[object, ...]:
        return ScalarType, (self.name, self.others, self.enum, self.or_any)

    def __repr__(self) -> str:
        return _representation("ScalarType", name=self.name, enum=self.enum)


class AnyType(Type):
    """Free-form JSON: objects merge by RFC 7396, lists are replaced."""

    __slots__ = ()

    def __reduce__(self) -> str | tuple[object, ...]:
        # The name of the only one.
        return "ANY"


class Field:
    """A field: its name, patch strategy, patch merge key and type.

    The type is linked when it is first asked for. Raises SchemaError, here for a
    document that is not of a field, and on ``type`` for one that is not of a type.
    """

    def __init__(self, name: str, document: TypeDocument, types: Types) -> None:
        self.name = name
        # A field with facets of its own has its type under "is", beside them.
        facets: JSONObject = {}
        if isinstance(document, dict) and "is" in document:
            facets = document
        self.strategy: Strategy = NO_STRATEGY
        if "strategy" in facets:
            self.strategy = Strategy.parse(str(facets["strategy"]))
        # Copied, because the engines ask for them for each member of each object.
        self.merges: bool = self.strategy.merge
        self.replaces: bool = self.strategy.replace
        self.retain_keys: bool = self.strategy.retain_keys
        self.merge_key: str = str(facets.get("key", ""))
        self.default: JSON | Absent = facets.get("default", ABSENT)
        # That of the type, unless the field has its own beside the reference.
        self.map_type: str = str(facets.get("map_type", ""))
        self._written = document
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
        """The name of the field's type where it has one, otherwise the empty string."""
        if isinstance(self._document, str) and self._document.startswith("#"):
            return self._document[1:]
        return ""

    def __reduce__(self) -> str | tuple[object, ...]:
        if self is ANY_FIELD:
            return "ANY_FIELD"
        return Field, (self.name, self._written, self._types)

    def __copy__(self) -> Field:
        return self

    def __deepcopy__(self, memo: object) -> Field:
        return self

    def __repr__(self) -> str:
        return _representation(
            "Field",
            name=self.name,
            type=_describe(self._document),
            strategy=str(self.strategy),
            merge_key=self.merge_key,
        )


class ObjectType(Type):
    """An object: its declared fields, and in ``others`` what an undeclared name means.

    ``name`` is empty for a type without a name. ``map_type`` (granular or atomic) is
    that of server-side apply; ``embedded`` marks a whole Kubernetes object, and
    ``no_status`` one whose status is written as all else, ``custom`` a custom resource.
    ``stored`` is the type that a server decodes a value as, ``RAW`` for any JSON.
    """

    __slots__ = (
        "_profile",
        "_published_unions",
        "_required",
        "_types",
        "_unions",
        "_written",
        "custom",
        "embedded",
        "map_type",
        "name",
        "no_status",
    )

    def __init__(self, name: str, document: JSONObject, types: Types) -> None:
        # OpenAPI's additionalProperties: the types of undeclared names, if any.
        values = document.get("values")
        if values is not None:
            others: Field | None = Field("*", _type_document(values), types)
        elif document.get("any"):
            others = ANY_FIELD
        else:
            others = types.unknown
        super().__init__(others, as_object(document.get("fields")), types)
        self._written = (name, document, types)
        self._types = types
        self.name: str = name
        self.map_type: str = str(document.get("map_type", "granular"))
        self.embedded: bool = bool(document.get("embedded", False))
        self.no_status: bool = bool(document.get("no_status", False))
        self.custom: bool = bool(document.get("custom", False))
        self._published_unions: JSON = document.get("unions", [])
        self._required = as_list(document.get("required"))
        self._profile = str(document.get("profile", ""))
        self._unions: tuple[UnionGroup, ...] | None = None

    @property
    def version(self) -> str:
        """The minor version of Kubernetes that has the type, or empty."""
        return self._types.version

    @property
    def stored(self) -> Type:
        """The type that a server decodes a value as: itself, RAW, or a named one.

        A patch merges by what is published; what it sets is stored as the Go type does.
        RAW is JSON that stays as it is written.
        """
        if self.name in _RAW_TYPES:
            return RAW
        name = _ENCODED_AS.get(self.name)
        return self if name is None else self._types.named(name)

    @property
    def unions(self) -> tuple[UnionGroup, ...]:
        """The unions among the fields.

        Raises SchemaError (code invalid-union) for unions that contradict themselves or
        the fields; only when they are asked for, so that a merge can do without them.
        """
        if self._unions is None:
            groups = []
            for group in read_unions(
                self._published_unions, self._fields.declared, self._required
            ):
                profile = group.profile or self._profile
                groups.append(msgspec.structs.replace(group, profile=profile))
            self._unions = tuple(groups)
        return self._unions

    def declares(self, name: str) -> bool:
        """Tell whether the name is a declared field, not an additional property."""
        return name in self._fields.declared

    def __iter__(self) -> Iterator[Field]:
        """Iterate over the declared fields, in the order of their names."""
        for name in sorted(self._fields.declared):
            field = self.field(name)
            if field is not None:
                yield field

    def __reduce__(self) -> str | tuple[object, ...]:
        return ObjectType, self._written

    def __repr__(self) -> str:
        others = self.others
        return _representation(
            "ObjectType",
            name=self.name,
            fields=len(self._fields.declared),
            values=_describe(others._document) if others else "",  # noqa: SLF001  # a class of this module
        )


class ListType(Type):
    """A list: the type of its elements, and the list type and map keys.

    ``list_type`` (atomic, set or map) and ``map_keys`` are those of server-side apply;
    a strategic merge goes by the patch strategy and the patch merge key of the field.
    Where the schema does not state a list type, server-side apply goes by these, too.
    """

    def __init__(self, document: JSONObject, types: Types) -> None:
        super().__init__(types.unknown)
        self._items = _type_document(document["items"])
        self._written = document
        self._types = types
        self.states_list_type: bool = "list_type" in document
        self.list_type: str = str(document.get("list_type", "atomic"))
        self.map_keys: tuple[str, ...] = tuple(
            str(key) for key in as_list(document.get("map_keys"))
        )
        self._linked: Type | None = None

    @property
    def items(self) -> Type:
        """The type of the elements."""
        if self._linked is None:
            self._linked = self._types.link(self._items)
        return self._linked

    def __reduce__(self) -> str | tuple[object, ...]:
        return ListType, (self._written, self._types)

    def __repr__(self) -> str:
        return _representation(
            "ListType",
            items=_describe(self._items),
            list_type=self.list_type,
            map_keys=self.map_keys,
        )


class Types:
    """The named types of one source, each linked when it is first asked for, and kept.

    ``load`` returns the type document of a name, or None. ``unknown_fields`` is the
    policy for fields that no type declares: ``error`` or ``merge``. ``version`` is the
    minor version of Kubernetes, or empty.
    """

    def __init__(
        self, load: Loader, unknown_fields: UnknownFields = "error", version: str = ""
    ) -> None:
        self._load = load
        self.version = version
        self._named: dict[str, Type] = {}
        self._scalars: dict[str, ScalarType] = {}
        self._other_policy: Types | None = None
        self.unknown_fields = unknown_fields
        self.unknown: Field | None = ANY_FIELD if unknown_fields == "merge" else None
        # What walks along these types keep, by the name of their interests.
        self.plans: dict[str, object] = {}

    # What was linked is not pickled: it is linked again where it is asked for. A copy
    # is the object itself: nothing ever changes in it but what was linked.
    def __reduce__(self) -> tuple[object, ...]:
        return Types, (self._load, self.unknown_fields, self.version)

    def __copy__(self) -> Types:
        return self

    def __deepcopy__(self, memo: object) -> Types:
        return self

    def named(self, name: str) -> Type:
        """Return the type of that name.

        Raises SchemaError where the source does not define it (code dangling-reference)
        and where it only refers to itself (code circular-reference).
        """
        if name not in self._named:
            target, document = self.resolve(name)
            if target not in self._named:
                # Linking a type links none of its fields, so that types which refer to
                # each other in a circle end here.
                self._named[target] = self.link(document, target)
            self._named[name] = self._named[target]
        return self._named[name]

    def resolve(self, name: str) -> tuple[str, TypeDocument]:
        """Return the name that a name is an alias of, or itself, and its document."""
        seen: set[str] = set()
        target = name
        while True:
            seen.add(target)
            document = self._load(target)
            if document is None:
                raise SchemaError(
                    f"type {target!r} is referenced but not defined",
                    code="dangling-reference",
                )
            if not isinstance(document, str) or not document.startswith("#"):
                return target, document
            target = document[1:]
            if target in seen:
                raise SchemaError(
                    f"type {target!r} refers to itself and describes nothing",
                    code="circular-reference",
                )

    def link(self, document: TypeDocument, name: str = "") -> Type:
        """Turn a type document into a type, which gets the name if it is an object."""
        if isinstance(document, str):
            if document.startswith("#"):
                return self.named(document[1:])
            if document == "any":
                return ANY
            # One for all fields: a definition may have thousands.
            if document not in self._scalars:
                self._scalars[document] = ScalarType(document, self.unknown)
            return self._scalars[document]
        if "items" in document:
            return ListType(document, self)
        if "type" in document:
            enum = tuple(as_list(document.get("enum")))
            or_any = tuple(str(name) for name in as_list(document.get("or_any")))
            return ScalarType(str(document["type"]), self.unknown, enum, or_any)
        return ObjectType(name, document, self)

    def rewritten(self, change: Callable[[TypeDocument], TypeDocument]) -> Types:
        """Return the same types, each with another document when it is asked for."""

        def load(name: str) -> TypeDocument | None:
            document = self._load(name)
            return None if document is None else change(document)

        return Types(load, self.unknown_fields, self.version)

    def with_policy(self, unknown_fields: UnknownFields) -> Types:
        """Return the same types under another policy for unknown fields."""
        if unknown_fields == self.unknown_fields:
            return self
        # Each type holds what an unknown field means, so the types are linked again.
        # They are kept, because commands ask for the policy with each object.
        if self._other_policy is None:
            self._other_policy = Types(self._load, unknown_fields, self.version)
        return self._other_policy


class Schema(msgspec.Struct, frozen=True):
    """A schema to compute and apply patches by.

    ``document`` is the type document of the whole object, ``types`` has the types that
    it refers to. ``api_version`` and ``kind`` are empty for a schema without a kind;
    ``source`` names the catalog that it comes from. ``structural`` is the schema of a
    custom resource as its definition has it, with defaults, and ``subresources`` are
    those of its version. ``at_rest`` remembers the
    union profiles that are known to leave an unchanged object of this schema as it is.
    """

    document: TypeDocument
    types: Types
    api_version: str = ""
    kind: str = ""
    source: str = "inline"
    structural: dict[str, Any] | None = None
    subresources: dict[str, Any] = {}
    # msgspec makes an empty set for each schema. mypyc takes no msgspec.field here.
    at_rest: set[str] = set()

    @classmethod
    def inline(cls, document: object, definitions: object = None) -> Schema:
        """Make a schema of a type document and the named types that it refers to.

        ``document`` is a TypeDocument, ``definitions`` a mapping of names to such.

        Raises SchemaError for what is not a type document, here or where it is reached.
        """
        named = plain_document({} if definitions is None else definitions)
        if not isinstance(named, dict):
            raise SchemaError(f"definitions are an object, not {type_name(named)}")
        types = {name: _type_document(type_) for name, type_ in named.items()}
        # The root gets the empty name, so that it is linked once, as a named type is.
        types[""] = _type_document(plain_document(document))
        return cls("#", Types(types.get))

    @property
    def type(self) -> Type:
        """The type of the whole object."""
        return self.types.link(self.document)

    @property
    def is_custom(self) -> bool:
        """Whether servers take no strategic merge patch for the kind."""
        type_ = self.type
        return isinstance(type_, ObjectType) and type_.custom

    def with_unknown_fields(self, policy: object) -> Schema:
        """Return this schema under a policy for fields that it does not know.

        ``error`` raises UnknownFieldError where an unknown object or list would have to
        be merged, as Go's strategicpatch does; ``merge`` continues by RFC 7396 below
        it.
        """
        if policy == self.types.unknown_fields:
            return self
        for known in POLICIES:
            if policy == known:
                types = self.types.with_policy(known)
                return msgspec.structs.replace(self, types=types, at_rest=set())
        raise SchemaError(
            f"unknown policy for unknown fields {show(policy)}",
            code="unknown-option",
            hint=" or ".join(POLICIES),
        )

    def descend(self, *names: str) -> Field:
        """Return the field at a path of names; a list is descended into its elements.

        Raises UnknownFieldError, with the path, at the first name that the schema does
        not know.
        """
        current: Type = self.type
        field: Field | None = None
        for depth, name in enumerate(names):
            # A path has no step for the elements of a list: they all have one type.
            if isinstance(current, ListType):
                current = current.items
            field = current.field(name)
            if field is None:
                raise unknown_field().at(Path(names[: depth + 1]))
            current = field.type
        if field is None:
            raise UnknownFieldError("an empty path names no field")
        return field

    def __repr__(self) -> str:
        return _representation(
            "Schema", api_version=self.api_version, kind=self.kind, source=self.source
        )


def unknown_field() -> UnknownFieldError:
    """Make the error for a field that the schema does not know; the caller adds a path.

    The wording is that of an API server's server-side apply.
    """
    return UnknownFieldError(
        "field not declared in schema, so it cannot be merged",
        hint="a misspelled name, or a field of another version of the API",
        option=Option(
            name="unknown_fields", value="merge", effect="merges it by RFC 7396"
        ),
    )


def _type_document(value: JSON) -> TypeDocument:
    if isinstance(value, str | dict):
        return value
    raise SchemaError(
        f"a type document is a string or an object, not {type_name(value)}"
    )


def _representation(class_name: str, **facets: object) -> str:
    """Write what ``repr`` returns: the facets that are not empty."""
    # In angle brackets, because no call with these arguments makes the object.
    parts = [class_name]
    for name, value in facets.items():
        if value not in ("", ()):
            parts.append(f"{name}={value!r}")
    return f"<{' '.join(parts)}>"


def _describe(document: JSON) -> str:
    """Name the type of a type document in a few words, without linking it."""
    lists = ""
    while isinstance(document, dict) and "items" in document:
        lists += "list of "
        document = document["items"]
    if isinstance(document, dict):
        return lists + str(document.get("type", "object"))
    return lists + str(document).removeprefix("#")


# AnyType is recursive: every field of free-form data is free-form. The cycle is closed
# here, by hand, because neither object can be made before the other.
_NO_TYPES: Final[dict[str, TypeDocument]] = {}
ANY: Final = AnyType(None)
ANY_FIELD: Final = Field("*", "any", Types(_NO_TYPES.get))
ANY._fields.others = ANY_FIELD

# The type of a value that the schema does not describe: it knows no field.
OPAQUE: Final = Type(None)
# The type of JSON that a server stores as it is written (Go: runtime.RawExtension).
RAW: Final = Type(None)
