"""Writes to one object by several managers, as users, programs and controllers do them.

A ``WriteMaker`` makes the next write from what the object is now: the apply of a
configuration, or of a part of one; an update or a patch; a write to a subresource. Some
are odd on purpose: zero values, nulls, duplicates, wrong types, unknown fields, other
managedFields. The server says what it makes of them.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Final, NamedTuple, Protocol

from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object
from tests.support.makers.manifests import POD_SPECS, ManifestMaker
from tests.support.makers.widgets import API_VERSIONS, WidgetMaker

WIDGET: Final = "Widget"
CLIENT_SIDE: Final = "kubectl-client-side-apply"
_MANAGERS: Final = ("kubectl", "helm", "flux", "operator")
_KUBECTL: Final = ("kubectl", "Apply")
_CONTROLLERS: Final = ("controller", "autoscaler", "editor", "helm", "operator")
SCALED: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", WIDGET})

SHARES: Final[dict[str, int]] = {
    WIDGET: 26,
    "Deployment": 12,
    "StatefulSet": 6,
    "DaemonSet": 4,
    "ReplicaSet": 2,
    "Pod": 6,
    "Job": 4,
    "CronJob": 4,
    "Service": 8,
    "ConfigMap": 5,
    "Secret": 4,
    "Ingress": 4,
    "NetworkPolicy": 3,
    "ServiceAccount": 3,
    "Role": 2,
    "RoleBinding": 2,
    "HorizontalPodAutoscaler": 4,
    "PodDisruptionBudget": 3,
    "PersistentVolumeClaim": 4,
    "PersistentVolume": 1,
    "ValidatingWebhookConfiguration": 2,
    "Namespace": 1,
}
"""How many sequences of a hundred and some are of a kind."""

_TIME: Final = "2020-02-02T02:02:02Z"
_CONDITIONS: Final[tuple[JSONObject, ...]] = (
    {"type": "Available", "status": "True", "reason": "A"},
    {"type": "Available", "status": "False", "lastTransitionTime": _TIME},
    {"type": "Progressing", "status": "True", "message": ""},
)
_WORKLOAD_STATUS: Final[tuple[JSONObject, ...]] = (
    {"replicas": 1, "observedGeneration": 1},
    {"replicas": 2, "readyReplicas": 0, "conditions": [_CONDITIONS[0]]},
    {"replicas": 0, "conditions": [_CONDITIONS[1], _CONDITIONS[2]]},
    {"conditions": []},
)
_BALANCER_STATUS: Final[tuple[JSONObject, ...]] = (
    {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    {"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}},
    {"loadBalancer": {}},
)
STATUSES: Final[dict[str, tuple[JSONObject, ...]]] = {
    WIDGET: (
        {"replicas": 1, "phase": "Ready"},
        {"replicas": 0, "selector": "app=web", "phase": ""},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "False", "reason": "x"}]},
        {},
    ),
    "Deployment": _WORKLOAD_STATUS,
    "StatefulSet": _WORKLOAD_STATUS,
    "ReplicaSet": _WORKLOAD_STATUS,
    "DaemonSet": (
        {
            "currentNumberScheduled": 1,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 1,
            "numberReady": 0,
        },
        {"numberReady": 1, "conditions": [_CONDITIONS[0]]},
    ),
    "Pod": (
        {"phase": "Running", "podIP": "192.0.2.7", "podIPs": [{"ip": "192.0.2.7"}]},
        {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
        {"conditions": [{"type": "Ready", "status": "True"}], "hostIP": "192.0.2.8"},
        {"phase": "Pending", "message": "", "startTime": _TIME},
    ),
    "Job": ({"active": 1, "startTime": _TIME}, {"active": 0, "ready": 0}),
    "CronJob": ({"lastScheduleTime": _TIME}, {"active": []}),
    "Service": (*_BALANCER_STATUS, {"conditions": []}),
    "Ingress": _BALANCER_STATUS,
    "HorizontalPodAutoscaler": (
        {"currentReplicas": 1, "desiredReplicas": 2},
        {"currentReplicas": 0, "desiredReplicas": 0, "currentMetrics": []},
    ),
    "PodDisruptionBudget": (
        {
            "disruptionsAllowed": 0,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
        {
            "disruptionsAllowed": 1,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "expectedPods": 2,
            "observedGeneration": 1,
        },
    ),
    "PersistentVolumeClaim": (
        {"phase": "Bound", "capacity": {"storage": "1024Mi"}},
        {"phase": "Pending", "accessModes": ["ReadWriteOnce"]},
    ),
    "PersistentVolume": ({"phase": "Available"}, {"phase": "Bound", "message": ""}),
    "Namespace": ({"phase": "Active"},),
}
"""What controllers write to the status of a kind."""

# Fields of Go types with omitempty and others: what "no" and "nothing" are there.
_POD_ZEROS: Final[tuple[tuple[str, JSON], ...]] = (
    ("hostNetwork", False),
    ("hostPID", False),
    ("schedulerName", ""),
    ("nodeName", ""),
    ("nodeSelector", {}),
    ("securityContext", {}),
    ("tolerations", []),
    ("imagePullSecrets", []),
    ("terminationGracePeriodSeconds", 0),
    ("shareProcessNamespace", False),
    ("affinity", {}),
    ("priority", 0),
    ("hostname", ""),
    ("initContainers", []),
)
_CONTAINER_ZEROS: Final[tuple[tuple[str, JSON], ...]] = (
    ("resources", {}),
    ("resources", {"limits": {}, "requests": {}}),
    ("env", []),
    ("env", [{"name": "MODE", "value": ""}]),
    ("env", [{"name": "MODE"}]),
    ("command", []),
    ("args", []),
    ("ports", []),
    ("stdin", False),
    ("tty", False),
    ("workingDir", ""),
    ("imagePullPolicy", ""),
    ("securityContext", {}),
    ("volumeMounts", []),
)
_QUANTITIES: Final[tuple[JSONObject, ...]] = (
    {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
    {"limits": {"cpu": 1, "memory": 1073741824}},
    {"requests": {"cpu": "0.5", "memory": "1.5Gi"}, "limits": {"cpu": "2000m"}},
    {"requests": {"cpu": "1e3m", "memory": "0"}, "limits": {"cpu": "1.0"}},
    {"limits": {"cpu": 0.5}},
)
_ZEROS: Final[dict[str, tuple[tuple[str, JSON], ...]]] = {
    "Deployment": (
        ("spec.replicas", 0),
        ("spec.minReadySeconds", 0),
        ("spec.paused", False),
        ("spec.strategy", {}),
        ("spec.revisionHistoryLimit", 0),
    ),
    "StatefulSet": (
        ("spec.replicas", 0),
        ("spec.updateStrategy", {}),
        ("spec.volumeClaimTemplates", []),
        ("spec.serviceName", ""),
    ),
    "DaemonSet": (("spec.minReadySeconds", 0), ("spec.updateStrategy", {})),
    "Job": (("spec.suspend", False), ("spec.backoffLimit", 0)),
    "CronJob": (("spec.suspend", False), ("spec.successfulJobsHistoryLimit", 0)),
    "Service": (
        ("spec.selector", {}),
        ("spec.externalIPs", []),
        ("spec.publishNotReadyAddresses", False),
        ("spec.loadBalancerIP", ""),
        ("spec.type", ""),
    ),
    "ConfigMap": (("data", {}), ("binaryData", {}), ("immutable", False)),
    "Secret": (("data", {}), ("stringData", {}), ("immutable", False), ("type", "")),
    "Ingress": (("spec.tls", []), ("spec.rules", []), ("spec.ingressClassName", "")),
    "NetworkPolicy": (
        ("spec.podSelector", {}),
        ("spec.ingress", []),
        ("spec.ingress", [{}]),
        ("spec.policyTypes", []),
    ),
    "ServiceAccount": (
        ("secrets", []),
        ("imagePullSecrets", []),
        ("automountServiceAccountToken", False),
    ),
    "Role": (("rules", []),),
    "RoleBinding": (("subjects", []),),
    "HorizontalPodAutoscaler": (("spec.metrics", []), ("spec.behavior", {})),
    "PodDisruptionBudget": (("spec.selector", {}), ("spec.minAvailable", 0)),
    "PersistentVolumeClaim": (
        ("spec.storageClassName", ""),
        ("spec.volumeName", ""),
        ("spec.selector", {}),
    ),
    WIDGET: (("spec", {}), ("spec.settings", {}), ("spec.replicas", 0)),
}
_METADATA_ZEROS: Final[tuple[tuple[str, JSON], ...]] = (
    ("metadata.labels", {}),
    ("metadata.annotations", {}),
    ("metadata.finalizers", []),
    ("metadata.ownerReferences", []),
    ("metadata.creationTimestamp", None),
    ("metadata.generateName", ""),
    ("metadata.labels", {"empty": ""}),
)
_OWNERS: Final[tuple[JSONObject, ...]] = (
    {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "uid-a"},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "b",
        "uid": "uid-b",
        "controller": True,
        "blockOwnerDeletion": False,
    },
    {"apiVersion": "v1", "kind": "Secret", "name": "c", "uid": "uid-a"},
)
_FINALIZERS: Final = ("example.com/a", "example.com/b", "example.com/c")
_ELEMENT_KEYS: Final = frozenset(
    {"name", "containerPort", "protocol", "port", "mountPath", "key", "type", "uid"}
    | {"ip", "topologyKey", "whenUnsatisfiable", "path", "kind", "apiVersion"}
)
"""Fields that a part of an element keeps."""


class Write(NamedTuple):
    """A request that writes."""

    verb: str
    """apply, create, update, merge, strategic or json: the last three are patches."""
    body: JSON
    manager: str
    api_version: str
    subresource: str = ""
    force: bool = False
    dry_run: bool = False
    field_validation: str = ""


class Maker(Protocol):
    """Makes the manifests of a kind."""

    random: Random

    def manifest(self) -> JSONObject: ...
    def changed(self, manifest: JSONObject) -> JSONObject: ...
    def interfered(self, live: JSONObject) -> JSONObject: ...


class WriteMaker:
    """Makes the writes of one sequence, from a seed."""

    def __init__(
        self, seed: str, kind: str, name: str, maker: Maker | None = None
    ) -> None:
        self.kind = kind
        self._is_custom = kind == WIDGET
        self._is_scaled = kind in SCALED
        self._statuses = STATUSES.get(kind, ())
        if maker is None:
            is_widget = kind == WIDGET
            maker = WidgetMaker(seed, name) if is_widget else None
            maker = maker or ManifestMaker(seed, kind, name)
        self._maker = maker
        self.random = maker.random
        self._manifest = self._agreeing(self._maker.manifest())
        self._api_version = str(self._manifest["apiVersion"])
        self._tried = False
        # What each manager applied last.
        self._applied: dict[str, JSONObject] = {}
        self._style = self.random.choices(
            ("applies", "mixed", "client side", "many managers", "subresources"),
            (43, 29, 8, 2, 18),
        )[0]
        if self._style == "subresources" and not self._statuses:
            self._style = "mixed"
        self.length = self.random.randint(4, 8)
        if self._style == "many managers":
            self.length = 14

    def next(self, live: JSONObject | None) -> Write:
        """Make the next write to an object, or the first, which creates it."""
        if live is None:
            if self._tried:
                # The server refused it, and its author begins anew.
                self._manifest = self._agreeing(self._maker.manifest())
            self._tried = True
            write = self._first()
        elif self._style == "client side":
            write = self._client_side(live)
        elif self._style == "many managers":
            write = self._small(live)
        else:
            write = self._any(live)
        if self.random.random() < 0.05:
            write = write._replace(dry_run=True)
        if self.kind == WIDGET and self.random.random() < 0.12:
            write = _at_version(write, API_VERSIONS[1])
        return write

    def _first(self) -> Write:
        if self._style == "client side":
            body = with_last_applied(self._manifest)
            return self._write("create", body, CLIENT_SIDE)
        if self.random.random() < 0.6:
            return self._apply(self.random.choice(_MANAGERS), self._manifest)
        body = self._oddly(self._manifest) if self._chance(0.3) else self._manifest
        if self._chance(0.1):
            body = self._with_managed_fields(body, None)
        return self._write("create", body, self.random.choice(_CONTROLLERS))

    def _any(self, live: JSONObject) -> Write:
        chance = self.random.random()
        if self._style == "subresources" and chance < 0.5:
            if self._is_scaled and self._chance(0.45):
                return self._scale(live)
            return self._status(live)
        if self._style == "applies" and chance < 0.8:
            return self._apply_any()
        if chance < 0.45:
            return self._apply_any()
        if chance < 0.65:
            return self._update(live)
        return self._patch(live)

    def _agreeing(self, manifest: JSONObject) -> JSONObject:
        """Make the labels of a template agree with the selector, mostly."""
        selector = as_object(as_object(manifest.get("spec")).get("selector"))
        if self.kind in POD_SPECS and "matchLabels" in selector and self._chance(0.95):
            _put(manifest, "spec.selector", {"matchLabels": {"app": "web"}})
        return manifest

    # Applies.

    def _apply_any(self) -> Write:
        manager = self.random.choice(_MANAGERS)
        last = self._applied.get(manager)
        chance = self.random.random()
        if last is not None and chance < 0.15:
            # Again, or what another manager applied.
            applied = self.random.choice([*self._applied.values()])
            return self._apply(manager, applied, oddly=False)
        if last is not None and chance < 0.75:
            changed = self._maker.changed(last)
            return self._apply(manager, self._part(changed, 0.93))
        self._manifest = self._maker.changed(self._manifest)
        return self._apply(manager, self._part(self._manifest, 0.55))

    def _apply(self, manager: str, body: JSONObject, *, oddly: bool = True) -> Write:
        if oddly and self._chance(0.3):
            body = self._oddly(body)
        self._applied[manager] = body
        if oddly and self._chance(0.1):
            body = self._wrongly(body)
        write = self._write("apply", deepcopy(body), manager)
        return write._replace(force=self._chance(0.35))

    def _part(self, obj: JSONObject, share: float) -> JSONObject:
        """Return some of the fields of a configuration."""
        result: JSONObject = {}
        for name, value in obj.items():
            if name in {"apiVersion", "kind"}:
                result[name] = value
            elif name == "metadata":
                metadata = as_object(self._some(value, share))
                for key in ("name", "namespace"):
                    if key in as_object(value):
                        metadata[key] = as_object(value)[key]
                result[name] = metadata
            elif self._chance(share + 0.3):
                result[name] = self._some(value, share)
        selector = as_object(obj.get("spec")).get("selector")
        if "selector" in as_object(result.get("spec")) and self._chance(0.9):
            # It is immutable in most kinds: authors leave it whole.
            _put(result, "spec.selector", deepcopy(selector))
        return result

    def _some(self, value: JSON, share: float) -> JSON:
        if isinstance(value, dict):
            return {
                name: self._some(member, share)
                for name, member in value.items()
                if name in _ELEMENT_KEYS or self._chance(share)
            }
        if isinstance(value, list) and any(isinstance(e, dict) for e in value):
            return [self._some(e, share) for e in value if self._chance(share + 0.2)]
        return deepcopy(value)

    # What is odd and often allowed.

    def _oddly(self, body: JSONObject) -> JSONObject:
        result = deepcopy(body)
        for _ in range(self.random.randint(1, 2)):
            chance = self.random.random()
            if chance < 0.35:
                self._zero(result)
            elif chance < 0.5:
                self._share_metadata(result)
            elif chance < 0.62:
                self._repeat(result)
            elif chance < 0.72:
                self._null(result)
            elif self.kind in POD_SPECS:
                self._container_oddly(result)
            else:
                self._zero(result)
        return result

    def _zero(self, obj: JSONObject) -> None:
        if self.kind in POD_SPECS and self._chance(0.5):
            path, value = self.random.choice(_POD_ZEROS)
            path = f"{POD_SPECS[self.kind][0]}.{path}"
        else:
            rows = (*_ZEROS.get(self.kind, ()), *_METADATA_ZEROS)
            path, value = self.random.choice(rows)
        _put(obj, path, deepcopy(value))

    def _share_metadata(self, obj: JSONObject) -> None:
        if self._chance(0.5):
            chosen = self.random.sample(_FINALIZERS, self.random.randint(1, 2))
            _put(obj, "metadata.finalizers", [*chosen])
        else:
            owners = self.random.sample(_OWNERS, self.random.randint(1, 2))
            _put(obj, "metadata.ownerReferences", [*deepcopy(owners)])

    def _repeat(self, obj: JSONObject) -> None:
        lists = [v for v in _values(obj) if isinstance(v, list) and v]
        if lists:
            chosen = self.random.choice(lists)
            chosen.append(deepcopy(self.random.choice(chosen)))

    def _null(self, obj: JSONObject) -> None:
        objects = [v for v in _values(obj) if isinstance(v, dict) and v]
        chosen = self.random.choice(objects)
        if chosen is not obj and chosen is not obj.get("metadata"):
            chosen[self.random.choice([*chosen])] = None

    def _container_oddly(self, obj: JSONObject) -> None:
        spec = _found(obj, POD_SPECS[self.kind][0])
        containers = [c for c in as_list(spec.get("containers")) if isinstance(c, dict)]
        if not containers or self._chance(0.15):
            volumes = as_list(spec.setdefault("volumes", []))
            volumes.append({"name": "scratch", "emptyDir": {}})
            return
        container = self.random.choice(containers)
        chance = self.random.random()
        if chance < 0.4:
            name, value = self.random.choice(_CONTAINER_ZEROS)
            container[name] = deepcopy(value)
        elif chance < 0.7:
            container["resources"] = deepcopy(self.random.choice(_QUANTITIES))
        else:
            container["ports"] = [
                {"containerPort": 53, "protocol": "UDP"},
                {"containerPort": 53, "protocol": "TCP"},
            ]

    # What a server refuses, mostly.

    def _wrongly(self, body: JSONObject) -> JSONObject:
        result = deepcopy(body)
        metadata = as_object(result["metadata"])
        kind = self.random.randrange(9)
        if kind in {0, 1}:
            self._wrong_type(result)
        elif kind in {2, 3}:
            self._unknown_field(result)
        elif kind == 4:
            name, value = self.random.choice(
                (
                    ("apiVersion", "example.org/v1"),
                    ("kind", "Other"),
                    ("apiVersion", ""),
                    ("kind", None),
                )
            )
            result[name] = value
        elif kind == 5:
            entry: JSONObject = {"manager": "x", "operation": "Apply"}
            sent: list[JSON] = [[], [{}], [entry]]
            metadata["managedFields"] = self.random.choice(sent)
        elif kind == 6:
            metadata["resourceVersion"] = self.random.choice(("", "0", "1"))
        elif kind == 7:
            metadata["uid"] = self.random.choice(("", "another"))
        else:
            name = self.random.choice(("name", "namespace"))
            metadata[name] = self.random.choice(("other", ""))
        return result

    def _wrong_type(self, obj: JSONObject) -> None:
        objects = [v for v in _values(obj) if isinstance(v, dict) and v]
        chosen = self.random.choice(objects)
        if chosen is obj:
            chosen = as_object(obj["metadata"])
        name = self.random.choice([*chosen])
        wrong: list[JSON] = ["text", 5, True, 1.5, [], {}, ["a"], {"a": "b"}, [None]]
        chosen[name] = self.random.choice(wrong)

    def _unknown_field(self, obj: JSONObject) -> None:
        objects = [v for v in _values(obj) if isinstance(v, dict)]
        chosen = self.random.choice(objects)
        values: list[JSON] = ["x", None, {"a": 1}]
        chosen["unknownField"] = self.random.choice(values)

    # Updates and patches.

    def _update(self, live: JSONObject) -> Write:
        body = self._maker.interfered(live)
        if self._chance(0.25):
            body = self._oddly(body)
        body = self._with_managed_fields(body, live)
        metadata = as_object(body["metadata"])
        chance = self.random.random()
        if chance < 0.35:
            metadata.pop("resourceVersion", None)
        elif chance < 0.4:
            metadata["resourceVersion"] = "1"
        if self._statuses and self._chance(0.15):
            # The status through the object itself.
            body["status"] = deepcopy(self.random.choice(self._statuses))
        return self._write("update", body, self.random.choice(_CONTROLLERS))

    def _with_managed_fields(
        self, body: JSONObject, live: JSONObject | None
    ) -> JSONObject:
        """Change the managedFields that a client sends, or leave them as they are."""
        result = {**body, "metadata": {**as_object(body["metadata"])}}
        metadata = as_object(result["metadata"])
        entries = as_list(metadata.get("managedFields"))
        chance = self.random.random()
        if live is not None and chance < 0.5:
            return result
        if chance < 0.75:
            metadata.pop("managedFields", None)
        elif chance < 0.82:
            metadata["managedFields"] = []
        elif chance < 0.9:
            metadata["managedFields"] = [{}]
        elif chance < 0.94:
            renamed: JSONArray = [
                {**as_object(entry), "manager": "renamed"} for entry in entries[:1]
            ]
            metadata["managedFields"] = [*renamed, *entries[1:]]
        elif chance < 0.97:
            metadata["managedFields"] = entries[1:]
        else:
            metadata["managedFields"] = [
                *entries,
                {"manager": "broken", "operation": "Apply", "fieldsType": "FieldsV1"},
            ]
        return result

    def _patch(self, live: JSONObject) -> Write:
        manager = self.random.choice(_CONTROLLERS)
        chance = self.random.random()
        if chance < 0.3:
            return self._write("json", self._json_patch(live), manager)
        changed = self._maker.changed(self._manifest)
        part = self._part(changed, 0.4)
        if self._chance(0.3):
            part = self._oddly(part)
        if self._chance(0.1):
            part = self._wrongly(part)
        if self._chance(0.06):
            part = self._with_managed_fields(part, None)
        for name in ("apiVersion", "kind"):
            if self._chance(0.8):
                part.pop(name, None)
        if chance < 0.65 or self._is_custom:
            return self._write("merge", part, manager)
        return self._write("strategic", part, manager)

    def _json_patch(self, live: JSONObject) -> JSON:
        if self._chance(0.1):
            value: JSON = [{}] if self._chance(0.5) else []
            path = "/metadata/managedFields"
            return [{"op": "replace", "path": path, "value": value}]
        operations: JSONArray = []
        manifest = self._maker.changed(self._manifest)
        pointers = [p for p in _pointers(live, "") if "managedFields" not in p]
        chosen = self.random.choice([p for p in pointers if p.count("/") > 1])
        chance = self.random.random()
        if chance < 0.3:
            operations.append({"op": "remove", "path": chosen})
        elif chance < 0.7:
            places = [p for p in _pointers(manifest, "") if p.count("/") > 1]
            place = self.random.choice(places)
            value = deepcopy(_at(manifest, place))
            operations.append({"op": "add", "path": place, "value": value})
        else:
            value = self.random.choice(("", 0, False, None, "x", [], {}))
            operations.append({"op": "replace", "path": chosen, "value": value})
        return operations

    def _small(self, live: JSONObject) -> Write:
        """Write a label or an annotation, each time as another manager."""
        if self._chance(0.1):
            return self._apply_any()
        number = len(as_list(as_object(live["metadata"]).get("managedFields")))
        manager = f"manager-{self.random.randrange(20)}-{number}"
        where = self.random.choice(("labels", "annotations"))
        name = self.random.choice("abcdefgh")
        member: JSONObject = {name: self.random.choice(("x", "y"))}
        return self._write("merge", {"metadata": {where: member}}, manager)

    # Subresources.

    def _status(self, live: JSONObject) -> Write:
        status = deepcopy(self.random.choice(self._statuses))
        chance = self.random.random()
        identity: JSONObject = {name: live[name] for name in ("apiVersion", "kind")}
        metadata = as_object(live["metadata"])
        named: JSONObject = {
            name: metadata[name] for name in ("name", "namespace") if name in metadata
        }
        if self._chance(0.2):
            named["labels"] = {"from": "status"}
        manager = self.random.choice(_CONTROLLERS)
        if chance < 0.4:
            body: JSON = {**identity, "metadata": named, "status": status}
            if self._chance(0.2):
                body = {**as_object(body), "spec": deepcopy(live.get("spec"))}
            write = self._write("apply", body, manager, "status")
            return write._replace(force=self._chance(0.5))
        if chance < 0.65:
            body = {**deepcopy(live), "status": status}
            if self._chance(0.4):
                body = {**self._maker.interfered(live), "status": status}
            return self._write("update", body, manager, "status")
        if chance < 0.85:
            body = {"status": status}
            if self._chance(0.3):
                body["metadata"] = {"annotations": {"from": "status"}}
                body["spec"] = {"replicas": 5}
            return self._write("merge", body, manager, "status")
        if chance < 0.93 or self._is_custom:
            body = [{"op": "add", "path": "/status", "value": status}]
            return self._write("json", body, manager, "status")
        return self._write("strategic", {"status": status}, manager, "status")

    def _scale(self, live: JSONObject) -> Write:
        count = self.random.choice((0, 1, 2, 5))
        metadata = as_object(live["metadata"])
        scale: JSONObject = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
            },
            "spec": {"replicas": count},
        }
        manager = self.random.choice(("kubectl-scale", "autoscaler", "helm"))
        chance = self.random.random()
        if chance < 0.35:
            return self._write("update", scale, manager, "scale")
        if chance < 0.7:
            body: JSONObject = {"spec": {"replicas": count}}
            verb = "strategic" if self._chance(0.3) else "merge"
            return self._write(verb, body, manager, "scale")
        if chance < 0.85:
            patch: JSON = [{"op": "replace", "path": "/spec/replicas", "value": count}]
            return self._write("json", patch, manager, "scale")
        write = self._write("apply", scale, manager, "scale")
        return write._replace(force=self._chance(0.5))

    # From client-side to server-side apply, as kubectl does it.

    def _client_side(self, live: JSONObject) -> Write:
        metadata = as_object(live["metadata"])
        entries = [as_object(e) for e in as_list(metadata.get("managedFields"))]
        operations = {(e.get("manager"), e.get("operation")) for e in entries}
        annotations = as_object(metadata.get("annotations"))
        self._manifest = self._maker.changed(self._manifest)
        if _KUBECTL not in operations:
            if self._chance(0.3):
                # Once more client-side.
                body = self._part(with_last_applied(self._manifest), 0.9)
                _put(
                    body,
                    "metadata.annotations",
                    as_object(with_last_applied(self._manifest)["metadata"])[
                        "annotations"
                    ],
                )
                verb = "merge" if self._is_custom else "strategic"
                return self._write(verb, body, CLIENT_SIDE)
            if self._chance(0.2):
                return self._update(live)
            return self._apply("kubectl", self._manifest)
        owned = ("kubectl-last-applied", "Apply") in operations
        if LAST_APPLIED in annotations and not owned and self._chance(0.5):
            named = {
                "name": metadata["name"],
                "annotations": {LAST_APPLIED: annotations[LAST_APPLIED]},
            }
            body = {
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "metadata": named,
            }
            return self._write("apply", body, "kubectl-last-applied")
        if (CLIENT_SIDE, "Update") in operations and self._chance(0.5):
            return self._write("json", _upgrade(metadata), "kubectl")
        return self._apply("kubectl", self._manifest)

    def _write(
        self, verb: str, body: JSON, manager: str, subresource: str = ""
    ) -> Write:
        return Write(verb, body, manager, self._api_version, subresource)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share


def _upgrade(metadata: JSONObject) -> JSON:
    """Return a patch that hands what client-side apply owns to kubectl.

    It is what kubectl sends (Go: client-go, csaupgrade.UpgradeManagedFieldsPatch).
    """
    merged: JSONObject = {}
    entries: JSONArray = []
    for entry in map(as_object, as_list(metadata["managedFields"])):
        manager = entry["manager"]
        if manager == CLIENT_SIDE or (manager, entry["operation"]) == _KUBECTL:
            fields = _union(merged.get("fieldsV1"), entry["fieldsV1"])
            if not merged:
                entries.append(merged)
            merged.update(entry)
            merged.update(manager="kubectl", operation="Apply", fieldsV1=fields)
        else:
            entries.append(entry)
    version = metadata["resourceVersion"]
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]


def _union(one: JSON, other: JSON) -> JSONObject:
    result = {**as_object(one)}
    for name, below in as_object(other).items():
        result[name] = _union(result.get(name), below)
    return result


def _at_version(write: Write, api_version: str) -> Write:
    if write.subresource == "scale":
        return write
    body = write.body
    if isinstance(body, dict) and body.get("apiVersion") == write.api_version:
        body = {**body, "apiVersion": api_version}
    return write._replace(body=body, api_version=api_version)


def _values(value: JSON) -> list[JSON]:
    """Return a value and all that is below it, but for the identity of an object."""
    found = [value]
    if isinstance(value, dict):
        for name, member in value.items():
            if name != "managedFields":
                found += _values(member)
    elif isinstance(value, list):
        for element in value:
            found += _values(element)
    return found


def _pointers(value: JSON, above: str) -> list[str]:
    found = []
    if isinstance(value, dict):
        for name, member in value.items():
            pointer = f"{above}/{name.replace('~', '~0').replace('/', '~1')}"
            found += [pointer, *_pointers(member, pointer)]
    elif isinstance(value, list):
        for at, element in enumerate(value):
            found += [f"{above}/{at}", *_pointers(element, f"{above}/{at}")]
    return found


def _at(value: JSON, pointer: str) -> JSON:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else as_object(value)[name]
    return value


def _found(obj: JSONObject, path: str) -> JSONObject:
    """Return the object at a path, which is made where it is not."""
    for name in path.split("."):
        below = obj.get(name)
        if not isinstance(below, dict):
            below = obj[name] = {}
        obj = below
    return obj


def _put(obj: JSONObject, path: str, value: JSON) -> None:
    above, _, name = path.rpartition(".")
    (_found(obj, above) if above else obj)[name] = value
