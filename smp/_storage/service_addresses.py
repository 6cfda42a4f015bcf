"""What a Service has that a client leaves to the server: addresses and node ports.

Go: pkg/registry/core/service/storage (alloc.go, storage.go) and pkg/registry/core/
service/strategy.go. The network of the server has IPv4 addresses only.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import NoneType
from typing import Final, TypeAlias

from smp._values.values import (
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
    strings_in,
)
from smp.paths import Path
from smp.violations import Violation, invalid, require

_NETWORK: Final = "10.0"
_ADDRESSES: Final = 1 << 16
_FIRST_PORT: Final = 30000
_PORTS: Final = 2768
_NODE_PORT_TYPES: Final = ("NodePort", "LoadBalancer")

# Picks an address, or a port, for a name: the first free one of those that are tried.
Pick: TypeAlias = Callable[[str], str]


def address(name: str, attempt: int) -> str:
    """Return an address for a name: the same one at every time, and in every run."""
    # The first 10 and the last address of the network are not given away.
    number = 10 + _hash(f"{name}#{attempt}") % (_ADDRESSES - 11)
    return f"{_NETWORK}.{number >> 8}.{number & 255}"


def node_port(name: str, attempt: int) -> str:
    """Return a node port for a name, as text."""
    return str(_FIRST_PORT + _hash(f"{name}#{attempt}") % _PORTS)


def _hash(text: str) -> int:
    # Not hash(), which differs from one process to the next.
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def keep_allocated(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a changed Service with what was allocated, where the client left it out.

    What goes with the type is dropped later. Go: patchAllocatedValues.
    """
    # A server does not read a spec that is no object; nothing is put in its place.
    if not isinstance(new.get("spec"), (dict, NoneType)):
        return new
    before, spec = as_object(old.get("spec")), as_object(new.get("spec"))
    # A name of DNS has no address, and none has been allocated for it.
    if not before or "ExternalName" in (spec.get("type"), before.get("type")):
        return new
    kept: JSONObject = {}
    # A manifest has no address, and a PUT of it does not ask for another one.
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                kept[name] = before[name]
    for name in ("ipFamilies", "ipFamilyPolicy"):
        if name in before and name not in spec:
            kept[name] = before[name]
    ports = _keep_node_ports(before, spec)
    if ports is not None:
        kept["ports"] = ports
    return {**new, "spec": {**spec, **kept}} if kept else new


def _keep_node_ports(before: JSONObject, spec: JSONObject) -> list[JSON] | None:
    """Return the ports with the node ports that they had; None: nothing is left out.

    A node port stays with the port and the protocol that it was allocated for.
    """
    if spec.get("ports") is before.get("ports"):
        return None
    if not (_opens_node_ports(spec) and _opens_node_ports(before)):
        return None
    ports = objects_in(spec.get("ports"))
    # A server does not read a list with anything else in it.
    is_read = len(ports) == len(as_list(spec.get("ports")))
    if not is_read or all(port.get("nodePort") for port in ports):
        return None
    former: dict[tuple[JSON, JSON], JSON] = {}
    for port in objects_in(before.get("ports")):
        if node := port.get("nodePort"):
            former[_identity(port)] = node
    kept: list[JSON] = []
    for port in ports:
        node = None if port.get("nodePort") else former.get(_identity(port))
        kept.append(_with(port, node) if node else port)
    return kept if former else None


def _opens_node_ports(spec: JSONObject) -> bool:
    return spec.get("type") in _NODE_PORT_TYPES


def _identity(port: JSONObject) -> tuple[JSON, JSON]:
    return port.get("port"), port.get("protocol", "TCP")


def _with(port: JSONObject, node: JSON) -> JSONObject:
    return {**port, "nodePort": node}


def wanted(obj: JSONObject) -> tuple[list[str], list[str]]:
    """Return the addresses and the node ports that a Service asks for by itself."""
    spec = as_object(obj.get("spec"))
    if spec.get("type") == "ExternalName":
        return [], []
    # clusterIPs begins with clusterIP; clients of older versions send the latter alone.
    addresses = strings_in(spec.get("clusterIPs")) or [as_text(spec.get("clusterIP"))]
    nodes = [port.get("nodePort") for port in objects_in(spec.get("ports"))]
    ports = [str(node) for node in nodes if node]
    return [each for each in addresses if each not in {"", "None"}], ports


