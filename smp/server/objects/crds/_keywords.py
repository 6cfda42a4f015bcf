"""The keywords of schemas that Kubernetes evaluates in another way than jsonschema.

Each function has the signature that jsonschema asks for, (validator, value of the
keyword, value, schema), and yields an error, which validation.py words: its message is
no more than what is not in the value or the keyword.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final, TypeAlias

from jsonschema import Draft4Validator, ValidationError

from smp.server.objects.crds._patterns import compiled_pattern
from smp.server.objects.crds._work import EnumValues, encoded
from smp.values import JSON, JSONObject, as_list, same

# By type and format. The lowest integer is one further from zero; of floats, that does
# not matter.
_LARGEST: Final[dict[tuple[JSON, str], float]] = {
    ("integer", "int32"): 2**31 - 1,
    ("number", "float"): 3.4028235677973366e38,
}

Errors: TypeAlias = Iterator[ValidationError]


def is_integer(_checker: Any, value: JSON) -> bool:
    """Tell whether a value is an integer; in JSON Schema 1.0 is one, true is not."""
    # In Python a boolean is an instance of int.
    if isinstance(value, float):
        return value.is_integer()
    return type(value) is int


def json_type(
    validator: Any, type_name: str, value: JSON, schema: JSONObject
) -> Errors:
    """Check the type of a value."""
    if not validator.is_type(value, type_name) and not _is_nullable(value, schema):
        yield ValidationError("")


def known_format(validator: Any, name: str, value: JSON, schema: JSONObject) -> Errors:
    """Check the format of a string, and the range of a number.

    Go: IsValueValidAgainstRange in k8s.io/kube-openapi, pkg/validation/validate.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield from Draft4Validator.VALIDATORS["format"](validator, name, value, schema)
        return
    most = _LARGEST.get((schema.get("type"), name))
    if most is not None and not -most - 1 <= value <= most:
        yield ValidationError("")


def int_or_string(
    _validator: Any, enabled: JSON, value: JSON, schema: JSONObject
) -> Errors:
    """Check that a value is an integer or a string."""
    if enabled is not True or _is_nullable(value, schema):
        return
    if type(value) not in {int, str}:
        yield ValidationError("")


def _is_nullable(value: JSON, schema: JSONObject) -> bool:
    """Tell whether a value is null and its schema allows that, besides any type."""
    return value is None and schema.get("nullable") is True


def enum(
    _validator: Any, allowed: list[JSON], value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a value is one of those listed; true is not 1, as it is in Python."""
    if isinstance(allowed, EnumValues):
        is_allowed = encoded(value) in allowed.encoded
    else:
        is_allowed = any(same(value, candidate) for candidate in allowed)
    if not is_allowed:
        yield ValidationError("")


def any_of(
    validator: Any, schemas: list[JSONObject], value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a value is valid in one of the schemas."""
    # The first error of a schema decides. jsonschema would collect all of them, and
    # print the value for each.
    if not any(_is_valid(validator, schema, value) for schema in schemas):
        yield ValidationError("")


def one_of(
    validator: Any, schemas: list[JSONObject], value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a value is valid in exactly one of the schemas."""
    valid = [schema for schema in schemas if _is_valid(validator, schema, value)]
    if not valid:
        yield ValidationError("Found none valid")
    elif len(valid) > 1:
        yield ValidationError(f"Found {len(valid)} valid alternatives")


def not_(
    validator: Any, schema: JSONObject, value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a value is not valid in a schema."""
    if _is_valid(validator, schema, value):
        yield ValidationError("")


def _is_valid(validator: Any, schema: JSONObject, value: JSON) -> bool:
    return bool(validator.evolve(schema=schema).is_valid(value))


def multiple_of(
    _validator: Any, divisor: float, value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a number is a multiple, exactly: 0.3 is one of 0.1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if _exact(value) % _exact(divisor):
        yield ValidationError("")


def _exact(number: float) -> Fraction:
    """Return the number that was written, not the nearest binary fraction."""
    return Fraction(number) if isinstance(number, int) else Fraction(str(number))


def pattern(
    _validator: Any, expression: str, value: JSON, _schema: JSONObject
) -> Errors:
    """Check that a string matches a pattern somewhere.

    A pattern that cannot be read never gets here: it is an error in the definition.
    """
    compiled = compiled_pattern(expression)
    if isinstance(value, str) and compiled and not compiled.search(value):
        yield ValidationError("")


def required(
    _validator: Any, names: list[str], value: JSON, _schema: JSONObject
) -> Errors:
    """Check that an object has fields; the error is at the field that is missing."""
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield ValidationError("", path=(name,))


def embedded_resource(
    validator: Any, enabled: JSON, value: JSON, schema: JSONObject
) -> Errors:
    """Check that an object in an object has an apiVersion and a kind."""
    if enabled is True:
        yield from required(validator, ["apiVersion", "kind"], value, schema)


def list_type(
    _validator: Any, semantics: str, value: JSON, schema: JSONObject
) -> Errors:
    """Check that no element of a set, and no key of an element of a map, occurs twice.

    The error is at the second occurrence, and there is none at the third.
    """
    # The third type, "atomic", allows duplicates.
    if semantics not in {"map", "set"}:
        return
    keys = as_list(schema.get("x-kubernetes-list-map-keys"))
    times: dict[str, int] = {}
    for index, element in enumerate(as_list(value)):
        # The elements of a map are objects; anything else has been found by "type".
        identity = element
        if semantics == "map" and isinstance(element, dict):
            identity = {
                str(key): element[str(key)] for key in keys if str(key) in element
            }
        # As JSON, so that 1, 1.0 and true differ.
        text = json.dumps(
            identity, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:  # noqa: PLR2004  # the second occurrence
            yield ValidationError(text, path=(index,))


KEYWORDS: Final[dict[str, Callable[..., Errors]]] = {
    "anyOf": any_of,
    "enum": enum,
    "format": known_format,
    "multipleOf": multiple_of,
    "not": not_,
    "oneOf": one_of,
    "pattern": pattern,
    "required": required,
    "type": json_type,
    "x-kubernetes-embedded-resource": embedded_resource,
    "x-kubernetes-int-or-string": int_or_string,
    "x-kubernetes-list-type": list_type,
}
