"""What a Service drops when its type changes."""

from __future__ import annotations

from typing import Final

from smp.values import ABSENT, JSON, JSONObject, as_list, as_object, same

SERVICES: Final = ("", "services")
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
    (_WITH_NODE_PORTS, ("externalTrafficPolicy", "healthCheckNodePort")),
    (_BALANCED, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
)


def without_fields_of_type(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a changed Service without the fields that only its old type had.

    Go: dropTypeDependentFields in k8s.io/kubernetes/pkg/registry/core/service.
    """
    before, after = as_object(old.get("spec")), as_object(new.get("spec"))
    former, current = before.get("type"), after.get("type")
    dropped: set[str] = set()
    for types, names in _FIELDS:
        if former in types and current not in types:
            for name in names:
                if same(before.get(name, ABSENT), after.get(name, ABSENT)):
                    dropped.add(name)
    spec = {name: value for name, value in after.items() if name not in dropped}
    if former in _WITH_NODE_PORTS and current not in _WITH_NODE_PORTS:
        spec["ports"] = _without_node_ports(before.get("ports"), after.get("ports"))
        if spec["ports"] is None:
            del spec["ports"]
    return new if same(spec, after) else {**new, "spec": spec}


def _without_node_ports(old: JSON, new: JSON) -> JSON:
    """Return ports without the node ports, where all are those of the old ports."""
    node_ports = [as_object(port).get("nodePort") for port in as_list(new)]
    if node_ports != [as_object(port).get("nodePort") for port in as_list(old)]:
        return new
    if not isinstance(new, list):
        return new
    return [
        {name: value for name, value in as_object(port).items() if name != "nodePort"}
        for port in new
    ]
