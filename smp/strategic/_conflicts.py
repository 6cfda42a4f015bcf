"""Where two patches, or two changes, disagree (Go:
strategicpatch.MergingMapsHaveConflicts).
"""

from __future__ import annotations

from collections.abc import Iterator

from smp.errors import Conflict, SmpError
from smp.paths import Element, Path, Step
from smp.schema.model import Field, Type, unknown_field
from smp.strategic._directives import MARKER, is_directive
from smp.strategic._ordering import element_type, keys_of
from smp.values import ABSENT, JSON, JSONArray, JSONObject, ScalarKey, same, scalar_key


def conflicts(
    left: JSONObject, right: JSONObject, schema: Type, path: Path
) -> Iterator[Conflict]:
    """Yield a conflict for each path at which both sides have a value and the values
    differ.

    A ``$patch`` on one side only, or two different ones, make the whole object
    conflict. Directives that order or retain are nobody's value.
    """
    if not same(left.get(MARKER, ABSENT), right.get(MARKER, ABSENT)):
        yield Conflict(path, left, right)
        return
    for name, ours in left.items():
        if name in right and not is_directive(name):
            try:
                yield from _field(ours, right[name], schema.field(name), path / name)
            except SmpError as error:
                raise error.within(name) from None


def _field(
    ours: JSON, theirs: JSON, field: Field | None, path: Path
) -> Iterator[Conflict]:
    if isinstance(ours, (dict, list)) and field is None:
        raise unknown_field()
    if isinstance(ours, dict) and isinstance(theirs, dict) and field is not None:
        yield from _objects(ours, theirs, field, path)
    elif isinstance(ours, list) and isinstance(theirs, list) and field is not None:
        yield from _lists(ours, theirs, field, path)
    elif not same(ours, theirs):
        yield Conflict(path, ours, theirs)


def _objects(
    ours: JSONObject, theirs: JSONObject, field: Field, path: Path
) -> Iterator[Conflict]:
    if not field.replaces:
        yield from conflicts(ours, theirs, field.type, path)
    elif not same(ours.get(MARKER, ABSENT), theirs.get(MARKER, ABSENT)):
        yield Conflict(path, ours, theirs)


def _lists(
    ours: JSONArray, theirs: JSONArray, field: Field, path: Path
) -> Iterator[Conflict]:
    kind = element_type(ours, theirs)
    if field.merges:
        # Merge lists of scalars never conflict: each side only adds.
        yield from _by_key(ours, theirs, field, path) if kind is dict else ()
    elif len(ours) != len(theirs):
        yield Conflict(path, ours, theirs)
    elif kind is dict:
        yield from _by_index(ours, theirs, field, path)
    elif set(map(scalar_key, ours)) != set(map(scalar_key, theirs)):
        yield Conflict(path, ours, theirs)


def _by_key(
    ours: JSONArray, theirs: JSONArray, field: Field, path: Path
) -> Iterator[Conflict]:
    found: dict[ScalarKey, JSONArray] = {}
    for element, key in zip(theirs, keys_of(theirs, field.merge_key), strict=True):
        found.setdefault(key, []).append(element)
    for index, key in enumerate(keys_of(ours, field.merge_key)):
        one = ours[index]
        for other in found.get(key, []):
            if isinstance(one, dict) and isinstance(other, dict):
                yield from _elements(
                    one,
                    other,
                    field,
                    path,
                    Element(index, field.merge_key, one[field.merge_key]),
                )


def _by_index(
    ours: JSONArray, theirs: JSONArray, field: Field, path: Path
) -> Iterator[Conflict]:
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _elements(one, other, field, path, index)


def _elements(
    ours: JSONObject, theirs: JSONObject, field: Field, path: Path, step: Step
) -> Iterator[Conflict]:
    try:
        yield from conflicts(ours, theirs, field.type.items, path / step)
    except SmpError as error:
        raise error.within(step) from None
