"""Custom resources validated by their schemas.

The keywords of OpenAPI v3 are those of JSON Schema draft 4, so jsonschema does the
work (_validator.py). What OpenAPI and Kubernetes add to them is in _keywords.py:
nullable, int-or-string, embedded resources, list types, and patterns in the dialect of
Go, which RE2 matches in linear time. Not evaluated are rules in the Common Expression
Language (``x-kubernetes-validations``) and most formats. Source: "Extend the Kubernetes
API with CustomResourceDefinitions" in the Kubernetes documentation ("Validation").
"""

from __future__ import annotations

from typing import Any, Final

from smp.errors import bounded
from smp.paths import Path
from smp.server.errors import invalid, required
from smp.values import JSON, JSONObject, as_list, type_name
from smp.violations import Reason, Violation, quoted_json, unsupported

_MOST: Final = 1000
_MOST_CHARACTERS: Final = 1_000_000  # of the messages

# What is wrong with a value, by keyword: these are words of a kube-apiserver (Go:
# kube-openapi, pkg/validation/errors/schema.go).
_DETAILS: Final = {
    "maximum": "should be less than or equal to {0}",
    "minItems": "should have at least {0} items",
    "minLength": "should be at least {0} chars long",
    "minProperties": "should have at least {0} properties",
    "minimum": "should be greater than or equal to {0}",
    "multipleOf": "should be a multiple of {0}",
    "pattern": "should match '{0}'",
}
_EXCLUSIVE: Final = {
    "maximum": ("exclusiveMaximum", "should be less than {0}"),
    "minimum": ("exclusiveMinimum", "should be greater than {0}"),
}
_COUNTED: Final = ("minItems", "minProperties")
# Go: kube-openapi, pkg/validation/validate/schema_messages.go. An error of these has no
# field there; here it has that of the value.
_COMBINED: Final = {
    "anyOf": "must validate at least one schema (anyOf)",
    "not": "must not validate the schema (not)",
    "oneOf": "must validate one and only one schema (oneOf). {0}",
}


@bounded("the value")
def violations(value: JSON, schema: JSONObject) -> tuple[Violation, ...]:
    """Return what a schema does not allow in a value; not more than 1,000 violations.

    Raises DepthError.
    """
    # jsonschema takes a tenth of the start of a server, and not all have definitions.
    from smp.server.objects.crds._validator import validator_of  # noqa: PLC0415

    validator = validator_of(schema)
    violations: list[Violation] = []
    length = 0
    for error in validator.iter_errors(value):
        violations.append(_violation(error))
        # A message may print a large value or a long enum: a few of these are enough.
        length += len(violations[-1].message)
        if length > _MOST_CHARACTERS or len(violations) == _MOST:
            break
    return tuple(violations)


def _violation(error: Any) -> Violation:
    """Return what an error of jsonschema is (Go: kubeOpenAPIResultToFieldErrors)."""
    keyword, value, limit = str(error.validator), error.instance, error.validator_value
    path = Path(tuple(error.path))
    message, code = "", ""
    reason: Reason = "FieldValueInvalid"
    match keyword:
        case "required" | "x-kubernetes-embedded-resource":
            return required(path)
        case "enum":
            return unsupported(path, value, as_list(limit))
        case "format" if isinstance(value, str):
            return wrong_type(path, value, str(limit))
        case "format":
            # Go leaves out the field; here it is that of the value.
            type_ = error.schema.get("type")
            detail = (
                f"Checked value must be of type {type_} with format {limit} in {path}"
            )
            return invalid(path, "", detail)
        case "type":
            return wrong_type(path, type_name(value), str(limit))
        case "x-kubernetes-int-or-string":
            return wrong_type(path, type_name(value), "integer,string")
        case "x-kubernetes-list-type":
            # The message is the element, or its keys (_keywords.list_type).
            code, reason = "duplicate-value", "FieldValueDuplicate"
            message = f"Duplicate value: {error.message}"
        case "maxLength":
            code, reason = "too-long", "FieldValueTooLong"
            message = f"Too long: may not be more than {limit} bytes"
        case "maxItems" | "maxProperties":
            # The words of field.TooMany in Go.
            code, reason = "too-many", "FieldValueTooMany"
            items = "item" if limit == 1 else "items"
            message = f"Too many: {len(value)}: must have at most {limit} {items}"
    if message:
        return Violation(code, path, reason, message)
    return _invalid_value(error, keyword, path)


def _invalid_value(error: Any, keyword: str, path: Path) -> Violation:
    """Return the violation of a keyword that has no reason of its own."""
    value, limit = error.instance, error.validator_value
    if keyword in _COMBINED:
        detail = f'"{path}" {_COMBINED[keyword].format(error.message)}'
        return invalid(path, "", detail)
    form = _DETAILS.get(keyword)
    if form is None:
        return invalid(path, value, error.message)
    if keyword in _EXCLUSIVE:
        exclusive, words = _EXCLUSIVE[keyword]
        form = words if error.schema.get(exclusive) else form
    number = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
    detail = f"{path} in body {form.format(number)}"
    return invalid(path, len(value) if keyword in _COUNTED else value, detail)


def wrong_type(path: Path, value: JSON, expected: str) -> Violation:
    """Make the violation of a value of another type or format (Go: field.TypeInvalid).

    ``value`` is the name of its type where the type is wrong.
    """
    shown = quoted_json(value)
    message = (
        f"Invalid value: {shown}: {path} in body must be of type {expected}: {shown}"
    )
    return Violation("wrong-type", path, "FieldValueTypeInvalid", message, value)
