"""The functions that Kubernetes adds to the Common Expression Language.

Go: k8s.io/apiserver, pkg/cel/library (lists, regex, urls, quantity, ip, cidr, format,
semver), and the sets of cel-go, ext/sets.go. The evaluator passes plain values to a
function of Python, and takes no type of ours. So a quantity, an address or a version is
a map here, with the name of its type as the only key; its value is canonical, so that
equal ones are equal maps. Where a function raises, the rule has an error.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from smp._values import names
from smp._values.ip_addresses import is_link_local_multicast
from smp._values.quantities import DECIMAL, Quantity, parse_quantity
from smp._values.values import same, value_keys
from smp.custom_resources._formats import FORMATS, is_uri
from smp.custom_resources._patterns import compile_pattern

# The names are those of the types of the evaluator; * stands for each type of a value.
# (function, is a member, types of the parameters, type of the result, implementation)
Function: TypeAlias = tuple[str, bool, tuple[str, ...], str, Callable[..., Any]]

_QUANTITY: Final = "kubernetes.Quantity"
_IP: Final = "net.IP"
_CIDR: Final = "net.CIDR"
_URL: Final = "kubernetes.URL"
_SEMVER: Final = "kubernetes.Semver"
_FORMAT: Final = "kubernetes.NamedFormat"
_INT64: Final = 2**63
_SEMVER_PARTS: Final = 3
# Semantic Versioning 2.0.0, section 2 and 9 to 11.
_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def _is_read(read: Callable[..., Any]) -> Callable[..., bool]:
    """Return a function that tells whether another one takes its arguments."""

    def is_taken(*arguments: Any) -> bool:
        try:
            read(*arguments)
        except ValueError:
            return False
        return True

    return is_taken


# --- lists


def _list_index(elements: list[Any], value: Any) -> int:
    found = (at for at, element in enumerate(elements) if same(element, value))
    return next(found, -1)


def _list_last_index(elements: list[Any], value: Any) -> int:
    at = _list_index(elements[::-1], value)
    return len(elements) - 1 - at if at >= 0 else -1


def _is_sorted(elements: list[Any]) -> bool:
    return all(left <= right for left, right in pairwise(elements))


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def chosen(elements: list[Any]) -> Any:
        if not elements:
            raise ValueError(f"{name} called on empty list")
        return choose(elements)

    return chosen


def _text_index(text: str, part: str, start: int = 0) -> int:
    return text.find(part, start)


def _text_last_index(text: str, part: str, last: int | None = None) -> int:
    return text.rfind(part) if last is None else text.rfind(part, 0, last + len(part))


def _contains_all(elements: list[Any], others: list[Any]) -> bool:
    return value_keys([others]) <= value_keys([elements])


def _is_equivalent(elements: list[Any], others: list[Any]) -> bool:
    return _contains_all(elements, others) and _contains_all(others, elements)


def _intersects(elements: list[Any], others: list[Any]) -> bool:
    return not value_keys([others]).isdisjoint(value_keys([elements]))


# --- regex


def _find(text: str, pattern: str) -> str:
    found = _matches_in(text, pattern, 1)
    return found[0] if found else ""


def _matches_in(text: str, pattern: str, most: int = -1) -> list[str]:
    compiled = compile_pattern(pattern)
    if compiled is None:
        raise ValueError("invalid regular expression")
    found: list[str] = []
    for match in compiled.finditer(text):
        if len(found) == most:
            break
        found.append(str(match.group(0)))
    return found


# --- urls


def _read_url(text: str) -> dict[str, str]:
    # Go: isURL("*") is true, for url.ParseRequestURI takes it.
    if text != "*" and not is_uri(text):
        raise ValueError("URL parse error")
    return {_URL: text}


def _host(url: dict[str, str]) -> str:
    return urlsplit(url[_URL]).netloc.rpartition("@")[2]


def _port(url: dict[str, str]) -> str:
    port = re.search(r":([0-9]*)$", _host(url))
    return port[1] if port else ""


def _query(url: dict[str, str]) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url[_URL]).query, keep_blank_values=True)


# --- quantity


def _read_quantity(text: str) -> dict[str, str]:
    quantity = parse_quantity(text)
    if quantity is None:
        raise ValueError("quantity")
    return _quantity_map(quantity)


def _quantity_map(quantity: Quantity) -> dict[str, str]:
    return {_QUANTITY: f"{quantity.sign} {quantity.exponent} {quantity.digits}"}


def _quantity(value: dict[str, str] | int) -> Quantity:
    if isinstance(value, int):
        return Quantity(-1 if value < 0 else 1, str(abs(value)), 0, DECIMAL)
    sign, exponent, digits = value[_QUANTITY].split(" ")
    return Quantity(int(sign), digits, int(exponent), DECIMAL)


def _add(tagged: dict[str, str], other: dict[str, str] | int) -> dict[str, str]:
    return _quantity_map(_quantity(tagged).add(_quantity(other)))


def _subtract(tagged: dict[str, str], other: dict[str, str] | int) -> dict[str, str]:
    taken = _quantity(other)
    negative = Quantity(-taken.sign, taken.digits, taken.exponent, DECIMAL)
    return _quantity_map(_quantity(tagged).add(negative))


def _convert_to_integer(tagged: dict[str, str]) -> int:
    quantity = _quantity(tagged)
    # An int64 has at most 19 digits.
    if quantity.exponent < 0 or quantity.exponent + len(quantity.digits) > 19:  # noqa: PLR2004  # see above
        raise ValueError("cannot convert value to integer")
    number = quantity.sign * int(f"0{quantity.digits}" + "0" * quantity.exponent)
    if not -_INT64 <= number < _INT64:
        raise ValueError("cannot convert value to integer")
    return number


def _convert_to_float(tagged: dict[str, str]) -> float:
    quantity = _quantity(tagged)
    return quantity.sign * float(f"0{quantity.digits}e{quantity.exponent}")


# --- semver


def _read_version(text: str, normalize: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002  # as it is called
    if normalize:
        # Go: semverlib.normalizeAndParse: a "v", missing parts, leading zeros.
        core = text.removeprefix("v")
        numbers = re.split(r"[-+]", core, maxsplit=1)[0]
        parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
        parts += ["0"] * (_SEMVER_PARTS - len(parts))
        text = ".".join(parts) + core[len(numbers) :]
    if not _VERSION.fullmatch(text):
        raise ValueError("semver")
    return {_SEMVER: text}


def _version_key(tagged: dict[str, str]) -> tuple[Any, ...]:
    match = _VERSION.fullmatch(tagged[_SEMVER])
    if match is None:
        raise ValueError("semver")
    numbers = [int(match[part]) for part in (1, 2, 3)]
    # Section 11: numbers are lower than texts, and a release is higher than both.
    before = tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in (match[4] or "").split(".")
        if part
    )
    return (*numbers, not before, before)


def _compare(left: dict[str, str], right: dict[str, str]) -> int:
    if _SEMVER in left:
        mine, others = _version_key(left), _version_key(right)
        return (mine > others) - (mine < others)
    return _quantity(left).compare(_quantity(right))


def _version_part(part: int) -> Callable[[dict[str, str]], int]:
    return lambda tagged: int(_version_key(tagged)[part])


# --- ip and cidr


def _read_ip(text: str) -> dict[str, str]:
    address = ipaddress.ip_address(text)
    # Go: library.parseIPAddr takes no zone and no IPv4 address in an IPv6 one.
    if isinstance(address, ipaddress.IPv6Address) and (
        address.scope_id or address.ipv4_mapped
    ):
        raise ValueError("IP Address")
    return {_IP: str(address)}


def _ip(tagged: dict[str, str]) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(tagged[_IP])


def _is_canonical(text: str) -> bool:
    return _read_ip(text)[_IP] == text


def _is_global_unicast(tagged: dict[str, str]) -> bool:
    address = _ip(tagged)
    # Go: netip.Addr.IsGlobalUnicast, which private addresses are.
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )


def _ip_test(name: str) -> Callable[[dict[str, str]], bool]:
    return lambda tagged: bool(getattr(_ip(tagged), name))


def _read_cidr(text: str) -> dict[str, str]:
    address, slash, length = text.partition("/")
    # Go: netip.ParsePrefix: a length in decimal, without a leading zero.
    if not slash or not re.fullmatch("0|[1-9][0-9]*", length):
        raise ValueError("network address parse error")
    _read_ip(address)
    return {_CIDR: str(ipaddress.ip_interface(text))}


def _cidr(tagged: dict[str, str]) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return ipaddress.ip_interface(tagged[_CIDR])


def _contains_ip(tagged: dict[str, str], other: dict[str, str] | str) -> bool:
    address = _ip(_read_ip(other) if isinstance(other, str) else other)
    return address in _cidr(tagged).network


def _contains_cidr(tagged: dict[str, str], other: dict[str, str] | str) -> bool:
    inner = _cidr(_read_cidr(other) if isinstance(other, str) else other)
    outer = _cidr(tagged).network
    return inner.ip in outer and inner.network.prefixlen >= outer.prefixlen


# --- format


def _prefix_format(check: Callable[[str], str]) -> Callable[..., str]:
    # A prefix is right where it is right with a letter behind it.
    return lambda text: check(f"{text.removesuffix('-')}a")


def _schema_format(name: str) -> Callable[[str], str]:
    return lambda text: "" if FORMATS[name](text) else f"invalid {name}"


_NAMED_FORMATS: Final[dict[str, Callable[[str], str]]] = {
    "dns1123Label": names.label,
    "dns1123Subdomain": names.subdomain,
    "dns1035Label": names.rfc1035_label,
    "qualifiedName": names.label_key,
    "dns1123LabelPrefix": _prefix_format(names.label),
    "dns1123SubdomainPrefix": _prefix_format(names.subdomain),
    "dns1035LabelPrefix": _prefix_format(names.rfc1035_label),
    "labelValue": names.label_value,
    **{name: _schema_format(name) for name in ("uri", "uuid", "byte", "date")},
    "datetime": _schema_format("datetime"),
}


def _validate(tagged: dict[str, str], text: str) -> list[str]:
    problem = _NAMED_FORMATS[tagged[_FORMAT]](text)
    return [problem] if problem else []


def _constant_format(name: str) -> Callable[[], dict[str, str]]:
    return lambda: {_FORMAT: name}


# Lists of types that have an order, or a sum, and the type of their elements.
ORDERED: Final = "ordered"
SUMMED: Final = "summed"
ELEMENT: Final = "element"
_S: Final = "STRING"
_M: Final = "MAP"
_L: Final = "LIST"
_I: Final = "INT"
_B: Final = "BOOL"

FUNCTIONS: Final[tuple[Function, ...]] = (
    # Of two names of strings there is one of lists as well (_expressions.RENAMED).
    ("kubernetesIndexOf", True, (_S, _S), _I, _text_index),
    ("kubernetesIndexOf", True, (_S, _S, _I), _I, _text_index),
    ("kubernetesIndexOf", True, (_L, "*"), _I, _list_index),
    ("kubernetesLastIndexOf", True, (_S, _S), _I, _text_last_index),
    ("kubernetesLastIndexOf", True, (_S, _S, _I), _I, _text_last_index),
    ("kubernetesLastIndexOf", True, (_L, "*"), _I, _list_last_index),
    ("isSorted", True, (ORDERED,), _B, _is_sorted),
    ("sum", True, (SUMMED,), ELEMENT, sum),
    ("min", True, (ORDERED,), ELEMENT, _extreme("min", min)),
    ("max", True, (ORDERED,), ELEMENT, _extreme("max", max)),
    ("sets.contains", False, (_L, _L), _B, _contains_all),
    ("sets.equivalent", False, (_L, _L), _B, _is_equivalent),
    ("sets.intersects", False, (_L, _L), _B, _intersects),
    ("find", True, (_S, _S), _S, _find),
    ("findAll", True, (_S, _S), _L, _matches_in),
    ("findAll", True, (_S, _S, _I), _L, _matches_in),
    ("url", False, (_S,), _M, _read_url),
    ("isURL", False, (_S,), _B, _is_read(_read_url)),
    ("getScheme", True, (_M,), _S, lambda url: urlsplit(url[_URL]).scheme),
    ("getHost", True, (_M,), _S, _host),
    (
        *("getHostname", True, (_M,), _S),
        lambda url: re.sub(r":[0-9]*$", "", _host(url)).strip("[]"),
    ),
    ("getPort", True, (_M,), _S, _port),
    ("getEscapedPath", True, (_M,), _S, lambda url: urlsplit(url[_URL]).path),
    ("getQuery", True, (_M,), _M, _query),
    ("quantity", False, (_S,), _M, _read_quantity),
    ("isQuantity", False, (_S,), _B, _is_read(_read_quantity)),
    ("isInteger", True, (_M,), _B, _is_read(_convert_to_integer)),
    ("asInteger", True, (_M,), _I, _convert_to_integer),
    ("asApproximateFloat", True, (_M,), "DOUBLE", _convert_to_float),
    # Go declares it as a function, not as a member.
    ("sign", False, (_M,), _I, lambda tagged: _quantity(tagged).sign),
    ("add", True, (_M, _M), _M, _add),
    ("add", True, (_M, _I), _M, _add),
    ("sub", True, (_M, _M), _M, _subtract),
    ("sub", True, (_M, _I), _M, _subtract),
    ("isGreaterThan", True, (_M, _M), _B, lambda a, b: _compare(a, b) > 0),
    ("isLessThan", True, (_M, _M), _B, lambda a, b: _compare(a, b) < 0),
    ("compareTo", True, (_M, _M), _I, _compare),
    ("semver", False, (_S,), _M, _read_version),
    ("semver", False, (_S, _B), _M, _read_version),
    ("isSemver", False, (_S,), _B, _is_read(_read_version)),
    ("isSemver", False, (_S, _B), _B, _is_read(_read_version)),
    ("major", True, (_M,), _I, _version_part(0)),
    ("minor", True, (_M,), _I, _version_part(1)),
    ("patch", True, (_M,), _I, _version_part(2)),
    ("ip", False, (_S,), _M, _read_ip),
    ("isIP", False, (_S,), _B, _is_read(_read_ip)),
    ("ip.isCanonical", False, (_S,), _B, _is_canonical),
    ("family", True, (_M,), _I, lambda tagged: _ip(tagged).version),
    ("isUnspecified", True, (_M,), _B, _ip_test("is_unspecified")),
    ("isLoopback", True, (_M,), _B, _ip_test("is_loopback")),
    (
        *("isLinkLocalMulticast", True, (_M,), _B),
        lambda tagged: is_link_local_multicast(_ip(tagged)),
    ),
    ("isLinkLocalUnicast", True, (_M,), _B, _ip_test("is_link_local")),
    ("isGlobalUnicast", True, (_M,), _B, _is_global_unicast),
    ("cidr", False, (_S,), _M, _read_cidr),
    ("isCIDR", False, (_S,), _B, _is_read(_read_cidr)),
    ("containsIP", True, (_M, _M), _B, _contains_ip),
    ("containsIP", True, (_M, _S), _B, _contains_ip),
    ("containsCIDR", True, (_M, _M), _B, _contains_cidr),
    ("containsCIDR", True, (_M, _S), _B, _contains_cidr),
    ("ip", True, (_M,), _M, lambda tagged: {_IP: str(_cidr(tagged).ip)}),
    ("prefixLength", True, (_M,), _I, lambda tagged: _cidr(tagged).network.prefixlen),
    ("masked", True, (_M,), _M, lambda tagged: {_CIDR: str(_cidr(tagged).network)}),
    *(
        (f"format.{name}", False, (), _M, _constant_format(name))
        for name in _NAMED_FORMATS
    ),
    # An optional list on a server: _expressions makes it one.
    ("validate", True, (_M, _S), _L, _validate),
)
