"""How long the validation of custom resources takes, and what makes it shorter."""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject, as_list, as_object

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
