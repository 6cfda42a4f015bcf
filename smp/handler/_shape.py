"""How deep a value is nested, and what it shares with another: both visit all of it."""

from __future__ import annotations

from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same


def is_deeper(value: JSON, old: JSON, levels: int) -> bool:
    """Tell whether a value has more levels of objects and lists than so many.

    What is the same object as in the old value, at the same place, is not looked into.
    """
    if isinstance(value, dict):
        if not levels:
            return True
        before: JSONObject = old if isinstance(old, dict) else {}
        for name, member in value.items():
            if isinstance(member, (dict, list)):
                was = before.get(name)
                if member is not was and is_deeper(member, was, levels - 1):
                    return True
    elif isinstance(value, list):
        if not levels:
            return True
        elements: JSONArray = old if isinstance(old, list) else []
        count = len(elements)
        for index in range(len(value)):
            element = value[index]
            if isinstance(element, (dict, list)):
                was = elements[index] if index < count else None
                if element is not was and is_deeper(element, was, levels - 1):
                    return True
    return False


def share_object(new: JSONObject, old: JSONObject) -> JSONObject:
    """Return the new object with the old one's own parts where they are equal.

    Equal objects give the old one itself. Later steps look only at what is not shared.
    """
    members: JSONObject = {}
    unchanged = len(new) == len(old)
    for name, value in new.items():
        was = old.get(name, ABSENT)
        kept = value if value is was else _share(value, was)
        members[name] = kept
        if kept is not was:
            unchanged = False
    return old if unchanged else members


def _share(new: JSON, old: JSON | Absent) -> JSON:
    if isinstance(new, dict) and isinstance(old, dict):
        return share_object(new, old)
    if isinstance(new, list) and isinstance(old, list):
        return _share_list(new, old)
    if not isinstance(old, Absent) and same(new, old):
        return old
    return new


def _share_list(new: JSONArray, old: JSONArray) -> JSONArray:
    """Share the elements of a list: each with the old one at its place.

    An element that is the old list's own, at any index, is kept.
    """
    old_ids: set[int] | None = None
    count = len(old)
    elements: JSONArray = []
    unchanged = len(new) == count
    for index in range(len(new)):
        element = new[index]
        was: JSON | Absent = old[index] if index < count else ABSENT
        if element is not was:
            if old_ids is None:
                old_ids = {id(e) for e in old if isinstance(e, (dict, list))}
            if id(element) not in old_ids:
                element = _share(element, was)
        elements.append(element)
        if element is not was:
            unchanged = False
    return old if unchanged else elements
