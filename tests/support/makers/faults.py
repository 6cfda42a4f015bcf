"""Broken documents: what no client should send, and some client does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.values import JSON, JSONArray, JSONObject
from smp.schema.model import ObjectType, Schema, Type
from tests.support.makers.patches import PatchMaker

DIRECTIVE_NAMES: Final = (
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$setElementOrder/a",
    "$setElementOrder/containers",
    "$setElementOrder/b/a",
    "$setElementOrderX/a",
    "$deleteFromPrimitiveList/a",
    "$deleteFromPrimitiveList/finalizers",
    "$other",
    "$",
)
"""Names that are directives, or look like one."""

_ODD_VALUES: Final[tuple[JSON, ...]] = (
    None,
    True,
    0,
    1,
    1.0,
    1.5,
    "",
    "a",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    {"$patch": "x"},
)


class Maker(PatchMaker):
    """Makes random objects, changes, patches and broken documents from a seed."""

    def spoiled(self, value: JSONObject, schema: Schema, *, patch: bool) -> JSONObject:
        """Break a document in one to three places; a patch in its directives, too."""
        result = copy.deepcopy(value)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            places = _objects_in(result, schema.type)
            fault = self.random.choice(_PATCH_FAULTS if patch else _FAULTS)
            fault(self, *self.random.choice(places))
        return result if patch else _without_directives(result)

    def arbitrary(self, depth: int = 0) -> JSON:
        """Make any JSON at all."""
        if depth > 5 or self._chance(0.4):
            return copy.deepcopy(self.random.choice(_ODD_VALUES))
        if self._chance(0.5):
            count = self.random.randint(0, 3)
            return [self.arbitrary(depth + 1) for _ in range(count)]
        fields = ("a", "b", "spec", "metadata", "name", "containers", "env")
        names = self.random.choices((*DIRECTIVE_NAMES, *fields), k=3)
        return {name: self.arbitrary(depth + 1) for name in names}


Fault: TypeAlias = Callable[[Maker, JSONObject, Type], None]
"""Breaks one object of a document, in place; the type is the object's."""


def _objects_in(value: JSONObject, type_: Type) -> list[tuple[JSONObject, Type]]:
    """Return every object inside a value, itself included, with its type."""
    found = [(value, type_)]
    for name, member in value.items():
        field = type_.field(name)
        if field is None:
            continue
        if isinstance(member, dict):
            found += _objects_in(member, field.type)
        elif isinstance(member, list):
            for element in member:
                if isinstance(element, dict):
                    found += _objects_in(element, field.type.items)
    return found


def _set_member_to_anything(maker: Maker, target: JSONObject, _type: Type) -> None:
    if target:
        target[maker.random.choice(list(target))] = maker.arbitrary(4)


def _set_any_directive(maker: Maker, target: JSONObject, _type: Type) -> None:
    target[maker.random.choice(DIRECTIVE_NAMES)] = maker.arbitrary(4)


def _set_marker(maker: Maker, target: JSONObject, _type: Type) -> None:
    target["$patch"] = maker.random.choice(
        ("merge", "bogus", "replace", "delete", None, 1, [], {})
    )


def _set_retained_keys(maker: Maker, target: JSONObject, _type: Type) -> None:
    keys: JSONArray = [*[*target][:2]]
    choices: tuple[JSON, ...] = (
        "x",
        None,
        [],
        {},
        [1],
        [None],
        ["zz"],
        keys,
        [*keys, *keys, 1],
    )
    target["$retainKeys"] = maker.random.choice(choices)


def _set_list_directive(maker: Maker, target: JSONObject, type_: Type) -> None:
    names = [*target]
    if isinstance(type_, ObjectType):
        names += [field.name for field in type_]
    fields = [name for name in names if not name.startswith("$")]
    name = maker.random.choice(fields or ["zz"])
    directive = maker.random.choice(("$setElementOrder", "$deleteFromPrimitiveList"))
    choices: tuple[JSON, ...] = (
        "x",
        None,
        [],
        {},
        ["a"],
        [1],
        [{"name": "a"}],
        [{"x": 1}],
        [None],
        target.get(name),
    )
    target[f"{directive}/{name}"] = copy.deepcopy(maker.random.choice(choices))


def _add_unknown_field(maker: Maker, target: JSONObject, _type: Type) -> None:
    choices: tuple[JSON, ...] = (
        1,
        "a",
        {},
        [],
        {"a": 1},
        ["a"],
        [{"a": 1}],
        None,
        {"$patch": "delete"},
    )
    target["unknown"] = copy.deepcopy(maker.random.choice(choices))


def _set_member_to_null(maker: Maker, target: JSONObject, _type: Type) -> None:
    if target:
        target[maker.random.choice(list(target))] = None


def _insert_odd_elements(maker: Maker, target: JSONObject, _type: Type) -> None:
    for elements in _lists_in(target):
        place = maker.random.randint(0, len(elements))
        elements.insert(place, copy.deepcopy(maker.random.choice(_ODD_VALUES)))


def _repeat_elements(maker: Maker, target: JSONObject, _type: Type) -> None:
    for elements in _lists_in(target):
        if elements:
            repeated = copy.deepcopy(maker.random.choice(elements))
            elements.insert(maker.random.randint(0, len(elements)), repeated)


def _remove_members_of_elements(maker: Maker, target: JSONObject, _type: Type) -> None:
    """Remove a member of about half of the elements; often that is the merge key."""
    for elements in _lists_in(target):
        for element in elements:
            if isinstance(element, dict) and element and maker.random.random() < 0.5:
                del element[maker.random.choice(list(element))]


def _lists_in(target: JSONObject) -> list[JSONArray]:
    return [member for member in target.values() if isinstance(member, list)]


_FAULTS: Final[tuple[Fault, ...]] = (
    _set_member_to_anything,
    _add_unknown_field,
    _set_member_to_null,
    _insert_odd_elements,
    _repeat_elements,
    _remove_members_of_elements,
)
_PATCH_FAULTS: Final[tuple[Fault, ...]] = (
    *_FAULTS,
    _set_any_directive,
    _set_marker,
    _set_retained_keys,
    # twice: it has two directives to break
    _set_list_directive,
    _set_list_directive,
)


def _without_directives(value: JSONObject) -> JSONObject:
    kept: JSONObject = {}
    for name, member in value.items():
        if not name.startswith("$"):
            kept[name] = _without_directives_inside(member)
    return kept


def _without_directives_inside(value: JSON) -> JSON:
    if isinstance(value, dict):
        return _without_directives(value)
    if isinstance(value, list):
        return [_without_directives_inside(element) for element in value]
    return value
