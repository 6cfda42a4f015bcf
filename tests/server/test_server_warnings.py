"""The Warning headers of what is accepted, as kube-apiserver 1.36.3 sent them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.server_app import DEPLOYMENTS, MERGE, Served, serving

CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
AFFINITY: dict[str, Any] = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [
                        {
                            "key": "beta.kubernetes.io/arch",
                            "operator": "In",
                            "values": ["x"],
                        }
                    ]
                },
            }
        ]
    },
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]
    },
}
CLAIM: dict[str, Any] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "100m"}},
}
CONTAINER: dict[str, Any] = {
    "name": "app",
    "image": "app:1",
    "resources": {"limits": {"memory": "128m"}},
    "env": [{"name": "A", "value": value} for value in ("1", "$(A)2", "3")],
    "ports": [
        {"containerPort": 53, "name": "dns"},
        {"containerPort": 80, "hostPort": 81},
        {"containerPort": 80, "hostPort": 81, "hostIP": "192.0.2.1"},
        {"containerPort": 90, "hostIP": "192.0.2.1"},
        {"containerPort": 80},
    ],
}
SPEC: dict[str, Any] = {
    "nodeSelector": {"beta.kubernetes.io/os": "linux"},
    "terminationGracePeriodSeconds": -1,
    "hostAliases": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.1"}],
    "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "failure-domain.beta.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }
    ],
    "affinity": AFFINITY,
    "volumes": [
        {"name": "old", "glusterfs": {"endpoints": "a", "path": "b"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
    ],
    "initContainers": [
        {
            "name": "first",
            "image": "app:1",
            "ports": [{"containerPort": 53, "name": "dns"}],
        }
    ],
    "containers": [CONTAINER],
}
TOLD = """\
metadata.name: this is used in Pod names and hostnames, which can result in surprising \
behavior; a DNS label is recommended: [must not contain dots]
spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \
"kubernetes.io/os" instead
spec.template.spec.affinity.nodeAffinity.\
preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: \
beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead
spec.template.spec.topologySpreadConstraints[0].topologyKey: \
failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use \
"topology.kubernetes.io/zone" instead
spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector \
results in matching no pod
spec.template.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: \
non-functional in v1.16+; use the "priorityClassName" field instead
spec.template.spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+
spec.template.spec.volumes[1].ephemeral.volumeClaimTemplate.spec.resources.requests\
[storage]: fractional byte value "100m" is invalid, must be an integer
spec.template.spec.hostAliases[1].ip: duplicate ip "192.0.2.1"
spec.template.spec.imagePullSecrets[1].name: duplicate name "a"
spec.template.spec.imagePullSecrets[2].name: invalid empty name ""
spec.template.spec.containers[0].resources.limits[memory]: fractional byte value \
"128m" is invalid, must be an integer
spec.template.spec.containers[0].env[2]: hides previous definition of "A", which may \
be dropped when using apply
spec.template.spec.containers[0].ports[0]: duplicate port definition with \
spec.template.spec.initContainers[0].ports[0]
spec.template.spec.containers[0].ports[2]: dangerously ambiguous port definition with \
spec.template.spec.containers[0].ports[1]
spec.template.spec.containers[0].ports[3]: hostIP set without hostPort: {Name: \
HostPort:0 ContainerPort:90 Protocol:TCP HostIP:192.0.2.1}
spec.template.spec.containers[0].ports[4]: overlapping port definition with \
spec.template.spec.containers[0].ports[1]
spec.template.spec.containers[0].ports[4]: overlapping port definition with \
spec.template.spec.containers[0].ports[2]
spec.template.spec.containers[0].ports[0]: duplicate port name "dns" with \
spec.template.spec.initContainers[0].ports[0], services and probes that select ports \
by name will use spec.template.spec.initContainers[0].ports[0]
spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are \
invalid and will be treated as 1
spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution\
[0].labelSelector: a null labelSelector results in matching no pod
"""
LABELS = {"app": "web"}


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


def told(server: Served, method: str, path: str, body: Any, media_type: str) -> str:
    answer = server.call(method, path, body, content_type=media_type)
    assert answer.status_code in (200, 201), answer.text
    texts = [each[len('299 - "') : -1] for each in answer.headers.get_list("Warning")]
    return "".join(text.replace('\\"', '"') + "\n" for text in texts)


def test_a_template_of_pods_is_warned_of(server: Served) -> None:
    annotations = {"scheduler.alpha.kubernetes.io/critical-pod": ""}
    template = {
        "metadata": {"labels": LABELS, "annotations": annotations},
        "spec": SPEC,
    }
    deployment = {
        "metadata": {"name": "a.b"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template},
    }
    assert told(server, "POST", DEPLOYMENTS, deployment, "application/json") == TOLD
    # What does not count says nothing new.
    labeled = {"metadata": {"labels": LABELS}}
    assert told(server, "PATCH", f"{DEPLOYMENTS}/a.b", labeled, MERGE) == ""


def test_an_update_of_a_controller_is_warned_of_what_it_was(server: Served) -> None:
    container = {"name": "app", "image": "app:1"}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    body = {"metadata": {"name": "a"}, "spec": {"template": template}}
    server.post(CONTROLLERS, body)
    found = []
    for seconds in (-1, -2, 5):
        pod = {"spec": {"terminationGracePeriodSeconds": seconds}}
        patch = {"spec": {"template": pod}}
        found.append(bool(told(server, "PATCH", f"{CONTROLLERS}/a", patch, MERGE)))
    assert found == [False, True, True]


OTHERS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        {
            "metadata": {"annotations": {"kubernetes.io/ingress.class": "nginx"}},
            "spec": {
                "defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}
            },
        },
        [
            (
                'annotation "kubernetes.io/ingress.class" is deprecated, please use'
                " 'spec.ingressClassName' instead"
            )
        ],
    ),
    (
        "/api/v1/namespaces/default/services",
        {
            "spec": {
                "clusterIP": "None",
                "sessionAffinity": "ClientIP",
                "externalName": "a.b",
                "ports": [{"port": 1}],
            }
        },
        [
            "spec.SessionAffinity is ignored for headless services",
            'spec.externalName is ignored when spec.type is not "ExternalName"',
        ],
    ),
    (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "metadata": {
                "annotations": {"volume.beta.kubernetes.io/storage-class": "a"}
            },
            "spec": CLAIM,
        },
        [
            (
                "metadata.annotations[volume.beta.kubernetes.io/storage-class]:"
                ' deprecated since v1.8; use "storageClassName" attribute instead'
            ),
            (
                'spec.resources.requests[storage]: fractional byte value "100m" is'
                " invalid, must be an integer"
            ),
        ],
    ),
    (
        "/api/v1/persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "rbd": {"monitors": ["a"], "image": "b"},
            }
        },
        ["spec.rbd: deprecated in v1.28, non-functional in v1.31+"],
    ),
    (
        "/apis/node.k8s.io/v1/runtimeclasses",
        {
            "handler": "a",
            "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        },
        [
            (
                "scheduling.nodeSelector: deprecated since v1.14; use"
                ' "kubernetes.io/os" instead'
            )
        ],
    ),
    (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {"addressType": "FQDN", "endpoints": [{"addresses": ["a.b"]}]},
        ["spec.addressType: FQDN endpoints are deprecated"],
    ),
    (
        "/api/v1/nodes",
        {"spec": {"externalID": "a"}},
        ["spec.externalID: this field is deprecated, and is unused by Kubernetes"],
    ),
]


def test_other_kinds_are_warned_of(server: Served) -> None:
    failures = []
    for path, fields, expected in OTHERS:
        body = {**fields, "metadata": {**fields.get("metadata", {}), "name": "a"}}
        found = told(server, "POST", path, body, "application/json").splitlines()
        if found != expected:
            failures.append((path, found))
    assert failures == []
