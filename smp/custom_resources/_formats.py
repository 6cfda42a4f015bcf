"""The formats of strings in the schemas of custom resources.

Go: supportedVersionedFormats in k8s.io/apiextensions-apiserver,
pkg/apiserver/validation/formats.go, and k8s.io/kube-openapi, pkg/validation/strfmt,
whose expressions these are, and pkg/internal/third_party/govalidator. Any other format
is ignored.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from smp._values.times import parse_duration
from smp.custom_resources._patterns import compile_pattern, is_installed

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
# Somewhere a number with a unit, as Scala writes them.
_SCALA_DURATION: Final = (
    r"(?i)\d\s*(ns|us|µs|ms|s|m|h|hr|d|w|wk|nano[a-zµ]*|micro[a-zµ]*|milli[a-zµ]*|"
    r"sec[a-zµ]*|min[a-zµ]*|hour[a-zµ]*|day[a-zµ]*|week[a-zµ]*)([^a-zµ]|$)"
)
_TIME: Final = (
    r"(?i)^(\d{4}-\d\d-\d\d)t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?"
    r"(z|[+-]\d{2}:\d{2})$"
)


# Go: url.unescape.
_BROKEN_ESCAPE: Final = re.compile(f"%(?!{_HEX}{{2}})")
_CREDIT_CARD: Final = (
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|"
    r"3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
)


def _matches(pattern: str, text: str) -> bool:
    if not is_installed():
        # What cannot be matched is not refused; unchecked() names it.
        return True
    compiled = compile_pattern(pattern)
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
    return parse_duration(text) is not None or _matches(_SCALA_DURATION, text)


def is_uri(text: str) -> bool:
    """Tell whether a text is an absolute URI or a path (Go: url.ParseRequestURI)."""
    if any(char < "!" or char == "\x7f" for char in text):
        return False
    if _BROKEN_ESCAPE.search(text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    # Go: validOptionalPort, of what follows the last colon outside of brackets.
    host = parts.netloc.rpartition("@")[2]
    port = host.rpartition("]")[2].partition(":")[2]
    is_port = not port or (port.isascii() and port.isdecimal())
    return is_port and (text.startswith("/") or bool(parts.scheme))


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


def is_ipv4(text: str) -> bool:
    """Tell whether a text is an IP address with dots (Go: govalidator.IsIPv4)."""
    return "." in text and _is_ip(text)


def is_ipv6(text: str) -> bool:
    """Tell whether a text is an IP address with colons (Go: govalidator.IsIPv6)."""
    return ":" in text and _is_ip(text)


def _is_ip(text: str) -> bool:
    """Go: netutils.ParseIPSloppy, which reads leading zeros in decimal."""
    if ":" not in text:
        parts = [part.lstrip("0") or part[-1:] for part in text.split(".")]
        text = ".".join(parts)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def is_email(text: str) -> bool:
    """Tell whether a text may be an address; Go reads more (mail.ParseAddress)."""
    return "@" in text


def is_credit_card(text: str) -> bool:
    """Tell whether a text is the number of a card (Go: govalidator.IsCreditCard)."""
    digits = "".join(char for char in text if "0" <= char <= "9")
    if not _matches(_CREDIT_CARD, digits):
        return False
    # The algorithm of Luhn: every second digit from the end counts twice.
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number  # noqa: PLR2004  # two digits
    return total % 10 == 0


def is_isbn_10(text: str) -> bool:
    """Tell whether a text is an ISBN of ten digits (Go: govalidator.IsISBN10)."""
    digits = _drop_marks(text)
    if not _matches("^(?:[0-9]{9}X|[0-9]{10})$", digits):
        return False
    numbers = [10 if digit == "X" else int(digit) for digit in digits]
    total = sum(number * weight for weight, number in enumerate(numbers, 1))
    return total % 11 == 0


def is_isbn_13(text: str) -> bool:
    """Tell whether a text is an ISBN of 13 digits (Go: govalidator.IsISBN13)."""
    digits = _drop_marks(text)
    if not _matches("^[0-9]{13}$", digits):
        return False
    total = sum(
        int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)
    )
    return total % 10 == 0


def is_isbn(text: str) -> bool:
    """Tell whether a text is an ISBN (Go: strfmt.isbn)."""
    return is_isbn_10(text) or is_isbn_13(text)


def _drop_marks(text: str) -> str:
    # Go: whiteSpacesAndMinus.
    return "".join(char for char in text if char not in " \t\n\f\r-")


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
    "creditcard": is_credit_card,
    "date": is_date,
    "date-time": is_time,
    "datetime": is_time,
    "duration": is_duration,
    "email": is_email,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "isbn": is_isbn,
    "isbn10": is_isbn_10,
    "isbn13": is_isbn_13,
    "uri": is_uri,
}
