"""The fields that a field selector may name: a few for each kind.

Go: AddFieldLabelConversionFunc in k8s.io/kubernetes, pkg/apis/*/v1/conversion.go, and
for all other kinds runtime.DefaultMetaV1FieldSelectorConversion; ``selectableFields``
of a CustomResourceDefinition (KEP-4358).
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp.handler import StatusError
from smp.server.objects.resources import Resource
from smp.server.objects.selectors import FieldSelector

_METADATA: Final = ("metadata.name", "metadata.namespace")
_EVENT: Final = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)
_FIELDS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "pods"): (
        *_METADATA,
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "spec.host",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("metadata.name", "spec.unschedulable"),
    ("", "replicationcontrollers"): (*_METADATA, "status.replicas"),
    ("", "events"): (
        *_METADATA,
        *(f"involvedObject.{name}" for name in _EVENT),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("events.k8s.io", "events"): (
        *_METADATA,
        *(f"regarding.{name}" for name in _EVENT),
        "reason",
        "reportingController",
        "type",
    ),
    ("", "namespaces"): ("metadata.name", "status.phase"),
    ("", "secrets"): (*_METADATA, "type"),
    ("", "services"): (*_METADATA, "spec.clusterIP", "spec.type"),
    ("batch", "jobs"): (*_METADATA, "status.successful"),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        "metadata.name",
        "spec.signerName",
    ),
    ("certificates.k8s.io", "clustertrustbundles"): (
        "metadata.name",
        "spec.signerName",
    ),
    ("certificates.k8s.io", "podcertificaterequests"): (
        "metadata.name",
        "spec.signerName",
        "spec.podName",
        "spec.nodeName",
    ),
    ("resource.k8s.io", "resourceslices"): (
        "metadata.name",
        "spec.nodeName",
        "spec.driver",
    ),
}
# What is said of other fields, where it is not "field label not supported".
_PROBLEMS: Final = {
    ("batch", "jobs"): 'field label "{path}" not supported for Job',
    ("resource.k8s.io", "resourceslices"): (
        "field label not supported for {version}, Kind=ResourceSlice: {path}"
    ),
}
# Names of fields that stand elsewhere in the object.
_PLACES: Final = {
    "spec.host": "spec.nodeName",
    "source": "source.component",
    # Of events as they are stored, in the core group.
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _EVENT},
    "status.successful": "status.succeeded",
}
# What absent fields are compared as; all others are empty (Go: fmt.Sprint of the zero
# value).
_ABSENT: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


def resolve(selector: FieldSelector, resource: Resource) -> FieldSelector:
    """Return a selector with the places of its fields in objects of a resource.

    Raises StatusError for a field that cannot be selected.
    """
    known = _FIELDS.get(resource.key, _METADATA)
    if resource.custom:
        known = (*_METADATA, *resource.selectable_fields)
    terms = []
    for term in selector.terms:
        if term.path not in known:
            text = _PROBLEMS.get(resource.key, "field label not supported: {path}")
            problem = text.format(path=term.path, version=resource.api_version)
            if known is _METADATA:
                problem = (
                    f'"{term.path}" is not a known field selector: only'
                    ' "metadata.name", "metadata.namespace"'
                )
            raise StatusError(problem)
        place = _PLACES.get(term.path, term.path)
        absent = _ABSENT.get(term.path, "")
        terms.append(msgspec.structs.replace(term, path=place, absent=absent))
    return FieldSelector(tuple(terms))
