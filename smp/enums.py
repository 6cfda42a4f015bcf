"""Enums (KEP-2887): closed sets of values; validating objects by them, and schemas
without them.
"""

from __future__ import annotations

from typing import Final

from smp.errors import DepthError, SchemaError
from smp.paths import Element, Path
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.reach import Reach, reach
from smp.schema.rewrite import rewrite_named
from smp.values import JSON, JSONArray, JSONObject, same, type_name
from smp.violations import Violation, unsupported

_HEADER: Final = "Possible enum values:"
_CHANGED: Final = ("enum", "description")


def validate_enums(
    obj: JSON, schema: Schema, *, lenient: bool = False
) -> tuple[Violation, ...]:
    """Return every value that is not in the enum of its field, in the order of the
    object.

    An enum is a closed set, and values compare in their types. ``lenient`` is for
    responses, which may come from a newer server: the same violations, each a warning.
    Null is absent. So is the empty string of a declared field unless the enum has it,
    for a Go client cannot leave out what has no omitempty; as an element or as the
    value of a map it is checked. Unknown fields and defaults are not checked. Raises
    SchemaError where the object reaches a type that the schema refers to and lacks, and
    DepthError.
    """
    leads = reach(schema.types, _has_enum)
    check = _Check(leads, lenient=lenient)
    try:
        if leads(schema.type):
            check.value(obj, schema.type, "", Path())
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None
    return tuple(check.found)


def without_enums(document: JSON) -> JSONObject:
    """Return an OpenAPI v2 or v3 document as it was before KEP-2887.

    Each named schema, and each schema inside it, loses ``enum``, and its description
    the listing of possible values, as an API server does without the feature
    OpenAPIEnums. Unchanged parts are shared with the document. Raises SchemaError, with
    the path, for what is not a schema, and DepthError.
    """
    if not isinstance(document, dict):
        raise SchemaError(
            f"an OpenAPI document is an object, not {type_name(document)}"
        )
    try:
        return rewrite_named(document, _before_enums)
    except RecursionError:
        raise DepthError("the OpenAPI document is nested too deeply") from None


def _has_enum(known: Type) -> bool:
    return isinstance(known, ScalarType) and bool(known.enum)


class _Check:
    """One walk along an object and its types, only where an enum can be reached."""

    def __init__(self, leads: Reach, *, lenient: bool) -> None:
        self.found: list[Violation] = []
        self._leads = leads
        self._lenient = lenient

    def value(self, value: JSON, known: Type, merge_key: str, path: Path) -> None:
        if isinstance(known, ScalarType):
            if not any(same(value, allowed) for allowed in known.enum):
                self.found.append(
                    unsupported(path, value, known.enum, warning=self._lenient)
                )
        elif isinstance(known, ObjectType) and isinstance(value, dict):
            self._members(value, known, path)
        elif isinstance(known, ListType) and isinstance(value, list):
            self._elements(value, known, merge_key, path)

    def _members(self, members: JSONObject, known: ObjectType, path: Path) -> None:
        for name, member in members.items():
            field = known.field(name)
            if field is None or member is None or not self._leads(field.type):
                continue
            if not (known.declares(name) and _omitted(member, field)):
                self.value(member, field.type, field.merge_key, path / name)

    def _elements(
        self, elements: JSONArray, known: ListType, merge_key: str, path: Path
    ) -> None:
        for index, element in enumerate(elements):
            if element is not None:
                self.value(
                    element, known.items, "", path / _step(index, element, merge_key)
                )


def _omitted(member: JSON, field: Field) -> bool:
    return (
        member == ""
        and isinstance(field.type, ScalarType)
        and "" not in field.type.enum
    )


def _step(index: int, element: JSON, merge_key: str) -> Element | int:
    key = element.get(merge_key) if merge_key and isinstance(element, dict) else None
    return (
        index
        if key is None or isinstance(key, dict | list)
        else Element(index, merge_key, key)
    )


def _before_enums(node: JSONObject) -> JSONObject:
    text = node.get("description")
    described = (
        text.partition(_HEADER)[0].strip()
        if isinstance(text, str) and _HEADER in text
        else text
    )
    if "enum" not in node and described is text:
        return node
    # An empty description is none: Go leaves it out.
    changed: JSONObject = {**node, "enum": None, "description": described or None}
    return {
        word: value
        for word, value in changed.items()
        if value is not None or word not in _CHANGED
    }
