"""The schemas under test: real kinds, and one made-up type with every strategy."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from smp._values.values import JSON, JSONObject
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline

KINDS: Final = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "PersistentVolume"),
    ("v1", "ServiceAccount"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("networking.k8s.io/v1", "Ingress"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
)
PODS: Final = {
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
}
"""The kinds that hold a pod or a pod template."""


class Subject(NamedTuple):
    """A schema under test, and how a request names it to the reference."""

    name: str
    schema: Schema
    reference: JSONObject


@cache
def subjects() -> tuple[Subject, ...]:
    """Return the kinds under test; the last subject is the type with all strategies."""
    catalog = kubernetes()
    real = [
        Subject(kind, catalog.schema(api, kind), {"kind": f"{api} {kind}"})
        for api, kind in KINDS
    ]
    every = inline(
        {"$ref": "#/components/schemas/Every", "components": {"schemas": EVERY}}
    )
    lookup: JSONObject = {
        "lookup": "openapi",
        "definitions_name": "every",
        "root": "Every",
    }
    return (*real, Subject("Every", every, lookup))


def _list_of(items: JSON, strategy: str = "", merge_key: str = "") -> JSONObject:
    node: JSONObject = {"type": "array", "items": items}
    if strategy:
        node["x-kubernetes-patch-strategy"] = strategy
    if merge_key:
        node["x-kubernetes-patch-merge-key"] = merge_key
    return node


def _every_strategy() -> JSONObject:
    """Describe a type with a field for each strategy of each shape.

    Objects and elements of lists are of this type again, so that strategies nest.
    """
    itself: JSONObject = {"$ref": "#/components/schemas/Every"}
    # OpenAPI 3.0 ignores what stands beside a $ref, so fields wrap it in allOf.
    child: JSONObject = {"allOf": [itself]}
    string: JSONObject = {"type": "string"}
    integer: JSONObject = {"type": "integer"}
    strategy = "x-kubernetes-patch-strategy"
    properties: JSONObject = {
        "name": string,
        "port": integer,
        "value": string,
        "labels": {"type": "object", "additionalProperties": string},
        "kept": {**child, strategy: "retainKeys"},
        "whole": {**child, strategy: "replace"},
        "wholeKept": {**child, strategy: "replace,retainKeys"},
        "child": child,
        "named": _list_of(child, "merge", "name"),
        "numbered": _list_of(child, "merge", "port"),
        "namedKept": _list_of(child, "merge,retainKeys", "name"),
        "replaced": _list_of(child, "replace", "name"),
        "atomic": _list_of(child),
        "tags": _list_of(string, "merge"),
        "counts": _list_of(integer, "merge"),
        "words": _list_of(string),
        "newWords": _list_of(string, "replace"),
        "keyless": _list_of(child, "merge"),
    }
    return {"Every": {"type": "object", "properties": properties}}


EVERY: Final = _every_strategy()
"""OpenAPI definitions with one type, ``Every``; the reference gets the same ones."""
