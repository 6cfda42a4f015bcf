"""Formats of texts, by the names that the table has for them.

Each takes a text and returns what is wrong with it, or the empty string.
Go: k8s.io/apimachinery, pkg/util/validation and pkg/api/validate/content.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Final

from smp import names

_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_PORT_NAME: Final = re.compile(r"[-a-z0-9]+")
_LONGEST_PORT_NAME: Final = 15
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_BITS: Final = re.compile(r"0{0,100}[0-9]{1,3}")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def port_name(text: str) -> str:
    """Check the name of a port (Go: validation.IsValidPortName)."""
    if len(text) > _LONGEST_PORT_NAME:
        return f"must be no more than {_LONGEST_PORT_NAME} characters"
    if not _PORT_NAME.fullmatch(text):
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not any("a" <= letter <= "z" for letter in text):
        return "must contain at least one letter (a-z)"
    if "--" in text:
        return "must not contain consecutive hyphens"
    if text[0] == "-" or text[-1] == "-":
        return "must not begin or end with a hyphen"
    return ""


def percent(text: str) -> str:
    """Check a percentage (Go: validation.IsValidPercent)."""
    if _PERCENT.fullmatch(text):
        return ""
    return (
        "a valid percent string must be a numeric string followed by an ending '%'"
        " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
    )


def environment_name(text: str) -> str:
    """Check the name of an environment variable (Go: IsRelaxedEnvVarName)."""
    if text.isascii() and text.isprintable() and "=" not in text:
        return ""
    return (
        "a valid environment variable name must consist only of printable ASCII"
        " characters other than '='"
    )


def header_name(text: str) -> str:
    """Check the name of a header (Go: validation.IsHTTPHeaderName)."""
    if _HEADER.fullmatch(text):
        return ""
    return (
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g."
        " 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
    )


def ip_address(text: str) -> str:
    """Check an IP address (Go: validation.IsValidIP).

    A server accepts leading zeros in the fields that had no strict rule before.
    """
    parts = [part.lstrip("0") or "0" for part in text.split(".")]
    # Leading zeros count in IPv6 addresses only.
    lenient = text if ":" in text else ".".join(parts)
    try:
        ipaddress.ip_address(lenient)
    except ValueError:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    return ""


def ip_range(text: str) -> str:
    """Check a range of IP addresses (Go: validation.IsValidCIDR), as leniently."""
    address, slash, bits = text.partition("/")
    if slash and _BITS.fullmatch(bits) and not ip_address(address):
        most = 128 if ":" in address else 32
        if int(bits) <= most:
            return ""
    return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def domain_path(text: str) -> str:
    """Check a path below a domain (Go: validation.IsDomainPrefixedPath)."""
    domain, slash, path = text.partition("/")
    if not slash or not domain or not path:
        return 'must be a domain-prefixed path (such as "acme.io/foo")'
    problem = names.subdomain(domain)
    if not problem and not _PATH.fullmatch(path):
        return f"Invalid path (regex used for validation is '{_PATH.pattern}')"
    return problem


def qualified_finalizer(text: str) -> str:
    """Check that a finalizer has a domain (Go: core validateKubeFinalizerName)."""
    if "/" in text or text in _STANDARD_FINALIZERS:
        return ""
    return "name is neither a standard finalizer name nor is it fully qualified"


def absolute_path(text: str) -> str:
    """Check that a path begins with a slash."""
    return "" if text.startswith("/") else "must be an absolute path"


FORMATS: Final[Mapping[str, names.Rule]] = {
    "absolute-path": absolute_path,
    "annotation-key": names.annotation_key,
    "cidr": ip_range,
    "config-key": names.config_key,
    "dns-1035-or-label": names.label,
    "dns-label": names.label,
    "dns-subdomain": names.subdomain,
    "dns-subdomain-with-underscores": names.subdomain_with_underscores,
    "domain-path": domain_path,
    "environment-name": environment_name,
    "header": header_name,
    "ip": ip_address,
    "label-key": names.label_key,
    "label-value": names.label_value,
    "path-segment": names.path_segment,
    "port-name": port_name,
    "qualified-finalizer": qualified_finalizer,
}
