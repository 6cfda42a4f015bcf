"""The rules about Services and Ingresses.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import ipaddress
from typing import Final

from smp._values import names
from smp._values.values import (
    ABSENT,
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    printed,
    same,
)
from smp.validation._formats import FORMATS
from smp.validation._judged import Checks, Judged, at, elements, is_missing

_MOST_ADDRESSES: Final = 2


def port_names(judged: Judged) -> None:
    """Require names of several ports (Go: core validateServicePort)."""
    ports = elements(judged)
    for index, port in enumerate(ports):
        if len(ports) > 1 and is_missing(port.get("name", ABSENT)):
            judged.required("", index, "name")


def node_ports(judged: Judged) -> None:
    """Forbid ports of the nodes (Go: core validateService)."""
    for index, port in enumerate(elements(judged)):
        if port.get("nodePort"):
            below = (index, "nodePort")
            judged.add("FieldValueForbidden", judged.row.message, ABSENT, below)


def unique_ports(judged: Judged) -> None:
    """Refuse a port with the protocol and the number of another one.

    Go: core validateService.
    """
    seen: set[tuple[str, str]] = set()
    nodes: set[tuple[str, str]] = set()
    for index, port in enumerate(elements(judged)):
        protocol = as_text(port.get("protocol"))
        node_port, number = port.get("nodePort"), port.get("port")
        if node_port:
            if (protocol, printed(node_port)) in nodes:
                judged.add("FieldValueDuplicate", "", node_port, (index, "nodePort"))
            nodes.add((protocol, printed(node_port)))
        if (protocol, printed(number)) in seen:
            # Go compares and prints a port with these two fields only.
            shown_port: JSONObject = {
                "Name": "",
                "Protocol": protocol,
                "AppProtocol": None,
                "Port": number,
                "TargetPort": 0,
                "NodePort": 0,
            }
            judged.add("FieldValueDuplicate", "", shown_port, (index,))
        seen.add((protocol, printed(number)))


def ingress_path(judged: Judged) -> None:
    """Require an absolute path, unless it is up to the controller.

    Go: networking validateHTTPIngressPath.
    """
    path = as_text(judged.value)
    # ImplementationSpecific leaves the meaning of an empty path to the controller.
    needs_one = judged.obj.get("pathType") in ("Exact", "Prefix")
    if (path or needs_one) and not path.startswith("/"):
        judged.invalid(path, judged.row.message)
    elif needs_one:
        for part in ("//", "/./", "/../", "%2f", "%2F"):
            if part in path:
                judged.invalid(path, f"must not contain '{part}'")
        for part in ("/..", "/."):
            if path.endswith(part):
                judged.invalid(path, f"cannot end with '{part}'")


def class_annotation(judged: Judged) -> None:
    """Require the class that an annotation of a new Ingress names, too.

    Go: networking ValidateIngressCreate.
    """
    annotations = as_object(at(judged.obj, ("metadata", "annotations")))
    name = annotations.get("kubernetes.io/ingress.class")
    if not judged.old and isinstance(name, str) and name != judged.value:
        judged.invalid(name, judged.row.message)


# Of an address for an EndpointSlice, by the type of its addresses.
_FAMILIES: Final = {"IPv4": 4, "IPv6": 6}


def numeric_port(judged: Judged) -> None:
    """Refuse the end of a range that begins with the name of a port."""
    if isinstance(judged.obj.get("port"), str) and judged.value:
        judged.invalid(judged.value, judged.row.message)


def inner_ranges(judged: Judged) -> None:
    """Require ranges that are strict parts of that in the field ``key``.

    Go: networking ValidateIPBlock.
    """
    try:
        text = as_text(judged.obj.get(judged.row.key))
        outer = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return
    for index, part in enumerate(as_list(judged.value)):
        try:
            inner = ipaddress.ip_network(as_text(part), strict=False)
        except ValueError:
            continue
        is_part = inner.version == outer.version and inner.prefixlen > outer.prefixlen
        if not is_part or inner.network_address not in outer:
            judged.invalid(part, judged.row.message, index)


def one_per_family(judged: Judged) -> None:
    """Refuse more than one range for each family (Go: core ValidateNode).

    With ``key`` these are what the elements have in that field.
    """
    texts, key = as_list(judged.value), judged.row.key
    if key:
        texts = [element.get(key) for element in elements(judged)]
    families = [":" in as_text(text) for text in texts]
    if len(texts) > len(set(families)):
        judged.invalid(judged.value, judged.row.message)


def check_cluster_ips(judged: Judged) -> None:
    """Check the addresses of a Service, of which ``clusterIP`` is the first one.

    Go: core NormalizeClusterIPs, ValidateServiceClusterIPsRelatedFields.
    """
    first, former = as_text(judged.obj.get("clusterIP")), judged.old.get("clusterIPs")
    addresses = [as_text(address) for address in as_list(judged.value)]
    # A client of the time before the list writes the one field alone.
    is_kept = bool(judged.old) and same(judged.value, former or [])
    if first and (not addresses or is_kept):
        addresses = [first]
    listed: list[JSON] = [*addresses]
    if not addresses:
        return
    if first and addresses[0] != first:
        judged.invalid(listed, "first value must match `clusterIP`")
    elif not first and not is_kept:
        judged.invalid(listed, "must be empty when `clusterIP` is not specified")
    is_wrong = False
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                is_wrong = True
                judged.invalid(listed, "'None' must be the first and only value")
        elif address not in as_list(former):
            problem = FORMATS["legacy-ip"](address)
            if problem:
                is_wrong = True
                judged.invalid(address, problem, index)
    if len(addresses) > _MOST_ADDRESSES:
        judged.invalid(listed, f"may only hold up to {_MOST_ADDRESSES} values")
    families = {":" in address for address in addresses}
    if len(addresses) > 1 and not is_wrong and len(families) != len(addresses):
        message = "may specify no more than one IP for each IP family"
        judged.invalid(listed, message)


def _problem_of_domain(text: str) -> str:
    """Return what is wrong with a domain (Go: IsFullyQualifiedDomainName)."""
    domain = text.removesuffix(".")
    problem = names.subdomain(domain)
    if not problem and "." not in domain:
        problem = "should be a domain with at least two segments separated by dots"
    return problem


def check_typed_addresses(judged: Judged) -> None:
    """Check the addresses of endpoints (Go: discovery validateEndpoints)."""
    type_ = as_text(judged.obj.get("addressType"))
    for index, endpoint in enumerate(elements(judged)):
        for number, listed in enumerate(as_list(endpoint.get("addresses"))):
            text = as_text(listed)
            problem = ""
            if type_ == "FQDN":
                problem = _problem_of_domain(text)
            elif type_ in _FAMILIES:
                problem = FORMATS[judged.row.format](text)
                is_v6 = ":" in text
                if not problem and is_v6 != (type_ == "IPv6"):
                    problem = f"must be an {type_} address"
            if problem:
                judged.invalid(text, problem, index, "addresses", number)


CHECKS: Final[Checks] = {
    "class-annotation": class_annotation,
    "cluster-ips": check_cluster_ips,
    "ingress-path": ingress_path,
    "inner-ranges": inner_ranges,
    "node-ports": node_ports,
    "numeric-port": numeric_port,
    "one-per-family": one_per_family,
    "port-names": port_names,
    "typed-addresses": check_typed_addresses,
    "unique-ports": unique_ports,
}
