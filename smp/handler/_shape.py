"""How deep a value is nested."""

from __future__ import annotations

from smp._values.steps import count_steps
from smp._values.values import JSON, JSONArray, JSONObject


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
