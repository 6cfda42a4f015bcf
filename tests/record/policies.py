"""Record what a kube-apiserver makes of requests by admission policies.

``SMP_KUBE_APISERVER=build python -m tests.record.policies`` creates the policies of
tests/data/apiserver/policies.jsonl.xz, each with its binding and parameters, sends the
requests of each with ``dryRun=All``, and writes the answers there. The first line has
the version of the server; the others are a policy with its requests and answers: the
code, the reason and the message of a Status, the warnings, and the object.
"""

from __future__ import annotations

import json
import lzma
import time
from functools import cache
from typing import Any, Final

import httpx

from tests.record.changed_definitions import MEDIA_TYPES
from tests.support.apiserver import running, version
from tests.support.paths import DATA

FILE: Final = DATA / "apiserver" / "policies.jsonl.xz"
_VERSION: Final = "admissionregistration.k8s.io/v1"
_APPLY: Final = "application/apply-patch+yaml"
# Until policies are known; nothing tells when.
_PATIENCE: Final = 8.0
_OF_THE_SERVER: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}
)


@cache
def policies() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    with lzma.open(FILE, "rt") as file:
        return tuple(json.loads(line) for line in file)[1:]


def objects_of(policy: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a policy and its binding."""
    kind, metadata = policy["kind"], {"name": policy["name"]}
    spec = {"policyName": policy["name"], **policy["binding"]}
    return [
        {**_of_kind(kind), "metadata": metadata, "spec": policy["spec"]},
        {**_of_kind(f"{kind}Binding"), "metadata": metadata, "spec": spec},
    ]


def _of_kind(kind: str) -> dict[str, Any]:
    return {"apiVersion": _VERSION, "kind": kind}


def set_up(client: httpx.Client) -> None:
    """Create parameters, policies and bindings; some are refused."""
    for policy in policies():
        for obj in policy["objects"]:
            client.post(_place_of(obj["kind"].lower() + "s"), json=obj)
    for policy in policies():
        for obj in objects_of(policy):
            plural = obj["kind"].lower().removesuffix("y") + "ies"
            if obj["kind"].endswith("Binding"):
                plural = obj["kind"].lower() + "s"
            client.post(f"/apis/{_VERSION}/{plural}", json=obj)


def _place_of(resource: str) -> str:
    root = "/apis/apps/v1" if resource.startswith("deployment") else "/api/v1"
    return f"{root}/namespaces/default/{resource.partition('/')[0]}"


def ask(client: httpx.Client, request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, without what differs from run to run."""
    method, resource, obj = request["method"], request["resource"], request["object"]
    path = _place_of(resource)
    if method != "POST":
        path += f"/{obj['metadata']['name']}"
        path += "".join(resource.partition("/")[1:])
    options = "?dryRun=All"
    media_type = MEDIA_TYPES.get(method, _APPLY)
    if method == "APPLY":
        method, options = "PATCH", f"{options}&fieldManager=me"
    answer = client.request(
        method,
        path + options,
        content=None if method == "DELETE" else json.dumps(obj),
        headers={"Content-Type": media_type},
    )
    body = answer.json()
    told: dict[str, Any] = {
        "code": answer.status_code,
        "warnings": sorted(answer.headers.get_list("warning")),
    }
    if body.get("kind") == "Status":
        return {**told, "reason": body.get("reason"), "message": body.get("message")}
    kept = {
        name: value
        for name, value in body["metadata"].items()
        if name not in _OF_THE_SERVER
    }
    return {**told, "object": {**body, "metadata": kept}}


def main() -> None:
    """Write the record anew."""
    lines: list[dict[str, Any]] = [{"server": version()}]
    with running() as server:
        set_up(server.client)
        time.sleep(_PATIENCE)
        for policy in policies():
            answers = [ask(server.client, request) for request in policy["requests"]]
            lines.append({**policy, "answers": answers})
    with lzma.open(FILE, "wt") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
