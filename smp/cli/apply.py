"""``smp apply``: the object as an API server would store it."""

from __future__ import annotations

from functools import partial
from typing import Final

import click
import msgspec

from smp.cli._errors import all_or_nothing, concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Object, annotations_of, partners, unpaired
from smp.cli._options import FILE, Schemas, Settings, merge_options, profile_option
from smp.cli._outcomes import ObjectOutcome, Versions, applied_outcome, created_outcome
from smp.cli._outputs import write_objects
from smp.cli._secrets import Masks
from smp.three_way import LAST_APPLIED, last_applied_configuration, with_last_applied
from smp.values import JSONObject, as_object

_NOTHING: Final = (
    "last applied: none, neither a file nor an annotation of the live object"
)
_NOT_IN_FILE: Final = "last applied: none, as the file does not have the object"
_ANNOTATION: Final = "last applied: from the annotation of the live object"


class Row(msgspec.Struct, frozen=True):
    """An object of the new configuration, and the same object in the other inputs."""

    new: Object
    live: Object | None
    last: Object | None


@click.command(
    epilog="\b\nExit codes: 0 done, 1 something is unmet and --strict, 2 an error.\n\n"
    "\b\nExample:\n  smp apply -f new.yaml --live live.yaml --last-applied old.yaml"
)
@click.option(
    "-f",
    "--filename",
    "new_paths",
    type=FILE,
    multiple=True,
    required=True,
    help="New configuration. Repeatable.",
)
@click.option(
    "--live", "live_paths", type=FILE, multiple=True, help="Live objects. Repeatable."
)
@click.option(
    "--last-applied",
    "last_paths",
    type=FILE,
    multiple=True,
    help="What was applied last. Repeatable. [default: the annotation of the live "
    "object]",
)
@click.option(
    "--overwrite/--no-overwrite",
    default=True,
    show_default=True,
    help="Whether the new configuration wins over changes made to the live object, or "
    "they are an error.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 where the result is not what the new configuration asks for.",
)
@profile_option
@merge_options("yaml", "json", "jsonpatch", "patch", "report")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    new_paths: tuple[str, ...],
    live_paths: tuple[str, ...],
    last_paths: tuple[str, ...],
    overwrite: bool,
    strict: bool,
    settings: Settings,
) -> None:
    """Print each new object as an API server would store it.

    What `kubectl apply` and a server do together, without either. Objects are paired
    with the live ones by group, kind, namespace and name; one without a live object is
    printed as it would be created. The annotation with the last-applied configuration
    is updated where the live object has it. -o jsonpatch prints what changes the live
    object (RFC 6902), -o patch what to send to a server, -o report what changes and
    why. Only the report masks the values of Secrets.
    """
    inputs = Inputs()
    new_objects = inputs.objects(new_paths)
    live_objects = inputs.objects(live_paths)
    last_objects = inputs.objects(last_paths)
    schemas = Schemas(settings, inputs)
    live_partners = partners(new_objects, live_objects)
    last_partners = partners(new_objects, last_objects)
    rows = [
        Row(*row) for row in zip(new_objects, live_partners, last_partners, strict=True)
    ]
    apply_row = partial(
        _outcome,
        schemas=schemas,
        settings=settings,
        overwrite=overwrite,
        has_file=bool(last_paths),
    )
    outcomes = all_or_nothing(apply_row, rows)

    # Without --prune kubectl apply leaves alone what is not in the configuration.
    inputs.skip(
        unpaired(live_objects, live_partners), "live, but not in the new configuration"
    )
    inputs.skip(
        unpaired(last_objects, last_partners),
        "applied last, but not in the new configuration",
    )
    write_objects(outcomes, settings)
    inputs.report_skipped()
    is_unmet = any(outcome.unmet for outcome in outcomes)
    ctx.exit(1 if strict and is_unmet else 0)


def _outcome(
    row: Row, *, schemas: Schemas, settings: Settings, overwrite: bool, has_file: bool
) -> ObjectOutcome:
    obj = row.new
    with concerning(obj.document, obj.label):
        schema = schemas.of(obj)
        # Without a live object kubectl creates it, and sends no patch.
        if row.live is None:
            masks = Masks({"new": obj.value}, show_secrets=settings.show_secrets)
            outcome = created_outcome(obj.label, masks.mask(obj.value), schema)
        else:
            last_applied, note = _last_applied(row.live, row.last, has_file=has_file)
            versions = _annotated(last_applied, obj.value, row.live.value)
            masks = Masks(
                {
                    "live": versions.live,
                    "last applied": versions.last_applied,
                    "new": versions.modified,
                },
                show_secrets=settings.show_secrets,
            )
            masked = Versions(
                last_applied=masks.mask(versions.last_applied),
                modified=masks.mask(versions.modified),
                live=masks.mask(versions.live),
            )
            outcome = applied_outcome(
                obj.label, masked, schema, settings, overwrite=overwrite, notes=[note]
            )
    if settings.output == "report":
        return outcome
    # The other formats print the object with its values. They are put back only here,
    # so that no error of the operation can show one.
    return msgspec.structs.replace(
        outcome,
        before=masks.unmask(outcome.before),
        after=masks.unmask(outcome.after),
        patch=masks.unmask(outcome.patch),
    )


def _last_applied(
    live: Object, last: Object | None, *, has_file: bool
) -> tuple[JSONObject | None, str]:
    """Return the last-applied configuration, and a note on where it comes from.

    A file takes precedence over the annotation of the live object.
    """
    # kubectl knows the annotation only; a file is for objects that come from elsewhere,
    # such as a repository of manifests.
    if last is not None:
        return last.value, f"last applied: from {last.place}"
    # The file is the whole last configuration, so this object was not in it.
    if has_file:
        return None, _NOT_IN_FILE
    with concerning(live.document, live.label):
        configuration = last_applied_configuration(live.value)
    return configuration, _NOTHING if configuration is None else _ANNOTATION


def _annotated(
    last_applied: JSONObject | None, modified: JSONObject, live: JSONObject
) -> Versions:
    """Put the annotation into the configurations, if the live object has it.

    kubectl apply computes its patch from configurations with the annotation: the one
    last applied has the text of the live object, the modified one its own.
    """
    text = annotations_of(live).get(LAST_APPLIED)
    if not isinstance(text, str):
        return Versions(last_applied, modified, live)
    if last_applied is not None:
        metadata = as_object(last_applied.get("metadata"))
        annotations = {**annotations_of(last_applied), LAST_APPLIED: text}
        last_applied = {
            **last_applied,
            "metadata": {**metadata, "annotations": annotations},
        }
    return Versions(last_applied, with_last_applied(modified), live)
