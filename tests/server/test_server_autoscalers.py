"""HorizontalPodAutoscalers in both versions, as a real kube-apiserver converts them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from smp._storage.typed_storage import convert
from tests.record.autoscalers import ANSWERS
from tests.support.server_app import MERGE, Served, serving

RECORDED: Final = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
OLD: Final = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
NEW: Final = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
SPEC: Final = {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "minReplicas": 2,
    "maxReplicas": 5,
}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def to_v1(obj: Any) -> Any:
    return convert(obj, "HorizontalPodAutoscaler", "autoscaling/v1")


def to_v2(obj: Any) -> Any:
    return convert(obj, "HorizontalPodAutoscaler", "autoscaling/v2")


def comparable(obj: Any) -> Any:
    """Decode the annotations of the conversion, and leave out what Go adds to them.

    Go encodes the fields of its types that have no value, as null, "0" and the like.
    """
    copy = json.loads(json.dumps(obj))
    annotations = copy["metadata"].get("annotations", {})
    for name, value in annotations.items():
        if name.startswith("autoscaling.alpha.kubernetes.io/"):
            annotations[name] = valued(json.loads(value))
    return valued(copy)


def valued(value: Any) -> Any:
    if isinstance(value, list):
        return [valued(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        name: valued(member)
        for name, member in value.items()
        if member not in (None, "", "0")
        and (member != 0 or name not in ("currentReplicas", "desiredReplicas"))
    }


@pytest.mark.parametrize(("old", "new"), RECORDED)
def test_conversions_are_those_of_an_api_server(old: Any, new: Any) -> None:
    assert comparable(to_v1(new)) == comparable(old)
    assert comparable(to_v2(old)) == comparable(new)


@pytest.mark.parametrize(("old", "new"), RECORDED)
def test_nothing_is_lost_on_the_way_there_and_back(old: Any, new: Any) -> None:
    assert valued(to_v2(to_v1(new))) == valued(new)
    assert comparable(to_v1(to_v2(old))) == comparable(old)


def test_an_object_is_one_in_both_versions(server: Served) -> None:
    obj = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {**SPEC, "targetCPUUtilizationPercentage": 70},
    }
    created = server.call("POST", OLD, obj)
    assert created.status_code == 201
    assert created.json()["spec"]["targetCPUUtilizationPercentage"] == 70
    new = server.call("GET", f"{NEW}/a").json()
    assert new["apiVersion"] == "autoscaling/v2"
    assert new["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 70},
            },
        }
    ]
    # A write in one version is read in the other.
    body: Any = {"spec": {"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}}}
    patched = server.call("PATCH", f"{NEW}/a", body, content_type=MERGE)
    assert patched.status_code == 200
    body = {"spec": {"targetCPUUtilizationPercentage": 80}}
    patched = server.call("PATCH", f"{OLD}/a", body, content_type=MERGE)
    assert patched.json()["metadata"]["uid"] == new["metadata"]["uid"]
    spec = server.call("GET", f"{NEW}/a").json()["spec"]
    assert spec["behavior"]["scaleDown"]["selectPolicy"] == "Disabled"
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    (listed,) = server.call("GET", OLD).json()["items"]
    # The items of a list have no apiVersion and kind.
    found = server.call("GET", f"{OLD}/a").json()
    assert listed == {name: found[name] for name in ("metadata", "spec", "status")}
    dry = server.call("PATCH", f"{OLD}/a?dryRun=All", body, content_type=MERGE)
    assert dry.json()["apiVersion"] == "autoscaling/v1"
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    rows = [
        server.call("GET", path, accept=table).json()["rows"][0]["cells"]
        for path in (OLD, NEW)
    ]
    # All but the last one, the age.
    assert rows[0][:-1] == rows[1][:-1]
    assert "cpu: <unknown>/80%" in rows[0]
