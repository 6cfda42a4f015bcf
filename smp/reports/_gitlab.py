"""GitLab's code quality report: findings that it shows beside the lines of a change.

It is a list of what GitLab reads of Code Climate's issues (docs.gitlab.com, "Code
Quality report format"): ``description``, ``check_name``, ``fingerprint``, ``severity``
and ``location``, with the path of a file below the root of the repository.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Final

from smp._values.findings import Finding, Severity
from smp._values.values import JSONObject
from smp.reports._json import findings_text
from smp.reports._model import ObjectReport
from smp.reports._printing import Printer
from smp.reports._sarif import relative_file, rule_id
from smp.reports._values import printable, sentence_of

# GitLab has info, minor, major, critical and blocker.
_SEVERITIES: Final[dict[Severity, str]] = {
    "none": "info",
    "note": "info",
    "warning": "minor",
    "error": "major",
}


def make_printer(_title: str) -> Printer:
    """Return the printer of the findings of objects as issues of code quality."""
    return Printer(partial(findings_text, write=_issue), "[\n", ",\n", "\n]\n", "[]\n")


def _issue(report: ObjectReport, finding: Finding, fingerprint: str) -> JSONObject:
    place = finding.place or report.place
    path = printable(relative_file(place.file))
    # Of issues with one fingerprint GitLab shows the first, and an object may stand in
    # several files.
    of_file = hashlib.sha256(f"{path}\0{fingerprint}".encode()).hexdigest()
    # What could not be read or computed has not been checked.
    is_failure = finding.origin == "failure"
    return {
        "description": sentence_of(report, finding),
        "check_name": f"smp/{rule_id(finding.origin, finding.code)}",
        "fingerprint": of_file,
        "severity": "critical" if is_failure else _SEVERITIES[finding.severity],
        # A line is required; they count from one.
        "location": {"path": path, "lines": {"begin": max(place.line, 1)}},
    }
