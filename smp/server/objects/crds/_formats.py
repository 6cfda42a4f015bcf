"""The formats of strings in the schemas of custom resources.

Go: supportedVersionedFormats in k8s.io/apiextensions-apiserver,
pkg/apiserver/validation/formats.go, and k8s.io/kube-openapi, pkg/validation/strfmt,
whose expressions these are. Any other format is ignored, and so are ``creditcard`` and
``isbn``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from smp.server.objects.crds._patterns import compiled_pattern

_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HEX: Final = "[0-9a-fA-F]"
_UP_TO_255: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_LETTER: Final = r"a-zA-Z0-9\p{S}\p{L}"
# Whole strings match.
_PATTERNS: Final = {
    "bsonobjectid": f"{_HEX}{{24}}",
    "byte": "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|"
    "[A-Za-z0-9+/]{4})",
    "hexcolor": f"#?({_HEX}{{3}}|{_HEX}{{6}})",
    "hostname": f"([{_LETTER}]((-?[{_LETTER}]{{0,62}})?)|([{_LETTER}]"
    rf"(([-{_LETTER}]{{0,61}}[{_LETTER}])?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})",
    "k8s-long-name": rf"{_SHORT_NAME}(\.{_SHORT_NAME})*",
    "k8s-short-name": _SHORT_NAME,
    # Go: net.ParseMAC.
    "mac": "|".join(
        f"{_HEX}{{{digits}}}({mark}{_HEX}{{{digits}}}){{{more}}}"
        for digits, mark, counts in (
            (2, ":", (5, 7, 19)),
            (2, "-", (5, 7, 19)),
            (4, r"\.", (2, 3, 9)),
        )
        for more in counts
    ),
    "rgbcolor": rf"rgb\({_UP_TO_255},{_UP_TO_255},{_UP_TO_255}\)",
    "ssn": r"\d{3}[- ]\d{2}[- ]\d{4}",
    "uuid": "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "uuid3": "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "uuid4": "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?"
    "[0-9a-f]{12}",
    "uuid5": "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?"
    "[0-9a-f]{12}",
}
_LONGEST: Final = {"hostname": 255, "k8s-long-name": 253, "k8s-short-name": 63}
# Go: time.ParseDuration, or somewhere a number with a unit, as Scala writes them.
_GO_DURATION: Final = r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$"
_SCALA_DURATION: Final = (
    r"(?i)\d\s*(ns|us|µs|ms|s|m|h|hr|d|w|wk|nano[a-zµ]*|micro[a-zµ]*|milli[a-zµ]*|"
    r"sec[a-zµ]*|min[a-zµ]*|hour[a-zµ]*|day[a-zµ]*|week[a-zµ]*)([^a-zµ]|$)"
)
_TIME: Final = (
    r"(?i)^(\d{4}-\d\d-\d\d)t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?"
    r"(z|[+-]\d{2}:\d{2})$"
)


def _matches(pattern: str, text: str) -> bool:
    compiled = compiled_pattern(pattern)
    return bool(compiled and compiled.search(text))


def is_date(text: str) -> bool:
    """Tell whether a text is a date (Go: strfmt.IsDate)."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_time(text: str) -> bool:
    """Tell whether a text is a time (Go: strfmt.IsDateTime)."""
    return _matches(_TIME, text) and is_date(text[:10])


def is_duration(text: str) -> bool:
    """Tell whether a text is a duration (Go: strfmt.ParseDuration)."""
    return _matches(_GO_DURATION, text) or _matches(_SCALA_DURATION, text)


def is_uri(text: str) -> bool:
    """Tell whether a text is an absolute URI or a path (Go: url.ParseRequestURI)."""
    if any(char < "!" or char == "\x7f" for char in text):
        return False
    try:
        return text.startswith("/") or bool(urlsplit(text).scheme)
    except ValueError:
        return False


def is_cidr(text: str) -> bool:
    """Tell whether a text is a range of addresses (Go: net.ParseCIDR)."""
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdecimal()):
        return False
    try:
        ipaddress.ip_network(f"{address}/{length}", strict=False)
    except ValueError:
        return False
    return True


def pattern_of(name: str) -> Callable[[str], bool]:
    """Return the function of a format that has a pattern."""
    pattern, longest = f"^(?:{_PATTERNS[name]})$", _LONGEST.get(name)

    def is_valid(text: str) -> bool:
        return _matches(pattern, text) and (longest is None or len(text) <= longest)

    return is_valid


# A format is found with and without its hyphens (Go: strfmt.DefaultNameNormalizer).
FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    **{name: pattern_of(name) for name in _PATTERNS},
    "cidr": is_cidr,
    "date": is_date,
    "date-time": is_time,
    "datetime": is_time,
    "duration": is_duration,
    "uri": is_uri,
}
