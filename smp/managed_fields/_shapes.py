"""How server-side apply sees a value of a type: as an atom, or as a tree of paths.

This is what kube-openapi's schemaconv makes of a schema, and what structured-merge-diff
resolves for a value (Go: typed.resolveSchema, typed.deduceAtom).

The walks of this package go along shapes by hand: each builds a value or a field set at
each level, and a shape may depend on the value.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from smp._storage.typed_storage import zero_key
from smp._values.steps import count_steps
from smp._values.values import ABSENT, JSON, Absent, require_plain
from smp.errors import ObjectError, SmpError
from smp.managed_fields._elements import key_element, step_of, value_element
from smp.schema.model import (
    ANY,
    ANY_FIELD,
    AnyType,
    Field,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
    unknown_field,
)

# Go: schemaconv.rawExtensionResource.
_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"


# What the shapes of the types are kept as.
_KEPT_AS: Final = "managed fields"
# Characters of the longest name (Go: validation.DNS1123SubdomainMaxLength).
_LONGEST_NAME: Final = 253


# The form of a value: what its type makes of it. These are numbers, and no Enum, as
# compiled code compares numbers at once.
SCALAR: Final = 0
ATOMIC_LIST: Final = 1
ATOMIC_MAP: Final = 2
# A list of type set, or of type map.
LIST: Final = 3
# An object, or a map, each of whose fields is owned on its own.
MAP: Final = 4
# Whatever a value has: a list is atomic, an object is a map of such values.
DEDUCED: Final = 5


class Shape:
    """The form of a value, and the types of what it holds."""

    __slots__ = (
        "_by_name",
        "_of_items",
        "_shapes",
        "form",
        "inherited",
        "is_text",
        "keys",
        "scalar",
        "type",
    )

    def __init__(
        self,
        form: int,
        shapes: Shapes,
        type_: Type = ANY,
        *,
        keys: tuple[str, ...] = (),
        inherited: Field | None = None,
    ) -> None:
        self.form: int = form
        self._shapes: Shapes = shapes
        self.type: Type = type_
        # The JSON type of a scalar, or "any".
        self.scalar: str = type_.name if isinstance(type_, ScalarType) else "any"
        self.is_text: bool = self.scalar == "string"
        # The map keys of a list; a set has none.
        self.keys: tuple[str, ...] = keys
        # What an undeclared name means below an object that preserves unknown fields.
        self.inherited: Field | None = inherited
        # The shapes of declared fields and of elements, which are asked for again and
        # again.
        self._by_name: dict[str, Shape] = {}
        self._of_items: Shape | None = None

    def declares(self, name: str) -> bool:
        """Tell whether a name is one of a struct, not one of an entry of a map."""
        return isinstance(self.type, ObjectType) and self.type.declares(name)

    def of_name(self, name: str, value: JSON) -> Shape:
        """Return the shape of the value of a name in a map.

        Raises UnknownFieldError, with the name as its path, as an API server words it.
        """
        shape = self.of_field(name)
        if shape is None:
            raise unknown_field().within(name)
        return shape.deduced(value) if shape.form == DEDUCED else shape

    def of_field(self, name: str) -> Shape | None:
        """Return the shape of a name in a map, not deduced; None for an unknown one."""
        shape = self._by_name.get(name)
        if shape is not None:
            return shape
        field = self.type.field(name)
        if field is None:
            field = self.inherited
        if field is None:
            return None
        # Go: in schemaconv, what is referred to does not inherit anything.
        inherited = None if field.reference else self.inherited
        shape = self._shapes.of(field.type, field, inherited)
        if self.declares(name):
            self._by_name[name] = shape
        return shape

    def of_element(self, value: JSON) -> Shape:
        """Return the shape of an element of a list."""
        shape = self.of_items()
        return shape.deduced(value) if shape.form == DEDUCED else shape

    def of_items(self) -> Shape:
        """Return the shape of all elements of a list, not deduced."""
        if self._of_items is None:
            self._of_items = self._shapes.of(self.type.items, None, self.inherited)
        return self._of_items

    def of_path_element(self, element: str) -> Shape | None:
        """Return the shape below a path element; None where the schema has none."""
        if self.form == LIST:
            return self.of_items()
        step = step_of(element)
        return self.of_field(step) if isinstance(step, str) else None

    def deduced(self, value: JSON) -> Shape:
        """Return the shape of a value of unknown type (Go: DeducedParseableType)."""
        if isinstance(value, list):
            return _ATOMIC_LIST
        if value is None or isinstance(value, dict):
            if isinstance(self.type, ObjectType) and self.type.name == _RAW_EXTENSION:
                # Go: schemaconv knows the type by its name; it is owned as a whole.
                return _ATOMIC_MAP
            return _MAP
        require_plain(value)
        return _SCALAR

    def element(self, value: JSON) -> str:
        """Return the path element of an element of a list of type set or map.

        Raises ObjectError where it has none (Go: typed.listItemToPathElement).
        """
        if not self.keys:
            return _set_element(value)
        # Go: typed.keyedAssociativeListItemToPathElement.
        if value is None:
            raise _no_element("associative list with keys may not have a null element")
        if not isinstance(value, dict):
            require_plain(value)
            raise _no_element(
                "associative list with keys may not have non-map elements"
            )
        found: dict[str, JSON] = {}
        if len(self.keys) == 1:
            only = value.get(self.keys[0])
            # Almost all map keys are names.
            if isinstance(only, str) and len(only) <= _LONGEST_NAME:
                return _name_element(self.keys[0], only)
        for name in self.keys:
            if name in value:
                found[name] = value[name]
                continue
            # An element may lack a key that has no default, too: it is then another
            # element than one with the key.
            items = self.type.items
            field = items.field(name)
            default: JSON | Absent = ABSENT if field is None else field.default
            if default is ABSENT:
                default = zero_key(items, name)
            if not isinstance(default, Absent):
                found[name] = default
        if not found:
            names = " ".join(f'"{name}"' for name in self.keys)
            raise _no_element(
                "associative list with keys has an element that omits all key fields "
                f"[{names}] (and doesn't have default values for any key fields)"
            )
        return key_element(found)


class Shapes:
    """The shapes of the types of one source, each made when it is first asked for."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[Type, Field | None, Field | None], Shape] = {}

    def of(self, type_: Type, field: Field | None, inherited: Field | None) -> Shape:
        """Return the shape of the values of a type, in that field if it is in one."""
        key = (type_, field, inherited)
        shape = self._known.get(key)
        if shape is None:
            shape = self._make_shape(type_, field, inherited)
            self._known[key] = shape
        return shape

    def _make_shape(
        self, type_: Type, field: Field | None, inherited: Field | None
    ) -> Shape:
        if isinstance(type_, ScalarType):
            return Shape(SCALAR, self, type_)
        if isinstance(type_, ListType):
            return self._make_list_shape(type_, field, inherited)
        if isinstance(type_, ObjectType):
            return self._make_object_shape(type_, field, inherited)
        if isinstance(type_, AnyType):
            return Shape(DEDUCED, self)
        raise unknown_field()

    def _make_list_shape(
        self, type_: ListType, field: Field | None, inherited: Field | None
    ) -> Shape:
        """Go: schemaconv.getListElementRelationship."""
        if type_.list_type == "map":
            keys = type_.map_keys
            return Shape(LIST, self, type_, keys=keys, inherited=inherited)
        if type_.list_type == "set":
            return Shape(LIST, self, type_, inherited=inherited)
        if not type_.states_list_type and field is not None and field.merges:
            keys = (field.merge_key,) if field.merge_key else ()
            return Shape(LIST, self, type_, keys=keys, inherited=inherited)
        return Shape(ATOMIC_LIST, self, type_, inherited=inherited)

    def _make_object_shape(
        self, type_: ObjectType, field: Field | None, inherited: Field | None
    ) -> Shape:
        # Go: schema.Schema.Resolve. The field may have another map type than the type.
        map_type = type_.map_type
        if field is not None and field.map_type:
            map_type = field.map_type
        is_described = type_.structured or type_.others is not None
        # A type without properties is free-form, and one without a type as well.
        if not is_described and (type_.name == _RAW_EXTENSION or map_type != "atomic"):
            return Shape(DEDUCED, self, type_)
        if type_.structured and type_.others is ANY_FIELD:
            # x-kubernetes-preserve-unknown-fields holds for all that is described
            # below. Go: schemaconv's convert.visitSpec.
            inherited = ANY_FIELD
        form = ATOMIC_MAP if map_type == "atomic" else MAP
        return Shape(form, self, type_, inherited=inherited)


