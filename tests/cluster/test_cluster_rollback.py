"""What a run changed is undone, or nothing is."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from smp._values.values import JSONObject
from smp.cluster import Cluster, Run
from smp.cluster.drive import run as drive
from smp.cluster.plan.exchange import BrokenConnection, PlannedRequest, Response
from smp.cluster.plan.rollback import rollback
from smp.testing import KubernetesApi

_COUNTED = {"resourceVersion", "generation", "uid", "creationTimestamp", "time"}
PATH = "/api/v1/namespaces/default/configmaps/a"


def config_map(name: str = "a", **data: str) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "data": {**data},
    }


def deployment(image: str, **env: str) -> JSONObject:
    variables: list[Any] = [{"name": name, "value": env[name]} for name in env]
    container: JSONObject = {"name": "app", "image": image, "env": variables}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container]},
            },
        },
    }


def comparable(value: Any) -> Any:
    """Leave out what a server counts; managed fields are ordered by their times."""
    if isinstance(value, dict):
        return {
            name: comparable(member)
            for name, member in value.items()
            if name not in _COUNTED
        }
    if isinstance(value, list):
        found = [comparable(element) for element in value]
        return sorted(found, key=repr) if "fieldsV1" in repr(found[:1]) else found
    return value


def patched(api: KubernetesApi, path: str, body: Any, manager: str = "others") -> None:
    answer = api.client("httpx").patch(
        path,
        params={"fieldManager": manager},
        content=json.dumps(body),
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert answer.status_code == httpx.codes.OK


def actions(run: Run) -> list[str]:
    return [result.action for result in run.results]


def writes(api: KubernetesApi) -> list[str]:
    return [each.method for each in api.requests if each.method != "GET"]


@pytest.mark.parametrize("server_side", [False, True])
def test_everything_is_as_it_was(cluster: Cluster, server_side: bool) -> None:
    first = [deployment("web:1", A="1", B="2"), config_map(k="1")]
    cluster.apply(first, server_side=server_side)
    before = [comparable(cluster.get(obj)) for obj in first]
    second = [deployment("web:2", B="3", C="4"), config_map("new"), config_map(l="2")]
    run = cluster.apply(second, server_side=server_side)
    assert not run.errors
    assert [step.undo for step in run.rollback_plan()] == [
        "restore",
        "delete",
        "restore",
    ]
    undone = cluster.rollback(run)
    assert actions(undone) == ["configured", "deleted", "configured"]
    assert [comparable(cluster.get(obj)) for obj in first] == before
    assert cluster.get(config_map("new")) is None


@pytest.mark.parametrize("is_force", [False, True])
def test_a_value_that_a_run_changed_has_its_managers_again(
    cluster: Cluster, api: KubernetesApi, is_force: bool
) -> None:
    first = [deployment("web:1", A="1"), config_map(k="1")]
    cluster.apply(first, server_side=True)
    if is_force:
        # The run takes over what others own by then.
        patched(api, PATH, {"data": {"k": "2"}})
    patched(api, PATH, {"data": {"theirs": "x"}})
    before = [comparable(cluster.get(obj)) for obj in first]
    second = [deployment("web:2", A="2"), config_map(k="3")]
    run = cluster.apply(second, server_side=True, force_conflicts=is_force)
    assert not run.errors
    patched(api, PATH, {"metadata": {"labels": {"later": "x"}}}, manager="later")
    cluster.rollback(run).raise_for_errors()
    later: Any = cluster.get(config_map())
    assert [each["manager"] for each in later["metadata"]["managedFields"]].count(
        "later"
    ) == 1
    patched(api, PATH, {"metadata": {"labels": {"later": None}}}, manager="later")
    assert [comparable(cluster.get(obj)) for obj in first] == before
    # So the next apply removes what it no longer has.
    cluster.apply(config_map(), server_side=True).raise_for_errors()
    live: Any = cluster.get(config_map())
    assert ("k" in live["data"]) is is_force


def test_what_was_migrated_to_server_side_apply_is_as_it_was(cluster: Cluster) -> None:
    cluster.apply(config_map(k="1"))
    before = comparable(cluster.get(config_map()))
    run = cluster.apply(config_map(k="1"), server_side=True)
    assert not run.errors
    cluster.rollback(run).raise_for_errors()
    assert comparable(cluster.get(config_map())) == before


def test_what_was_pruned_is_created_again(cluster: Cluster) -> None:
    allowed = (("v1", "ConfigMap"),)
    both = [config_map("a", k="1"), config_map("b", k="2")]
    cluster.apply(both, prune="app=web", prune_allowlist=allowed)
    before = comparable(cluster.get(both[1]))
    run = cluster.apply(both[0], prune="app=web", prune_allowlist=allowed)
    assert actions(run) == ["unchanged", "pruned"]
    assert actions(cluster.rollback(run)) == ["created"]
    assert comparable(cluster.get(both[1])) == before


def test_an_applyset_names_what_it_named(cluster: Cluster) -> None:
    both = [config_map(k="1"), deployment("web:1")]
    cluster.apply(both, applyset="set").raise_for_errors()
    run = cluster.apply(both[0], applyset="set")
    assert actions(run) == ["unchanged", "pruned"]
    cluster.rollback(run).raise_for_errors()
    state = cluster.verify_applyset("set")
    assert state.problems == ()
    assert ("apps", "Deployment") in state.scope.kinds


def test_a_job_is_created_without_the_selector_of_its_former_uid(
    cluster: Cluster,
) -> None:
    template: JSONObject = {
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "app", "image": "web:1"}],
        }
    }
    job: JSONObject = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "labels": {"app": "web"}},
        "spec": {"template": template},
    }
    allowed = (("v1", "ConfigMap"), ("batch/v1", "Job"))
    cluster.apply([job, config_map(k="1")], prune="app=web", prune_allowlist=allowed)
    run = cluster.apply(config_map(k="1"), prune="app=web", prune_allowlist=allowed)
    assert actions(run) == ["unchanged", "pruned"]
    (step,) = run.rollback_plan()
    body = json.loads(step.request.body)
    assert "selector" not in body["spec"]
    assert body["spec"]["template"]["metadata"]["labels"] == {}
    assert actions(cluster.rollback(run)) == ["created"]


def test_a_forced_replacement_is_replaced_again(cluster: Cluster) -> None:
    first, second = config_map(k="1"), config_map(k="2")
    first["immutable"] = second["immutable"] = True
    cluster.apply(first)
    run = cluster.apply(second, force=True)
    assert actions(run) == ["configured"]
    assert [step.undo for step in run.rollback_plan()] == ["replace"]
    cluster.rollback(run).raise_for_errors()
    live = cluster.get(config_map())
    assert live is not None
    assert live["data"] == {"k": "1"}


def test_an_object_that_is_twice_in_a_run_is_what_it_was_at_first(
    cluster: Cluster,
) -> None:
    run = cluster.apply([config_map(k="1"), config_map(k="2")])
    assert actions(run) == ["created", "configured"]
    assert actions(cluster.rollback(run)) == ["deleted"]
    cluster.apply(config_map(k="0"))
    run = cluster.apply([config_map(k="1"), config_map(k="2")])
    cluster.rollback(run).raise_for_errors()
    live = cluster.get(config_map())
    assert live is not None
    assert live["data"] == {"k": "0"}


def test_what_others_changed_elsewhere_stays(
    cluster: Cluster, api: KubernetesApi
) -> None:
    cluster.apply(config_map(k="1"))
    run = cluster.apply(config_map(k="2"))
    patched(api, PATH, {"data": {"other": "x"}})
    cluster.rollback(run).raise_for_errors()
    live: Any = cluster.get(config_map())
    assert live["data"] == {"k": "1", "other": "x"}
    managers = {entry["manager"] for entry in live["metadata"]["managedFields"]}
    assert managers == {"kubectl-client-side-apply", "others"}


def test_where_others_changed_the_same_nothing_is_written(
    cluster: Cluster, api: KubernetesApi
) -> None:
    cluster.apply([config_map(k="1"), config_map("b", k="1")])
    run = cluster.apply([config_map(k="2"), config_map("b", k="2")])
    patched(api, PATH, {"data": {"k": "9"}})
    api.clear_requests()
    undone = cluster.rollback(run)
    assert undone.stopped
    assert actions(undone) == ["not-applied", "failed"]
    assert 'configmaps "a" cannot be restored: others have changed it since' in str(
        undone.results[1].error
    )
    assert writes(api) == []


def test_an_object_of_the_same_name_is_not_deleted(cluster: Cluster) -> None:
    run = cluster.apply(config_map(k="1"))
    cluster.delete(config_map())
    assert actions(cluster.rollback(run)) == ["unchanged"]
    cluster.apply(config_map(k="2"))
    undone = cluster.rollback(run)
    assert undone.stopped
    assert "another one was created" in str(undone.results[0].error)


def test_what_was_deleted_or_created_since_cannot_be_restored(
    cluster: Cluster,
) -> None:
    allowed = (("v1", "ConfigMap"),)
    cluster.apply([config_map(k="1"), config_map("b")])
    changed = cluster.apply(config_map(k="2"), prune="app=web", prune_allowlist=allowed)
    cluster.delete(config_map())
    cluster.apply(config_map("b"))
    undone = cluster.rollback(changed)
    assert undone.stopped
    texts = [str(result.error) for result in undone.results]
    assert "it exists again" in texts[0]
    assert "it was deleted since" in texts[1]


def test_a_dry_run_has_nothing_to_undo(cluster: Cluster) -> None:
    assert cluster.apply(config_map(), dry_run="server").rollback_plan() == ()
    assert cluster.rollback(cluster.apply(config_map(), dry_run="server")).results == ()


class Faulty:
    """A transport on which one request, of those that write, goes wrong."""

    def __init__(self, cluster: Cluster, number: int, fault: str) -> None:
        self._send = cluster._transport  # noqa: SLF001  # faults are below the cluster
        self._left = number
        self._fault = fault

    def __call__(self, request: PlannedRequest) -> Response | BrokenConnection:
        if request.method != "GET":
            self._left -= 1
            if self._left == 0:
                if self._fault == "conflict":
                    status = b'{"kind":"Status","reason":"Conflict","message":"late"}'
                    return Response(409, (), status)
                if self._fault == "lost":
                    self._send(request)
                return BrokenConnection("cut")
        return self._send(request)


@pytest.mark.parametrize("fault", ["conflict", "lost", "cut"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_rollback_that_is_cut_goes_on_and_can_be_tried_again(
    cluster: Cluster, number: int, fault: str
) -> None:
    cluster.apply([config_map("a", k="1"), config_map("b", k="1")])
    run = cluster.apply(
        [config_map("a", k="2"), config_map("b", k="2"), config_map("c")]
    )
    transport = Faulty(cluster, number, fault)
    undone = drive(rollback(run), transport, sleep=lambda _seconds: None)
    assert sorted(actions(undone)).count("failed") == 1
    again = cluster.rollback(run)
    if fault == "lost" and number > 1:
        # It was put back: there is nothing to change any more.
        assert not again.errors
    again.raise_for_errors()
    for name in ("a", "b"):
        live = cluster.get(config_map(name))
        assert live is not None
        assert live["data"] == {"k": "1"}
    assert cluster.get(config_map("c")) is None


@pytest.mark.parametrize("was_done", [True, False])
def test_a_write_whose_answer_was_lost_is_looked_at(
    cluster: Cluster, was_done: bool
) -> None:
    cluster.apply(config_map(k="1"))
    transport = Faulty(cluster, 1, "lost" if was_done else "cut")
    plan = cluster._apply(config_map(k="2"), {})  # noqa: SLF001  # with a fault
    run = drive(plan, transport)
    assert actions(run) == ["failed"]
    assert [step.undo for step in run.rollback_plan()] == ["look"]
    undone = cluster.rollback(run)
    assert undone.stopped is was_done
    if was_done:
        assert "the answer to its request was lost" in str(undone.results[0].error)
    else:
        assert actions(undone) == ["unchanged"]
