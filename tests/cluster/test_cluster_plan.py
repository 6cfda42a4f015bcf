"""What a plan sends, and what it makes of the answers, without any server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest

from smp._values.values import JSON, JSONObject
from smp.cluster import Cluster, drive
from smp.cluster.plan.apply import Run, Session, apply
from smp.cluster.plan.exchange import (
    BrokenConnection,
    Plan,
    PlannedRequest,
    Response,
    pause,
    together,
)
from smp.cluster.plan.failures import (
    ApiError,
    BrokenConnectionError,
    UnreadableAnswerError,
)
from smp.cluster.plan.objects import Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import exchange, send, send_for_object, warnings_of
from smp.errors import SmpError
from tests.support.cluster_server import OldServer, ScriptedServer

Answer = Response | BrokenConnection


class Script:
    """A transport that answers from a list, and keeps what it was sent."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self.answers = list(answers)
        self.requests: list[PlannedRequest] = []
        self.slept: list[float] = []

    def __call__(self, request: PlannedRequest) -> Answer:
        self.requests.append(request)
        return self.answers.pop(0)

    def run(self, plan: Plan[Any]) -> Any:
        return drive.run(plan, self, sleep=self.slept.append, parallel=1)


def answer(status: int, body: JSONObject | None = None, **headers: str) -> Response:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status, pairs, json.dumps(body or {}).encode())


def refusal(status: int, reason: str, message: str = "no") -> Response:
    body: JSONObject = {"kind": "Status", "reason": reason, "message": message}
    return answer(status, body)


GET = PlannedRequest("GET", "/api")
PATCH = PlannedRequest("PATCH", "/api/v1/x", body=b"{}")


class TestSending:
    @pytest.mark.parametrize("status", [429, 500, 503])
    @pytest.mark.parametrize("request_", [GET, PATCH])
    def test_a_request_is_sent_again_when_the_server_says(
        self, status: int, request_: PlannedRequest
    ) -> None:
        script = Script([answer(status, Retry_After="2"), answer(200)])
        assert script.run(exchange(request_)).status == 200
        assert script.slept == [2]

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_without_that_it_is_not(self, status: int) -> None:
        script = Script([answer(status)])
        assert script.run(exchange(GET)).status == status
        assert script.slept == []

    def test_after_ten_attempts_the_answer_is_taken(self) -> None:
        script = Script([answer(429, Retry_After="1")] * 11)
        assert script.run(exchange(PATCH)).status == 429
        assert script.slept == [1] * 10

    def test_a_broken_get_is_sent_again(self) -> None:
        script = Script([BrokenConnection("reset"), answer(200)])
        assert script.run(exchange(GET)).status == 200

    def test_a_broken_write_is_not(self) -> None:
        script = Script([BrokenConnection("reset")])
        with pytest.raises(BrokenConnectionError, match="not known") as caught:
            script.run(exchange(PATCH))
        assert caught.value.sent

    def test_a_write_that_was_not_sent_says_that(self) -> None:
        script = Script([BrokenConnection("refused", sent=False)])
        with pytest.raises(BrokenConnectionError, match="was not sent"):
            script.run(exchange(PATCH))

    def test_an_error_has_the_words_of_kubectl(self) -> None:
        script = Script([refusal(404, "NotFound", 'deployments.apps "w" not found')])
        with pytest.raises(ApiError) as caught:
            script.run(send(GET))
        assert str(caught.value) == (
            'Error from server (NotFound): deployments.apps "w" not found'
        )
        assert (caught.value.status, caught.value.code) == (404, "not-found")

    def test_an_answer_without_a_status_is_shown(self) -> None:
        script = Script([Response(502, (), b"<html>bad gateway</html>")])
        with pytest.raises(ApiError, match=r"answered 502 to get /api: <html>bad"):
            script.run(send(GET))

    @pytest.mark.parametrize("request_", [GET, PATCH])
    def test_a_redirection_is_an_error(self, request_: PlannedRequest) -> None:
        script = Script([Response(302, (("Location", "https://login"),), b"")])
        with pytest.raises(ApiError, match="the server answered 302") as caught:
            script.run(send_for_object(request_))
        assert not caught.value.is_unknown

    @pytest.mark.parametrize(("request_", "is_unknown"), [(GET, False), (PATCH, True)])
    def test_after_an_answer_that_cannot_be_read_only_a_write_is_unknown(
        self, request_: PlannedRequest, is_unknown: bool
    ) -> None:
        script = Script([Response(200, (), b"<html>")])
        with pytest.raises(UnreadableAnswerError) as caught:
            script.run(send_for_object(request_))
        assert caught.value.is_unknown is is_unknown

    def test_causes_are_listed(self) -> None:
        causes: JSON = [
            {"field": "spec.a", "message": "Required value", "reason": "x"},
            {"field": "spec.b", "message": "Invalid value", "reason": "x"},
        ]
        body: JSONObject = {
            "kind": "Status",
            "reason": "Invalid",
            "message": "long",
            "details": {"kind": "Widget", "name": "w", "causes": causes},
        }
        script = Script([answer(422, body)])
        with pytest.raises(ApiError) as caught:
            script.run(send(GET))
        assert str(caught.value) == (
            'The Widget "w" is invalid:\n* spec.a: Required value'
            "\n* spec.b: Invalid value"
        )
        assert caught.value.causes[0].field == "spec.a"

    @pytest.mark.parametrize("seconds", ["soon", "-1", "1.5", "9" * 10, "9" * 5000])
    def test_what_is_no_time_to_wait_is_not_waited_for(self, seconds: str) -> None:
        script = Script([answer(503, Retry_After=seconds)])
        assert script.run(exchange(GET)).status == 503
        assert script.slept == []

    @pytest.mark.parametrize(
        ("header", "text"),
        [
            ('299 - "use v1"', ["use v1"]),
            ('299 - "say \\"a\\" \\\\ b" "date"', ['say "a" \\ b']),
            ('199 - "other"', []),
            ("299 broken", []),
        ],
    )
    def test_warnings_are_read(self, header: str, text: list[str]) -> None:
        assert warnings_of(Response(200, (("Warning", header),))) == text


