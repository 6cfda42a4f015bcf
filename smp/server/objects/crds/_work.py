"""How long the validation of custom resources takes, and what makes it shorter."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from smp.values import JSON, JSONObject, as_list, as_object

# Keywords whose value has schemas that are all applied to the same value.
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_SCHEMAS: Final = ("additionalProperties", "items", "not")
# How long the parts of a schema take, measured: a value of a custom resource takes four
# times as long as one of a built-in kind.
_VALUE: Final = 4
_BRANCH: Final = 8
_DEFAULT: Final = 32  # it becomes a value of each object, however small that is
_FIELD: Final = 1
_MOST_LISTED: Final = 256  # a message lists the values of an enum, up to so many


class EnumValues(list[JSON]):
    """The values of an enum, and a set in which one of them is found at once."""

    def __init__(self, values: Iterable[JSON]) -> None:
        super().__init__(values)
        self.encoded = frozenset(encoded(value) for value in self)


def encoded(value: JSON) -> str:
    """Return a value as text: equal for equal values; 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def with_enum_sets(schema: JSONObject) -> JSONObject:
    """Return a schema whose enums, at all levels, are EnumValues."""
    changed = {**schema}
    if "enum" in schema:
        changed["enum"] = EnumValues(as_list(schema["enum"]))
    if "properties" in schema:
        changed["properties"] = {
            name: with_enum_sets(as_object(part))
            for name, part in as_object(schema["properties"]).items()
        }
    for keyword in _BRANCHES:
        if keyword in schema:
            parts = as_list(schema[keyword])
            changed[keyword] = [with_enum_sets(as_object(part)) for part in parts]
    for keyword in _SCHEMAS:
        part = schema.get(keyword)
        if isinstance(part, dict):
            changed[keyword] = with_enum_sets(part)
    return changed


def weight(schema: JSONObject) -> int:
    """Estimate how many times longer a value takes than one of a built-in kind.

    A bound: it counts the branches and the defaults of all levels, the fields of the
    widest object, and the values of the longest enum.
    """
    branches, defaults, widest, longest = 0, 0, 0, 0
    parts = [schema]
    while parts:
        part = parts.pop()
        properties = as_object(part.get("properties"))
        defaults += "default" in part
        longest = max(longest, len(as_list(part.get("enum"))))
        widest = max(widest, len(properties) + len(as_list(part.get("required"))))
        parts += map(as_object, properties.values())
        for keyword in _BRANCHES:
            schemas = as_list(part.get(keyword))
            branches += len(schemas)
            parts += map(as_object, schemas)
        for keyword in _SCHEMAS:
            if isinstance(part.get(keyword), dict):
                branches += keyword == "not"
                parts.append(as_object(part[keyword]))
    return (
        _VALUE
        + branches * _BRANCH
        + defaults * _DEFAULT
        + widest * _FIELD
        + min(longest, _MOST_LISTED)
    )
