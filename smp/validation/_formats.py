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

from smp._values import names
from smp._values.ip_addresses import is_link_local_multicast
from smp.validation._schedules import cron_schedule, time_zone

_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_PORT_NAME: Final = re.compile(r"[-a-z0-9]+")
_LONGEST_PORT_NAME: Final = 15
_SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_BITS: Final = re.compile(r"0{0,100}[0-9]{1,3}")
_DOTS_OF_QUALIFIED_NAME: Final = 2
# Go: k8s.io/kubernetes, pkg/apis/core/helper, standardResources and the like.
_HUGE_PAGES: Final = "hugepages-"
_CONTAINER_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_RESOURCES: Final = _CONTAINER_RESOURCES.union(
    {
        f"{kind}.{name}"
        for kind in ("requests", "limits")
        for name in _CONTAINER_RESOURCES
    },
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "requests.storage",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
        "storage",
    },
)
_LIMIT_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_ATTRIBUTE: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]{0,31}")
_LONGEST_DRIVER: Final = 63
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_NOT_IN_USERS: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_LONGEST_WINDOWS_DOMAIN: Final = 255
_LONGEST_WINDOWS_USER: Final = 104
_MOST_PARTS_OF_USERS: Final = 2
_MOST_PARTS_OF_REQUESTS: Final = 2
_ISCSI: Final = re.compile(
    r".*iqn\.\d{4}-\d{2}\.[-.a-zA-Z0-9]+:[^,;*&$|\s]+"
    r"|eui.[a-zA-Z0-9]{16}|naa.[a-zA-Z0-9]{32}",
    re.ASCII,
)


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


def ip_address(text: str) -> str:
    """Check an IP address (Go: validation.IsValidIP).

    A server takes leading zeros, and mapped addresses, where they were before.
    """
    parts = [part.lstrip("0") or "0" for part in text.split(".")]
    # Leading zeros count in IPv6 addresses only.
    lenient = text if ":" in text else ".".join(parts)
    problem = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    try:
        address = ipaddress.ip_address(lenient)
    except ValueError:
        return problem
    # Go: netutils.ParseIPSloppy reads no zone.
    if "%" in text:
        return problem
    if lenient != text:
        return "must not have leading 0s"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return "must not be an IPv4-mapped IPv6 address"
    return ""


def search_domain(text: str) -> str:
    """Check a search path of DNS, which may end in a dot (Go: validatePodDNSConfig)."""
    if text == ".":
        return ""
    return names.subdomain_with_underscores(text.removesuffix("."))


def api_version(text: str) -> str:
    """Check an apiVersion (Go: schema.ParseGroupVersion)."""
    return f"unexpected GroupVersion string: {text}" if text.count("/") > 1 else ""


def group_version(text: str) -> str:
    """Check an apiVersion of parameters (Go: validateParamKind)."""
    group, _, version = text.rpartition("/")
    problem = api_version(text) or (group and names.subdomain(group))
    return problem or names.rfc1035_label(version)


def ip_range(text: str) -> str:
    """Check a range of IP addresses (Go: validation.IsValidCIDR)."""
    address, slash, bits = text.partition("/")
    problem = ip_address(address)
    is_number = slash and _BITS.fullmatch(bits)
    most = 128 if ":" in address else 32
    if not is_number or int(bits) > most or problem.startswith("must be"):
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    if problem.startswith("must not have") or bits != str(int(bits)):
        return "must not have leading 0s in IP or prefix length"
    if problem:
        return "must not have an IPv4-mapped IPv6 address"
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return "must not have bits set beyond the prefix length"
    return ""


def sloppy_ip(text: str) -> str:
    """Check an IP address as servers before Kubernetes 1.36 do.

    They take leading zeros and mapped addresses (Go: netutils.ParseIPSloppy).
    """
    problem = ip_address(text)
    return problem if problem.startswith("must be") else ""


def sloppy_range(text: str) -> str:
    """Check a range as servers before Kubernetes 1.36 do.

    They take bits beyond the prefix as well (Go: netutils.ParseCIDRSloppy).
    """
    problem = ip_range(text)
    return problem if problem.startswith("must be") else ""


def padded_sloppy_range(text: str) -> str:
    """Check a range, around which there may be spaces, as ``sloppy_range`` does."""
    return sloppy_range(text.strip())


def padded_range(text: str) -> str:
    """Check a range, around which there may be spaces (Go: core ValidateService)."""
    return ip_range(text.strip())


