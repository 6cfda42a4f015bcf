"""The walk that all rules share: where it goes, what it pairs, what it shares."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

import smp
from smp._values.values import (
    ABSENT,
    COMPILED,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
)
from smp.paths import Step
from smp.schema import walk
from smp.schema.model import ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, Plan, plan_of
from smp.schema.walk import Place, Rule, Walk, pair

DOCUMENTS: dict[str, Any] = {
    "A": {"fields": {"b": "#B", "plain": "string"}},
    "B": {"fields": {"a": "#A", "c": {"items": "#C"}}},
    "C": {"fields": {"level": {"type": "integer", "enum": [1, 2]}}},
    "D": {"fields": {"e": "#E"}},
    "E": {"fields": {"d": "#D"}, "values": "string"},
    "F": {"fields": {}, "values": "#A"},
}
LISTS = Schema.inline(
    {
        "fields": {
            "keyed": {
                "is": {"items": "#item"},
                "strategy": "merge",
                "key": "name",
            },
            "mapped": {"items": "#item", "list_type": "map", "map_keys": ["name", "n"]},
            "plain": {"items": "#item"},
            "labels": {"values": "string"},
        }
    },
    {
        "item": {"fields": {"name": "string", "n": "integer", "level": "#level"}},
        "level": {"type": "string", "enum": ["low", "high"]},
    },
)


class Levels(Interest):
    """Interested in scalars with an enum, and counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__("levels")
        self.asked: list[Type] = []

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:
        del keys
        self.asked.append(type_)
        return type_ if isinstance(type_, ScalarType) and type_.enum else None


class Seen(Rule):
    """Notes every scalar of interest, with its path and its old value."""

    def __init__(self) -> None:
        self.scalars: list[tuple[str, JSON, JSON | Absent]] = []

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        del facts
        self.scalars.append((str(place.path / step), value, place.old_at(step)))


def seen(old: JSON | Absent, new: JSONObject) -> list[tuple[str, JSON, JSON | Absent]]:
    rule = Seen()
    Walk(Plan(Interests(Levels())), [rule]).run(old, new, LISTS.type)
    return rule.scalars


def test_a_plan_knows_for_each_type_in_a_circle_where_it_leads() -> None:
    types = Schema.inline("#A", DOCUMENTS).types
    for order in ("ABCDEF", "FEDCBA", "DBFACE"):
        plan = Plan(Interests(Levels()))
        leading = {name for name in order if plan.leads(types.named(name))}
        assert leading == {"A", "B", "C", "F"}


def test_a_catalog_keeps_one_plan_for_an_interest() -> None:
    types = Schema.inline("#A", DOCUMENTS).types
    assert plan_of(types, Interests(Levels())) is plan_of(types, Interests(Levels()))
    other = Schema.inline("#A", DOCUMENTS).types
    assert plan_of(types, Interests(Levels())) is not plan_of(
        other, Interests(Levels())
    )


def test_a_plan_asks_once_for_each_type() -> None:
    interest = Levels()
    plan = Plan(Interests(interest))
    types = Schema.inline("#D", DOCUMENTS).types
    start = types.named("D")
    assert not plan.leads(start)
    times = len(interest.asked)
    assert isinstance(start, ObjectType)
    assert not any(plan.leads(field.type) for field in start)
    assert len(interest.asked) == times


def test_elements_are_paired_by_the_patch_merge_key() -> None:
    old: JSONObject = {"keyed": [{"name": "a", "level": "x"}, {"name": "b"}]}
    new: JSONObject = {
        "keyed": [{"name": "b", "level": "y"}, {"name": "a", "level": "z"}]
    }
    assert seen(old, new) == [
        ("keyed[name=b].level", "y", ABSENT),
        ("keyed[name=a].level", "z", "x"),
    ]


def test_elements_are_paired_by_all_map_keys_and_shown_by_the_first() -> None:
    old: JSONObject = {"mapped": [{"name": "a", "n": 1, "level": "x"}]}
    new: JSONObject = {
        "mapped": [
            {"name": "a", "n": 2, "level": "y"},
            {"name": "a", "n": 1, "level": "z"},
        ]
    }
    assert seen(old, new) == [
        ("mapped[name=a].level", "y", ABSENT),
        ("mapped[name=a].level", "z", "x"),
    ]


def test_elements_without_keys_are_paired_by_place() -> None:
    old: JSONObject = {"plain": [{"level": "x"}]}
    new: JSONObject = {"plain": [{"level": "y"}, {"level": "z"}]}
    assert seen(old, new) == [
        ("plain[0].level", "y", "x"),
        ("plain[1].level", "z", ABSENT),
    ]


