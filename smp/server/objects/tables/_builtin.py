"""The columns of the built-in resources, as ``kubectl get`` prints them.

Go: the column definitions of AddHandlers in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go. The function that prints the cells of a kind
is named after it there: printPod, printDeployment, printHorizontalPodAutoscaler. Where
an API server would have set a default that the stored object lacks, the default is
shown.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

from msgspec.structs import replace

from smp.server.objects import autoscalers
from smp.server.objects.resources import Resource
from smp.server.objects.selectors import selector_text
from smp.server.objects.tables import _cluster as cluster
from smp.server.objects.tables import _infrastructure as infrastructure
from smp.server.objects.tables import _network as network
from smp.server.objects.tables import _pods as pods
from smp.server.objects.tables import _workloads as workloads
from smp.server.objects.tables._cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Show,
    at,
    boolean_of,
    count_of,
    integer_of,
    list_of,
    text_of,
)
from smp.server.objects.tables.columns import AGE, NAME, Cell, Column
from smp.values import JSON, JSONObject

Columns: TypeAlias = tuple[Column, ...]


def columns_of(resource: Resource) -> Columns:
    """Return the columns of a built-in resource, by default the name and the age."""
    if resource.key == ("events.k8s.io", "events"):
        columns = _COLUMNS["", "events"]
        return tuple(replace(column, cell=_of_core(column.cell)) for column in columns)
    columns = _COLUMNS.get(resource.key, (NAME, AGE))
    if resource.version == resource.storage_version:
        return columns
    # The columns are those of the stored version: only autoscalers have another one.
    return tuple(replace(column, cell=_of_v2(column.cell)) for column in columns)


def _of_v2(show: Cell) -> Cell:
    def cell(obj: JSONObject, now: datetime) -> JSON:
        return show(autoscalers.to_v2(obj), now)

    return cell


def _of_core(show: Cell) -> Cell:
    def cell(obj: JSONObject, now: datetime) -> JSON:
        return show(cluster.as_core_event(obj), now)

    return cell


# How columns are made, by what their cells show.


def _timeless(show: Show) -> Cell:
    def cell(obj: JSONObject, _now: datetime) -> JSON:
        return show(obj)

    return cell


def _column(name: str, show: Show, json_type: str = "string") -> Column:
    """Make a column whose cells do not depend on the time."""
    return Column(name, _timeless(show), json_type)


def _text(name: str, path: str, absent: str = "") -> Column:
    return _column(name, text_of(path, absent))


def _integer(name: str, path: str, absent: int = 0) -> Column:
    return _column(name, integer_of(path, absent), "integer")


def _selector(path: str, name: str = "Selector", absent: str = NONE) -> Column:
    def show(obj: JSONObject) -> JSON:
        return selector_text(at(obj, path)) or absent

    return _column(name, show)


def _containers(template: str) -> Columns:
    """Make the columns of the containers in the pod template at a path."""
    return (
        _column("Containers", workloads.containers_of(template, "name")),
        _column("Images", workloads.containers_of(template, "image")),
    )


def _wide(*columns: Column) -> Columns:
    """Return columns that are shown on demand only: ``-o wide``."""
    return tuple(replace(column, priority=1) for column in columns)


# Columns that several resources share.

_DATA: Final = _column("Data", count_of("data", "binaryData"))
# Kinds without a print function: rest.NewDefaultTableConvertor of k8s.io/apiserver.
_CREATED_AT: Final = (
    NAME,
    _column("Created At", text_of("metadata.creationTimestamp"), "date"),
)
_REPLICAS: Final = (
    NAME,
    _integer("Desired", "spec.replicas", 1),
    _integer("Current", "status.replicas"),
    _integer("Ready", "status.readyReplicas"),
    AGE,
    *_wide(*_containers("spec.template"), _selector("spec.selector")),
)
_BINDING: Final = (
    NAME,
    _column("Role", cluster.bound_role),
    AGE,
    *_wide(
        _column("Users", cluster.subjects_of("User")),
        _column("Groups", cluster.subjects_of("Group")),
        _column("ServiceAccounts", cluster.subjects_of("ServiceAccount")),
    ),
)
_WEBHOOKS: Final = (NAME, _column("Webhooks", count_of("webhooks"), "integer"), AGE)
_POLICY_BINDING: Final = (
    NAME,
    _text("PolicyName", "spec.policyName"),
    _column("ParamRef", infrastructure.param_ref),
    AGE,
)
_VOLUME_MODE: Final = _wide(_text("VolumeMode", "spec.volumeMode", UNSET))
_VOLUME_ATTRIBUTES: Final = _text(
    "VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET
)

_COLUMNS: Final[dict[tuple[str, str], Columns]] = {
    ("", "configmaps"): (NAME, _DATA, AGE),
    ("", "endpoints"): (NAME, _column("Endpoints", network.endpoints), AGE),
    # The name of an event tells a reader nothing, so it is among the wide columns.
    ("", "events"): (
        Column("Last Seen", cluster.event_last_seen),
        _text("Type", "type"),
        _text("Reason", "reason"),
        _column("Object", cluster.event_object),
        *_wide(
            _text("Subobject", "involvedObject.fieldPath"),
            _column("Source", cluster.event_source),
        ),
        _column("Message", cluster.event_message),
        *_wide(
            Column("First Seen", cluster.event_first_seen),
            _column("Count", cluster.event_count),
            NAME,
        ),
    ),
    ("", "componentstatuses"): (
        NAME,
        _column("Status", infrastructure.health("status")),
        _column("Message", infrastructure.health("message")),
        _column("Error", infrastructure.health("error")),
    ),
    ("", "limitranges"): _CREATED_AT,
    ("", "namespaces"): (NAME, _text("Status", "status.phase"), AGE),
    ("", "nodes"): (
        NAME,
        _column("Status", cluster.node_status),
        _column("Roles", cluster.node_roles),
        AGE,
        _text("Version", "status.nodeInfo.kubeletVersion"),
        *_wide(
            _column("Internal-IP", cluster.node_address("InternalIP")),
            _column("External-IP", cluster.node_address("ExternalIP")),
            _text("OS-Image", "status.nodeInfo.osImage", UNKNOWN),
            _column("Kernel-Version", cluster.kernel),
            _text(
                "Container-Runtime",
                "status.nodeInfo.containerRuntimeVersion",
                UNKNOWN,
            ),
        ),
    ),
    # What a claim has got is shown once it is bound; what it asks for, never.
    ("", "persistentvolumeclaims"): (
        NAME,
        _column("Status", cluster.volume_phase),
        _text("Volume", "spec.volumeName"),
        _column(
            "Capacity",
            cluster.if_bound(text_of("status.capacity.storage", "0")),
        ),
        _column(
            "Access Modes",
            cluster.if_bound(cluster.access_modes_of("status.accessModes")),
        ),
        _text("StorageClass", "spec.storageClassName"),
        _VOLUME_ATTRIBUTES,
        AGE,
        *_VOLUME_MODE,
    ),
    ("", "persistentvolumes"): (
        NAME,
        _text("Capacity", "spec.capacity.storage", "0"),
        _column("Access Modes", cluster.access_modes_of("spec.accessModes")),
        _text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Retain"),
        _column("Status", cluster.volume_phase),
        _column("Claim", cluster.bound_claim),
        _text("StorageClass", "spec.storageClassName"),
        _VOLUME_ATTRIBUTES,
        _text("Reason", "status.reason"),
        AGE,
        *_VOLUME_MODE,
    ),
    # The three cells between name and age sum up the states of all containers.
    ("", "pods"): (
        NAME,
        Column("Ready", pods.ready),
        Column("Status", pods.status),
        Column("Restarts", pods.restarts),
        AGE,
        *_wide(
            _column("IP", pods.ip),
            _text("Node", "spec.nodeName", NONE),
            _text("Nominated Node", "status.nominatedNodeName", NONE),
            Column("Readiness Gates", pods.readiness_gates),
        ),
    ),
    # A pod template has no age.
    ("", "podtemplates"): (
        NAME,
        *_containers("template"),
        _selector("template.metadata.labels", "Pod Labels"),
    ),
    ("", "replicationcontrollers"): _REPLICAS,
    ("", "resourcequotas"): (
        NAME,
        _column("Request", infrastructure.quota_of(limits=False)),
        _column("Limit", infrastructure.quota_of(limits=True)),
        AGE,
    ),
    # An API server sets the type of a secret, and that of a service below.
    ("", "secrets"): (NAME, _text("Type", "type", "Opaque"), _DATA, AGE),
    ("", "services"): (
        NAME,
        _text("Type", "spec.type", "ClusterIP"),
        _column("Cluster-IP", network.cluster_ip),
        _column("External-IP", network.external_ip),
        _column("Port(s)", network.service_ports),
        AGE,
        *_wide(_selector("spec.selector")),
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): (
        NAME,
        _column("Mutations", count_of("spec.mutations"), "integer"),
        _column("ParamKind", infrastructure.param_kind),
        AGE,
    ),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
    ): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): (
        NAME,
        _column("Validations", count_of("spec.validations"), "integer"),
        _column("ParamKind", infrastructure.param_kind),
        AGE,
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (
        _POLICY_BINDING
    ),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _WEBHOOKS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _CREATED_AT,
    ("apiregistration.k8s.io", "apiservices"): (
        NAME,
        _column("Service", infrastructure.api_service),
        _column("Available", infrastructure.api_service_available),
        AGE,
    ),
    ("apps", "controllerrevisions"): (
        NAME,
        _column("Controller", infrastructure.controller_of),
        _column("Revision", integer_of("revision")),
        AGE,
    ),
    ("apps", "daemonsets"): (
        NAME,
        _integer("Desired", "status.desiredNumberScheduled"),
        _integer("Current", "status.currentNumberScheduled"),
        _integer("Ready", "status.numberReady"),
        _integer("Up-to-date", "status.updatedNumberScheduled"),
        _integer("Available", "status.numberAvailable"),
        _selector("spec.template.spec.nodeSelector", "Node Selector"),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector")),
    ),
    # These counts are declared as strings, those of daemon sets above as integers.
    ("apps", "deployments"): (
        NAME,
        _column("Ready", workloads.ready_replicas),
        _column("Up-to-date", integer_of("status.updatedReplicas")),
        _column("Available", integer_of("status.availableReplicas")),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector", absent="")),
    ),
    ("apps", "replicasets"): _REPLICAS,
    # A stateful set shows no selector.
    ("apps", "statefulsets"): (
        NAME,
        _column("Ready", workloads.ready_replicas),
        AGE,
        *_wide(*_containers("spec.template")),
    ),
    # A target without a status, as of a new autoscaler, is <unknown>.
    ("autoscaling", "horizontalpodautoscalers"): (
        NAME,
        _column("Reference", workloads.scale_target),
        _column("Targets", workloads.metrics),
        _text("MinPods", "spec.minReplicas", "1"),
        _column("MaxPods", integer_of("spec.maxReplicas")),
        _column("Replicas", integer_of("status.currentReplicas")),
        AGE,
    ),
    # Suspend is declared as a boolean, and its cells are the words True and False.
    ("batch", "cronjobs"): (
        NAME,
        _text("Schedule", "spec.schedule"),
        _text("Timezone", "spec.timeZone", NONE),
        _column("Suspend", workloads.is_suspended, "boolean"),
        _column("Active", count_of("status.active"), "integer"),
        Column("Last Schedule", workloads.last_schedule),
        AGE,
        *_wide(
            *_containers("spec.jobTemplate.spec.template"),
            _selector("spec.jobTemplate.spec.selector"),
        ),
    ),
    ("batch", "jobs"): (
        NAME,
        _column("Status", workloads.job_status),
        _column("Completions", workloads.job_completions),
        Column("Duration", workloads.job_duration),
        AGE,
        *_wide(*_containers("spec.template"), _selector("spec.selector")),
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        NAME,
        AGE,
        _text("SignerName", "spec.signerName", NONE),
        _text("Requestor", "spec.username"),
        _column("RequestedDuration", infrastructure.requested_duration),
        _column("Condition", infrastructure.request_state),
    ),
    ("certificates.k8s.io", "clustertrustbundles"): (
        NAME,
        _text("SignerName", "spec.signerName", NONE),
    ),
    ("certificates.k8s.io", "podcertificaterequests"): (
        NAME,
        _text("PodName", "spec.podName"),
        _text("ServiceAccountName", "spec.serviceAccountName"),
        _text("NodeName", "spec.nodeName"),
        _text("SignerName", "spec.signerName"),
        _column("State", infrastructure.pod_request_state),
        *_wide(
            _selector("spec.unverifiedUserAnnotations", "UnverifiedUserAnnotations"),
        ),
    ),
    ("coordination.k8s.io", "leasecandidates"): (
        NAME,
        _text("LeaseName", "spec.leaseName"),
        _text("BinaryVersion", "spec.binaryVersion"),
        _text("EmulationVersion", "spec.emulationVersion"),
        AGE,
    ),
    ("coordination.k8s.io", "leases"): (
        NAME,
        _text("Holder", "spec.holderIdentity"),
        AGE,
    ),
    ("discovery.k8s.io", "endpointslices"): (
        NAME,
        _text("AddressType", "addressType"),
        _column("Ports", infrastructure.slice_ports),
        _column("Endpoints", infrastructure.slice_endpoints),
        AGE,
    ),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): (
        NAME,
        _text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        _column("MatchingPrecedence", integer_of("spec.matchingPrecedence")),
        _column("DistinguisherMethod", infrastructure.distinguisher),
        AGE,
        _column("MissingPL", infrastructure.missing_level),
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        NAME,
        _text("Type", "spec.type"),
        _column(
            "NominalConcurrencyShares",
            infrastructure.limited(".nominalConcurrencyShares"),
        ),
        _column("Queues", infrastructure.limited(".limitResponse.queuing.queues")),
        _column("HandSize", infrastructure.limited(".limitResponse.queuing.handSize")),
        _column(
            "QueueLengthLimit",
            infrastructure.limited(".limitResponse.queuing.queueLengthLimit"),
        ),
        AGE,
    ),
    ("networking.k8s.io", "ingressclasses"): (
        replace(NAME, cell=_timeless(infrastructure.default_class_name)),
        _text("Controller", "spec.controller"),
        _column("Parameters", infrastructure.class_parameters),
        AGE,
    ),
    ("networking.k8s.io", "ipaddresses"): (
        NAME,
        _column("ParentRef", infrastructure.parent_of_address),
    ),
    ("networking.k8s.io", "servicecidrs"): (
        NAME,
        _column("CIDRs", list_of("spec.cidrs")),
        AGE,
    ),
    # An ingress declares no ports: they follow from TLS.
    ("networking.k8s.io", "ingresses"): (
        NAME,
        _text("Class", "spec.ingressClassName", NONE),
        _column("Hosts", network.ingress_hosts),
        _column("Address", network.load_balancer),
        _column("Ports", network.ingress_ports),
        AGE,
    ),
    ("networking.k8s.io", "networkpolicies"): (
        NAME,
        _selector("spec.podSelector", "Pod-Selector"),
        AGE,
    ),
    ("node.k8s.io", "runtimeclasses"): (NAME, _text("Handler", "handler"), AGE),
    ("policy", "poddisruptionbudgets"): (
        NAME,
        _text("Min Available", "spec.minAvailable", "N/A"),
        _text("Max Unavailable", "spec.maxUnavailable", "N/A"),
        _integer("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "clusterroles"): _CREATED_AT,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "roles"): _CREATED_AT,
    ("resource.k8s.io", "devicetaintrules"): (
        NAME,
        _text("Key", "spec.taint.key"),
        _text("Value", "spec.taint.value"),
        _text("Effect", "spec.taint.effect"),
        Column("TimeAdded", infrastructure.taint_added),
        AGE,
    ),
    ("resource.k8s.io", "resourceclaims"): (
        NAME,
        _column("State", infrastructure.claim_state),
        AGE,
    ),
    ("resource.k8s.io", "resourceslices"): (
        NAME,
        _text("Node", "spec.nodeName"),
        _text("Driver", "spec.driver"),
        _text("Pool", "spec.pool.name"),
        AGE,
    ),
    ("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        _integer("Value", "value"),
        _column("Global-Default", boolean_of("globalDefault"), "boolean"),
        AGE,
        _text("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
    ),
    # The last flag is declared as a string, and its cells are booleans.
    ("storage.k8s.io", "storageclasses"): (
        NAME,
        _text("Provisioner", "provisioner"),
        _text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        _text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        _column("AllowVolumeExpansion", boolean_of("allowVolumeExpansion")),
        AGE,
    ),
    ("storage.k8s.io", "csidrivers"): (
        NAME,
        _column("AttachRequired", boolean_of("spec.attachRequired"), "boolean"),
        _column("PodInfoOnMount", boolean_of("spec.podInfoOnMount"), "boolean"),
        _column("StorageCapacity", boolean_of("spec.storageCapacity"), "boolean"),
        _column("TokenRequests", infrastructure.csi_tokens),
        _column("RequiresRepublish", boolean_of("spec.requiresRepublish"), "boolean"),
        _column("Modes", infrastructure.csi_modes),
        AGE,
    ),
    ("storage.k8s.io", "csinodes"): (
        NAME,
        _column("Drivers", count_of("spec.drivers"), "integer"),
        AGE,
    ),
    ("storage.k8s.io", "csistoragecapacities"): _CREATED_AT,
    ("storage.k8s.io", "volumeattachments"): (
        NAME,
        replace(_text("Attacher", "spec.attacher"), format="name"),
        _text("PV", "spec.source.persistentVolumeName"),
        _text("Node", "spec.nodeName"),
        _column("Attached", boolean_of("status.attached"), "boolean"),
        AGE,
    ),
    ("storage.k8s.io", "volumeattributesclasses"): (
        NAME,
        _text("DriverName", "driverName"),
        AGE,
    ),
    ("storagemigration.k8s.io", "storageversionmigrations"): (
        replace(NAME, format=""),
        _column("Resource", infrastructure.migrated_resource),
        _column("Status", infrastructure.migration_state),
    ),
}

# What shows a Scale, of whichever resource. Go: printScale.
SCALE_COLUMNS: Final[Columns] = (
    replace(NAME, format=""),
    _integer("Desired", "spec.replicas"),
    _integer("Available", "status.replicas"),
    AGE,
)
