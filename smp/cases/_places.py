"""Where two results differ, place by place: what a failing case shows.

DeepDiff walks both values and tells values, types, added and removed members apart.
Lists it compares by position, with 1 equal to true, or where it is given a function
that pairs elements, without an element that is there once more; each shift of an index
is a move to it. So ``_align`` pairs the elements of lists first, and DeepDiff gets
them as members of objects whose names are ``_Slot``s:

    [{name: a}, {name: b, x: 1}]       {[name=a]: .., [name=b]: {.., x: 1}}
    [{name: b, x: 2}, {name: a}]       {[name=b]: {.., x: 2}, [name=a]: ..}

A pair that is not in the order of the others has moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec

from smp._values.values import JSON, JSONArray, type_name
from smp.cases._text import flow
from smp.paths import Element, Path, Step

# More lines, or longer values, would hide the first ones.
_LINES: Final = 20
WIDTH: Final = 120  # characters
# Members that tell elements apart, if each element has another value: those that
# Kubernetes merges by, and the places of conflicts, causes and hazards.
_IDENTITIES: Final = (
    "name",
    "path",
    "key",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "ip",
    "uid",
    "type",
)


class _Slot(str):
    """The place of an element: its step in a path, and its index on each side or -1.

    DeepDiff gets it as the name of a member. ``is_match`` says that both sides have the
    same element, and not only one at the same index.
    """

    __slots__ = ("actual", "expected", "is_match", "step")
    step: Step
    expected: int
    actual: int
    is_match: bool


def _slot(step: Step, expected: int, actual: int, *, is_match: bool) -> _Slot:
    slot = _Slot(f"{expected},{actual}")
    slot.step, slot.expected, slot.actual = step, expected, actual
    slot.is_match = is_match
    return slot


class _Pair(msgspec.Struct):
    """Both values as DeepDiff gets them, and the elements that have moved."""

    expected: Any
    actual: Any
    moves: list[tuple[Path, _Slot]]


def find_differing_places(expected: JSON, actual: JSON) -> list[str]:
    """Say for each place at which the values differ what is expected, and what is.

    1, 1.0 and true differ. Long values and lists of places are cut, and the last line
    says how many there are more.
    """
    from deepdiff import DeepDiff  # noqa: PLC0415  # slow to load; for failures only

    try:
        pair = _align(expected, actual, Path())
        # By default objects that have little in common are one difference.
        tree = DeepDiff(
            pair.expected, pair.actual, view="tree", threshold_to_diff_deeper=0
        )
    except RecursionError:
        return ["they differ, and are nested too deeply to say where"]
    found = [
        (path, f"out of order: expected at index {slot.expected}, is at {slot.actual}")
        for path, slot in pair.moves
    ]
    for kind, levels in tree.items():
        found += [
            (_path(level), _sentence(kind, level.t1, level.t2)) for level in levels
        ]
    # By name, and indices as numbers.
    found.sort(
        key=lambda place: [
            (step, "") if isinstance(step, int) else (-1, str(step))
            for step in place[0].by_index.steps
        ]
    )
    lines = [
        f"{path}: {sentence}" if path.steps else sentence for path, sentence in found
    ]
    if len(lines) > _LINES:
        lines[_LINES:] = [f"and {len(lines) - _LINES} more"]
    return lines


def shorten(text: str) -> str:
    """Cut a text that is long, and say how much of it is not there."""
    more = len(text) - WIDTH
    return text if more <= 0 else f"{text[:WIDTH]}.. and {more} more characters"


def _path(level: Any) -> Path:
    steps: list[Step] = []
    while level.up is not None:
        level = level.up
        # What is on one side only has no relationship on the other one.
        key = (level.t1_child_rel or level.t2_child_rel).param
        steps.append(key.step if isinstance(key, _Slot) else key)
    return Path(tuple(reversed(steps)))


def _sentence(kind: str, expected: JSON, actual: JSON) -> str:
    if kind == "dictionary_item_added":
        return f"not expected, is {shorten(flow(actual))}"
    wanted = f"expected {shorten(flow(expected))}"
    if kind == "dictionary_item_removed":
        return f"{wanted}, is absent"
    found = f"is {shorten(flow(actual))}"
    if kind == "type_changes":
        return f"{wanted} ({type_name(expected)}), {found} ({type_name(actual)})"
    return f"{wanted}, {found}"


def _align(expected: JSON, actual: JSON, path: Path) -> _Pair:
    """Return both values with their lists as objects, where both have a list."""
    pair = _Pair(expected, actual, [])
    if isinstance(expected, dict) and isinstance(actual, dict):
        pair.expected, pair.actual = {**expected}, {**actual}
        for name in [name for name in expected if name in actual]:
            _align_member(pair, name, path / name, expected[name], actual[name])
    elif isinstance(expected, list) and isinstance(actual, list):
        pair.expected, pair.actual = {}, {}
        slots = list(_slots(expected, actual))
        for slot in slots:
            if slot.expected >= 0:
                pair.expected[slot] = expected[slot.expected]
            if slot.actual >= 0:
                pair.actual[slot] = actual[slot.actual]
            if slot in pair.expected and slot in pair.actual:
                sides = (pair.expected[slot], pair.actual[slot])
                _align_member(pair, slot, path / slot.step, *sides)
        # Moved are those of both lists that are not in the order of the others.
        matches = [slot for slot in slots if slot.is_match]
        order = [slot.actual for slot in matches]
        matcher = SequenceMatcher(None, order, sorted(order), autojunk=False)
        blocks = matcher.get_matching_blocks()
        in_order = {start + n for start, _, size in blocks for n in range(size)}
        pair.moves += [
            (path / slot.step, slot)
            for index, slot in enumerate(matches)
            if index not in in_order
        ]
    return pair


def _align_member(
    pair: _Pair, name: str | _Slot, path: Path, expected: JSON, actual: JSON
) -> None:
    member = _align(expected, actual, path)
    pair.expected[name], pair.actual[name] = member.expected, member.actual
    pair.moves += member.moves


def _slots(expected: JSONArray, actual: JSONArray) -> Iterator[_Slot]:
    """Yield the places of two lists; each element is at one of them."""
    identity = _identity(expected, actual)
    left = [_text(element, identity) for element in expected]
    right = [_text(element, identity) for element in actual]
    # Of equal elements the first belongs to the first, and so on.
    waiting: dict[str, list[int]] = {}
    for index, text in enumerate(right):
        waiting.setdefault(text, []).append(index)
    partners = [waiting[text].pop(0) if waiting.get(text) else -1 for text in left]
    alone = {index for indices in waiting.values() for index in indices}
    for index, partner in enumerate(partners):
        step = _step(expected[index], index, identity)
        # Without a name, what stands at the same index is the element, changed.
        is_changed = partner < 0 and not identity and index in alone
        alone -= {index} if is_changed else set()
        other = index if is_changed else partner
        yield _slot(step, index, other, is_match=partner >= 0)
    for index in sorted(alone):
        yield _slot(_step(actual[index], index, identity), -1, index, is_match=False)


def _identity(expected: JSONArray, actual: JSONArray) -> str:
    """Return the member that tells the elements of each list apart, or nothing."""
    for name in _IDENTITIES:
        counts = []
        for elements in (expected, actual):
            objects = [element for element in elements if isinstance(element, dict)]
            values = [element.get(name) for element in objects]
            texts = {json.dumps(each) for each in values if isinstance(each, str | int)}
            counts.append(len(texts))
        if counts == [len(expected), len(actual)]:
            return name
    return ""


def _text(element: JSON, identity: str) -> str:
    """Return a text that is the same for what is the same element of both lists."""
    value = element[identity] if identity and isinstance(element, dict) else element
    return json.dumps(value, sort_keys=True)


def _step(element: JSON, index: int, identity: str) -> Step:
    if identity and isinstance(element, dict):
        return Element(index, identity, element[identity])
    return index
