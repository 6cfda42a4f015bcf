"""Fleets from a seed: the objects of many clusters, desired and live, some drifted.

The kinds and their shares are those of a public multi-tenant platform with some twelve
thousand objects (more than half of them are Namespaces, NetworkPolicies and
RoleBindings), the workloads those of usual charts. Live objects are what a server makes
of the manifests: defaults, uid, managed fields, a status, keys in alphabetical order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import msgspec

import smp
from benchmarks.live_objects import DEPLOYMENT_STATUS, stored
from benchmarks.manifests import (
    compact,
    manifest,
    plain_container,
    properties,
    service_spec,
)
from smp._storage.update import as_stored
from smp._values.last_applied import with_last_applied
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.paths import Path, edited, value_at

# The share of each kind, in a thousand.
SHARES: Final = {
    "NetworkPolicy": 273,
    "RoleBinding": 168,
    "Namespace": 123,
    "Deployment": 96,
    "ConfigMap": 84,
    "Service": 80,
    "ServiceAccount": 60,
    "Ingress": 36,
    "Secret": 30,
    "CronJob": 20,
    "PrometheusRule": 20,
    "HorizontalPodAutoscaler": 10,
}
VARIANTS: Final = 12
# A text that is another one in each object where no spec repeats. That of a Deployment
# has its name.
_OWN: Final = {
    "NetworkPolicy": Path(("spec", "podSelector", "matchLabels", "app")),
    "RoleBinding": Path(("subjects", 0, "name")),
    "ConfigMap": Path(("data", "file-0.conf")),
    "Service": Path(("spec", "selector", "app")),
    "Ingress": Path(("spec", "rules", 0, "host")),
    "Secret": Path(("data", "token")),
    "CronJob": Path(("spec", "schedule")),
    "PrometheusRule": Path(("spec", "groups", 0, "name")),
    "HorizontalPodAutoscaler": Path(("spec", "scaleTargetRef", "name")),
}
_NAME: Final = "NAME-OF-IT"
_UID: Final = "UID-OF-IT"
_CLUSTER: Final = "CLUSTER-OF-IT"
# Most objects were applied by kubectl or by a tool that keeps the same annotation.
_ANNOTATED: Final = 0.6


class Rates(msgspec.Struct, frozen=True):
    """How many of a thousand pairs are not equal."""

    drifted: int = 10
    missing: int = 2
    extra: int = 3
    # Both sides have the same bytes, as where both are read from one store.
    identical: int = 0
    # Labels and variables with the name of the cluster, as a platform adds them.
    labelled: int = 0


class Pair(msgspec.Struct, frozen=True):
    """An object of the fleet: its identity, what it should be and what it is."""

    cluster: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    desired: bytes | None
    live: bytes | None


class _Template(msgspec.Struct, frozen=True):
    """A manifest and its live object with names to fill in, and drifted live ones."""

    group: str
    version: str
    kind: str
    is_namespaced: bool
    desired: bytes
    live: bytes
    drifted: tuple[bytes, ...]


USUAL: Final = Rates()


def pairs(
    count: int, *, seed: int = 18, rates: Rates = USUAL, repeats: bool = True
) -> Iterator[Pair]:
    """Yield the pairs of a fleet of so many objects; the same ones for a seed.

    Where specs do not repeat, each pair has one of its own, with its number in it.
    """
    random = Random(seed)
    templates: dict[str, list[_Template]] = {}
    for kind in SHARES if repeats else ():
        templates[kind] = [
            _template(kind, random, labelled=VARIANTS * rates.labelled > 1000 * variant)
            for variant in range(VARIANTS)
        ]
    drawn = random.choices([*SHARES], [*SHARES.values()], k=count)
    for number, kind in enumerate(drawn):
        if repeats:
            template = random.choice(templates[kind])
        else:
            template = _template(kind, random, number)
        chance = random.randrange(1000)
        live: bytes | None = template.live
        desired: bytes | None = template.desired
        if chance < rates.drifted:
            live = random.choice(template.drifted)
        elif chance < rates.drifted + rates.missing:
            live = None
        elif chance < rates.drifted + rates.missing + rates.extra:
            desired = None
        elif chance >= 1000 - rates.identical:
            desired = live
        name = f"{kind.lower()}-{number:07}"
        uid = f"{random.getrandbits(128):032x}"
        cluster = f"cluster-{number % 200:03}"
        yield Pair(
            cluster,
            template.group,
            template.version,
            kind,
            "shop" if template.is_namespaced else "",
            name,
            _filled(desired, name, uid, cluster),
            _filled(live, name, uid, cluster),
        )


def stored_pairs(
    lines: Sequence[str], count: int, *, labelled: bool, seed: int = 18
) -> Iterator[Pair]:
    """Yield pairs of objects that a server has stored, in 100 clusters; some drift.

    A line has ``desired`` and ``live``. Where they are ``labelled``, half of them have
    a label, and a variable in their containers, with the name of the cluster.
    """
    random = Random(seed)
    templates: list[tuple[Any, bytes, bytes, bytes]] = []
    for number, line in enumerate(lines):
        sides = json.loads(line)
        for side in sides.values() if labelled and number % 2 else ():
            side["metadata"].setdefault("labels", {})["cluster"] = _CLUSTER
            template = side.get("spec", {}).get("template") or {}
            for container in template.get("spec", {}).get("containers", ()):
                variable = {"name": "CLUSTER", "value": _CLUSTER}
                container["env"] = [*(container.get("env") or ()), variable]
        texts = [compact(sides[side]).encode() for side in ("desired", "live")]
        sides["desired"]["metadata"].setdefault("labels", {})["drifted"] = "yes"
        drifted = compact(sides["desired"]).encode()
        templates.append((sides["live"], texts[0], texts[1], drifted))
    for _ in range(count):
        obj, desired, live, drifted = random.choice(templates)
        group, _, version = obj["apiVersion"].rpartition("/")
        cluster = f"cluster-{random.randrange(100):03}"
        metadata = obj["metadata"]
        wanted = drifted if random.randrange(100) == 0 else desired
        yield Pair(
            cluster,
            group,
            version,
            obj["kind"],
            metadata.get("namespace", ""),
            metadata["name"],
            _filled(wanted, "", "", cluster),
            _filled(live, "", "", cluster),
        )


def _filled(text: bytes | None, name: str, uid: str, cluster: str) -> bytes | None:
    if text is None:
        return None
    filled = text.replace(_NAME.encode(), name.encode())
    filled = filled.replace(_CLUSTER.encode(), cluster.encode())
    return filled.replace(_UID.encode(), uid.encode())


def _template(
    kind: str, random: Random, number: int | None = None, *, labelled: bool = False
) -> _Template:
    """Make an object; one with a number is like no other."""
    obj = _MAKERS[kind](random)
    metadata = as_object(obj["metadata"])
    if kind == "Namespace":
        del metadata["namespace"]
    if labelled:
        as_object(metadata["labels"])["cluster"] = _CLUSTER
        template = as_object(as_object(obj.get("spec")).get("template"))
        containers = as_list(as_object(template.get("spec")).get("containers"))
        for container in map(as_object, containers):
            variable: JSONObject = {"name": "CLUSTER", "value": _CLUSTER}
            container["env"] = [*as_list(container.get("env")), variable]
    if number is not None:
        as_object(metadata["labels"])["release"] = f"release-{number}"
        path = _OWN.get(kind)
        if path is not None:
            text = as_text(value_at(obj, path))
            obj = edited(obj, path, f"{text}-{number}")
    live = _live(obj, is_annotated=random.random() < _ANNOTATED)
    drifted = [_drifted(live, random) for _ in range(4)]
    group, _, version = as_text(obj["apiVersion"]).rpartition("/")
    return _Template(
        group,
        version,
        kind,
        kind != "Namespace",
        compact(obj).encode(),
        _printed(live),
        tuple(_printed(each) for each in drifted),
    )


def _printed(live: JSONObject) -> bytes:
    return json.dumps(live, separators=(",", ":"), sort_keys=True).encode()


def _live(obj: JSONObject, *, is_annotated: bool) -> JSONObject:
    """Return what a server stores."""
    applied = with_last_applied(obj) if is_annotated else obj
    status = DEPLOYMENT_STATUS if obj["kind"] == "Deployment" else None
    manager = "kubectl-client-side-apply" if is_annotated else "argocd-controller"
    live = stored(applied, managers={manager: obj}, status=status)
    as_object(live["metadata"])["uid"] = _UID
    if obj["kind"] == "PrometheusRule":
        return live
    schema = smp.kubernetes().schema_of(obj)
    return as_stored(live, None, schema, profile="kep1027")


def _drifted(live: JSONObject, random: Random) -> JSONObject:
    """Return a live object that was changed by hand."""
    changed: JSONObject = json.loads(json.dumps(live))
    metadata = as_object(changed["metadata"])
    spec = as_object(changed.get("spec"))
    template = as_object(as_object(spec.get("template")).get("spec"))
    containers = as_list(template.get("containers"))
    if containers and random.randrange(3):
        container = as_object(containers[0])
        if random.randrange(2):
            container["image"] = "registry.example/shop/backend:hotfix"
        else:
            container["env"] = []
    elif "replicas" in spec and random.randrange(2):
        spec["replicas"] = random.randint(5, 9)
    elif "data" in changed and as_object(changed["data"]):
        data = as_object(changed["data"])
        data[next(iter(data))] = "Y2hhbmdlZA=="
    else:
        metadata["labels"] = {"app": "other"}
    manager: JSONObject = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "apiVersion": changed["apiVersion"],
        "time": "2026-04-01T12:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {"f:replicas": {}},
        },
    }
    metadata["managedFields"] = [*as_list(metadata.get("managedFields")), manager]
    return changed


def _labels(random: Random) -> JSONObject:
    return {
        "app": random.choice(["web", "api", "worker", "cache"]),
        "app.kubernetes.io/managed-by": "platform",
        "team": f"team-{random.randrange(40)}",
    }


def _made(random: Random, api_version: str, kind: str, **members: JSON) -> JSONObject:
    return manifest(api_version, kind, _NAME, _labels(random), **members)


def _network_policy(random: Random) -> JSONObject:
    ports: list[JSON] = [
        {"port": random.choice([80, 443, 5432])} for _ in range(random.randint(0, 3))
    ]
    selector: JSONObject = {"namespaceSelector": {"matchLabels": {"team": "ingress"}}}
    rule: JSONObject = {"from": [selector]}
    if ports:
        rule["ports"] = ports
    spec: JSONObject = {
        "podSelector": {"matchLabels": {"app": "web"}},
        "policyTypes": ["Ingress"],
        "ingress": [rule],
    }
    return _made(random, "networking.k8s.io/v1", "NetworkPolicy", spec=spec)


def _role_binding(random: Random) -> JSONObject:
    subjects: list[JSON] = [
        {
            "kind": "Group",
            "name": f"github:team-{random.randrange(40)}",
            "apiGroup": "rbac.authorization.k8s.io",
        }
        for _ in range(random.randint(1, 3))
    ]
    return _made(
        random,
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        subjects=subjects,
        roleRef={
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": random.choice(["admin", "edit", "view"]),
        },
    )


def _namespace(random: Random) -> JSONObject:
    made = _made(random, "v1", "Namespace")
    annotations: JSONObject = {
        f"platform.example/{key}": f"value of {key} {random.randrange(1000)}"
        for key in ("owner", "source-code", "slack-channel", "business-unit")
    }
    as_object(made["metadata"])["annotations"] = annotations
    return made


def _pod_spec(random: Random) -> JSONObject:
    containers: list[JSON] = [
        plain_container(index, f"1.{random.randrange(9)}", random.randint(2, 12))
        for index in range(random.choice([1, 1, 1, 2, 3]))
    ]
    config: JSONObject = {"name": "config", "configMap": {"name": "settings"}}
    return {"serviceAccountName": "shop", "containers": containers, "volumes": [config]}


def _deployment(random: Random) -> JSONObject:
    spec: JSONObject = {
        "replicas": random.randint(1, 4),
        "selector": {"matchLabels": {"app": _NAME}},
        "template": {
            "metadata": {"labels": {"app": _NAME}},
            "spec": _pod_spec(random),
        },
    }
    return _made(random, "apps/v1", "Deployment", spec=spec)


def _cron_job(random: Random) -> JSONObject:
    pod = {**_pod_spec(random), "restartPolicy": "Never"}
    spec: JSONObject = {
        "schedule": f"{random.randrange(60)} * * * *",
        "jobTemplate": {"spec": {"template": {"spec": pod}}},
    }
    return _made(random, "batch/v1", "CronJob", spec=spec)


def _config_map(random: Random) -> JSONObject:
    data: JSONObject = {
        f"file-{number}.conf": properties(random, random.choice([80, 400, 4000]))
        for number in range(random.randint(1, 3))
    }
    return _made(random, "v1", "ConfigMap", data=data)


def _secret(random: Random) -> JSONObject:
    data: JSONObject = {"token": f"{random.getrandbits(512):0128x}"}
    return _made(random, "v1", "Secret", type="Opaque", data=data)


def _service(random: Random) -> JSONObject:
    spec = service_spec(random.randint(1, 4), 9000)
    return _made(random, "v1", "Service", spec={**spec, "type": "ClusterIP"})


def _service_account(random: Random) -> JSONObject:
    return _made(random, "v1", "ServiceAccount")


def _ingress(random: Random) -> JSONObject:
    backend: JSONObject = {"service": {"name": "web", "port": {"number": 80}}}
    path: JSONObject = {"path": "/", "pathType": "Prefix", "backend": backend}
    host = f"app-{random.randrange(1000)}.example.com"
    spec: JSONObject = {
        "ingressClassName": "default",
        "tls": [{"hosts": [host]}],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    return _made(random, "networking.k8s.io/v1", "Ingress", spec=spec)


def _autoscaler(random: Random) -> JSONObject:
    target: JSONObject = {"type": "Utilization", "averageUtilization": 80}
    spec: JSONObject = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"},
        "minReplicas": 2,
        "maxReplicas": random.randint(3, 9),
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        ],
    }
    return _made(random, "autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)


def _prometheus_rule(random: Random) -> JSONObject:
    rules: list[JSON] = [
        {
            "alert": f"Alert{number}",
            "expr": f"rate(requests_total[5m]) > {random.randrange(100)}",
            "for": "10m",
            "labels": {"severity": "warning"},
        }
        for number in range(random.randint(1, 8))
    ]
    spec: JSONObject = {"groups": [{"name": "shop", "rules": rules}]}
    return _made(random, "monitoring.coreos.com/v1", "PrometheusRule", spec=spec)


_MAKERS: Final = {
    "NetworkPolicy": _network_policy,
    "RoleBinding": _role_binding,
    "Namespace": _namespace,
    "Deployment": _deployment,
    "ConfigMap": _config_map,
    "Service": _service,
    "ServiceAccount": _service_account,
    "Ingress": _ingress,
    "Secret": _secret,
    "CronJob": _cron_job,
    "PrometheusRule": _prometheus_rule,
    "HorizontalPodAutoscaler": _autoscaler,
}
