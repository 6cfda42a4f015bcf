"""What becomes of a run when the server or the connection fails.

A write is never lost, which is that a result says it was done and it was not; it is
never done twice; and what is not known is said. Another run completes what was left.
"""

from __future__ import annotations

import os
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest

from smp._values.values import JSONObject, as_object
from smp.cluster.plan.apply import Run
from smp.cluster.plan.client_side import NotRestoredError
from smp.cluster.plan.exchange import PlannedRequest, Response
from smp.errors import SmpError
from tests.support.cluster_server import (
    Cut,
    Fault,
    ScriptedServer,
    config_map,
    data_of,
    status,
)

# SMP_CLUSTER_OBJECTS=5000 applies so many objects in one run.
_OBJECTS = int(os.environ.get("SMP_CLUSTER_OBJECTS", "300"))
_CUTS: tuple[Cut, ...] = ("before", "after", "garbled")


def cut_at(number: int, how: Cut) -> Fault:
    """Cut the request of a number, once."""
    return lambda at, _request: how if at == number else None


def labelled(name: str, **data: str) -> JSONObject:
    obj = config_map(name, **data)
    metadata: JSONObject = {**as_object(obj["metadata"]), "labels": {"set": "one"}}
    return {**obj, "metadata": metadata}


def immutable(obj: JSONObject) -> JSONObject:
    return {**obj, "immutable": True}


_FIRST = [labelled("changed", k="1"), labelled("same", k="1"), labelled("gone", k="1")]
_SECOND = [labelled("changed", k="2"), labelled("same", k="1"), labelled("new", k="1")]
# What is applied first, and, with options, while a request is cut.
_RUNS: dict[str, tuple[list[JSONObject], list[JSONObject], dict[str, Any]]] = {
    "client-side": (_FIRST, _SECOND, {}),
    "server-side": (_FIRST, _SECOND, {"server_side": True}),
    "pruned": (
        _FIRST,
        _SECOND,
        {"prune": "set=one", "prune_allowlist": (("v1", "ConfigMap"),)},
    ),
    "ApplySet": ([], _SECOND[:2], {"applyset": "mine"}),
    "forced": (
        [immutable(config_map("a", k="1"))],
        [immutable(config_map("a", k="2"))],
        {"force": True},
    ),
}


def started(name: str) -> ScriptedServer:
    """Return a server with what was applied before."""
    server = ScriptedServer()
    before, _, options = _RUNS[name]
    if before:
        keywords = {"server_side": True} if "server_side" in options else {}
        server.run(before, **keywords).raise_for_errors()
    server.requests.clear()
    server.done.clear()
    return server


def requests_of(name: str) -> tuple[int, dict[str, Any]]:
    """Return how many requests a run has that nothing disturbs, and what it leaves."""
    server = started(name)
    _, objects, options = _RUNS[name]
    server.run(objects, **options).raise_for_errors()
    return len(server.requests), server.content


def require_true(
    run: Run, server: ScriptedServer, before: dict[str, Any], objects: list[JSONObject]
) -> None:
    """Check each result of a run against what the server had before, and has now."""
    wanted = {as_object(obj["metadata"])["name"]: obj for obj in objects}
    for result in run.results:
        path = f"/api/v1/namespaces/default/configmaps/{result.name}"
        live = server.content.get(path)
        if result.action == "pruned":
            assert live is None
        elif result.error is None:
            assert live is not None
            assert live["data"] == wanted[result.name]["data"]
        elif not result.is_unknown and not isinstance(result.error, NotRestoredError):
            # It is known not to be done, or undone.
            assert live == before.get(path)


@pytest.mark.parametrize("how", _CUTS)
@pytest.mark.parametrize("name", _RUNS)
def test_a_run_that_is_cut_says_what_is_known(name: str, how: Cut) -> None:
    count, complete = requests_of(name)
    _, objects, options = _RUNS[name]
    unknown = 0
    for number in range(count):
        server = started(name)
        before = server.content
        server.fault = cut_at(number, how)
        run: Run | None = None
        # The parent of an ApplySet, or a list of what may be pruned, concerns all.
        concern_all = [SmpError] if options.keys() & {"applyset", "prune"} else []
        with suppress(*concern_all):
            run = server.run(objects, **options)
        if run is not None:
            require_true(run, server, before, objects)
            unknown += sum(result.is_unknown for result in run.results)
        # No write was done twice, but for the parent, whose two writes differ.
        twice = {at for (at, _), times in server.done.items() if times > 1}
        assert all("secrets/mine" in path for path in twice)
        server.fault = lambda _at, _request: None
        server.run(objects, **options).raise_for_errors()
        # An apply without the last-applied annotation of a former one prunes nothing.
        assert server.content == complete, number
    # What was cut before the server saw it is known; of other writes that is not so.
    assert (unknown == 0) == (how == "before")


