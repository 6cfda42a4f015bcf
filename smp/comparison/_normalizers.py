"""The normalizers: what makes two values equal that are written differently.

Each has a name. One that compares single values is a function here, which returns a
key: two values are equal where their keys are, and a value without a key is equal to
nothing else. tests/data/comparison records which values Go takes for equal; none has
one key that Go tells apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from smp.codec import encode
from smp.typed_storage import (
    BINARY_EXPONENTS,
    DECIMAL_EXPONENTS,
    double,
    is_quantity,
    octets,
)
from smp.values import (
    JSON,
    LONGEST_NUMBER,
    as_list,
    as_object,
    as_text,
    printed,
    scalar_key,
)

# What a server fills in, and zero values that it drops or prints.
DEFAULT: Final = "default"
EMPTY: Final = "empty"
# What only a stored object has: uid, resourceVersion, status.
SERVER_FIELD: Final = "server-field"
STRING_DATA: Final = "string-data"
QUANTITY: Final = "quantity"
DURATION: Final = "duration"
TIME: Final = "time"
BASE64: Final = "base64"
NUMBER: Final = "number"
INT_OR_STRING: Final = "int-or-string"
LABEL_SELECTOR: Final = "label-selector"
SET_ORDER: Final = "set-order"
LIST_ORDER: Final = "list-order"

# They are on wherever the type of a value asks for them. A rule switches them off, for
# some paths or for all.
ON: Final = (
    DEFAULT,
    EMPTY,
    SERVER_FIELD,
    STRING_DATA,
    QUANTITY,
    DURATION,
    TIME,
    BASE64,
    NUMBER,
    LABEL_SELECTOR,
    SET_ORDER,
)
# What no type asks for: a server stores the values as they are, and tells them apart.
OFF: Final = (INT_OR_STRING, LIST_ORDER)
NORMALIZERS: Final = (*ON, *OFF)

# What two values have in common that are equal; None: equal to nothing else.
ValueKey: TypeAlias = "Hashable | None"

# A sign, digits, a fraction, and a suffix or an exponent (Go:
# resource.parseQuantityString).
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*)([+-]?[0-9]*)")
_NANO: Final = -9
_MAX: Final = 2**63 - 1

# Go: time.unitMap, in nanoseconds.
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,  # the Greek letter, which is another character
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
}
_PART: Final = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]+)")

_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_NANO_DIGITS: Final = 9
_HOURS: Final = 24
_MINUTES: Final = 60

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_INT32: Final = range(-(2**31), 2**31)


def amount(value: JSON) -> ValueKey:
    """Return the amount as digits and a power of ten (Go: resource.Quantity.Cmp)."""
    written = value if isinstance(value, str) else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        written = printed(value)
    text = written.strip()
    match = _QUANTITY.fullmatch(text)
    if match is None or not is_quantity(text):
        return None
    sign, number, fraction, suffix, exponent = match.groups(default="")
    # Decimal digits are exact, where a double would not be: 0.1 is 100m.
    digits = int(f"0{number}{fraction}")
    power = -len(fraction)
    if suffix in BINARY_EXPONENTS:
        digits <<= BINARY_EXPONENTS[suffix]
    elif exponent:
        power += int(exponent)
    else:
        power += DECIMAL_EXPONENTS[suffix]
    # Go: ParseQuantity rounds up to nano, and cuts off large binary amounts.
    if power < _NANO and digits:
        dropped = _NANO - power
        is_tiny = dropped > len(str(digits))
        digits = 1 if is_tiny else -(-digits // 10**dropped)
        power = _NANO
    if suffix in BINARY_EXPONENTS and digits > _MAX * 10**-power:
        digits, power = _MAX, 0
    if not digits:
        return (0, 0)
    while digits % 10 == 0:
        digits //= 10
        power += 1
    return (-digits if sign == "-" else digits, power)


def nanoseconds(value: JSON) -> ValueKey:
    """Return the nanoseconds of a duration (Go: time.ParseDuration)."""
    text = as_text(value)
    if len(text) > LONGEST_NUMBER:
        return None
    is_negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    # The only duration without a unit.
    if rest == "0":
        return 0
    total = 0
    position = 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[3]) or match[4] not in _UNITS:
            return None
        unit = _UNITS[match[4]]
        total += int(match[1] or "0") * unit + _of_fraction(match[3], unit)
        # Go: an int64 of nanoseconds, of which the least has no positive counterpart.
        if total > _MAX + 1:
            return None
        position = match.end()
    if not rest or (total > _MAX and not is_negative):
        return None
    return -total if is_negative else total


def _of_fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of a fraction (Go: time.leadingFraction).

    Go computes them with doubles, and drops the digits beyond an int64.
    """
    found = 0
    scale = 1.0
    for digit in digits:
        more = 10 * found + int(digit)
        if found > _MAX // 10 or more > _MAX + 1:
            break
        found = more
        scale *= 10
    return int(found * (unit / scale)) if found else 0


