"""Manifests as people write them, and the changes that people and programs make.

A manifest is drawn from tables: which fields of a kind are written, how often, and what
their values are. A change draws one of the fields anew, removes it, empties it, or
changes the elements of a list, so that a change meets whatever a field can be: another
member of a union, a value that may not change, a value outside an enum. Most results
are valid; an API server has to say which are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Final, NamedTuple, TypeAlias, cast

from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object

Draw: TypeAlias = Callable[[Random], JSON]


class Part(NamedTuple):
    """A field that may be written.

    ``often`` is how often a new object has it, ``weight`` how likely a change is to be
    about it.
    """

    often: float
    draw: Draw
    weight: float = 1.0


Parts: TypeAlias = Mapping[str, Part]


def _one(*values: JSON) -> Draw:
    return lambda random: deepcopy(random.choice(values))


_TRUE: Final[tuple[JSON, ...]] = (True,)
_BOTH: Final[tuple[JSON, ...]] = (True, False)


def _enum(*values: str) -> Draw:
    """Draw one of the values of an enum; one time in forty it is none of them."""

    def draw(random: Random) -> JSON:
        return "Sometimes" if random.random() < 0.025 else random.choice(values)

    return draw


def _map(names: str, values: str) -> Draw:
    def draw(random: Random) -> JSON:
        known = names.split()
        chosen = random.sample(known, random.randint(1, min(3, len(known))))
        return {name: random.choice(values.split()) for name in chosen}

    return draw


def _elements(key: str, draw: Draw, most: int = 3) -> Draw:
    """Draw a list whose elements mostly differ in their key."""

    def drawn(random: Random) -> JSON:
        found: dict[str, JSON] = {}
        for _ in range(random.randint(1, most)):
            element = draw(random)
            found[str(as_object(element).get(key, element))] = element
        return [*found.values()]

    return drawn


def _object(parts: Parts) -> Draw:
    def draw(random: Random) -> JSON:
        result: JSONObject = {}
        for path, part in parts.items():
            if random.random() < part.often:
                _put(result, path, part.draw(random))
        return result

    return draw


def _union(members: JSONObject, *, none: float = 0.0, two: float = 0.03) -> Draw:
    """Draw an object with one member; now and then with none or with two."""

    def draw(random: Random) -> JSON:
        chance = random.random()
        count = 1
        if chance < none:
            count = 0
        elif chance < none + two:
            count = 2
        chosen = random.sample([*members], min(count, len(members)))
        return {name: deepcopy(members[name]) for name in chosen}

    return draw


def _typed(rows: tuple[JSONObject, ...]) -> Draw:
    return _one(*rows)


def _merged(first: Draw, second: Draw) -> Draw:
    def draw(random: Random) -> JSON:
        return {**as_object(first(random)), **as_object(second(random))}

    return draw


# The parts of containers and Pods.

_FIELD: Final[JSONObject] = {"fieldRef": {"fieldPath": "metadata.name"}}
_RESOURCE_FIELD: Final[JSONObject] = {
    "resourceFieldRef": {"containerName": "app", "resource": "limits.cpu"}
}
_ENV_VALUE: Final = _union(
    {
        "value": "1",
        "valueFrom": _FIELD,
    },
    none=0.05,
)
_ENV_SOURCE: Final = _union(
    {
        "configMapKeyRef": {"name": "settings", "key": "mode"},
        "secretKeyRef": {"name": "login", "key": "password"},
        **_FIELD,
        "resourceFieldRef": {"resource": "limits.cpu"},
    },
)


def _env(random: Random) -> JSON:
    name = random.choice(["MODE", "HOST", "LEVEL", "TOKEN", "DEBUG"])
    chance = random.random()
    if chance < 0.45:
        return {"name": name, "value": random.choice(["1", "2", "on", "true", ""])}
    if chance < 0.8:
        return {"name": name, "valueFrom": _ENV_SOURCE(random)}
    return {"name": name, **as_object(_ENV_VALUE(random))}


def _container_port(random: Random) -> JSON:
    port: JSONObject = {"containerPort": random.choice([53, 80, 443, 8080, 9090])}
    if random.random() < 0.5:
        port["protocol"] = random.choice(["TCP", "UDP"])
    if random.random() < 0.5:
        port["name"] = random.choice(["http", "https", "dns", "dns-tcp", "metrics"])
    return port


def _container_ports(random: Random) -> JSON:
    if random.random() < 0.2:
        # One port of two protocols: the merge key containerPort is not unique.
        return [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ]
    return _elements("containerPort", _container_port)(random)


_HANDLERS: Final[JSONObject] = {
    "exec": {"command": ["/bin/check"]},
    "httpGet": {"path": "/healthz", "port": 8080},
    "tcpSocket": {"port": 8080},
}
_PROBE: Final = _merged(
    _union({**_HANDLERS, "grpc": {"port": 9090}}, none=0.01),
    _object(
        {
            "periodSeconds": Part(0.5, _one(5, 10, 30)),
            "initialDelaySeconds": Part(0.3, _one(0, 3)),
            "failureThreshold": Part(0.2, _one(3, 5)),
        }
    ),
)
_LIFECYCLE: Final = _object(
    {
        "postStart": Part(0.5, _union(_HANDLERS)),
        "preStop": Part(0.8, _union({**_HANDLERS, "sleep": {"seconds": 3}})),
    }
)
_RESOURCES: Final = _one(
    {"limits": {"cpu": "500m", "memory": "128Mi"}},
    {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
    {"requests": {"cpu": "0.1", "memory": "64Mi"}},
    {"limits": {"memory": "256Mi"}},
    {},
)
_SECCOMP: Final = _typed(
    (
        {"type": "RuntimeDefault"},
        {"type": "Unconfined"},
        {"type": "Localhost", "localhostProfile": "a.json"},
        {"type": "Localhost", "localhostProfile": "b.json"},
        {"type": "RuntimeDefault", "localhostProfile": "a.json"},
    )
)
_CONTAINER_SECURITY: Final = _object(
    {
        "runAsUser": Part(0.5, _one(0, 1000)),
        "readOnlyRootFilesystem": Part(0.4, _one(*_BOTH)),
        "allowPrivilegeEscalation": Part(0.3, _one(*_BOTH[1:])),
        "capabilities": Part(0.3, _one({"drop": ["ALL"]}, {"add": ["NET_ADMIN"]})),
        "seccompProfile": Part(0.5, _SECCOMP),
        "appArmorProfile": Part(0.3, _SECCOMP),
    }
)
_VOLUME_NAMES: Final = ("data", "config", "cache", "tls")
_MOUNT: Final = _object(
    {
        "name": Part(1.0, _one(*_VOLUME_NAMES)),
        "mountPath": Part(1.0, _one("/data", "/etc/app", "/cache", "/tls")),
        "readOnly": Part(0.3, _one(*_BOTH)),
        "subPath": Part(0.1, _one("part")),
    }
)
_CONTAINER: Final[Parts] = {
    "name": Part(1.0, _one("app", "proxy", "log", "metrics"), 0.3),
    "image": Part(1.0, _one("app:1", "app:2", "proxy:1", "log:3"), 3.0),
    "imagePullPolicy": Part(0.2, _enum("Always", "IfNotPresent", "Never")),
    "command": Part(0.2, _one(["/bin/app"], ["/bin/app", "-v"])),
    "args": Part(0.3, _one(["-v"], ["-v", "--port=80"], [])),
    "ports": Part(0.5, _container_ports, 2.0),
    "env": Part(0.6, _elements("name", _env, 4), 3.0),
    "envFrom": Part(
        0.1,
        _elements(
            "",
            _union({"configMapRef": {"name": "all"}, "secretRef": {"name": "login"}}),
            2,
        ),
    ),
    "resources": Part(0.4, _RESOURCES),
    "livenessProbe": Part(0.25, _PROBE, 1.5),
    "readinessProbe": Part(0.25, _PROBE, 1.5),
    "lifecycle": Part(0.15, _LIFECYCLE),
    "securityContext": Part(0.2, _CONTAINER_SECURITY),
    "volumeMounts": Part(0.4, _elements("mountPath", _MOUNT), 1.5),
    "terminationMessagePolicy": Part(0.05, _enum("File", "FallbackToLogsOnError")),
}
_PROJECTIONS: Final = _union(
    {
        "configMap": {"name": "settings"},
        "secret": {"name": "login"},
        "serviceAccountToken": {"path": "token"},
        "downwardAPI": {"items": [{"path": "name", **_FIELD}]},
    },
    none=0.03,
)
_DOWNWARD_ITEM: Final = _merged(
    _one({"path": "name"}, {"path": "cpu"}), _union({**_FIELD, **_RESOURCE_FIELD})
)


_SOURCES: Final = (
    "emptyDir",
    "configMap",
    "secret",
    "hostPath",
    "downwardAPI",
    "projected",
    "persistentVolumeClaim",
    "csi",
    "nfs",
    # Those that most manifests have.
    "emptyDir",
    "configMap",
)


def _volume_source(random: Random) -> JSON:
    name = random.choice(_SOURCES)
    sources: dict[str, Draw] = {
        "emptyDir": _one({}, {"medium": "Memory"}, {"sizeLimit": "1Gi"}),
        "configMap": _one(
            {"name": "settings"},
            {"name": "settings", "items": [{"key": "a", "path": "a"}]},
            {"name": "settings", "optional": True},
        ),
        "secret": _one({"secretName": "login"}, {"secretName": "login", "items": []}),
        "hostPath": _one({"path": "/srv"}, {"path": "/srv", "type": "Directory"}),
        "downwardAPI": _object(
            {"items": Part(1.0, _elements("path", _DOWNWARD_ITEM, 2))}
        ),
        "projected": _object({"sources": Part(1.0, _elements("", _PROJECTIONS))}),
        "persistentVolumeClaim": _one({"claimName": "data"}),
        "csi": _one({"driver": "csi.example.com"}),
        "nfs": _one({"server": "nfs", "path": "/"}),
    }
    result: JSONObject = {name: sources[name](random)}
    if random.random() < 0.03:
        result["emptyDir"] = {}
    return {} if random.random() < 0.03 else result


_VOLUME: Final = _merged(
    _object({"name": Part(1.0, _one(*_VOLUME_NAMES))}), _volume_source
)
_TOLERATION: Final = _typed(
    (
        {"key": "gpu", "operator": "Exists"},
        {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
        {"key": "spot", "operator": "Exists", "effect": "NoExecute"},
        {"operator": "Exists"},
    )
)
_SPREAD: Final = _object(
    {
        "maxSkew": Part(1.0, _one(1, 2)),
        "topologyKey": Part(1.0, _one("zone", "host")),
        "whenUnsatisfiable": Part(1.0, _enum("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": Part(0.7, _one({"matchLabels": {"app": "web"}})),
    }
)
_NODE_AFFINITY: Final = _one(
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
                ]
            }
        }
    },
    {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 10,
                    "podAffinityTerm": {
                        "topologyKey": "zone",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    },
                }
            ]
        }
    },
)


def _containers(most: int) -> Draw:
    return _elements("name", _object(_CONTAINER), most)


def _pod_parts(*, restart: tuple[str, ...], often: float) -> Parts:
    return {
        "containers": Part(1.0, _containers(3), 1.0),
        "initContainers": Part(0.1, _containers(1), 0.5),
        "volumes": Part(0.5, _elements("name", _VOLUME, 4), 3.0),
        "restartPolicy": Part(often, _enum(*restart), 0.5),
        "nodeSelector": Part(0.2, _map("disk zone arch", "ssd a b amd64")),
        "tolerations": Part(0.2, _elements("key", _TOLERATION)),
        "serviceAccountName": Part(0.2, _one("web", "default")),
        "terminationGracePeriodSeconds": Part(0.2, _one(0, 30, 60)),
        "dnsPolicy": Part(0.1, _enum("ClusterFirst", "Default")),
        "imagePullSecrets": Part(
            0.15, _elements("name", _one({"name": "registry"}, {"name": "mirror"}))
        ),
        "securityContext": Part(
            0.2,
            _object(
                {
                    "runAsNonRoot": Part(0.5, _one(*_BOTH)),
                    "fsGroup": Part(0.4, _one(0, 2000)),
                    "seccompProfile": Part(0.6, _SECCOMP),
                }
            ),
        ),
        "affinity": Part(0.1, _NODE_AFFINITY),
        "topologySpreadConstraints": Part(0.1, _elements("", _SPREAD, 2)),
        "hostAliases": Part(
            0.05,
            _elements("ip", _one({"ip": "10.1.1.1", "hostnames": ["a"]}), 2),
        ),
        "enableServiceLinks": Part(0.05, _one(*_BOTH)),
        "resourceClaims": Part(
            0.04,
            _elements(
                "name",
                _merged(
                    _one({"name": "gpu"}),
                    _union(
                        {
                            "resourceClaimName": "gpu",
                            "resourceClaimTemplateName": "gpus",
                        }
                    ),
                ),
                1,
            ),
        ),
    }


_ALWAYS: Final = _pod_parts(restart=("Always",), often=0.05)
_ONCE: Final = _pod_parts(restart=("Never", "OnFailure"), often=1.0)
_ANY: Final = _pod_parts(restart=("Always", "Never", "OnFailure"), often=0.2)

# Where the spec of a Pod stands, and its parts.
POD_SPECS: Final[Mapping[str, tuple[str, Parts]]] = {
    "Deployment": ("spec.template.spec", _ALWAYS),
    "StatefulSet": ("spec.template.spec", _ALWAYS),
    "DaemonSet": ("spec.template.spec", _ALWAYS),
    "ReplicaSet": ("spec.template.spec", _ALWAYS),
    "Job": ("spec.template.spec", _ONCE),
    "CronJob": ("spec.jobTemplate.spec.template.spec", _ONCE),
    "Pod": ("spec", _ANY),
}

# The parts of kinds.

_LABELS: Final = _map("app tier team", "web api core red")
_SELECTOR: Final[JSONObject] = {"matchLabels": {"app": "web"}}
_TEMPLATE_LABELS: Final = _typed(
    ({"app": "web"}, {"app": "web", "tier": "front"}, {"app": "web", "tier": "back"})
)
_METADATA: Final[Parts] = {
    "metadata.labels": Part(0.6, _LABELS, 2.0),
    "metadata.annotations": Part(0.3, _map("note owner example.com/a", "x y z"), 2.0),
}
_PERCENT: Final = _one(1, 2, "25%", "50%")
_METRIC_SOURCES: Final[JSONObject] = {
    "Resource": {
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60},
        }
    },
    "ContainerResource": {
        "containerResource": {
            "name": "cpu",
            "container": "app",
            "target": {"type": "Utilization", "averageUtilization": 70},
        }
    },
    "Pods": {
        "pods": {
            "metric": {"name": "hits"},
            "target": {"type": "AverageValue", "averageValue": "5"},
        }
    },
    "Object": {
        "object": {
            "metric": {"name": "hits"},
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
            "target": {"type": "Value", "value": "1k"},
        }
    },
    "External": {
        "external": {
            "metric": {"name": "queue"},
            "target": {"type": "AverageValue", "averageValue": "30"},
        }
    },
}


def _metric(random: Random) -> JSON:
    name = random.choice([*_METRIC_SOURCES])
    result: JSONObject = {"type": name, **as_object(deepcopy(_METRIC_SOURCES[name]))}
    if random.random() < 0.04:
        result["type"] = random.choice([*_METRIC_SOURCES])
    return result


def _service_port(random: Random) -> JSON:
    port = random.choice([53, 80, 443, 9090])
    protocol = random.choice(["TCP", "TCP", "UDP"])
    result: JSONObject = {"name": f"p{port}-{protocol.lower()}", "port": port}
    if protocol == "UDP" or random.random() < 0.4:
        result["protocol"] = protocol
    if random.random() < 0.5:
        result["targetPort"] = random.choice(["http", 8080, port])
    return result


def _service_ports(random: Random) -> JSON:
    if random.random() < 0.25:
        return [
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        ]
    return _elements("name", _service_port)(random)


_POLICY_PORTS: Final = _one(
    [{"port": 80}],
    [{"protocol": "TCP", "port": 443}, {"protocol": "UDP", "port": 53}],
    [{"port": 8000, "endPort": 8100, "protocol": "TCP"}],
)
_PEER: Final = _union(
    {
        "ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]},
        "namespaceSelector": {"matchLabels": {"team": "red"}},
        "podSelector": {"matchLabels": {"app": "web"}},
    },
    none=0.03,
    two=0.15,
)
_RULE: Final = _object(
    {
        "apiGroups": Part(1.0, _one([""], ["apps"], ["", "apps"])),
        "resources": Part(1.0, _one(["pods"], ["configmaps", "secrets"])),
        "verbs": Part(1.0, _one(["get"], ["get", "list", "watch"], ["*"])),
        "resourceNames": Part(0.1, _one(["web"])),
    }
)
_SUBJECT: Final = _typed(
    (
        {"kind": "ServiceAccount", "name": "web", "namespace": "default"},
        {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "devs"},
    )
)
_BACKEND: Final = _union(
    {
        "service": {"name": "web", "port": {"number": 80}},
        "resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "files"},
    },
)


def _backend(random: Random) -> JSON:
    result = as_object(_BACKEND(random))
    service = result.get("service")
    if isinstance(service, dict):
        service["port"] = _one(
            {"number": 80}, {"name": "http"}, {"number": 81, "name": "http"}, {}
        )(random)
        if random.random() < 0.8:
            service["port"] = _one({"number": 80}, {"name": "http"})(random)
    return result


_INGRESS_PATH: Final = _object(
    {
        "path": Part(0.9, _one("/", "/api", "/static")),
        "pathType": Part(1.0, _enum("Prefix", "Exact", "ImplementationSpecific")),
        "backend": Part(1.0, _backend),
    }
)
_INGRESS_RULE: Final = _object(
    {
        "host": Part(0.8, _one("a.example.com", "b.example.com")),
        "http.paths": Part(0.9, _elements("path", _INGRESS_PATH)),
    }
)
_CLAIM: Final[Parts] = {
    "accessModes": Part(1.0, _one(["ReadWriteOnce"], ["ReadOnlyMany"]), 0.4),
    "resources.requests.storage": Part(1.0, _one("1Gi", "2Gi", "1024Mi")),
    "storageClassName": Part(0.3, _one("fast", "slow", ""), 0.4),
    "volumeMode": Part(0.2, _enum("Filesystem", "Block"), 0.2),
}
_CLAIM_TEMPLATE: Final = _object(
    {
        "metadata.name": Part(1.0, _one("data", "cache")),
        **{f"spec.{path}": part for path, part in _CLAIM.items()},
    }
)
_PERSISTENT: Final = _union(
    {
        "hostPath": {"path": "/srv"},
        "nfs": {"server": "nfs", "path": "/"},
        "csi": {"driver": "csi.example.com", "volumeHandle": "h1"},
        "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.a:b", "lun": 0},
    },
)
_WEBHOOK: Final = _object(
    {
        "name": Part(1.0, _one("a.example.com", "b.example.com")),
        "admissionReviewVersions": Part(1.0, _one(["v1"], ["v1", "v1beta1"])),
        "sideEffects": Part(1.0, _enum("None", "NoneOnDryRun")),
        "clientConfig": Part(
            1.0,
            _union(
                {
                    "url": "https://a.example.com/",
                    "service": {"name": "hook", "namespace": "default"},
                }
            ),
        ),
        "failurePolicy": Part(0.4, _enum("Fail", "Ignore")),
        "timeoutSeconds": Part(0.3, _one(5, 10)),
        "rules": Part(
            0.8,
            _one(
                [
                    {
                        "apiGroups": ["example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["buckets"],
                    }
                ]
            ),
        ),
    }
)
_REPLICAS: Final = Part(0.7, _one(0, 1, 2, 3), 2.0)
_WORKLOAD: Final[Parts] = {
    "spec.selector": Part(1.0, _one(_SELECTOR, {"matchLabels": {"app": "api"}}), 0.25),
    "spec.template.metadata.labels": Part(1.0, _TEMPLATE_LABELS),
}
_JOB: Final[Parts] = {
    "completions": Part(0.4, _one(1, 2, 3), 0.4),
    "parallelism": Part(0.4, _one(1, 2), 1.5),
    "backoffLimit": Part(0.4, _one(0, 6)),
    "activeDeadlineSeconds": Part(0.2, _one(60, 600)),
    "ttlSecondsAfterFinished": Part(0.2, _one(0, 100)),
    "suspend": Part(0.3, _one(*_BOTH)),
    "completionMode": Part(0.2, _enum("Indexed", "NonIndexed"), 0.3),
}
_POD_DEFAULT: Final[Parts] = {"template.metadata.labels": Part(0.4, _TEMPLATE_LABELS)}


class Kind(NamedTuple):
    """A kind: its parts, and how many cases it has beside others."""

    api_version: str
    resource: str
    parts: Parts
    namespaced: bool = True
    share: int = 3


def _below(prefix: str, *tables: Parts) -> Parts:
    return {
        f"{prefix}.{path}": part for parts in tables for path, part in parts.items()
    }


KINDS: Final[Mapping[str, Kind]] = {
    "Deployment": Kind(
        "apps/v1",
        "deployments",
        {
            **_WORKLOAD,
            "spec.replicas": _REPLICAS,
            "spec.strategy": Part(
                0.5,
                _typed(
                    (
                        {"type": "Recreate"},
                        {"type": "RollingUpdate"},
                        {"rollingUpdate": {"maxSurge": 1}},
                        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%"}},
                        {"type": "Recreate", "rollingUpdate": None},
                        {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
                    )
                ),
                3.0,
            ),
            "spec.minReadySeconds": Part(0.2, _one(0, 5)),
            "spec.revisionHistoryLimit": Part(0.2, _one(3, 10)),
            "spec.paused": Part(0.1, _one(*_BOTH)),
        },
        share=12,
    ),
    "StatefulSet": Kind(
        "apps/v1",
        "statefulsets",
        {
            **_WORKLOAD,
            "spec.replicas": _REPLICAS,
            "spec.serviceName": Part(0.9, _one("web", "api"), 0.3),
            "spec.podManagementPolicy": Part(
                0.2, _enum("OrderedReady", "Parallel"), 0.3
            ),
            "spec.updateStrategy": Part(
                0.5,
                _typed(
                    (
                        {"type": "OnDelete"},
                        {"type": "RollingUpdate"},
                        {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
                        {"type": "OnDelete", "rollingUpdate": {"partition": 1}},
                    )
                ),
                3.0,
            ),
            "spec.volumeClaimTemplates": Part(
                0.4, _elements("", _CLAIM_TEMPLATE, 2), 0.4
            ),
            "spec.persistentVolumeClaimRetentionPolicy": Part(
                0.2, _one({"whenDeleted": "Delete"}, {"whenScaled": "Retain"})
            ),
            "spec.minReadySeconds": Part(0.2, _one(0, 5)),
            "spec.ordinals": Part(0.1, _one({"start": 1}, {"start": 0})),
        },
        share=8,
    ),
    "DaemonSet": Kind(
        "apps/v1",
        "daemonsets",
        {
            **_WORKLOAD,
            "spec.updateStrategy": Part(
                0.5,
                _typed(
                    (
                        {"type": "OnDelete"},
                        {"type": "RollingUpdate"},
                        {
                            "type": "RollingUpdate",
                            "rollingUpdate": {"maxUnavailable": 2},
                        },
                        {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 2}},
                    )
                ),
                3.0,
            ),
            "spec.minReadySeconds": Part(0.2, _one(0, 5)),
        },
        share=6,
    ),
    "ReplicaSet": Kind(
        "apps/v1", "replicasets", {**_WORKLOAD, "spec.replicas": _REPLICAS}
    ),
    "Pod": Kind("v1", "pods", {}, share=5),
    "Job": Kind("batch/v1", "jobs", _below("spec", _JOB, _POD_DEFAULT), share=5),
    "CronJob": Kind(
        "batch/v1",
        "cronjobs",
        {
            "spec.schedule": Part(1.0, _one("* * * * *", "0 3 * * *"), 2.0),
            "spec.suspend": Part(0.3, _one(*_BOTH)),
            "spec.concurrencyPolicy": Part(0.4, _enum("Allow", "Forbid", "Replace")),
            "spec.timeZone": Part(0.2, _one("Etc/UTC")),
            "spec.startingDeadlineSeconds": Part(0.2, _one(10, 60)),
            "spec.successfulJobsHistoryLimit": Part(0.2, _one(0, 3)),
            **_below("spec.jobTemplate.spec", _JOB, _POD_DEFAULT),
        },
        share=5,
    ),
    "Service": Kind(
        "v1",
        "services",
        {
            "spec.ports": Part(1.0, _service_ports, 4.0),
            "spec.selector": Part(0.9, _LABELS),
            "spec.type": Part(
                0.5, _enum("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"), 2.0
            ),
            "spec.externalName": Part(0.1, _one("a.example.com")),
            "spec.clusterIP": Part(0.1, _one("None", ""), 0.7),
            "spec.sessionAffinity": Part(0.2, _enum("None", "ClientIP")),
            "spec.externalTrafficPolicy": Part(0.1, _enum("Cluster", "Local")),
            "spec.internalTrafficPolicy": Part(0.1, _enum("Cluster", "Local")),
            "spec.publishNotReadyAddresses": Part(0.1, _one(*_BOTH)),
            "spec.externalIPs": Part(0.1, _one(["1.2.3.4"], ["1.2.3.4", "1.2.3.5"])),
        },
        share=9,
    ),
    "ConfigMap": Kind(
        "v1",
        "configmaps",
        {
            "data": Part(0.9, _map("a b mode level", "1 2 on off"), 4.0),
            "binaryData": Part(0.1, _map("blob", "YQ== Yg==")),
            "immutable": Part(0.15, _one(*_TRUE, *_BOTH)),
        },
        share=5,
    ),
    "Secret": Kind(
        "v1",
        "secrets",
        {
            "data": Part(0.6, _map("user password token", "YQ== Yg== Yw=="), 3.0),
            "stringData": Part(0.4, _map("user password token", "a b c"), 2.0),
            "type": Part(0.3, _one("Opaque", "example.com/own"), 0.7),
            "immutable": Part(0.12, _one(*_TRUE, *_BOTH)),
        },
        share=4,
    ),
    "ServiceAccount": Kind(
        "v1",
        "serviceaccounts",
        {
            "automountServiceAccountToken": Part(0.5, _one(*_BOTH)),
            "imagePullSecrets": Part(
                0.5, _elements("name", _one({"name": "a"}, {"name": "b"}))
            ),
            "secrets": Part(0.4, _elements("name", _one({"name": "a"}, {"name": "b"}))),
        },
    ),
    "Role": Kind(
        "rbac.authorization.k8s.io/v1",
        "roles",
        {"rules": Part(0.95, _elements("", _RULE), 3.0)},
    ),
    "RoleBinding": Kind(
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        {
            "subjects": Part(0.9, _elements("name", _SUBJECT), 3.0),
            "roleRef": Part(
                1.0,
                _typed(
                    (
                        {
                            "apiGroup": "rbac.authorization.k8s.io",
                            "kind": "Role",
                            "name": "reader",
                        },
                        {
                            "apiGroup": "rbac.authorization.k8s.io",
                            "kind": "ClusterRole",
                            "name": "reader",
                        },
                    )
                ),
            ),
        },
    ),
    "Ingress": Kind(
        "networking.k8s.io/v1",
        "ingresses",
        {
            "spec.rules": Part(0.8, _elements("host", _INGRESS_RULE), 2.0),
            "spec.defaultBackend": Part(0.6, _backend, 2.0),
            "spec.tls": Part(
                0.3,
                _one(
                    [{"hosts": ["a.example.com"], "secretName": "tls"}],
                    [{"secretName": "tls"}],
                ),
            ),
            "spec.ingressClassName": Part(0.4, _one("nginx", "other")),
        },
        share=5,
    ),
    "NetworkPolicy": Kind(
        "networking.k8s.io/v1",
        "networkpolicies",
        {
            "spec.podSelector": Part(1.0, _one({}, _SELECTOR)),
            "spec.policyTypes": Part(0.5, _one(["Ingress"], ["Ingress", "Egress"])),
            "spec.ingress": Part(
                0.8,
                _elements(
                    "",
                    _object(
                        {
                            "from": Part(0.9, _elements("", _PEER)),
                            "ports": Part(0.5, _POLICY_PORTS),
                        }
                    ),
                    2,
                ),
                3.0,
            ),
            "spec.egress": Part(
                0.3, _elements("", _object({"to": Part(0.9, _elements("", _PEER))}), 2)
            ),
        },
        share=4,
    ),
    "HorizontalPodAutoscaler": Kind(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        {
            "spec.scaleTargetRef": Part(
                1.0,
                _one({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}),
            ),
            "spec.minReplicas": Part(0.7, _one(1, 2)),
            "spec.maxReplicas": Part(1.0, _one(3, 5, 10)),
            "spec.metrics": Part(0.8, _elements("type", _metric), 4.0),
            "spec.behavior": Part(
                0.2,
                _one(
                    {"scaleDown": {"stabilizationWindowSeconds": 60}},
                    {"scaleUp": {"selectPolicy": "Max"}},
                ),
            ),
        },
        share=5,
    ),
    "PodDisruptionBudget": Kind(
        "policy/v1",
        "poddisruptionbudgets",
        {
            "spec.minAvailable": Part(0.45, _PERCENT, 2.0),
            "spec.maxUnavailable": Part(0.45, _PERCENT, 2.0),
            "spec.selector": Part(
                0.9, _one(_SELECTOR, {"matchLabels": {"app": "api"}})
            ),
            "spec.unhealthyPodEvictionPolicy": Part(
                0.2, _enum("AlwaysAllow", "IfHealthyBudget")
            ),
        },
        share=4,
    ),
    "PersistentVolumeClaim": Kind(
        "v1",
        "persistentvolumeclaims",
        {
            **_below("spec", _CLAIM),
            "spec.selector": Part(0.1, _one(_SELECTOR)),
            "spec.volumeName": Part(0.1, _one("disk")),
        },
    ),
    "PersistentVolume": Kind(
        "v1",
        "persistentvolumes",
        {
            "spec.capacity": Part(1.0, _one({"storage": "1Gi"}, {"storage": "2Gi"})),
            "spec.accessModes": Part(1.0, _one(["ReadWriteOnce"], ["ReadOnlyMany"])),
            "spec": Part(1.0, _PERSISTENT, 0.7),
            "spec.persistentVolumeReclaimPolicy": Part(0.4, _enum("Retain", "Delete")),
            "spec.storageClassName": Part(0.3, _one("fast", "slow")),
            "spec.mountOptions": Part(0.2, _one(["ro"], ["ro", "soft"])),
        },
        namespaced=False,
    ),
    "Namespace": Kind("v1", "namespaces", {}, namespaced=False, share=2),
    "StorageClass": Kind(
        "storage.k8s.io/v1",
        "storageclasses",
        {
            "provisioner": Part(1.0, _one("csi.example.com", "other.example.com"), 0.3),
            "parameters": Part(0.5, _map("type zone", "ssd a"), 0.5),
            "reclaimPolicy": Part(0.3, _enum("Delete", "Retain"), 0.3),
            "volumeBindingMode": Part(
                0.3, _enum("Immediate", "WaitForFirstConsumer"), 0.3
            ),
            "allowVolumeExpansion": Part(0.4, _one(*_BOTH), 1.5),
            "mountOptions": Part(0.2, _one(["ro"], ["soft"])),
        },
        namespaced=False,
        share=2,
    ),
    "PriorityClass": Kind(
        "scheduling.k8s.io/v1",
        "priorityclasses",
        {
            "value": Part(1.0, _one(10, 20, 30), 0.4),
            "description": Part(0.7, _one("low", "high", ""), 2.0),
            "preemptionPolicy": Part(0.2, _enum("Never", "PreemptLowerPriority"), 0.3),
        },
        namespaced=False,
        share=2,
    ),
    "ValidatingWebhookConfiguration": Kind(
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        {"webhooks": Part(0.95, _elements("name", _WEBHOOK, 2), 4.0)},
        namespaced=False,
    ),
    "PriorityLevelConfiguration": Kind(
        "flowcontrol.apiserver.k8s.io/v1",
        "prioritylevelconfigurations",
        {
            "spec": Part(1.0, _one({"type": "Limited"}), 0.1),
            "spec.limited": Part(
                1.0,
                _typed(
                    (
                        {"limitResponse": {"type": "Reject"}},
                        {"limitResponse": {"type": "Queue", "queuing": {"queues": 8}}},
                        {"limitResponse": {"type": "Reject", "queuing": {"queues": 8}}},
                        {
                            "nominalConcurrencyShares": 5,
                            "limitResponse": {"type": "Reject"},
                        },
                    )
                ),
                3.0,
            ),
        },
        namespaced=False,
        share=2,
    ),
}


class ManifestMaker:
    """Makes manifests of one kind, and changes them, from a seed."""

    def __init__(self, seed: str, kind: str, name: str) -> None:
        self.random = Random(seed)
        self.kind = kind
        self._name = name

    def manifest(self) -> JSONObject:
        """Make a manifest as a user would write it the first time."""
        about = KINDS[self.kind]
        result: JSONObject = {
            "apiVersion": about.api_version,
            "kind": self.kind,
            "metadata": {"name": self._name},
        }
        if about.namespaced:
            result["metadata"] = {"name": self._name, "namespace": "default"}
        for parts in (_METADATA, about.parts):
            _put(result, "", _object(parts)(self.random))
        if self.kind in POD_SPECS:
            path, parts = POD_SPECS[self.kind]
            _put(result, path, _object(parts)(self.random))
        self._repair(result)
        return result

    def changed(self, manifest: JSONObject, most: int = 3) -> JSONObject:
        """Change a manifest as its author would, a little."""
        result = deepcopy(manifest)
        for _ in range(self.random.randint(0, most)):
            self._change(result)
        if self.random.random() < 0.9:
            self._repair(result)
        return result

    def interfered(self, live: JSONObject) -> JSONObject:
        """Change a live object as another actor would: a controller, a webhook."""
        result = deepcopy(live)
        for _ in range(self.random.randint(1, 2)):
            chance = self.random.random()
            if chance < 0.3:
                _put(result, "metadata.annotations.injected", "true")
            elif chance < 0.4:
                _put(result, "metadata.labels.managed", "yes")
            elif chance < 0.6 and self.kind in POD_SPECS and self.kind != "Pod":
                self._inject(result)
            else:
                self._change(result)
        return result

    def _inject(self, obj: JSONObject) -> None:
        """Add what webhooks add to Pods: a sidecar, its volume, environment."""
        spec = _found(obj, POD_SPECS[self.kind][0])
        containers = as_list(spec.get("containers"))
        kind = self.random.randrange(4)
        if kind == 0:
            containers.insert(
                self.random.choice([0, len(containers)]),
                {"name": "sidecar", "image": "sidecar:1"},
            )
        elif kind == 1:
            volumes = spec.setdefault("volumes", [])
            as_list(volumes).insert(0, {"name": "injected", "emptyDir": {}})
        elif containers:
            container = as_object(self.random.choice(containers))
            name, element = self.random.choice(
                [
                    ("env", {"name": "INJECTED", "value": "1"}),
                    ("ports", {"containerPort": 53, "protocol": "TCP", "name": "x"}),
                    ("ports", {"containerPort": 15000}),
                ]
            )
            elements = as_list(container.setdefault(name, []))
            elements.insert(
                self.random.choice([0, len(elements)]), cast("JSON", element)
            )

    def _change(self, obj: JSONObject) -> None:
        sites = [*self._sites(obj)]
        # Containers are where most changes are made.
        weights = [1.0 if parts is not _METADATA else 0.5 for _, parts in sites]
        site, parts = self.random.choices(sites, weights)[0]
        paths = [*parts]
        part_weights = [
            # What is there is changed more often than what is not.
            parts[path].weight * (3.0 if _has(site, path) else 1.0)
            for path in paths
        ]
        path = self.random.choices(paths, part_weights)[0]
        above = _found(site, path.rpartition(".")[0])
        name = path.rpartition(".")[2]
        part = parts[path]
        before = above.get(name)
        chance = self.random.random()
        if isinstance(before, list) and before and chance < 0.6:
            above[name] = self._changed_list(before, part)
        elif isinstance(before, dict) and before and chance < 0.25:
            self._change_map(before, as_object(part.draw(self.random)))
        elif name not in above or chance < (0.98 if part.often == 1.0 else 0.8):
            _put(site, path, part.draw(self.random))
        elif chance < 0.92 or part.often == 1.0:
            del above[name]
        elif chance < 0.96 and isinstance(before, dict | list):
            above[name] = {} if isinstance(before, dict) else []
        else:
            above[name] = None

    def _changed_list(self, before: JSONArray, part: Part) -> JSONArray:
        """Add, remove, move, repeat, rename or change an element."""
        result = [*before]
        at = self.random.randrange(len(result))
        drawn = as_list(part.draw(self.random)) or [*before]
        chance = self.random.random()
        if chance < 0.3:
            result.insert(self.random.randint(0, len(result)), drawn[0])
        elif chance < 0.5:
            del result[at]
        elif chance < 0.6:
            self.random.shuffle(result)
        elif chance < 0.63:
            result.append(deepcopy(result[at]))
        elif chance < 0.7 and isinstance(result[at], dict):
            element = as_object(result[at])
            key = "name" if "name" in element else next(iter(element), "name")
            replacement = as_object(drawn[0]).get(key)
            result[at] = {**element, **({key: replacement} if replacement else {})}
        elif chance < 0.9 and isinstance(result[at], dict):
            # The rest of the element is drawn anew; it stays the same element.
            element = as_object(result[at])
            key = next(iter(element), "")
            kept = {key: element[key]} if key else {}
            result[at] = {**as_object(drawn[0]), **kept}
        else:
            result[at] = drawn[0]
        return result

    def _change_map(self, before: JSONObject, drawn: JSONObject) -> None:
        name = self.random.choice([*before])
        if self.random.random() < 0.4:
            del before[name]
        before.update(drawn)

    def _sites(self, obj: JSONObject) -> Iterator[tuple[JSONObject, Parts]]:
        yield obj, _METADATA
        about = KINDS[self.kind]
        if about.parts:
            yield obj, about.parts
        if self.kind not in POD_SPECS:
            return
        path, parts = POD_SPECS[self.kind]
        spec = _found(obj, path)
        yield spec, parts
        for container in as_list(spec.get("containers")):
            if isinstance(container, dict):
                yield container, _CONTAINER

    def _repair(self, obj: JSONObject) -> None:
        """Make references agree, as authors do before they apply."""
        if self.kind not in POD_SPECS:
            return
        spec = _found(obj, POD_SPECS[self.kind][0])
        volumes = [as_object(v).get("name") for v in as_list(spec.get("volumes"))]
        claims = as_list(as_object(obj.get("spec")).get("volumeClaimTemplates"))
        volumes += [as_object(as_object(c).get("metadata")).get("name") for c in claims]
        for list_name in ("containers", "initContainers"):
            for container in as_list(spec.get(list_name)):
                mounts = as_object(container).get("volumeMounts")
                if not isinstance(mounts, list):
                    continue
                known = [m for m in mounts if as_object(m).get("name") in volumes]
                as_object(container)["volumeMounts"] = known
                if not known:
                    del as_object(container)["volumeMounts"]


def _found(obj: JSONObject, path: str) -> JSONObject:
    """Return the object at a path, which is made where it is not."""
    for name in path.split(".") if path else ():
        below = obj.get(name)
        if not isinstance(below, dict):
            below = obj[name] = {}
        obj = below
    return obj


def _has(obj: JSONObject, path: str) -> bool:
    value: JSON = obj
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def _put(obj: JSONObject, path: str, value: JSON) -> None:
    """Put a value at a path; what is there is kept where both are objects."""
    above = _found(obj, path.rpartition(".")[0]) if path else obj
    name = path.rpartition(".")[2]
    if not name:
        for member, inner in as_object(value).items():
            _put(above, member, inner)
        return
    before = above.get(name)
    if isinstance(before, dict) and isinstance(value, dict) and name in _MERGED:
        for member, inner in value.items():
            _put(before, member, inner)
        return
    above[name] = value


_MERGED: Final = frozenset({"metadata", "spec", "template", "jobTemplate"})