class TestConflicts:
    def test_a_storm_of_conflicts_ends(self) -> None:
        server = ScriptedServer()
        server.run([config_map("a", k="1"), config_map("b", k="1")])
        conflict = status(409, "Conflict", "modified")

        def storm(_at: int, request: PlannedRequest) -> Response | None:
            return conflict if request.method == "PATCH" else None

        server.fault = storm
        server.requests.clear()
        run = server.run([config_map("a", k="2"), config_map("b", k="2")])
        assert [str(result.error) for result in run.results] == [
            "Error from server (Conflict): modified"
        ] * 2
        patches = [each.path for each in server.requests if each.method == "PATCH"]
        assert len(patches) == 12
        assert sum(server.slept) == 8
        assert not any(result.is_unknown for result in run.results)

    def test_what_another_client_writes_meanwhile_stays(self) -> None:
        server = ScriptedServer()
        server.run([config_map("a", k="1")])
        path = "/api/v1/namespaces/default/configmaps/a"

        def race(_at: int, request: PlannedRequest) -> Response | None:
            if request.method != "PATCH" or server.objects[path]["data"].get("o"):
                return None
            server.objects[path]["data"]["o"] = "theirs"
            return status(409, "Conflict")

        server.fault = race
        server.run([config_map("a", k="2")]).raise_for_errors()
        assert data_of(server, "a") == {"k": "2", "o": "theirs"}


@pytest.mark.parametrize("code", [429, 503])
class TestBusyServers:
    def test_it_is_waited_for(self, code: int) -> None:
        server = ScriptedServer(
            lambda at, _request: (
                status(code, "Busy", Retry_After="3") if at % 2 else None
            )
        )
        server.run([config_map("a", k="1"), config_map("b")]).raise_for_errors()
        assert set(server.slept) == {3}
        assert set(server.done.values()) == {1}

    def test_without_a_time_it_is_an_error_of_one_object(self, code: int) -> None:
        def busy(_at: int, request: PlannedRequest) -> Response | None:
            is_a = b'"name":"a"' in request.body
            return status(code, "Busy") if is_a else None

        server = ScriptedServer(busy)
        run = server.run([config_map("a"), config_map("b")])
        assert [result.action for result in run.results] == ["failed", "created"]
        assert server.slept == []

    def test_one_that_is_always_busy_ends_the_run(self, code: int) -> None:
        server = ScriptedServer(
            lambda _at, _request: status(code, "Busy", Retry_After="1")
        )
        run = server.run([config_map("a")])
        assert run.results[0].error is not None
        # Each of the two requests of discovery is sent eleven times at most.
        assert len(server.requests) <= 22


def test_an_object_that_others_create_during_the_run_is_patched() -> None:
    server = ScriptedServer()
    path = "/api/v1/namespaces/default/configmaps/b"

    def race(_at: int, request: PlannedRequest) -> None:
        if request.method == "POST" and path not in server.objects:
            theirs = config_map("b", k="0", o="theirs")
            server.objects[path] = {**theirs}

    server.fault = race
    run = server.run([config_map("a"), config_map("b", k="1")])
    run.raise_for_errors()
    assert [result.action for result in run.results] == ["created", "configured"]
    assert data_of(server, "b") == {"k": "1", "o": "theirs"}


def test_new_objects_are_read_once() -> None:
    server = ScriptedServer()
    server.run([config_map("a"), config_map("b")]).raise_for_errors()
    methods = [each.method for each in server.requests if "configmaps" in each.path]
    assert methods == ["GET", "GET", "POST", "POST"]


def test_a_token_that_expires_fails_what_comes_after_it() -> None:
    server = ScriptedServer()

    def expired(_at: int, _request: PlannedRequest) -> Response | None:
        # The first object is created with it.
        return status(401, "Unauthorized", "Unauthorized") if server.done else None

    server.fault = expired
    run = server.run([config_map("a"), config_map("b"), config_map("c")])
    assert [result.action for result in run.results] == ["created", "failed", "failed"]
    text = "You must be logged in to the server (Unauthorized)"
    assert {str(result.error) for result in run.results[1:]} == {text}
    server.fault = lambda _at, _request: None
    run = server.run([config_map("a"), config_map("b"), config_map("c")])
    actions = [result.action for result in run.results]
    assert actions == ["unchanged", "created", "created"]


