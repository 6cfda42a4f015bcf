"""``smp diff``: the patch between two states of objects, or from live to new ones."""

from __future__ import annotations

from functools import partial

import click
import msgspec

from smp.cli._errors import all_or_nothing, concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Object, partners, unpaired
from smp.cli._options import FILE, Schemas, Settings, merge_options, profile_option
from smp.cli._outcomes import (
    ObjectOutcome,
    Versions,
    applied_outcome,
    created_outcome,
    unknown_field_messages,
)
from smp.cli._outputs import write_patches
from smp.cli._secrets import Masks
from smp.strategic import two_way_patch


class Row(msgspec.Struct, frozen=True):
    """An object of MODIFIED, and the same object in the other inputs."""

    modified: Object
    original: Object | None
    live: Object | None


@click.command(
    epilog="\b\nExit codes: 0 nothing differs, 1 something does, 2 an error.\n\n"
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
@profile_option
@merge_options("yaml", "json", "jsonpatch", "report")
@click.pass_context
def command(
    ctx: click.Context,
    original: str,
    modified: str,
    live: tuple[str, ...],
    settings: Settings,
) -> None:
    """Print the patch between two states of objects.

    The strategic merge patch from each object of ORIGINAL to that of MODIFIED. With
    --live, ORIGINAL is what was applied last, and the patch is the three-way one that
    `kubectl apply` would send. Objects are paired by group, kind, namespace and name; a
    new object is its own patch. In YAML each patch has its object in a comment and
    empty ones are left out; JSON has a patch for each object of MODIFIED, in order. The
    values of Secrets are masked.
    """
    inputs = Inputs()
    originals = inputs.objects([original])
    modifieds = inputs.objects([modified])
    lives = inputs.objects(live)
    schemas = Schemas(settings, inputs)
    original_partners = partners(modifieds, originals)
    live_partners = partners(modifieds, lives)
    rows = [
        Row(*row)
        for row in zip(modifieds, original_partners, live_partners, strict=True)
    ]
    is_three_way = bool(live)
    diff_row = partial(
        _outcome, schemas=schemas, settings=settings, is_three_way=is_three_way
    )
    outcomes = all_or_nothing(diff_row, rows)

    removed = unpaired(originals, original_partners)
    inputs.skip(removed, "only in ORIGINAL")
    inputs.skip(unpaired(lives, live_partners), "live, but not in MODIFIED")
    write_patches(outcomes, settings)
    inputs.report_skipped()

    differs = any(outcome.differs for outcome in outcomes)
    # A three-way patch never removes an object: kubectl apply leaves that to --prune.
    if removed and not is_three_way:
        differs = True
    ctx.exit(1 if differs else 0)


def _outcome(
    row: Row, *, schemas: Schemas, settings: Settings, is_three_way: bool
) -> ObjectOutcome:
    obj = row.modified
    # A patch is printed as well as a report, so everything here sees masked values.
    original = row.original.value if row.original else None
    live = row.live.value if row.live else None
    masks = Masks(
        {"live": live, "original": original, "modified": obj.value},
        show_secrets=settings.show_secrets,
    )
    original, live = masks.mask(original), masks.mask(live)
    modified = masks.mask(obj.value)
    with concerning(obj.document, obj.label):
        schema = schemas.of(obj)
        if is_three_way and live is not None:
            versions = Versions(last_applied=original, modified=modified, live=live)
            return applied_outcome(obj.label, versions, schema, settings)
        if is_three_way or original is None:
            return created_outcome(obj.label, modified, schema)
        lenient = schema.with_unknown_fields(settings.unknown_fields)
        patch = two_way_patch(original, modified, lenient)
        return ObjectOutcome(
            obj.label,
            original,
            modified,
            lenient.type,
            patch,
            warnings=unknown_field_messages(patch, schema, settings),
        )
