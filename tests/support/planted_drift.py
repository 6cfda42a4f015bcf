"""A fleet in which it is known what drifted: planted changes, and what is none.

A pair is a manifest and what a server has stored of it. ``add_noise`` adds what servers
and controllers add, which no apply changes; each of ``PLANTS`` changes something that
the manifest asks for, so that the next apply has to set it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import cycle
from random import Random
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
Pair: TypeAlias = tuple[Object, Object]
# What changes the live object of a pair, and tells whether there was something to.
Plant: TypeAlias = Callable[[Object, Object, Random], bool]

_WORKLOADS: Final = frozenset(
    {"DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"}
)
_CHANGED: Final = "planted"


def pod_spec(obj: Object) -> Object:
    """Return the spec of the Pods of an object; empty where it has none."""
    spec = obj.get("spec") or {}
    kind = obj["kind"]
    if kind == "Pod":
        return _object(spec)
    if kind == "CronJob" and obj["apiVersion"].startswith("batch/"):
        spec = _object(_object(spec.get("jobTemplate")).get("spec"))
    elif kind not in {*_WORKLOADS, "Job"} or "." in obj["apiVersion"]:
        return {}
    return _object(_object(_object(spec).get("template")).get("spec"))


def _object(value: object) -> Object:
    return value if isinstance(value, dict) else {}


def _containers(manifest: Object, live: Object) -> Iterator[Pair]:
    there = {each["name"]: each for each in pod_spec(live).get("containers") or []}
    for container in pod_spec(manifest).get("containers") or []:
        if container.get("name") in there:
            yield container, there[container["name"]]


def _set_in_container(name: str, value: object) -> Plant:
    def plant(manifest: Object, live: Object, random: Random) -> bool:
        of_name = [each for each in _containers(manifest, live) if each[0].get(name)]
        if not of_name:
            return False
        random.choice(of_name)[1][name] = deepcopy(value)
        return True

    return plant


def _change_variable(*, removes: bool) -> Plant:
    def plant(manifest: Object, live: Object, random: Random) -> bool:
        found = []
        for container, there in _containers(manifest, live):
            names = [each["name"] for each in container.get("env") or []]
            # One that comes twice is what its author has to mend.
            found += [
                (there, variable["name"])
                for variable in container.get("env") or []
                if variable.get("value") and names.count(variable["name"]) == 1
            ]
        if not found:
            return False
        there, name = random.choice(found)
        (variable,) = (each for each in there["env"] if each["name"] == name)
        if removes:
            there["env"].remove(variable)
        else:
            variable["value"] = _CHANGED
        return True

    return plant


def _change_resources(manifest: Object, live: Object, random: Random) -> bool:
    for container, there in _containers(manifest, live):
        limits = _object(_object(container.get("resources")).get("limits"))
        if limits:
            there["resources"]["limits"][random.choice(sorted(limits))] = "77"
            return True
    return False


def _change_probe(manifest: Object, live: Object, _random: Random) -> bool:
    for container, there in _containers(manifest, live):
        for name in ("livenessProbe", "readinessProbe"):
            if _object(container.get(name)).get("periodSeconds"):
                there[name]["periodSeconds"] = 77
                return True
    return False


def _remove_container(manifest: Object, live: Object, random: Random) -> bool:
    found = [there for _, there in _containers(manifest, live)]
    if len(found) < 2:
        return False
    pod_spec(live)["containers"].remove(random.choice(found))
    return True


def _change_volume(manifest: Object, live: Object, _random: Random) -> bool:
    wanted = {each.get("name") for each in pod_spec(manifest).get("volumes") or []}
    for volume in pod_spec(live).get("volumes") or []:
        if volume["name"] in wanted and "configMap" in volume:
            volume["configMap"]["name"] = _CHANGED
            return True
    return False


def _change_member(
    *above: str, removes: bool = False, value: object = _CHANGED
) -> Plant:
    """Change or remove a member of an object that the manifest has there."""

    def plant(manifest: Object, live: Object, random: Random) -> bool:
        ours, theirs = manifest, live
        for name in above:
            ours, theirs = _object(ours.get(name)), _object(theirs.get(name))
        names = sorted(
            name
            for name, value in ours.items()
            if isinstance(value, str)
            and value
            and name in theirs
            and not name.startswith("kubectl.kubernetes.io/")
        )
        if not names:
            return False
        name = random.choice(names)
        if removes:
            del theirs[name]
        else:
            theirs[name] = value
        return True

    return plant


def _set_field(kind: str, *path: str, value: object) -> Plant:
    """Set a field that the manifest has."""

    def plant(manifest: Object, live: Object, _random: Random) -> bool:
        ours, theirs = manifest, live
        for name in path[:-1]:
            ours, theirs = _object(ours.get(name)), _object(theirs.get(name))
        is_other = ours.get(path[-1]) not in (None, value)
        if manifest["kind"] != kind or not is_other or path[-1] not in theirs:
            return False
        theirs[path[-1]] = deepcopy(value)
        return True

    return plant


def _change_list(kind: str, *path: str, element: object) -> Plant:
    """Add an element to a list that is replaced as a whole, or remove one."""

    def plant(manifest: Object, live: Object, random: Random) -> bool:
        ours, theirs = manifest, live
        for name in path[:-1]:
            ours, theirs = _object(ours.get(name)), _object(theirs.get(name))
        is_aggregated = bool(manifest.get("aggregationRule"))
        if manifest["kind"] != kind or not ours.get(path[-1]) or is_aggregated:
            return False
        if random.random() < 0.5:
            theirs[path[-1]].append(deepcopy(element))
        else:
            theirs[path[-1]].pop()
        return True

    return plant


def _scale(manifest: Object, live: Object, _random: Random) -> bool:
    if manifest["kind"] not in _WORKLOADS or "replicas" not in manifest.get("spec", {}):
        return False
    live["spec"]["replicas"] = manifest["spec"]["replicas"] + 3
    return True


def _change_port(manifest: Object, live: Object, random: Random) -> bool:
    if manifest["kind"] != "Service" or manifest["apiVersion"] != "v1":
        return False
    ports = manifest["spec"].get("ports") or []
    if ports:
        random.choice(live["spec"]["ports"])["port"] += 1
    return bool(ports)


def _change_first(kind: str, name: str, field: str, value: object) -> Plant:
    def plant(manifest: Object, live: Object, _random: Random) -> bool:
        elements = _object(manifest.get("spec")).get(name) or manifest.get(name)
        if manifest["kind"] != kind or not elements or not elements[0].get(field):
            return False
        there = _object(live.get("spec")).get(name) or live[name]
        there[0][field] = deepcopy(value)
        return True

    return plant


_RULE: Final = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}
_SUBJECT: Final = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "x"}
PLANTS: Final[dict[str, Plant]] = {
    "image": _set_in_container("image", "planted:1"),
    "command": _set_in_container("command", ["planted"]),
    "arguments": _set_in_container("args", ["--planted"]),
    "variable": _change_variable(removes=False),
    "variable removed": _change_variable(removes=True),
    "resources": _change_resources,
    "probe": _change_probe,
    "container removed": _remove_container,
    "volume": _change_volume,
    "replicas": _scale,
    "label": _change_member("metadata", "labels"),
    "label removed": _change_member("metadata", "labels", removes=True),
    "annotation": _change_member("metadata", "annotations"),
    "annotation removed": _change_member("metadata", "annotations", removes=True),
    "data": _change_member("data"),
    "data removed": _change_member("data", removes=True),
    "port": _change_port,
    "selector": _set_field("Service", "spec", "selector", value={"planted": "x"}),
    "type of a service": _set_field("Service", "spec", "type", value="NodePort"),
    "rules of a role": _change_list("Role", "rules", element=_RULE),
    "rules of a cluster role": _change_list("ClusterRole", "rules", element=_RULE),
    "subjects": _change_list("RoleBinding", "subjects", element=_SUBJECT),
    "subjects of a cluster": _change_list(
        "ClusterRoleBinding", "subjects", element=_SUBJECT
    ),
    "ingress of a policy": _change_list("NetworkPolicy", "spec", "ingress", element={}),
    "host": _change_first("Ingress", "rules", "host", "planted.example.com"),
    "most replicas": _set_field(
        "HorizontalPodAutoscaler", "spec", "maxReplicas", value=77
    ),
    "schedule": _set_field("CronJob", "spec", "schedule", value="7 7 7 7 *"),
}


def _inject_sidecar(live: Object, random: Random) -> None:
    spec = pod_spec(live)
    mount = {"name": "injected", "mountPath": "/injected"}
    sidecar = {
        "name": "injected-proxy",
        "image": "proxy:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        "volumeMounts": [mount],
    }
    for container in spec["containers"]:
        container.setdefault("volumeMounts", []).append(deepcopy(mount))
        container.setdefault("env", []).append({"name": "INJECTED", "value": "1"})
    place = random.choice((0, len(spec["containers"])))
    spec["containers"].insert(place, sidecar)
    spec.setdefault("volumes", []).append({"name": "injected", "emptyDir": {}})


def add_noise(manifest: Object, live: Object, random: Random) -> None:
    """Add what servers, controllers and webhooks add to a live object."""
    kind, metadata = live["kind"], live["metadata"]
    spec = live.get("spec")
    if random.random() < 0.5:
        labels = metadata.get("labels")
        # kubectl sets a null of the manifest again where somebody fills it.
        if (manifest["metadata"].get("labels", {}) is not None) and labels is not None:
            labels["injected.example.com/by"] = "a-webhook"
    if kind in _WORKLOADS and isinstance(spec, dict):
        wanted = _object(manifest.get("spec"))
        if "replicas" in spec and "replicas" not in wanted:
            spec["replicas"] = random.randint(1, 9)
        if kind == "Deployment":
            annotations = metadata.setdefault("annotations", {})
            annotations["deployment.kubernetes.io/revision"] = "7"
        metadata["generation"] = random.randint(2, 9)
        live["status"] = {"observedGeneration": 7, "replicas": 1}
    if pod_spec(live).get("containers") and random.random() < 0.5:
        _inject_sidecar(live, random)
    if kind == "PersistentVolumeClaim" and "volumeName" not in manifest["spec"]:
        live["spec"]["volumeName"] = "pvc-1"
        annotations = metadata.setdefault("annotations", {})
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
        live["status"] = {"phase": "Bound"}
    if kind == "ServiceAccount" and not manifest.get("secrets"):
        live["secrets"] = [{"name": f"{metadata['name']}-token-x2x4z"}]
    if kind.endswith("WebhookConfiguration"):
        for webhook in live.get("webhooks") or []:
            webhook["clientConfig"].setdefault("caBundle", "cGxhbnRlZA==")
    if kind == "ClusterRole" and manifest.get("aggregationRule"):
        live["rules"] = [deepcopy(_RULE)]
    if kind == "Namespace":
        live.setdefault("spec", {})["finalizers"] = ["kubernetes"]
    metadata["resourceVersion"] = str(random.randint(1, 10**9))


def planted_pairs(
    bases: Sequence[Pair], count: int, seed: int, *, drifted: float
) -> Iterator[tuple[Object, Object, str]]:
    """Yield manifests and live objects, and what was planted; "" for nothing."""
    random = Random(seed)
    plants = sorted(PLANTS)
    turns = cycle(plants)
    suited: dict[str, list[int]] = {name: [] for name in plants}
    for number, (manifest, live) in enumerate(bases):
        for name in plants:
            if PLANTS[name](manifest, deepcopy(live), Random(0)):
                suited[name].append(number)
    for _ in range(count):
        name = ""
        if random.random() < drifted:
            # One kind after the other, so that a small fleet has all of them.
            name = next(turns)
        places = suited.get(name) or range(len(bases))
        manifest, stored = bases[random.choice(places)]
        live = deepcopy(stored)
        add_noise(manifest, live, random)
        if name and not (suited[name] and PLANTS[name](manifest, live, random)):
            name = ""
        yield manifest, live, name