def find_unlisted(obj: JSONObject) -> Iterator[Violation]:
    """Yield that a Service has an address without the list of its addresses.

    Go: core/validation, ValidateServiceClusterIPsRelatedFields.
    """
    spec = as_object(obj.get("spec"))
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        yield require(Path(("spec", "clusterIPs")))


def find_outside(
    obj: JSONObject, old: JSONObject | None = None, *, dry_run: bool
) -> Iterator[Violation]:
    """Yield what a Service asks for that is not of this network.

    What ``old``, the object before an update, asks for as well is tolerated: it may be
    from another cluster. A dry run does not look at node ports.
    """
    former: set[str] = set()
    if old is not None:
        former.update(map(str, (*_find_unserved(old), *_find_closed(old))))
    ports = () if dry_run else _find_closed(obj)
    for violation in (*_find_unserved(obj), *ports):
        if str(violation) not in former:
            yield violation


def _find_unserved(obj: JSONObject) -> Iterator[Violation]:
    spec, path = as_object(obj.get("spec")), Path(("spec",))
    if spec.get("type") == "ExternalName":
        return
    addresses, _ = wanted(obj)
    for address in addresses:
        if not address.startswith(f"{_NETWORK}."):
            detail = (
                f"failed to allocate IP {address}: the provided network does not match"
                " the current range"
            )
            yield invalid(path / "clusterIPs", [*addresses], detail)
    is_selectorless = spec.get("clusterIP") == "None" and not spec.get("selector")
    families = strings_in(spec.get("ipFamilies"))
    if "IPv6" in families and not is_selectorless:
        place = path / "ipFamilies" / families.index("IPv6")
        yield invalid(place, "IPv6", "not configured on this cluster")
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and not is_selectorless:
        detail = "this cluster is not configured for dual-stack services"
        yield invalid(path / "ipFamilyPolicy", "RequireDualStack", detail)


def _find_closed(obj: JSONObject) -> Iterator[Violation]:
    """Yield the node ports beyond the range."""
    spec, path = as_object(obj.get("spec")), Path(("spec",))
    if spec.get("type") == "ExternalName":
        return
    last = _FIRST_PORT + _PORTS - 1
    for index, port in enumerate(objects_in(spec.get("ports"))):
        node = port.get("nodePort")
        if isinstance(node, int) and node and not _FIRST_PORT <= node <= last:
            detail = (
                "provided port is not in the valid range. The range of valid ports is"
                f" {_FIRST_PORT}-{last}"
            )
            yield invalid(path / "ports" / index / "nodePort", node, detail)


def allocate(obj: JSONObject, address_of: Pick, port_of: Pick) -> JSONObject:
    """Return a Service with its addresses, families and node ports."""
    spec = {**as_object(obj.get("spec"))}
    if spec.get("type") == "ExternalName":
        return obj
    # Each of the two fields is filled in from the other one.
    if not spec.get("clusterIP"):
        addresses = strings_in(spec.get("clusterIPs"))
        spec["clusterIP"] = addresses[0] if addresses else address_of("")
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    # Endpoints that others make may be of any family, so a headless Service
    # without a selector has both (Go: Alloc.initIPFamilyFields).
    is_selectorless = spec["clusterIP"] == "None" and not spec.get("selector")
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = ["IPv4", "IPv6"] if is_selectorless else ["IPv4"]
    if not spec.get("ipFamilyPolicy"):
        policy = "RequireDualStack" if is_selectorless else "SingleStack"
        spec["ipFamilyPolicy"] = policy
    is_open = _opens_node_ports(spec)
    if is_open and spec.get("allocateLoadBalancerNodePorts") is not False:
        # One number for all protocols of a port.
        numbers: dict[JSON, JSON] = {}
        ports: list[JSON] = []
        for port in objects_in(spec.get("ports")):
            number = port.get("port")
            node = port.get("nodePort") or numbers.get(number)
            if not node:
                node = int(port_of(f":{number}"))
            numbers[number] = node
            ports.append(_with(port, node))
        spec["ports"] = ports
    # A load balancer asks each node by this port whether it has a Pod.
    is_local = spec.get("externalTrafficPolicy") == "Local"
    if spec.get("type") == "LoadBalancer" and is_local:
        spec.setdefault("healthCheckNodePort", int(port_of(":health")))
    return {**obj, "spec": spec}
