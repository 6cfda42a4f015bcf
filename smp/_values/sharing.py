"""What a new value has of an old one: equal parts become the same Python objects.

Later steps look only at what is not shared. This module is compiled with mypyc
(hatch_build.py).
"""

from __future__ import annotations

from smp._values.steps import count_steps
from smp._values.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same


def share_object(new: JSONObject, old: JSONObject) -> JSONObject:
    """Return the new object with the old one's own parts where they are equal.

    Equal objects give the old one itself.
    """
    count_steps(len(new))
    members: JSONObject = {}
    unchanged = len(new) == len(old)
    for name, value in new.items():
        was = old.get(name, ABSENT)
        kept = value if value is was else share(value, was)
        members[name] = kept
        if kept is not was:
            unchanged = False
    return old if unchanged else members


def share(new: JSON, old: JSON | Absent) -> JSON:
    """Return the new value with the old one's own parts where they are equal."""
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
    count_steps(len(new))
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
                element = share(element, was)
        elements.append(element)
        if element is not was:
            unchanged = False
    return old if unchanged else elements
