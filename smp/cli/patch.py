"""``smp patch``: documents with a patch applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp import merge_patch
from smp._strategic import apply_patch, is_directive
from smp._values.values import JSON, as_object, type_name
from smp.cli._commands import Command, CommandOption, repeatable, switch
from smp.cli._errors import CommandFailure, UsageError
from smp.cli._formats import object_layout
from smp.cli._identity import ObjectIdentity, identity_of
from smp.cli._inputs import Inputs
from smp.cli._live import in_place_of
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import Entry, Listing, Object, ObjectRow
from smp.cli._options import (
    DEEP_OPTION,
    LIVE_CLUSTER_OPTIONS,
    MERGE_OPTIONS,
    OBJECT_EXIT_CODES,
    PATHS,
    READER_OUTPUTS,
    CommandSettings,
    Schemas,
    filename_option,
    output_option,
)
from smp.cli._run import Work, run
from smp.documents import Document, read_one
from smp.errors import (
    ApplyWarning,
    PatchError,
    SmpError,
    UnknownFieldError,
    UnknownKindError,
)
from smp.hazards import Hazard, HazardError, patch_hazards
from smp.paths import Path
from smp.schema.merge_keys import add_merge_key
from smp.schema.model import ANY, Schema, Type

_UNSUPPORTED: Final = (
    "no server takes a strategic merge patch for a custom resource (415 Unsupported "
    "Media Type); --type merge or json is what it takes"
)


class Patched(msgspec.Struct, frozen=True):
    """The result, the type by which it is compared, and what to look at."""

    value: JSON
    type_: Type = ANY
    warned: tuple[ApplyWarning, ...] = ()
    hazards: tuple[Hazard, ...] = ()


class PatchSettings(CommandSettings, frozen=True):
    """The options of ``smp patch``."""

    live: tuple[str, ...] = ()
    patch_file: str | None = None
    text: str | None = None
    patch_type: str = "strategic"
    target_only: bool = False
    merge_keys: tuple[tuple[str, str], ...] = ()


def run_patch(settings: PatchSettings) -> int:
    """Print every object of PATHS with the patch applied.

    A strategic merge patch needs objects of known kinds; the other types patch objects
    of all kinds, and any document of a file that is named. Only the outputs for a
    reader (report, unified) mask the values of Secrets.
    """
    if not settings.paths:
        raise UsageError("give what to patch: smp patch FILE, or -f FILE")
    inputs = settings.open_inputs()
    if settings.text is not None and settings.patch_file is None:
        patch = read_one(settings.text, source="--patch")
    elif settings.patch_file is not None and settings.text is None:
        patch = inputs.document(settings.patch_file)
    else:
        raise UsageError(
            "give the patch either in --patch-file or in --patch: smp patch FILE"
            " --patch-file PATCH"
        )

    if settings.merge_keys and settings.patch_type != "strategic":
        raise UsageError(f"--merge-key says nothing to --type {settings.patch_type}")
    _require_lists(patch, settings.merge_keys)
    # A strategic merge patch goes by the schema of an object; the other two types patch
    # any JSON value (RFC 7396, RFC 6902).
    any_document = settings.patch_type != "strategic"
    entries = inputs.entries_as_read(settings.paths, any_document=any_document)
    if settings.live:
        entries = in_place_of(settings.live, Listing(entries), inputs, settings)
    if settings.target_only:
        entries = [*entries]
        _require_target(patch, entries)
    schemas = Schemas(settings, inputs)
    command = PatchCommand(patch, inputs, schemas, settings)
    layout = object_layout(settings, inputs, "smp patch")
    # To patch an object twice is no mistake, so duplicates are no reason for a warning.
    rows = (ObjectRow(entry) for entry in entries)
    return run(rows, Work(command.patch, layout), inputs, settings)


def _read_merge_key(text: str) -> tuple[str, str]:
    path, _, key = text.partition("=")
    if not key or not all(path.split(".")):
        raise ValueError(f"{text!r} is not PATH=KEY, such as spec.rules=name")
    return path, key


COMMAND: Final = Command(
    run_patch,
    settings=PatchSettings,
    options=(
        filename_option("What is patched, or with --live its manifests"),
        DEEP_OPTION,
        *LIVE_CLUSTER_OPTIONS,
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
        switch(
            "--target",
            "Patch the object that the patch names by kind and name, as kustomize "
            "does, and print the others as they are.",
            parameter="target_only",
        ),
        repeatable(
            "--merge-key",
            "Merge the list at a path of fields by a key of its elements "
            "(spec.rules=name), where the schema does not say how; [] after a field "
            "is a list on the way. May be given more than once.",
            parameter="merge_keys",
            metavar="PATH=KEY",
            convert=_read_merge_key,
        ),
        CommandOption(
            "--hazards",
            "Elements with one merge key in a list that the patch changes: warn, or "
            "fail (error).",
            choices=("warn", "error"),
            default="warn",
        ),
        output_option("yaml", "kyaml", "json", "jsonpatch", *READER_OUTPUTS),
        *MERGE_OPTIONS,
    ),
    arguments=(PATHS,),
    example='patch live.yaml -p \'{"spec": {"replicas": 3}}\'',
    exit_codes=OBJECT_EXIT_CODES,
)


def _names_another(named: ObjectIdentity, found: ObjectIdentity) -> bool:
    """Tell whether a patch names another object; what it leaves out is any.

    kustomize takes the names for the target of the patch (Go: kyaml, ResId.Equals); a
    server would refuse to change them.
    """
    if named.kind not in ("", found.kind):
        return True
    if "" not in (named.name, found.name) and named.name != found.name:
        return True
    if not named.kind or not named.name:
        # It changes a field that it has beside others.
        return False
    is_other_version = named.api_version not in ("", found.api_version)
    return is_other_version or named.namespace not in ("", found.namespace or "default")


def _require_target(patch: Document, entries: list[Entry]) -> None:
    named = identity_of(as_object(patch.value))
    problem = ""
    if not named.kind or not named.name:
        problem = "--target needs a patch with the kind and the name of an object"
    elif all(_names_another(named, entry.identity) for entry in entries):
        problem = f"the patch names {named.label}, which is not among the objects"
    if problem:
        raise CommandFailure(PatchError(problem, code="no-target"), patch)


def _require_lists(patch: Document, merge_keys: tuple[tuple[str, str], ...]) -> None:
    lists = [*dict.fromkeys(_paths_of_lists(patch.value, ""))]
    for path, key in merge_keys:
        if path in lists:
            continue
        error = PatchError(
            f"--merge-key {path}={key}: the patch has no list there",
            code="no-list-to-merge",
            hint=f"its lists are at {', '.join(lists)}" if lists else "",
        )
        raise CommandFailure(error, patch)


def _paths_of_lists(value: JSON, above: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            path = f"{above}.{name}" if above else name
            if isinstance(member, list) and not is_directive(name):
                yield path
                path += "[]"
            yield from _paths_of_lists(member, path)
    elif isinstance(value, list):
        for element in value:
            yield from _paths_of_lists(element, above)


class PatchCommand(msgspec.Struct, frozen=True):
    """What ``smp patch`` does with each row of objects."""

    document: Document
    inputs: Inputs
    schemas: Schemas
    settings: PatchSettings

    def patch(self, row: ObjectRow) -> ObjectOutcome:
        """Patch an object. Raises CommandFailure."""
        target = self.inputs.load_document(row.entry)
        patched = self._apply(target, row.entry.label)
        before, after = target.value, patched.value
        if self.settings.target_only and after == {}:
            # kustomize leaves out what a patch deletes (Go: $patch: delete).
            after = None
        # The other formats print the object, which has to keep its values.
        if (
            self.settings.is_for_a_reader
            and isinstance(before, dict)
            and isinstance(after, dict)
        ):
            masks = self.settings.masks({"before": before, "after": after})
            before, after = masks.mask(before), masks.mask(after)
        return ObjectOutcome(
            identity=row.entry.identity,
            place=row.entry.place,
            before=before,
            after=after,
            type_=patched.type_,
            patch=self.document.value,
            warned=patched.warned,
            hazards=patched.hazards,
        )

    def _apply(self, target: Document, label: str) -> Patched:
        """Apply the patch. An error names the document that has to be corrected."""
        patch = self.document.value
        named = identity_of(as_object(patch))
        is_other = _names_another(named, identity_of(as_object(target.value)))
        if is_other and self.settings.target_only:
            # kustomize prints the other objects as they are.
            return Patched(target.value)
        if is_other:
            error = PatchError(
                f"the patch is of another object: {named.label}",
                code="other-object",
                hint="--target applies it to the object that it names; leave out its "
                "kind and name to patch this one",
            )
            raise CommandFailure(error, self.document, label)
        try:
            if self.settings.patch_type == "strategic":
                obj = Object.of(target)
                schema = _schema_with_keys(obj, self.schemas, self.settings.merge_keys)
                return _apply_strategic(obj, patch, schema, self.settings)
            if self.settings.patch_type == "merge":
                return Patched(merge_patch.apply(target.value, patch))
            from smp import json_patch  # noqa: PLC0415  # 15 ms, for one type

            return Patched(json_patch.apply(target.value, patch))
        except PatchError as wrong:
            raise CommandFailure(wrong, self.document, label) from None
        except SmpError as failure:
            if isinstance(failure, UnknownKindError) and not failure.advice:
                failure.advice = (
                    "--type merge patches objects of every kind, --merge-key PATH=KEY "
                    "says how a list is merged"
                )
            elif isinstance(failure, UnknownFieldError):
                failure.option = None
                failure.advice += "; --type merge needs no schema"
            raise CommandFailure(failure, target, label) from None


def _has_directive(patch: JSON) -> bool:
    if isinstance(patch, dict):
        return any(
            is_directive(name) or _has_directive(member)
            for name, member in patch.items()
        )
    return isinstance(patch, list) and any(_has_directive(each) for each in patch)


def _schema_with_keys(
    obj: Object, schemas: Schemas, merge_keys: tuple[tuple[str, str], ...]
) -> Schema:
    try:
        schema = schemas.of(obj.value)
    except UnknownKindError:
        if not merge_keys:
            raise
        # A custom resource without its definition: all but the lists is free-form.
        schema = Schema.inline({"any": True, "custom": True})
    for path, key in merge_keys:
        schema = add_merge_key(schema, path, key)
    return schema


def _apply_strategic(
    obj: Object, patch: JSON, schema: Schema, settings: CommandSettings
) -> Patched:
    if not isinstance(patch, dict):
        raise PatchError(
            f"a strategic merge patch is an object, not {type_name(patch)}"
        )
    if schema.is_custom and not _has_directive(patch):
        # Most patches are of built-in kinds, and take less time than to load this.
        from smp.managed_fields import local_merge  # noqa: PLC0415

        # By the list types of the definition, as smp apply merges it.
        result = local_merge({}, patch, obj.value, schema).object
    else:
        result = apply_patch(obj.value, patch, schema)
    hazards = patch_hazards(obj.value, result, schema)
    if hazards and settings.hazards == "error":
        raise HazardError(hazards)
    warned: tuple[ApplyWarning, ...] = ()
    if schema.is_custom:
        # Go: apiextensions-apiserver, crdHandler.ServeHTTP, supportedTypes.
        warned = (ApplyWarning("unsupported-media-type", Path(), _UNSUPPORTED),)
    return Patched(result, schema.type, warned, hazards)
