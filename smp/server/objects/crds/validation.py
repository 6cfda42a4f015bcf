"""Custom resources validated by their schemas.

The keywords of OpenAPI v3 are those of JSON Schema draft 4, so jsonschema does the
work (_validator.py). What OpenAPI and Kubernetes add to them is in _keywords.py:
nullable, int-or-string, embedded resources, list types, and patterns in the dialect of
Go, which RE2 matches in linear time. Not evaluated are rules in the Common Expression
Language (``x-kubernetes-validations``) and most formats. Source: "Extend the Kubernetes
API with CustomResourceDefinitions" in the Kubernetes documentation ("Validation").
"""

from __future__ import annotations

from typing import Final

from smp.errors import bounded
from smp.paths import Path
from smp.server.errors import invalid, required
from smp.values import JSON, JSONObject, as_list
from smp.violations import Violation, unsupported

_MOST: Final = 1000
_MOST_CHARACTERS: Final = 1_000_000  # of the messages

# Keywords whose violation is a value that is missing.
_MISSING: Final = ("required", "x-kubernetes-embedded-resource")
# What is wrong, by keyword; the messages of jsonschema would print the whole value.
_DETAILS: Final = {
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
        keyword = str(error.validator)
        path = Path(tuple(error.path))
        if keyword in _MISSING:
            violations.append(required(path))
        elif keyword == "enum":
            allowed = as_list(error.validator_value)
            violations.append(unsupported(path, error.instance, allowed))
        else:
            detail = _DETAILS.get(keyword, "{0.message}").format(error)
            violations.append(invalid(path, error.instance, detail))
        # A message may print a large value or a long enum: a few of these are enough.
        length += len(violations[-1].message)
        if length > _MOST_CHARACTERS or len(violations) == _MOST:
            break
    return tuple(violations)
