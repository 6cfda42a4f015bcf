"""Custom resources over HTTP, beside what a kube-apiserver 1.36.3 answered.

tests.record.verdicts asked it about the cases of tests/data/custom_resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.record.verdicts import cases, definition, thing, verdicts
from tests.support.server_app import Served, serving

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CASES: Final = {case["name"]: case for case in cases()}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def update_definition(server: Served, case: dict[str, Any]) -> None:
    """Replace the definition under which the old objects were taken."""
    changed: Any = definition(case)
    path = f"{DEFINITIONS}/{changed['metadata']['name']}"
    changed["metadata"] = server.get(path)["metadata"]
    assert server.call("PUT", path, changed).status_code == 200


def causes_of(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (cause["field"], cause["reason"], cause["message"])
        for cause in answer["details"]["causes"]
    }


@pytest.mark.parametrize("name", list(CASES))
def test_an_object_is_taken_or_refused_as_by_a_server(
    server: Served, name: str
) -> None:
    case = CASES[name]
    server.post(DEFINITIONS, definition(case, former=True))
    path = f"/apis/example.com/v1/{name}things"
    rows = [row for row in verdicts() if row["case"] == name]
    olds = {}
    for row in rows:
        if row["old"] is not None:
            number = row["number"]
            spec = case["steps"][number]["old"]
            olds[number] = server.post(path, thing(case, spec, number))
    if "former" in case:
        update_definition(server, case)
    wrong: list[object] = []
    for row in rows:
        number, new = row["number"], {**row["new"]}
        if number in olds:
            new["metadata"] = olds[number]["metadata"]
            place = f"{path}/thing-{number}"
            whole = f"{place}/status" if row["subresource"] else place
            answer = server.call("PUT", whole, new)
        else:
            answer = server.call("POST", path, new)
        body = answer.json()
        if answer.status_code != row["code"]:
            wrong.append((number, new, answer.status_code, row["code"], body))
        elif "causes" in row:
            expected = {(c["field"], c["reason"], c["message"]) for c in row["causes"]}
            if causes_of(body) != expected:
                wrong.append((number, new, causes_of(body) ^ expected))
        elif body["spec"] != row["stored"]["spec"]:
            wrong.append((number, new, body, row["stored"]))
    assert not wrong


def test_the_defaults_of_a_status_are_stored_with_a_new_object(server: Served) -> None:
    # A kube-apiserver 1.36.3 answers {"phase": "Pending"} as well.
    phase = {"type": "string", "default": "Pending"}
    status = {"type": "object", "default": {}, "properties": {"phase": phase}}
    case = {
        "name": "pending",
        "top": {"subresources": {"status": {}}},
        "spec": {"type": "object"},
        "status": status,
    }
    server.post(DEFINITIONS, definition(case))
    path = "/apis/example.com/v1/pendingthings"
    created = server.post(path, {**thing(case, {}, 0), "status": {"phase": "Mine"}})
    assert created["status"] == {"phase": "Pending"}
    assert server.get(f"{path}/thing-0")["status"] == {"phase": "Pending"}


def test_what_the_stored_version_does_not_know_is_pruned(server: Served) -> None:
    # With the strategy None only apiVersion is converted, and what is read from the
    # store is pruned and defaulted by the schema of its version.
    document: Any = definition({"name": "versioned", "spec": {"type": "object"}})
    (stored,) = document["spec"]["versions"]
    text = {"type": "string"}
    of_spec = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]
    of_spec["properties"] = {"a": text, "b": {**text, "default": "x"}}
    older: Any = {
        **stored,
        "name": "v1beta1",
        "storage": False,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {"a": text, "old": text}}
                },
            }
        },
    }
    document["spec"]["versions"].append(older)
    server.post(DEFINITIONS, document)
    obj: Any = thing({"name": "versioned"}, {"a": "1", "old": "2"}, 0)
    obj["apiVersion"] = "example.com/v1beta1"
    server.post("/apis/example.com/v1beta1/versionedthings", obj)
    read = server.get("/apis/example.com/v1/versionedthings/thing-0")
    assert read["spec"] == {"a": "1", "b": "x"}


def members(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def text(default: str) -> dict[str, Any]:
    return {"type": "string", "default": default}


VERSIONS: Final = {
    "v1": members(
        spec=members(
            b=text("b1"), only1=text("o1"), o=members(x=text("x1"), y=text("y1"))
        ),
    ),
    "v2": members(
        spec=members(
            b=text("b2"), only2=text("o2"), o=members(x=text("x2"), z=text("z2"))
        ),
    ),
}
OF_V1: Final = {"b": "b1", "o": {"x": "x1"}}
OF_V2: Final = {"b": "b1", "only2": "o2", "o": {"x": "x1", "z": "z2"}}


def test_versions_are_read_by_both_schemas(server: Served) -> None:
    """What is stored in v2 has its defaults; v1 shows what it knows, and no more.

    A kube-apiserver 1.36.3 answered so.
    """
    document: Any = definition({"name": "two", "spec": {}})
    document["spec"]["versions"] = [
        {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {"openAPIV3Schema": schema},
        }
        for name, schema in VERSIONS.items()
    ]
    server.post(DEFINITIONS, document)
    one, two = ("/apis/example.com/v1/twothings", "/apis/example.com/v2/twothings")
    made = server.post(one, thing({"name": "two"}, {"o": {}}, 0))
    read = [made, server.get(f"{one}/thing-0"), server.get(one)["items"][0]]
    assert [obj["spec"] for obj in read] == [OF_V1] * 3
    obj = server.get(f"{two}/thing-0")
    assert obj["spec"] == OF_V2
    # An update through v1 drops what it does not know, and one of nothing does not.
    obj["spec"]["only2"] = "mine"
    changed = server.call("PUT", f"{two}/thing-0", obj).json()
    assert changed["spec"]["only2"] == "mine"
    current = server.get(f"{one}/thing-0")
    assert current["metadata"]["generation"] == 2
    current["spec"]["b"] = "new"
    server.call("PUT", f"{one}/thing-0", current)
    assert server.get(f"{two}/thing-0")["spec"] == {**OF_V2, "b": "new"}
