"""The columns of the built-in resources, as those who use kubectl know them.

Source: the column definitions in k8s.io/kubernetes, pkg/printers/internalversion. For a
value that a server would have filled in, its documented default is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias

from smp.server.objects.resources import Resource
from smp.server.objects.selectors import selector_text
from smp.server.objects.tables import _object_cells as cells
from smp.server.objects.tables import _pods as pods
from smp.server.objects.tables._cells import NONE, UNSET, at, integer_at, text_at
from smp.server.objects.tables.columns import AGE, NAME, Column

Columns: TypeAlias = tuple[Column, ...]


def columns_of(resource: Resource) -> Columns:
    """Return the columns of a built-in resource, by default the name and the age."""
    return _COLUMNS.get(resource.key, (NAME, AGE))


def _text(name: str, path: str, absent: str = "") -> Column:
    return Column(name, lambda obj, _now: text_at(obj, path, absent))


def _number(name: str, path: str, absent: int = 0) -> Column:
    return Column(name, lambda obj, _now: integer_at(obj, path, absent), "integer")


def _flag(name: str, path: str, kind: str = "boolean") -> Column:
    return Column(name, lambda obj, _now: at(obj, path) is True, kind)


def _shown(name: str, show: cells.Show, kind: str = "string") -> Column:
    return Column(name, lambda obj, _now: show(obj), kind)


def _selector(path: str, name: str = "Selector", absent: str = NONE) -> Column:
    return _shown(name, lambda obj: selector_text(at(obj, path)) or absent)


def _containers(template: str) -> Columns:
    path = f"{template}.spec.containers"
    return _shown("Containers", cells.names_of(path, "name")), _shown(
        "Images", cells.names_of(path, "image")
    )


def _wide(*columns: Column) -> Columns:
    """Return columns that are shown on demand only: ``-o wide``."""
    return tuple(replace(column, priority=1) for column in columns)


_DATA: Final = (NAME, _shown("Data", cells.count_of("data", "binaryData")), AGE)
_CREATED_AT: Final = (
    NAME,
    Column(
        "Created At",
        lambda obj, _now: text_at(obj, "metadata.creationTimestamp"),
        "date",
    ),
)
_REPLICAS: Final = (
    NAME,
    _number("Desired", "spec.replicas", 1),
    _number("Current", "status.replicas"),
    _number("Ready", "status.readyReplicas"),
    AGE,
    *_wide(*_containers("spec.template"), _selector("spec.selector")),
)
_BINDING: Final = (
    NAME,
    _shown(
        "Role",
        lambda obj: f"{text_at(obj, 'roleRef.kind')}/{text_at(obj, 'roleRef.name')}",
    ),
    AGE,
    *_wide(
        _shown("Users", cells.subjects("User")),
        _shown("Groups", cells.subjects("Group")),
        _shown("ServiceAccounts", cells.subjects("ServiceAccount")),
    ),
)
_VOLUME_MODE: Final = _wide(_text("VolumeMode", "spec.volumeMode", UNSET))
_VOLUME_ATTRIBUTES: Final = _text(
    "VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET
)

_COLUMNS: Final[dict[tuple[str, str], Columns]] = {
    ("", "configmaps"): _DATA,
    ("", "endpoints"): (NAME, _shown("Endpoints", cells.endpoints), AGE),
    ("", "events"): (
        Column("Last Seen", cells.event_last_seen),
        _text("Type", "type"),
        _text("Reason", "reason"),
        _shown("Object", cells.event_object),
        *_wide(
            _text("Subobject", "involvedObject.fieldPath"),
            _shown("Source", cells.event_source),
        ),
        _shown("Message", lambda obj: text_at(obj, "message").strip()),
        *_wide(
            Column("First Seen", cells.event_first_seen),
            _shown("Count", cells.event_count),
            NAME,
        ),
    ),
    ("", "limitranges"): _CREATED_AT,
    ("", "namespaces"): (NAME, _text("Status", "status.phase"), AGE),
    ("", "nodes"): (
        NAME,
        _shown("Status", cells.node_status),
        _shown("Roles", cells.node_roles),
        AGE,
        _text("Version", "status.nodeInfo.kubeletVersion"),
        *_wide(
            _shown("Internal-IP", cells.address("InternalIP")),
            _shown("External-IP", cells.address("ExternalIP")),
            _text("OS-Image", "status.nodeInfo.osImage", "<unknown>"),
            _shown("Kernel-Version", cells.kernel),
            _text(
                "Container-Runtime",
                "status.nodeInfo.containerRuntimeVersion",
                "<unknown>",
            ),
        ),
    ),
    ("", "persistentvolumeclaims"): (
        NAME,
        _shown("Status", cells.volume_phase),
        _text("Volume", "spec.volumeName"),
        _shown(
            "Capacity",
            cells.if_bound(lambda obj: text_at(obj, "status.capacity.storage", "0")),
        ),
        _shown(
            "Access Modes", cells.if_bound(cells.access_modes("status.accessModes"))
        ),
        _text("StorageClass", "spec.storageClassName"),
        _VOLUME_ATTRIBUTES,
        AGE,
        *_VOLUME_MODE,
    ),
    ("", "persistentvolumes"): (
        NAME,
        _text("Capacity", "spec.capacity.storage", "0"),
        _shown("Access Modes", cells.access_modes("spec.accessModes")),
        _text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Retain"),
        _shown("Status", cells.volume_phase),
        _shown("Claim", cells.claim),
        _text("StorageClass", "spec.storageClassName"),
        _VOLUME_ATTRIBUTES,
        _text("Reason", "status.reason"),
        AGE,
        *_VOLUME_MODE,
    ),
    ("", "pods"): (
        NAME,
        Column("Ready", pods.ready),
        Column("Status", pods.status),
        Column("Restarts", pods.restarts),
        AGE,
        *_wide(
            _shown("IP", cells.pod_ip),
            _text("Node", "spec.nodeName", NONE),
            _text("Nominated Node", "status.nominatedNodeName", NONE),
            Column("Readiness Gates", pods.readiness_gates),
        ),
    ),
    ("", "podtemplates"): (
        NAME,
        *_containers("template"),
        _selector("template.metadata.labels", "Pod Labels"),
    ),
    ("", "replicationcontrollers"): _REPLICAS,
    ("", "secrets"): (NAME, _text("Type", "type", "Opaque"), *_DATA[1:]),
    ("", "services"): (
        NAME,
        _text("Type", "spec.type", "ClusterIP"),
        _shown("Cluster-IP", cells.cluster_ip),
        _shown("External-IP", cells.external_ip),
        _shown("Port(s)", cells.service_ports),
        AGE,
        *_wide(_selector("spec.selector")),
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): _CREATED_AT,
    ("apps", "daemonsets"): (
        NAME,
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        _selector("spec.template.spec.nodeSelector", "Node Selector"),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector")),
    ),
    ("apps", "deployments"): (
        NAME,
        _shown("Ready", cells.of("status.readyReplicas", "spec.replicas")),
        _shown("Up-to-date", lambda obj: integer_at(obj, "status.updatedReplicas")),
        _shown("Available", lambda obj: integer_at(obj, "status.availableReplicas")),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector", absent="")),
    ),
    ("apps", "replicasets"): _REPLICAS,
    ("apps", "statefulsets"): (
        NAME,
        _shown("Ready", cells.of("status.readyReplicas", "spec.replicas")),
        AGE,
        *_wide(*_containers("spec.template")),
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        NAME,
        _shown(
            "Reference",
            lambda obj: (
                f"{text_at(obj, 'spec.scaleTargetRef.kind')}/{text_at(obj, 'spec.scaleTargetRef.name')}"
            ),
        ),
        _shown("Targets", cells.metrics),
        _text("MinPods", "spec.minReplicas", "1"),
        _shown("MaxPods", lambda obj: integer_at(obj, "spec.maxReplicas")),
        _shown("Replicas", lambda obj: integer_at(obj, "status.currentReplicas")),
        AGE,
    ),
    ("batch", "cronjobs"): (
        NAME,
        _text("Schedule", "spec.schedule"),
        _text("Timezone", "spec.timeZone", NONE),
        _shown("Suspend", lambda obj: str(at(obj, "spec.suspend") is True), "boolean"),
        _shown("Active", cells.count_of("status.active"), "integer"),
        Column("Last Schedule", cells.last_schedule),
        AGE,
        *_wide(
            *_containers("spec.jobTemplate.spec.template"),
            _selector("spec.jobTemplate.spec.selector"),
        ),
    ),
    ("batch", "jobs"): (
        NAME,
        _shown("Status", cells.job_status),
        _shown("Completions", cells.job_completions),
        Column("Duration", cells.job_duration),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector")),
    ),
    ("coordination.k8s.io", "leases"): (
        NAME,
        _text("Holder", "spec.holderIdentity"),
        AGE,
    ),
    ("networking.k8s.io", "ingresses"): (
        NAME,
        _text("Class", "spec.ingressClassName", NONE),
        _shown("Hosts", cells.hosts),
        _shown("Address", cells.balanced),
        _shown("Ports", lambda obj: "80, 443" if at(obj, "spec.tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "networkpolicies"): (
        NAME,
        _selector("spec.podSelector", "Pod-Selector"),
        AGE,
    ),
    ("policy", "poddisruptionbudgets"): (
        NAME,
        _text("Min Available", "spec.minAvailable", "N/A"),
        _text("Max Unavailable", "spec.maxUnavailable", "N/A"),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "clusterroles"): _CREATED_AT,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "roles"): _CREATED_AT,
    ("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        _number("Value", "value"),
        _flag("Global-Default", "globalDefault"),
        AGE,
        _text("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
    ),
    ("storage.k8s.io", "storageclasses"): (
        NAME,
        _text("Provisioner", "provisioner"),
        _text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        _text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        _flag("AllowVolumeExpansion", "allowVolumeExpansion", "string"),
        AGE,
    ),
}
