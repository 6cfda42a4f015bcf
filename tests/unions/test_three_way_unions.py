"""Three-way apply clears mutually exclusive fields.

And it refuses patches whose keys fall outside ``$retainKeys``.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
import yaml

import smp
from smp._values.values import JSON, JSONObject, same
from smp.schema.catalog import Catalog
from tests.support.paths import DATA

KUBERNETES = smp.kubernetes()
TYPES = DATA / "cli" / "types.go"


def under(path: str, value: JSON) -> JSONObject:
    """Wrap a value into the objects of a path.

    ``name[key]`` is the element of that name in a list.
    """
    for step in reversed(path.split(".")):
        name, _, element = step.partition("[")
        if element:
            assert isinstance(value, dict)
            value = [{"name": element.removesuffix("]"), **value}]
        value = {name: value}
    assert isinstance(value, dict)
    return value


def at(obj: JSON, path: str) -> JSON:
    for step in path.split("."):
        name, _, element = step.partition("[")
        assert isinstance(obj, dict)
        obj = obj[name]
        if element:
            assert isinstance(obj, list)
            (found,) = [
                e
                for e in obj
                if isinstance(e, dict) and e["name"] == element.removesuffix("]")
            ]
            obj = {name: value for name, value in found.items() if name != "name"}
    return obj


ROLLING: JSON = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
PARTITION: JSON = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
CPU: JSON = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
QUEUE: JSON = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}


class Situation(NamedTuple):
    """The value at a path of an object: before an apply, and after it.

    ``last_applied`` is empty where the value was not applied: the server defaulted it,
    or another client set it.
    """

    kind: str
    path: str
    last_applied: JSON
    modified: JSON
    live: JSON
    expected: JSON


def situations() -> dict[str, Situation]:
    text = (DATA / "unions" / "three_way.yaml").read_text()
    return {name: Situation(**fields) for name, fields in yaml.safe_load(text).items()}


@pytest.mark.parametrize("name", situations())
def test_exclusive_fields_are_cleared(name: str) -> None:
    situation = situations()[name]
    schema = KUBERNETES.schema(*situation.kind.split())
    last_applied, modified, live = (
        under(situation.path, value)
        for value in (situation.last_applied, situation.modified, situation.live)
    )
    result = smp.three_way_apply(last_applied, modified, live, schema)
    assert same(at(result.object, situation.path), situation.expected)
    # The volumes of a Pod are immutable; those of a Deployment are not.
    assert {violation.code for violation in result.violations} <= {"field-immutable"}
    assert result.converged
    again = smp.three_way_apply(modified, modified, result.object, schema)
    assert same(again.object, result.object)


def test_the_source_of_a_metric_is_replaced_whole() -> None:
    # Metrics are an atomic list: nothing merges, and what is sent must be right by
    # itself.
    schema = KUBERNETES.schema("autoscaling/v2", "HorizontalPodAutoscaler")
    live = under("spec.metrics", [{"type": "Resource", "resource": CPU}])
    modified = under("spec.metrics", [{"type": "External", "external": QUEUE}])
    result = smp.three_way_apply(live, modified, live, schema)
    assert same(result.object, modified)
    assert result.violations == ()
    both = under(
        "spec.metrics", [{"type": "External", "external": QUEUE, "resource": CPU}]
    )
    with pytest.raises(smp.UnionError) as caught:
        smp.three_way_apply(live, both, live, schema)
    assert caught.value.code == "union-contradiction"
    assert str(caught.value.path) == "spec.metrics[0].resource"
    assert "must populate the given metric source only" in str(caught.value)


def test_without_normalization_the_member_stays_and_a_server_rejects_it() -> None:
    schema = KUBERNETES.schema("apps/v1", "StatefulSet")
    live, modified = (
        under("spec.updateStrategy", PARTITION),
        under("spec.updateStrategy", {"type": "OnDelete"}),
    )
    result = smp.three_way_apply({}, modified, live, schema, profile="validate-only")
    assert at(result.object, "spec.updateStrategy") == {
        "type": "OnDelete",
        "rollingUpdate": {"partition": 2},
    }
    assert [
        (violation.code, str(violation.path)) for violation in result.violations
    ] == [("member-forbidden", "spec.updateStrategy.rollingUpdate")]


def test_a_patch_outside_its_retained_keys_is_rejected() -> None:
    patch = under(
        "spec.strategy",
        {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
    )
    with pytest.raises(smp.PatchError) as caught:
        smp.apply_patch(
            under("spec.strategy", ROLLING),
            patch,
            KUBERNETES.schema("apps/v1", "Deployment"),
        )
    assert caught.value.code == "retain-keys-mismatch"
    assert str(caught.value.path) == "spec.strategy.rollingUpdate"


def test_a_configuration_that_contradicts_itself_is_refused() -> None:
    modified = under(
        "spec.strategy", {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
    )
    with pytest.raises(smp.UnionError) as caught:
        smp.three_way_apply(
            {}, modified, {}, KUBERNETES.schema("apps/v1", "Deployment")
        )
    assert caught.value.code == "union-contradiction"
    assert str(caught.value.path) == "spec.strategy.rollingUpdate"


CRD: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "tills.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Till", "plural": "tills"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "type": {
                                        "type": "string",
                                        "enum": ["Cash", "Card"],
                                        "x-kubernetes-unions": {
                                            "fieldMembers": {
                                                "Cash": None,
                                                "Card": {"name": "card"},
                                            }
                                        },
                                    },
                                    "card": {
                                        "type": "object",
                                        "properties": {"brand": {"type": "string"}},
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def test_a_custom_resource_with_a_discriminated_union() -> None:
    schema = Catalog.from_crd(CRD).schema("example.com/v1", "Till")
    live, modified = (
        under("spec", {"type": "Card", "card": {"brand": "x"}}),
        under("spec", {"type": "Cash"}),
    )
    result = smp.three_way_apply({}, modified, live, schema)
    assert result.object == modified
    assert [(str(change.path), change.rule) for change in result.changes] == [
        ("spec.card", "M3")
    ]
    unknown = smp.three_way_apply({}, under("spec", {"type": "Barter"}), live, schema)
    assert {
        (violation.code, str(violation.path)) for violation in unknown.violations
    } == {("unsupported-value", "spec.type")}


def test_a_type_generated_from_go() -> None:
    schema = Catalog.from_go([TYPES]).schema("shop.example.com/v1", "Shop")
    live = under("spec.payment", {"type": "Card", "card": {"brands": ["x"]}})
    modified = under("spec.payment", {"type": "Transfer", "transfer": {"account": "1"}})
    result = smp.three_way_apply({}, modified, live, schema)
    assert result.object == modified
    assert result.violations == ()
