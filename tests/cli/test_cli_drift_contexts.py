"""``smp drift`` of the clusters of many contexts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smp._values.values import JSONObject
from smp.cli._options import Schemas
from smp.cluster import Cluster, drive
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import PlannedRequest, Response
from smp.cluster.plan.listing import listed
from smp.documents import dump_yaml
from smp.errors import DocumentError, SmpError
from smp.schema.catalog import Catalog
from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.support.command import Ran, run
from tests.support.server_definitions import definition_of

# Nothing listens on this port.
NOWHERE = "http://127.0.0.1:9"


def config_map(name: str, value: str = "1", **metadata: Any) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": {"key": value},
    }


def write_contexts(**contexts: tuple[str, str]) -> None:
    """Write a configuration of kubectl: server and token of each context."""
    named = [name.replace("_", "-") for name in contexts]
    clusters = [{"server": server} for server, _ in contexts.values()]
    users = [{"token": token} for _, token in contexts.values()]
    configuration = {
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name}} for name in named
        ],
        "clusters": [
            {"name": name, "cluster": cluster}
            for name, cluster in zip(named, clusters, strict=True)
        ],
        "users": [
            {"name": name, "user": user}
            for name, user in zip(named, users, strict=True)
        ],
        "current-context": named[0],
    }
    Path("kubeconfig").write_text(json.dumps(configuration))


def drift(*arguments: str) -> Ran:
    return run("drift", "-f", "want", "--jobs", "1", *arguments)


def rows_of(ran: Ran) -> tuple[dict[tuple[str, str], str], dict[str, bool]]:
    """Return the verdicts of objects, and which clusters are complete."""
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    found = {
        (row["cluster"], row["name"]): row["verdict"]
        for row in rows
        if "verdict" in row and row["name"] != "kube-root-ca.crt"
    }
    complete = {row["cluster"]: row["complete"] for row in rows if "complete" in row}
    return found, complete


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    Path("want/cluster=prod-2").mkdir(parents=True)


@pytest.mark.slow
def test_each_context_is_a_cluster_and_one_that_fails_is_a_row() -> None:
    odd: JSONObject = {
        "apiVersion": "x.io/v1",
        "kind": "Odd",
        "metadata": {"name": "odd", "namespace": "default"},
    }
    Path("want/all.yaml").write_text(dump_yaml([config_map("a"), config_map("b")]))
    # One of a single cluster, and one of a kind that it does not have.
    Path("want/cluster=prod-2/own.yaml").write_text(dump_yaml([config_map("own"), odd]))
    with KubernetesApi(Settings(token="right")) as api:
        write_contexts(
            prod_1=(api.url, "right"),
            prod_2=(api.url, "right"),
            prod_locked=(api.url, "wrong"),
            prod_dead=(NOWHERE, "right"),
            test_1=(api.url, "right"),
        )
        there = [config_map("a"), config_map("b", "2"), config_map("extra")]
        made = config_map("made")
        made["metadata"] = {
            **config_map("made")["metadata"],  # type: ignore[dict-item]
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "a",
                    "uid": "1",
                    "controller": True,
                }
            ],
        }
        Cluster.connect("prod-1").apply([*there, made]).raise_for_errors()
        ran = drift("--contexts", "prod-*", "--format", "ndjson", "--all", "--extra")
        two = drift(
            *("--live", "cluster:prod-1", "--live", "cluster:test-1"),
            *("--format", "ndjson", "--all"),
        )
    found, complete = rows_of(ran)
    assert found == {
        ("prod-1", "a"): "same",
        ("prod-1", "b"): "drift",
        ("prod-1", "extra"): "extra",
        ("prod-2", "a"): "same",
        ("prod-2", "b"): "drift",
        ("prod-2", "extra"): "extra",
        ("prod-2", "own"): "missing",
        ("prod-2", "odd"): "unreadable",
        **{
            (cluster, name): "unreadable"
            for cluster in ("prod-locked", "prod-dead")
            for name in "ab"
        },
    }
    assert complete == {
        "prod-1": True,
        "prod-2": False,
        "prod-locked": False,
        "prod-dead": False,
    }
    assert ran.exit_code == 3
    for name in ("prod-locked", "prod-dead"):
        assert f"context {name}" in ran.stderr
    found, complete = rows_of(two)
    # Nothing was asked of a cluster that is not among them.
    assert {cluster for cluster, _ in found} == {"prod-1", "prod-2", "test-1"}
    assert complete == {"prod-1": True, "prod-2": False, "test-1": True}
    assert found["prod-2", "own"] == "unreadable"


@pytest.mark.slow
def test_each_cluster_judges_by_its_own_definitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The options of a connection are for each context, too."""
    made: list[int] = []
    with_definitions = Schemas.catalog_with

    def counted(schemas: Schemas, definitions: list[JSONObject]) -> Catalog:
        made.append(len(definitions))
        return with_definitions(schemas, definitions)

    def forbidden(
        _cluster: Cluster, kinds: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], SmpError]:
        return {kind: SmpError("no role") for kind in kinds}

    monkeypatch.setattr(Schemas, "catalog_with", counted)

    def order(count: int) -> JSONObject:
        return {
            "apiVersion": "example.com/v1",
            "kind": "Order",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"count": count},
        }

    Path("want/all.yaml").write_text(dump_yaml([order(10)]))
    most = {"eu": 9, "us": 20, "ap": 9}
    with ExitStack() as stack:
        apis = {name: stack.enter_context(KubernetesApi()) for name in most}
        write_contexts(**{name: (api.url, "") for name, api in apis.items()})
        for name, maximum in most.items():
            spec: JSONObject = {"type": "integer", "maximum": maximum}
            defined = definition_of(
                "Order", {"v1": {"type": "object", "properties": {"count": spec}}}
            )
            cluster = Cluster.connect(name)
            cluster.apply([defined]).raise_for_errors()
            cluster.apply([order(1)]).raise_for_errors()
        Path("kubeconfig").rename("other")
        options = ("--kubeconfig", "other", "--format", "ndjson", "--state", "state.db")
        ran = [drift("--contexts", "*", *options) for _ in range(2)]
        # What a cluster says now counts, and not what a state has.
        spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        defined = definition_of("Order", {"v1": spec})
        Cluster.connect("eu", kubeconfig="other").apply([defined]).raise_for_errors()
        ran.append(drift("--contexts", "*", *options))
        # Two clusters of three have the same definition, and then none.
        assert made == [1] * 7
        monkeypatch.setattr(Cluster, "definitions", forbidden)
        told = drift("--contexts", "*", *options).stderr.splitlines()
    unread = "example.com/v1 Order: its definition cannot be read: no role"
    expected = [f"smp: warning: context {name}: {unread}" for name in sorted(most)]
    assert [line for line in told if "its definition" in line] == expected
    refused = [
        {
            row["cluster"]: "less than or equal to 9" in str(row.get("refusals"))
            for row in map(json.loads, each.stdout.splitlines())
            if "verdict" in row
        }
        for each in ran
    ]
    first = {"eu": True, "us": False, "ap": True}
    assert refused == [first, first, {**first, "eu": False}]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--contexts", "stage-*"), "no context is called 'stage-*'"),
        (("--live", "cluster:a", "--live", "b.json"), "cluster:CONTEXT"),
        (("--live", "cluster", "--live", "cluster:a"), "cluster:CONTEXT"),
        (("--live", "cluster:a", "--live", "cluster:b"), "no context 'b'"),
        (("--contexts", "*", "--server", NOWHERE), "are of one cluster"),
        (("--contexts", "*", "--context", "a"), "are of one cluster"),
    ],
)
def test_contexts_that_are_not_there_are_said(
    options: tuple[str, ...], problem: str
) -> None:
    write_contexts(a=(NOWHERE, ""))
    Path("want/all.yaml").write_text(dump_yaml([config_map("a")]))
    ran = drift(*options)
    assert problem in ran.stderr
    assert ran.exit_code in {2, 3}