class TestDrivers:
    @staticmethod
    def waits() -> Plan[list[float]]:
        first = yield from pause(1.5)
        rest = yield from together([pause(0), pause(0.5)])
        return [first, *rest]

    def test_pauses_are_answered_with_the_time_of_the_run(self) -> None:
        clock = iter(range(100))
        slept: list[float] = []
        result = drive.run(
            self.waits(),
            Script([]),
            sleep=slept.append,
            clock=lambda: next(clock),
            parallel=1,
        )
        assert slept == [1.5, 0.5]
        assert result == [1, 2, 3]

    @pytest.mark.parametrize("parallel", [1, 4])
    def test_results_keep_their_order(self, parallel: int) -> None:
        def plan() -> Plan[list[Response]]:
            paths = [f"/{number}" for number in range(20)]
            return together([exchange(PlannedRequest("GET", path)) for path in paths])

        def transport(request: PlannedRequest) -> Response:
            return Response(200, (), request.path.encode())

        found = drive.run(plan(), transport, parallel=parallel)
        assert [each.body for each in found] == [b"/%d" % n for n in range(20)]


def config_map(name: str, data: dict[str, Any]) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


# What a server with config maps says of itself.
DISCOVERED = answer(
    200,
    {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [
                            {
                                "resource": "configmaps",
                                "scope": "Namespaced",
                                "responseKind": {"kind": "ConfigMap"},
                                "verbs": ["get", "list"],
                            }
                        ],
                    }
                ],
            }
        ],
    },
)
BEFORE = [DISCOVERED, answer(404), answer(404)]


