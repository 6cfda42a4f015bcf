"""``smp patch``: documents with a patch applied."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from smp import merge_patch
from smp.cli._commands import Argument, Command, CommandOption
from smp.cli._errors import Failure, UsageError
from smp.cli._formats import object_layout
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import Notice, ObjectOutcome, unknown_field_notices
from smp.cli._objects import Object, ObjectRow
from smp.cli._options import (
    MERGE_OPTIONS,
    READER_OUTPUTS,
    Schemas,
    Settings,
    declared,
    output_option,
)
from smp.cli._run import Work, run
from smp.documents import Document, read_one
from smp.errors import PatchError, SmpError, UnknownKindError
from smp.hazards import Hazard, HazardError, patch_hazards
from smp.schema.model import ANY, Type
from smp.strategic import apply_patch
from smp.values import JSON, type_name

_UNSUPPORTED: Final = (
    "no server takes a strategic merge patch for a custom resource (415 Unsupported "
    "Media Type); --type merge or json is what it takes"
)


class Patched(msgspec.Struct, frozen=True):
    """The result, the type by which it is compared, and what to look at."""

    value: JSON
    type_: Type = ANY
    notices: tuple[Notice, ...] = ()
    hazards: tuple[Hazard, ...] = ()


def run_patch(
    target: str,
    patch_file: str | None,
    text: str | None,
    patch_type: str,
    settings: Settings,
) -> int:
    """Print every object of TARGET with the patch applied.

    A strategic merge patch needs objects of known kinds; the other types patch objects
    of all kinds, and any document of a file that is named. Only the outputs for a
    reader (report, unified, side-by-side) mask the values of Secrets.
    """
    inputs = Inputs(settings.max_bytes)
    if text is not None and patch_file is None:
        patch = read_one(text, source="--patch")
    elif patch_file is not None and text is None:
        patch = inputs.document(patch_file)
    else:
        raise UsageError("give the patch either in --patch-file or in --patch")

    # A strategic merge patch goes by the schema of an object; the other two types patch
    # any JSON value (RFC 7396, RFC 6902).
    entries = inputs.entries_as_read([target], any_document=patch_type != "strategic")
    compute = partial(
        _outcome,
        patch=patch,
        patch_type=patch_type,
        inputs=inputs,
        schemas=Schemas(settings, inputs),
        settings=settings,
    )
    layout = object_layout(settings, inputs, "smp patch")
    # To patch an object twice is no mistake, so duplicates are no reason for a warning.
    rows = (ObjectRow(entry) for entry in entries)
    return run(rows, Work(compute, layout), inputs, settings)


COMMAND: Final[Command] = declared(
    run_patch,
    (
        CommandOption(
            "--patch-file", "File with the patch, in YAML or JSON.", kind="path"
        ),
        CommandOption(
            "-p, --patch",
            "The patch itself, in YAML or JSON.",
            parameter="text",
            metavar="TEXT",
        ),
        CommandOption(
            "--type",
            "Strategic merge patch, JSON Merge Patch (RFC 7396) or JSON Patch "
            "(RFC 6902).",
            parameter="patch_type",
            choices=("strategic", "merge", "json"),
            default="strategic",
        ),
        CommandOption(
            "--hazards",
            "Elements with one merge key in a list that the patch changes: warn, or "
            "fail (error).",
            choices=("warn", "error"),
            default="warn",
        ),
        output_option("yaml", "json", "jsonpatch", *READER_OUTPUTS),
        *MERGE_OPTIONS,
    ),
    arguments=(Argument("target"),),
    example='patch live.yaml -p \'{"spec": {"replicas": 3}}\'',
    exit_codes="0 done, 1 done with warnings and --strict, 2 an error,\n3 done in part",
)


def _outcome(
    row: ObjectRow,
    *,
    patch: Document,
    patch_type: str,
    inputs: Inputs,
    schemas: Schemas,
    settings: Settings,
) -> ObjectOutcome:
    target = inputs.load_document(row.entry)
    label = row.entry.label
    try:
        if patch_type == "strategic":
            patched = _apply_strategic(target, patch.value, schemas, settings)
        elif patch_type == "merge":
            patched = Patched(merge_patch.apply(target.value, patch.value))
        else:
            from smp import json_patch  # noqa: PLC0415  # 15 ms, for one type

            patched = Patched(json_patch.apply(target.value, patch.value))
    # An error names the document that has to be corrected.
    except PatchError as error:
        raise Failure(error, patch, label) from None
    except SmpError as error:
        if isinstance(error, UnknownKindError) and not error.advice:
            error.advice = "--type merge patches objects of every kind"
        raise Failure(error, target, label) from None

    before, after = target.value, patched.value
    # The other formats print the object, which has to keep its values.
    if (
        settings.is_for_a_reader
        and isinstance(before, dict)
        and isinstance(after, dict)
    ):
        masks = settings.masks({"before": before, "after": after})
        before, after = masks.mask(before), masks.mask(after)
    return ObjectOutcome(
        row.entry.identity,
        row.entry.place,
        before,
        after,
        patched.type_,
        patch.value,
        notices=patched.notices,
        hazards=patched.hazards,
    )


def _apply_strategic(
    target: Document, patch: JSON, schemas: Schemas, settings: Settings
) -> Patched:
    obj = Object.of(target)
    schema = schemas.of(obj)
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    if not isinstance(patch, dict):
        raise PatchError(
            f"a strategic merge patch is an object, not {type_name(patch)}"
        )
    result = apply_patch(obj.value, patch, lenient)
    hazards = patch_hazards(obj.value, result, lenient)
    if hazards and settings.hazards == "error":
        raise HazardError(hazards)
    notices = unknown_field_notices(patch, schema, settings)
    if schema.is_custom:
        # Go: apiextensions-apiserver, crdHandler.ServeHTTP, supportedTypes.
        notices += (Notice(_UNSUPPORTED, "unsupported-media-type"),)
    return Patched(result, lenient.type, notices, hazards)
