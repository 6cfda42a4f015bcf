"""What the strategies of a Service and of a claim drop and fill in.

A Service drops what its type, or its session affinity, does not have. What a claim is
filled from is in two fields, of which one is newer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smp._values.values import (
    ABSENT,
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)

_WITH_ADDRESS: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_BALANCED: Final = ("LoadBalancer",)
# Fields by the types that have them: they go with the type, unless the client changes
# them as well, which validation refuses.
_FIELDS: Final = (
    (
        _WITH_ADDRESS,
        (
            "clusterIP",
            "clusterIPs",
            "internalTrafficPolicy",
            "ipFamilies",
            "ipFamilyPolicy",
        ),
    ),
    (_BALANCED, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
)


def _type_of(spec: JSONObject) -> JSON:
    return spec.get("type") or "ClusterIP"


def _is_accessible(spec: JSONObject) -> bool:
    # Go: ExternallyAccessible in k8s.io/kubernetes/pkg/api/service.
    is_exposed = _type_of(spec) == "ClusterIP" and bool(spec.get("externalIPs"))
    return _type_of(spec) in _WITH_NODE_PORTS or is_exposed


def _is_checked(spec: JSONObject) -> bool:
    # Go: needsHCNodePort.
    return _type_of(spec) in _BALANCED and spec.get("externalTrafficPolicy") == "Local"


# Fields by what tells whether a Service needs them.
_NEEDS: Final[dict[str, Callable[[JSONObject], bool]]] = {
    "externalTrafficPolicy": _is_accessible,
    "healthCheckNodePort": _is_checked,
}


def drop_fields_of_service(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a Service without the fields that another type or affinity has.

    Go: dropTypeDependentFields in k8s.io/kubernetes/pkg/registry/core/service, and
    SetDefaults_Service in pkg/apis/core/v1.
    """
    before, after = as_object(old.get("spec")), as_object(new.get("spec"))
    former, current = _type_of(before), _type_of(after)
    dropped: set[str] = set()
    for types, names in _FIELDS:
        if former in types and current not in types:
            for name in names:
                if same(before.get(name, ABSENT), after.get(name, ABSENT)):
                    dropped.add(name)
    for name, needs in _NEEDS.items():
        is_same = same(before.get(name, ABSENT), after.get(name, ABSENT))
        if is_same and needs(before) and not needs(after):
            dropped.add(name)
    if after.get("sessionAffinity", "None") == "None":
        dropped.add("sessionAffinityConfig")
    spec = {name: value for name, value in after.items() if name not in dropped}
    if former in _WITH_NODE_PORTS and current not in _WITH_NODE_PORTS:
        spec["ports"] = _drop_node_ports(before.get("ports"), after.get("ports"))
        if spec["ports"] is None:
            del spec["ports"]
    return new if same(spec, after) else {**new, "spec": spec}


def _drop_node_ports(old: JSON, new: JSON) -> JSON:
    """Return ports without the node ports, where all are those of the old ports."""
    known = [as_object(port).get("nodePort") for port in as_list(old)]
    if not isinstance(new, list):
        return new
    ports: JSONArray = []
    for port in new:
        members = {**as_object(port)}
        # Go: sameNodePorts.
        if members.pop("nodePort", None) not in (None, 0, *known):
            return new
        ports.append(members)
    return ports


_OLD: Final = "dataSource"
_NEW: Final = "dataSourceRef"
# What an older server knew as a source: (API group, kind).
_KNOWN: Final = (
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
)


def fill_data_sources(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a claim whose two sources are one, without what a server takes for none.

    Go: pkg/api/persistentvolumeclaim, EnforceDataSourceBackwardsCompatibility,
    DropDisabledFields and NormalizeDataSources.
    """
    spec = as_object(new.get("spec"))
    if _OLD not in spec and _NEW not in spec:
        return new
    former, filled = as_object(old.get("spec")), dict(spec)
    if former.get(_OLD) is None and former.get(_NEW) is None:
        # Sources of other namespaces are a feature that is off.
        if as_object(spec.get(_NEW)).get("namespace"):
            del filled[_NEW]
        asked = as_object(spec.get(_OLD))
        named = (as_text(asked.get("apiGroup")), as_text(asked.get("kind")))
        if filled.get(_NEW) is None and named not in _KNOWN:
            filled.pop(_OLD, None)
    for name, other in ((_OLD, _NEW), (_NEW, _OLD)):
        source = filled.get(name)
        if not isinstance(source, dict) or filled.get(other) is not None:
            continue
        if not source.get("namespace"):
            copied: JSONObject = {}
            for key in ("apiGroup", "kind", "name"):
                if source.get(key) is not None:
                    copied[key] = source[key]
            filled[other] = copied
    return new if same(filled, spec) else {**new, "spec": filled}
