"""Rewriting what a case expects, in the text of its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp._values.plain import plain
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.cases._case import STEPS, Failure, parse_file, with_results
from smp.cases._run import CaseOutcome
from smp.cases._text import add_member, spans
from smp.documents import dump_json
from smp.errors import DocumentError, bounded


def corrected(outcome: CaseOutcome) -> dict[str, Any]:
    """Return the members with which a failing case expects what happened.

    Null stands for a member that is removed.
    """
    document = outcome.case.document
    errors = dict(outcome.case.object("error"))
    members: JSONObject = {}
    for difference in outcome.differences:
        name, actual = difference.operation, difference.actual
        if name == STEPS and isinstance(actual, list):
            members[STEPS] = with_results(as_list(document[STEPS]), actual)
            continue
        # An operation has either a result or an entry in ``error``.
        errors.pop(name, None)
        if isinstance(actual, Failure):
            members[name] = None
            errors[name] = actual.code
        else:
            members[name] = actual
    members["error"] = errors or None
    return {
        name: value
        for name, value in members.items()
        if not same(value, document.get(name))
    }


@bounded("the changes")
def updated_text(
    text: str, changes: Mapping[int, dict[str, Any]], *, source: str = "<input>"
) -> str:
    """Return the text of a case file with members of some cases, by index, set.

    A member with null is removed. All else stays as it is written, order and comments
    too (in JSON: the order). Raises DocumentError (code not-updatable) where the layout
    does not allow that: in YAML the cases and their members must be in block style.
    Raises ObjectError and DepthError for a change that is not JSON, or too deep.
    """
    file = parse_file(text, source)
    changes = {index: as_object(plain(members)) for index, members in changes.items()}
    cases: list[JSON] = []
    for index, case in enumerate(as_list(file["cases"])):
        if isinstance(case, dict):
            members = changes.get(index, {})
            kept = {name: value for name, value in case.items() if name not in members}
            new = {name: value for name, value in members.items() if value is not None}
            cases.append({**kept, **new})
    wanted: JSONObject = {**file, "cases": cases}
    if text.lstrip().startswith("{"):
        updated = dump_json(wanted) + "\n"
    else:
        lines = text.splitlines()
        # From the last case to the first, so that the lines before stay where they are.
        for index, (start, end) in reversed(list(enumerate(spans(lines)))):
            edited = lines[start:end]
            for name, value in changes.get(index, {}).items():
                edited = add_member(edited, name, value)
            lines[start:end] = edited
        updated = "\n".join(lines) + "\n"
    # Editing lines may go wrong, so the result is read before it is returned.
    try:
        as_wanted = same(wanted, parse_file(updated, ""))
    except DocumentError:
        as_wanted = False
    if not as_wanted:
        raise DocumentError(
            "the layout of the file does not allow an update",
            code="not-updatable",
            source=source,
        )
    return updated
