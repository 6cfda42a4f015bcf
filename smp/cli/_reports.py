"""Reports with causes: the outcome of each object as the data of ``smp.reports``."""

from __future__ import annotations

import os
from typing import cast

import msgspec

from smp._values.values import JSON, JSONObject, drop_absent
from smp.cli._changes import ValueChange
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import ObjectOutcome, differences, request_record
from smp.cli._objects import Entry
from smp.cli._outcomes import UNMET
from smp.documents import Positions
from smp.hazards import Input
from smp.paths import Path
from smp.reports import (
    Failure,
    Finding,
    Format,
    Layout,
    ObjectReport,
    Place,
    finding_of_cause,
    list_counts,
    printer_of,
)


def layout_of_causes(
    report_format: str, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout of a report. Raises ReportError, see ``printer_of``."""
    printer = printer_of(cast("Format", report_format), title=title)

    def piece(outcome: ObjectOutcome) -> str:
        report = _report(outcome, inputs)
        # The other formats have no place for them.
        if report_format == "json":
            report = msgspec.structs.replace(report, details=_details(outcome))
        return printer.piece(report)

    return Layout(
        piece,
        start=printer.begin,
        has_warnings=True,
        has_failures=True,
        piece_of_failure=printer.piece,
    )


def _report(outcome: ObjectOutcome, inputs: Inputs) -> ObjectReport:
    entries = dict(outcome.entries)
    found = _findings(outcome)
    # The text of an input is read again only where there is something to find in it.
    # A last-applied configuration that is missing has no file: the object has one.
    found = [
        finding
        if finding.input in {"manifest", *entries}
        else msgspec.structs.replace(finding, input="manifest")
        for finding in found
    ]
    positions = {
        name: inputs.positions(entries[name].part)
        for name in {finding.input for finding in found}
        if name in entries
    }
    identity = outcome.identity
    notes = [note for note in (outcome.kind_note, *outcome.notes) if note]
    if outcome.set_aside:
        notes.append(f"set aside: {list_counts(outcome.counts_set_aside)}")
    return ObjectReport(
        identity.api_version,
        identity.kind,
        identity.namespace,
        identity.name or identity.generate_name,
        _place(entries["manifest"], None, Path()) if entries else Place(outcome.place),
        outcome.verdict,
        outcome.last_applied,
        _object(outcome.before),
        outcome.configuration,
        _object(outcome.after),
        outcome.patch,
        outcome.causes,
        outcome.hazards,
        tuple(_placed(finding, entries, positions) for finding in found),
        tuple(notes),
        outcome.problem,
        outcome.type_,
    )


def _details(outcome: ObjectOutcome) -> JSONObject:
    details: JSONObject = {
        "changes": [_change(change) for change in differences(outcome)]
    }
    if outcome.renamed_from:
        details["renamedFrom"] = outcome.renamed_from
    if outcome.has_other_form:
        details |= {"mediaType": outcome.media_type, "reason": outcome.reason}
        if outcome.kubectl_patch is not None:
            details["kubectlPatch"] = outcome.kubectl_patch
    if outcome.set_aside:
        details["setAside"] = [
            {"path": str(entry.path), "by": entry.by, "reason": entry.reason}
            for entry in outcome.set_aside
        ]
    ownership = outcome.ownership
    if ownership is not None:
        conflicts = ownership.conflict_records(outcome.before, outcome.patch)
        details |= {"conflicts": conflicts, "managers": ownership.manager_records()}
    if outcome.requests:
        details["requests"] = [request_record(request) for request in outcome.requests]
    return details


def _change(change: ValueChange) -> JSON:
    path = str(change.path)
    shown = drop_absent({"path": path, "old": change.old, "new": change.new})
    if change.is_order:
        shown["order"] = True
    if change.is_rename:
        shown["renamed"] = True
    return shown


def _object(value: JSON) -> JSONObject | None:
    return value if isinstance(value, dict) else None


def _findings(outcome: ObjectOutcome) -> list[Finding]:
    causes = [*filter(None, map(finding_of_cause, outcome.causes))]
    explained = {finding.path.by_index for finding in causes}
    found: list[Finding] = [*outcome.hazards, *causes]
    found += [
        finding
        for finding in outcome.warned
        # A cause says of such a path what is wrong, and why.
        if finding.code != UNMET or finding.path.by_index not in explained
    ]
    # Of a conflict the problems have the same as one text.
    if outcome.ownership is not None:
        conflicts = outcome.ownership.describe_conflicts(outcome.before, outcome.patch)
        for path, text in conflicts:
            remedy = "; ".join(outcome.ownership.describe_ways(path))
            found.append(Failure("conflict", path, text, remedy))
    elif outcome.problem:
        found.append(Failure("failed", Path(), outcome.problem))
    return found


def _placed(
    finding: Finding,
    entries: dict[Input, Entry],
    positions: dict[Input, Positions | None],
) -> Finding:
    entry = entries.get(finding.input)
    if entry is None:
        return finding
    place = _place(entry, positions.get(finding.input), finding.path)
    return msgspec.structs.replace(finding, place=place)


def _place(entry: Entry, positions: Positions | None, path: Path) -> Place:
    if positions is not None:
        position = positions.of(path)
        return Place(entry.source, position.line, position.column)
    # What kustomize makes of a directory has lines that no file has.
    if os.path.isdir(entry.source):  # noqa: PTH112  # without pathlib
        return Place(entry.source)
    return Place(entry.source, entry.line)