def domain_path(text: str) -> str:
    """Check a path below a domain (Go: validation.IsDomainPrefixedPath)."""
    domain, slash, path = text.partition("/")
    if not slash or not domain or not path:
        return 'must be a domain-prefixed path (such as "acme.io/foo")'
    problem = names.subdomain(domain)
    if not problem and not _PATH.fullmatch(path):
        return f"Invalid path (regex used for validation is '{_PATH.pattern}')"
    return problem


def signer_name(text: str) -> str:
    """Check the name of a signer (Go: core ValidateSignerName)."""
    domain, slash, path = text.partition("/")
    if not slash or "/" in path:
        return (
            "must be a fully qualified domain and path of the form"
            " 'example.com/signer-name'"
        )
    for label in domain.split("."):
        if problem := names.label(label):
            return f'validating label "{label}": {problem}'
    if "." not in domain:
        return "should be a domain with at least two segments separated by dots"
    return names.subdomain(path)


def non_resource_path(text: str) -> str:
    """Check a path, or "*" (Go: flowcontrol ValidateNonResourceURLPath)."""
    if text in ("*", "/"):
        return ""
    if not text:
        return "must not be empty"
    if not text.startswith("/"):
        return "must start with slash"
    if " " in text:
        return "must not contain white-space"
    if "//" in text:
        return "must not contain double slash"
    if "*" in text.removesuffix("/*"):
        return "wildcard can only do suffix matching"
    return ""


def qualify_finalizer(text: str) -> str:
    """Check that a finalizer has a domain (Go: core validateKubeFinalizerName)."""
    if "/" in text or text in _STANDARD_FINALIZERS:
        return ""
    return "name is neither a standard finalizer name nor is it fully qualified"


def host(text: str) -> str:
    """Check a host name, whose first part may be a star (Go: validateIngressRules)."""
    return names.subdomain(text) if "*" not in text else names.wildcard_subdomain(text)


def not_ip(text: str) -> str:
    """Refuse an IP address (Go: networking validateIngressRules)."""
    is_ip = not ip_address(text).startswith("must be")
    return "must be a DNS name, not an IP address" if is_ip else ""


def canonical_name(text: str) -> str:
    """Check a name of DNS, which may end with a dot (Go: core ValidateService)."""
    return names.subdomain(text.removesuffix("."))


def attribute_name(text: str) -> str:
    """Check a domain and an identifier (Go: resource validateFullyQualifiedName)."""
    if "/" not in text:
        return "a fully qualified name must be a domain and a name separated by a slash"
    return attribute_key(text)


def attribute_key(text: str) -> str:
    """Check an identifier, with a domain or not (Go: validateQualifiedName)."""
    domain, slash, name = text.rpartition("/")
    if "/" in domain:
        return ""
    if slash and not domain:
        return "the domain must not be empty"
    if slash and not name:
        return "the name must not be empty"
    if not _ATTRIBUTE.fullmatch(name):
        return (
            "a valid C identifier must start with alphabetic character or '_',"
            " followed by a string of alphanumeric characters or '_' (e.g. 'my_name',"
            "  or 'MY_NAME',  or 'MyName', regex used for validation is"
            " '[A-Za-z_][A-Za-z0-9_]*')"
        )
    return driver_name(domain) if slash else ""


def driver_name(text: str) -> str:
    """Check the name of a driver (Go: core ValidateCSIDriverName)."""
    problem = "" if len(text) <= _LONGEST_DRIVER else "may not be more than 63 bytes"
    return problem or names.subdomain(text.lower())


def pool_name(text: str) -> str:
    """Check the name of a pool: names with "/" between them (Go: validatePoolName)."""
    problems = map(names.subdomain, [*text.split("/"), text.replace("/", ".")])
    return next((problem for problem in problems if problem), "")


def kind_name(text: str) -> str:
    """Check the name of a kind (Go: admissionregistration validateParamKind)."""
    problem = names.rfc1035_label(text.lower())
    return problem and f"may have mixed case, but should otherwise match: {problem}"


def any_namespace(text: str) -> str:
    """Check a namespace or "*" (Go: ValidateFlowSchemaResourcePolicyRule)."""
    message = "each member of this list must be '*' or a DNS-1123 label; "
    problem = "" if text == "*" else names.label(text)
    return problem and message + problem


def request_name(text: str) -> str:
    """Check the name of a request, or that and the name of a part of it.

    Go: resource validateRequestNameRef.
    """
    parts = text.split("/")
    if len(parts) > _MOST_PARTS_OF_REQUESTS:
        return (
            "must be the name of a request in the claim or the name of a request and a"
            " subrequest separated by '/'"
        )
    return next((problem for problem in map(names.label, parts) if problem), "")


