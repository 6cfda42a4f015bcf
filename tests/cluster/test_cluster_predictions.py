"""What a run knows before it writes, and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from smp._values.values import JSONObject, as_object
from smp.cluster import Cluster
from smp.cluster.plan.options import Validation
from smp.custom_resources import _expressions
from smp.errors import ObjectError, SmpError
from smp.hazards import HazardError
from smp.managed_fields import ApplyConflictError
from smp.testing import KubernetesApi
from tests.support.server_definitions import COUNTED_SPEC, definition_of


def writes(api: KubernetesApi) -> list[str]:
    return [each.method for each in api.requests if each.method != "GET"]


def service(**targets: int) -> JSONObject:
    """Return a Service with port 53 for UDP and TCP: one patch merge key twice."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "dns"},
        "spec": {
            "selector": {"app": "dns"},
            "ports": [
                {
                    "name": protocol.lower(),
                    "port": 53,
                    "protocol": protocol,
                    "targetPort": targets.get(protocol.lower(), 53),
                }
                for protocol in ("UDP", "TCP")
            ],
        },
    }


CONFIG_MAP: JSONObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a"},
    "data": {"k": "1"},
}


def deployment(**strategy: Any) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "strategy": strategy,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "web:1"}]},
            },
        },
    }


def test_hazards_are_in_the_results(cluster: Cluster) -> None:
    for wanted, action in ((service(), "created"), (service(tcp=5353), "configured")):
        (result,) = cluster.apply(wanted).results
        assert result.action == action
        assert "ambiguous-key" in {hazard.code for hazard in result.hazards}
        (ignored,) = cluster.apply(wanted, hazards="ignore").results
        assert ignored.hazards == ()


def test_a_hazard_is_an_error_before_anything_is_written(
    cluster: Cluster, api: KubernetesApi
) -> None:
    cluster.apply(service())
    api.clear_requests()
    run = cluster.apply([CONFIG_MAP, service(tcp=5353)], hazards="error")
    assert run.stopped
    assert [result.action for result in run.results] == ["not-applied", "failed"]
    assert isinstance(run.results[1].error, HazardError)
    assert writes(api) == []


def test_a_hazard_of_a_new_object_is_an_error_as_well(
    cluster: Cluster, api: KubernetesApi
) -> None:
    api.clear_requests()
    assert cluster.apply([CONFIG_MAP, service()], hazards="error").stopped
    assert writes(api) == []


def test_a_repair_is_sent(cluster: Cluster) -> None:
    cluster.apply(service())
    (result,) = cluster.apply(service(tcp=5353), hazards="repair").results
    assert result.action == "configured"
    assert result.object is not None
    ports: Any = result.object["spec"]
    targets = {port["protocol"]: port["targetPort"] for port in ports["ports"]}
    assert targets == {"UDP": 53, "TCP": 5353}
    assert "repaired" in {warning.code for warning in result.warnings}


def test_without_a_repair_another_element_is_changed(cluster: Cluster) -> None:
    # So it is with kubectl (Go: strategicpatch.diffListsOfMaps): the first one with the
    # key is changed. A strict run says it before.
    cluster.apply(service())
    stopped = cluster.apply(service(tcp=5353), strict=True)
    assert stopped.stopped
    (result,) = cluster.apply(service(tcp=5353)).results
    ports: Any = (result.object or {})["spec"]
    targets = {port["protocol"]: port["targetPort"] for port in ports["ports"]}
    assert targets != {"UDP": 53, "TCP": 5353}


def test_a_strict_run_knows_what_the_server_would_refuse(
    cluster: Cluster, api: KubernetesApi
) -> None:
    refused = deployment(type="Recreate", rollingUpdate={"maxSurge": 1})
    api.clear_requests()
    run = cluster.apply([CONFIG_MAP, refused], strict=True)
    assert run.stopped
    assert "rollingUpdate" in str(run.results[1].error)
    assert writes(api) == []


def test_a_client_dry_run_fails_where_the_server_cannot_decode(
    cluster: Cluster, api: KubernetesApi
) -> None:
    """Seen of a kube-apiserver 1.36.3, to which the same objects were sent."""
    right = deployment(type="Recreate")
    rows: tuple[tuple[JSONObject, Validation, str], ...] = (
        ({"replicas": "2"}, "ignore", "wrong-type"),
        ({"bogus": 1}, "strict", "strict-decoding"),
        ({"bogus": 1}, "ignore", ""),
        ({"bogus": 1}, "warn", ""),
        ({"replicas": 2}, "strict", ""),
    )
    failures: list[object] = []
    # A creation, and an update.
    for _ in range(2):
        api.clear_requests()
        for members, validate, code in rows:
            spec: JSONObject = {**as_object(right["spec"]), **members}
            obj: JSONObject = {**right, "spec": spec}
            run = cluster.apply(obj, dry_run="client", validate=validate)
            error = run.results[0].error
            told = [each.message for each in run.results[0].warnings]
            warns = 'unknown field "spec.bogus"' in told
            if (error.code if error else "") != code or warns != (validate == "warn"):
                failures.append((members, validate, error, told))
        assert writes(api) == []
        cluster.apply(right)
    assert not failures


