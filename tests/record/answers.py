"""Record what an API server answers to the patches of three-way applies.

``python -m tests.record.answers URL TOKEN VERSION`` creates each object of
tests/data/servers/situations.yaml on a kube-apiserver, applies its modified
configuration, and writes answers.jsonl beside it, a situation a line: the live object
as the server returned it, both patches that were sent (the one of kubectl, and
``patch``), with strict field validation and as dry runs, and the answers.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from typing import Final
from urllib.parse import urlsplit

import yaml

import smp
from smp._values.values import JSON, JSONObject, as_object
from tests.support.paths import DATA

DIRECTORY: Final = DATA / "servers"
# What differs from one run to the next, or is bookkeeping of the server.
_VOLATILE: Final = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
_RESOURCES: Final = {
    "DaemonSet": "apps/v1/namespaces/default/daemonsets",
    "Deployment": "apps/v1/namespaces/default/deployments",
    "Ingress": "networking.k8s.io/v1/namespaces/default/ingresses",
    "Pod": "v1/namespaces/default/pods",
    "PodDisruptionBudget": "policy/v1/namespaces/default/poddisruptionbudgets",
    "StatefulSet": "apps/v1/namespaces/default/statefulsets",
    "ValidatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
}
_PATCH: Final = "application/strategic-merge-patch+json"


def main(url: str, token: str, version: str) -> None:
    """Write the answers of one server of a version, such as v1.36.3."""
    server = _Server(url, token)
    rows: list[JSONObject] = [{"server": version}]
    text = (DIRECTORY / "situations.yaml").read_text()
    for name, situation in yaml.safe_load(text).items():
        rows.append(_recorded(server, name, situation))
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (DIRECTORY / "answers.jsonl").write_text("\n".join(lines) + "\n")


class _Server:
    """A connection to a kube-apiserver of this machine, with any certificate."""

    def __init__(self, url: str, token: str) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        host = urlsplit(url).netloc
        self._connection = http.client.HTTPSConnection(host, context=context)
        self._token = token

    def request(
        self, method: str, path: str, body: JSON = None, media_type: str = ""
    ) -> tuple[int, JSON]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": media_type or "application/json",
        }
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def _recorded(server: _Server, name: str, situation: JSONObject) -> JSONObject:
    created = as_object(situation["created"])
    kind = str(created["kind"])
    group = _RESOURCES[kind]
    collection = f"/{'api' if group.startswith('v1/') else 'apis'}/{group}"
    url = f"{collection}/{as_object(created['metadata'])['name']}"
    server.request("DELETE", f"{url}?gracePeriodSeconds=0")
    code, live = server.request("POST", collection, created)
    if code != http.client.CREATED:
        raise SystemExit(f"{name}: {live}")
    live = _stable(as_object(live))
    last_applied = situation.get("last_applied")
    base = as_object(last_applied) if last_applied is not None else None
    modified = as_object(situation["modified"])
    result = smp.three_way_apply(
        base, modified, live, smp.kubernetes("1.36").schema_of(live)
    )
    row: JSONObject = {
        "name": name,
        "last_applied": base,
        "modified": modified,
        "live": live,
    }
    query = "?dryRun=All&fieldValidation=Strict"
    for patch_name in ("kubectl_patch", "patch"):
        patch = getattr(result, patch_name)
        code, answer = server.request("PATCH", f"{url}{query}", patch, _PATCH)
        status = as_object(answer)
        row[patch_name] = patch
        if code == http.client.OK:
            row[f"{patch_name}_answer"] = {"code": code, "object": _stable(status)}
        else:
            message = status["message"]
            row[f"{patch_name}_answer"] = {"code": code, "message": message}
    return row


def _stable(obj: JSONObject) -> JSONObject:
    metadata = as_object(obj["metadata"])
    kept = {name: metadata[name] for name in metadata if name not in _VOLATILE}
    return {**obj, "metadata": kept}


if __name__ == "__main__":
    main(*sys.argv[1:])
