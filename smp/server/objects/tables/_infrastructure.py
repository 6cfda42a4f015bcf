"""The cells of policies, devices, certificates, and of what a cluster is made of.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from smp.server.objects.metadata import metadata_of
from smp.server.objects.selectors import selector_text
from smp.server.objects.tables._cells import (
    NONE,
    UNSET,
    Show,
    abridged,
    at,
    object_at,
    objects_at,
    strings_at,
    text_at,
)
from smp.server.objects.tables.columns import human_duration, time_since
from smp.values import JSON, JSONObject, as_text

_SHOWN: Final = 3
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
# States of a migration, and of a request for a certificate, by type of condition.
_MIGRATIONS: Final = frozenset({"Running", "Failed", "Succeeded"})
_REQUESTS: Final = frozenset({"Issued", "Denied", "Failed"})


def quota_of(*, limits: bool) -> Show:
    """Make a cell of what is used of a quota: of limits, or of all else.

    Go: printResourceQuota.
    """

    def show(obj: JSONObject) -> JSON:
        hard, used = object_at(obj, "status.hard"), object_at(obj, "status.used")
        # "limits.cpu" is a limit, "requests.cpu" and "pods" are requests.
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return show


def default_class_name(obj: JSONObject) -> JSON:
    """Show the name of an ingress class, and whether it is the default one."""
    name = as_text(metadata_of(obj).get("name"))
    annotations = object_at(obj, "metadata.annotations")
    return f"{name} (default)" if annotations.get(_DEFAULT_CLASS) == "true" else name


def class_parameters(obj: JSONObject) -> JSON:
    """Show what an ingress class refers to (Go: printIngressClass)."""
    parameters = at(obj, "spec.parameters")
    if not isinstance(parameters, dict):
        return NONE
    kind = text_at(parameters, "kind")
    group = text_at(parameters, "apiGroup")
    qualified = f"{kind}.{group}" if group else kind
    return f"{qualified}/{text_at(parameters, 'name')}"


def slice_ports(obj: JSONObject) -> JSON:
    """Show the ports of an endpoint slice (Go: formatDiscoveryPorts)."""
    texts = [
        text_at(port, "port") or text_at(port, "name", "*")
        for port in objects_at(obj, "ports")
    ]
    return abridged(texts, _SHOWN) if texts else UNSET


def slice_endpoints(obj: JSONObject) -> JSON:
    """Show the addresses of an endpoint slice (Go: formatDiscoveryEndpoints)."""
    addresses: list[str] = []
    for endpoint in objects_at(obj, "endpoints"):
        addresses += strings_at(endpoint, "addresses")
    return abridged(addresses, _SHOWN) if addresses else UNSET


def csi_modes(obj: JSONObject) -> JSON:
    """Show how volumes of a driver may live (Go: printCSIDriver)."""
    return ",".join(strings_at(obj, "spec.volumeLifecycleModes")) or NONE


def csi_tokens(obj: JSONObject) -> JSON:
    """Show the audiences of the tokens that a driver asks for."""
    if at(obj, "spec.tokenRequests") is None:
        return UNSET
    requests = objects_at(obj, "spec.tokenRequests")
    return ",".join(text_at(request, "audience") for request in requests)


def param_kind(obj: JSONObject) -> JSON:
    """Show the kind of the parameters of a policy."""
    kind = at(obj, "spec.paramKind")
    if not isinstance(kind, dict):
        return UNSET
    return f"{text_at(kind, 'apiVersion')}/{text_at(kind, 'kind')}"


def param_ref(obj: JSONObject) -> JSON:
    """Show the parameters of the binding of a policy."""
    reference = object_at(obj, "spec.paramRef")
    # Parameters are named, or selected by their labels.
    name = text_at(reference, "name")
    if name:
        return f"{text_at(reference, 'namespace', '*')}/{name}"
    selector = reference.get("selector")
    return selector_text(selector) if selector else UNSET


def distinguisher(obj: JSONObject) -> JSON:
    """Show by what a flow schema distinguishes requests."""
    return text_at(obj, "spec.distinguisherMethod.type", NONE)


def missing_level(obj: JSONObject) -> JSON:
    """Show whether the priority level of a flow schema does not exist."""
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("type") == "Dangling":
            return text_at(condition, "status")
    return "?"


def limited(path: str) -> Show:
    """Make a cell of a number of a priority level that is limited."""

    def show(obj: JSONObject) -> JSON:
        parent, _, name = path.rpartition(".")
        # A level that is exempt has no limits, one that rejects has no queues.
        holder = at(obj, f"spec.limited{parent}")
        if not isinstance(holder, dict):
            return NONE
        return holder.get(name, 0)

    return show


def claim_state(obj: JSONObject) -> JSON:
    """Show what became of a claim (Go: resourceClaimState)."""
    states = []
    is_deleted = "deletionTimestamp" in metadata_of(obj)
    if is_deleted:
        states.append("deleted")
    if isinstance(at(obj, "status.allocation"), dict):
        states.append("allocated")
        if objects_at(obj, "status.reservedFor"):
            states.append("reserved")
    elif not is_deleted:
        states.append("pending")
    return ",".join(states)


def parent_of_address(obj: JSONObject) -> JSON:
    """Show which object has an address (Go: printIPAddress)."""
    parent = at(obj, "spec.parentRef")
    if not isinstance(parent, dict):
        return NONE
    resource, group = text_at(parent, "resource"), text_at(parent, "group")
    parts = [
        f"{resource}.{group}".lower() if group else resource.lower(),
        text_at(parent, "namespace"),
        text_at(parent, "name"),
    ]
    return "/".join(part for part in parts if part)


def controller_of(obj: JSONObject) -> JSON:
    """Show which object controls a revision (Go: printControllerRevision)."""
    for owner in objects_at(obj, "metadata.ownerReferences"):
        if owner.get("controller") is True:
            # "apps/v1" is of the group "apps", "v1" of none.
            group = text_at(owner, "apiVersion").rpartition("/")[0]
            kind = text_at(owner, "kind").lower()
            qualified = f"{kind}.{group}" if group else kind
            return f"{qualified}/{text_at(owner, 'name')}"
    return NONE


def request_state(obj: JSONObject) -> JSON:
    """Show what became of a request for a certificate (Go: extractCSRStatus)."""
    types = {each.get("type") for each in objects_at(obj, "status.conditions")}
    # A denial counts more than an approval.
    state = "Pending"
    if "Approved" in types:
        state = "Approved"
    if "Denied" in types:
        state = "Denied"
    if "Failed" in types:
        state += ",Failed"
    if text_at(obj, "status.certificate"):
        state += ",Issued"
    return state


def requested_duration(obj: JSONObject) -> JSON:
    """Show for how long a certificate is asked for."""
    seconds = at(obj, "spec.expirationSeconds")
    return human_duration(seconds) if isinstance(seconds, int) else NONE


def pod_request_state(obj: JSONObject) -> JSON:
    """Show what became of a Pod's request for a certificate."""
    state = "Pending"
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("type") in _REQUESTS:
            state = text_at(condition, "type")
    return state


