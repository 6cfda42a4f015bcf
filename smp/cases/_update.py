"""Rewriting what a case expects, in the text of its file."""

from __future__ import annotations

from collections.abc import Mapping

from smp.cases._case import Failure, parse_file
from smp.cases._run import Outcome
from smp.cases._text import spans, with_member
from smp.documents import dump_json
from smp.errors import DocumentError
from smp.values import JSON, JSONObject, same


def corrected(outcome: Outcome) -> JSONObject:
    """Return the members that make a failing case expect what happened; null stands for
    a member that goes.
    """
    stated = outcome.case.document
    errors = dict(outcome.case.object("error"))
    members: JSONObject = {}
    for difference in outcome.differences:
        name, actual = difference.operation, difference.actual
        errors.pop(name, None)
        members[name] = None if isinstance(actual, Failure) else actual
        if isinstance(actual, Failure):
            errors[name] = actual.code
    members["error"] = errors or None
    return {
        name: value
        for name, value in members.items()
        if not same(value, stated.get(name))
    }


def updated_text(
    text: str, changes: Mapping[int, JSONObject], *, source: str = "<input>"
) -> str:
    """Return the text of a case file with members of some cases, by index, set, or
    removed where null.

    All else stays as it is written, order and comments too (in JSON: the order). Raises
    DocumentError where the text is not laid out for that: in YAML the cases and their
    members have to be in block style.
    """
    file = parse_file(text, source)
    cases = file["cases"] if isinstance(file["cases"], list) else []
    changed: list[JSON] = [
        _changed(case, changes.get(index, {}))
        for index, case in enumerate(cases)
        if isinstance(case, dict)
    ]
    wanted: JSONObject = {**file, "cases": changed}
    updated = (
        dump_json(wanted) + "\n" if text.lstrip()[:1] == "{" else _edited(text, changes)
    )
    if not _reads_as(wanted, updated):
        raise DocumentError(
            "its layout is not one that can be updated",
            code="not-updatable",
            source=source,
        )
    return updated


def _reads_as(file: JSONObject, text: str) -> bool:
    try:
        return same(file, parse_file(text, ""))
    except DocumentError:
        return False


def _changed(case: JSONObject, changes: JSONObject) -> JSONObject:
    kept = {name: value for name, value in case.items() if name not in changes}
    return {
        **kept,
        **{name: value for name, value in changes.items() if value is not None},
    }


def _edited(text: str, changes: Mapping[int, JSONObject]) -> str:
    lines = text.splitlines()
    for index, (start, end) in reversed(list(enumerate(spans(lines)))):
        case = lines[start:end]
        for name, value in changes.get(index, {}).items():
            case = with_member(case, name, value)
        lines[start:end] = case
    return "\n".join(lines) + "\n"
