"""How deep a value is nested, and how its numbers are written."""

from __future__ import annotations

from typing import Final

from smp._values.steps import count_steps
from smp._values.values import JSON, JSONArray, JSONObject

# Integers below it are exact in a double.
_EXACT: Final = 2**53


def is_deeper(value: JSON, old: JSON, levels: int) -> bool:
    """Tell whether a value has more levels of objects and lists than so many.

    What is the same object as in the old value, at the same place, is not looked into.
    """
    if isinstance(value, dict):
        if not levels:
            return True
        count_steps(len(value))
        before: JSONObject = old if isinstance(old, dict) else {}
        for name, member in value.items():
            if isinstance(member, (dict, list)):
                was = before.get(name)
                if member is not was and is_deeper(member, was, levels - 1):
                    return True
    elif isinstance(value, list):
        if not levels:
            return True
        count_steps(len(value))
        elements: JSONArray = old if isinstance(old, list) else []
        count = len(elements)
        for index in range(len(value)):
            element = value[index]
            if isinstance(element, (dict, list)):
                was = elements[index] if index < count else None
                if element is not was and is_deeper(element, was, levels - 1):
                    return True
    return False


def make_numbers_whole(value: JSON) -> JSON:
    """Return a value whose numbers without a fraction are integers: 1.0 is 1.

    That is how a server prints a custom resource, whose schema may ask for an integer
    (Go: encoding/json, and IsFloat64AJSONInteger in go-openapi/swag).
    """
    if isinstance(value, float):
        if abs(value) < _EXACT and value.is_integer():
            return int(value)
    elif isinstance(value, dict):
        count_steps(len(value))
        members: JSONObject = {}
        is_same = True
        for name, member in value.items():
            members[name] = make_numbers_whole(member)
            is_same = is_same and members[name] is member
        return value if is_same else members
    elif isinstance(value, list):
        count_steps(len(value))
        elements = [make_numbers_whole(element) for element in value]
        for index, element in enumerate(value):
            if elements[index] is not element:
                return elements
    return value
