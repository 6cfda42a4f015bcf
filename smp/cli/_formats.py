"""The layouts that outcomes are printed in, one object after the other.

For a reader an outcome becomes lines of styled text: a report, which has a difference
on a line, or with ``-o unified`` a diff of both objects as YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from smp._values.last_applied import LAST_APPLIED
from smp._values.values import ABSENT, JSON, Absent, sort_members
from smp.cli._changes import ValueChange, changes
from smp.cli._errors import inline, printable
from smp.cli._exit_codes import describe, is_refusal
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import ObjectOutcome, differences, request_record
from smp.cli._options import CommandSettings
from smp.cli._outputs import YAML_SEPARATORS, Line, has_colours, style_text, yaml_text
from smp.cli._owners import owner_text
from smp.documents import dump_json, dump_yaml
from smp.paths import Path
from smp.reports import Layout, list_counts, number

if TYPE_CHECKING:
    from smp.cli._ownership import OwnerChanges


def layout_of(
    settings: CommandSettings, inputs: Inputs, title: str, *, only_changed: bool = False
) -> Layout[ObjectOutcome] | None:
    """Return the layout that is the same for patches and for objects; None for others.

    It is for a reader, or a report with causes. ``only_changed`` leaves out the objects
    of which a reader is told nothing else than that they do not change.
    """
    if settings.quiet:
        return Layout(lambda _outcome: "")
    if settings.explains and settings.report_format is not None:
        from smp.cli import _reports  # noqa: PLC0415  # 20 ms of what smp patch needs not

        return _reports.layout_of_causes(settings.report_format, inputs, title)
    if settings.is_for_a_reader:
        return reader_layout(settings, only_changed=only_changed)
    return None


def patch_layout(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are patches."""
    layout = layout_of(settings, inputs, title, only_changed=True)
    return layout or _patch_layout(settings.output)


def _patch_layout(output: str) -> Layout[ObjectOutcome]:
    """Return the layout of a patch: ``patch``, ``kyaml``, ``json``, ``jsonpatch``."""
    match output:
        case "patch" | "kyaml":
            form = "yaml" if output == "patch" else output
            return Layout(partial(_yaml_patch, form), separator=YAML_SEPARATORS[form])
        case "json":
            return Layout(lambda outcome: dump_json(outcome.patch) + "\n")
        case _:
            return Layout(lambda outcome: dump_json(outcome.operations) + "\n")


