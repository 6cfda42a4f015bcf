"""Where two patches, or two changes, disagree.

Go: strategicpatch.MergingMapsHaveConflicts, which only answers yes or no.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from smp._strategic._directives import (
    DELETE,
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    is_directive,
)
from smp._strategic._ordering import element_type, group_by_key, keys_of
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    same,
    scalar_key,
)
from smp.errors import Conflict, SmpError
from smp.paths import Path, Step
from smp.schema.model import Field, ListType, Schema, Type, unknown_field
from smp.schema.plan import Interest, Interests, Node, plan_of
from smp.schema.walk import Place, Rule, Walk


class EveryType(Interest):
    """Every type, and every field: patches are looked at as a whole."""

    def __init__(self) -> None:
        super().__init__("every type", everything=True)

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return the type."""
        return type_


# Go: strategicpatch goes by the patch merge key alone. A list map without one is a list
# that is replaced as a whole, and compared by index.
EVERY_TYPE: Final = Interests(EveryType(), map_keys=False)


def conflicts(
    left: JSONObject, right: JSONObject, schema: Schema, *, retained: bool
) -> list[Conflict]:
    """Return a conflict for each path at which both sides have values that differ.

    With ``retained``, also for each that one side sets and the other one clears because
    its ``$retainKeys`` does not list it. Raises UnknownFieldError where both sides go
    into a field without a schema, and ObjectError for lists that cannot be compared.
    """
    rule = ConflictRule(retained=retained)
    # What both sides share is compared as well: it may be what raises an error.
    rule.walk = Walk(plan_of(schema.types, EVERY_TYPE), [rule], whole=True)
    rule.walk.run(right, left, schema.type)
    return rule.conflicts


