"""Deviation 21: smp does not look into objects and lists that are equal on all sides.

The reference does, and answers with an error where it finds a fault in one. So this
takes such values out of the documents of a case.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeGuard

from smp._values.values import ABSENT, JSON, Absent, JSONObject, same
from smp.schema.model import OPAQUE, Field, Type


def without_equal_parts(sides: Sequence[JSONObject], type_: Type) -> list[JSONObject]:
    """Drop the objects and lists that are equal on all sides that have any there."""
    results: list[JSONObject] = [{} for _ in sides]
    for name in dict.fromkeys(itertools.chain(*sides)):
        values = [side.get(name, ABSENT) for side in sides]
        different = _different_parts(values, type_.field(name))
        for result, value in zip(results, different, strict=True):
            if value is not ABSENT:
                result[name] = value
    return results


def _different_parts(
    values: Sequence[JSON | Absent], field: Field | None
) -> Sequence[JSON | Absent]:
    """Return one member of each side without its equal parts."""
    present = [value for value in values if _has_content(value)]
    if len(present) < 2:
        return values
    if all(same(value, present[0]) for value in present):
        # Equal scalars stay: both sides compare them.
        is_scalar = isinstance(present[0], str | int | float)
        return values if is_scalar else [ABSENT] * len(values)
    objects = [value for value in present if isinstance(value, dict)]
    lists = [value for value in present if isinstance(value, list)]
    different: Sequence[JSON] = present
    if len(objects) == len(present):
        different = without_equal_parts(
            objects, OPAQUE if field is None else field.type
        )
    elif len(lists) == len(present) and field is not None and field.merge_key:
        different = [_different_elements(elements, lists, field) for elements in lists]
    # Put the results back where the values were; the other sides keep what they have.
    remaining = iter(different)
    return [next(remaining) if _has_content(value) else value for value in values]


def _has_content(value: JSON | Absent) -> TypeGuard[JSON]:
    if value is ABSENT or value is None:
        return False
    return not isinstance(value, dict | list) or bool(value)


def _different_elements(
    elements: Sequence[JSON], lists: Sequence[Sequence[JSON]], field: Field
) -> list[JSON]:
    """Keep of each element its merge key and what differs from its counterparts."""
    result: list[JSON] = []
    for element in elements:
        if not isinstance(element, dict):
            result.append(element)
            continue
        key = element.get(field.merge_key)
        counterparts = _elements_with_key(lists, field, key)
        if len(counterparts) < 2:
            result.append(element)
            continue
        different = without_equal_parts(counterparts, field.type.items)
        for counterpart, remainder in zip(counterparts, different, strict=True):
            if counterpart is element:
                result.append({**remainder, field.merge_key: key})
                break
    return result


def _elements_with_key(
    lists: Sequence[Sequence[JSON]], field: Field, key: JSON
) -> list[JSONObject]:
    found: list[JSONObject] = []
    for elements in lists:
        objects = [element for element in elements if isinstance(element, dict)]
        found += [e for e in objects if same(e.get(field.merge_key), key)]
    return found
