"""The formats that outcomes are printed in, one object after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import click
import msgspec

from smp.cli._changes import ValueChange, changes
from smp.cli._outcomes import ObjectOutcome
from smp.cli._outputs import YAML_SEPARATOR, yaml_text
from smp.documents import dump_json
from smp.paths import Path
from smp.values import ABSENT, JSON, JSONObject

# Returns the text of an outcome; the empty text is left out.
Render: TypeAlias = Callable[[ObjectOutcome], str]


class Format(msgspec.Struct, frozen=True):
    """How the texts of outcomes become one text."""

    render: Render
    opening: str = ""
    separator: str = ""
    closing: str = ""
    # The whole text where there is no outcome to print.
    empty: str = ""
    # Warnings are part of the text; otherwise they go to standard error.
    has_warnings: bool = False
    has_summary: bool = False


def patch_format(output: str, *, coloured: bool) -> Format:
    """Return the format for a command whose result are patches."""
    match output:
        case "yaml":
            return Format(_yaml_patch, separator=YAML_SEPARATOR)
        case "json":
            return _RECORDS
        case _:
            return _format_of_differences(output, coloured=coloured)


def object_format(output: str, *, coloured: bool) -> Format:
    """Return the format for a command whose result are objects."""
    match output:
        case "yaml":
            return Format(
                lambda outcome: yaml_text("", outcome.after), separator=YAML_SEPARATOR
            )
        case "json":
            return Format(lambda outcome: dump_json(outcome.after) + "\n")
        case "patch":
            return Format(_yaml_patch, separator=YAML_SEPARATOR)
        case _:
            return _format_of_differences(output, coloured=coloured)


def applied_format(output: str, *, coloured: bool) -> Format:
    """Return the format for a command whose result are applied objects."""
    if output == "json":
        return _RECORDS
    return object_format(output, coloured=coloured)


def _format_of_differences(output: str, *, coloured: bool) -> Format:
    """Return a format that shows the same for a patch and for an object."""
    if output == "jsonpatch":
        return Format(lambda outcome: dump_json(outcome.operations) + "\n")
    # The report is the only format that compares texts by line.
    from smp.cli._report import report  # noqa: PLC0415  # loads difflib

    def text(outcome: ObjectOutcome) -> str:
        lines = []
        for line in report(outcome):
            spans = [_styled(*span) if coloured else span[0] for span in line]
            lines.append("".join(spans) + "\n")
        return "".join(lines)

    return Format(text, has_warnings=True, has_summary=True)


def _styled(text: str, style: str) -> str:
    if not text or not style:
        return text
    if style in _ATTRIBUTES:
        return click.style(text, bold=style == "bold", dim=style == "dim")
    return click.style(text, fg=style)


_ATTRIBUTES: Final = frozenset({"bold", "dim"})


def _yaml_patch(outcome: ObjectOutcome) -> str:
    # Only a comment says whose patch it is, so an empty one would be noise.
    if not outcome.differs:
        return ""
    suffix = ""
    if outcome.creates:
        suffix = " (to be created)"
    elif outcome.removes:
        suffix = " (removed)"
    return yaml_text(f"{outcome.label}{suffix}", outcome.patch)


def _record(outcome: ObjectOutcome) -> str:
    """Return what is known of an outcome as an object of a JSON list."""
    identity = outcome.identity
    record: JSONObject = {
        "apiVersion": identity.api_version,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "file": outcome.place,
        "action": outcome.action,
        "patch": outcome.patch,
        "changes": [_change(change) for change in differences(outcome)],
        "warnings": [*outcome.warnings],
    }
    if outcome.is_applied:
        record["object"] = outcome.after
    return dump_json(record)


def differences(outcome: ObjectOutcome) -> list[ValueChange]:
    """Return what differs between the object before and after."""
    before, after = outcome.before, outcome.after
    if isinstance(before, dict) and isinstance(after, dict):
        return list(changes(before, after, outcome.type_))
    if not outcome.differs:
        return []
    old = ABSENT if outcome.creates else before
    new = ABSENT if outcome.removes else after
    return [ValueChange(Path(), old, new)]


def _change(change: ValueChange) -> JSON:
    shown: JSONObject = {"path": str(change.path)}
    if change.old is not ABSENT:
        shown["old"] = change.old
    if change.new is not ABSENT:
        shown["new"] = change.new
    if change.is_order:
        shown["order"] = True
    return shown


_RECORDS: Final = Format(
    _record, "[\n", ",\n", "\n]\n", empty="[]\n", has_warnings=True
)
