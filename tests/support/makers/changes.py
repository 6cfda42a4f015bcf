"""What becomes of an object: changed by its user, extended by a server."""

from __future__ import annotations

from typing import NamedTuple

from smp._values.values import JSON, JSONArray, JSONObject, same
from smp.schema.model import Field, ObjectType, Schema, Type
from tests.support.makers.objects import DEEPEST, ObjectMaker


class Triple(NamedTuple):
    """The three objects of ``kubectl apply``."""

    last_applied: JSONObject | None
    modified: JSONObject
    live: JSONObject


class ChangeMaker(ObjectMaker):
    """Makes random changes; a changed object is valid again."""

    def triple(self, schema: Schema) -> Triple:
        """Make the objects of an apply: a base, and what became of it on each side."""
        base = self.object(schema)
        modified = self.random.choice(
            (self.changed, self.changed, self.changed, _unchanged)
        )(base, schema)
        live = self.random.choice(
            (self.changed, self.extended, self._drifted, _unchanged)
        )(base, schema)
        # Mostly what was applied is the base; sometimes nothing is recorded, or the
        # record is empty or has little to do with the other two.
        last_applied = self.random.choice(
            (base, base, base, base, base, None, {}, live, self.object(schema))
        )
        return Triple(last_applied, modified, live)

    def changed(self, value: JSONObject, schema: Schema) -> JSONObject:
        """Change an object here and there; one in fifty changes its identity, too."""
        self._left = self._size // 2
        result = self._changed_object(value, schema.type, 0)
        if not schema.kind or self._chance(0.02):
            return result
        return _with_identity_of(value, result)

    def extended(self, value: JSONObject, schema: Schema) -> JSONObject:
        """Add what servers and controllers add: defaults, sidecars, annotations."""
        self._left = self._size // 2
        return _add_additions(value, self.object(schema), schema.type)

    def _drifted(self, value: JSONObject, schema: Schema) -> JSONObject:
        return self.changed(self.extended(value, schema), schema)

    def _changed(
        self, value: JSON, field: Field | None, type_: Type, depth: int
    ) -> JSON:
        # Sometimes a value is made again from nothing. ``field`` is None for the
        # elements of an atomic list.
        if self._chance(self.rate * 0.2):
            if field is not None:
                return self._field(field, depth)
            return self._value(type_, depth)
        if isinstance(value, dict):
            return self._changed_object(value, type_, depth)
        if isinstance(value, list):
            if field is not None and field.merges:
                return self._changed_merge_list(value, field, depth)
            return self._changed_atomic_list(value, type_)
        return self._value(type_, depth) if self._chance(self.rate) else value

    def _changed_object(self, value: JSONObject, type_: Type, depth: int) -> JSONObject:
        result: JSONObject = {}
        for name, member in value.items():
            field = type_.field(name)
            if field is not None and not self._chance(self.rate * 0.3):
                result[name] = self._changed(member, field, field.type, depth + 1)
        if self._chance(self.rate) and isinstance(type_, ObjectType):
            for name, member in self._object(type_, depth).items():
                result.setdefault(name, member)
        return result

    def _changed_atomic_list(self, value: JSONArray, type_: Type) -> JSONArray:
        kept = [element for element in value if not self._chance(self.rate * 0.3)]
        # New elements of an atomic list stay small, as if they were deep inside.
        depth = DEEPEST - 2
        result = [self._changed(element, None, type_.items, depth) for element in kept]
        if self._chance(self.rate):
            place = self.random.randint(0, len(result))
            result.insert(place, self._value(type_.items, depth))
        return result

    def _changed_merge_list(
        self, value: JSONArray, field: Field, depth: int
    ) -> JSONArray:
        result = [element for element in value if not self._chance(self.rate * 0.4)]
        if field.merge_key:
            result = [
                self._changed_element(element, field, depth) for element in result
            ]
        if self._chance(self.rate):
            result += self._new_elements(result, field, depth)
        if self._chance(self.rate * 0.7):
            self.random.shuffle(result)
        return result

    def _changed_element(self, element: JSON, field: Field, depth: int) -> JSON:
        if not isinstance(element, dict) or field.merge_key not in element:
            return element
        result = self._changed_object(element, field.type.items, depth + 1)
        return {**result, field.merge_key: element[field.merge_key]}

    def _new_elements(self, value: JSONArray, field: Field, depth: int) -> JSONArray:
        """Make elements that a merge list does not have yet."""
        if not field.merge_key:
            candidates = self._merge_list(field, depth)
            return [new for new in candidates if not contains(value, new)]
        taken = [e.get(field.merge_key) for e in value if isinstance(e, dict)]
        keys = [key for key in self._merge_keys(field, 2) if key not in taken]
        return [self._element(field, key, depth) for key in keys]


def identity_of(element: JSON, field: Field) -> JSON:
    """Return what an order directive says of an element: its merge key, or itself."""
    if isinstance(element, dict):
        return {field.merge_key: element.get(field.merge_key)}
    return element


def contains(values: JSONArray, value: JSON) -> bool:
    """Tell whether a value is among others, types compared strictly."""
    return any(same(value, other) for other in values)


def _unchanged(value: JSONObject, _schema: Schema) -> JSONObject:
    return value


def _with_identity_of(original: JSONObject, result: JSONObject) -> JSONObject:
    metadata = result.get("metadata")
    named: JSONObject = {
        **(metadata if isinstance(metadata, dict) else {}),
        "name": "x",
    }
    identity: JSONObject = {
        name: original[name] for name in ("apiVersion", "kind") if name in original
    }
    return {**identity, **result, **identity, "metadata": named}


def _add_additions(value: JSONObject, extra: JSONObject, type_: Type) -> JSONObject:
    """Add the members of another object; what the first one has stays as it is."""
    result = {**extra, **value}
    for name in value.keys() & extra.keys():
        field, mine, other = type_.field(name), value[name], extra[name]
        if field is None:
            continue
        if isinstance(mine, dict) and isinstance(other, dict):
            result[name] = _add_additions(mine, other, field.type)
        elif isinstance(mine, list) and isinstance(other, list) and field.merges:
            taken = [identity_of(element, field) for element in mine]
            added = [e for e in other if not contains(taken, identity_of(e, field))]
            # An injected sidecar comes first, several additions come last.
            result[name] = [*added, *mine] if len(added) == 1 else [*mine, *added]
    return result
