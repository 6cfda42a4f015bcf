"""Custom resources validated by their schemas. Pure.

jsonschema does the work, for the keywords of OpenAPI v3 are those of JSON Schema draft
4. Added is what OpenAPI and Kubernetes have beside them: nullable, int-or-string,
embedded resources, list types, and patterns in the dialect of Go, which RE2 matches in
linear time. Rules in the Common Expression Language (``x-kubernetes-validations``) are
not evaluated, nor are most formats. Source: "Extend the Kubernetes API with
CustomResourceDefinitions" in the Kubernetes documentation ("Validation").
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import re2
from jsonschema import Draft4Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

from smp.errors import DepthError
from smp.paths import Path
from smp.server.errors import invalid, required
from smp.values import JSON, JSONObject, as_list, same
from smp.violations import Violation, unsupported


def violations(value: JSON, schema: JSONObject) -> tuple[Violation, ...]:
    """Return what a schema refuses in a value. Raises DepthError."""
    try:
        return tuple(
            map(
                _violation,
                _Validator(schema, format_checker=_FORMATS).iter_errors(value),
            )
        )
    except RecursionError:
        raise DepthError("the value is nested too deeply") from None


def is_readable(pattern: str) -> bool:
    """Tell whether a pattern is one."""
    return _compiled(pattern) is not None


def _violation(error: Any) -> Violation:
    path = Path(tuple(error.path))
    if error.validator in _MISSING:
        return required(path)
    if error.validator == "enum":
        return unsupported(path, error.instance, as_list(error.validator_value))
    return invalid(
        path,
        error.instance,
        _DETAILS.get(str(error.validator), "{0.message}").format(error),
    )


_MISSING: Final = ("required", "x-kubernetes-embedded-resource")
_DETAILS: Final = {  # where jsonschema would print the whole value
    "anyOf": "must validate at least one schema (anyOf)",
    "format": "must be of the format {0.validator_value}",
    "maxItems": "must have at most {0.validator_value} items",
    "maxLength": "must have at most {0.validator_value} characters",
    "maxProperties": "must have at most {0.validator_value} properties",
    "minItems": "must have at least {0.validator_value} items",
    "minLength": "must have at least {0.validator_value} characters",
    "minProperties": "must have at least {0.validator_value} properties",
    "multipleOf": "must be a multiple of {0.validator_value}",
    "not": "must not validate the schema (not)",
    "oneOf": "must validate one and only one schema (oneOf)",
    "pattern": "must match '{0.validator_value}'",
    "type": "must be of type {0.validator_value}",
    "x-kubernetes-int-or-string": "must be an integer or a string",
    "x-kubernetes-list-type": "must not occur twice",
}


def _type(
    validator: Any, kind: str, value: JSON, schema: JSONObject
) -> Iterator[ValidationError]:
    if not validator.is_type(value, kind) and not _is_nullable(value, schema):
        yield ValidationError("")


def _enum(
    _validator: Any, allowed: list[JSON], value: JSON, _schema: JSONObject
) -> Iterator[ValidationError]:
    if not any(same(value, one) for one in allowed):
        yield ValidationError("")


def _int_or_string(
    _validator: Any, on: JSON, value: JSON, schema: JSONObject
) -> Iterator[ValidationError]:
    if on is True and type(value) not in {int, str} and not _is_nullable(value, schema):
        yield ValidationError("")


def _is_nullable(value: JSON, schema: JSONObject) -> bool:
    return value is None and schema.get("nullable") is True


def _multiple_of(
    _validator: Any, divisor: float, value: JSON, _schema: JSONObject
) -> Iterator[ValidationError]:
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and _exact(value) % _exact(divisor)
    ):
        yield ValidationError("")


def _exact(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(str(number))


def _pattern(
    _validator: Any, pattern: str, value: JSON, _schema: JSONObject
) -> Iterator[ValidationError]:
    compiled = _compiled(pattern)
    if isinstance(value, str) and compiled and not compiled.search(value):
        yield ValidationError("")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _QUIET)
    except (re2.error, UnicodeError):
        return None


_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def _required(
    _validator: Any, members: list[str], value: JSON, _schema: JSONObject
) -> Iterator[ValidationError]:
    lacking = (
        [name for name in members if name not in value]
        if isinstance(value, dict)
        else []
    )
    yield from (ValidationError("", path=(name,)) for name in lacking)


def _embedded(
    validator: Any, on: JSON, value: JSON, schema: JSONObject
) -> Iterator[ValidationError]:
    if on is True:
        yield from _required(validator, ["apiVersion", "kind"], value, schema)


def _list_type(
    _validator: Any, kind: str, value: JSON, schema: JSONObject
) -> Iterator[ValidationError]:
    keys = as_list(schema.get("x-kubernetes-list-map-keys")) if kind == "map" else None
    times = Counter[str]()
    for index, element in enumerate(as_list(value) if kind in {"map", "set"} else ()):
        identity = json.dumps(_identity(element, keys), sort_keys=True)
        times[identity] += 1
        if times[identity] == _TWICE:
            yield ValidationError("", path=(index,))


_TWICE: Final = 2


def _identity(element: JSON, keys: list[JSON] | None) -> JSON:
    if keys is None or not isinstance(element, dict):
        return element
    return [element.get(str(key)) for key in keys]


def _is_integer(_checker: Any, value: JSON) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


_Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]  # its stubs lack it
    Draft4Validator,
    {
        "enum": _enum,
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "required": _required,
        "type": _type,
        "x-kubernetes-embedded-resource": _embedded,
        "x-kubernetes-int-or-string": _int_or_string,
        "x-kubernetes-list-type": _list_type,
    },
    type_checker=Draft4Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
_FORMATS: Final = FormatChecker(["date", "email", "ipv4", "ipv6", "uuid"])


@_FORMATS.checks("date-time")
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or bool(_TIME.fullmatch(value))


_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