def migration_state(obj: JSONObject) -> JSON:
    """Show how far a migration is (Go: printStorageVersionMigration)."""
    state = "Unknown"
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("status") == "True" and condition.get("type") in _MIGRATIONS:
            state = text_at(condition, "type")
    return state


def migrated_resource(obj: JSONObject) -> JSON:
    """Show what is migrated (Go: schema.GroupResource.String)."""
    resource = text_at(obj, "spec.resource.resource")
    group = text_at(obj, "spec.resource.group")
    return f"{resource}.{group}" if group else resource


def taint_added(obj: JSONObject, now: datetime) -> JSON:
    """Show how long ago a device was tainted."""
    time = at(obj, "spec.taint.timeAdded")
    return time_since(time, now) if time else ""


def health(field: str) -> Show:
    """Make a cell of the condition of a component (Go: printComponentStatus)."""

    def show(obj: JSONObject) -> JSON:
        for condition in objects_at(obj, "conditions"):
            if condition.get("type") == "Healthy":
                if field != "status":
                    return text_at(condition, field)
                return "Healthy" if condition.get("status") == "True" else "Unhealthy"
        return "Unknown" if field == "status" else ""

    return show


def api_service(obj: JSONObject) -> JSON:
    """Show who serves an API (Go: kube-aggregator, apiservice.REST.ConvertToTable)."""
    service = at(obj, "spec.service")
    if not isinstance(service, dict):
        return "Local"
    return f"{text_at(service, 'namespace')}/{text_at(service, 'name')}"


def api_service_available(obj: JSONObject) -> JSON:
    """Show whether an API is available, and why not."""
    for condition in objects_at(obj, "status.conditions"):
        if condition.get("type") == "Available":
            status = text_at(condition, "status")
            reason = text_at(condition, "reason")
            if status == "True" or not reason:
                return status
            return f"{status} ({reason})"
    return "Unknown"