def qualified_name(text: str) -> str:
    """Check a domain name of three parts (Go: validation.IsFullyQualifiedName)."""
    problem = names.subdomain(text)
    if not problem and text.count(".") < _DOTS_OF_QUALIFIED_NAME:
        return "should be a domain with at least three segments separated by dots"
    return problem


def resource_name(text: str) -> str:
    """Check the name of a resource (Go: core validateResourceName)."""
    pages = text.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))
    if "/" in text or text in _RESOURCES or pages:
        return names.label_key(text)
    unknown = "must be a standard resource type or fully qualified"
    return names.label_key(text) or unknown


def container_resource(text: str) -> str:
    """Check a resource of containers (Go: core validateContainerResourceName)."""
    problem = resource_name(text)
    if text.startswith("requests.") and "/" in text and "kubernetes.io/" not in text:
        return "doesn't follow extended resource name standard"
    if problem or "/" in text or text.startswith(_HUGE_PAGES):
        return problem
    known = text in _CONTAINER_RESOURCES
    return "" if known else "must be a standard resource for containers"


def quota_resource(text: str) -> str:
    """Check a resource of a quota (Go: core ValidateResourceQuotaResourceName)."""
    problem = resource_name(text)
    if problem or "/" in text or text != "storage":
        return problem
    return "must be a standard resource for quota"


def limit_type(text: str) -> str:
    """Check what a limit is for (Go: core validateLimitRangeTypeName)."""
    problem = names.label_key(text)
    if problem or "/" in text or text in _LIMIT_TYPES:
        return problem
    return "must be a standard limit type or fully qualified"


def https_url(text: str) -> str:
    """Check the URL of a webhook (Go: webhook.ValidateWebhookURL)."""
    form = "; desired format: https://host[/path]"
    scheme, _, rest = text.partition("://")
    if scheme.lower() != "https":
        return f"'https' is the only allowed URL scheme{form}"
    before, _, fragment = rest.partition("#")
    before, _, query = before.partition("?")
    user, _, host = before.partition("/")[0].rpartition("@")
    if not host:
        return f"host must be specified{form}"
    if user:
        return "user information is not permitted in the URL"
    if fragment:
        return "fragments are not permitted in the URL"
    return "query parameters are not permitted in the URL" if query else ""


def backsteps(text: str) -> str:
    """Check that a path leads to no parent (Go: validatePathNoBacksteps)."""
    return "must not contain '..'" if ".." in text.split("/") else ""


def not_reserved(text: str) -> str:
    """Refuse what a server writes itself (Go: validateLocalNonReservedPath)."""
    is_reserved = text.startswith("..") and not text.startswith("../")
    return "must not start with '..'" if is_reserved else ""


def _count_bytes(text: str) -> int:
    # Half a surrogate pair has no bytes that a server would read.
    return len(text.encode(errors="surrogatepass"))


def windows_user(text: str) -> str:
    """Check a user of Windows (Go: validateWindowsSecurityContextOptions)."""
    parts = text.split("\\")
    domain, user = parts[0], parts[-1]
    of_domain, of_user = "runAsUserName's Domain", "runAsUserName's User"
    problem = ""
    if not text:
        problem = "runAsUserName cannot be an empty string"
    elif any(ord(letter) < ord(" ") or letter == "\x7f" for letter in text):
        problem = "runAsUserName cannot contain control characters"
    elif len(parts) > _MOST_PARTS_OF_USERS:
        problem = "runAsUserName cannot contain more than one backslash"
    elif len(parts) > 1 and _count_bytes(domain) > _LONGEST_WINDOWS_DOMAIN:
        problem = f"{of_domain} length must be under 256 characters"
    elif len(parts) > 1 and not (
        _NET_BIOS.fullmatch(domain) or not names.subdomain(domain.lower())
    ):
        problem = f"{of_domain} doesn't match the NetBios nor the DNS format"
    elif not user:
        problem = f"{of_user} cannot be empty"
    elif _count_bytes(user) > _LONGEST_WINDOWS_USER:
        problem = f"{of_user} length must not be longer than 104 characters"
    elif not user.strip(". "):
        problem = f"{of_user} cannot contain only periods or spaces"
    elif _NOT_IN_USERS.search(user):
        characters = '"/\\:;|=,+*?<>@[]'
        problem = f"{of_user} cannot contain the following characters: {characters}"
    return problem