def test_a_boolean_is_no_name(cluster: Cluster) -> None:
    obj: JSONObject = {**CONFIG_MAP, "metadata": {"name": False}}
    (result,) = cluster.apply(obj).results
    assert result.error
    assert result.error.code == "not-a-string"
    assert "quote them" in result.error.hint


def test_a_strict_run_knows_the_conflicts_of_a_server_side_apply(
    cluster: Cluster, api: KubernetesApi
) -> None:
    cluster.apply(CONFIG_MAP, server_side=True, field_manager="other")
    changed = {**CONFIG_MAP, "data": {"k": "2"}}
    api.clear_requests()
    run = cluster.apply(changed, server_side=True, strict=True)
    assert run.stopped
    assert isinstance(run.results[0].error, ApplyConflictError)
    assert writes(api) == []
    forced = cluster.apply(changed, server_side=True, strict=True, force_conflicts=True)
    assert forced.results[0].action == "configured"


def test_a_patch_that_is_predicted_is_not_computed_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smp.cluster.plan import client_side, prediction  # noqa: PLC0415  # to be counted

    calls = []

    def counted(*arguments: Any, **keywords: Any) -> Any:
        calls.append(arguments)
        return computed(*arguments, **keywords)

    cluster.apply([CONFIG_MAP, service()])
    computed = client_side.compute
    monkeypatch.setattr(client_side, "compute", counted)
    monkeypatch.setattr(prediction, "compute", counted)
    changed = {**CONFIG_MAP, "data": {"k": "2"}}
    run = cluster.apply([changed, service()])
    assert [result.action for result in run.results] == ["configured", "unchanged"]
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # What would write where no write is wanted.
        ("dry_run", True),
        ("dry_run", "Server"),
        ("strict", "no"),
        ("order", "name"),
        ("hazards", "no"),
        ("validate", False),
        ("unions", ""),
        ("cascade", "background"),
        ("force", 1),
        ("wait", "1"),
        ("wait", True),
        ("grace_period", 1.5),
        ("applyset", 5),
        ("prune", {"app": "web"}),
        ("prune_allowlist", "Deployment"),
        ("field_manager", b"me"),
    ],
)
def test_another_value_of_an_option_is_an_error(
    api: KubernetesApi, cluster: Cluster, name: str, value: object
) -> None:
    options: dict[str, Any] = {name: value}
    before = len(api.requests)
    with pytest.raises(SmpError, match=f"^the option {name} is ") as caught:
        cluster.apply(service(udp=1), **options)
    assert caught.value.code == "invalid-option"
    assert len(api.requests) == before


def test_none_is_no_applyset_and_no_prune(cluster: Cluster) -> None:
    run = cluster.apply(service(udp=1), applyset=None, prune=None)
    assert [result.action for result in run.results] == ["created"]


@pytest.mark.parametrize("options", [{"prune": "app=web"}, {"applyset": "app"}])
def test_nothing_is_pruned_by_a_run_without_objects(
    cluster: Cluster, options: Any
) -> None:
    # As a list of files that turns out to be empty.
    with pytest.raises(ObjectError, match="no objects passed to apply"):
        cluster.apply([], **options)
    with pytest.raises(ObjectError, match="no objects passed to apply"):
        cluster.diff([], **options)
    assert cluster.apply([]).results == ()


def order(name: str, count: int) -> JSONObject:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Order",
        "metadata": {"name": name},
        "spec": {"count": count},
    }


def definition() -> JSONObject:
    return definition_of("Order", {"v1": COUNTED_SPEC})


def test_a_dry_run_knows_what_the_definition_of_the_cluster_refuses(
    cluster: Cluster, api: KubernetesApi
) -> None:
    cluster.apply([definition(), order("a", 1)])
    wanted = [order("a", 7), order("b", 10), order("c", 7), order("d", 2)]
    api.clear_requests()
    run = cluster.apply(wanted, dry_run="client")
    errors = [str(result.error or "") for result in run.results]
    assert ["seven" in error for error in errors] == [True, False, True, False]
    assert "less than or equal to 9" in errors[1]
    assert not errors[3]
    # The definition is read once.
    reads = [each.path for each in api.requests if "customresourced" in each.path]
    assert len(reads) == 1
    # So it is with the server.
    asked = cluster.apply(wanted, dry_run="server")
    refused = [result.error is not None for result in asked.results]
    assert refused == [True, True, True, False]
    assert cluster.apply(wanted, strict=True).stopped
    assert writes(api) == ["PATCH", "POST", "POST", "POST"]


def test_rules_that_cannot_be_checked_are_told_once_and_stop_a_strict_run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.apply(definition())
    monkeypatch.setattr(_expressions, "cel", None)
    wanted = [order("a", 1), order("b", 2)]
    run = cluster.apply(wanted, dry_run="client")
    assert [result.error for result in run.results] == [None, None]
    told = [
        warning.message
        for result in run.results
        for warning in result.warnings
        if warning.code == "unchecked-rule"
    ]
    [text] = told
    assert text.startswith("example.com/v1 Order: 1 rule was not checked: pip install ")
    strict = cluster.apply(wanted, strict=True)
    assert strict.stopped
    assert "1 rule was not checked" in str(strict.results[0].error)
