"""``smp diff``: the patch between two states of objects, or from live to new ones."""

from __future__ import annotations

from functools import partial

import click
import msgspec

from smp.cli._errors import concerning
from smp.cli._formats import patch_format
from smp.cli._ignored import Ignored
from smp.cli._inputs import Inputs
from smp.cli._objects import Pairing
from smp.cli._options import (
    FILE,
    READER_OUTPUTS,
    Schemas,
    Settings,
    merge_options,
    profile_option,
)
from smp.cli._outcomes import (
    ObjectOutcome,
    Versions,
    applied_outcome,
    created_outcome,
    removed_outcome,
    unknown_field_messages,
)
from smp.cli._run import Row, Work, load_row, rows_of, run
from smp.cli._secrets import Masks
from smp.strategic import two_way_patch


@click.command(
    epilog="\b\nExit codes: 0 nothing differs, 1 something does, 2 an error,\n"
    "3 done in part.\n\n"
    "\b\nExample:\n  smp diff old.yaml new.yaml -o report"
)
@click.argument("original", type=FILE)
@click.argument("modified", type=FILE)
@click.option(
    "--live",
    type=FILE,
    multiple=True,
    help="Live objects: print what brings them to MODIFIED. Repeatable.",
)
@click.option(
    "--ignore",
    "ignored_paths",
    metavar="PATH",
    multiple=True,
    help="Leave out a path: spec.replicas, data.*, spec.containers[*].image. "
    "Repeatable.",
)
@click.option(
    "--ignore-file",
    "ignored_files",
    type=FILE,
    multiple=True,
    envvar="SMP_IGNORE_FILE",
    show_envvar=True,
    help="File with such a path on each line. Repeatable.",
)
@click.option(
    "--all-fields",
    is_flag=True,
    help="Compare the fields that a server sets, too, where one side is a dump of live "
    "objects.",
)
@profile_option
@merge_options("yaml", "json", "jsonpatch", *READER_OUTPUTS)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    original: str,
    modified: str,
    live: tuple[str, ...],
    ignored_paths: tuple[str, ...],
    ignored_files: tuple[str, ...],
    all_fields: bool,
    settings: Settings,
) -> None:
    """Print the patch between two states of objects.

    The strategic merge patch from each object of ORIGINAL to that of MODIFIED. With
    --live, ORIGINAL is what was applied last, and the patch is the three-way one of
    `smp apply`. Objects are paired by group, kind, namespace and name; a new object is
    its own patch. In YAML each patch has its object in a comment and empty ones are
    left out; JSON has all that is known of each object. The values of Secrets are
    masked. What a server sets (uid, resourceVersion, status and the like) is left out
    where only one of the objects has it, and a PATH of --ignore wherever both objects
    differ in it.

    For kubectl diff, smp-diff is this command:
    KUBECTL_EXTERNAL_DIFF="smp-diff -o report" kubectl diff -f new.yaml
    """
    inputs = Inputs(settings.max_bytes)
    ignored = Ignored.of(ignored_paths, ignored_files, inputs, all_fields=all_fields)
    original_entries = inputs.entries([original])
    entries = inputs.entries([modified])
    is_three_way = bool(live)
    # Of two states of a file, an object with a generated name is one object.
    originals = Pairing(entries, original_entries, pairs_generated=not is_three_way)
    lives = Pairing(entries, inputs.entries(live))
    compute = partial(
        _outcome,
        inputs=inputs,
        schemas=Schemas(settings, inputs),
        settings=settings,
        ignored=ignored,
        is_three_way=is_three_way,
    )
    rows = rows_of(entries, originals, lives)
    # A three-way patch never removes an object: kubectl apply leaves that to --prune.
    if is_three_way:
        inputs.skip(originals.unpaired(), "only in ORIGINAL")
    else:
        rows += [Row(entry, is_removed=True) for entry in originals.unpaired()]
    inputs.skip(lives.unpaired(), "live, but not in MODIFIED")
    output = patch_format(settings)
    totals = run(rows, Work(compute, output), inputs, settings)
    found = totals.differs or totals.is_failed_by(settings)
    ctx.exit(totals.exit_code(found=found))


def _outcome(
    row: Row,
    *,
    inputs: Inputs,
    schemas: Schemas,
    settings: Settings,
    ignored: Ignored,
    is_three_way: bool,
) -> ObjectOutcome:
    if row.is_removed:
        obj = inputs.load(row.entry)
        masks = Masks({"original": obj.value}, show_secrets=settings.show_secrets)
        with concerning(obj.document, obj.label):
            schema, note = schemas.of_any(obj)
        return removed_outcome(row.entry, masks.mask(obj.value), schema)
    obj, original_object, live_object = load_row(row, inputs)
    # A patch is printed as well as a report, so everything here sees masked values.
    original = original_object.value if original_object else None
    live = live_object.value if live_object else None
    masks = Masks(
        {"live": live, "original": original, "modified": obj.value},
        show_secrets=settings.show_secrets,
    )
    original, live = masks.mask(original), masks.mask(live)
    modified = masks.mask(obj.value)
    with concerning(obj.document, obj.label):
        schema, note = schemas.of_any(obj)
        if is_three_way and live is not None:
            modified = ignored.left_out_of_configuration(live, modified, schema.type)
            if original is not None:
                original = ignored.left_out_of_configuration(
                    live, original, schema.type
                )
            versions = Versions(last_applied=original, modified=modified, live=live)
            outcome = applied_outcome(row.entry, versions, schema, settings, masks)
        elif is_three_way or original is None:
            outcome = created_outcome(row.entry, modified, schema, settings, masks)
        else:
            lenient = schema.with_unknown_fields(settings.unknown_fields)
            modified = ignored.left_out(original, modified, lenient.type)
            patch = two_way_patch(original, modified, lenient)
            outcome = ObjectOutcome(
                row.entry.identity,
                row.entry.place,
                original,
                modified,
                lenient.type,
                patch,
                warnings=unknown_field_messages(patch, schema, settings),
            )
    return msgspec.structs.replace(outcome.with_faults(row.notes), kind_note=note)