def usual_ip(text: str) -> str:
    """Refuse addresses with a meaning of their own (Go: ValidateNonSpecialIP)."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if address.is_unspecified:
        return f"may not be unspecified ({address})"
    if address.is_loopback:
        return "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address.is_link_local:
        return "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    if is_link_local_multicast(address):
        return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    return ""


def webhook_path(text: str) -> str:
    """Check the path of a webhook (Go: webhook.ValidateWebhookService)."""
    if not text.startswith("/"):
        return "must start with a '/'"
    for index, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment and text != "/":
            return f"segment[{index}] may not be empty"
        problem = names.subdomain(segment) if segment else ""
        if problem:
            return f"segment[{index}]: {problem}"
    return ""


def priority_class(text: str) -> str:
    """Refuse names of the system (Go: ValidatePriorityClass)."""
    if not text.startswith("system-") or text in _SYSTEM_CLASSES:
        return ""
    return (
        "priority class names with 'system-' prefix are reserved for system use only."
        f" error: {text} is not a known system priority class"
    )


def relative_path(text: str) -> str:
    """Check that a path begins with no slash (Go: validateLocalDescendingPath)."""
    return "must be a relative path" if text.startswith("/") else ""


def one_line(text: str) -> str:
    """Refuse blanks alone, and line breaks.

    Go: admissionregistration validateValidation.
    """
    # Spaces around a message count for nothing.
    inner = text.strip()
    if not inner:
        return "must be non-empty if specified"
    return "must not contain line breaks" if "\n" in inner or "\r" in inner else ""


def audit_key(text: str) -> str:
    """Check a key of an audit annotation (Go: validateAuditAnnotation).

    A server writes it after the name of its policy.
    """
    return names.label_key(f"policy/{text}")


def iscsi_name(text: str) -> str:
    """Check the name of a target (Go: core validateISCSIVolumeSource)."""
    if not text.startswith(("iqn", "eui", "naa")):
        return "must be valid format starting with iqn, eui, or naa"
    return "" if _ISCSI.fullmatch(text) else "must be valid format"


def extended_resource(text: str) -> str:
    """Check the name of an extended resource (Go: IsExtendedResourceName)."""
    if not is_extended_resource(text) or names.label_key(text):
        return "must be a valid extended resource name"
    return ""


def is_extended_resource(name: str) -> bool:
    """Tell whether a resource is one that Kubernetes does not have itself."""
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native and not name.startswith("requests.")


FORMATS: Final[Mapping[str, names.Rule]] = {
    "any-namespace": any_namespace,
    "attribute-key": attribute_key,
    "attribute-name": attribute_name,
    "audit-key": audit_key,
    "annotation-key": names.annotation_key,
    "cidr": ip_range,
    "cname": canonical_name,
    "config-key": names.config_key,
    "container-resource": container_resource,
    "cron": cron_schedule,
    "dns-1035-label": names.rfc1035_label,
    "dns-1035-or-label": names.label,
    "dns-label": names.label,
    "dns-subdomain": names.subdomain,
    "domain-path": domain_path,
    "driver-name": driver_name,
    "environment-name": environment_name,
    "extended-resource": extended_resource,
    "group-version": group_version,
    "host": host,
    "https-url": https_url,
    "ip": ip_address,
    "legacy-cidr": ip_range,
    "legacy-ip": ip_address,
    "iscsi": iscsi_name,
    "kind": kind_name,
    "label-key": names.label_key,
    "label-value": names.label_value,
    "limit-type": limit_type,
    "no-backsteps": backsteps,
    "non-resource-path": non_resource_path,
    "not-ip": not_ip,
    "not-reserved": not_reserved,
    "one-line": one_line,
    "padded-cidr": padded_range,
    "padded-sloppy-cidr": padded_sloppy_range,
    "path-segment": names.path_segment,
    "pool-name": pool_name,
    "port-name": port_name,
    "priority-class": priority_class,
    "qualified-finalizer": qualify_finalizer,
    "qualified-name": qualified_name,
    "quota-resource": quota_resource,
    "relative-path": relative_path,
    "request-name": request_name,
    "resource": resource_name,
    "search-domain": search_domain,
    "signer-name": signer_name,
    "sloppy-cidr": sloppy_range,
    "sloppy-ip": sloppy_ip,
    "time-zone": time_zone,
    "usual-ip": usual_ip,
    "webhook-path": webhook_path,
    "windows-user": windows_user,
}
# What the formats of older fields were before Kubernetes 1.36 (Go: the feature
# StrictIPCIDRValidation, IsValidIPForLegacyField and IsValidCIDRForLegacyField).
STRICT_SINCE: Final = [1, 36]
FORMER: Final[Mapping[str, str]] = {
    "legacy-cidr": "sloppy-cidr",
    "legacy-ip": "sloppy-ip",
    "padded-cidr": "padded-sloppy-cidr",
}
