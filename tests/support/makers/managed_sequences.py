"""Random sequences of applies and updates of one object by several field managers.

The vocabulary is small, so that managers meet: they apply what others own, give up what
they applied, and reorder or repeat what is in lists. ``Sequence.step`` makes the next
step for the live object, which is the last answer.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
)
from smp.schema.model import ANY, AnyType, ListType, ObjectType, ScalarType, Type
from tests.support.chain_resources import GROUP, VERSIONS, Resource

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_TEXTS: Final = ("a", "b", "c")
_RARE_TEXTS: Final = ("", "é<&>", 'q"\\', "app.kubernetes.io/name", "1")
_MANAGERS: Final = ("alice", "bob", "kubectl", "controller", "helm")
_MANY: Final = tuple(f"updater-{number:02}" for number in range(14))
_FOREIGN_VERSIONS: Final = ("v1beta1", "v9", "other.example.com/v1")
_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")
# The schema has a type for these, but smp's types are free-form.
_FREE_OBJECTS: Final = ("freeObject", "embedded")
_BROKEN_ENTRIES: Final[tuple[JSON, ...]] = (
    {"manager": "x"},
    {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}},
    {
        "manager": "x",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV2",
        "fieldsV1": {},
    },
    {
        "manager": "x",
        "operation": "Patch",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    },
    {
        "manager": "x",
        "operation": "Update",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
    },
    {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"k:{": {}},
    },
)

_Edit: TypeAlias = "Callable[[JSON, Type], JSON | Absent]"


class Sequence:
    """One object, and the managers that write it."""

    def __init__(self, seed: str, resource: Resource) -> None:
        self.resource = resource
        self._random = Random(seed)
        # What each manager applied last.
        self._configurations: dict[str, JSONObject] = {}
        self._seconds = 0
        count = self._random.randint(2, 4)
        self._managers = self._random.sample(_MANAGERS, count)
        self._has_many_updaters = self._random.random() < 0.04
        # With one clock tick for several steps, the order of entries is that of names.
        self._pause = self._random.choice((1, 1, 1, 0))
        if self._has_many_updaters:
            self._pause = 1
        # The fields that a server resets are those of one version, which a server does
        # not look at where an entry is in another one.
        self._has_versions = resource.is_custom and self._random.random() < 0.15
        # Some objects are small, and those of the others have most fields.
        self._fullness = self._random.choice((0.15, 0.3, 0.5))
        self.length = self._random.randint(3, 8) + 10 * self._has_many_updaters

    def initial(self) -> JSONObject | None:
        """Return the object before the first step, without managed fields, or None."""
        if self._random.random() < 0.75:
            return None
        found = self._configuration("")
        _make_plain(found)
        metadata = as_object(found["metadata"])
        metadata["uid"] = "1"
        if self._random.random() < 0.5:
            # As client-side apply leaves it.
            applied = self._changed(found) if self._chance(0.5) else found
            _annotate(found, _configuration_text(applied))
        return found

    def step(self, live: JSONObject | None) -> JSONObject:
        """Return the next step."""
        step = self._step(live)
        written = as_object(step.get("object"))
        _make_plain(written)
        return step

    def _step(self, live: JSONObject | None) -> JSONObject:
        if self._chance(0.8):
            self._seconds += self._pause
        if not self._pause and self._chance(0.3):
            self._seconds += 1
        now = f"2024-05-01T10:{self._seconds // 60:02}:{self._seconds % 60:02}Z"
        step: JSONObject = {"apiVersion": self._version(), "now": now}
        if live is not None and self._can_scale(live) and self._chance(0.05):
            manager = self._random.choice((*self._managers, "autoscaler"))
            replicas = self._random.randint(0, 3)
            return {**step, "op": "scale", "manager": manager, "replicas": replicas}
        if self._has_many_updaters and live is not None and self._chance(0.85):
            manager = self._random.choice(_MANY)
            changed = self._changed(live)
            changed["apiVersion"] = step["apiVersion"]
            return {**step, "op": "update", "manager": manager, "object": changed}
        subresource = ""
        has_status = "status" in self._fields() and not self._has_versions
        if live is not None and has_status and self._chance(0.1):
            subresource = "status"
            step["subresource"] = subresource
        manager = self._random.choice(self._managers)
        step["manager"] = manager
        if self._chance(0.6 if live is not None else 0.75):
            step["op"] = "apply"
            if self._chance(0.25):
                step["force"] = True
            config = self._next_configuration(manager, subresource, live)
            config["apiVersion"] = step["apiVersion"]
            step["object"] = self._spoiled(config)
            return step
        if self._chance(0.02):
            step["manager"] = ""
        step["op"] = "update"
        if live is None:
            fresh = self._configuration("")
            if self._chance(0.15):
                _annotate(fresh, _configuration_text(fresh))
        else:
            fresh = self._update(live)
        if self._chance(0.03):
            self._insert_unknown(fresh)
        fresh["apiVersion"] = step["apiVersion"]
        step["object"] = fresh
        return step

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _version(self) -> str:
        if self._has_versions and self._chance(0.4):
            return f"{GROUP}/{VERSIONS[1]}"
        return self.resource.api_version

    def _can_scale(self, live: JSONObject) -> bool:
        spec = live.get("spec", {})
        if self.resource.name != "App" or not isinstance(spec, dict):
            return False
        return isinstance(spec.get("replicas", 0), int)

    # Configurations

    def _next_configuration(
        self, manager: str, subresource: str, live: JSONObject | None
    ) -> JSONObject:
        key = f"{manager} {subresource}"
        former = self._configurations.get(key)
        if former is not None and self._chance(0.15):
            config = copy.deepcopy(former)
        elif former is not None and self._chance(0.75):
            config = self._changed(former)
        elif live is not None and self._chance(0.15):
            # As one who gets the object, edits it, and applies it.
            config = self._changed(_without_server_fields(live))
        elif self._configurations and self._chance(0.5):
            others = [*self._configurations.values()]
            config = self._changed(self._random.choice(others))
        else:
            config = self._configuration(subresource)
        if manager == "kubectl" and live is not None and self._chance(0.2):
            text = as_text(_annotations(live).get(LAST_APPLIED))
            if len(text) > len("{"):
                config = self._changed(json.loads(text))
        self._configurations[key] = copy.deepcopy(config)
        return config

    def _configuration(self, subresource: str) -> JSONObject:
        metadata: JSONObject = {"name": "x", "namespace": "default"}
        if self._chance(0.3):
            metadata["labels"] = self._texts_by_text()
        if self._chance(0.15):
            metadata["annotations"] = self._texts_by_text()
        if self._chance(0.1):
            metadata["finalizers"] = self._random.sample(_TEXTS, 2)
        if self._chance(0.05):
            owner: JSONObject = {"apiVersion": "v1", "kind": "A", "name": "a"}
            metadata["ownerReferences"] = [{**owner, "uid": "u"}]
        found: JSONObject = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": metadata,
        }
        for field in self._fields():
            is_reset = field == "status" and not subresource
            if is_reset and (self._has_versions or not self._chance(0.1)):
                continue
            if field != "status" and subresource and not self._chance(0.1):
                continue
            declared = self.resource.schema.type.field(field)
            if declared is not None:
                found[field] = self._value(declared.type, 1)
        return found

    def _fields(self) -> list[str]:
        type_ = self.resource.schema.type
        assert isinstance(type_, ObjectType)
        names = [field.name for field in type_]
        return [
            name for name in names if name not in ("apiVersion", "kind", "metadata")
        ]

    def _texts_by_text(self) -> JSONObject:
        names = self._random.sample(_TEXTS, self._random.randint(1, 3))
        return {name: self._random.choice(_TEXTS) for name in names}

    def _spoiled(self, config: JSONObject) -> JSONObject:
        """Return a configuration that is sometimes one that a server refuses."""
        if not self._chance(0.05):
            return config
        config = copy.deepcopy(config)
        kind = self._random.randint(0, 5)
        if kind == 0:
            config["apiVersion"] = self._random.choice(("v9", f"{GROUP}/v1beta1"))
        elif kind == 1:
            config["kind"] = "Other"
        elif kind == 2:
            entries: tuple[JSON, ...] = ([], [{}], [{"manager": "x"}])
            metadata = as_object(config["metadata"])
            metadata["managedFields"] = self._random.choice(entries)
        elif kind == 3:
            self._insert_unknown(config)
        elif kind == 4:
            config["spec"] = None
        else:
            self._edit(config, self._wrong)
        return config

    # Updates

    def _update(self, live: JSONObject) -> JSONObject:
        fresh = self._changed(live) if self._chance(0.85) else copy.deepcopy(live)
        metadata = as_object(fresh.get("metadata"))
        entries = as_list(metadata.get("managedFields"))
        kind = self._random.random()
        if kind < 0.12:
            metadata.pop("managedFields", None)
        elif kind < 0.16:
            metadata["managedFields"] = [{}]
        elif kind < 0.2:
            metadata["managedFields"] = []
        elif kind < 0.24:
            broken = self._random.choice(_BROKEN_ENTRIES)
            metadata["managedFields"] = [*entries, broken]
        elif kind < 0.27 and entries:
            del entries[self._random.randrange(len(entries))]
        elif kind < 0.33 and entries:
            entry = as_object(copy.deepcopy(self._random.choice(entries)))
            version = self._random.choice(_FOREIGN_VERSIONS)
            if version == "v1beta1" and self._has_versions:
                version = f"{GROUP}/v1beta1"
            entry["apiVersion"] = version
            entry["manager"] = self._random.choice((*self._managers, "other"))
            metadata["managedFields"] = [*entries, entry]
        if self._chance(0.06):
            _annotate(fresh, self._last_applied(live))
        return fresh

    def _last_applied(self, live: JSONObject) -> str:
        if self._chance(0.1):
            return self._random.choice(("", "{", '{"kind": "A"}'))
        applied = _without_server_fields(live)
        return _configuration_text(
            self._changed(applied) if self._chance(0.5) else applied
        )

    # Changes of values

    def _changed(self, document: JSONObject) -> JSONObject:
        """Return a copy with some random edits; apiVersion and kind stay."""
        changed = copy.deepcopy(document)
        for _ in range(self._random.choice((0, 1, 1, 1, 2, 3))):
            self._edit(changed, self._edited)
        return changed

    def keeps_what_failed(self) -> bool:
        """Tell whether an update that breaks the schema is stored nevertheless.

        As for objects that are older than the schema.
        """
        return self._chance(0.2)

    def _edit(self, document: JSONObject, edit: _Edit) -> None:
        """Replace one random value in a document, or delete it where it is ABSENT."""
        holder: JSON = document
        type_ = self.resource.schema.type
        name: str | int = ""
        metadata = document.get("metadata")
        if isinstance(metadata, dict) and self._chance(0.12):
            self._edit_metadata(metadata)
            return
        present = [root for root in self._fields() if root in document]
        if not present or self._chance(0.1):
            added = self._random.choice(self._fields())
            document[added] = self._value(_field_type(type_, added), 1)
            return
        name = self._random.choice(present)
        below = _field_type(type_, name)
        current = document[name]
        while True:
            children = _children(current, name)
            if not children or self._chance(0.25):
                break
            holder, type_ = current, below
            name = self._random.choice(children)
            below = _child_type(type_, name)
            current = _child(holder, name)
        _replace(holder, name, edit(current, below))

    def _edit_metadata(self, metadata: JSONObject) -> None:
        """Edit what a server keeps as it is: a null or empty list would be dropped."""
        name = self._random.choice(_METADATA)
        if self._chance(0.3):
            metadata.pop(name, None)
        elif name == "finalizers":
            count = self._random.randint(1, 3)
            metadata[name] = [*self._random.sample(_TEXTS, count)]
        elif name == "ownerReferences":
            owner: JSONObject = {"apiVersion": "v1", "kind": "A", "name": "a"}
            metadata[name] = [{**owner, "uid": self._random.choice(_TEXTS)}]
        else:
            former = as_object(metadata.get(name))
            metadata[name] = {**former, **self._texts_by_text()}

    def _edited(self, value: JSON, type_: Type) -> JSON | Absent:
        chance = self._random.random()
        if chance < 0.25:
            return ABSENT
        if _is_int_or_string(type_):
            return self._value(type_, 2)
        if chance < 0.28 and not self._has_versions:
            return None
        if chance < 0.33:
            return [] if isinstance(value, list) else {}
        if isinstance(value, list) and value:
            return self._edited_list(value, type_)
        if isinstance(value, dict) and chance < 0.85:
            return self._grown(value, type_)
        return self._value(type_, 2)

    def _edited_list(self, value: JSONArray, type_: Type) -> JSON:
        elements = copy.deepcopy(value)
        chance = self._random.random()
        if chance < 0.25:
            self._random.shuffle(elements)
        elif chance < 0.4:
            del elements[self._random.randrange(len(elements))]
        elif chance < 0.48:
            again = copy.deepcopy(self._random.choice(elements))
            elements.insert(self._random.randint(0, len(elements)), again)
        else:
            added = self._list(type_, 2)
            place = self._random.randint(0, len(elements))
            known = [json.dumps(element) for element in elements]
            added = [item for item in added if json.dumps(item) not in known]
            elements[place:place] = _unlike(added, elements, type_)
        return elements

    def _grown(self, value: JSONObject, type_: Type) -> JSON:
        added = self._value(type_, 2)
        if not isinstance(added, dict):
            return added
        return {**value, **added} if self._chance(0.5) else {**added, **value}

    def _wrong(self, value: JSON, type_: Type) -> JSON:
        if _is_int_or_string(type_):
            return value
        wrong: tuple[JSON, ...] = (1.5, True, "wrong", [1], {"a": 1}, [None], [[]])
        return self._random.choice(wrong)

    def _insert_unknown(self, document: JSONObject) -> None:
        def inserted(value: JSON, _type: Type) -> JSON:
            if isinstance(value, dict):
                unknown: tuple[JSON, ...] = (1, None, {}, {"a": "b"})
                return {**value, "unknownField": self._random.choice(unknown)}
            return value

        self._edit(document, inserted)

    # Values of a type

    def _value(self, type_: Type, depth: int) -> JSON:
        if depth > 1 and self._chance(0.02) and not self._has_versions:
            # A conversion to another version drops what is null.
            return None
        if isinstance(type_, ScalarType):
            return self._scalar(type_.name)
        if isinstance(type_, ListType):
            return self._list(type_, depth)
        if isinstance(type_, ObjectType):
            return self._object(type_, depth)
        return self._anything(depth)

    def _scalar(self, name: str) -> JSON:
        if name == "boolean":
            return self._chance(0.5)
        if name == "integer":
            return self._random.randint(0, 3)
        if name == "number":
            return self._random.choice((0, 1, 1.0, 0.5, 2))
        if name == "int-or-string":
            return self._random.choice((1, "1", "25%", 2))
        if self._chance(0.04):
            return self._random.choice(_RARE_TEXTS)
        return self._random.choice(_TEXTS)

    def _object(self, type_: ObjectType, depth: int) -> JSONObject:
        found: JSONObject = {}
        if depth > 5:
            return found
        # Objects of built-in types are large, and their fields seldom meet.
        fields = [*type_] if self.resource.is_custom else [*type_][:12]
        fullness = self._fullness if depth > 1 else max(self._fullness, 0.25)
        for field in fields:
            if self._chance(fullness):
                value = self._value(field.type, depth + 1)
                if depth > 1 and field.name == "metadata":
                    # Of an embedded resource, see _edit_metadata.
                    value = {"name": "a", "labels": self._texts_by_text()}
                found[field.name] = value
        others = type_.others
        if others is not None and not isinstance(others.type, AnyType):
            for name in self._random.sample(_TEXTS, self._random.randint(0, 2)):
                if not type_.declares(name):
                    found[name] = self._value(others.type, depth + 1)
        elif others is not None or not type_.structured:
            for name in self._random.sample(_TEXTS, self._random.randint(0, 2)):
                if not type_.declares(name):
                    found[name] = self._anything(depth + 1)
        return found

    def _list(self, type_: Type, depth: int) -> JSONArray:
        elements: JSONArray = []
        if not isinstance(type_, ListType):
            return [self._anything(depth + 1) for _ in range(2)]
        for _ in range(self._random.choice((0, 1, 1, 2, 2, 3)) if depth < 6 else 0):
            element = self._value(type_.items, depth + 1)
            if type_.list_type == "map":
                element = self._keyed(as_object(element), type_)
            elements.append(element)
        if self._chance(0.06):
            return elements
        return _unlike(elements, [], type_)

    def _keyed(self, element: JSONObject, type_: ListType) -> JSONObject:
        for name in type_.map_keys:
            field = type_.items.field(name)
            assert field is not None
            if field.default is not ABSENT:
                if self._chance(0.5):
                    element.pop(name, None)
                    continue
            elif name != type_.map_keys[0] and self._chance(0.2):
                element.pop(name, None)
                continue
            element[name] = self._value(field.type, 0)
            if element[name] == "":
                element[name] = "a"
        return element

    def _anything(self, depth: int) -> JSON:
        kind = self._random.choice("stllmmm" if depth < 4 else "st")
        if kind == "l":
            return [
                self._anything(depth + 1) for _ in range(self._random.randint(0, 2))
            ]
        if kind == "m":
            names = self._random.sample(_TEXTS, self._random.randint(0, 3))
            return {name: self._anything(depth + 1) for name in names}
        if kind == "t":
            return self._random.choice(_TEXTS)
        values: tuple[JSON, ...] = (1, 2, True, None, "a", 0.5)
        return self._random.choice(values)


def _make_plain(document: JSONObject) -> None:
    """Replace values where the schema of a server says more than the types of smp.

    A server decodes metadata, so that it has no empty lists and maps.
    """
    metadata = as_object(document.get("metadata"))
    for name in _METADATA:
        if not metadata.get(name):
            metadata.pop(name, None)
    spec = as_object(document.get("spec"))
    for name in _FREE_OBJECTS:
        if name in spec:
            spec[name] = as_object(spec[name])
    if isinstance(spec.get("either"), (dict, list)):
        spec["either"] = 1
    embedded = as_object(spec.get("embedded"))
    for name in ("apiVersion", "kind"):
        # Without text, the object cannot be decoded.
        if not embedded.get(name) or not isinstance(embedded[name], str):
            embedded.pop(name, None)
    # Of an element that has its default key alone, the prune of Go makes null, which
    # has no path element.
    for element in as_list(spec.get("defaulted")):
        if isinstance(element, dict) and element.get("value") is None:
            element["value"] = 1


def _configuration_text(applied: JSONObject) -> str:
    copied = copy.deepcopy(applied)
    _make_plain(copied)
    return json.dumps(copied)


def _is_int_or_string(type_: Type) -> bool:
    """Tell whether a schema of Go takes any value for one of a type."""
    return isinstance(type_, ScalarType) and type_.name == "int-or-string"


def _replace(holder: Any, place: str | int, value: JSON | Absent) -> None:
    if value is ABSENT:
        del holder[place]
    else:
        holder[place] = value


def _unlike(elements: JSONArray, others: JSONArray, type_: Type) -> JSONArray:
    """Return those elements of a set or a keyed list that have no others of one key."""
    if not isinstance(type_, ListType) or type_.list_type not in ("set", "map"):
        return elements
    seen = {_key(other, type_) for other in others}
    kept: JSONArray = []
    for element in elements:
        key = _key(element, type_)
        if key not in seen:
            seen.add(key)
            kept.append(element)
    return kept


def _key(element: JSON, type_: ListType) -> str:
    if not type_.map_keys or not isinstance(element, dict):
        return json.dumps(element, sort_keys=True)
    keys: JSONArray = []
    for name in type_.map_keys:
        field = type_.items.field(name)
        default = None if field is None or field.default is ABSENT else field.default
        keys.append(element.get(name, default))
    return json.dumps(keys)


def _field_type(type_: Type, name: str) -> Type:
    field = type_.field(name)
    return ANY if field is None else field.type


def _children(value: JSON, name: str | int) -> list[str | int]:
    if name == "managedFields":
        return []
    if isinstance(value, dict):
        return [child for child in value if child != "managedFields"]
    if isinstance(value, list):
        return [*range(len(value))]
    return []


def _child(value: JSON, name: str | int) -> JSON:
    if isinstance(value, dict):
        return value[str(name)]
    assert isinstance(value, list)
    assert isinstance(name, int)
    return value[name]


def _child_type(type_: Type, name: str | int) -> Type:
    if isinstance(name, int):
        return type_.items if isinstance(type_, ListType) else ANY
    return _field_type(type_, name)


def _annotations(document: JSONObject) -> JSONObject:
    return as_object(as_object(document.get("metadata")).get("annotations"))


def _annotate(document: JSONObject, text: str) -> None:
    metadata = as_object(document.get("metadata"))
    metadata["annotations"] = {
        **as_object(metadata.get("annotations")),
        LAST_APPLIED: text,
    }
    document["metadata"] = metadata


def _without_server_fields(live: JSONObject) -> JSONObject:
    kept = copy.deepcopy(live)
    metadata = as_object(kept.get("metadata"))
    for name in ("managedFields", "uid"):
        metadata.pop(name, None)
    annotations = as_object(metadata.get("annotations"))
    annotations.pop(LAST_APPLIED, None)
    return kept
