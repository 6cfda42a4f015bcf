"""Record objects as a kube-apiserver prints them, keys in the order of Go's structs.

``python -m tests.record.raw_order`` writes tests/data/servers/raw_order.jsonl. kubectl
sorts keys, so it is the API that is asked. Each line has an object that was created
with its last-applied configuration, ``live`` as the server answers a GET, and a
``modified`` configuration with one value changed.
"""

from __future__ import annotations

import json
from typing import Final

import smp
from smp._values.values import JSON, JSONObject, as_object
from tests.support.apiserver import running, version
from tests.support.paths import DATA

FILE: Final = DATA / "servers" / "raw_order.jsonl"
# What differs from run to run.
_VOLATILE: Final = ("creationTimestamp", "managedFields", "resourceVersion", "uid")
_RULE: Final[JSONObject] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_PORT: Final[JSONObject] = {"name": "a", "port": {"number": 80}}
_BACKEND: Final[JSONObject] = {"service": _PORT}
_RBAC: Final = "rbac.authorization.k8s.io"


def _ingress_rule(host: str) -> JSONObject:
    path: JSONObject = {"path": "/", "pathType": "Prefix", "backend": _BACKEND}
    return {"host": host, "http": {"paths": [path]}}


def _peer(cidr: str) -> JSONObject:
    ports: JSON = [{"port": 80, "protocol": "TCP"}]
    return {"from": [{"ipBlock": {"cidr": cidr}}], "ports": ports}


def _metric(name: str, percent: int) -> JSONObject:
    target: JSONObject = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def _user(name: str) -> JSONObject:
    return {"kind": "User", "name": name, "apiGroup": _RBAC}


_TARGET: Final[JSONObject] = {
    "kind": "Deployment",
    "name": "x",
    "apiVersion": "apps/v1",
}
_ROLE: Final[JSONObject] = {"apiGroup": _RBAC, "kind": "Role", "name": "r"}
# The group and version, the kind, the resource, and what is created and applied next.
_CASES: Final[list[tuple[str, str, str, JSONObject, JSONObject]]] = [
    (
        f"{_RBAC}/v1",
        "Role",
        "roles",
        {"rules": [_RULE, {**_RULE, "resources": ["nodes"]}]},
        {"rules": [_RULE, {**_RULE, "resources": ["secrets"]}]},
    ),
    (
        f"{_RBAC}/v1",
        "RoleBinding",
        "rolebindings",
        {"roleRef": _ROLE, "subjects": [_user("u"), _user("v")]},
        {"roleRef": _ROLE, "subjects": [_user("u"), _user("w")]},
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "networkpolicies",
        {"spec": {"podSelector": {}, "ingress": [_peer("10.0.0.0/8")]}},
        {"spec": {"podSelector": {}, "ingress": [_peer("10.1.0.0/16")]}},
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        "ingresses",
        {"spec": {"rules": [_ingress_rule("a.b"), _ingress_rule("c.d")]}},
        {"spec": {"rules": [_ingress_rule("a.b"), _ingress_rule("e.f")]}},
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": _TARGET,
                "metrics": [_metric("cpu", 50), _metric("memory", 70)],
            }
        },
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": _TARGET,
                "metrics": [_metric("cpu", 60), _metric("memory", 70)],
            }
        },
    ),
]


def main() -> None:
    """Create each object, and write what a server answers."""
    lines: list[JSONObject] = [{"kube-apiserver": version()}]
    with running() as server:
        for api_version, kind, resource, first, second in _CASES:
            head: JSONObject = {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {"name": "x", "namespace": "default"},
            }
            path = f"/apis/{api_version}/namespaces/default/{resource}"
            applied = smp.with_last_applied({**head, **first})
            created = server.request("POST", path, applied)
            assert created.code == 201, created.body
            live = server.request("GET", f"{path}/x").body
            metadata = {**as_object(live["metadata"])}
            for name in _VOLATILE:
                del metadata[name]
            live = {**live, "metadata": metadata}
            lines.append({"live": live, "modified": {**head, **second}})
    FILE.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


if __name__ == "__main__":
    main()
