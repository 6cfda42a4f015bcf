"""The inputs of the benchmarks: made from a seed, so that every run and every machine
has the same bytes.

A case is a story: a configuration was applied, the server has it as a live object (with
defaults, and mostly with status and bookkeeping), and now one thing changes.
``documents`` picks from it what an operation takes, under the names that the reference
program uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from smp.values import JSON, JSONObject

Operation: TypeAlias = Literal["apply", "two_way", "three_way"]
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SEED: Final = 1309


class Story(NamedTuple):
    """The applied configuration, the next one, the live object, and a patch for it.

    ``annotated`` is the live object as a client finds it, where it differs: with the
    last-applied annotation.
    """

    before: JSONObject
    after: JSONObject
    live: JSONObject
    patch: JSONObject
    annotated: JSONObject | None = None


@dataclass(frozen=True)
class Row:
    """One operation on one case; ``size`` is how many bytes of input it is meant to
    have.
    """

    name: str
    operation: Operation
    api_version: str
    kind: str
    make: Callable[[], Story]
    size: int

    def __str__(self) -> str:
        return f"{self.name}: {self.operation.replace('_', '-')}"

    @cached_property
    def story(self) -> Story:
        """The objects of the case."""
        return self.make()

    @cached_property
    def documents(self) -> dict[str, JSONObject]:
        """What the operation takes, by name and in the order of its arguments."""
        return _DOCUMENTS[self.operation](self.story)

    @cached_property
    def texts(self) -> tuple[bytes, ...]:
        """The documents as JSON without spaces."""
        return tuple(compact(document).encode() for document in self.documents.values())


_DOCUMENTS: Final[dict[Operation, Callable[[Story], dict[str, JSONObject]]]] = {
    "apply": lambda story: {"original": story.live, "patch": story.patch},
    "two_way": lambda story: {"original": story.before, "modified": story.after},
    "three_way": lambda story: {
        "original": story.before,
        "modified": story.after,
        "current": story.annotated or story.live,
    },
}


def rows() -> Iterator[Row]:
    """Yield every row of the benchmark; its objects are made when somebody asks for
    them.
    """
    for name, (api_version, kind), make, sizes in CASES:
        for operation, size in sizes.items():
            yield Row(name, operation, api_version, kind, make, size)


def compact(value: JSON) -> str:
    """Print a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


# --- the cases -------------------------------------------------------------------------------------------------------


def small_config_map() -> Story:
    """Three settings, one of which changes."""

    def configured(level: str) -> JSONObject:
        data: JSONObject = {
            "log.level": level,
            "cache.size": "64Mi",
            "feature.flags": "search,basket",
        }
        return _object(
            "v1", "ConfigMap", "settings", {"app": "shop", "tier": "web"}, data=data
        )

    before, after = configured("info"), configured("debug")
    live = _served(before, managers={"kubectl-client-side-apply": {}})
    return Story(
        before, after, live, {"data": {"log.level": "debug"}}, _annotated(live, before)
    )


def large_config_map(keys: int = 100, characters: int = 4_930) -> Story:
    """Half a megabyte of configuration files, one of which changes."""
    random = _random()
    data: JSONObject = {
        f"file-{index:03}.properties": _lines(random, characters)
        for index in range(keys)
    }
    changed: JSONObject = {"file-050.properties": _lines(random, characters)}
    before = _object("v1", "ConfigMap", "files", {"app": "shop"}, data=data)
    after = _object(
        "v1", "ConfigMap", "files", {"app": "shop"}, data={**data, **changed}
    )
    return Story(before, after, _served(before), {"data": changed})


def deployment(containers: int = 5) -> Story:
    """Five containers, with status and managed fields; the image of one changes."""

    def configured(tag: str) -> JSONObject:
        labels: JSONObject = {"app": "shop", "tier": "web"}
        template: JSONObject = {
            "metadata": {"labels": labels},
            "spec": _pod_spec(_plain_container, containers, tag),
        }
        spec: JSONObject = {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": template,
        }
        return _object("apps/v1", "Deployment", "shop", labels, spec=spec)

    before, after = configured("1.4.2"), configured("1.4.3")
    live = _served(
        _defaulted(before), managers=_DEPLOYMENT_MANAGERS, status=_DEPLOYMENT_STATUS
    )
    patch: JSONObject = {
        "spec": {"template": {"spec": _image_patch(containers, "1.4.3")}}
    }
    return Story(before, after, live, patch, _annotated(live, before))


