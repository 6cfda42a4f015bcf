"""JSON: a list with an object of all that is known of each Kubernetes object."""

from __future__ import annotations

from collections.abc import Callable

from smp._values.findings import Finding, Place
from smp._values.values import ABSENT, JSON, Absent, JSONArray, JSONObject, drop_absent
from smp.documents import dump_json
from smp.errors import SmpError
from smp.explain import Cause, Remedy
from smp.reports._model import ObjectReport
from smp.reports._printing import Printer
from smp.reports._values import printable


def make_printer(_title: str) -> Printer:
    """Return the printer of objects as the elements of a JSON list."""
    return Printer(
        lambda report: json_text(_record(report)), "[\n", ",\n", "\n]\n", "[]\n"
    )


def findings_text(
    report: ObjectReport, write: Callable[[ObjectReport, Finding, str], JSON]
) -> str:
    """Return what is written of each finding of an object, separated by commas."""
    return ",\n".join(
        json_text(write(report, finding, fingerprint))
        for finding, fingerprint in report.add_fingerprints()
    )


def json_text(value: JSON) -> str:
    """Write a value as JSON, also where it is not Unicode."""
    try:
        return dump_json(value)
    except SmpError:
        return dump_json(_unicode(value))


def _unicode(value: JSON) -> JSON:
    """Return a value with what is not Unicode escaped in its texts."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _unicode(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_unicode(element) for element in value]
    return value


def _record(report: ObjectReport) -> JSONObject:
    record: JSONObject = {
        "apiVersion": report.api_version,
        "kind": report.kind,
        "namespace": report.namespace,
        "name": report.name,
        **_place(report.place),
        "verdict": report.verdict,
    }
    if report.error:
        record["error"] = report.error
    versions = {
        "lastApplied": report.last_applied,
        "live": report.live,
        "desired": report.desired,
        "result": report.result,
        "patch": report.patch,
    }
    record |= {name: value for name, value in versions.items() if value is not None}
    record["findings"] = [
        _print_finding(finding, report) for finding in report.findings
    ]
    record["causes"] = [_cause(cause) for cause in report.causes]
    record["notes"] = [*report.notes]
    return record | report.details


# What is not known is left out, so that no reader takes a zero for a line.
def _place(place: Place | None) -> JSONObject:
    if place is None:
        return {}
    numbers: JSONObject = {"line": place.line, "column": place.column}
    known = {name: number for name, number in numbers.items() if number}
    return {"file": place.file, **known}


def _print_finding(finding: Finding, report: ObjectReport) -> JSON:
    record: JSONObject = {
        "code": finding.code,
        "origin": finding.origin,
        "level": finding.severity,
        "path": str(finding.path),
        "input": finding.input,
        "sentence": finding.sentence,
    }
    if finding.remedy:
        record["remedy"] = str(finding.remedy)
    if finding.source:
        record["rule"] = finding.source
    return {
        **record,
        **_place(finding.place),
        "fingerprint": report.fingerprint(finding),
    }


def _cause(cause: Cause) -> JSON:
    remedy = cause.remedy
    # Absent and null differ, so an absent value has no member.
    record: dict[str, JSON | Absent] = {
        "path": str(cause.path),
        "code": cause.code,
        "sentence": cause.sentence,
        "before": cause.before,
        "after": cause.after,
        "rule": cause.rule,
        "evidence": [
            {"about": fact.about, "value": fact.value} for fact in cause.evidence
        ],
        "remedy": ABSENT if remedy is None else _remedy(remedy),
    }
    return drop_absent(record)


def _remedy(remedy: Remedy) -> JSON:
    edits: JSONArray = [
        drop_absent({"input": edit.input, "path": str(edit.path), "value": edit.value})
        for edit in remedy.edits
    ]
    return {"sentence": remedy.sentence, "way": remedy.way, "edits": edits}
