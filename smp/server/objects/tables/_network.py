"""The cells of services, endpoints and ingresses.

Go: the functions named below, in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Final

from smp.server.objects.tables._cells import (
    NONE,
    abridged,
    at,
    joined,
    objects_at,
    strings_at,
    text_at,
)
from smp.values import JSON, JSONObject

_SHOWN_ADDRESSES: Final = 3
_SHOWN_HOSTS: Final = 3


def cluster_ip(obj: JSONObject) -> JSON:
    """Show the first address of a service inside the cluster (Go: printService)."""
    # A dual-stack service has two, and the first is also in the older field.
    addresses = strings_at(obj, "spec.clusterIPs")
    return addresses[0] if addresses else text_at(obj, "spec.clusterIP", NONE)


def external_ip(obj: JSONObject) -> JSON:
    """Show the addresses of a service outside of the cluster.

    Go: getServiceExternalIP.
    """
    service_type = text_at(obj, "spec.type")
    external_ips = strings_at(obj, "spec.externalIPs")
    # An alias for a DNS name has no address.
    if service_type == "ExternalName":
        return text_at(obj, "spec.externalName")
    # The addresses of a load balancer come from its provider, sooner or later.
    if service_type == "LoadBalancer":
        return joined([*_ingress_addresses(obj), *external_ips], "<pending>")
    return joined(external_ips, NONE)


def load_balancer(obj: JSONObject) -> JSON:
    """Show the addresses of an ingress (Go: ingressLoadBalancerStatusStringer)."""
    return joined(_ingress_addresses(obj))


def _ingress_addresses(obj: JSONObject) -> list[str]:
    """Return the addresses or host names of a load balancer, sorted."""
    addresses = set()
    for ingress in objects_at(obj, "status.loadBalancer.ingress"):
        # Some providers give a load balancer a name instead of an address.
        hostname = text_at(ingress, "hostname")
        addresses.add(text_at(ingress, "ip", hostname))
    return sorted(addresses)


def service_ports(obj: JSONObject) -> JSON:
    """Show the ports of a service: ``80/TCP``, ``80:30080/TCP`` with a node port.

    Go: makePortString.
    """
    texts = []
    for port in objects_at(obj, "spec.ports"):
        text = text_at(port, "port")
        if port.get("nodePort"):
            text += f":{port['nodePort']}"
        texts.append(f"{text}/{text_at(port, 'protocol', 'TCP')}")
    return joined(texts, NONE)


def endpoints(obj: JSONObject) -> JSON:
    """Show the first addresses of endpoints, each with each port.

    Go: formatEndpoints.
    """
    texts = []
    for subset in objects_at(obj, "subsets"):
        addresses = [
            text_at(address, "ip") for address in objects_at(subset, "addresses")
        ]
        ports = objects_at(subset, "ports")
        # A headless service may have no ports.
        if not ports:
            texts += addresses
        for port in ports:
            suffix = f":{port['port']}" if "port" in port else ""
            texts += [address + suffix for address in addresses]
    return abridged(texts, _SHOWN_ADDRESSES)


def ingress_hosts(obj: JSONObject) -> JSON:
    """Show the first hosts of an ingress, ``*`` for all hosts (Go: formatHosts)."""
    rules = objects_at(obj, "spec.rules")
    hosts = [text_at(rule, "host") for rule in rules if rule.get("host")]
    text = joined(hosts[:_SHOWN_HOSTS], "*")
    # What follows is counted in rules, with and without a host.
    if len(hosts) >= _SHOWN_HOSTS and len(rules) > _SHOWN_HOSTS:
        text += f" + {len(rules) - _SHOWN_HOSTS} more..."
    return text


def ingress_ports(obj: JSONObject) -> JSON:
    """Show the ports that an ingress listens on (Go: formatPorts)."""
    return "80, 443" if at(obj, "spec.tls") else "80"
