"""Composing two strategic merge patches into one with the effect of both, applied in
order.

The composition must be right whether or not the live object has what the patches touch.
So what the first patch removed and the second sets again becomes an *exact* value: with
``$retainKeys`` and a list-level ``$patch: replace`` it comes out the same over
anything. Two patches to one element of a merge list that do not reduce to one stay
beside each other: an element applies after the one before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import msgspec

from smp.errors import CompositionError, PatchError, SmpError
from smp.schema.model import Field, Type, unknown_field
from smp.strategic._apply import apply_object
from smp.strategic._directives import (
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    PatchObject,
    cleaned,
    delete_element,
    deletions_from,
    is_marked,
    order_of,
    read_list,
    read_object,
    retained_keys,
)
from smp.strategic._ordering import arranged, element_type, first_positions, keys_of
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    same,
    scalar_key,
)


def compose_objects(first: JSONObject, second: JSONObject, schema: Type) -> JSONObject:
    """Compose two patches of one object that is there."""
    one, two = read_object(first), read_object(second)
    if two.marker is not ABSENT:
        return second
    if one.marker is not ABSENT:
        return {
            MARKER: REPLACE,
            **apply_object(apply_object({}, first, schema), second, schema),
        }
    kept, keeps = _retained(one), _retained(two)
    composed: JSONObject = {}
    for name in _names(one, two):
        if keeps is not None and name not in keeps:
            continue
        before, after = _Part.read(one, name), _Part.read(two, name)
        if kept is not None and name not in kept:
            before = _Part(None)
        try:
            composed.update(_compose(before, after, schema.field(name)).spelled(name))
        except SmpError as error:
            raise error.within(name) from None
    retained = _retained_by_both(kept, keeps, two)
    return (
        composed if retained is None else {RETAIN_KEYS: [*sorted(retained)], **composed}
    )


def _retained(patch: PatchObject) -> frozenset[str] | None:
    return None if patch.retained is ABSENT else frozenset(retained_keys(patch))


def _retained_by_both(
    kept: frozenset[str] | None, keeps: frozenset[str] | None, second: PatchObject
) -> frozenset[str] | None:
    if kept is None:
        return keeps
    sets = frozenset(name for name, value in second.fields.items() if value is not None)
    return (kept if keeps is None else kept & keeps) | sets


def _names(*patches: PatchObject) -> Iterable[str]:
    return dict.fromkeys(
        name
        for one in patches
        for group in (one.fields, one.orders, one.deletions)
        for name in group
    )


class _Part(msgspec.Struct, frozen=True):
    """All that a patch says of one field: its value, and the directives that stand
    beside it.
    """

    value: JSON | Absent = ABSENT
    order: JSON | Absent = ABSENT
    deleted: JSON | Absent = ABSENT

    @classmethod
    def read(cls, patch: PatchObject, name: str) -> _Part:
        return cls(
            *(
                group.get(name, ABSENT)
                for group in (patch.fields, patch.orders, patch.deletions)
            )
        )

    @property
    def silent(self) -> bool:
        return self.value is ABSENT and self.order is ABSENT and self.deleted is ABSENT

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list) or (
            self.value is ABSENT and not self.silent
        )

    def spelled(self, name: str) -> JSONObject:
        parts = {
            order_of(name): self.order,
            deletions_from(name): self.deleted,
            name: self.value,
        }
        return {key: value for key, value in parts.items() if value is not ABSENT}


def _compose(first: _Part, second: _Part, field: Field | None) -> _Part:
    if first.silent or second.value is None:
        return second if second.value is not None else _Part(None)
    if second.silent:
        return first
    if field is None:
        if isinstance(second.value, str | int | float):
            return second
        raise unknown_field()
    if first.is_list and second.is_list:
        return _compose_lists(first, second, field)
    if second.is_list:
        return _anew(second, field)
    return _Part(_compose_values(first.value, second.value, field))


def _anew(second: _Part, field: Field) -> _Part:
    """Return what the second patch makes of a field that the first one removed, or made
    something else.
    """
    made = apply_object({}, second.spelled(field.name), Type.of(field)).get(
        field.name, ABSENT
    )
    return _Part(None if made is ABSENT else exact(made, field))


def _compose_values(first: JSON | Absent, second: JSON | Absent, field: Field) -> JSON:
    if not isinstance(second, dict):
        return None if second is ABSENT else second
    if not isinstance(first, dict):
        return (
            None
            if is_marked(second)
            else exact(cleaned(second, drop_marked=True), field)
        )
    if field.replaces:
        return cleaned(second)
    if is_marked(first):
        return second if is_marked(second) else _after_marker(first, second, field)
    if is_marked(second):
        return exact(apply_object({}, second, field.type), field)
    return compose_objects(first, second, field.type)


def _after_marker(first: JSONObject, second: JSONObject, field: Field) -> JSON:
    # A marked patch makes nothing where the live object has nothing, so two outcomes
    # may differ.
    present = apply_object(apply_object({}, first, field.type), second, field.type)
    if not same(present, cleaned(second, drop_marked=True)):
        raise CompositionError(
            "one patch replaces this object and the next changes it: the outcome depends on whether it was there",
            hint="apply the patches one after the other",
        )
    return exact(present, field)


def exact(value: JSON, field: Field | None) -> JSON:
    """Return a patch value that comes out as ``value`` whatever the live object has in
    its place.

    Raises CompositionError for a merge list of scalars, which no patch can set
    regardless of what is there.
    """
    if field is None or field.replaces:
        return value
    if isinstance(value, dict):
        members = {
            name: exact(member, field.type.field(name))
            for name, member in value.items()
        }
        return {RETAIN_KEYS: [*sorted(value)], **members}
    if not isinstance(value, list) or not field.merges:
        return value
    if not field.merge_key:
        raise CompositionError(
            "one patch removes this list and the next sets it, which no single patch says of a merge list of scalars",
            hint="apply the patches one after the other",
        )
    return [{MARKER: REPLACE}, *value]


def _compose_lists(first: _Part, second: _Part, field: Field) -> _Part:
    if not field.merges:
        return _compose_atomic(first, second)
    lists = [
        as_list(what) for one in (first, second) for what in (one.value, one.order)
    ]
    if element_type(*lists, error=PatchError) is dict:
        return _compose_elements(first, second, field)
    return _compose_scalars(first, second)


def _compose_atomic(first: _Part, second: _Part) -> _Part:
    if isinstance(second.value, list):
        return second
    if not isinstance(first.value, list):
        return _Part(
            ABSENT, second.order, [*as_list(first.deleted), *as_list(second.deleted)]
        )
    gone = _by_value(second.deleted)
    return _Part(
        [value for key, value in _by_value(first.value).items() if key not in gone],
        first.order,
    )


def _by_value(values: JSON | Absent) -> dict[ScalarKey, JSON]:
    found = as_list(values)
    return dict(zip(keys_of(found, "", PatchError), found, strict=True))


def _compose_scalars(first: _Part, second: _Part) -> _Part:
    again = _by_value(second.value)
    gone = {
        key: value
        for key, value in _by_value(first.deleted).items()
        if key not in again
    }
    gone |= _by_value(second.deleted)
    added = {
        key: value
        for key, value in (_by_value(first.value) | again).items()
        if key not in gone
    }
    if len(set(map(type, (*gone.values(), *added.values())))) > 1:
        raise CompositionError(
            "one patch may not add and delete values of different types, as these two do in turn"
        )
    order = _order(first, second, list(added), "", frozenset(gone))
    values = _sorted([*added.values()], order, "")
    has_list = first.value is not ABSENT or second.value is not ABSENT
    return _Part(
        values if has_list else ABSENT,
        ABSENT if order is None else order,
        [*gone.values()] or ABSENT,
    )


def _sorted(values: JSONArray, order: JSONArray | None, merge_key: str) -> JSONArray:
    """Sort values as an order directive has them; those of one key keep their order."""
    if order is None:
        return values
    keys = keys_of(values, merge_key)
    place = first_positions(keys_of(order, merge_key), set(keys))
    at = [place[key] for key in keys]
    return [values[index] for index in sorted(range(len(values)), key=at.__getitem__)]


def _compose_elements(first: _Part, second: _Part, field: Field) -> _Part:
    before = read_list(as_list(first.value), field.merge_key)
    after = read_list(as_list(second.value), field.merge_key)
    if after.replaces:
        return second
    if before.replaces:
        whole = apply_object(
            {field.name: [*before.elements]}, second.spelled(field.name), Type.of(field)
        )
        return _Part([{MARKER: REPLACE}, *as_list(whole.get(field.name))])
    meeting = _Meeting(field, before.deleted, apart=first.order is not ABSENT)
    for element, key in zip(before.elements, before.keys, strict=True):
        if key not in after.deleted:
            meeting.add(element, key)
    for element, key in zip(after.elements, after.keys, strict=True):
        meeting.meet(element, key)
    elements = meeting.elements
    order = _order(
        first,
        second,
        keys_of([*elements], field.merge_key),
        field.merge_key,
        after.deleted,
    )
    values = _sorted([*elements], order, field.merge_key)
    deletions = _deletions(first, second, field.merge_key)
    has_list = first.value is not ABSENT or second.value is not ABSENT
    return _Part(
        [*values, *deletions] if has_list else ABSENT,
        ABSENT if order is None else order,
    )


class _Meeting:
    """Where the elements of two patches of one merge list meet.

    An element merges into the one of its key; where they do not reduce to one it goes
    after it. Two elements of one key take effect in turn, but only on a list that is
    there (``apart``): a list that the patch brings is taken as it stands. An order
    directive shows that the list is there. An element that the first patch deletes
    (``gone``) and sets again is what it sets, so that what the second one makes of it
    is known.
    """

    def __init__(
        self, field: Field, gone: AbstractSet[ScalarKey], *, apart: bool
    ) -> None:
        self.elements: list[JSONObject] = []
        self._field = field
        self._gone = gone
        self._apart = apart
        self._places: dict[ScalarKey, list[int]] = {}

    def add(self, element: JSONObject, key: ScalarKey) -> None:
        """Put an element after the others."""
        self._places.setdefault(key, []).append(len(self.elements))
        self.elements.append(element)

    def meet(self, element: JSONObject, key: ScalarKey) -> None:
        """Merge an element of the second patch, or put it after its twin."""
        twins = self._places.get(key, [])
        twin = self.elements[twins[-1]] if twins else {}
        if len(twins) == 1 and key in self._gone:
            self.elements[twins[0]] = self._made_anew(twin, element)
        elif not twins or (
            self._apart and (len(twins) > 1 or not _reduces(twin, element, self._field))
        ):
            self.add(element, key)
        elif not self._apart and _takes_back(twin, element, self._field.type.items):
            raise _depends_on_the_list()
        else:
            self.elements[twins[-1]] = compose_objects(
                twin, element, self._field.type.items
            )

    def _made_anew(self, first: JSONObject, second: JSONObject) -> JSONObject:
        # which makes something where the list is there, and nothing where it is not
        if _has_marker(first):
            raise _depends_on_the_list()
        known = self._field.type.items
        return apply_object(apply_object({}, first, known), second, known)


def _depends_on_the_list() -> CompositionError:
    return CompositionError(
        "one patch may create this element and the next deletes part of it: the outcome depends on the list",
        hint="apply the patches one after the other",
    )


def _takes_back(first: JSONObject, second: JSONObject, schema: Type) -> bool:
    """Tell whether the second patch deletes an element of a merge list that the first
    one sets.
    """
    for name, value in second.items():
        mine, field = first.get(name), schema.field(name)
        if field is None or isinstance(mine, str | int | float | None):
            continue
        if (
            isinstance(mine, dict)
            and isinstance(value, dict)
            and _takes_back(mine, value, field.type)
        ):
            return True
        merges = field.merges and bool(field.merge_key)
        if (
            merges
            and isinstance(mine, list)
            and isinstance(value, list)
            and _deletes_from(mine, value, field)
        ):
            return True
    return False


def _deletes_from(first: JSONArray, second: JSONArray, field: Field) -> bool:
    before, after = (
        read_list(first, field.merge_key),
        read_list(second, field.merge_key),
    )
    mine = dict(zip(before.keys, before.elements, strict=True))
    return not mine.keys().isdisjoint(after.deleted) or any(
        key in mine and _takes_back(mine[key], element, field.type.items)
        for key, element in zip(after.keys, after.elements, strict=True)
    )


def _reduces(first: JSONObject, second: JSONObject, field: Field) -> bool:
    # An element that is new to the live list is taken whole, and a ``$patch`` inside is
    # not executed.
    try:
        joined = compose_objects(first, second, field.type.items)
    except CompositionError:
        return False
    return not any(map(_has_marker, (first, second, joined)))


def _has_marker(value: JSON) -> bool:
    if isinstance(value, dict):
        return MARKER in value or any(map(_has_marker, value.values()))
    return isinstance(value, list) and any(map(_has_marker, value))


def _deletions(first: _Part, second: _Part, merge_key: str) -> JSONArray:
    marked = [
        e
        for part in (first, second)
        for e in as_list(part.value)
        if isinstance(e, dict) and is_marked(e)
    ]
    values = {scalar_key(element[merge_key]): element[merge_key] for element in marked}
    return [delete_element(merge_key, value) for value in values.values()]


def _order(
    first: _Part,
    second: _Part,
    keys: list[ScalarKey],
    merge_key: str,
    deleted: AbstractSet[ScalarKey],
) -> JSONArray | None:
    """Return one order directive for both: the second one's order, what it leaves out
    in the first one's places.
    """
    if first.order is ABSENT and second.order is ABSENT:
        return None
    earlier = keys_of(as_list(first.order), merge_key, PatchError)
    later = keys_of(as_list(second.order), merge_key, PatchError)
    times = Counter(keys)
    known = [
        key
        for key in dict.fromkeys([*earlier, *keys, *later])
        if key not in deleted or key in times
    ]
    wanted = later or [key for key in keys if key not in earlier]
    order = [
        key
        for key in arranged(known, known, wanted, earlier)
        for _ in range(max(1, times[key]))
    ]
    return [_spell(key, merge_key) for key in order]


def _spell(key: ScalarKey, merge_key: str) -> JSON:
    value: JSON = key[1] if isinstance(key, tuple) else key
    return {merge_key: value} if merge_key else value
