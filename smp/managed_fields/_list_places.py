"""Which elements of a list the path elements of field sets mean, without a schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from smp._values.values import JSONArray, as_object
from smp.managed_fields._elements import element_of, key_element, step_of, value_element
from smp.managed_fields._entries import Owner
from smp.managed_fields._field_set import FieldSet
from smp.paths import KeyedElement, SetElement, Step

# The set below a value of each owner that has one.
Sets: TypeAlias = "list[tuple[Owner, FieldSet]]"
# A step to a member or an element, and all path elements that mean it.
Place: TypeAlias = "tuple[Step, list[str]]"


def places_of(values: JSONArray, sets: Sets) -> list[Place]:
    """Return the steps to the elements of a list, and their path elements in sets."""
    if not sets:
        return [(index, []) for index in range(len(values))]
    known = {
        element for _, fields in sets for element in (*fields.members, *fields.children)
    }
    keyed: dict[str, KeyedElement] = {}
    is_set = False
    for element in known:
        owned = step_of(element)
        if isinstance(owned, KeyedElement):
            keyed[element] = owned
        is_set = is_set or isinstance(owned, SetElement)

    all_keys = _key_names(keyed.values())
    meant = _key_elements(values, keyed)
    places: list[Place] = []
    for index, value in enumerate(values):
        elements = [*meant[index], element_of(index)]
        if is_set and not isinstance(value, (dict, list)):
            elements.insert(0, value_element(value))
        elements = [element for element in elements if element in known]
        step: Step = index
        if elements:
            step = step_of(elements[0])
        elif is_set and not isinstance(value, (dict, list)):
            step = SetElement(value)
        elif isinstance(value, dict):
            # The keys of the list are known where managers own other elements.
            for names in all_keys:
                present = tuple((name, value[name]) for name in names if name in value)
                if present:
                    step = KeyedElement(present)
                    break
        places.append((step, elements))
    return places


def _key_names(keyed: Iterable[KeyedElement]) -> list[tuple[str, ...]]:
    """Return the keys that elements are named by, the most keys first."""
    all_names = {tuple(name for name, _ in step.keys) for step in keyed}
    return sorted(all_names, key=lambda names: (-len(names), names))


def _key_elements(values: JSONArray, keyed: dict[str, KeyedElement]) -> list[list[str]]:
    meant: list[list[str]] = [[] for _ in values]
    if not keyed:
        return meant
    key_names = _key_names(keyed.values())
    candidates: list[list[str]] = []
    for value in values:
        texts: list[str] = []
        # Any other value than an object has no keys.
        obj = as_object(value)
        for names in key_names:
            keys = {name: obj[name] for name in names if name in obj}
            text = key_element(keys)
            if keys and len(keys) == len(names) and text in keyed:
                texts.append(text)
        candidates.append(texts)

    # Path elements have different keys where a key is optional, and where a version of
    # the API added one. The one with the most keys means the element. One with fewer
    # keys means it as well, unless it means another element that has no more keys.
    best = {texts[0] for texts in candidates if texts}
    for index, texts in enumerate(candidates):
        meant[index] = texts[:1] + [text for text in texts[1:] if text not in best]

    found = {text for texts in meant for text in texts}
    _find_defaulted(values, keyed, found, meant)
    return meant


def _find_defaulted(
    values: JSONArray,
    keyed: dict[str, KeyedElement],
    found: set[str],
    meant: list[list[str]],
) -> None:
    """Find the elements that lack a key, which managed fields have with its default.

    Defaults are in the schema; here, one path element and one element that can only be
    each other belong together.
    """
    # The elements that no path element means yet, by the keys that they have.
    names = {name for step in keyed.values() for name, _ in step.keys}
    lacking: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for index, value in enumerate(values):
        if isinstance(value, dict) and not meant[index]:
            present = {name: value[name] for name in sorted(names) if name in value}
            same_keys = lacking.setdefault(tuple(present), {})
            same_keys.setdefault(key_element(present), []).append(index)

    fitting: dict[int, list[str]] = {}
    for text, step in keyed.items():
        if text in found:
            continue
        keys = dict(step.keys)
        fits: list[int] = []
        for present_names, indexes in lacking.items():
            if keys.keys() >= set(present_names):
                shared = {name: keys[name] for name in present_names}
                fits += indexes.get(key_element(shared), [])
        if len(fits) == 1:
            fitting.setdefault(fits[0], []).append(text)
    for index, texts in fitting.items():
        if len(texts) == 1:
            meant[index] = texts
