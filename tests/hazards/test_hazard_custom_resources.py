"""Hazards of custom resources, which are merged by list types, or by RFC 7396."""

from __future__ import annotations

import os
from typing import Final

import pytest

import smp
from smp._values.values import JSON, JSONObject, as_object, same
from smp.schema.list_types import add_map_keys, by_list_types
from smp.schema.model import Schema
from tests.support.leaves import indices, lost_leaves, under
from tests.support.makers.custom_resources import SHAPES, definition, triple

TEXT: Final[JSONObject] = {"type": "string"}
# Patch strategies count where no list type is stated.
STRATEGIES: Final[JSONObject] = {
    "type": "object",
    "properties": {
        "named": {
            "type": "array",
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {"name": TEXT, "value": TEXT}},
        },
        "kept": {
            "type": "object",
            "x-kubernetes-patch-strategy": "retainKeys",
            "properties": {"a": TEXT, "b": {"type": "object"}},
        },
    },
}
KINDS: Final = {**SHAPES, "Strategies": STRATEGIES}
CATALOG: Final = smp.Catalog.from_crd(
    [definition(kind, spec) for kind, spec in KINDS.items()]
)
# A kind without a definition.
UNDEFINED: Final = Schema.inline("any")
# SMP_TRIPLES says how many triples each law looks at.
NUMBER: Final = int(os.environ.get("SMP_TRIPLES", "200"))


def resource(kind: str, spec: JSONObject) -> JSONObject:
    return {
        "apiVersion": "crs.example.com/v1",
        "kind": kind,
        "metadata": {"name": "a", "resourceVersion": "7"},
        "spec": spec,
    }


class Situation:
    """The specs of a last-applied configuration, a manifest, and a live object."""

    def __init__(
        self, kind: str, last_applied: JSON, manifest: JSON, live: JSON
    ) -> None:
        self.last_applied = resource(kind, as_object(last_applied))
        self.manifest = resource(kind, as_object(manifest))
        self.live = resource(kind, as_object(live))
        self.schema = UNDEFINED
        if kind in KINDS:
            self.schema = CATALOG.schema("crs.example.com/v1", kind)

    def hazards(self) -> dict[str, smp.Hazard]:
        found = smp.find_hazards(
            self.last_applied, self.manifest, self.live, self.schema
        )
        return {f"{each.path} {each.code}": each for each in found}

    def applied(self, policy: smp.hazards.Policy) -> smp.ApplyResult:
        return smp.three_way_apply(
            self.last_applied, self.manifest, self.live, self.schema, hazards=policy
        )


