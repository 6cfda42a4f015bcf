"""Requests of field managers: the server answers what a real kube-apiserver answers.

The answers were recorded by tests.record.server_side_apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from smp._values.values import ABSENT
from smp.paths import Path, edited
from tests.record.applies import read
from tests.support.field_manager_requests import (
    RECORDED,
    Answer,
    definitions,
    played,
    scenarios,
)
from tests.support.server_app import Served, serving

_, _LINES = read(RECORDED)
ANSWERS: Final = {line["name"]: line["answers"] for line in _LINES}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as running:
        for definition in definitions():
            running.post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition
            )
        yield running


# What differs, with the reason: by the scenario and the number of the request in it.
DIFFERENCES: Final = {
    ("a uid that a patch or a put has", 3): "the key of the object in etcd",
    ("preconditions of a deletion", 2): "the message has a resourceVersion",
    ("the scale of an object without replicas", 15): "negative replicas",
    ("fields that only a server sets", 0): "deletionTimestamp of a new object",
    ("fields that only a server sets", 1): "deletionTimestamp of a new object",
    ("malformed YAML", 6): "a list as a key in YAML",
    ("managedFields that a client writes", 8): "the message quotes the object",
    ("managedFields that a client writes", 9): "apiVersion of an entry",
    ("managedFields that a client writes", 10): "apiVersion of an entry",
    ("preconditions of an apply", 4): "a resourceVersion that is no number",
}
# A cluster also allocates (the IP families of a Service) and admits (the tolerations of
# a Pod).
METADATA_ONLY: Final = ("Pod", "Service")
# What the newest version adds to the spec of an object.
NEWER: Final = {
    "CSIDriver": Path(("spec", "preventPodSchedulingIfMissing")),
    "StatefulSet": Path(("spec", "updateStrategy", "rollingUpdate", "maxUnavailable")),
}


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what differs from one run to the next.

    Go walks maps at random, and validates the metadata of an object up to four times.
    Entries of managedFields are in the order of their times, to the second.
    """
    compared = {**answer}
    message = answer.get("message", "")
    if "\n" in message:
        compared["message"] = sorted(message.split("\n"))
    if "causes" in answer.get("details", {}):
        causes = {json.dumps(cause) for cause in answer["details"]["causes"]}
        compared["details"] = {**answer["details"], "causes": sorted(causes)}
    if "object" in answer:
        obj = answer["object"]
        entries = obj["metadata"].get("managedFields", [])
        listed = sorted(json.dumps(entry, sort_keys=True) for entry in entries)
        metadata = {**obj["metadata"], "managedFields": listed}
        compared["object"] = {**obj, "metadata": metadata}
        if obj["kind"] in NEWER:
            path = NEWER[obj["kind"]]
            compared["object"] = edited(compared["object"], path, ABSENT)
        if obj["kind"] in METADATA_ONLY:
            compared["object"] = {"kind": obj["kind"], "metadata": metadata}
    return compared


def test_all_scenarios_are_recorded() -> None:
    assert [*ANSWERS] == [scenario.name for scenario in scenarios()]


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
@pytest.mark.slow
def test_the_server_answers_as_a_kube_apiserver(server: Served, scenario: Any) -> None:
    def send(
        method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        answer = server.call(method, path, body, **headers)
        warnings = answer.headers.get_list("warning")
        return Answer(answer.status_code, answer.json(), warnings)

    namespace = f"ssa-{scenarios().index(scenario)}"
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    recorded = [comparable(answer) for answer in ANSWERS[scenario.name]]
    answers = [comparable(answer) for answer in played(scenario, namespace, send)]
    assert len(answers) == len(recorded)
    for number, expected in enumerate(recorded):
        if (scenario.name, number) in DIFFERENCES:
            assert answers[number] != expected
        else:
            assert answers[number] == expected
