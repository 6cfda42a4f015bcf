"""Events: one store behind both groups, and the rules of each.

What a kube-apiserver 1.36.3 answers was asked once; the histories have more of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.server_app import Served, serving

CORE: Final = "/api/v1/namespaces/default/events"
NEW: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
EVENT: Final[dict[str, Any]] = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "started"},
    "eventTime": "2020-02-02T02:02:02.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-0",
    "action": "Start",
    "reason": "Started",
    "regarding": {"kind": "Pod", "name": "web", "namespace": "default"},
    "note": "text",
    "type": "Normal",
}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def test_an_event_of_one_group_is_in_the_other(server: Served) -> None:
    server.post(NEW, EVENT)
    core = server.get(f"{CORE}/started")
    assert core["apiVersion"] == "v1"
    assert core["involvedObject"] == EVENT["regarding"]
    assert (core["message"], core["reportingComponent"]) == ("text", "example.com/c")
    assert core["source"] == {}
    selected = server.get(f"{CORE}?fieldSelector=involvedObject.name%3Dweb")
    assert [each["metadata"]["name"] for each in selected["items"]] == ["started"]
    selected = server.get(f"{NEW}?fieldSelector=regarding.name%3Dother")
    assert selected["items"] == []
    deleted = server.call("DELETE", f"{CORE}/started")
    assert deleted.status_code == 200
    assert server.call("GET", f"{NEW}/started").status_code == 404


def test_a_new_event_is_validated_as_a_server_does(server: Served) -> None:
    without = {name: value for name, value in EVENT.items() if name != "eventTime"}
    without |= {"deprecatedCount": 2, "type": "Odd"}
    refused = server.call("POST", NEW, without).json()
    assert [each["field"] for each in refused["details"]["causes"]] == [
        "eventTime",
        "type",
        "count",
    ]
    old = {"involvedObject": {"namespace": "other"}, "metadata": {"name": "a"}}
    refused = server.call("POST", CORE, old).json()
    assert refused["message"] == (
        'Event "a" is invalid: involvedObject.namespace: Invalid value: "other": does'
        " not match event.namespace"
    )


def test_an_update_through_the_new_group_changes_next_to_nothing(
    server: Served,
) -> None:
    server.post(NEW, EVENT)
    merge = {"content_type": "application/merge-patch+json"}
    refused = server.call("PATCH", f"{NEW}/started", {"note": "b"}, **merge)
    assert refused.json()["message"] == (
        'Event "started" is invalid: message: Invalid value: "b": field is immutable'
    )
    changed = server.call("PATCH", f"{CORE}/started", {"message": "b"}, **merge)
    assert changed.status_code == 200
    assert server.get(f"{NEW}/started")["note"] == "b"