class ConflictRule(Rule):
    """Compares one side, the new value of the walk, with the other, the old one.

    Directives that order or retain are not a value of either side. With ``retained``
    what a side clears by ``$retainKeys`` is compared with what the other one sets.
    """

    walk: Walk

    def __init__(self, *, retained: bool) -> None:
        self.conflicts: list[Conflict] = []
        self._retained = retained

    def enter(self, place: Place, facts: object | None) -> bool:  # noqa: ARG002
        """Compare two objects or two lists; tell whether to go on to their members."""
        ours, theirs = place.new, place.old
        if isinstance(theirs, Absent) or is_directive(place.name):
            return False
        if isinstance(ours, dict) and isinstance(theirs, dict):
            # A ``$patch`` on one side only, or two different ones, make the whole
            # object conflict.
            if not same(ours.get(MARKER, ABSENT), theirs.get(MARKER, ABSENT)):
                self._add(place.path, ours, theirs)
                return False
            # Go: mergingMapFieldsHaveConflicts does not look into what is replaced.
            field = _field(place)
            if field is not None and field.replaces:
                return False
            if self._retained:
                for name in _clear(ours, theirs):
                    self._add(place.path / name, ABSENT, theirs[name])
                for name in _clear(theirs, ours):
                    self._add(place.path / name, ours[name], ABSENT)
            return True
        if isinstance(ours, list) and isinstance(theirs, list):
            self._lists(place, ours, theirs)
            return False
        self._add(place.path, ours, theirs)
        return False

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:  # noqa: ARG002
        """Compare two scalars."""
        self._member(place, step, value)

    def null(self, place: Place, name: str, node: Node) -> bool:  # noqa: ARG002
        """Compare a null, which deletes, with what the other side does."""
        self._member(place, name, None)
        return True

    def mismatch(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        """Compare values of another type than the schema's, or free-form ones."""
        if not isinstance(step, str):
            return
        here = Place(place, step, -1, node, place.old_at(step), value)
        if isinstance(value, dict):
            self.walk.visit(here)
        elif isinstance(value, list):
            self.enter(here, node.type)
        else:
            self._member(place, step, value)

    def unknown(self, place: Place, name: str, value: JSON) -> bool:
        """Compare values of a field that the schema does not know."""
        if place.old_at(name) is ABSENT or is_directive(name):
            return True
        if isinstance(value, dict | list):
            raise unknown_field().at(place.path / name)
        self._member(place, name, value)
        return True

    def _member(self, place: Place, step: Step, ours: JSON) -> None:
        theirs = place.old_at(step)
        if isinstance(theirs, Absent) or (isinstance(step, str) and is_directive(step)):
            return
        if not same(ours, theirs):
            self._add(place.path / step, ours, theirs)

    def _add(self, path: Path, ours: JSON | Absent, theirs: JSON | Absent) -> None:
        self.conflicts.append(Conflict(path, ours, theirs))

    def _lists(self, place: Place, ours: JSONArray, theirs: JSONArray) -> None:
        """Compare two lists (Go: slicesHaveConflicts)."""
        field = _field(place)
        merge_key = field.merge_key if field is not None and field.merges else None
        our_keys: list[ScalarKey] = []
        their_keys: list[ScalarKey] = []
        try:
            json_type = element_type(ours, theirs)
            if merge_key is not None and json_type is dict:
                their_keys = keys_of(theirs, merge_key)
                our_keys = keys_of(ours, merge_key)
        except SmpError as error:
            raise error.at(place.path) from None
        if merge_key is not None:
            # Merge lists of scalars never conflict: each side only adds.
            our_objects = [element for element in ours if isinstance(element, dict)]
            their_objects = [other for other in theirs if isinstance(other, dict)]
            their_groups = group_by_key(their_objects, their_keys)
            last = {key: index for index, key in enumerate(our_keys)}
            for key, group in group_by_key(our_objects, our_keys).items():
                if key in their_groups:
                    # Elements of one key are applied one after the other. So what
                    # counts is what they do together (Go: sliceOfMapsToMapOfMaps has
                    # the last one only).
                    type_ = place.node.type.items
                    one = _together(group, type_, MAX_LEVELS)
                    other = _together(their_groups[key], type_, MAX_LEVELS)
                    self._element(place, last[key], one, other)
        elif len(ours) != len(theirs):
            self._add(place.path, ours, theirs)
        elif json_type is dict:
            for index, element in enumerate(ours):
                self._element(place, index, element, theirs[index])
        elif set(map(scalar_key, ours)) != set(map(scalar_key, theirs)):
            self._add(place.path, ours, theirs)

    def _element(self, place: Place, index: int, ours: JSON, theirs: JSON) -> None:
        node = place.node.items()
        if node is not None and isinstance(ours, dict) and isinstance(theirs, dict):
            self.walk.visit(Place(place, "", index, node, theirs, ours))


def _together(patches: list[JSONObject], type_: Type, levels: int) -> JSONObject:
    """Return one patch of an object for several that are applied one after the other.

    It is only for a comparison: what a later patch does to the list of an earlier one
    is not carried out, both are in the list. Raises RecursionError.
    """
    if len(patches) == 1:
        return patches[0]
    if not levels:
        raise RecursionError
    values: dict[str, JSONArray] = {}
    for patch in patches:
        for name, value in patch.items():
            values.setdefault(name, []).append(value)
    together: JSONObject = {}
    for name, field_values in values.items():
        field = type_.field(name)
        together[name] = field_values[-1]
        if name == RETAIN_KEYS:
            # Each of the patches clears what it does not list.
            times: Counter[str] = Counter()
            for listed in field_values:
                times.update(_names(listed))
            in_all = [key for key in times if times[key] == len(field_values)]
            together[name] = [*sorted(in_all)]
        elif field is not None and not field.replaces:
            together[name] = _together_as(field_values, field, levels - 1)
    return together


def _together_as(values: JSONArray, field: Field, levels: int) -> JSON:
    """Return one value of a field for several; the last ones of one type count."""
    last = values[-1]
    start = len(values) - 1
    while start and type(values[start - 1]) is type(last):
        start -= 1
    if isinstance(last, dict):
        objects = [value for value in values[start:] if isinstance(value, dict)]
        together = _together(objects, field.type, levels)
        # An object after a null has nothing of the live one.
        return {MARKER: REPLACE, **together} if start else together
    if isinstance(last, list) and field.merges:
        elements: JSONArray = []
        for value in values[start:]:
            elements += as_list(value)
        return elements
    return last


def _names(listed: JSON) -> set[str]:
    return {name for name in as_list(listed) if isinstance(name, str)}


def _clear(retaining: JSONObject, other: JSONObject) -> list[str]:
    """Return the fields that one patch sets, and the other clears by ``$retainKeys``.

    What both name is compared by value.
    """
    if not isinstance(retaining.get(RETAIN_KEYS), list) or MARKER in retaining:
        return []
    listed = _names(retaining[RETAIN_KEYS])
    names: list[str] = []
    for name, value in other.items():
        if is_directive(name) or name in retaining or name in listed:
            continue
        # A null deletes it as well, and so does a marker in an object.
        deletes = value is None or (
            isinstance(value, dict) and value.get(MARKER) == DELETE
        )
        if not deletes:
            names.append(name)
    return names


def _field(place: Place) -> Field | None:
    """Return the field of a member, which has its patch strategy."""
    parent = place.parent
    if parent is None or isinstance(parent.node.type, ListType):
        return None
    return parent.node.type.field(place.name)
