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
from copy import deepcopy
from functools import cache
from typing import Any, Final

import httpx

from tests.record.changed_definitions import MEDIA_TYPES
from tests.support.apiserver import running, version
from tests.support.paths import DATA

FILE: Final = DATA / "apiserver" / "policies.jsonl.xz"
MALFORMED: Final = DATA / "apiserver" / "malformed_policies.jsonl"
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


@cache
def malformed() -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Read the sound policies and bindings, and the changes."""
    head, *changes = map(json.loads, MALFORMED.read_text().splitlines())
    return tuple(head["bases"]), tuple(changes)


def change(bases: tuple[dict[str, Any], ...], each: dict[str, Any]) -> dict[str, Any]:
    """Return the object with a change; one without a value removes the field."""
    [base] = (base for base in bases if base["kind"] == each["kind"])
    whole: dict[str, Any] = deepcopy(base)
    *above, last = each["path"]
    at: Any = whole
    for step in above:
        at = at[step]
    if "value" in each:
        at[last] = each["value"]
    else:
        del at[last]
    return whole


def record_malformed(client: httpx.Client) -> None:
    """Write the record of malformed policies anew."""
    bases, changes = malformed()
    lines: list[dict[str, Any]] = [{"server": version(), "bases": bases}]
    for each in changes:
        obj = change(bases, each)
        path = f"/apis/{_VERSION}/{_plural_of(obj)}?dryRun=All"
        body = client.post(path, json=obj).json()
        told = body["message"] if body.get("kind") == "Status" else ""
        lines.append({**each, "message": told})
    MALFORMED.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


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
            client.post(f"/apis/{_VERSION}/{_plural_of(obj)}", json=obj)


def _plural_of(obj: dict[str, Any]) -> str:
    kind: str = obj["kind"].lower()
    return f"{kind}s" if kind.endswith("g") else f"{kind.removesuffix('y')}ies"


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
        record_malformed(server.client)
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
