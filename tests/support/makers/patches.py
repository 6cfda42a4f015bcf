"""Strategic merge patches for an object, as people and controllers write them."""

from __future__ import annotations

from smp._values.values import ABSENT, JSON, Absent, JSONArray, JSONObject
from smp.schema.model import Field, ListType, ObjectType, Schema, Type
from tests.support.makers.changes import ChangeMaker, contains, identity_of
from tests.support.makers.objects import FIELD_WEIGHTS, NAMES


class PatchMaker(ChangeMaker):
    """Makes random patches: mostly of what an object has, with all directives."""

    def patch(self, live: JSONObject, schema: Schema) -> JSONObject:
        """Make a patch for this object."""
        self._left = self._size
        result = self._object_patch(live, schema.type, 0, retain=self._chance(0.02))
        if schema.kind and self._chance(0.9):
            for name in ("apiVersion", "kind"):
                result.pop(name, None)
        return result

    def _object_patch(
        self, live: JSON | Absent, type_: Type, depth: int, *, retain: bool = False
    ) -> JSONObject:
        live_members = live if isinstance(live, dict) else {}
        result: JSONObject = {}
        if isinstance(type_, ObjectType):
            for field in self._patched_fields(live_members, type_, depth):
                live_member = live_members.get(field.name, ABSENT)
                self._patch_field(result, live_member, field, depth + 1)
            if type_.others is not None:
                for name in self._some(NAMES, 2):
                    result[name] = self.random.choice(("a", "b", None))
        if self._chance(0.03):
            result["$patch"] = self.random.choice(("replace", "delete"))
        if retain or self._chance(0.02):
            result["$retainKeys"] = self._retained_keys(result, live_members)
        return result

    def _patched_fields(
        self, live: JSONObject, type_: ObjectType, depth: int
    ) -> list[Field]:
        # Fields that the object has, the interesting ones first; sometimes others, too.
        names = sorted(
            live,
            key=lambda name: FIELD_WEIGHTS.get(name, 1) * self.random.random(),
            reverse=True,
        )
        count = self.random.choice((0, 1, 1, 1, 2, 3))
        fields: list[Field] = []
        for name in names[:count]:
            field = type_.field(name)
            if field is not None:
                fields.append(field)
        if not fields or self._chance(0.3):
            fields += self._chosen_fields(type_, depth)
        return list(dict.fromkeys(fields))

    def _retained_keys(self, result: JSONObject, live: JSONObject) -> JSONArray:
        # The directive has to list what the patch sets: Go refuses it otherwise.
        names = {
            name
            for name, value in result.items()
            if value is not None and not name.startswith("$")
        }
        return [*sorted({*names, *self._some(list(live), 2)})]

    def _patch_field(
        self, result: JSONObject, live: JSON | Absent, field: Field, depth: int
    ) -> None:
        if self._chance(0.1):
            result[field.name] = None
        elif isinstance(field.type, ListType) and field.merges:
            elements = live if isinstance(live, list) else []
            self._patch_list(result, elements, field, depth)
        elif isinstance(field.type, ObjectType) and self._chance(0.9):
            retain = field.retain_keys and self._chance(0.6)
            result[field.name] = self._object_patch(
                live, field.type, depth, retain=retain
            )
        else:
            result[field.name] = self._field(field, depth)

    def _patch_list(
        self, result: JSONObject, live: JSONArray, field: Field, depth: int
    ) -> None:
        deleted: JSONArray = []
        if field.merge_key:
            merged, deleted = self._patched_elements(live, field, depth)
        else:
            merged = self._new_elements(live, field, depth) + self._some(live, 1)
            if self._chance(0.4):
                candidates = [*live, *merged[:1], "zz"]
                directive = f"$deleteFromPrimitiveList/{field.name}"
                result[directive] = self._some(candidates, 2)
        if self._chance(0.35):
            order = self._order(live, merged, deleted, field)
            directive = f"$setElementOrder/{field.name}"
            result[directive] = [identity_of(element, field) for element in order]
            # The elements stand in the order of the directive, as kubectl sends them.
            merged = [e for e in order if any(e is element for element in merged)]
        if merged or deleted or self._chance(0.3):
            result[field.name] = self._with_deletions(merged, deleted)

    def _patched_elements(
        self, live: JSONArray, field: Field, depth: int
    ) -> tuple[JSONArray, JSONArray]:
        """Return the elements that a patch merges, and its deletion markers."""
        key = field.merge_key
        merged = self._new_elements(live, field, depth) if self._chance(0.4) else []
        deleted: JSONArray = []
        for element in self._some(live, 2):
            if not isinstance(element, dict) or key not in element:
                continue
            if self._chance(0.25):
                deleted.append({key: element[key], "$patch": "delete"})
            else:
                retain = field.retain_keys and self._chance(0.5)
                patch = self._object_patch(
                    element, field.type.items, depth, retain=retain
                )
                merged.append(_retaining_key({**patch, key: element[key]}, key))
        if self._chance(0.15):
            fresh = self._object_patch({}, field.type.items, depth)
            for name in self._merge_keys(field, 1):
                merged.append(_retaining_key({**fresh, key: name}, key))
        if self._chance(0.04):
            # Replace the whole list, or delete an element that does not exist.
            if self._chance(0.5):
                deleted.append({"$patch": "replace"})
            else:
                deleted.append({key: "zz", "$patch": "delete"})
        return merged, deleted

    def _order(
        self, live: JSONArray, merged: JSONArray, deleted: JSONArray, field: Field
    ) -> JSONArray:
        patched = [identity_of(element, field) for element in (*merged, *deleted)]
        others = [old for old in live if not contains(patched, identity_of(old, field))]
        order = [*merged, *self._some(others, 4)]
        if self._chance(0.5):
            self.random.shuffle(order)
        return order

    def _with_deletions(self, merged: JSONArray, deleted: JSONArray) -> JSONArray:
        # Deletion markers mostly come last, as kubectl sends them.
        result = [*merged]
        for element in deleted:
            at_end = self._chance(0.7)
            place = len(result) if at_end else self.random.randint(0, len(result))
            result.insert(place, element)
        return result


def _retaining_key(element: JSONObject, key: str) -> JSONObject:
    """Let the ``$retainKeys`` of an element list its merge key, as it has to."""
    retained = element.get("$retainKeys")
    if isinstance(retained, list) and key not in retained:
        return {**element, "$retainKeys": [*retained, key]}
    return element
