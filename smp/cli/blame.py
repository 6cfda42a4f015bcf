"""``smp blame``: who owns which field of an object.

It is printed as annotated YAML, as a report, or as a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from smp._values.findings import Finding
from smp._values.path_patterns import Pattern, pattern_of
from smp._values.values import JSON
from smp.cli._commands import Command, repeatable, switch, text_option
from smp.cli._errors import UsageError, concerning, printable
from smp.cli._inputs import Inputs
from smp.cli._live import in_place_of
from smp.cli._objects import ObjectRow, PrintedOutcome
from smp.cli._options import (
    DEEP_OPTION,
    LIVE_CLUSTER_OPTIONS,
    OBJECT_EXIT_CODES,
    PATHS,
    CommandSettings,
    filename_option,
    format_option,
    output_option,
    share_options,
)
from smp.cli._outputs import YAML_SEPARATORS, Line, has_colours, in_columns, style_text
from smp.cli._owners import owner_record, owner_text
from smp.cli._run import Work, run
from smp.cli._selection import Selection
from smp.documents import dump_json, yaml_lines
from smp.errors import ApplyWarning
from smp.managed_fields import AbsentField, Blame, BlamedValue, Owner, Ownership, blame
from smp.paths import Path, Step
from smp.reports import Layout, number

_HEADING: Final = "bold"
_OWNER: Final = "cyan"
_NOTE: Final = "dim"
_WARNING: Final = "yellow"

_NO_MANAGER: Final = "no manager"
# Before each other owner of a value that has several.
_AND: Final = "+ "


class BlameSettings(CommandSettings, frozen=True):
    """The options of ``smp blame``: all fields are shown, or those that they select."""

    live: tuple[str, ...] = ()
    selected: tuple[Pattern, ...] = ()
    managers: tuple[str, ...] = ()
    unowned: bool = False
    show_managed_fields: bool = False

    def has_owners(self, owners: Iterable[Owner], ownership: Ownership) -> bool:
        """Tell whether fields of these owners are selected."""
        if not self.managers and not self.unowned:
            return True
        if self.unowned and ownership is Ownership.NONE:
            return True
        return any(owner.manager in self.managers for owner in owners)


class BlameOutcome(PrintedOutcome, frozen=True, kw_only=True):
    """The owners of the fields of one object, as far as they are asked for.

    ``select`` tells which values of the blame are shown.
    """

    blame: Blame
    selected: tuple[bool, ...]
    absent: tuple[AbsentField, ...]
    warned: tuple[ApplyWarning, ...] = ()

    @property
    def messages(self) -> tuple[Finding, ...]:
        """What is wrong with the entries of its managedFields."""
        return self.warned

    @property
    def verdict(self) -> str:
        """Whether the object has managed fields, as the summary counts it."""
        return f"{'with' if self.blame.owners else 'without'} managed fields"

    @property
    def is_empty(self) -> bool:
        """Whether the options select nothing of the object."""
        return not self.absent and not any(self.selected)

    def fields(self) -> Iterator[BlamedValue]:
        """Yield the fields that managers own, and those that none owns.

        Of what no manager owns, what is in it is left out.
        """
        unowned: int | None = None
        for value, is_selected in zip(self.blame.values, self.selected, strict=True):
            depth = len(value.path.steps)
            if unowned is not None and depth > unowned:
                continue
            unowned = None
            if is_selected and value.ownership is Ownership.FIELD:
                yield value
            elif is_selected and value.ownership is Ownership.NONE:
                unowned = depth
                yield value


def select(blame: Blame, settings: BlameSettings) -> tuple[bool, ...]:
    """Tell which values of an object are to be shown."""
    found: list[bool] = []
    # For each value above the current one: what is left of the patterns that match it,
    # and how many values in it were visited.
    rests = [settings.selected]
    counts = [0]
    for value in blame.values:
        depth = len(value.path.steps)
        del rests[depth:]
        del counts[depth:]
        left = _remaining(rests[-1], value.path.steps[-1], counts[-1], value.value)
        counts[-1] += 1
        rests.append(left)
        counts.append(0)
        is_below = not settings.selected or () in left
        found.append(is_below and settings.has_owners(value.owners, value.ownership))
    return tuple(found)


def select_absent(blame: Blame, settings: BlameSettings) -> tuple[AbsentField, ...]:
    """Return the fields that the object lacks, and that are to be shown."""
    found: list[AbsentField] = []
    for field in blame.absent:
        left = settings.selected
        for step in field.path.steps:
            # It is no element of a list of the object, so it has no index there.
            left = _remaining(left, step, -1, None)
        is_below = not settings.selected or () in left
        if is_below and settings.has_owners(field.owners, Ownership.FIELD):
            found.append(field)
    return tuple(found)


def _remaining(
    patterns: Sequence[Pattern], step: Step, index: int, element: JSON
) -> tuple[Pattern, ...]:
    left: list[Pattern] = []
    for pattern in patterns:
        if not pattern:
            # It has selected a value above.
            left.append(pattern)
            continue
        first, rest = pattern[0], pattern[1:]
        if isinstance(step, str):
            if first.names(step):
                left.append(rest)
        elif not first.is_in_brackets:
            # As in a path for smp explain, the elements of a list may be left out.
            left.append(pattern)
        elif first.selects(index, element) or str(step) == f"[{first.text}]":
            left.append(rest)
    return tuple(left)


def yaml_with_owners(outcome: BlameOutcome) -> Iterator[Line]:
    """Yield the object as YAML, each line behind its owners."""
    yield [(printable(f"# {outcome.label}"), _HEADING)]
    shown: list[tuple[BlamedValue, str]] = []
    parts = iter(yaml_lines(outcome.blame.obj))
    for value, is_selected in zip(outcome.blame.values, outcome.selected, strict=True):
        is_element = not isinstance(value.path.steps[-1], str)
        # Such an element begins on the line of what is first in it.
        if is_element and isinstance(value.value, (dict, list)) and value.value:
            continue
        text = next(parts)
        if is_selected:
            shown.append((value, text))

    for field in outcome.absent:
        absent = BlamedValue(field.path, None, Ownership.FIELD, field.owners)
        shown.append((absent, f"# not in the object: {field.path}"))

    cells = [_cells(value) for value, _text in shown]
    lines = in_columns([row for rows in cells for row in rows])
    has_several = any(len(rows) > 1 for rows in cells)
    for (value, text), rows in zip(shown, cells, strict=True):
        style = _WARNING if value.ownership is Ownership.NONE else _OWNER
        first, *others = [next(lines) for _row in rows]
        if has_several:
            first = f"{' ' * len(_AND)}{first}"
        for line in text.split("\n"):
            yield [(first, style), (f" | {printable(line)}".rstrip(), "")]
        for other in others:
            yield [(f"{_AND}{other}", style), (" |", "")]


def _cells(value: BlamedValue) -> list[tuple[str, ...]]:
    if value.owners:
        return [_owner_cells(owner) for owner in value.owners]
    is_unowned = value.ownership is Ownership.NONE
    return [(_NO_MANAGER if is_unowned else "", "", "", "")]


def _owner_cells(owner: Owner) -> tuple[str, ...]:
    facts = (owner.manager, owner.operation, owner.subresource, owner.time)
    return tuple(map(printable, facts))


def report_lines(outcome: BlameOutcome) -> Iterator[Line]:
    """Yield the managers, then each field with its owners, and an empty line."""
    owners = outcome.blame.owners
    heading = f": {number(len(owners), 'manager')}"
    yield [(printable(outcome.label), _HEADING), (heading, "")]
    fields = [*outcome.fields()]
    absent_owners = [field.owners for field in outcome.absent]
    counts: Counter[int] = Counter()
    # Two entries may be equal in all but their fields.
    for owned in (*[value.owners for value in fields], *absent_owners):
        counts.update(id(owner) for owner in owned)
    lines = in_columns([*map(_owner_cells, owners)])
    for owner, line in zip(owners, lines, strict=True):
        count = counts[id(owner)]
        # Options may select none of its fields.
        if not count:
            continue
        amount = f"  {number(count, 'field')}"
        yield [(f"  {line}", _OWNER), (amount, "")]
    for value in fields:
        yield _field_line(value.path, value.owners)
    for field in outcome.absent:
        yield [*_field_line(field.path, field.owners), (" (not in the object)", _NOTE)]
    for warning in outcome.messages:
        yield [(f"  warning: {printable(str(warning))}", _WARNING)]
    yield []


def _field_line(path: Path, owners: Sequence[Owner]) -> Line:
    where = (f"    {printable(str(path))}: ", "")
    if not owners:
        return [where, (_NO_MANAGER, _WARNING)]
    return [where, (", ".join(map(owner_text, owners)), _OWNER)]


def record(outcome: BlameOutcome) -> str:
    """Return the owners as an object of a JSON list."""
    identity = outcome.identity
    fields = [*outcome.fields()]
    return dump_json(
        {
            "apiVersion": identity.api_version,
            "kind": identity.kind,
            "namespace": identity.namespace,
            "name": identity.name,
            "file": outcome.place,
            "fields": [
                _owned(value.path, value.owners) for value in fields if value.owners
            ],
            "unowned": [str(value.path) for value in fields if not value.owners],
            "absent": [_owned(field.path, field.owners) for field in outcome.absent],
            "warnings": [str(warning) for warning in outcome.messages],
        }
    )


def _owned(path: Path, owners: Sequence[Owner]) -> JSON:
    return {"path": str(path), "owners": [*map(owner_record, owners)]}


_NO_ENTRIES: Final = (
    "it has no managedFields; kubectl get prints them with --show-managed-fields"
)


def run_blame(settings: BlameSettings) -> int:
    """Print each object with the managers that own its fields.

    The owners come from metadata.managedFields alone; no schema is needed. The objects
    have to have them: smp blame -f new.yaml --live cluster, or
    kubectl get -o yaml --show-managed-fields | smp blame -

    Before each line of YAML is the manager that owns it: its name, operation and
    subresource, and when it last changed something that it owns. Each other owner of
    the same line has a line of its own, with a plus sign. Where no name stands there
    are owners of what is below, or a server keeps none, as of a name; a field that
    could have an owner and has none is marked. At the end are the fields that managers
    own and that the object does not have: a server drops empty values.

    -o report lists managers and paths, --format json is for other programs. The values
    of Secrets are masked.
    """
    if not settings.paths:
        raise UsageError("give live objects: smp blame FILE, or -f FILE")
    inputs = settings.open_inputs()
    entries = inputs.listing(settings.paths, at_once=True)
    inputs.end_listings()
    entries = in_place_of(settings.live, entries, inputs, settings)
    selection = Selection(settings, inputs, entries)
    compute = partial(_outcome, inputs=inputs, selection=selection, settings=settings)
    rows = [ObjectRow(entry) for entry in selection.of_states(entries)]
    work = Work(compute, _layout_of(settings), nothing="no field is selected")
    return run(rows, work, inputs, settings)


COMMAND: Final = Command(
    run_blame,
    settings=BlameSettings,
    options=(
        filename_option("Live objects, or with --live manifests"),
        DEEP_OPTION,
        *LIVE_CLUSTER_OPTIONS,
        repeatable(
            "--path",
            "Show only what is at a path, and in it: spec.template.spec.containers, "
            "spec.containers[name=app].image. Repeatable.",
            parameter="selected",
            metavar="PATH",
            convert=pattern_of,
        ),
        repeatable(
            "--manager",
            "Show only what a manager owns. Repeatable.",
            parameter="managers",
            metavar="NAME",
        ),
        switch(
            "--unowned",
            "Show what no manager owns, and else only what --manager names.",
        ),
        switch("--show-managed-fields", "Print the managedFields as well."),
        output_option("yaml", "report"),
        format_option("json"),
        text_option(
            "-n, --namespace",
            "Take only objects of a namespace, and those without any.",
            metavar="NAME",
        ),
        *share_options(
            "selector",
            "include_kind",
            "show_secrets",
            "strict",
            "exclude",
            "max_bytes",
            "jobs",
            "color",
        ),
    ),
    arguments=(PATHS,),
    example="blame live.yaml --path spec.template -o report",
    exit_codes=OBJECT_EXIT_CODES,
)


def _outcome(
    row: ObjectRow, *, inputs: Inputs, selection: Selection, settings: BlameSettings
) -> BlameOutcome | None:
    loaded = inputs.load(row.entry)
    if not selection.has_labels(loaded.value):
        return None
    masks = settings.masks({"live": loaded.value})
    with concerning(loaded.document, loaded.label):
        found = blame(
            masks.mask(loaded.value), show_managed_fields=settings.show_managed_fields
        )
    texts = [str(problem) for problem in found.problems]
    if not found.owners and not texts:
        texts = [_NO_ENTRIES]
    warnings = [ApplyWarning("no-managed-fields", Path(), text) for text in texts]
    outcome = BlameOutcome(
        identity=row.entry.identity,
        place=row.entry.place,
        blame=found,
        selected=select(found, settings),
        absent=select_absent(found, settings),
        warned=tuple(warnings),
    )
    return None if outcome.is_empty else outcome


def _layout_of(settings: CommandSettings) -> Layout[BlameOutcome]:
    if settings.report_format == "json":
        return Layout(record, "[\n", ",\n", "\n]\n", empty="[]\n", has_warnings=True)
    is_coloured = has_colours(settings.color)
    if settings.output == "report":
        return Layout(
            lambda outcome: style_text(report_lines(outcome), is_coloured=is_coloured),
            has_warnings=True,
            has_summary=True,
        )
    return Layout(
        lambda outcome: style_text(yaml_with_owners(outcome), is_coloured=is_coloured),
        separator=YAML_SEPARATORS["yaml"],
    )
