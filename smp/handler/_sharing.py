"""Making a new value share what it has in common with the old one, so that later steps
look only at what changed.
"""

from __future__ import annotations

from itertools import chain, repeat
from operator import is_

from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same


def shared_object(new: JSONObject, old: JSONObject) -> JSONObject:
    """Return the new object with the old one's own parts where they are equal; equal
    objects give the old one itself.

    Elements of lists meet by identity, or by their place.
    """
    members = {
        name: _shared(value, old.get(name, ABSENT)) for name, value in new.items()
    }
    alike = members.keys() == old.keys() and all(
        value is old[name] for name, value in members.items()
    )
    return old if alike else members


def _shared(new: JSON, old: JSON | Absent) -> JSON:
    if new is old:
        return new
    if isinstance(new, dict) and isinstance(old, dict):
        return shared_object(new, old)
    if isinstance(new, list) and isinstance(old, list):
        return _shared_list(new, old)
    return old if not isinstance(old, Absent) and same(new, old) else new


def _shared_list(new: JSONArray, old: JSONArray) -> JSONArray:
    known = {id(element) for element in old if isinstance(element, dict | list)}
    places = zip(new, chain(old, repeat(ABSENT)), strict=False)
    elements = [
        element if id(element) in known else _shared(element, was)
        for element, was in places
    ]
    return (
        old if len(elements) == len(old) and all(map(is_, elements, old)) else elements
    )