class TestApply:
    @staticmethod
    def applied(script: Script, *objects: JSONObject, **options: Any) -> Run:
        session = Session({})
        plan = apply(session, [Item(obj) for obj in objects], ApplyOptions(**options))
        run: Run = script.run(plan)
        return run

    def live(self, data: dict[str, Any], **metadata: str) -> JSONObject:
        applied = json.dumps(config_map("a", data))
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": applied}
        live = config_map("a", data)
        live["metadata"] = {
            "name": "a",
            "namespace": "default",
            "annotations": {**annotations},
            **metadata,
        }
        return live

    def test_a_conflict_is_tried_again_after_a_fresh_get(self) -> None:
        conflict = refusal(409, "Conflict")
        live = answer(200, self.live({"k": "1"}))
        script = Script([*BEFORE, live, conflict, live, conflict, live, answer(200)])
        run = self.applied(script, config_map("a", {"k": "2"}))
        assert [result.action for result in run.results] == ["configured"]
        # At once, and then after a second.
        assert script.slept == [1]

    def test_it_is_tried_six_times(self) -> None:
        conflict = refusal(409, "Conflict", "modified")
        live = answer(200, self.live({"k": "1"}))
        script = Script([*BEFORE, *[live, conflict] * 6])
        run = self.applied(script, config_map("a", {"k": "2"}))
        assert [request.method for request in script.requests].count("PATCH") == 6
        with pytest.raises(SmpError, match="modified"):
            run.raise_for_errors()

    def test_an_object_that_is_gone_after_a_conflict_is_an_error(self) -> None:
        live = answer(200, self.live({"k": "1"}))
        conflict = refusal(409, "Conflict")
        script = Script([*BEFORE, live, conflict, answer(404)])
        run = self.applied(script, config_map("a", {"k": "2"}))
        assert run.results[0].action == "failed"

    def test_force_deletes_waits_and_creates(self) -> None:
        live = answer(200, self.live({"k": "1"}, resourceVersion="7"))
        invalid = refusal(422, "Invalid")
        gone, ok = answer(404), answer(200)
        script = Script([*BEFORE, live, invalid, ok, live, gone, answer(201)])
        run = self.applied(script, config_map("a", {"k": "2"}), force=True)
        assert [result.action for result in run.results] == ["configured"]
        methods = [request.method for request in script.requests[4:]]
        assert methods == ["PATCH", "DELETE", "GET", "GET", "POST"]

    def test_what_cannot_be_created_is_restored(self) -> None:
        live = answer(200, self.live({"k": "1"}, resourceVersion="7"))
        invalid = refusal(422, "Invalid", "still invalid")
        gone, ok = answer(404), answer(200)
        script = Script([*BEFORE, live, invalid, ok, gone, invalid, answer(201)])
        run = self.applied(script, config_map("a", {"k": "2"}), force=True)
        assert run.results[0].action == "failed"
        assert "created again" in str(run.results[0].error)
        restored = json.loads(script.requests[-1].body)
        assert restored["data"] == {"k": "1"}
        assert "resourceVersion" not in restored["metadata"]

    def test_what_is_lost_is_said(self) -> None:
        live = answer(200, self.live({"k": "1"}))
        invalid = refusal(422, "Invalid")
        script = Script(
            [*BEFORE, live, invalid, answer(200), answer(404), *[invalid] * 2]
        )
        run = self.applied(script, config_map("a", {"k": "2"}), force=True)
        error = run.results[0].error
        assert error is not None
        assert error.code == "not-restored"

    def test_a_broken_write_is_never_sent_again(self) -> None:
        live = answer(200, self.live({"k": "1"}))
        script = Script([*BEFORE, live, BrokenConnection("reset")])
        run = self.applied(script, config_map("a", {"k": "2"}))
        error = run.results[0].error
        assert error is not None
        assert error.code == "broken-connection"
        assert [request.method for request in script.requests].count("PATCH") == 1

    def test_the_other_objects_go_on(self) -> None:
        refused = refusal(403, "Forbidden")
        absent = answer(404)
        each = [refused, answer(201)]
        script = Script([*BEFORE, absent, absent, *each])
        run = self.applied(script, config_map("a", {}), config_map("b", {}))
        assert [result.action for result in run.results] == ["failed", "created"]

    def test_nulls_are_dropped_from_what_is_created(self) -> None:
        script = Script([*BEFORE, answer(404), answer(201)])
        self.applied(script, config_map("a", {"k": None, "l": "1"}))
        body = json.loads(script.requests[-1].body)
        assert body["data"] == {"l": "1"}
        annotation = body["metadata"]["annotations"]
        assert '"k":null' in next(iter(annotation.values()))

    def test_an_unknown_kind_is_asked_for_once(self) -> None:
        script = Script([DISCOVERED, answer(404)])
        unknown: JSONObject = {
            "apiVersion": "a.example/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
        }
        run = self.applied(script, unknown, unknown)
        text = 'no matches for kind "Widget" in version "a.example/v1"'
        for result in run.results:
            assert text in str(result.error)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda obj: obj.pop("kind"), "Object 'kind' is missing"),
            (lambda obj: obj["metadata"].pop("name"), "resource name may not be empty"),
            (
                lambda obj: obj.update(metadata={"generateName": "a-"}),
                "cannot use generate name with apply",
            ),
        ],
    )
    def test_an_object_without_an_identity_is_an_error(
        self, change: Callable[[Any], object], message: str
    ) -> None:
        obj = config_map("a", {})
        change(obj)
        run = self.applied(Script([]), obj)
        assert message in str(run.results[0].error)

    @pytest.mark.parametrize(
        "options",
        [
            {"force_conflicts": True},
            {"server_side": True, "dry_run": "client"},
            {"server_side": True, "force": True},
            {"force": True, "dry_run": "server"},
            {"prune": "a=b", "applyset": "x"},
        ],
    )
    def test_options_that_exclude_each_other_are_refused(
        self, options: dict[str, Any]
    ) -> None:
        with pytest.raises(SmpError, match=r"only works|doesn't work|cannot|incompat"):
            self.applied(Script([]), config_map("a", {}), **options)

    def test_a_strict_run_that_will_not_converge_writes_nothing(self) -> None:
        # No patch can delete one of two elements with one patch merge key.
        script = Script(BEFORE)
        bad = config_map("a", {"k": "1"})
        bad["metadata"] = {"name": "a", "namespace": "other"}
        session = Session({}, enforce_namespace=True)
        plan = apply(
            session, [Item(bad), Item(config_map("b", {}))], ApplyOptions(strict=True)
        )
        script.answers.append(answer(404))
        run = script.run(plan)
        assert run.stopped
        assert [result.action for result in run.results] == ["failed", "not-applied"]
        assert {request.method for request in script.requests} == {"GET"}


