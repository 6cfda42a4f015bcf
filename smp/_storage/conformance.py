"""Whether an object conforms to its schema: types, unknown fields, nulls.

An API server decodes what it is given into Go types, or checks it against the
structural schema of a custom resource; this rule finds what either would. What an
update shares with the old object is not judged again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._storage.protobuf import is_32_bit
from smp._values.values import ABSENT, JSON, JSONObject, as_object, printed, type_name
from smp.paths import Path, Step
from smp.schema.model import AnyType, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, Node, plan_of
from smp.schema.walk import Place, Rule, Walk
from smp.violations import Misfit

# Published as a string or an integer; a server also reads 0.5.
_QUANTITY: Final = ".Quantity"
# Published as objects; their Go types read any JSON (apiextensions/v1, marshal.go).
_UNTYPED: Final = (".JSON", ".JSONSchemaPropsOrArray", ".JSONSchemaPropsOrStringArray")
# Go: "boolean or JSON schema expected".
_OR_BOOLEAN: Final = ".JSONSchemaPropsOrBool"
# Go: int64.
_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1
_LOWEST_32: Final = -(2**31)
_HIGHEST_32: Final = 2**31 - 1


class FreeForm:
    """The facts about a type whose values may be any JSON, or any object."""


FREE_FORM: Final = FreeForm()


class ConformanceInterest(Interest):
    """Every type: each value is compared with its type."""

    def __init__(self, name: str = "conformance") -> None:
        super().__init__(name, everything=True)

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return the type, or that its values are free-form."""
        if isinstance(type_, (ScalarType, ListType)):
            return type_
        if not isinstance(type_, ObjectType):
            return FREE_FORM
        # RawExtension and FieldsV1 are published without fields: they are free-form.
        if type_.name and type_.others is None and not type_.structured:
            return FREE_FORM
        return type_


# Values are compared with types here, not with each other: what the new object shares
# with the old one is found by its identity, or at its place.
CONFORMANCE: Final = Interests(
    ConformanceInterest(), merge_keys=False, map_keys=False, decoded=True
)


def conform(
    new: JSONObject, old: JSONObject | None, schema: Schema, rule: ConformanceRule
) -> JSONObject:
    """Return the object without what a server drops; the rule has what it found."""
    walk = Walk(plan_of(schema.types, CONFORMANCE), [rule])
    return as_object(walk.run(ABSENT if old is None else old, new, schema.type))


class ConformanceRule(Rule):
    """Collects the paths of ``unknown`` fields, and ``misfits``.

    ``misfit_values`` are the values of these with their paths.
    Without ``prunes`` unknown fields and nulls stay; with ``keeps_nulls`` only nulls
    do. With ``null_elements`` lists may have them. Paths have the index of
    an element, as those of a Go decoder.
    """

    def __init__(
        self, *, prunes: bool, keeps_nulls: bool, null_elements: bool = False
    ) -> None:
        self.unknown_fields: list[Path] = []
        self.misfits: list[Misfit] = []
        self.misfit_values: list[tuple[Path, JSON]] = []
        self._prunes = prunes
        self._keeps_nulls = keeps_nulls
        self._null_elements = null_elements

    def enter(self, place: Place, facts: object | None) -> bool:  # noqa: ARG002
        """Go into everything but free-form values."""
        return facts is not FREE_FORM

    def unknown(self, place: Place, name: str, value: JSON) -> bool:  # noqa: ARG002
        """Record an unknown field; a server that prunes drops it."""
        if is_read_leniently(place):
            return not self._prunes
        self.unknown_fields.append(place.path.by_index / name)
        return not self._prunes

    def null(self, place: Place, name: str, node: Node) -> bool:  # noqa: ARG002
        """Drop a null, as a typed server does: Go decodes it to the zero value."""
        return not self._prunes or self._keeps_nulls or isinstance(node.type, AnyType)

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        """Compare a value with the scalar type of its field."""
        if not isinstance(facts, ScalarType):
            return
        if _fits(facts.name, value) and not _is_too_wide(place, step, value):
            return
        if value is None and self._null_elements:
            return
        if type_name(value) in ("integer", "number") and isinstance(step, str):
            # Go: resource.Quantity reads the text of a number, however large.
            field = place.node.type.field(step)
            if field is not None and field.reference.endswith(_QUANTITY):
                return
        self._misfit(place, step, value, facts.name)

    def mismatch(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        """Record an object, a list or a scalar where the schema wants another."""
        type_ = node.type
        if value is None and self._null_elements:
            return
        field = place.node.type.field(step) if isinstance(step, str) else None
        # What reads more than objects is decoded as an object by another name.
        published = type_ if field is None else field.type
        if isinstance(type_, ScalarType):
            self._misfit(place, step, value, type_.name)
        elif isinstance(type_, ListType):
            self._misfit(place, step, value, "array")
        elif isinstance(published, ObjectType) and not _reads(published.name, value):
            self._misfit(place, step, value, "object")

    def _misfit(self, place: Place, step: Step, value: JSON, expected: str) -> None:
        json_type = actual = type_name(value)
        if actual in ("integer", "number"):
            # Go: json.UnmarshalTypeError, Value: "number 1.5"
            actual = f"number {printed(value)}"[:40]
        path = place.path / step
        self.misfits.append(Misfit.of(path, actual, expected, json_type))
        self.misfit_values.append((path, value))


def find_fields(value: JSON, path: Path) -> Iterator[Path]:
    """Yield the fields of an object, or of those in a list."""
    if isinstance(value, dict):
        yield from [path / name for name in value]
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from find_fields(element, path / index)


def is_read_leniently(place: Place) -> bool:
    """Tell whether a Go type reads a value, which drops unknown fields in silence.

    KEP-2885 finds them where the decoder of a request reads, and not UnmarshalJSON.
    """
    while place.parent is not None:
        field = place.parent.node.type.field(place.name) if place.name else None
        if field is not None and field.type.stored is not field.type:
            return True
        place = place.parent
    return False


def _reads(name: str, value: JSON) -> bool:
    """Tell whether a Go type reads a value that is no object."""
    if name.endswith(_OR_BOOLEAN):
        return isinstance(value, bool)
    return name.endswith(_UNTYPED)


def _is_too_wide(place: Place, step: Step, value: JSON) -> bool:
    """Tell whether a number is beyond the int32 that Go has for it."""
    if not isinstance(value, int) or _LOWEST_32 <= value <= _HIGHEST_32:
        return False
    type_ = place.node.type
    if not isinstance(type_, ObjectType) or not isinstance(step, str):
        return False
    field = type_.field(step)
    of_field = None if field is None else field.type
    # Go: intstr.IntOrString holds an int32.
    is_either = isinstance(of_field, ScalarType) and of_field.name == "int-or-string"
    return is_either or is_32_bit(type_.name, step)


def _fits(name: str, value: JSON) -> bool:
    if isinstance(value, str):
        return name in ("string", "int-or-string")
    # bool is a subclass of int in Python.
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int):
        if name in ("integer", "int-or-string"):
            return _LOWEST <= value <= _HIGHEST
        return name == "number"
    return isinstance(value, float) and name == "number"