def test_a_page_that_is_too_old_is_followed_by_the_rest() -> None:
    """As etcd compacts while a list is read (API concepts, 410 Gone responses)."""
    asked: list[str] = []

    def answer(request: PlannedRequest) -> Response:
        query = dict(request.query)
        asked.append(query.get("continue", ""))
        kind: JSONObject = {"apiVersion": "v1", "kind": "ConfigMapList"}
        if not asked[-1]:
            page = {**kind, "metadata": {"continue": "old"}, "items": [{"n": 1}]}
            return Response(200, (), json.dumps(page).encode())
        if asked[-1] == "old":
            status = {
                "kind": "Status",
                "reason": "Expired",
                "code": 410,
                "metadata": {"continue": "now"},
            }
            return Response(410, (), json.dumps(status).encode())
        return Response(200, (), json.dumps({**kind, "items": [{"n": 2}]}).encode())

    resource = DiscoveredResource("", "v1", "ConfigMap", "configmaps", namespaced=True)
    found = drive.run(listed(resource, "default", ""), answer, parallel=1)
    assert [each["n"] for each in found] == [1, 2]
    assert asked == ["", "old", "now"]


def send_back(answer: Response, _request: PlannedRequest) -> Response:
    return answer


def test_an_answer_that_is_no_list_is_not_an_empty_one() -> None:
    """As of a proxy that answers for a server; Go prints no items as null."""
    resource = DiscoveredResource("", "v1", "ConfigMap", "configmaps", namespaced=True)
    failures: list[str] = []
    for text, is_list in (
        ("{}", False),
        ('{"kind": "Status", "status": "Success"}', False),
        ('{"kind": "ConfigMapList", "items": {}}', False),
        ('{"kind": "ConfigMapList", "items": null}', True),
        ('{"kind": "ConfigMapList", "items": []}', True),
    ):
        answer = Response(200, (), text.encode())
        plan = listed(resource, "default", "")
        try:
            found = drive.run(plan, partial(send_back, answer), parallel=1)
        except DocumentError:
            found = None
        if found != ([] if is_list else None):
            failures.append(text)
    assert failures == []
