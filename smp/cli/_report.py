"""The report: what happens to each object, as lines of styled text for a reader."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Final, TypeAlias

from smp.cli._changes import ValueChange, changes
from smp.cli._errors import inline, printable
from smp.cli._object_outcomes import ObjectOutcome, differences, listing_of
from smp.documents import dump_yaml
from smp.last_applied import LAST_APPLIED
from smp.paths import Path
from smp.values import ABSENT, JSON, Absent

if TYPE_CHECKING:
    from smp.cli._ownership import Ownership

Span: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Span]

_HEADING: Final = "bold"
_NOTE: Final = "dim"
_WARNING: Final = "yellow"
_VERDICTS: Final = {
    "new": "to be created",
    "changed": "changed",
    "unchanged": "unchanged",
    "removed": "to be removed",
    "failed": "not applied",
}
_STYLES: Final = {"+": "green", "-": "red", "~": "cyan"}

# The longest list, as JSON, that is shown on the line of its path.
_SHORT: Final = 100
# The lines around a change in a text of several lines.
_CONTEXT: Final = 2

_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))


def heading(outcome: ObjectOutcome) -> Line:
    """Return the line that says what happens to an object."""
    if outcome.verdict == "renamed":
        verdict = f"renamed from {printable(outcome.renamed_from)}"
    else:
        verdict = _VERDICTS[outcome.verdict]
    return [(printable(outcome.label), _HEADING), (f": {verdict}", "")]


def summary(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield what happens to an object, and how many values of it change, as a line."""
    line = heading(outcome)
    if outcome.verdict in {"changed", "renamed"}:
        count = len(differences(outcome))
        line.append((f" ({count} difference{'s' if count != 1 else ''})", ""))
    yield line
    yield from _set_aside(outcome)


def report(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield what changes in an object and why, and an empty line."""
    yield heading(outcome)
    notes = (outcome.kind_note, *outcome.notes)
    for note in filter(None, notes):
        yield [(f"  {printable(note)}", _NOTE)]
    yield from _changes(outcome)
    yield from _set_aside(outcome)
    if outcome.ownership is not None:
        yield from _owners(outcome, outcome.ownership)
    for warning in outcome.warnings:
        yield [(f"  warning: {printable(warning)}", _WARNING)]
    yield []


def _set_aside(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield how many differences do not count, and why."""
    counts = outcome.counts_set_aside
    if counts:
        yield [(f"  set aside: {listing_of(counts)}", _NOTE)]


def _owners(outcome: ObjectOutcome, ownership: Ownership) -> Iterator[Line]:
    """Yield the conflicts, and each field that has other owners than before."""
    # Only server-side apply needs it, and what it imports.
    from smp.cli._ownership import conflict_text, owner_text  # noqa: PLC0415

    for conflict in ownership.conflicts:
        where = printable(str(conflict.path))
        text = conflict_text(conflict, outcome.before, outcome.patch)
        yield [("  conflict: ", _STYLES["-"]), (where, _HEADING), (f": {text}", "")]
    # What is new belongs to one manager, all that it applied.
    if outcome.creates:
        for owner in ownership.after:
            yield [(f"  owner: {owner_text(owner)}", _STYLES["~"])]
        return
    for path, old, new in ownership.changed_fields():
        yield [("  owner: ", ""), (path, _HEADING), (f": {old} -> {new}", _STYLES["~"])]


def _changes(outcome: ObjectOutcome) -> Iterator[Line]:
    if outcome.creates:
        yield from _block("+", outcome.after)
    elif outcome.removes:
        yield from _block("-", outcome.before)
    else:
        pruned = _pruned(outcome)
        for change in differences(outcome):
            yield from _change(change, is_pruned=str(change.path) in pruned)


def _pruned(outcome: ObjectOutcome) -> set[str]:
    """Return the paths that the new configuration lacks and the last one has."""
    if outcome.last_applied is None or outcome.configuration is None:
        return set()
    removals = changes(
        outcome.last_applied, outcome.configuration, outcome.type_, renames=False
    )
    return {str(change.path) for change in removals if change.new is ABSENT}


def _change(change: ValueChange, *, is_pruned: bool) -> Iterator[Line]:
    if change.old is ABSENT:
        sign, block = "+", _block("+", change.new)
    elif change.new is ABSENT:
        sign, block = "-", _block("-", change.old)
    else:
        sign, block = "~", _differing_lines(change)

    # kubectl apply prunes what the last-applied configuration has and the new one
    # lacks. A union or a patch strategy that replaces can remove values as well.
    note = ""
    if change.is_order:
        note = " (order)"
    elif is_pruned and sign == "-":
        note = " (pruned)"

    style = _STYLES[sign]
    where = printable(str(change.path)) or "the whole document"
    heading: Line = [(f"  {sign} ", style), (where, _HEADING), (note, _NOTE)]
    if change.path == _ANNOTATION and sign == "~":
        # It repeats the configuration, so its text would show every change twice.
        yield [*heading, (": updated", _NOTE)]
    elif _is_short(change.old) and _is_short(change.new):
        values = [change.old, change.new]
        shown = [inline(value) for value in values if value is not ABSENT]
        end = " (renamed)" if change.is_rename else ""
        yield [*heading, (f": {' -> '.join(shown)}", style), (end, _NOTE)]
    else:
        yield [*heading, (":", "")]
        yield from block


def _is_short(value: JSON | Absent) -> bool:
    """Tell whether a value can be shown on the line of its path."""
    # A text of one line may end with a newline, as the content of a file does.
    if isinstance(value, str):
        return "\n" not in value.rstrip("\n")
    if isinstance(value, dict):
        return not value
    if isinstance(value, list):
        is_nested = any(isinstance(element, dict | list) for element in value)
        return not is_nested and len(inline(value)) <= _SHORT
    return True


def _block(sign: str, value: JSON | Absent) -> Iterator[Line]:
    for line in _lines(value):
        yield [(f"      {sign} {line}", _STYLES[sign])]


def _differing_lines(change: ValueChange) -> Iterator[Line]:
    old, new = _lines(change.old), _lines(change.new)
    difference = unified_diff(old, new, lineterm="", n=_CONTEXT)
    # The first two lines name the files, and @@ begins a hunk.
    for line in list(difference)[2:]:
        if line.startswith(("@@ -1 ", "@@ -1,")):
            continue  # Nothing is left out before a hunk that starts at the top.
        if line.startswith("@@"):
            yield [("      ...", _NOTE)]
        else:
            sign, text = line[:1], line[1:]
            yield [(f"      {sign} {text}", _STYLES.get(sign, ""))]


def _lines(value: JSON | Absent) -> list[str]:
    if value is ABSENT:
        return []
    # A text is shown as it is, line by line; any other value as YAML.
    is_text = isinstance(value, str) and "\n" in value
    text = str(value) if is_text else dump_yaml([value])
    return [printable(line) for line in text.removesuffix("\n").split("\n")]