def test_a_kind_that_is_defined_during_the_run_is_found() -> None:
    server = ScriptedServer()
    widget: JSONObject = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
    }

    def defined(_at: int, request: PlannedRequest) -> None:
        # Others define it while the first object is applied.
        if request.method == "POST":
            server.kinds["example.com"] = [("widgets", "Widget", True)]

    server.fault = defined
    run = server.run([config_map("a"), widget, widget])
    actions = [result.action for result in run.results]
    assert actions[:2] == ["created", "created"]


def test_a_kind_that_is_not_defined_is_looked_for_once_more() -> None:
    server = ScriptedServer()
    widget: JSONObject = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
    }
    run = server.run([config_map("a"), widget, widget, widget])
    assert [result.action for result in run.results] == ["created", *["failed"] * 3]
    discoveries = [each for each in server.requests if each.path == "/apis"]
    assert len(discoveries) <= 3


def test_a_namespace_that_goes_fails_its_objects_only() -> None:
    text = (
        'configmaps "a" is forbidden: unable to create new content in namespace going'
        " because it is being terminated"
    )

    def going(_at: int, request: PlannedRequest) -> Response | None:
        is_there = request.path.startswith("/api/v1/namespaces/going/")
        is_create = request.method == "POST"
        return status(403, "Forbidden", text) if is_there and is_create else None

    server = ScriptedServer(going)
    inside = config_map("a")
    inside["metadata"] = {"name": "a", "namespace": "going"}
    run = server.run([inside, config_map("b")])
    assert [result.action for result in run.results] == ["failed", "created"]
    assert text in str(run.results[0].error)


def test_an_object_that_is_being_deleted_is_patched_with_a_warning() -> None:
    server = ScriptedServer()
    server.run([config_map("a", k="1")])
    (live,) = server.objects.values()
    live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (result,) = server.run([config_map("a", k="2")]).results
    assert result.action == "configured"
    assert [warning.code for warning in result.warnings] == ["being-deleted"]


def test_a_forced_object_that_never_goes_ends_in_time() -> None:
    server = ScriptedServer()
    server.run([immutable(config_map("a", k="1"))])
    kept = dict(server.objects)

    def kept_by_a_finalizer(_at: int, _request: PlannedRequest) -> None:
        server.objects.update(kept)

    server.fault = kept_by_a_finalizer
    run = server.run([immutable(config_map("a", k="2"))], force=True, timeout=0)
    assert "still exists" in str(run.results[0].error)


def test_a_forced_object_that_is_lost_is_told() -> None:
    server = ScriptedServer()
    server.run([immutable(config_map("a", k="1"))])
    server.fault = lambda _at, request: "before" if request.method == "POST" else None
    (result,) = server.run([immutable(config_map("a", k="2"))], force=True).results
    assert isinstance(result.error, NotRestoredError)
    assert not result.is_unknown
    assert server.objects == {}


def test_an_answer_that_a_proxy_lost_is_not_known() -> None:
    for code, is_unknown in ((502, True), (504, True), (500, False), (403, False)):
        server = ScriptedServer()

        def lost(
            _at: int, request: PlannedRequest, code: int = code
        ) -> Response | None:
            return Response(code) if request.method == "POST" else None

        server.fault = lost
        (result,) = server.run([config_map("a")]).results
        assert result.is_unknown is is_unknown


def test_many_objects_need_memory_for_themselves_only() -> None:
    server = ScriptedServer()
    objects = [config_map(f"c{number}", k="v" * 100) for number in range(_OBJECTS)]
    run = server.run(objects)
    run.raise_for_errors()
    assert len(server.objects) == _OBJECTS
    assert set(server.done.values()) == {1}
    server.requests.clear()
    tracemalloc.start()
    run = server.run(objects)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {result.action for result in run.results} == {"unchanged"}
    # One read for each; less than 40 KB for an object of 0.5 KB, in all its forms.
    reads = [each for each in server.requests if "configmaps" in each.path]
    assert len(reads) == _OBJECTS
    assert peak < 40_000 * _OBJECTS


def test_an_object_of_three_megabytes_is_sent_once() -> None:
    server = ScriptedServer()
    # The annotation has all of it again.
    (result,) = server.run([config_map("a", k="v" * 3_000_000)]).results
    assert result.action == "created"
    assert len(server.requests[-1].body) > 6_000_000
    tracemalloc.start()
    (result,) = server.run([config_map("a", k="w" * 3_000_000)]).results
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.action == "configured"
    assert peak < 150_000_000
