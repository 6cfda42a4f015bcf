"""``smp apply``: the object as an API server would store it."""

from __future__ import annotations

from functools import partial
from typing import Final, TypeAlias

import click

from smp.cli._errors import all_or_nothing, concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Object
from smp.cli._options import FILE, Schemas, Settings, merge_options, profile_option
from smp.cli._outcome import Outcome
from smp.cli._outputs import OBJECTS, write_outcomes
from smp.cli._pairs import partners, unpaired
from smp.cli._secrets import Versions, masked
from smp.cli._three_way import brought, created
from smp.schema.model import Schema
from smp.three_way import LAST_APPLIED, last_applied_configuration, with_last_applied
from smp.values import JSONObject

Row: TypeAlias = tuple[Object, Object | None, Object | None]

_NOTHING: Final = (
    "last applied: none, neither a file nor an annotation of the live object"
)
_NOT_IN_FILE: Final = "last applied: none, as the file does not have the object"
_ANNOTATION: Final = "last applied: from the annotation of the live object"


@click.command(
    epilog="\b\nExit codes: 0 done, 1 something is unmet and --strict, 2 an error.\n\n"
    "\b\nExample:\n  smp apply -f new.yaml --live live.yaml --last-applied old.yaml"
)
@click.option(
    "-f",
    "--filename",
    "news",
    type=FILE,
    multiple=True,
    required=True,
    help="New configuration. Repeatable.",
)
@click.option(
    "--live", "lives", type=FILE, multiple=True, help="Live objects. Repeatable."
)
@click.option(
    "--last-applied",
    "olds",
    type=FILE,
    multiple=True,
    help="What was applied last. Repeatable. [default: the annotation of the live object]",
)
@click.option(
    "--overwrite/--no-overwrite",
    default=True,
    show_default=True,
    help="Whether the new configuration wins over changes made to the live object, or they are an error.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 where the result lacks something that the new configuration asks for.",
)
@profile_option
@merge_options("yaml", "json", "jsonpatch", "patch", "report")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    news: tuple[str, ...],
    lives: tuple[str, ...],
    olds: tuple[str, ...],
    overwrite: bool,
    strict: bool,
    settings: Settings,
) -> None:
    """Print each new object as an API server would store it.

    What `kubectl apply` and a server do together, without either. Objects are paired
    with the live ones by group, kind, namespace and name; one without a live object is
    printed as it would be created. The annotation with the last-applied configuration
    is updated where the live object has it. -o jsonpatch prints what changes
    the live object (RFC 6902), -o patch what kubectl would send, -o report what changes
    and why. Only the report masks the values of Secrets.
    """
    inputs = Inputs()
    configuration, live, last = (
        inputs.objects(news),
        inputs.objects(lives),
        inputs.objects(olds),
    )
    schemas = Schemas(settings, inputs)
    rows = list(
        zip(
            configuration,
            partners(configuration, live),
            partners(configuration, last),
            strict=True,
        )
    )
    run = partial(
        _outcome,
        schemas=schemas,
        settings=settings,
        overwrite=overwrite,
        has_file=bool(olds),
    )
    outcomes = all_or_nothing(run, rows)
    inputs.skip(
        unpaired(live, [each for _, each, _ in rows]),
        "live, but not in the new configuration",
    )
    inputs.skip(
        unpaired(last, [each for _, _, each in rows]),
        "applied last, but not in the new configuration",
    )
    write_outcomes(outcomes, OBJECTS, output=settings.output, color=settings.color)
    inputs.report_skipped()
    ctx.exit(int(strict and any(each.unmet for each in outcomes)))


def _outcome(
    row: Row, *, schemas: Schemas, settings: Settings, overwrite: bool, has_file: bool
) -> Outcome:
    each, live, last = row
    with concerning(each.document, each.label):
        schema = schemas.of(each)
        if live is None:
            new = (
                _masked({"new": each.value}, settings)["new"]
                if settings.output == "report"
                else each.value
            )
            return created(each, new or {}, schema)
        base, note = _last_applied(live, last, has_file=has_file)
        versions = _versions(live.value, base, each.value)
        # The masked objects come first: an error tells nothing of a Secret either.
        shown = _masked(versions, settings)
        run = partial(
            _brought,
            each,
            schema,
            settings=settings,
            overwrite=overwrite,
            notes=(note,),
        )
        outcome = run(shown)
        return (
            outcome
            if shown is versions or settings.output == "report"
            else run(versions)
        )


def _last_applied(
    live: Object, last: Object | None, *, has_file: bool
) -> tuple[JSONObject | None, str]:
    """Find the last-applied configuration, and say where: in the file if there is one,
    else in the annotation.
    """
    if last is not None:
        return (
            last.value,
            f"last applied: from {last.document.source}:{last.document.line}",
        )
    if has_file:
        return None, _NOT_IN_FILE
    with concerning(live.document, live.label):
        found = last_applied_configuration(live.value)
    return found, _NOTHING if found is None else _ANNOTATION


def _versions(live: JSONObject, base: JSONObject | None, new: JSONObject) -> Versions:
    """Put the annotation where kubectl has it: in what was applied, as it is in live,
    and up to date in what is.
    """
    text = _annotations(live).get(LAST_APPLIED)
    if not isinstance(text, str):
        return {"live": live, "last applied": base, "new": new}
    annotated = None if base is None else _annotated(base, text)
    return {"live": live, "last applied": annotated, "new": with_last_applied(new)}


def _annotations(value: JSONObject) -> JSONObject:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _annotated(value: JSONObject, text: str) -> JSONObject:
    metadata = value.get("metadata")
    members = metadata if isinstance(metadata, dict) else {}
    return {
        **value,
        "metadata": {
            **members,
            "annotations": {**_annotations(value), LAST_APPLIED: text},
        },
    }


def _masked(versions: Versions, settings: Settings) -> Versions:
    return versions if settings.show_secrets else masked(versions)


def _brought(
    each: Object,
    schema: Schema,
    versions: Versions,
    *,
    settings: Settings,
    overwrite: bool,
    notes: tuple[str, ...],
) -> Outcome:
    live, base, new = (
        versions["live"] or {},
        versions["last applied"],
        versions["new"] or {},
    )
    return brought(
        each,
        base,
        new,
        live,
        schema,
        settings=settings,
        overwrite=overwrite,
        notes=notes,
    )
