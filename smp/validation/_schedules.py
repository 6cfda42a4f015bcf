"""The schedule and the time zone of a CronJob.

Go: github.com/robfig/cron/v3, ParseStandard; k8s.io/kubernetes,
pkg/apis/batch/validation, validateScheduleFormat and validateTimeZone.
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.times import parse_duration

_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# Of each field: the least and the greatest number, and names for those from the least.
_FIELDS: Final[tuple[tuple[int, int, tuple[str, ...]], ...]] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY: Final = "@every "
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
# Go: validTimeZoneCharacters.
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}", re.ASCII)
# A number that Python reads in little time, and the greatest that Go does.
_MOST_DIGITS: Final = 1000
_GREATEST: Final = 2**63 - 1
_WITH_ZONE: Final = ("TZ=", "CRON_TZ=")
# A zone that every database of time zones has.
_COMMON_ZONE: Final = "Europe/Berlin"


def cron_schedule(text: str) -> str:
    """Check a schedule, which has no time zone of its own."""
    problem = "" if text.startswith(_WITH_ZONE) else _schedule_problem(text)
    if not problem and "TZ" in text:
        problem = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    return problem


def _schedule_problem(text: str) -> str:
    if text.startswith(_EVERY):
        if parse_duration(text[len(_EVERY) :]) is None:
            return f"failed to parse duration {text}"
        return ""
    if text.startswith("@"):
        return "" if text in _DESCRIPTORS else f"unrecognized descriptor: {text}"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        found = " ".join(fields)
        return f"expected exactly 5 fields, found {len(fields)}: [{found}]"
    for field, (least, greatest, names) in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            problem = _range_problem(part, least, greatest, names) if part else ""
            if problem:
                return problem
    return ""


def _range_problem(text: str, least: int, greatest: int, names: tuple[str, ...]) -> str:
    """Check ``number``, ``number-number`` or one of these with ``/step`` (getRange)."""
    span, *steps = text.split("/")
    bounds = span.split("-")
    numbers = [least, greatest]
    if bounds[0] not in ("*", "?"):
        if len(bounds) > 2:  # noqa: PLR2004  # a beginning and an end
            return f"too many hyphens: {text}"
        numbers = []
        for bound in bounds:
            name = bound.lower()
            if name in names:
                numbers.append(least + names.index(name))
                continue
            problem = _number_problem(bound)
            if problem:
                return problem
            numbers.append(int(bound))
    step = 1
    if len(steps) > 1:
        return f"too many slashes: {text}"
    if steps:
        problem = _number_problem(steps[0])
        if problem:
            return problem
        step = int(steps[0])
    start, end = numbers[0], numbers[-1]
    # "N/step" means "N-max/step".
    if steps and len(bounds) == 1:
        end = greatest
    if start < least:
        return f"beginning of range ({start}) below minimum ({least}): {text}"
    if end > greatest:
        return f"end of range ({end}) above maximum ({greatest}): {text}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {text}"
    if step == 0:
        return f"step of range should be a positive number: {text}"
    return ""


def _number_problem(text: str) -> str:
    # Go: strconv.Atoi: an int has 64 bits.
    if not _NUMBER.fullmatch(text):
        reason = f'strconv.Atoi: parsing "{text}": invalid syntax'
        return f"failed to parse int from {text}: {reason}"
    if len(text) > _MOST_DIGITS or int(text) > _GREATEST:
        reason = f'strconv.Atoi: parsing "{text}": value out of range'
        return f"failed to parse int from {text}: {reason}"
    return f"negative number ({int(text)}) not allowed: {text}" if int(text) < 0 else ""


def time_zone(text: str) -> str:
    """Check the name of a time zone, where this machine has a database of them."""
    unknown = f"unknown time zone {text}"
    for part in text.split("/"):
        if part in (".", "..") or part[:1] == "-" or not _ZONE_PART.fullmatch(part):
            return unknown
    if text.lower() == "local":
        return (
            "timeZone must be an explicit time zone as defined in"
            " https://www.iana.org/time-zones"
        )
    if text == "UTC" or _is_zone(text) or not _is_zone(_COMMON_ZONE):
        return ""
    return unknown


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # few objects name a time zone

    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True
