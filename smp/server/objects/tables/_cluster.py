"""The cells of nodes, volumes and role bindings, and of events.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from smp.server.objects.metadata import metadata_of
from smp.server.objects.tables._cells import (
    NONE,
    UNKNOWN,
    Show,
    at,
    integer_at,
    is_true,
    joined,
    object_at,
    objects_at,
    strings_at,
    text_at,
)
from smp.server.objects.tables.columns import time_since
from smp.values import JSON, JSONObject

_ROLE_LABEL_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"
# In the order in which they are shown.
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}

# Nodes


def node_status(obj: JSONObject) -> JSON:
    """Show whether a node is ready and whether it takes new pods (Go: printNode)."""
    conditions = objects_at(obj, "status.conditions")
    if is_true(obj, "Ready"):
        text = "Ready"
    elif any(condition.get("type") == "Ready" for condition in conditions):
        text = "NotReady"
    else:
        text = "Unknown"
    # kubectl cordon sets this field.
    if at(obj, "spec.unschedulable") is True:
        text += ",SchedulingDisabled"
    return text


def node_roles(obj: JSONObject) -> JSON:
    """Show the roles of a node, from a label for each or a label with one as its value.

    Go: findNodeRoles.
    """
    labels = object_at(obj, "metadata.labels")
    roles = {str(labels.get(_ROLE_LABEL, ""))}
    for key in labels:
        if key.startswith(_ROLE_LABEL_PREFIX):
            roles.add(key.removeprefix(_ROLE_LABEL_PREFIX))
    return joined(sorted(roles), NONE)


def node_address(address_type: str) -> Show:
    """Make a cell of the first address of a node of a type.

    Go: getNodeInternalIP, getNodeExternalIP.
    """

    def show(obj: JSONObject) -> JSON:
        for address in objects_at(obj, "status.addresses"):
            if address.get("type") == address_type:
                return text_at(address, "address")
        return NONE

    return show


def kernel(obj: JSONObject) -> JSON:
    """Show the kernel of a node and its architecture (Go: printNode)."""
    version = text_at(obj, "status.nodeInfo.kernelVersion", UNKNOWN)
    architecture = text_at(obj, "status.nodeInfo.architecture")
    return f"{version} ({architecture})" if architecture else version


# Volumes and their claims


def access_modes_of(path: str) -> Show:
    """Make a cell of the access modes at a path, abbreviated.

    Go: helper.GetAccessModesAsString, which has a fixed order and no duplicates.
    """

    def show(obj: JSONObject) -> JSON:
        modes = strings_at(obj, path)
        return joined(short for mode, short in _ACCESS_MODES.items() if mode in modes)

    return show


def volume_phase(obj: JSONObject) -> JSON:
    """Show the phase of a volume or a claim.

    Go: printPersistentVolume, printPersistentVolumeClaim.
    """
    if "deletionTimestamp" in metadata_of(obj):
        return "Terminating"
    return text_at(obj, "status.phase")


def bound_claim(obj: JSONObject) -> JSON:
    """Show the claim that a volume is bound to (Go: printPersistentVolume)."""
    # A volume without a claim is available.
    reference = at(obj, "spec.claimRef")
    if not reference:
        return ""
    return f"{text_at(reference, 'namespace')}/{text_at(reference, 'name')}"


def if_bound(show: Show) -> Show:
    """Make a cell that is empty for a claim without a volume.

    Go: printPersistentVolumeClaim, for the capacity and the access modes.
    """

    def show_if_bound(obj: JSONObject) -> JSON:
        return show(obj) if text_at(obj, "spec.volumeName") else ""

    return show_if_bound


# Role bindings


def bound_role(obj: JSONObject) -> JSON:
    """Show the role of a binding (Go: printRoleBinding, printClusterRoleBinding)."""
    role = at(obj, "roleRef")
    return f"{text_at(role, 'kind')}/{text_at(role, 'name')}"


def subjects_of(kind: str) -> Show:
    """Make a cell of the subjects of a binding that are of a kind."""

    def show(obj: JSONObject) -> JSON:
        texts = []
        for subject in objects_at(obj, "subjects"):
            if subject.get("kind") == kind:
                text = text_at(subject, "name")
                # Users and groups have no namespace.
                if kind == "ServiceAccount":
                    text = f"{text_at(subject, 'namespace')}/{text}"
                texts.append(text)
        return joined(texts, separator=", ")

    return show


# Events (Go: printEvent). Each of them may come from the older reporters, which count
# in "count" and "lastTimestamp", or the newer ones, which count in "series".


def event_object(obj: JSONObject) -> JSON:
    """Show the object that an event is about: ``pod/web``."""
    kind = text_at(obj, "involvedObject.kind").lower()
    name = text_at(obj, "involvedObject.name")
    return f"{kind}/{name}" if name else kind


def event_source(obj: JSONObject) -> JSON:
    """Show the component that reported an event, and where it runs.

    Go: formatEventSource.
    """
    # The newer fields are used where the older ones are empty.
    component = text_at(obj, "source.component", text_at(obj, "reportingComponent"))
    host = text_at(obj, "source.host", text_at(obj, "reportingInstance"))
    return joined([component, host], separator=", ")


def event_message(obj: JSONObject) -> JSON:
    """Show the message of an event without the space around it."""
    return text_at(obj, "message").strip()


def event_last_seen(obj: JSONObject, now: datetime) -> JSON:
    """Show how long ago an event was last seen."""
    # An event that happened once has no series, and a new one no lastTimestamp.
    for path in ("series.lastObservedTime", "lastTimestamp"):
        if time := at(obj, path):
            return time_since(time, now)
    return event_first_seen(obj, now)


def event_first_seen(obj: JSONObject, now: datetime) -> JSON:
    """Show how long ago an event was first seen."""
    return time_since(at(obj, "firstTimestamp") or at(obj, "eventTime"), now)


def event_count(obj: JSONObject) -> JSON:
    """Show how often an event was seen; a new reporter leaves out a count of 1."""
    return integer_at(obj, "series.count") or integer_at(obj, "count") or 1


# The fields of an Event of events.k8s.io, by what the core group calls them.
_CORE_EVENT: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def as_core_event(obj: JSONObject) -> JSONObject:
    """Return an Event of events.k8s.io as the core group has it.

    Go: Convert_v1_Event_To_core_Event in pkg/apis/events/v1.
    """
    renamed = {name: obj[other] for name, other in _CORE_EVENT.items() if other in obj}
    return {**obj, **renamed}