def pod(containers: int = 100, variables: int = 2) -> Story:
    """Many containers with everything that a container usually has; the image of one
    changes.
    """

    def configured(tag: str) -> JSONObject:
        spec = _pod_spec(partial(_full_container, variables=variables), containers, tag)
        return _object("v1", "Pod", "shop", {"app": "shop"}, spec=spec)

    before, after = configured("1.4.2"), configured("1.4.3")
    return Story(
        before,
        after,
        _served(_defaulted(before)),
        {"spec": _image_patch(containers, "1.4.3")},
    )


def service(ports: int = 50) -> Story:
    """Fifty ports; the target of one changes."""

    def configured(target: int) -> JSONObject:
        return _object(
            "v1",
            "Service",
            "gateway",
            {"app": "gateway"},
            spec=_service_spec(ports, target),
        )

    before, after = configured(9000), configured(9999)
    given: JSONObject = {
        "loadBalancer": {
            "ingress": [{"ip": "192.0.2.10", "ports": _status_ports(ports)}]
        }
    }
    live = _served(_with_spec(before, _service_defaults(before)), status=given)
    patch: JSONObject = {
        "spec": {"ports": [{"port": 8000, "protocol": "TCP", "targetPort": 9999}]}
    }
    return Story(before, after, live, patch)


def volumes(count: int = 1_000, *, all_change: bool = False) -> Story:
    """Very many volumes, of which one changes, or all."""

    def configured(config: str, only: int | None) -> JSONObject:
        elements: list[JSON] = [
            _volume(at, config if only in (None, at) else "cm") for at in range(count)
        ]
        container: JSONObject = {"name": "app", "image": "registry.example/shop:1.4.2"}
        return _object(
            "v1",
            "Pod",
            "shop",
            {"app": "shop"},
            spec={"containers": [container], "volumes": elements},
        )

    only = None if all_change else count // 2
    before, after = configured("cm", only), configured("cn", only)
    live = _with_spec(
        before, {"volumes": [_volume(at, "cm", defaultMode=420) for at in range(count)]}
    )
    touched = range(count) if only is None else [only]
    elements: list[JSON] = [
        {"$retainKeys": ["configMap", "name"], **_volume(at, "cn")} for at in touched
    ]
    order: JSONObject = {
        "$setElementOrder/volumes": [{"name": _volume_name(at)} for at in range(count)]
    }
    return Story(
        before,
        after,
        _served(live),
        {"spec": {**(order if all_change else {}), "volumes": elements}},
    )


CASES: Final[
    tuple[tuple[str, tuple[str, str], Callable[[], Story], dict[Operation, int]], ...]
] = (
    (
        "ConfigMap, small",
        ("v1", "ConfigMap"),
        small_config_map,
        {"apply": 709, "two_way": 415, "three_way": 1_380},
    ),
    (
        "Deployment, 5 containers",
        ("apps/v1", "Deployment"),
        deployment,
        {"apply": 11_779, "two_way": 5_632, "three_way": 20_715},
    ),
    (
        "Pod, 100 containers, 200 env",
        ("v1", "Pod"),
        pod,
        {"apply": 154_000, "two_way": 267_000, "three_way": 421_000},
    ),
    (
        "Pod, 100 containers x 200 env",
        ("v1", "Pod"),
        partial(pod, variables=200),
        {"apply": 963_000, "three_way": 2_850_000},
    ),
    (
        "Service, 50 ports",
        ("v1", "Service"),
        service,
        {"apply": 8_300, "three_way": 18_700},
    ),
    (
        "Pod, 1,000 volumes, one changed",
        ("v1", "Pod"),
        volumes,
        {"apply": 67_000, "three_way": 165_000},
    ),
    (
        "Pod, 1,000 volumes, all changed",
        ("v1", "Pod"),
        partial(volumes, all_change=True),
        {"apply": 165_000},
    ),
    (
        "ConfigMap, 500 KB",
        ("v1", "ConfigMap"),
        large_config_map,
        {"apply": 545_000, "three_way": 1_630_000},
    ),
)


# --- what they are made of -------------------------------------------------------------------------------------------


def _object(
    api_version: str, kind: str, name: str, labels: JSONObject, **members: JSON
) -> JSONObject:
    metadata: JSONObject = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


def _served(
    config: JSONObject,
    *,
    managers: dict[str, JSONObject] | None = None,
    status: JSONObject | None = None,
) -> JSONObject:
    """Return a configuration as a server has it; a manager that owns nothing in
    particular owns all of it.
    """
    bookkeeping: JSONObject = {
        "uid": _uid(_random()),
        "resourceVersion": "48213377",
        "generation": 7,
        "creationTimestamp": "2026-03-01T09:30:00Z",
    }
    if managers:
        bookkeeping["managedFields"] = [
            _manager(name, owned or config) for name, owned in managers.items()
        ]
    live = _with_metadata(config, bookkeeping)
    return live if status is None else {**live, "status": status}


