"""Times and durations: read and printed as Go does.

A time is an instant: seconds since 1970 and nanoseconds. So two spellings of one time
are equal, and the years -1 and 10000, to which the zone of a time can lead, are times
as well, as in Go.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime
from typing import Final, TypeAlias

from smp._values.text_cache import TextCache
from smp._values.values import JSON

# Seconds since 1970, which are rounded down, and nanoseconds.
Instant: TypeAlias = tuple[int, int]

# The layouts of Go, by element: the text of it, and what it may be (Go: time.parse).
_DATE_AND_TIME: Final = (
    ("2006", "[0-9]{4}"),
    ("-", "-"),
    ("01", "[0-9]{2}"),
    ("-", "-"),
    ("02", "[0-9]{2}"),
    ("T", "T"),
    ("15", "[0-9][0-9]?"),
    (":", ":"),
    ("04", "[0-9]{2}"),
    (":", ":"),
)
_ZONE: Final = ("Z07:00", "Z|[+-][0-9]{2}:[0-9]{2}")
# Go: time.RFC3339. A fraction is read although the layout has none.
_RFC3339: Final = (*_DATE_AND_TIME, ("05", "[0-9]{2}(?:[.,][0-9]+)?"), _ZONE)
# Go: metav1.RFC3339Micro. A fraction is read as an integer, which may have a sign.
_RFC3339_MICRO: Final = (
    *_DATE_AND_TIME,
    ("05", "[0-9]{2}"),
    (".000000", "[.,](?:[0-9]{6}|[+-][0-9]{5})"),
    _ZONE,
)
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9][0-9]?):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([+-]?)([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
# What an element is called, and its lowest and highest value (Go: rangeErrString).
_RANGES: Final = {
    "01": ("month", 1, 12),
    "15": ("hour", 0, 23),
    "04": ("minute", 0, 59),
    "05": ("second", 0, 59),
}
_OFFSET: Final = re.compile(r".([0-9]{2}):(..)", re.DOTALL)
_MAX_OFFSET_HOURS: Final = 24
_MAX_OFFSET_MINUTES: Final = 60
_UTC_LENGTH: Final = len("2006-01-02T15:04:05Z")
_NANO_DIGITS: Final = 9
_MICRO: Final = 1000  # nanoseconds

# The calendar begins again after 400 years, and Python's has the years 1 to 9999.
_CYCLE: Final = 400  # years
_DAYS_IN_CYCLE: Final = 146_097
_DAYS_BEFORE_1970: Final = 719_162  # since the year 1
_DAY: Final = 86_400  # seconds
_ZERO_SECONDS: Final = -_DAYS_BEFORE_1970 * _DAY
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"

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
_PART: Final = re.compile(r"([0-9]*+)(\.?+)([0-9]*+)([^0-9.]++)")
_MAX: Final = 2**63 - 1
_INT64_DIGITS: Final = 19


def read_time(value: JSON) -> Instant | None:
    """Return the instant of a time; None for what is none (Go: metav1.Time)."""
    found = _PARSED[value] if isinstance(value, str) else ""
    return None if isinstance(found, str) else found


def read_micro_time(value: JSON) -> Instant | None:
    """Return the instant of a time with microseconds (Go: metav1.MicroTime)."""
    found = _PARSED_MICRO[value] if isinstance(value, str) else ""
    return None if isinstance(found, str) else found


def time_problem(value: JSON) -> str:
    """Return why Go cannot read a time (Go: time.ParseError), or ""."""
    found = _PARSED[value] if isinstance(value, str) else ""
    return found if isinstance(found, str) else ""


def micro_time_problem(value: JSON) -> str:
    """Return why Go cannot read a time with microseconds, or ""."""
    found = _PARSED_MICRO[value] if isinstance(value, str) else ""
    return found if isinstance(found, str) else ""


def canonical_time(value: JSON) -> JSON:
    """Return a time in UTC, without fractions of seconds (Go: metav1.Time).

    The zero time is null. What is no time stays as it is.
    """
    if not isinstance(value, str):
        return value
    # No other text of this length is a time.
    if len(value) == _UTC_LENGTH and value.endswith("Z"):
        return None if value == _ZERO_TIME else value
    found = read_time(value)
    if found is None:
        return value
    return None if _is_zero(found) else print_time(found[0])


def canonical_micro_time(value: JSON) -> JSON:
    """Return a time in UTC with microseconds (Go: metav1.MicroTime).

    The zero time is null. What is no time stays as it is.
    """
    found = read_micro_time(value)
    if found is None:
        return value
    if _is_zero(found):
        return None
    # Go: metav1.RFC3339Micro.
    text = f"{_print_seconds(found[0])}.{found[1] // _MICRO:06}Z"
    # The same text is the same object, so that the value counts as unchanged.
    return value if value == text else text


def _is_zero(instant: Instant) -> bool:
    return instant[0] == _ZERO_SECONDS and instant[1] == 0


def print_time(seconds: int) -> str:
    """Print a time in seconds since 1970, in UTC (Go: time.RFC3339)."""
    return f"{_print_seconds(seconds)}Z"


def timestamp(now: datetime) -> str:
    """Print a time as in metadata: RFC 3339, in UTC, to the second."""
    moment = now.astimezone(UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='seconds')}Z"


def _print_seconds(seconds: int) -> str:
    days, second = divmod(seconds, _DAY)
    cycles, day = divmod(days + _DAYS_BEFORE_1970, _DAYS_IN_CYCLE)
    found = date.fromordinal(day + 1)
    year = found.year + cycles * _CYCLE
    # Go: appendInt, which does not count the sign.
    years = f"{year:04}" if year >= 0 else f"-{-year:04}"
    minutes, second = divmod(second, 60)
    hour, minute = divmod(minutes, 60)
    return f"{years}-{found.month:02}-{found.day:02}T{hour:02}:{minute:02}:{second:02}"


def _parse(text: str) -> Instant | str:
    """Go: time.Parse(time.RFC3339, text)."""
    match = _TIME.fullmatch(text)
    found = None if match is None or match[7] else _instant_of(match)
    return _problem_of(text, _RFC3339) if found is None else found


def _parse_micro(text: str) -> Instant | str:
    """Go: time.Parse(metav1.RFC3339Micro, text)."""
    match = _TIME.fullmatch(text)
    found = None
    # Go wants as many characters as the layout has, and nothing below zero.
    if match is not None and len(f"{match[7]}{match[8]}") == len("000000"):
        is_below_zero = match[7] == "-" and bool(match[8].strip("0"))
        found = None if is_below_zero else _instant_of(match)
    return _problem_of(text, _RFC3339_MICRO) if found is None else found


def _instant_of(match: re.Match[str]) -> Instant | None:
    """Return the instant; None for a day, an hour or a zone that there is not."""
    year, month, day, hour, minute, second = [int(match[at]) for at in range(1, 7)]
    for name, number in (("15", hour), ("04", minute), ("05", second)):
        if number > _RANGES[name][2]:
            return None
    try:
        ordinal = date(year % _CYCLE + _CYCLE, month, day).toordinal()
    except ValueError:
        return None
    days = ordinal - 1 + (year // _CYCLE - 1) * _DAYS_IN_CYCLE - _DAYS_BEFORE_1970
    offset = 0
    if match[9]:
        hours, minutes = int(match[10]), int(match[11])
        # Go: "some people do write offsets of 24 hours or 60 minutes".
        if hours > _MAX_OFFSET_HOURS or minutes > _MAX_OFFSET_MINUTES:
            return None
        offset = (hours * 60 + minutes) * 60
        if match[9] == "-":
            offset = -offset
    seconds = days * _DAY + (hour * 60 + minute) * 60 + second - offset
    # A sign is one of six characters: what follows it are five of nine digits.
    digits = f"{'0' if match[7] else ''}{match[8] or ''}"
    return seconds, int(digits[:_NANO_DIGITS].ljust(_NANO_DIGITS, "0"))


def _problem_of(text: str, layout: tuple[tuple[str, str], ...]) -> str:
    """Return why a text is not of a layout, element by element (Go: time.parse)."""
    found = f"parsing time {_quote(text)}"
    rest = text
    date_of: dict[str, int] = {}
    for element, pattern in layout:
        if element == _ZONE[0]:
            problem = _offset_problem(rest)
            if problem:
                return f"{found}: {problem} out of range"
        match = re.match(pattern, rest)
        if match is None:
            whole = "".join([each for each, _ in layout])
            return (
                f"{found} as {_quote(whole)}: cannot parse {_quote(rest)} as"
                f" {_quote(element)}"
            )
        rest = rest[match.end() :]
        if element in _RANGES:
            name, lowest, highest = _RANGES[element]
            if not lowest <= int(match[0][:2]) <= highest:
                return f"{found}: {name} out of range"
        if element == ".000000" and match[0][1] == "-" and match[0][2:].strip("0"):
            return f"{found}: fractional second out of range"
        if match[0].isdecimal():
            date_of[element] = int(match[0])
    if rest:
        return f"{found}: extra text: {_quote(rest)}"
    # The day is compared with the length of its month at the end.
    year = date_of["2006"] % _CYCLE + _CYCLE
    if not 1 <= date_of["02"] <= monthrange(year, date_of["01"])[1]:
        return f"{found}: day out of range"
    return ""


def _offset_problem(text: str) -> str:
    """Return what is out of range in the offset of a zone, or ""."""
    match = None if text.startswith("Z") else _OFFSET.match(text)
    if match is None:
        return ""
    minutes = match[2]
    is_number = minutes.isascii() and minutes.isdecimal()
    if is_number and int(minutes) > _MAX_OFFSET_MINUTES:
        return "time zone offset minute"
    return "time zone offset hour" if int(match[1]) > _MAX_OFFSET_HOURS else ""


def _quote(text: str) -> str:
    """Quote a text as package time does (Go: time.quote)."""
    quoted = ""
    for character in text:
        if character in '"\\':
            quoted += f"\\{character}"
        elif " " <= character < "\x80":
            quoted += character
        else:
            content = character.encode(errors="surrogatepass")
            quoted += "".join([f"\\x{byte:02x}" for byte in content])
    return f'"{quoted}"'


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration; None for none (Go: time.ParseDuration)."""
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
        number = match[1].lstrip("0")
        if len(number) > _INT64_DIGITS:
            return None
        unit = _UNITS[match[4]]
        part = int(f"0{number}") * unit + _read_fraction(match[3], unit)
        # Go: uint64, which begins again at zero after two times the largest part.
        total = (total + part) % 2**64
        # Go: an int64 of nanoseconds, of which the least has no positive counterpart.
        if part > _MAX + 1 or total > _MAX + 1:
            return None
        position = match.end()
    if not rest or (total > _MAX and not is_negative):
        return None
    return -total if is_negative else total


def _read_fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of a fraction (Go: time.leadingFraction).

    Go computes them with doubles, and drops the digits beyond an int64.
    """
    found = 0
    scale = 1.0
    for digit in digits:
        more = 10 * found + int(digit)
        if found > _MAX // 10 or more > _MAX + 1:
            break
        # After so many zeros there is no nanosecond left.
        if not found and scale > unit:
            return 0
        found = more
        scale *= 10
    return int(found * (unit / scale)) if found else 0


# The same few times are in the managed fields of an object.
_PARSED: Final[TextCache[Instant | str]] = TextCache(_parse)
_PARSED_MICRO: Final[TextCache[Instant | str]] = TextCache(_parse_micro)