TCP: Final[JSONObject] = {"port": 53, "name": "tcp"}
UDP: Final[JSONObject] = {"port": 53, "protocol": "UDP", "name": "udp"}
SITUATIONS: Final[dict[str, Situation]] = {
    "spec.named[name=a] duplicate-key": Situation(
        "Strategies",
        {"named": [{"name": "a"}, {"name": "a", "value": "1"}]},
        {"named": [{"name": "a"}]},
        {"named": [{"name": "a"}]},
    ),
    "spec.kept.b lost-by-retain-keys": Situation(
        "Strategies",
        {"kept": {"a": "1"}},
        {"kept": {"a": "2"}},
        {"kept": {"a": "1", "b": {}}},
    ),
    # What the manifest drops is removed, and the elements of others stay.
    "": Situation("Sets", {"tags": ["a"]}, {}, {"tags": ["a", "b"], "numbers": [1, 2]}),
    "spec.atomic lost-with-list": Situation(
        "Lists", {"atomic": [{"a": "1"}]}, {}, {"atomic": [{"a": "1"}, {"a": "2"}]}
    ),
    "spec.atomic lost-in-list": Situation(
        "Lists",
        {"atomic": [{"a": "1"}]},
        {"atomic": [{"a": "3"}]},
        {"atomic": [{"a": "1"}, {"a": "2"}]},
    ),
    "spec.atomic lost-by-replacement": Situation(
        "Maps",
        {"atomic": {"a": "1"}},
        {"atomic": {"a": "2"}},
        {"atomic": {"a": "1", "b": "1"}},
    ),
    "spec.atomic lost-with-object": Situation(
        "Maps", {"atomic": {"a": "1"}}, {}, {"atomic": {"a": "1", "b": "1"}}
    ),
    "spec.inner lost-by-null": Situation(
        "Plain", {}, {"inner": None}, {"inner": {"a": "1"}}
    ),
    "spec.items[name=b] lost-with-element": Situation(
        "Named",
        {"items": [{"name": "a"}, {"name": "b"}]},
        {"items": [{"name": "a"}]},
        {"items": [{"name": "a"}, {"name": "b", "value": "1"}]},
    ),
    "spec.items lost-in-list": Situation(
        "Named",
        {"items": [{"name": "a"}]},
        {"items": [{"name": "a"}, {"name": "a", "value": "1"}]},
        {"items": [{"name": "a"}, {"name": "b"}]},
    ),
    "spec.items[name=a] duplicate-key": Situation(
        "Named",
        {"items": [{"name": "a"}, {"name": "a", "value": "1"}]},
        {"items": [{"name": "a"}]},
        {"items": [{"name": "a"}]},
    ),
    "spec.ports[port=53] duplicate-key": Situation(
        "Ports",
        {"ports": [TCP]},
        {"ports": [TCP, {"port": 53, "protocol": "TCP"}]},
        {"ports": [TCP]},
    ),
    "spec.tags[0] duplicate-value": Situation(
        "Sets", {"tags": ["a"]}, {"tags": ["a", "a"]}, {"tags": ["a"]}
    ),
    "spec.list lost-in-list": Situation(
        "Undefined",
        {"list": [{"name": "a"}]},
        {"list": [{"name": "a", "value": "1"}]},
        {"list": [{"name": "a"}, {"name": "b"}]},
    ),
    "spec.map lost-with-object": Situation(
        "Undefined", {"map": {"a": "1"}}, {}, {"map": {"a": "1", "b": "1"}}
    ),
    "spec.map lost-by-null": Situation(
        "Undefined", {}, {"map": None}, {"map": {"b": "1"}}
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_has_its_hazard(name: str) -> None:
    situation = SITUATIONS[name]
    found = situation.hazards()
    if not name:
        assert found == {}
        return
    assert name in found
    # No server takes a patch by strategies for the kind.
    assert not any("strategicpatch" in each.rule for each in found.values())
    if found[name].severity != "note":
        with pytest.raises(smp.HazardError):
            situation.applied("error")
    assert situation.applied("ignore").hazards == ()
    assert [*situation.applied("warn").hazards] == [*found.values()]


def test_elements_are_told_from_one_another_by_all_keys() -> None:
    ports: JSON = [TCP, UDP]
    situation = Situation("Ports", {"ports": [TCP]}, {"ports": [TCP]}, {"ports": ports})
    assert situation.hazards() == {}
    removed = Situation("Ports", {"ports": [TCP]}, {"ports": []}, {"ports": ports})
    assert removed.hazards() == {}
    assert as_object(removed.applied("repair").object["spec"]) == {"ports": [UDP]}


def test_equal_keys_are_worded_by_what_they_do_to_the_list() -> None:
    found = SITUATIONS["spec.items lost-in-list"].hazards()
    assert found["spec.items[name=a] duplicate-key"].sentence == (
        "[name=a] stands for several elements, so the list is set as a whole, and a "
        "server refuses it"
    )
    assert found["spec.items lost-in-list"].rule.startswith("CustomResourceDefinition")


def test_a_repair_keeps_an_object_without_a_definition_that_others_have_filled() -> (
    None
):
    inner: JSONObject = {"a": "1", "b": {"c": "1", "d": {"e": "1"}}}
    applied: JSONObject = {"map": {"a": "1", "b": {"c": "1", "d": {"e": "1"}}}}
    others: JSONObject = {**inner, "b": {"c": "1", "d": {"e": "1", "f": "2"}}, "g": "2"}
    situation = Situation("Undefined", applied, {}, {"map": others})
    result = situation.applied("repair")
    assert as_object(result.object["spec"]) == {
        "map": {"b": {"d": {"f": "2"}}, "g": "2"}
    }
    assert [warning.code for warning in result.warnings] == ["repaired"] * 3
    assert result.hazards == ()
    # What goes is removed member by member: what others write meanwhile stays.
    again = smp.merge_patch.apply(situation.live, as_object(result.patch))
    assert same(again, result.object)


def test_a_list_without_list_type_is_not_said_to_be_repaired() -> None:
    """An empty atomic list has nothing of others."""
    applied: JSONObject = {"tolerations": [{"key": "a"}]}
    live: JSONObject = {"tolerations": [{"key": "a"}, {"key": "b"}]}
    pods: list[JSONObject] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
        for spec in (applied, {}, live)
    ]
    schema = smp.kubernetes().schema("v1", "Pod")
    result = smp.three_way_apply(pods[0], pods[1], pods[2], schema, hazards="repair")
    assert result.object["spec"] == {}
    assert [each.code for each in result.hazards] == ["lost-with-list"]
    assert "repaired" not in [warning.code for warning in result.warnings]


def test_what_only_live_had_and_loses_is_in_a_hazard() -> None:
    count = 0
    for number in range(NUMBER):
        made = triple(7, number)
        defined = CATALOG.schema_of(made.modified)
        for schema in (defined, UNDEFINED):
            objects = (made.last_applied, made.modified, made.changed)
            if number % 3 == 0:
                repeated(made.changed)
            result = smp.three_way_apply(*objects, schema)
            seen = by_list_types(schema) if schema is defined else schema
            base, wanted, live, after = (
                as_object(add_map_keys(obj, seen.type))
                for obj in (*objects, result.object)
            )
            reported = {
                indices(each.path)
                for each in result.hazards
                if each.code.startswith("lost-")
            }
            for place in lost_leaves((base, wanted), live, after, seen.type):
                count += 1
                assert under(place, reported), (number, schema, place)
            # An apply of what is there loses nothing.
            for each in smp.find_hazards(live, live, live, schema):
                assert not each.code.startswith("lost-"), (number, each)
    assert count > NUMBER // 10


def repeated(obj: JSONObject) -> None:
    """Let another element have the keys of the first one, in each list of a spec."""
    for value in as_object(obj["spec"]).values():
        if isinstance(value, list) and value:
            first = value[0]
            if isinstance(first, dict):
                first = {**first, "name" if "port" in first else "size": 9}
            value.append(first)
