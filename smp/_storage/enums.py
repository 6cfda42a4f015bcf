"""Enums (KEP-2887): closed sets of values, and schemas with and without them."""

from __future__ import annotations

from typing import Any, Final

from smp._storage.typed_storage import is_pointer
from smp._values.plain import over_json
from smp._values.values import (
    ABSENT,
    JSON,
    JSONObject,
    equal,
    require_plain,
    same,
    type_name,
)
from smp.errors import SchemaError
from smp.paths import Path, Step, sort_by_path
from smp.schema.enum_listing import HEADER
from smp.schema.model import ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, plan_of
from smp.schema.rewrite import rewrite_named
from smp.schema.walk import Place, Rule, Walk
from smp.violations import Violation, unsupported


@over_json("the object", "obj")
def validate_enums(
    obj: Any, schema: Schema, *, lenient: bool = False
) -> tuple[Violation, ...]:
    """Return every value that is not in the enum of its field, by path.

    An enum is a closed set, and values compare in their types. ``lenient`` is for
    responses, which may come from a newer server: the same violations, each a warning.
    Not more than 10,000 are returned. Null is absent. So is the empty string of a
    declared field unless the enum has it, for a Go client cannot leave out what has no
    omitempty; as an element, as the value of a map, or where Go has a pointer it is
    checked. Unknown fields and defaults are not checked. Raises SchemaError where the
    object reaches a type that the schema refers to and lacks, and DepthError.
    """
    if not isinstance(obj, dict):
        require_plain(obj)
    type_ = schema.type
    if isinstance(type_, ScalarType) and type_.enum and not _allows(type_, obj):
        return (_make_unsupported(Path(), obj, type_, warning=lenient),)
    rule = EnumRule(ratchet=False, lenient=lenient)
    Walk(plan_of(schema.types, _ENUMS), [rule]).run(ABSENT, obj, type_)
    return sort_by_path(rule.violations)


def _allows(type_: ScalarType, value: JSON) -> bool:
    if isinstance(value, str):
        return value in type_.texts or "string" in type_.or_any
    for allowed in type_.enum:
        # 1.0 and 1 are one number (Go: kube-openapi, basicCommonValidator).
        if same(value, allowed) or equal(value, allowed):
            return True
    return type_name(value) in type_.or_any


def _make_unsupported(
    path: Path, value: JSON, type_: ScalarType, *, warning: bool
) -> Violation:
    return unsupported(path, value, type_.enum, or_any=type_.or_any, warning=warning)


class EnumInterest(Interest):
    """Scalars with an enum."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return the type itself where it has an enum."""
        return type_ if isinstance(type_, ScalarType) and type_.enum else None


# A long list of wrong values would otherwise need a thousand times its own memory.
_MOST: Final = 10_000
# Pointers of which a server takes the empty text for none. Go: storage
# validateReclaimPolicy.
_UNSET: Final = frozenset({("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy")})
ENUM_INTEREST: Final = EnumInterest("enums")
_ENUMS: Final = Interests(ENUM_INTEREST)


class EnumRule(Rule):
    """Finds the values that the enum of their field does not have.

    With ``ratchet`` a value is tolerated that the old object has at the same place.
    """

    def __init__(self, *, ratchet: bool, lenient: bool = False) -> None:
        self.violations: list[Violation] = []
        self._ratchet = ratchet
        self._lenient = lenient

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        """Judge a value by the enum of its type."""
        if not isinstance(facts, ScalarType) or _allows(facts, value):
            return
        # A Go client cannot leave out the empty string of a field without omitempty,
        # but nil of a pointer. An element, or the value of a map, is not declared.
        type_ = place.node.type
        declared = (
            isinstance(type_, ObjectType)
            and isinstance(step, str)
            and type_.declares(step)
            and ((type_.name, step) in _UNSET or not is_pointer(type_, step))
        )
        if declared and isinstance(value, str) and not value:
            return
        if self._ratchet and (same(value, place.old_at(step)) or place.shared):
            return
        if len(self.violations) == _MOST:
            return
        self.violations.append(
            _make_unsupported(place.path / step, value, facts, warning=self._lenient)
        )


@over_json("the OpenAPI document", "document")
def without_enums(document: Any) -> dict[str, Any]:
    """Return an OpenAPI v2 or v3 document as it was before KEP-2887.

    Each named schema, and each schema inside it, loses ``enum``, and its description
    the listing of possible values, as an API server does without the feature
    OpenAPIEnums. Unchanged parts are shared with the document. Raises SchemaError, with
    the path, for what is not a schema, and DepthError.
    """
    if not isinstance(document, dict):
        require_plain(document)
        raise SchemaError(
            f"an OpenAPI document is an object, not {type_name(document)}"
        )
    return rewrite_named(document, _copy_without_enum)


def _copy_without_enum(node: JSONObject) -> JSONObject:
    text = node.get("description")
    if isinstance(text, str) and HEADER in text:
        # The listing is the end of a description. An empty description is left out.
        text = text.partition(HEADER)[0].strip()
    elif "enum" not in node:
        return node
    changed: JSONObject = {}
    for name, value in node.items():
        if name == "description":
            if text:
                changed[name] = text
        elif name != "enum":
            changed[name] = value
    return changed
