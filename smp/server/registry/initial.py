"""The objects that a cluster has from its start."""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject
from smp.server.objects.addresses import API_SERVER_ADDRESS

PERMANENT_NAMESPACES: Final = ("default", "kube-system", "kube-public")

# The value and the description of each priority class of the system.
_CRITICAL: Final = {
    "system-cluster-critical": (
        2000000000,
        (
            "Used for system critical pods that must run in the cluster, but can be"
            " moved to another node if necessary."
        ),
    ),
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
# Of the networks for documentation (RFC 5737): clients reach the server by its URL.
_ENDPOINT: Final = "192.0.2.1"
# The usual port of an API server; the one that this server listens on may be any.
_PORT: Final[JSONObject] = {"name": "https", "port": 6443, "protocol": "TCP"}


def _priority_class(name: str, value: int, description: str) -> JSONObject:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


_NAMESPACES: Final[tuple[JSONObject, ...]] = tuple(
    [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in (*PERMANENT_NAMESPACES, "kube-node-lease")
    ]
)
# Go: pkg/controlplane/controller, kubernetesservice and systemnamespaces, and
# pkg/registry/scheduling/rest.
INITIAL: Final[tuple[JSONObject, ...]] = (
    # First what others are in.
    *_NAMESPACES,
    *(_priority_class(name, *content) for name, content in _CRITICAL.items()),
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [
                {"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}
            ],
            "clusterIP": API_SERVER_ADDRESS,
            "clusterIPs": [API_SERVER_ADDRESS],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{"addresses": [{"ip": _ENDPOINT}], "ports": [_PORT]}],
    },
    {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [_ENDPOINT], "conditions": {"ready": True}}],
        "ports": [_PORT],
    },
)
