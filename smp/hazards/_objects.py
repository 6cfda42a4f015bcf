"""The hazards that one object has on its own.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, cast

from smp.hazards._hazard import Hazard, Input, hazard
from smp.paths import Element
from smp.schema.model import Field, ListType, ObjectType, Schema, Type
from smp.schema.plan import Interest, Interests, plan_of
from smp.schema.walk import Key, KeyIndex, Place, Rule, Walk, key_of
from smp.values import ABSENT, JSONArray, JSONObject, as_object


class MergeListInterest(Interest):
    """Objects with merge lists of objects among their fields."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return the fields that are merge lists of objects, or None."""
        if not isinstance(type_, ObjectType):
            return None
        fields = [field for field in type_ if field.merges and field.merge_key]
        return fields or None


_INTERESTS: Final = Interests(MergeListInterest("merge lists"))


def hazards_in(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return the hazards of one object, in its order.

    Raises SchemaError and RecursionError.
    """
    rule = _KeyRule(source)
    Walk(plan_of(schema.types, _INTERESTS), [rule]).run(ABSENT, obj, schema.type)
    return rule.hazards


class _KeyRule(Rule):
    """Finds the merge lists in which a key stands for several elements."""

    def __init__(self, source: Input) -> None:
        self.hazards: list[Hazard] = []
        self._source = source

    def enter(self, place: Place, facts: object | None) -> bool:
        """Look at the merge lists of an object."""
        members = as_object(place.new)
        for field in cast("list[Field]", facts):
            elements = members.get(field.name)
            if isinstance(elements, list) and len(elements) > 1:
                self._look_at(place, field, elements)
        return True

    def _look_at(self, place: Place, field: Field, elements: JSONArray) -> None:
        """Report each merge key that several elements of a list have."""
        merge_key = field.merge_key
        if not KeyIndex(elements, (merge_key,)).ambiguous:
            return
        type_ = field.type
        map_keys = type_.map_keys if isinstance(type_, ListType) else ()
        others = [name for name in map_keys if name != merge_key]
        indices_of_key: dict[Key, list[int]] = {}
        for index, element in enumerate(elements):
            key = key_of(element, (merge_key,))
            if key:
                indices_of_key.setdefault(key, []).append(index)
        for indices in indices_of_key.values():
            if len(indices) == 1:
                continue
            same_key = [elements[index] for index in indices]
            value = as_object(same_key[0])[merge_key]
            step = Element(indices[0], merge_key, value)
            code = "duplicate-key"
            if others and not KeyIndex(same_key, (merge_key, *others)).ambiguous:
                code = "ambiguous-key"
            self.hazards.append(
                hazard(
                    code,
                    place.path / field.name / step,
                    self._source,
                    count=str(len(indices)),
                    key=str(step)[1:-1],
                    other_keys=", ".join(others),
                )
            )
