"""Patterns of paths: they select the values of an object that a comparison leaves out.

A pattern is written as messages print paths. In addition ``[*]`` stands for each
element of a list, and ``*`` for each member of an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from smp.cli._changes import identifying_keys
from smp.paths import Element
from smp.schema.model import OPAQUE, Field, Type
from smp.schema.walk import Key, key_of
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, as_object

_STEP: Final = re.compile(
    r"(?P<dot>\.?)(?P<name>[^.\[\]/= ]+)|\[(?P<brackets>[^\]]*)\]"
)
_EACH: Final = "*"


class Step(msgspec.Struct, frozen=True):
    """One step of a pattern.

    In brackets is an index, a key with its value, or a name that has a dot.
    """

    text: str
    is_in_brackets: bool = False

    def selects(self, index: int, element: JSON) -> bool:
        """Tell whether it selects an element of a list."""
        if not self.is_in_brackets:
            return False
        if self.text in {_EACH, str(index)}:
            return True
        key, _, _value = self.text.partition("=")
        if not isinstance(element, dict) or key not in element:
            return False
        return str(Element(index, key, element[key])) == f"[{self.text}]"


Pattern: TypeAlias = tuple[Step, ...]


def pattern_of(text: str) -> Pattern:
    """Parse a pattern. Raises ValueError for what is not a path."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            break
        name = match["name"]
        # A dot stands before each name but the first.
        if name is not None and bool(match["dot"]) != bool(steps):
            break
        if name is None:
            steps.append(Step(match["brackets"], is_in_brackets=True))
        else:
            steps.append(Step(name))
        position = match.end()
    if not steps or position < len(text):
        raise ValueError(
            f"not a path: {text!r}; write it as spec.containers[name=app].image, "
            "data.* or metadata.annotations[example.com/x]"
        )
    return tuple(steps)


def aligned(
    reference: JSONObject, obj: JSONObject, patterns: Iterable[Pattern], type_: Type
) -> JSONObject:
    """Return an object that has the values of a reference where a pattern matches.

    What the reference lacks there, the result lacks. Elements of a list are paired by
    the keys of the schema, or by their index.
    """
    for pattern in patterns:
        obj = _aligned_object(reference, obj, pattern, type_)
    return obj


def _aligned_object(
    reference: JSONObject, obj: JSONObject, pattern: Pattern, type_: Type
) -> JSONObject:
    step, *rest = pattern
    if step.text == _EACH and not step.is_in_brackets:
        names = [*{**reference, **obj}]
    else:
        names = [step.text]
    result = dict(obj)
    for name in names:
        value = reference.get(name, ABSENT)
        if rest:
            value = _aligned(
                value, obj.get(name, ABSENT), tuple(rest), type_.field(name)
            )
        if value is ABSENT:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def _aligned(
    old: JSON | Absent, new: JSON | Absent, pattern: Pattern, field: Field | None
) -> JSON | Absent:
    """Return the new value, with the old values where the pattern matches below it."""
    if isinstance(old, list) and isinstance(new, list):
        return _aligned_list(old, new, pattern, field)
    is_object = isinstance(old, dict) or isinstance(new, dict)
    if not is_object or isinstance(old, list) or isinstance(new, list):
        return new
    # One side may lack the object, or have a null in its place: what the pattern
    # matches can be all that is in it, such as the only annotation.
    type_ = field.type if field else OPAQUE
    inner = _aligned_object(as_object(old), as_object(new), pattern, type_)
    if inner:
        return inner
    # Nothing is left, so the object is as empty as it is on the old side.
    if isinstance(new, dict) and new:
        return inner if isinstance(old, dict) else ABSENT
    return new


def _aligned_list(
    old: JSONArray, new: JSONArray, pattern: Pattern, field: Field | None
) -> JSONArray:
    step, *rest = pattern
    if not rest and step.text == _EACH and step.is_in_brackets:
        return old
    keys = identifying_keys(field, old, new) if field else ()
    item_type = field.type.items if field else OPAQUE
    partners = dict(_identified(old, keys))
    identified = list(_identified(new, keys))
    # What the pattern selects and only the old list has, by the element before it.
    kept_after: dict[Key | int | None, JSONArray] = {}
    if not rest:
        present = {identity for identity, _element in identified}
        previous: Key | int | None = None
        for index, (identity, element) in enumerate(partners.items()):
            if identity in present:
                previous = identity
            elif step.selects(index, element):
                kept_after.setdefault(previous, []).append(element)

    result = kept_after.get(None, [])
    for index, (identity, new_element) in enumerate(identified):
        element = new_element
        partner = partners.get(identity, ABSENT)
        if not step.selects(index, element):
            result.append(element)
        elif rest:
            # A new element is new with all that it has.
            if isinstance(partner, dict) and isinstance(element, dict):
                element = _aligned_object(partner, element, tuple(rest), item_type)
            result.append(element)
        elif not isinstance(partner, Absent):
            result.append(partner)
        result += kept_after.get(identity, [])
    return result


def _identified(
    elements: JSONArray, keys: tuple[str, ...]
) -> Iterable[tuple[Key | int, JSON]]:
    for index, element in enumerate(elements):
        yield (key_of(element, keys) if keys else index), element
