"""Widgets: custom resources of a CRD with every type of list and of map.

tests/data/managed_fields/widgets.yaml is the CRD. Values come from small pools, so that
independent drafts often share elements, keys and values, and differ in others.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Final

import yaml

from smp._values.values import JSON, JSONObject, as_object
from tests.support.paths import DATA

CRD_FILE: Final = DATA / "managed_fields" / "widgets.yaml"
API_VERSIONS: Final = ("example.com/v1", "example.com/v1beta1")

# A field has one of these values.
_VALUES: Final[dict[str, tuple[JSON, ...]]] = {
    "replicas": (0, 1, 2, 3),
    "paused": (True, False),
    "mode": ("auto", "manual", ""),
    "text": ("a", "b", "", "é <&>"),
    "either": (80, "80", "25%", 0, ""),
    "number": (0, 1, 0.5, 2.0, 1e21, -3),
    "atomicList": (["a"], ["a", "b"], ["b", "a"], [], ["a", "a"]),
    "plainList": ([{"a": "x"}], [{"a": "x"}, {"a": "y", "b": 2}], [{}], []),
    "struct": (
        {"a": "x"},
        {"a": "x", "b": 1},
        {"b": 0},
        {"a": ""},
        {},
        {"deeper": {"c": "z"}},
        {"a": "y", "deeper": {"list": [1, 2]}},
        {"deeper": {}},
    ),
    "nullable": (None, {}, {"a": "x"}, {"a": "y", "b": None}, {"b": 1}),
    "nullableText": (None, "", "a"),
    "nullableList": (None, [], ["a"]),
    "settings": ({}, {"retries": 5}, {"extra": "x"}, {"retries": 3, "backoff": "1s"}),
    "atomicStruct": ({"a": "x"}, {"a": "x", "b": 1}, {"b": 1}, {}),
    "atomicMap": ({"a": "x"}, {"a": "x", "b": "y"}, {}),
    "preserved": (
        {"known": {"a": "x"}},
        {"known": {"b": 1}, "other": {"list": [1, {"x": None}]}},
        {"other": {"map": {"y": "z"}}},
        {"other": {"list": [], "text": ""}},
        {},
    ),
    "free": ("a", 1, [1, 2], {"a": {"b": "c"}}, {"a": {"d": 1}}, {}, []),
    "template": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "data": {"a": "b"},
        },
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a"}]}},
    ),
}
# A field has some of these elements.
_ELEMENTS: Final[dict[str, tuple[JSON, ...]]] = {
    "texts": ("a", "b", "c", ""),
    "numbers": (1, 2, 80, 0),
    "named": (
        {"name": "a"},
        {"name": "a", "value": 1},
        {"name": "a", "value": 2, "level": "debug"},
        {"name": "b", "labels": {"x": "y"}},
        {"name": "b", "labels": {}, "texts": ["p", "q"]},
        {"name": "c", "value": 0, "texts": ["q"]},
        {"name": "", "value": 1},
    ),
    "ports": (
        {"port": 53},
        {"port": 53, "protocol": "UDP"},
        {"port": 53, "protocol": "TCP", "note": "x"},
        {"port": 80, "note": ""},
        {"port": 80, "protocol": "TCP", "note": "y"},
    ),
}
# A field has some of these members.
_MEMBERS: Final[dict[str, JSONObject]] = {
    "granularMap": {"a": {"a": "x"}, "b": {"b": 1}, "c": {}, "": {"a": "y"}},
    "labels": {"a": "x", "b": "", "example.com/c": "z"},
}
_NAMES: Final = (*_VALUES, *_ELEMENTS, *_MEMBERS)
# What identifies an element.
_KEYS: Final = {"named": ("name",), "ports": ("port", "protocol")}


class WidgetMaker:
    """Makes widgets, and changes them, from a seed."""

    def __init__(self, seed: str, name: str) -> None:
        self.random = Random(seed)
        self._name = name

    def manifest(self) -> JSONObject:
        """Make a manifest as a user would write it the first time."""
        count = self.random.randint(2, 9)
        spec = {name: self._value(name) for name in self.random.sample(_NAMES, count)}
        if self.random.random() < 0.04:
            # No server takes it for a set, and some writes find out only later.
            spec["pairs"] = [{"a": "x", "b": 1}]
        metadata: JSONObject = {"name": self._name, "namespace": "default"}
        if self.random.random() < 0.4:
            metadata["labels"] = {"app": self.random.choice(("web", "api"))}
        return {
            "apiVersion": API_VERSIONS[0],
            "kind": "Widget",
            "metadata": metadata,
            "spec": spec,
        }

    def changed(self, manifest: JSONObject) -> JSONObject:
        """Change a manifest as its author would, a little."""
        spec = {**as_object(manifest.get("spec"))}
        for _ in range(self.random.randint(0, 3)):
            there = [name for name in spec if name in _NAMES]
            field = self.random.choice([*_NAMES, *there])
            if field in spec and self.random.random() < 0.35:
                del spec[field]
            else:
                spec[field] = self._value(field)
        return {**deepcopy(manifest), "spec": spec}

    def interfered(self, live: JSONObject) -> JSONObject:
        """Change a live widget as another actor would."""
        return self.changed(live)

    def _value(self, field: str) -> JSON:
        if field in _VALUES:
            return deepcopy(self.random.choice(_VALUES[field]))
        if field in _MEMBERS:
            members = _MEMBERS[field]
            names = self.random.sample([*members], self.random.randint(0, 3))
            return {name: deepcopy(members[name]) for name in names}
        found: dict[str, JSON] = {}
        elements = _ELEMENTS[field]
        for element in self.random.sample(elements, self.random.randint(0, 3)):
            keys = _KEYS.get(field, ())
            identity = [as_object(element).get(key, "TCP") for key in keys]
            found[str(identity if keys else element)] = deepcopy(element)
        return [*found.values()]


def crd() -> JSONObject:
    """Return the CustomResourceDefinition of widgets."""
    return as_object(yaml.safe_load(CRD_FILE.read_text()))
