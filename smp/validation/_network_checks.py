"""The rules about Services and Ingresses.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from smp._values.values import (
    ABSENT,
    JSONObject,
    as_text,
    printed,
)
from smp.validation._judged import (
    Judged,
    elements,
    is_missing,
)


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
                below = (index, "nodePort")
                judged.add("FieldValueDuplicate", "", node_port, below)
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


def ingress_spec(judged: Judged) -> None:
    """Require rules or a backend (Go: networking ValidateIngressSpec)."""
    rules = judged.obj.get("rules", ABSENT)
    if is_missing(rules) and judged.obj.get("defaultBackend") is None:
        judged.invalid(judged.obj, judged.row.message)


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
