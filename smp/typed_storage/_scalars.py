"""How Go types with a JSON form of their own print what they have read.

Each function returns a value that cannot be read as it is: an API server refuses it.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from smp.values import JSON, LONGEST_NUMBER, printed

# A sign, digits without leading zeros, a fraction, a suffix or an exponent. Go:
# resource.parseQuantityString.
_QUANTITY: Final = re.compile(
    r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)"
)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,9})")
# Powers of ten and of two that the suffixes of quantities stand for.
DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_EXPONENTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {
    power: suffix for suffix, power in DECIMAL_EXPONENTS.items()
}
_BINARY_SUFFIXES: Final = {power: suffix for suffix, power in BINARY_EXPONENTS.items()}
# Go: resource.maxInt64Factors. A number of so many digits is an int64.
_DIGITS: Final = 18
_NANO: Final = -9
_KIBI: Final = 1024
_MAX: Final = 2**63 - 1

_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_UTC_LENGTH: Final = len("2006-01-02T15:04:05Z")
_MICRO_DIGITS: Final = 6
_MAX_ZONE_HOURS: Final = 24
_MINUTES: Final = 60
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_ZERO_MICRO_TIME: Final = "0001-01-01T00:00:00.000000Z"

# From here on, Go prints a double with an exponent.
_LARGE: Final = 1e21


def quantity(value: JSON) -> JSON:
    """Return the canonical text of a quantity (Go: resource.Quantity).

    The number of a document does not keep its digits, so that one with an exponent may
    have another spelling here than in Go.
    """
    if isinstance(value, str):
        canonical = _canonical(value)
        # The same text is the same object, so that the value counts as unchanged.
        return value if canonical is None or canonical == value else canonical
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    canonical = _canonical(printed(value))
    return value if canonical is None else canonical


def is_quantity(text: str) -> bool:
    """Tell whether a text is a quantity (Go: resource.ParseQuantity).

    A text of more than LONGEST_NUMBER characters is none here.
    """
    return _canonical(text) is not None


def _canonical(written: str) -> str | None:
    return _quantity(written) if len(written) <= LONGEST_NUMBER else None


# The same few amounts are in all Pods.
@lru_cache(maxsize=8192)
def _quantity(written: str) -> str | None:
    """Go: resource.ParseQuantity, and Quantity.CanonicalizeBytes."""
    text = written.strip()
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        return None
    number = match[2] or "0"
    fraction = match[3] or ""
    suffix = match[4]
    exponential = _EXPONENT.fullmatch(suffix)
    digits = int(number + fraction)
    count = len(number) + len(fraction)
    sign = -1 if match[1] == "-" else 1
    if suffix in BINARY_EXPONENTS:
        return _binary(
            text, sign, digits, len(number), fraction, BINARY_EXPONENTS[suffix]
        )
    if suffix in DECIMAL_EXPONENTS:
        scale = DECIMAL_EXPONENTS[suffix] - len(fraction)
    elif exponential is not None:
        scale = int(exponential[1]) - len(fraction)
    else:
        return None
    if count <= _DIGITS and scale >= _NANO:
        # Go keeps the text of a quantity that it takes for canonical.
        shifted = number + fraction
        is_kept = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        if is_kept:
            return text
    else:
        digits, scale = _rounded_up(digits, scale)
    return _decimal_text(sign * digits, scale, exponents=exponential is not None)


def _binary(  # the parts of a text
    text: str, sign: int, digits: int, length: int, fraction: str, power: int
) -> str:
    scale = 0
    # Go: the number of decimal digits that are left in an int64, about.
    precision = 15 - length - power * 3 // 10 - 1
    if not fraction and precision >= 0:
        # Go keeps the text of a quantity that it takes for canonical.
        if digits & 7:
            return text
        digits <<= power
    else:
        digits, scale = _rounded_up(digits << power, -len(fraction))
        if scale < 0 and digits % 10**-scale == 0:
            digits, scale = digits // 10**-scale, 0
        if digits > _MAX * 10**-scale:
            digits, scale = _MAX, 0
    if scale or digits < _KIBI:
        # It would lose its fraction, or is small.
        return _decimal_text(sign * digits, scale, exponents=False)
    times = 0
    while digits % _KIBI == 0:
        digits //= _KIBI
        times += 1
    return f"{sign * digits}{_BINARY_SUFFIXES.get(10 * times, '')}"


def _rounded_up(digits: int, scale: int) -> tuple[int, int]:
    """Round up to nano, the smallest amount: some of a resource was asked for."""
    if scale >= _NANO or not digits:
        return digits, scale
    if _NANO - scale > len(str(digits)):
        return 1, _NANO
    return -(-digits // 10 ** (_NANO - scale)), _NANO


def _decimal_text(digits: int, scale: int, *, exponents: bool) -> str:
    """Go: Quantity.AsCanonicalBytes. The exponent is a multiple of 3."""
    if not digits:
        return "0"
    while digits % 10 == 0:
        digits //= 10
        scale += 1
    while scale % 3:
        digits *= 10
        scale -= 1
    if not exponents:
        # Go has no suffix above E, and prints none.
        return f"{digits}{_DECIMAL_SUFFIXES.get(scale, '')}"
    return f"{digits}e{scale}" if scale else str(digits)


def time(value: JSON) -> JSON:
    """Return a time in UTC, without fractions of seconds (Go: metav1.Time).

    The zero time is null.
    """
    if not isinstance(value, str):
        return value
    if len(value) != _UTC_LENGTH or not value.endswith("Z"):
        found = _TIME.fullmatch(value)
        moment = None if found is None else _moment(found)
        if moment is None:
            return value
        value = f"{moment.isoformat(timespec='seconds')}Z"
    return None if value == _ZERO_TIME else value


def micro_time(value: JSON) -> JSON:
    """Return a time in UTC with microseconds (Go: metav1.MicroTime).

    The zero time is null.
    """
    if not isinstance(value, str):
        return value
    found = _TIME.fullmatch(value)
    # Go: time.Parse wants as many digits as the layout has.
    if found is None or len(found[7] or "") != _MICRO_DIGITS:
        return value
    moment = _moment(found)
    if moment is None:
        return value
    text = f"{moment.isoformat(timespec='microseconds')}Z"
    if text == _ZERO_MICRO_TIME:
        return None
    return value if text == value else text


def _moment(found: re.Match[str]) -> datetime | None:
    """Return the time in UTC; None for a day or an hour that there is not."""
    year, month, day, hour, minute, second = (int(found[at]) for at in range(1, 7))
    micros = int((found[7] or "")[:_MICRO_DIGITS].ljust(_MICRO_DIGITS, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001  # the zone follows
        if not found[8]:
            return local
        hours, minutes = int(found[9]), int(found[10])
        if hours > _MAX_ZONE_HOURS or minutes >= _MINUTES:
            return None
        offset = timedelta(hours=hours, minutes=minutes)
        return local - offset if found[8] == "+" else local + offset
    except (ValueError, OverflowError):
        return None


def octets(value: JSON) -> bytes | None:
    """Return the bytes of a base64 text; None for what is none.

    Line breaks are passed over (Go: encoding/json, []byte).
    """
    if not isinstance(value, str):
        return None
    text = value
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        return None


def base64(value: JSON) -> JSON:
    """Return the base64 of bytes without line breaks (Go: encoding/json, []byte)."""
    content = octets(value)
    if content is None:
        return value
    text = b2a_base64(content, newline=False).decode()
    return value if text == value else text


def double(value: JSON) -> JSON:
    """Return a number as Go prints a double: without a fraction that is zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    try:
        read = float(value)
    except OverflowError:
        return value
    if read.is_integer() and abs(read) < _LARGE:
        whole = int(read)
        return value if type(value) is int and value == whole else whole
    return value if type(value) is float else read
