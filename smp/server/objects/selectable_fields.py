"""The fields that a field selector may name: a few for each kind.

Go: AddFieldLabelConversionFunc in k8s.io/kubernetes, pkg/apis/*/v1/conversion.go, and
for all other kinds runtime.DefaultMetaV1FieldSelectorConversion; ``selectableFields``
of a CustomResourceDefinition (KEP-4358).
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp.handler import StatusError
from smp.server.objects.resources import Resource, Strategy
from smp.server.objects.selectors import FieldSelector

_USUAL: Final = Strategy().selectable
_REFERENCE: Final = (
    *("kind", "namespace", "name", "uid"),
    *("apiVersion", "resourceVersion", "fieldPath"),
)
# Names of fields that stand elsewhere in the object.
_PLACES: Final = {
    "spec.host": "spec.nodeName",
    "source": "source.component",
    # Of events as they are stored, in the core group.
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE},
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
    strategy = resource.strategy
    known = (*strategy.selectable, *resource.selectable_fields)
    terms = []
    for term in selector.terms:
        if term.path not in known:
            text = strategy.unselectable or "field label not supported: {path}"
            problem = text.format(path=term.path, version=resource.api_version)
            if known == _USUAL and not resource.custom:
                problem = (
                    f'"{term.path}" is not a known field selector: only'
                    ' "metadata.name", "metadata.namespace"'
                )
            raise StatusError(problem)
        place = _PLACES.get(term.path, term.path)
        absent = _ABSENT.get(term.path, "")
        terms.append(msgspec.structs.replace(term, path=place, absent=absent))
    return FieldSelector(tuple(terms))