class TestIdentities:
    """What kubectl refuses, or changes, before it sends anything."""

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            (
                {"name": "a", "labels": {"l": 1}},
                "metadata.labels.l has to be a string",
            ),
            (
                {"name": "a", "annotations": {"n": True}},
                "metadata.annotations.n has to be a string, not boolean",
            ),
            ({"name": "a%b"}, "may not contain '%'"),
            ({"name": ".."}, "may not be '..'"),
        ],
    )
    def test_invalid_metadata(self, metadata: JSONObject, message: str) -> None:
        server = ScriptedServer()
        obj = {**config_map("a", {}), "metadata": metadata}
        (result,) = server.run([obj]).results
        assert message in str(result.error)
        assert server.requests == []

    def test_a_null_annotation_is_an_empty_text(self) -> None:
        server = ScriptedServer()
        obj = config_map("a", {})
        obj["metadata"] = {"name": "a", "annotations": {"note": None}}
        server.run([obj]).raise_for_errors()
        (stored,) = server.objects.values()
        assert stored["metadata"]["annotations"]["note"] == ""

    def test_a_kind_without_namespaces_loses_the_one_it_has(self) -> None:
        server = ScriptedServer()
        metadata: JSONObject = {"name": "n", "namespace": "default"}
        obj: JSONObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata,
        }
        server.run([obj]).raise_for_errors()
        assert [*server.objects] == ["/api/v1/namespaces/n"]
        assert b'"namespace"' not in server.requests[-1].body

    def test_a_kind_in_lower_case_is_found_as_kubectl_finds_it(self) -> None:
        server = ScriptedServer()
        server.run([{**config_map("a", {}), "kind": "configmap"}])
        assert server.requests[-1].method == "POST"

    def test_a_list_within_a_list_is_refused_before_anything_is_sent(self) -> None:
        inner = {"apiVersion": "v1", "kind": "List", "items": [config_map("a", {})]}
        outer = {"apiVersion": "v1", "kind": "List", "items": [inner]}
        with httpx.Client(base_url="http://127.0.0.1:1") as client:
            cluster = Cluster(client)
            with pytest.raises(SmpError, match="a list within a list"):
                cluster.apply(outer)


class TestServersWithoutAggregatedDiscovery:
    def test_kinds_are_found_by_their_group_version(self) -> None:
        server = OldServer()
        unknown: JSONObject = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
        }
        run = server.run([config_map("a", {}), unknown])
        assert [result.action for result in run.results] == ["created", "failed"]
        assert "no matches for kind" in str(run.results[1].error)

    def test_the_kinds_of_an_applyset_are_found_by_their_group(self) -> None:
        server = OldServer()
        server.run([config_map("a", {}), config_map("b", {})], applyset="mine")
        run = server.run([config_map("b", {})], applyset="mine")
        actions = [result.action for result in run.results]
        assert actions == ["unchanged", "pruned"]


def test_options_have_the_query_of_a_dry_run() -> None:
    assert ApplyOptions(dry_run="server").dry_run_query == (("dryRun", "All"),)
    assert ApplyOptions(dry_run="client").dry_run_query == ()
