"""What is no difference between a manifest and a stored object: defaults of a server.

A server fills in defaults, drops zero values, and prints quantities in one form. What
it would make of the manifest is compared with the stored object. Where these are the
same, the object after is taken to be as the object before, so that the difference is in
neither the patch nor the report, and the patch fits the object before as it is.
"""

from __future__ import annotations

from smp.schema.model import ANY_FIELD, Field, Schema, Type
from smp.schema.plan import identities
from smp.schema.walk import pair
from smp.update import as_stored
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, as_object, same


def without_defaults(
    before: JSONObject,
    after: JSONObject,
    schema: Schema,
    *,
    profile: str,
    is_stored_first: bool,
) -> JSONObject:
    """Return the object after without what only a server's defaults make different.

    One of the two objects is stored, as ``is_stored_first`` says; the other one is a
    manifest.
    """
    manifest = after if is_stored_first else before
    expected = as_stored(manifest, None, schema, profile=profile)
    comparison = _Comparison(is_stored_first=is_stored_first)
    return as_object(comparison.value(before, after, expected, schema.type, None))


class _Comparison:
    """A walk along both objects and what a server would make of the manifest."""

    def __init__(self, *, is_stored_first: bool) -> None:
        self._is_stored_first = is_stored_first

    def value(
        self,
        before: JSON | Absent,
        after: JSON | Absent,
        expected: JSON | Absent,
        type_: Type,
        field: Field | None,
    ) -> JSON | Absent:
        """Return the value after; the one before where only defaults differ."""
        stored = before if self._is_stored_first else after
        if same(stored, expected):
            return before
        if isinstance(before, dict) and isinstance(after, dict):
            return self._object(before, after, as_object(expected), type_)
        if isinstance(before, list) and isinstance(after, list):
            return self._list(before, after, expected, type_, field)
        return after

    def _object(
        self, before: JSONObject, after: JSONObject, expected: JSONObject, type_: Type
    ) -> JSONObject:
        result: JSONObject = {}
        for name in {**after, **before}:
            field = type_.field(name) or ANY_FIELD
            value = self.value(
                before.get(name, ABSENT),
                after.get(name, ABSENT),
                expected.get(name, ABSENT),
                field.type,
                field,
            )
            if not isinstance(value, Absent):
                result[name] = value
        return result

    def _list(
        self,
        before: JSONArray,
        after: JSONArray,
        expected: JSON | Absent,
        type_: Type,
        field: Field | None,
    ) -> JSONArray:
        keys = identities(type_, field)
        former = pair(before, after, keys)
        filled: list[JSON | Absent] = [ABSENT] * len(after)
        if isinstance(expected, list):
            # A server leaves the elements of a manifest in their order.
            filled = (
                [*expected] if self._is_stored_first else pair(expected, after, keys)
            )
        elements: JSONArray = []
        for old, new, full in zip(former, after, filled, strict=False):
            value = self.value(old, new, full, type_.items, None)
            elements.append(new if isinstance(value, Absent) else value)
        return elements