def _random() -> Random:
    return Random(SEED)


def _uid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return "-".join(
        (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    )


def _manager(name: str, owned: JSONObject) -> JSONObject:
    fields = {
        key: value for key, value in owned.items() if key not in ("apiVersion", "kind")
    }
    return {
        "manager": name,
        "operation": "Update",
        "apiVersion": owned.get("apiVersion", "apps/v1"),
        "time": "2026-03-01T09:30:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": _field_set(fields),
    }


def _field_set(value: JSON) -> JSONObject:
    """Return the set of fields in a value, as managedFields writes it."""
    if isinstance(value, dict):
        return {f"f:{name}": _field_set(member) for name, member in value.items()}
    if not isinstance(value, list):
        return {}
    return {
        f"k:{compact(_identity(e))}": {".": {}, **_field_set(e)}
        for e in value
        if isinstance(e, dict)
    }


def _identity(element: JSONObject) -> JSONObject:
    return {
        name: element[name]
        for name in ("mountPath", "containerPort", "name", "type")
        if name in element
    }


def _annotated(live: JSONObject, config: JSONObject) -> JSONObject:
    return _with_metadata(live, {"annotations": {LAST_APPLIED: compact(config) + "\n"}})


def _with_metadata(value: JSONObject, members: JSONObject) -> JSONObject:
    metadata = value["metadata"]
    return (
        {**value, "metadata": {**metadata, **members}}
        if isinstance(metadata, dict)
        else value
    )


def _with_spec(value: JSONObject, members: JSONObject) -> JSONObject:
    spec = value["spec"]
    return {**value, "spec": {**spec, **members}} if isinstance(spec, dict) else value


def _lines(random: Random, characters: int) -> str:
    """Return text as configuration files have it: lines, quotes now and then."""
    words = ("cache", "queue", "retry", "limit", "remote", "timeout", "pool", "region")
    lines: list[str] = []
    while sum(map(len, lines)) + len(lines) < characters:
        lines.append(
            f'{random.choice(words)}.{random.choice(words)} = "{random.getrandbits(64):016x}"'
        )
    return "\n".join(lines)[: characters - 1] + "\n"


def _pod_spec(
    container: Callable[[int, str], JSONObject], count: int, tag: str
) -> JSONObject:
    """Return a pod's spec in which the container in the middle has the image of that
    tag.
    """
    containers: list[JSON] = [
        container(at, tag if at == count // 2 else "1.4.2") for at in range(count)
    ]
    config: JSONObject = {"name": "config", "configMap": {"name": "settings"}}
    return {"serviceAccountName": "shop", "containers": containers, "volumes": [config]}


def _image_patch(count: int, tag: str) -> JSONObject:
    """Return what kubectl sends for such a change of the image."""
    changed: JSONObject = {"name": _container_name(count // 2), "image": _image(tag)}
    return {
        "$setElementOrder/containers": [
            {"name": _container_name(at)} for at in range(count)
        ],
        "containers": [changed],
    }


def _container_name(at: int) -> str:
    return f"app-{at:03}"


def _image(tag: str) -> str:
    return f"registry.example/shop/backend:{tag}"


def _plain_container(at: int, tag: str, variables: int = 3) -> JSONObject:
    quantities: JSONObject = {"cpu": "250m", "memory": "128Mi"}
    return {
        "name": _container_name(at),
        "image": _image(tag),
        "ports": [{"name": "http", "containerPort": 8080 + at}],
        "env": [
            {"name": f"SHOP_{index:03}", "value": f"value-{index:03}"}
            for index in range(variables)
        ],
        "resources": {"limits": quantities, "requests": quantities},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/shop", "readOnly": True}
        ],
        "readinessProbe": _probe("/ready"),
    }


def _full_container(at: int, tag: str, variables: int) -> JSONObject:
    mounts = ("data", "cache", "certificates", "scratch", "sockets", "plugins")
    return {
        **_plain_container(at, tag, variables),
        "command": ["/usr/local/bin/backend"],
        "args": [
            "--config=/etc/shop/backend.yaml",
            "--log-format=json",
            "--log-level=info",
            f"--shard={at}",
        ],
        "volumeMounts": [
            {"name": name, "mountPath": f"/var/lib/shop/{name}"} for name in mounts
        ],
        "livenessProbe": _probe("/healthz"),
        "workingDir": "/var/lib/shop",
        "envFrom": [
            {"configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "credentials", "optional": True}},
        ],
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 5"]}}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str) -> JSONObject:
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10}


_CONTAINER_DEFAULTS: Final[JSONObject] = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS: Final[JSONObject] = {
    "timeoutSeconds": 1,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_POD_DEFAULTS: Final[JSONObject] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_DEPLOYMENT_DEFAULTS: Final[JSONObject] = {
    "strategy": {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    },
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
}
_DEPLOYMENT_STATUS: Final[JSONObject] = {
    "observedGeneration": 7,
    "replicas": 3,
    "updatedReplicas": 3,
    "readyReplicas": 3,
    "availableReplicas": 3,
    "conditions": [
        {
            "type": kind,
            "status": "True",
            "lastUpdateTime": "2026-03-01T09:31:00Z",
            "lastTransitionTime": "2026-03-01T09:31:00Z",
            "reason": reason,
            "message": message,
        }
        for kind, reason, message in (
            (
                "Available",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            ),
            (
                "Progressing",
                "NewReplicaSetAvailable",
                'ReplicaSet "shop-6c9f7" has successfully progressed.',
            ),
        )
    ],
}
_TEMPLATE_ANNOTATIONS: Final[JSONObject] = {
    "kubectl.kubernetes.io/restartedAt": "2026-03-01T09:30:00Z"
}
_DEPLOYMENT_MANAGERS: Final[dict[str, JSONObject]] = {
    "kubectl-client-side-apply": {},
    "kubectl-set": {
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": f"app-{at:03}", "image": ""} for at in range(5)
                    ]
                }
            }
        }
    },
    "kubectl-rollout": {
        "spec": {"template": {"metadata": {"annotations": _TEMPLATE_ANNOTATIONS}}}
    },
    "kube-controller-manager": {
        "metadata": {"annotations": {"deployment.kubernetes.io/revision": "7"}},
        "status": _DEPLOYMENT_STATUS,
    },
}


def _defaulted(value: JSONObject) -> JSONObject:
    """Return a workload with what a server fills in."""
    spec = value["spec"]
    if not isinstance(spec, dict):
        return value
    template = spec.get("template")
    if isinstance(template, dict):
        return {
            **value,
            "spec": {**spec, **_DEPLOYMENT_DEFAULTS, "template": _defaulted(template)},
        }
    return {
        **value,
        "spec": {
            **spec,
            **_POD_DEFAULTS,
            "containers": [*map(_filled, _elements(spec, "containers"))],
        },
    }


def _filled(container: JSONObject) -> JSONObject:
    probes = {
        name: {**probe, **_PROBE_DEFAULTS}
        for name, probe in container.items()
        if isinstance(probe, dict) and "httpGet" in probe
    }
    ports: list[JSON] = [
        {**port, "protocol": "TCP"} for port in _elements(container, "ports")
    ]
    return {**container, **_CONTAINER_DEFAULTS, **probes, "ports": ports}


def _elements(members: JSONObject, name: str) -> list[JSONObject]:
    elements = members[name]
    return (
        [element for element in elements if isinstance(element, dict)]
        if isinstance(elements, list)
        else []
    )


def _service_spec(ports: int, target: int) -> JSONObject:
    elements: list[JSON] = [
        {
            "name": f"port-{at:02}",
            "protocol": "TCP",
            "appProtocol": "kubernetes.io/h2c",
            "port": 8000 + at,
            "targetPort": 9000 + at if at else target,
        }
        for at in range(ports)
    ]
    return {"type": "LoadBalancer", "selector": {"app": "gateway"}, "ports": elements}


def _service_defaults(config: JSONObject) -> JSONObject:
    spec = config["spec"]
    ports = _elements(spec, "ports") if isinstance(spec, dict) else []
    return {
        "ports": [{**port, "nodePort": 30000 + at} for at, port in enumerate(ports)],
        "clusterIP": "10.96.14.7",
        "clusterIPs": ["10.96.14.7"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "externalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "allocateLoadBalancerNodePorts": True,
    }


def _status_ports(ports: int) -> list[JSON]:
    return [{"port": 8000 + at, "protocol": "TCP"} for at in range(ports)]


def _volume(at: int, config: str, **more: JSON) -> JSONObject:
    return {
        "name": _volume_name(at),
        "configMap": {"name": f"{config}-{at:04}", **more},
    }


def _volume_name(at: int) -> str:
    return f"v-{at:04}"
