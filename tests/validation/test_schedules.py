"""Schedules and time zones of CronJobs, as kube-apiserver v1.36.3 judges them.

The messages are those that it answered; Go: robfig/cron, ParseStandard.
"""

from __future__ import annotations

from typing import Any, Final

import smp
from smp.validation import validate_object

SCHEMA: Final = smp.kubernetes("1.36").schema("batch/v1", "CronJob")
PARSED: Final = 'failed to parse int from {0}: strconv.Atoi: parsing "{0}": {1}'
WITH_ZONE: Final = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
UNKNOWN: Final = "unknown time zone {0}"
SCHEDULES: Final = {
    "* * * * *": "",
    "  * * * * *  ": "",
    "0-59/5 ? 1,,31 JAN-dec sun-6": "",
    "5/15 , 007 +5 *": "",
    "@hourly": "",
    "@every 1h30m": "",
    "@every -5m": "",
    "61 * * * *": "end of range (61) above maximum (59): 61",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "* * * * fri-mon": "beginning of range (5) beyond end of range (1): fri-mon",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "1/2/3 * * * *": "too many slashes: 1/2/3",
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "* * * * x": PARSED.format("x", "invalid syntax"),
    "* * -1 * *": PARSED.format("", "invalid syntax"),
    "* * * 99999999999999999999 *": PARSED.format(
        "99999999999999999999", "value out of range"
    ),
    "* * * 9223372036854775807 *": (
        "end of range (9223372036854775807) above maximum (12): 9223372036854775807"
    ),
    "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
    "@Daily": "unrecognized descriptor: @Daily",
    "TZ=UTC * * * * *": WITH_ZONE,
    "CRON_TZ=UTC * * * * *": WITH_ZONE,
}
ZONES: Final = {
    "UTC": "",
    "Europe/Berlin": "",
    "America/Argentina/Buenos_Aires": "",
    "Etc/GMT+1": "",
    "Foo/Bar": UNKNOWN.format("Foo/Bar"),
    "europe/berlin": UNKNOWN.format("europe/berlin"),
    "../etc": UNKNOWN.format("../etc"),
    "UTC/": UNKNOWN.format("UTC/"),
    "LOCAL": (
        "timeZone must be an explicit time zone as defined in"
        " https://www.iana.org/time-zones"
    ),
}


def refusals(field: str, value: str) -> list[tuple[str, str]]:
    """Return the paths and messages of what is refused of a CronJob."""
    template = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}
    obj: dict[str, Any] = {
        "metadata": {"name": "s"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": template}}},
            field: value,
        },
    }
    found = validate_object(smp.with_defaults(obj, SCHEMA), SCHEMA)
    return [(str(violation.path), violation.message) for violation in found]


def test_schedules_and_zones_are_judged_as_by_a_server() -> None:
    different = []
    for field, answers in (("schedule", SCHEDULES), ("timeZone", ZONES)):
        for value, problem in answers.items():
            found = refusals(field, value)
            shown = f'Invalid value: "{value}": {problem}'
            expected = [(f"spec.{field}", shown)] if problem else []
            if found != expected:
                different.append((value, expected, found))
    assert different == []
