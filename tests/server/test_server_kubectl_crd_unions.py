"""Unions of custom resources, and a server without them, with the real kubectl.

The steps are those of KEP-1027: "How can someone using this feature know that it is
working", "Alpha Graduation", and "Feature Enablement and Rollback".
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from smp._values.values import JSON, as_object
from tests.server.test_server_crd_unions import FINAL, LISTS, spec_with
from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_objects import error_of, merge_patch
from tests.support.server_definitions import with_schema
from tests.support.server_process import Kubectl, ServerProcess, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.exhaustive]

THINGS = "/apis/example.com/v1/things"
FORBIDDEN = "spec.b: Forbidden: may not be specified when `type` is 'A'"


def thing(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": spec,
    }


def live(server: ServerProcess) -> Any:
    return server.get(f"{THINGS}/t")["spec"]


def apply_error(kubectl: Kubectl, obj: Any) -> str:
    return error_of(kubectl, "apply", "-f", "-", stdin=manifest(obj))


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with serving(tmp_path / "server") as running:
        yield running


@pytest.fixture
def client(server: ServerProcess, tmp_path: Path) -> Kubectl:
    return Kubectl(server, tmp_path / "home")


# structured-merge-diff's shape has other rules.
SCHEMAS = {
    "on the discriminator": spec_with(FINAL),
    "in a list on the discriminator": spec_with([FINAL]),
    "of 2019, on the object": spec_with(on_object=[LISTS["2019"]]),
    "of the draft, on the object": spec_with(on_object=[LISTS["draft"]]),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_steps_to_know_that_unions_work(
    schema: Any, client: Kubectl, server: ServerProcess
) -> None:
    """Create a definition with a union field (and no other validation mechanism), apply
    it, create an object with an invalid union: it is rejected via union validation.
    """
    crd = with_schema(schema)
    created = client.apply(crd, options=("--validate=strict",))
    assert created.endswith("things.example.com created\n")
    assert client.apply(crd, options=("--validate=strict",)).endswith(" unchanged\n")
    stored = server.get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
    )
    (version,) = stored["spec"]["versions"]
    assert version["schema"]["openAPIV3Schema"]["properties"]["spec"] == schema
    published = server.get("/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    assert published["com.example.v1.Thing"]["properties"]["spec"] == schema

    # Several members, and no discriminator.
    error = apply_error(client, thing(a={"x": 1}, b={"x": 2}))
    assert 'The Thing "t" is invalid' in error
    assert "spec.type: Required value" in error
    assert "spec.b: Forbidden: may not specify more than 1 of: `a`, `b`" in error
    # A member that is selected and empty.
    error = apply_error(client, thing(type="A"))
    assert "spec.a: Required value: must be specified when `type` is 'A'" in error

    # A client switches the discriminator: the former member is cleared.
    client.apply(thing(type="A", a={"x": 1}))
    merge_patch(client, "thing", "t", {"spec": {"type": "B", "b": {"x": 2}}})
    assert live(server) == {"type": "B", "b": {"x": 2}}
    client("replace", "-f", "-", stdin=manifest(thing(type="A", a={}, b={"x": 2})))
    assert live(server) == {"type": "A", "a": {}}
    patch = [
        {"op": "replace", "path": "/spec", "value": {"type": "B", "a": {}, "b": {}}}
    ]
    client("patch", "thing", "t", "--type=json", "-p", json.dumps(patch))
    assert live(server) == {"type": "B", "b": {}}
    # Members changed, the discriminator did not.
    refused = client.run(
        "patch", "thing", "t", "--type=merge", "-p", '{"spec":{"a":{}}}'
    )
    assert (
        "spec.a: Forbidden: may not be specified when `type` is 'B'" in refused.stderr
    )


def test_malformed_unions_are_refused_with_the_problem(client: Kubectl) -> None:
    malformed = spec_with(
        {"fieldMembers": {"A": {"name": "nothing"}, "B": "b"}},
        [{"discriminator": "type"}],
        required=["a"],
    )
    error = apply_error(client, with_schema(malformed))
    assert 'The CustomResourceDefinition "things.example.com" is invalid' in error
    assert "spec.x-kubernetes-unions: a union names its members" in error
    assert "NotFound" in error_of(client, "get", "crd", "things.example.com")


def test_a_value_that_selects_no_member_is_in_the_enum(
    client: Kubectl, server: ServerProcess
) -> None:
    """kubectl apply drops nulls where it creates: the enum has the value then."""
    enum: JSON = {
        "type": "string",
        "enum": ["A", "B", "Nothing"],
        "x-kubernetes-unions": FINAL,
    }
    client.apply(with_schema(spec_with(properties={"type": enum})))
    client.apply(thing(type="A", a={"x": 1}))
    merge_patch(client, "thing", "t", {"spec": {"type": "Nothing"}})
    assert live(server) == {"type": "Nothing"}

    members = as_object(FINAL["fieldMembers"])
    nulls: JSON = {"fieldMembers": {**members, "Nothing": None}}
    client("delete", "crd", "things.example.com")
    client("create", "-f", "-", stdin=manifest(with_schema(spec_with(nulls))))
    client.apply(thing(type="A", a={"x": 1}))
    merge_patch(client, "thing", "t", {"spec": {"type": "Nothing"}})
    assert live(server) == {"type": "Nothing"}


BROKEN = thing(type="A", a={"x": 1}, b={"x": 2})


def requests(server: ServerProcess, verb: str, code: int) -> int:
    """Return how many requests for custom resources were answered so."""
    total = 0
    for line in httpx.get(f"{server.url}/metrics").text.splitlines():
        labels, _, number = line.rpartition(" ")
        wanted = (f'verb="{verb}"', f'code="{code}"', 'resource=""')
        if labels.startswith("apiserver_request_total") and all(
            label in labels for label in wanted
        ):
            total += int(float(number))
    return total


def test_the_gate_is_switched_off_and_on_again(tmp_path: Path) -> None:
    """Rollback and re-enablement: objects "may have allowed invalid data to persist",
    "retrieving newly invalid CRs should still always succeed", "all modifying requests
    fail unless the data passes union validation".
    """
    store = ("--store", f"sqlite:{tmp_path / 'objects.db'}")
    home = tmp_path / "home"
    with serving(tmp_path / "on", *store) as server:
        client = Kubectl(server, home)
        client.apply(with_schema(spec_with(FINAL)))
        assert FORBIDDEN in apply_error(client, BROKEN)
        assert requests(server, "POST", 422) == 1

    with serving(tmp_path / "off", *store, "--profile", "off") as server:
        client = Kubectl(server, home)
        # The markers are still in the schema, and do nothing.
        published = server.get("/openapi/v3/apis/example.com/v1")["components"]
        spec = published["schemas"]["com.example.v1.Thing"]["properties"]["spec"]
        assert spec == spec_with(FINAL)
        client.apply(BROKEN)
        merge_patch(client, "thing", "t", {"spec": {"type": "B"}})
        merge_patch(client, "thing", "t", {"spec": {"type": "A"}})
        assert live(server) == BROKEN["spec"]
        client.apply(with_schema(spec_with({"fieldMembers": {"A": None}})))
        client.apply(with_schema(spec_with(FINAL)))
        assert requests(server, "PATCH", 422) == 0

    # Alpha: no ratcheting.
    with serving(tmp_path / "again", *store, "--no-ratchet") as server:
        client = Kubectl(server, home)
        assert (
            json.loads(client("get", "thing", "t", "-o", "json"))["spec"]
            == (BROKEN["spec"])
        )
        refused = client.run("label", "thing", "t", "a=b")
        assert FORBIDDEN in refused.stderr
        assert requests(server, "PATCH", 422) == 1
        # It has to be corrected.
        merge_patch(
            client,
            "thing",
            "t",
            {"metadata": {"labels": {"a": "b"}}, "spec": {"b": None}},
        )
        assert live(server) == {"type": "A", "a": {"x": 1}}


def test_what_was_invalid_before_is_tolerated_for_the_same_reason(
    tmp_path: Path,
) -> None:
    """Ratcheting: "if and only if the existing object also fails the stricter
    validation for the same reason".
    """
    store = ("--store", f"sqlite:{tmp_path / 'objects.db'}")
    home = tmp_path / "home"
    off = ("--profile", "off")
    with serving(tmp_path / "off", *store, *off) as server:
        client = Kubectl(server, home)
        client.apply(with_schema(spec_with(FINAL)))
        client.apply(BROKEN)
    with serving(tmp_path / "on", *store) as server:
        client = Kubectl(server, home)
        client("label", "thing", "t", "a=b")
        # Another value for a member is another reason: the object gets no worse.
        refused = client.run(
            "patch", "thing", "t", "--type=merge", "-p", '{"spec":{"a":{"x":99}}}'
        )
        assert FORBIDDEN in refused.stderr
        assert live(server) == BROKEN["spec"]
        merge_patch(client, "thing", "t", {"spec": {"type": "B"}})
        assert live(server) == {"type": "B", "b": {"x": 2}}


def test_a_definition_with_malformed_unions_of_the_past_is_served_without_them(
    tmp_path: Path,
) -> None:
    store = ("--store", f"sqlite:{tmp_path / 'objects.db'}")
    home = tmp_path / "home"
    malformed = with_schema(spec_with({"fieldMembers": {"A": "a"}}))
    with serving(tmp_path / "off", *store, "--profile", "off") as server:
        client = Kubectl(server, home)
        client.apply(malformed)
        client.apply(BROKEN)
    with serving(tmp_path / "on", *store) as server:
        client = Kubectl(server, home)
        client.apply(thing(type="B", a={}, b={}))
        assert live(server) == {"type": "B", "a": {}, "b": {}}
        (warning,) = [line for line in server.logged() if line["level"] == "warning"]
        assert warning["message"] == "parts of a schema are ignored"
        assert "the member of 'A'" in warning["error"]
        assert "the member of 'A'" in apply_error(
            client,
            {
                **malformed,
                "metadata": {"name": "things.example.com", "labels": {"a": "b"}},
            },
        )
        client.apply(with_schema(spec_with(FINAL)))
        another = {**BROKEN, "metadata": {"name": "u"}}
        assert FORBIDDEN in apply_error(client, another)


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "containers": [
            {
                "name": "app",
                "image": "nginx",
                "ports": [{"containerPort": 80, "protocol": "FOO"}],
            }
        ]
    },
}


def test_the_enums_of_built_in_kinds(client: Kubectl, server: ServerProcess) -> None:
    """KEP-2887: published, shown, and validated."""
    explained = client("explain", "pod.spec.restartPolicy")
    assert re.search(r"ENUM:\n +Always\n +Never\n +OnFailure\n", explained)
    assert "Possible enum values:" in explained
    run = client.run("apply", "-f", "-", stdin=manifest(POD))
    assert run.stderr == (
        'The Pod "p" is invalid: spec.containers[0].ports[0].protocol: Unsupported '
        'value: "FOO": supported values: "SCTP", "TCP", "UDP"\n'
    )
    answer = httpx.post(f"{server.url}/api/v1/namespaces/default/pods", json=POD)
    status = answer.json()
    assert (answer.status_code, status["reason"]) == (422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert cause["reason"] == "FieldValueNotSupported"