def test_an_element_whose_key_is_missing_or_not_unique_counts_as_new() -> None:
    old: list[JSON] = [{"name": "a"}, {"name": "a"}, {"n": 1}]
    assert pair(old, [{"name": "a", "n": 2}, {"n": 1}], [("name",)]) == [ABSENT, ABSENT]


def test_map_keys_decide_where_the_patch_merge_key_is_not_unique() -> None:
    tcp: JSONObject = {"port": 53, "protocol": "TCP", "name": "a"}
    udp: JSONObject = {"port": 53, "protocol": "UDP", "name": "b"}
    keys = [("port",), ("port", "protocol")]
    new: list[JSON] = [{**udp, "name": "c"}, {**tcp, "name": "d"}]
    assert pair([tcp, udp], new, keys) == [udp, tcp]


def test_a_shared_element_is_paired_with_itself_at_any_index() -> None:
    first: JSONObject = {"n": 1}
    second: JSONObject = {"n": 2}
    assert pair([first, second], [second, {"n": 3}, first], []) == [
        second,
        second,
        first,
    ]


def test_equal_keys_of_different_json_types_are_different_keys() -> None:
    old: list[JSON] = [{"name": 1}, {"name": True}, {"name": 1.0}]
    found = pair(old, [{"name": True}, {"name": 1.0}, {"name": 1}], [("name",)])
    assert [repr(element) for element in found] == [
        "{'name': True}",
        "{'name': 1.0}",
        "{'name': 1}",
    ]


def test_what_a_rule_changes_is_copied_and_the_rest_is_shared() -> None:
    class Upper(Rule):
        leaves = True

        def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:
            del facts
            members = as_object(value)
            return {**members, "n": 0} if place.index == 1 else value

    class Items(Interest):
        def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:
            del keys
            return type_ if isinstance(type_, ObjectType) else None

    new: JSONObject = {"plain": [{"n": 1}, {"n": 2}], "labels": {"a": "b"}}
    result = Walk(Plan(Interests(Items("items"))), [Upper()]).run(
        ABSENT, new, LISTS.type
    )
    assert result == {"plain": [{"n": 1}, {"n": 0}], "labels": {"a": "b"}}
    assert new == {"plain": [{"n": 1}, {"n": 2}], "labels": {"a": "b"}}
    assert as_list(result["plain"])[0] is as_list(new["plain"])[0]
    assert result["labels"] is new["labels"]


def places_visited(job: Any) -> int:
    if COMPILED:
        pytest.skip("compiled code does not look a class up in its module")
    with mock.patch.object(walk, "Place", wraps=walk.Place) as made:
        job()
    return made.call_count


def deployment(containers: int, image: str, **labels: JSON) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {**labels}},
        "spec": {
            "replicas": 1,
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": f"c{at}",
                            "image": image if at == 0 else "i:1",
                            "env": [{"name": "A", "value": "b"}],
                            "resources": {"limits": {"cpu": "1"}},
                        }
                        for at in range(containers)
                    ],
                    "volumes": [{"name": "data", "emptyDir": {}}],
                }
            },
        },
    }


DEPLOYMENT = smp.kubernetes().schema("apps/v1", "Deployment")


def test_a_walk_visits_only_fields_that_lead_to_a_rule() -> None:
    labels: JSONObject = {f"l{at}": "x" for at in range(100)}
    small = deployment(1, "i:1")
    large = deployment(1, "i:1", **labels)

    def validate(obj: JSONObject) -> int:
        return places_visited(lambda: smp.validate_unions(None, obj, DEPLOYMENT))

    # the object, spec, template, its spec, containers, one container, env, one
    # variable, volumes, one volume
    assert validate(small) == 10
    assert validate(large) == 10


def test_an_apply_visits_only_what_it_changes() -> None:
    def visited(containers: int) -> int:
        live = deployment(containers, "i:1")
        modified = deployment(containers, "i:2")
        applied = deployment(containers, "i:1")
        return places_visited(
            lambda: smp.three_way_apply(applied, modified, live, DEPLOYMENT)
        )

    few = visited(10)
    # the object, spec, template, its spec, containers, the container
    assert few == 6
    assert visited(500) == few


def test_an_object_that_did_not_change_is_not_visited() -> None:
    live = deployment(5, "i:1")

    def job() -> None:
        assert smp.normalize_unions(live, live, DEPLOYMENT).object is live
        assert smp.validate_unions(live, live, DEPLOYMENT, ratchet=True) == ()

    assert places_visited(job) == 0
