"""What a kube-apiserver v1.36.3 stored on a dry run, and is no error."""

from __future__ import annotations

from typing import Any

import smp
from smp.lint import lint


def find_errors(obj: dict[str, Any]) -> list[str]:
    schema = smp.kubernetes("1.36").schema(obj["apiVersion"], obj["kind"])
    found = lint(obj, schema, form="manifest")
    return [each.code for each in found if each.severity == "error"]


def make_object(api_version: str, kind: str, name: str, **fields: Any) -> Any:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def test_what_a_server_stores_is_no_error() -> None:
    rbac, networking = "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", None]}
    policy = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [None]}
    accepted = [
        make_object(
            "policy/v1", "PodDisruptionBudget", "A_B", spec={"minAvailable": 1}
        ),
        make_object(rbac, "Role", "null-verb", rules=[rule]),
        make_object(networking, "NetworkPolicy", "null-rule", spec=policy),
        # Only client-side apply would be refused, for its annotation.
        make_object("v1", "ConfigMap", "large", data={"text": "x" * 300_000}),
    ]
    assert [(obj["kind"], find_errors(obj)) for obj in accepted] == [
        (obj["kind"], []) for obj in accepted
    ]
