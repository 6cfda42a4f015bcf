"""``smp patch``: documents with a patch applied."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import click

from smp import json_patch, merge_patch
from smp.cli._errors import Failure, all_or_nothing
from smp.cli._inputs import Inputs
from smp.cli._objects import Object, label
from smp.cli._options import FILE, Schemas, Settings, merge_options
from smp.cli._outcome import Outcome
from smp.cli._outputs import OBJECTS, write_outcomes
from smp.cli._secrets import masked
from smp.cli._three_way import merged_anyway
from smp.documents import Document, read_one
from smp.errors import PatchError, SmpError
from smp.schema.model import ANY, Type
from smp.strategic import apply_patch
from smp.values import JSON, type_name


class Patched(NamedTuple):
    """The result, the type that it was read by, and warnings."""

    value: JSON
    known: Type = ANY
    warnings: tuple[str, ...] = ()


@click.command(
    epilog='\b\nExample:\n  smp patch live.yaml -p \'{"spec": {"replicas": 3}}\''
)
@click.argument("target", type=FILE)
@click.option("--patch-file", type=FILE, help="File with the patch, in YAML or JSON.")
@click.option(
    "-p", "--patch", "text", metavar="TEXT", help="The patch itself, in YAML or JSON."
)
@click.option(
    "--type",
    "kind",
    type=click.Choice(["strategic", "merge", "json"]),
    default="strategic",
    show_default=True,
    help="Strategic merge patch, JSON Merge Patch (RFC 7396) or JSON Patch (RFC 6902).",
)
@merge_options("yaml", "json", "jsonpatch", "report")
def command(
    target: str, patch_file: str | None, text: str | None, kind: str, settings: Settings
) -> None:
    """Print every object of TARGET with the patch applied.

    A strategic merge patch needs objects of known kinds; the other types patch any
    document. Only the report masks the values of Secrets.
    """
    inputs = Inputs()
    patch = _read_patch(inputs, patch_file, text)
    targets = (
        [each.document for each in inputs.objects([target])]
        if kind == "strategic"
        else inputs.documents([target])
    )
    run = partial(
        _outcome,
        patch=patch,
        engine=_ENGINES[kind],
        schemas=Schemas(settings, inputs),
        settings=settings,
    )
    write_outcomes(
        all_or_nothing(run, targets),
        OBJECTS,
        output=settings.output,
        color=settings.color,
    )
    inputs.report_skipped()


def _read_patch(inputs: Inputs, path: str | None, text: str | None) -> Document:
    if (path is None) == (text is None):
        raise click.UsageError("give the patch either in --patch-file or in --patch")
    return (
        read_one(text, source="--patch") if text is not None else inputs.one(path or "")
    )


Engine = Callable[[Document, JSON, Schemas, Settings], Patched]


def _strategic(
    target: Document, patch: JSON, schemas: Schemas, settings: Settings
) -> Patched:
    each = Object.of(target)
    schema = schemas.of(each)
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    if not isinstance(patch, dict):
        raise PatchError(
            f"a strategic merge patch is an object, not {type_name(patch)}"
        )
    return Patched(
        apply_patch(each.value, patch, lenient),
        lenient.type,
        merged_anyway(patch, schema, settings),
    )


def _merge(
    target: Document, patch: JSON, _schemas: Schemas, _settings: Settings
) -> Patched:
    return Patched(merge_patch.apply(target.value, patch))


def _json(
    target: Document, patch: JSON, _schemas: Schemas, _settings: Settings
) -> Patched:
    return Patched(json_patch.apply(target.value, patch))


_ENGINES: Final[dict[str, Engine]] = {
    "strategic": _strategic,
    "merge": _merge,
    "json": _json,
}


def _outcome(
    target: Document,
    *,
    patch: Document,
    engine: Engine,
    schemas: Schemas,
    settings: Settings,
) -> Outcome:
    name = label(target)
    try:
        result = engine(target, patch.value, schemas, settings)
    except PatchError as error:
        raise Failure(error, patch, name) from None
    except SmpError as error:
        raise Failure(error, target, name) from None
    before, after = target.value, result.value
    if (
        settings.output == "report"
        and not settings.show_secrets
        and isinstance(before, dict)
        and isinstance(after, dict)
    ):
        shown = masked({"before": before, "after": after})
        before, after = shown["before"], shown["after"]
    return Outcome(
        name, before, after, result.known, patch.value, warnings=result.warnings
    )
