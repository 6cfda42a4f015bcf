"""The three objects of an apply as they go wrong: repeated keys, nulls, injections.

A triple begins with one object: a manifest as users write it, an example of a union of
the overlay, or any object of a schema. Its last-applied configuration, its manifest and
its live object are that object with a few changes each, which are drawn from a table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Final, TypeAlias

import smp
from smp._values.last_applied import with_last_applied
from smp._values.values import JSON, JSONArray, JSONObject, as_object, as_text
from smp.errors import SmpError
from smp.explain import Cause, explain_apply
from smp.managed_fields import Step, simulate
from smp.schema.model import ANY_FIELD, Field, ObjectType, Schema, Type
from smp.three_way import three_way_apply
from tests.support.makers.changes import ChangeMaker
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.makers.subjects import KINDS as SCHEMA_KINDS
from tests.support.overlay_rows import valid_objects

CATALOG: Final = smp.kubernetes()
# Lists of a merge strategy, each with its field.
_Lists: TypeAlias = "list[tuple[JSONArray, Field]]"
_ZERO: Final[tuple[JSON, ...]] = (None, None, None, "", 0, False, {}, [])


@cache
def _overlay_objects() -> tuple[JSONObject, ...]:
    """Return the examples of unions that are of a kind of the newest version."""
    kinds = CATALOG.kinds()
    return tuple(
        obj
        for obj in valid_objects(newest=True)
        if (obj.get("apiVersion"), obj.get("kind")) in kinds
    )


class Triple:
    """A last-applied configuration, a manifest and a live object, from a seed."""

    def __init__(self, seed: int, first: JSONObject | None = None) -> None:
        self._random = Random(seed)
        self._maker = ChangeMaker(seed, rate=0.1, keyless=0.0)
        self._people: ManifestMaker | None = None
        if first is None:
            first = self._first(seed)
        self.schema: Schema = CATALOG.schema_of(first)
        self._grow(first)

    def _first(self, seed: int) -> JSONObject:
        """Return the object that all of them come from."""
        source = self._random.random()
        if source < 0.6:
            kind = self._random.choice(sorted(KINDS))
            self._people = ManifestMaker(f"explain {seed}", kind, "web")
            return self._people.manifest()
        if source < 0.8:
            return self._random.choice(_overlay_objects())
        api_version, kind = self._random.choice(SCHEMA_KINDS)
        made = self._maker.object(CATALOG.schema(api_version, kind))
        return {**made, "apiVersion": api_version, "kind": kind}

    def _grow(self, first: JSONObject) -> None:
        base = self._changed(first, most=1)
        self.last_applied: JSONObject | None = self._changed(base, most=1)
        self.manifest = self._changed(base, most=3)
        self.live = self._changed(base, most=3)
        if self._random.random() < 0.5:
            self.live = smp.with_defaults(self.live, self.schema)
        if self._random.random() < 0.15:
            self.last_applied = None
        elif self._random.random() < 0.4:
            self._track(self.last_applied)

    def _track(self, last_applied: JSONObject) -> None:
        """Let the live object have managed fields, as the writes that led to it do."""
        applied = with_last_applied(last_applied)
        metadata = as_object(self.live.get("metadata"))
        written = {
            **as_object(metadata.get("annotations")),
            **as_object(as_object(applied["metadata"])["annotations"]),
        }
        live = {**self.live, "metadata": {**metadata, "annotations": written}}
        steps = [
            Step("kubectl-client-side-apply", applied, "update"),
            Step("controller", live, "update"),
        ]
        try:
            states = simulate(None, steps, self.schema, profile="off").states
        except SmpError:
            # The object cannot be tracked, and stays without managed fields.
            return
        if all(state.error is None for state in states):
            self.live = as_object(states[-1].object)

    def causes(self) -> tuple[Cause, ...]:
        return explain_apply(self.last_applied, self.manifest, self.live, self.schema)

    def applied(self) -> smp.ApplyResult:
        return three_way_apply(self.last_applied, self.manifest, self.live, self.schema)

    def is_applicable(self) -> bool:
        """Tell whether the apply is computed at all: some are refused as they are."""
        try:
            self.applied()
        except SmpError:
            return False
        return True

    def _changed(self, obj: JSONObject, *, most: int) -> JSONObject:
        names = ("apiVersion", "kind")
        identity: JSONObject = {name: obj[name] for name in names if name in obj}
        name = as_object(obj.get("metadata")).get("name")
        result = copy.deepcopy(obj)
        for _ in range(self._random.randint(0, most)):
            change = self._random.choice(_CHANGES)
            result = change(self, result)
        result.update(identity)
        if name is not None:
            result["metadata"] = {**as_object(result.get("metadata")), "name": name}
        return result

    # --- changes ---

    def by_people(self, obj: JSONObject) -> JSONObject:
        """Change it as its author does."""
        if self._people is None:
            return self._maker.changed(obj, self.schema)
        return self._people.changed(obj)

    def injected(self, obj: JSONObject) -> JSONObject:
        """Change it as webhooks and controllers do."""
        if self._people is None:
            return self._maker.extended(obj, self.schema)
        return self._people.interfered(obj)

    def repeat_element(self, obj: JSONObject) -> JSONObject:
        """Let an element of a merge list be there twice, mostly with another value."""
        elements, field = self._list(obj)
        if elements:
            repeated = copy.deepcopy(self._random.choice(elements))
            if isinstance(repeated, dict):
                for name in repeated:
                    value = repeated[name]
                    if name != field.merge_key and isinstance(value, str):
                        repeated[name] = f"{value}2"
            elements.insert(self._random.randint(0, len(elements)), repeated)
        return obj

    def other_protocol(self, obj: JSONObject) -> JSONObject:
        """Add a port of the same number with another protocol."""
        lists = [
            elements
            for elements, field in _lists(obj, self.schema.type)
            if field.merge_key in ("port", "containerPort") and elements
        ]
        if not lists:
            return self.repeat_element(obj)
        elements = self._random.choice(lists)
        port = {**as_object(self._random.choice(elements)), "protocol": "UDP"}
        if "name" in port:
            port["name"] = f"{as_text(port['name'])}-udp"
        elements.insert(self._random.randint(0, len(elements)), port)
        return obj

    def rename_key(self, obj: JSONObject) -> JSONObject:
        """Give an element another patch merge key."""
        elements, field = self._list(obj)
        found = [each for each in elements if isinstance(each, dict)]
        if found:
            element = self._random.choice(found)
            key = element.get(field.merge_key)
            if isinstance(key, str):
                element[field.merge_key] = f"{key}-new"
            elif isinstance(key, int):
                element[field.merge_key] = key + 1
        return obj

    def remove_element(self, obj: JSONObject) -> JSONObject:
        elements, _field = self._list(obj)
        if elements:
            del elements[self._random.randrange(len(elements))]
        return obj

    def move_elements(self, obj: JSONObject) -> JSONObject:
        elements, _field = self._list(obj)
        self._random.shuffle(elements)
        return obj

    def empty_member(self, obj: JSONObject) -> JSONObject:
        """Write null, or a zero value of its type, in place of a value."""
        target, _type = self._random.choice([*_objects(obj, self.schema.type)])
        if target:
            name = self._random.choice([*target])
            zeros = [
                zero
                for zero in _ZERO
                if zero is None or type(zero) is type(target[name])
            ]
            # A change of the object must not change the table.
            target[name] = copy.copy(self._random.choice(zeros))
        return obj

    def remove_member(self, obj: JSONObject) -> JSONObject:
        target, _type = self._random.choice([*_objects(obj, self.schema.type)])
        if target:
            del target[self._random.choice([*target])]
        return obj

    def change_union(self, obj: JSONObject) -> JSONObject:
        """Choose another member of a union, or set one beside the chosen one."""
        places = [
            (target, type_)
            for target, type_ in _objects(obj, self.schema.type)
            if isinstance(type_, ObjectType) and type_.unions
        ]
        if not places:
            return self.by_people(obj)
        target, type_ = self._random.choice(places)
        assert isinstance(type_, ObjectType)
        union = self._random.choice(type_.unions)
        chosen = self._random.choice(union.members)
        if self._random.random() < 0.7:
            for member in union.members:
                target.pop(member.name, None)
        if union.discriminator and self._random.random() < 0.8:
            target[union.discriminator] = chosen.value
        field = type_.field(chosen.name)
        if field is not None:
            target[chosen.name] = self._maker.field(field)
        return obj

    def _list(self, obj: JSONObject) -> tuple[JSONArray, Field]:
        lists: _Lists = [*_lists(obj, self.schema.type)]
        return self._random.choice(lists) if lists else ([], ANY_FIELD)


def _objects(value: JSON, type_: Type) -> Iterator[tuple[JSONObject, Type]]:
    """Yield every object inside a value, itself included, with its type."""
    if isinstance(value, dict):
        yield value, type_
        for name, member in value.items():
            field = type_.field(name)
            if field is not None:
                yield from _objects(member, field.type)
    elif isinstance(value, list):
        for element in value:
            yield from _objects(element, type_.items)


def _lists(value: JSON, type_: Type) -> Iterator[tuple[JSONArray, Field]]:
    """Yield the merge lists inside a value."""
    for target, target_type in _objects(value, type_):
        for name, member in target.items():
            field = target_type.field(name)
            if isinstance(member, list) and field is not None and field.merges:
                yield member, field


_Change: TypeAlias = Callable[[Triple, JSONObject], JSONObject]
_CHANGES: Final[tuple[_Change, ...]] = (
    Triple.by_people,
    Triple.by_people,
    Triple.injected,
    Triple.repeat_element,
    Triple.other_protocol,
    Triple.rename_key,
    Triple.remove_element,
    Triple.move_elements,
    Triple.empty_member,
    Triple.remove_member,
    Triple.change_union,
)
