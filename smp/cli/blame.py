"""``smp blame``: who owns which field of an object."""

from __future__ import annotations

from functools import partial
from typing import Final

from smp.cli._blamed import (
    BlameOutcome,
    Wanted,
    record,
    report_lines,
    selected,
    selected_absent,
    yaml_with_owners,
)
from smp.cli._commands import Argument, Command, CommandOption, switch
from smp.cli._errors import UsageError, concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Row
from smp.cli._options import (
    Settings,
    declared,
    output_option,
    shared_options,
)
from smp.cli._outputs import YAML_SEPARATOR, has_colours, styled_text
from smp.cli._run import Work, run
from smp.cli._selection import Selection
from smp.managed_fields import blame
from smp.path_patterns import pattern_of
from smp.reports import Layout

_NO_ENTRIES: Final = (
    "it has no managedFields; kubectl get prints them with --show-managed-fields"
)


def run_blame(
    *,
    targets: tuple[str, ...],
    paths: tuple[str, ...],
    managers: tuple[str, ...],
    unowned: bool,
    show_managed_fields: bool,
    settings: Settings,
) -> int:
    """Print each object with the managers that own its fields.

    The owners come from metadata.managedFields alone; no schema is needed. The objects
    have to have them: kubectl get -o yaml --show-managed-fields | smp blame -

    Before each line of YAML is the manager that owns it: its name, operation and
    subresource, and when it last changed something that it owns. Each other owner of
    the same line has a line of its own, with a plus sign. Where no name stands there
    are owners of what is below, or a server keeps none, as of a name; a field that
    could have an owner and has none is marked. At the end are the fields that managers
    own and that the object does not have: a server drops empty values.

    -o report lists managers and paths, -o json is for programs. The values of Secrets
    are masked.
    """
    inputs = Inputs(settings.max_bytes)
    try:
        patterns = tuple(pattern_of(path) for path in paths)
    except ValueError as error:
        raise UsageError(f"Invalid value for '--path': {error}") from None
    wanted = Wanted(patterns, frozenset(managers), unowned=unowned)
    entries = inputs.listing(targets, at_once=True)
    inputs.end_listings()
    selection = Selection(settings, inputs, entries)
    compute = partial(
        _outcome,
        inputs=inputs,
        selection=selection,
        settings=settings,
        wanted=wanted,
        show_managed_fields=show_managed_fields,
    )
    rows = [Row(entry) for entry in selection.of_states(entries)]
    work = Work(compute, _layout_of(settings), nothing="no field is selected")
    return run(rows, work, inputs, settings)


COMMAND: Final[Command] = declared(
    run_blame,
    (
        CommandOption(
            "--path",
            "Show only what is at a path, and in it: spec.template.spec.containers, "
            "spec.containers[name=app].image. Repeatable.",
            parameter="paths",
            metavar="PATH",
            is_repeatable=True,
        ),
        CommandOption(
            "--manager",
            "Show only what a manager owns. Repeatable.",
            parameter="managers",
            metavar="NAME",
            is_repeatable=True,
        ),
        switch(
            "--unowned",
            "Show what no manager owns, and else only what --manager names.",
        ),
        switch("--show-managed-fields", "Print the managedFields as well."),
        output_option("yaml", "report", "json"),
        CommandOption(
            "-n, --namespace",
            "Take only objects of a namespace, and those without any.",
            metavar="NAME",
            default="",
        ),
        *shared_options(
            "selector",
            "include_kind",
            "show_secrets",
            "strict",
            "max_bytes",
            "jobs",
            "color",
        ),
    ),
    arguments=(Argument("targets", metavar="OBJECTS...", is_repeatable=True),),
    example="blame live.yaml --path spec.template -o report",
    exit_codes="0 done, 1 done with warnings and --strict, 2 an error,\n3 done in part",
)


def _outcome(
    row: Row,
    *,
    inputs: Inputs,
    selection: Selection,
    settings: Settings,
    wanted: Wanted,
    show_managed_fields: bool,
) -> BlameOutcome | None:
    loaded = inputs.load(row.entry)
    if not selection.has_labels(loaded):
        return None
    masks = settings.masks({"live": loaded.value})
    with concerning(loaded.document, loaded.label):
        found = blame(masks.mask(loaded.value), show_managed_fields=show_managed_fields)
    warnings = [str(problem) for problem in found.problems]
    if not found.owners and not warnings:
        warnings = [_NO_ENTRIES]
    outcome = BlameOutcome(
        identity=row.entry.identity,
        place=row.entry.place,
        blame=found,
        selected=selected(found, wanted),
        absent=selected_absent(found, wanted),
        warnings=tuple(warnings),
        is_faulty=bool(found.problems),
    )
    return None if outcome.is_empty else outcome


def _layout_of(settings: Settings) -> Layout[BlameOutcome]:
    if settings.output == "json":
        return Layout(record, "[\n", ",\n", "\n]\n", empty="[]\n", has_warnings=True)
    is_coloured = has_colours(settings.color)
    if settings.output == "report":
        return Layout(
            lambda outcome: styled_text(report_lines(outcome), is_coloured=is_coloured),
            has_warnings=True,
            has_summary=True,
        )
    return Layout(
        lambda outcome: styled_text(yaml_with_owners(outcome), is_coloured=is_coloured),
        separator=YAML_SEPARATOR,
    )