def object_layout(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are objects."""
    layout = layout_of(settings, inputs, title)
    if layout is not None:
        return layout
    match settings.output:
        case "yaml" | "kyaml" as output:
            return Layout(
                _unless_removed(lambda value: yaml_text("", value, output)),
                separator=YAML_SEPARATORS[output],
            )
        case "json":
            return Layout(_unless_removed(lambda value: dump_json(value) + "\n"))
        case "requests":
            return _REQUESTS
        case output:
            return _patch_layout(output)


def _unless_removed(text_of: Callable[[JSON], str]) -> Callable[[ObjectOutcome], str]:
    """Make what prints the object of an outcome; none where there is none any more."""
    return lambda outcome: "" if outcome.removes else text_of(outcome.after)


def _yaml_patch(output: str, outcome: ObjectOutcome) -> str:
    # The text of an empty patch would be {}, with a comment that names the object.
    if not outcome.is_patched:
        return ""
    suffix = ""
    if outcome.creates:
        suffix = " (to be created)"
    elif outcome.removes:
        suffix = " (removed)"
    elif outcome.has_other_form:
        suffix = f" ({outcome.media_type}: {outcome.reason})"
    return yaml_text(f"{outcome.label}{suffix}", outcome.patch, output)


_REQUESTS: Final[Layout[ObjectOutcome]] = Layout(
    lambda outcome: ",\n".join(
        dump_json(request_record(each)) for each in outcome.requests
    ),
    "[\n",
    ",\n",
    "\n]\n",
    empty="[]\n",
)


_HEADING: Final = "bold"
_NOTE: Final = "dim"
_WARNING: Final = "yellow"
_ERROR: Final = "red"
_VERDICTS: Final = {
    "new": "to be created",
    "changed": "changed",
    "unchanged": "unchanged",
    "removed": "to be removed",
    "failed": "not applied",
}
_STYLES: Final = {"+": "green", "-": "red", "~": "cyan", "@": "cyan"}

# The longest list, as JSON, that is shown on the line of its path.
_SHORT: Final = 100
# The lines around a change in a text of several lines, and in an object, as diff -u.
_CONTEXT: Final = 2
_CONTEXT_OF_OBJECT: Final = 3
_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))

# What diff prints where there is no file.
_NO_FILE: Final = "/dev/null"


def reader_layout(
    settings: CommandSettings, *, only_changed: bool
) -> Layout[ObjectOutcome]:
    """Return the layout that shows the same for a patch and for an object."""
    lines: Callable[[ObjectOutcome], Iterable[Line]] = show_report
    if settings.stat:
        lines = summarize
    elif settings.output == "unified":
        lines = show_unified
    is_coloured = has_colours(settings.color)

    def piece(outcome: ObjectOutcome) -> str:
        has_more = outcome.messages or outcome.notes or outcome.kind_note
        # The last line has their count.
        if only_changed and outcome.verdict == "unchanged" and not has_more:
            return ""
        return style_text(lines(outcome), is_coloured=is_coloured)

    # The report has all that is known of an object.
    is_report = lines is show_report
    return Layout(
        piece,
        has_summary=lines is not show_unified,
        has_warnings=is_report,
        has_failures=is_report,
    )


def _heading(outcome: ObjectOutcome) -> Line:
    if outcome.verdict == "renamed":
        verdict = f"renamed from {printable(outcome.renamed_from)}"
    else:
        verdict = _VERDICTS[outcome.verdict]
    return [(printable(outcome.label), _HEADING), (f": {verdict}", "")]


def summarize(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield what happens to an object, and how many values of it change, as a line."""
    line = _heading(outcome)
    if outcome.verdict in {"changed", "renamed"}:
        line.append((f" ({number(len(differences(outcome)), 'difference')})", ""))
    yield line
    yield from _set_aside(outcome)


def show_report(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield what changes in an object and why, and an empty line."""
    heading = _heading(outcome)
    if outcome.places:
        heading.append((f" ({printable(outcome.places)})", _NOTE))
    yield heading
    notes = (outcome.kind_note, *outcome.notes)
    for note in filter(None, notes):
        yield [(f"  {printable(note)}", _NOTE)]
    yield from _changes(outcome)
    yield from _set_aside(outcome)
    if outcome.ownership is not None:
        yield from _owners(outcome, outcome.ownership)
    for message in outcome.messages:
        severity, style = "warning", _WARNING
        if is_refusal(message):
            severity, style = "error", _ERROR
        yield [(f"  {severity}: {printable(describe(message))}", style)]
    yield []


def _set_aside(outcome: ObjectOutcome) -> Iterator[Line]:
    counts = outcome.counts_set_aside
    if counts:
        yield [(f"  set aside: {list_counts(counts)}", _NOTE)]


def _owners(outcome: ObjectOutcome, ownership: OwnerChanges) -> Iterator[Line]:
    conflicts = ownership.describe_conflicts(outcome.before, outcome.patch)
    for conflict_path, text in conflicts:
        where = printable(str(conflict_path))
        yield [("  conflict: ", _STYLES["-"]), (where, _HEADING), (f": {text}", "")]
        for way in ownership.describe_ways(conflict_path):
            yield [(f"    {way}", _NOTE)]
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
        # What the manifest lacks and the last-applied one has.
        pruned: set[str] = set()
        if outcome.last_applied is not None and outcome.configuration is not None:
            removals = changes(
                outcome.last_applied,
                outcome.configuration,
                outcome.type_,
                renames=False,
            )
            pruned = {str(each.path) for each in removals if each.new is ABSENT}
        for change in differences(outcome):
            yield from _change(change, is_pruned=str(change.path) in pruned)


def _change(change: ValueChange, *, is_pruned: bool) -> Iterator[Line]:
    if change.old is ABSENT:
        sign, block = "+", _block("+", change.new)
    elif change.new is ABSENT:
        sign, block = "-", _block("-", change.old)
    else:
        sign, block = "~", _find_differing_lines(change)

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


def _find_differing_lines(change: ValueChange) -> Iterator[Line]:
    # A line with @@ begins a hunk.
    for line in _unify(_lines(change.old), _lines(change.new), _CONTEXT):
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
    text = str(value) if is_text else dump_yaml([sort_members(value)])
    return _printable_lines(text)


def _printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.removesuffix("\n").split("\n")]


def _unify(old: list[str], new: list[str], context: int) -> list[str]:
    from difflib import unified_diff  # noqa: PLC0415  # 7 ms; few values are texts

    # The first two lines name the files.
    return [*unified_diff(old, new, lineterm="", n=context)][2:]


def show_unified(outcome: ObjectOutcome) -> Iterator[Line]:
    """Yield the lines of a unified diff; none for an object that does not change."""
    if not outcome.differs:
        return
    label = printable(outcome.label)
    before = printable(outcome.renamed_from) or label
    if outcome.creates:
        before = _NO_FILE
    after = _NO_FILE if outcome.removes else label
    yield [(f"--- {before}", "bold")]
    yield [(f"+++ {after}", "bold")]
    old, new = _object_lines(outcome.before), _object_lines(outcome.judged)
    for line in _unify(old, new, _CONTEXT_OF_OBJECT):
        yield [(line, _STYLES.get(line[0], ""))]


def _object_lines(value: JSON) -> list[str]:
    """Return a value as lines of YAML, with the names sorted as kubectl prints them."""
    if value is None:
        return []
    return _printable_lines(dump_yaml([sort_members(value)]))
