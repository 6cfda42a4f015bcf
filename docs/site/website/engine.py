"""What the page docs/try.md runs in the browser: one apply, from text to text.

The page has no Python beside this; it shows what ``applied`` returns.
"""

from __future__ import annotations

import msgspec

import smp
from smp import documents
from smp._values.values import ABSENT, JSON, Absent, JSONObject


class Row(msgspec.Struct, frozen=True):
    """A line of a table: the place, the code or kind of the row, and a sentence."""

    path: str
    code: str
    sentence: str
    more: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What came of an apply; only ``error`` and ``code`` where it failed."""

    error: str = ""
    code: str = ""
    object: str = ""
    patch: str = ""
    kubectl_patch: str = ""
    unions: list[Row] = []
    causes: list[Row] = []
    findings: list[Row] = []


def applied(last_applied: str, live: str, manifest: str) -> str:
    """Apply a manifest to a live object, and return an Answer as JSON.

    The arguments are YAML or JSON. Where the first is blank, the last-applied
    configuration is that of the annotation of the live object.
    """
    try:
        answer = _answer(last_applied, live, manifest)
    except smp.SmpError as error:
        answer = Answer(error=str(error), code=error.code)
    return msgspec.json.encode(answer).decode()


def _answer(last_applied: str, live: str, manifest: str) -> Answer:
    modified = _object(manifest, "manifest")
    stored = _object(live, "live")
    if last_applied.strip():
        base: JSONObject | None = _object(last_applied, "last-applied")
    else:
        base = smp.last_applied_configuration(stored)
    # kubectl apply sends the annotation with the next last-applied configuration.
    modified = smp.with_last_applied(modified)
    schema = smp.kubernetes().schema_of(modified)
    result = smp.three_way_apply(base, modified, stored, schema)
    unions = [
        Row(str(change.path), change.rule, change.why, _step(change.old, change.new))
        for change in result.changes
    ]
    causes = []
    for cause in smp.explain_apply(base, modified, stored, schema):
        remedy = cause.remedy.sentence if cause.remedy else ""
        causes.append(Row(str(cause.path), cause.code, cause.sentence, remedy))
    findings = [
        Row(str(hazard.path), hazard.code, hazard.sentence, hazard.remedy)
        for hazard in result.hazards
    ]
    findings += [
        Row(str(warning.path), warning.code, warning.message)
        for warning in result.warnings
    ]
    findings += [
        Row(str(violation.path), violation.code, violation.message)
        for violation in result.violations
    ]
    return Answer(
        object=documents.dump_yaml([result.object]),
        patch=documents.dump_yaml([result.patch]),
        kubectl_patch=documents.dump_yaml([result.kubectl_patch]),
        unions=unions,
        causes=causes,
        findings=findings,
    )


def _object(text: str, source: str) -> JSONObject:
    """Read the only object of an editor."""
    value = documents.read_one(text, source=source).value
    if not isinstance(value, dict):
        raise smp.DocumentError("this is no object", source=source)
    return value


def _step(old: JSON | Absent, new: JSON | Absent) -> str:
    """Word what a normalization did to a value."""
    words = []
    for value in (old, new):
        text = "absent" if value is ABSENT else documents.dump_json(value, indent=None)
        words.append(text)
    return " to ".join(words)