def instant(value: JSON) -> ValueKey:
    """Return the instant in UTC, and nanoseconds (Go: time.Time.Equal)."""
    match = _TIME.fullmatch(as_text(value))
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[at]) for at in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        # Go takes zones from -23:59 to +23:59 here.
        if match[8]:
            hours, minutes = int(match[9]), int(match[10])
            if hours >= _HOURS or minutes >= _MINUTES:
                return None
            offset = timedelta(hours=hours, minutes=minutes)
            moment = moment - offset if match[8] == "+" else moment + offset
    except (ValueError, OverflowError):
        return None
    return (moment, (match[7] or "").ljust(_NANO_DIGITS, "0"))


def integer(value: JSON) -> ValueKey:
    """Return the number of an integer or of a text (Go: intstr.Parse)."""
    # A boolean is an integer to Python. Go has an int32, and takes 080 and +80 for 80.
    number = value if type(value) is int else None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
    return number if number is not None and number in _INT32 else None


def printed_number(value: JSON) -> ValueKey:
    """Return a number as Go prints a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return scalar_key(double(value))


def requirements_of(value: JSON) -> ValueKey:
    """Return the requirements of a label selector, in one order.

    Go: metav1.LabelSelectorAsSelector. A label is a requirement with one value, and
    neither requirements nor values have an order.
    """
    if not isinstance(value, dict) or not value.keys() <= {
        "matchLabels",
        "matchExpressions",
    }:
        return None
    # Go: a label is a requirement with the operator = and one value.
    requirements: list[tuple[str, str, frozenset[str]]] = []
    for name, label in as_object(value.get("matchLabels")).items():
        if not isinstance(label, str):
            return None
        requirements.append((name, "In", frozenset((label,))))
    for expression in as_list(value.get("matchExpressions")):
        members = as_object(expression)
        values = as_list(members.get("values"))
        texts = frozenset(as_text(text) for text in values)
        operator = as_text(members.get("operator"))
        is_strange = not members.keys() <= {"key", "operator", "values"}
        has_values = operator in {"In", "NotIn"}
        is_known = has_values or operator in {"Exists", "DoesNotExist"}
        # What a server refuses is equal to nothing else.
        if is_strange or not is_known or has_values != bool(texts) or "" in texts:
            return None
        requirements.append((as_text(members.get("key")), operator, texts))
    # A requirement that is there twice is counted, though it selects nothing else.
    return frozenset(Counter(requirements).items())


def elements_in_any_order(value: JSON) -> ValueKey:
    """Return how often each element of a list is in it."""
    if not isinstance(value, list):
        return None
    return frozenset(Counter(_text(element) for element in value).items())


def elements_of_set(value: JSON) -> ValueKey:
    """Return the scalars of a list of type set (Go: typed.TypedValue.Compare)."""
    texts = {_text(element) for element in as_list(value)}
    # A server refuses a set that has an element twice.
    if not isinstance(value, list) or len(texts) != len(value):
        return None
    return frozenset(texts)


def _text(value: JSON) -> bytes:
    return encode(_in_order(value))


def _in_order(value: JSON) -> JSON:
    """Return a value with the members of each object in the order of their names."""
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_in_order(element) for element in value]
    return value


_KEYS: Final[dict[str, Callable[[JSON], ValueKey]]] = {
    QUANTITY: amount,
    DURATION: nanoseconds,
    TIME: instant,
    BASE64: octets,
    NUMBER: printed_number,
    INT_OR_STRING: integer,
    LABEL_SELECTOR: requirements_of,
    SET_ORDER: elements_of_set,
    LIST_ORDER: elements_in_any_order,
}


def key_of_value(normalizer: str, value: JSON) -> ValueKey:
    """Return what values have in common that a normalizer takes for equal.

    None: the value is equal to nothing else, and so it is for the normalizers that
    compare more than single values.
    """
    key = _KEYS.get(normalizer)
    return None if key is None else key(value)
