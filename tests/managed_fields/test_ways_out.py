"""The ways out of a conflict: to give a field up, to share it, and to take it."""

from __future__ import annotations

from typing import Any

import pytest

import smp
from smp._values.values import JSONObject, as_object, same
from smp.managed_fields import (
    ApplyConflictError,
    WayOut,
    give_up,
    track,
    ways_out,
)
from smp.paths import KeyedElement, Path
from smp.schema.model import Schema

DEPLOYMENT = smp.kubernetes().schema("apps/v1", "Deployment")
SERVICE = smp.kubernetes().schema("v1", "Service")
REPLICAS = Path(("spec", "replicas"))
IMAGE = Path(
    (
        "spec",
        "template",
        "spec",
        "containers",
        KeyedElement((("name", "app"),)),
        "image",
    )
)


def deployment(replicas: int | None, image: str = "web:1") -> JSONObject:
    labels: JSONObject = {"app": "web"}
    spec: JSONObject = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "app", "image": image}]},
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


def scaled() -> JSONObject:
    """Return what helm has applied, and an autoscaler has scaled."""
    live = smp.server_side_apply(None, deployment(2), DEPLOYMENT, manager="helm").object
    wanted = {**live, "spec": {**live["spec"], "replicas": 5}}
    return track(
        live, wanted, DEPLOYMENT, manager="kubectl-autoscale", subresource="scale"
    )


def conflicts_of(
    live: JSONObject, applied: JSONObject, schema: Schema, manager: str = "helm"
) -> dict[tuple[str, str], WayOut]:
    with pytest.raises(ApplyConflictError) as raised:
        smp.server_side_apply(live, applied, schema, manager=manager)
    found = ways_out(live, applied, schema, raised.value.conflicts, manager=manager)
    return {(str(way.path), way.escape): way for way in found}


def names(way: WayOut) -> list[str]:
    return [owner.manager for owner in way.owners]


def test_the_replicas_of_an_autoscaler() -> None:
    # Kubernetes documentation, Server-Side Apply, Transferring ownership.
    ways = conflicts_of(scaled(), deployment(3), DEPLOYMENT)
    assert [escape for _, escape in ways] == ["give up", "share", "take"]
    given = ways["spec.replicas", "give up"]
    assert same(given.configuration, deployment(None))
    assert (given.value, names(given), given.force) == (5, ["kubectl-autoscale"], False)
    shared = ways["spec.replicas", "share"]
    assert same(shared.configuration, deployment(5))
    assert (shared.value, names(shared)) == (5, ["helm", "kubectl-autoscale"])
    taken = ways["spec.replicas", "take"]
    assert same(taken.configuration, deployment(3))
    assert (taken.value, names(taken), taken.force) == (3, ["helm"], True)


def test_of_several_conflicts_each_has_its_ways() -> None:
    live = scaled()
    live = smp.server_side_apply(
        live, deployment(None, "web:2"), DEPLOYMENT, manager="ci", force=True
    ).object
    ways = conflicts_of(live, deployment(3, "web:3"), DEPLOYMENT)
    assert {path for path, _ in ways} == {str(REPLICAS), str(IMAGE)}
    taken = ways[str(IMAGE), "take"]
    assert (taken.value, taken.object["spec"]["replicas"]) == ("web:3", 5)
    shared = ways[str(IMAGE), "share"]
    assert same(shared.configuration, deployment(None, "web:2"))


def test_an_element_is_found_by_the_defaults_of_its_keys() -> None:
    # The key of a port is its protocol as well, TCP by default.
    def service(target: int) -> JSONObject:
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"ports": [{"port": 80, "targetPort": target}]},
        }

    live = smp.server_side_apply(None, service(1), SERVICE, manager="one").object
    ways = conflicts_of(live, service(2), SERVICE, manager="two")
    path = "spec.ports[port=80,protocol=TCP].targetPort"
    assert ways[path, "share"].value == 1
    left: Any = ways[path, "give up"].configuration
    assert left["spec"] == {"ports": [{"port": 80}]}
    taken: Any = ways[path, "take"].object
    assert [port["targetPort"] for port in taken["spec"]["ports"]] == [2]


def test_what_nobody_else_owns_goes_where_it_is_given_up() -> None:
    applied = deployment(2)
    left = give_up(applied, DEPLOYMENT, [REPLICAS, Path(("metadata", "labels"))])
    assert same(left, deployment(None))
    live = smp.server_side_apply(None, applied, DEPLOYMENT, manager="helm").object
    after = smp.server_side_apply(live, left, DEPLOYMENT, manager="helm").object
    # A server fills in its default again.
    assert as_object(after["spec"])["replicas"] == 1


def test_what_is_emptied_goes_with_the_field() -> None:
    applied = deployment(2)
    applied["metadata"] = {"name": "web", "labels": {"a": "b"}}
    left = give_up(applied, DEPLOYMENT, [Path(("metadata", "labels", "a"))])
    assert as_object(left["metadata"]) == {"name": "web"}
