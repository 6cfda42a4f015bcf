"""The rules for the schema of a version: the walk that asks the table.

A schema is structural if it states all types outside of ``allOf``, ``anyOf``, ``oneOf``
and ``not``, so that the fields of an object are known without evaluating conditions.
Inside of these four, a schema only restricts what is stated outside:

    type: object                         # structure
    properties:
      port: {type: integer}              # structure
    anyOf:
    - properties:
        port: {minimum: 1024}            # a condition; "type" would be forbidden here

Go: k8s.io/apiextensions-apiserver, in pkg/apiserver/schema what is about structure, in
pkg/apis/apiextensions/validation all else. What no rule names is taken, such as
``minLength: -1`` and a set of lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import (
    ABSENT,
    JSONArray,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.custom_resources._field_paths import find_field
from smp.custom_resources._table import LIST_TYPE, PRESERVE, SchemaPlace
from smp.paths import Key, Path
from smp.violations import Violation, forbidden, invalid, require

MAP_KEYS: Final = "x-kubernetes-list-map-keys"
VALIDATIONS: Final = "x-kubernetes-validations"
# How int-or-string is published.
_EITHER: Final[JSONArray] = [{"type": "integer"}, {"type": "string"}]
# Go: allowedFieldsAtRootSchema; id, $schema and $ref come before the type there.
_BEFORE_TYPE: Final = ("id", "$schema", "$ref")
_AT_ROOT: Final = frozenset(
    {
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum"),
        *("minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern"),
        *("maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items"),
        *("properties", "externalDocs", "example", PRESERVE, VALIDATIONS),
    }
)
# Go: validateUnsupportedFields.
_WITHOUT_STRUCTURE: Final = (
    *("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions"),
)


def find_structural_violations(root: SchemaPlace) -> Iterator[Violation]:
    """Yield where a schema is not structural (Go: ValidateStructural)."""
    yield from _check_structure(root)
    # Go: validateStructuralCompleteness, which begins at the root alone.
    for condition in root.conditions():
        yield from _find_undeclared(condition, root)


def _check_structure(place: SchemaPlace) -> Iterator[Violation]:
    """Go: validateStructuralInvariants."""
    yield from place.refusals("structure")
    yield from _check_conditions(place)
    for inner in place.inner():
        if not inner.is_condition:
            yield from _check_structure(inner)


def _check_conditions(place: SchemaPlace) -> Iterator[Violation]:
    """Go: validateValueValidation."""
    # Only there a condition may state types.
    is_either = same(place.schema.get("anyOf"), _EITHER)
    for condition in place.conditions():
        if condition.keyword != "anyOf" or not is_either:
            yield from _check_condition(condition)


def _check_condition(place: SchemaPlace) -> Iterator[Violation]:
    """Go: validateNestedValueValidation."""
    yield from place.refusals("condition")
    is_first = place.keyword == "allOf" and place.name == 0
    is_either = is_first and same(place.schema.get("anyOf"), _EITHER)
    for inner in place.inner():
        is_skipped = inner.keyword == "anyOf" and is_either
        if inner.keyword != "additionalProperties" and not is_skipped:
            yield from _check_condition(inner)


def _find_undeclared(
    condition: SchemaPlace, declared: SchemaPlace
) -> Iterator[Violation]:
    """Go: validateNestedValueValidationCompleteness."""
    for inner in condition.inner():
        if inner.is_condition:
            yield from _find_undeclared(inner, declared)
        elif inner.keyword != "additionalProperties":
            counterpart = next(
                (
                    other
                    for other in declared.inner()
                    if (other.keyword, other.name) == (inner.keyword, inner.name)
                ),
                None,
            )
            if counterpart is None:
                steps = inner.path.steps[len(condition.path.steps) :]
                path = Path((*declared.path.steps, *steps))
                yield require(path, f"because it is defined in {inner.path}")
            else:
                yield from _find_undeclared(inner, counterpart)


def find_keyword_violations(place: SchemaPlace) -> Iterator[Violation]:
    """Yield the keywords of one schema that are forbidden or malformed."""
    yield from place.refusals("keyword")
    if place.is_list("map") and place.items.text("type") == "object":
        yield from _check_map_keys(place)
    for index, rule in enumerate(as_list(place.schema.get(VALIDATIONS))):
        path = place.path / VALIDATIONS / index
        written = SchemaPlace(as_object(rule), path)
        yield from list(written.refusals("message"))[:1]
        yield from written.refusals("rule")
        field_path = written.text("fieldPath")
        if field_path and find_field(field_path, place.schema) is None:
            yield invalid(path / "fieldPath", field_path, "must be a valid path")


def _check_map_keys(place: SchemaPlace) -> Iterator[Violation]:
    path = place.path / MAP_KEYS
    keys = as_list(place.schema.get(MAP_KEYS))
    items = place.items
    required = as_list(items.schema.get("required"))
    for index, key in enumerate(keys):
        name = as_text(key)
        declared = as_object(items.schema.get("properties")).get(name, ABSENT)
        if key in keys[:index]:
            yield invalid(path, [*keys], "must not contain duplicate entries")
        if declared is ABSENT:
            yield invalid(path, [*keys], "entries must all be names of item properties")
            continue
        of_key = SchemaPlace(as_object(declared), items.path / "properties" / Key(name))
        if of_key.text("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            yield invalid(of_key.path / "type", of_key.text("type"), detail)
        # Go: validateMapListKeysMapSet.
        is_key = f"this property is in {MAP_KEYS}, so it"
        if key not in required and of_key.schema.get("default") is None:
            detail = f"{is_key} must have a default or be a required property"
            yield require(of_key.path / "default", detail)
        if of_key.flag("nullable"):
            yield forbidden(of_key.path / "nullable", f"{is_key} cannot be nullable")


def find_root_violations(root: SchemaPlace, *, has_status: bool) -> Iterator[Violation]:
    """Yield what may not be at the root (Go: the function of the next line).

    validateCustomResourceDefinitionValidation.
    """
    if has_status:
        detail = "only some fields are allowed at the root if there is a status"
        is_early = any(root.states(name) for name in _BEFORE_TYPE)
        if not is_early and root.text("type") not in ("", "object"):
            detail = 'only "object" is allowed as the type at the root of the schema'
            yield invalid(root.path / "type", root.text("type"), detail)
        elif any(root.states(name) and name not in _AT_ROOT for name in root.schema):
            yield invalid(root.path, {}, detail)
    if root.flag("nullable"):
        yield forbidden(root.path / "nullable", "nullable cannot be true at the root")


def is_convertible(place: SchemaPlace) -> bool:
    """Tell whether a schema has a structure at all (Go: NewStructural)."""
    if any(place.states(name) for name in _WITHOUT_STRUCTURE):
        return False
    if place.schema.get("additionalItems") is not None:
        return False
    if place.schema.get(PRESERVE) is False or as_list(place.schema.get("items")):
        return False
    return all(is_convertible(inner) for inner in place.inner())