# The shapes of what has no type.
_DEDUCED: Final = Shapes()
_SCALAR: Final = Shape(SCALAR, _DEDUCED)
_ATOMIC_LIST: Final = Shape(ATOMIC_LIST, _DEDUCED)
_ATOMIC_MAP: Final = Shape(ATOMIC_MAP, _DEDUCED)
_MAP: Final = Shape(MAP, _DEDUCED)


def root_shape(schema: Schema, value: JSON) -> Shape:
    """Return the shape of a whole object."""
    # The types keep it, so that those of a definition that is replaced are freed.
    shapes = schema.types.plans.get(_KEPT_AS)
    if not isinstance(shapes, Shapes):
        shapes = Shapes()
        schema.types.plans[_KEPT_AS] = shapes
    shape = shapes.of(schema.type, None, None)
    return shape.deduced(value) if shape.form == DEDUCED else shape


@lru_cache(maxsize=16384)
def _name_element(key: str, value: str) -> str:
    return key_element({key: value})


def _set_element(value: JSON) -> str:
    """Return the path element of an element of a set; raises ObjectError."""
    if isinstance(value, dict):
        raise _no_element(
            "associative list without keys has an element that's a map type"
        )
    if isinstance(value, list):
        raise _no_element("not supported: associative list with lists as elements")
    if value is None:
        raise _no_element(
            "associative list without keys has an element that's an explicit null"
        )
    return value_element(value)


def _no_element(problem: str) -> SmpError:
    return ObjectError(problem, code="no-path-element")


def path_elements(shape: Shape, values: list[JSON]) -> list[str]:
    """Return the path elements of the elements of a list.

    Raises ObjectError, with the index, where one has none.
    """
    elements = []
    for index, value in enumerate(values):
        count_steps(1)
        try:
            elements.append(shape.element(value))
        except ObjectError as error:
            raise error.within(index) from None
    return elements


def is_empty(value: JSON) -> bool:
    """Tell whether a value is null or an object without members."""
    return value is None or (isinstance(value, dict) and not value)
