"""``smp diff``: the patch between two states of objects, or the one that brings live
objects to a new state.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import click

from smp.cli._errors import all_or_nothing, concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Object
from smp.cli._options import FILE, Schemas, Settings, merge_options, profile_option
from smp.cli._outcome import Outcome
from smp.cli._outputs import PATCHES, write_outcomes
from smp.cli._pairs import partners, unpaired
from smp.cli._secrets import Versions, masked
from smp.cli._three_way import brought, created, merged_anyway
from smp.schema.model import Schema
from smp.strategic import two_way_patch
from smp.values import JSONObject

Row: TypeAlias = tuple[Object, Object | None, Object | None]


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
    olds, news = inputs.objects([original]), inputs.objects([modified])
    lives = inputs.objects(live)
    schemas = Schemas(settings, inputs)
    rows = list(zip(news, partners(news, olds), partners(news, lives), strict=True))
    run = partial(_outcome, schemas=schemas, settings=settings, three_way=bool(live))
    outcomes = all_or_nothing(run, rows)
    gone = unpaired(olds, [old for _, old, _ in rows])
    inputs.skip(gone, "only in ORIGINAL")
    inputs.skip(unpaired(lives, [it for _, _, it in rows]), "live, but not in MODIFIED")
    write_outcomes(outcomes, PATCHES, output=settings.output, color=settings.color)
    inputs.report_skipped()
    ctx.exit(int(any(each.differs for each in outcomes) or (bool(gone) and not live)))


def _outcome(
    row: Row, *, schemas: Schemas, settings: Settings, three_way: bool
) -> Outcome:
    each, old, live = row
    versions: Versions = {
        "live": live.value if live else None,
        "original": old.value if old else None,
        "modified": each.value,
    }
    shown = versions if settings.show_secrets else masked(versions)
    new, before = shown["modified"] or {}, shown["live" if three_way else "original"]
    with concerning(each.document, each.label):
        schema = schemas.of(each)
        if before is None:
            return created(each, new, schema)
        if three_way:
            return brought(
                each, shown["original"], new, before, schema, settings=settings
            )
        return _between(each, before, new, schema, settings)


def _between(
    each: Object, old: JSONObject, new: JSONObject, schema: Schema, settings: Settings
) -> Outcome:
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    patch = two_way_patch(old, new, lenient)
    warnings = merged_anyway(patch, schema, settings)
    return Outcome(each.label, old, new, lenient.type, patch, warnings=warnings)
