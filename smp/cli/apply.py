"""``smp apply``: the object as an API server would store it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import msgspec

from smp._values.api_objects import annotations_of, set_metadata
from smp._values.last_applied import (
    LAST_APPLIED,
    last_applied_configuration,
    with_last_applied,
)
from smp._values.values import JSONObject
from smp.cli._cluster_options import DRY_RUN
from smp.cli._commands import Command, switch
from smp.cli._errors import UsageError, concerning
from smp.cli._formats import object_layout
from smp.cli._inputs import Inputs
from smp.cli._live import pair_with_live
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import EntryPairing, Listing, Object, ObjectRow, rows_of
from smp.cli._options import (
    DEEP_OPTION,
    FILENAME_OPTION,
    HAZARDS_OPTION,
    KUSTOMIZE_OPTION,
    LIVE_OPTIONS,
    MERGE_OPTIONS,
    OVERWRITE_OPTION,
    PATHS,
    POLICIES_OPTION,
    READER_OUTPUTS,
    REPORT_FORMATS,
    SELECTION_OPTIONS,
    SERVER_SIDE_OPTIONS,
    VALIDATE_OPTION,
    ApplySettings,
    format_option,
    output_option,
    profile_option,
)
from smp.cli._outcomes import ObjectOperation, Versions
from smp.cli._run import Work, load_row, run
from smp.cli._secrets import Masks
from smp.cli._selection import Selection
from smp.errors import UnknownFieldError, did_you_mean, listing
from smp.paths import Path
from smp.schema.model import ListType, ObjectType, Schema, Type

# Of these fields nothing is to be explained, unless a user asks for them.
_AS_EXPECTED: Final = frozenset(
    {"equal", "last-applied-annotation", "server-default", "server-set"}
)
# The index or the keys of an element; a name in brackets is no such thing.
_INDEX: Final = re.compile(r"\[(\d+|[^\]]*=[^\]]*)\]")
_WITHOUT_SCHEMA: Final = "its lists are applied as a whole"

_NOTHING: Final = (
    "last-applied: none, neither a file nor an annotation of the live object"
)
_NOT_IN_FILE: Final = "last-applied: none, as the file does not have the object"
_ANNOTATION: Final = "last-applied: from the annotation of the live object"


def run_apply(settings: ApplySettings, explained: Explained | None = None) -> int:
    """Print each new object as an API server would store it.

    What `kubectl apply` and a server do together, without either. Objects are paired
    with the live ones by group, kind, namespace and name; one without a live object is
    printed as it would be created. The annotation with the last-applied configuration
    is updated where the live object has it. -o jsonpatch prints what changes the live
    object (RFC 6902), -o patch what leads a server to the result, -o report what
    changes, and --format what other programs read: all that is known of each object,
    and why each field changes or does not. Reports (and unified) mask the values of
    Secrets.

    With --server-side the result is that of `kubectl apply --server-side`: the managed
    fields of the live object decide, not what was applied last, and a field that
    another manager owns is a conflict. Live objects need their managedFields: kubectl
    get prints them with --show-managed-fields. Where a server refuses another choice of
    a union, as a change to strategy Recreate, that is an error, and -o requests prints
    what has to be sent: each request with method, path, query, media type and body.
    """
    _require_options(settings)
    inputs = settings.open_inputs()
    paths, kustomizations = settings.paths, settings.kustomizations
    if not paths and not kustomizations:
        raise UsageError("give manifests: -f FILE, or -k DIR")
    at_once = settings.selects_by_name
    rows: Iterable[ObjectRow]
    if settings.live_paths or settings.last_paths or kustomizations or at_once:
        entries = inputs.listing(paths, kustomizations, at_once=at_once)
        selection = Selection(settings, inputs, entries if at_once else ())
        entries, live_entries = pair_with_live(
            settings.live_paths, selection.of_configuration(entries), inputs, settings
        )
        last_entries = inputs.listing(settings.last_paths, at_once=at_once)
        live = EntryPairing(entries, selection.of_states(live_entries))
        last = EntryPairing(entries, selection.of_states(last_entries))
        rows = _rows(entries, live, last, inputs)
    else:
        # Nothing has to be looked for among all objects.
        selection = Selection(settings, inputs, ())
        nothing = EntryPairing(Listing(), Listing())
        rows = rows_of(inputs.entries_as_read(paths), nothing, nothing)
    shows = None
    # Where a path has no cause, it counts whether the object has others.
    if explained is not None and not explained.path:
        shows = explained.shows
    command = ApplyCommand(inputs, selection, settings)
    compute = partial(command.apply, shows=shows)
    if settings.server_side:
        compute = partial(command.apply_server_side)
    if settings.policies:
        from smp.cli._policies import CommandPolicies, apply_policies  # noqa: PLC0415  # 60 ms, for one option

        policies = CommandPolicies(settings, inputs, selection.schemas)
        compute = partial(
            apply_policies, compute=compute, policies=policies, settings=settings
        )
    layout = object_layout(settings, inputs, "smp apply")
    if explained is not None and explained.path:
        compute = partial(_explain, compute=compute, explained=explained)
    return run(rows, Work(compute, layout), inputs, settings)


def _require_options(settings: ApplySettings) -> None:
    """Raise UsageError for options that do not go together, in the words of kubectl."""
    if settings.server_side:
        if settings.last_paths or not settings.overwrite:
            raise UsageError(
                "--last-applied and --no-overwrite do not work with --server-side"
            )
        return
    if settings.force_conflicts:
        raise UsageError("--force-conflicts only works with --server-side")
    if settings.field_manager:
        raise UsageError("--field-manager only works with --server-side")
    if settings.output == "requests":
        raise UsageError("-o requests only works with --server-side")


class Explained(msgspec.Struct, frozen=True):
    """Which causes ``smp explain`` shows: those of a path, or of what differs."""

    path: str = ""

    def shows(self, path: Path, code: str) -> bool:
        """Tell whether the cause of a path is shown."""
        if not self.path:
            return code not in _AS_EXPECTED
        text = str(path)
        if "[" not in self.path:
            text = _INDEX.sub("", text)
        # The cause of a whole value is that of each path below it.
        shorter, longer = sorted((text, self.path), key=len)
        return f"{longer}.".startswith((f"{shorter}.", f"{shorter}["))


def _explain(
    row: ObjectRow,
    *,
    compute: Callable[[ObjectRow], ObjectOutcome | None],
    explained: Explained,
) -> ObjectOutcome | None:
    outcome = compute(row)
    if outcome is None:
        return None
    causes = tuple(
        cause for cause in outcome.causes if explained.shows(cause.path, cause.code)
    )
    if causes or (outcome.ownership is None and not outcome.causes):
        return msgspec.structs.replace(outcome, causes=causes)
    if outcome.ownership is not None:
        said = outcome.ownership.describe_owners(explained.path)
    else:
        with concerning(row.entry, outcome.label):
            _require_known(explained.path, outcome.type_)
        said = "neither the live object nor the new one has it"
    # A report of an object without causes has its patch, which is no answer here.
    notes = (*outcome.notes, f"{explained.path}: {said}")
    return msgspec.structs.replace(outcome, causes=(), patch={}, notes=notes)


def _require_known(path: str, type_: Type) -> None:
    current = type_
    known = Path()
    for name in [] if "[" in path else path.split("."):
        if isinstance(current, ListType):
            current = current.items
        if not isinstance(current, ObjectType):
            break
        field = current.field(name)
        if field is None:
            names = [sibling.name for sibling in current]
            raise UnknownFieldError(
                "the schema does not know this field",
                path=known / name,
                hint=did_you_mean(name, names) or listing("fields", names),
            )
        known /= name
        current = field.type


COMMAND: Final = Command(
    run_apply,
    settings=ApplySettings,
    options=(
        FILENAME_OPTION,
        DEEP_OPTION,
        KUSTOMIZE_OPTION,
        *LIVE_OPTIONS,
        OVERWRITE_OPTION,
        *SERVER_SIDE_OPTIONS,
        msgspec.structs.replace(
            DRY_RUN,
            help="As in kubectl. This command writes nothing in any case.",
            choices=("client",),
            default="client",
            has_effect=False,
        ),
        switch(
            "--defaults",
            "Print what a server stores of built-in kinds: with defaults, without zero "
            "values. A server-side apply always does.",
        ),
        profile_option(),
        HAZARDS_OPTION,
        VALIDATE_OPTION,
        POLICIES_OPTION,
        output_option(
            "yaml", "kyaml", "json", "jsonpatch", "patch", "requests", *READER_OUTPUTS
        ),
        format_option(*REPORT_FORMATS),
        *SELECTION_OPTIONS,
        *MERGE_OPTIONS,
    ),
    arguments=(PATHS,),
    example="apply -f new.yaml --live live.yaml --last-applied old.yaml",
    exit_codes="0 done, 1 done with warnings and --strict, 2 an error,\n"
    "or a server would refuse an object, 3 done in part",
)


def _rows(
    entries: Listing, live: EntryPairing, last: EntryPairing, inputs: Inputs
) -> Iterator[ObjectRow]:
    yield from rows_of(entries, live, last)
    only_live, only_last = live.unpaired(), last.unpaired()
    # Now all inputs are listed to their ends.
    inputs.end_listings()
    # Without --prune kubectl apply leaves alone what is not in the configuration.
    inputs.skip(only_live, "live, but in no manifest")
    inputs.skip(only_last, "last-applied, but in no manifest")


class ApplyCommand(msgspec.Struct, frozen=True):
    """What ``smp apply`` does with each row of objects."""

    inputs: Inputs
    selection: Selection
    settings: ApplySettings

    def apply(
        self, row: ObjectRow, *, shows: Callable[[Path, str], bool] | None
    ) -> ObjectOutcome | None:
        """Apply as kubectl does; ``shows`` tells which causes are wanted."""
        row = row.in_namespace_of(row.partners[0])
        new, live, last = load_row(row, self.inputs)
        if not self.selection.has_labels(new.value):
            return None
        with concerning(new.document, new.label):
            schema, note = self.selection.schemas.of_any(new.value)
            versions, source = Versions(None, new.value, None), ""
            if live is not None:
                has_file = bool(self.settings.last_paths)
                last_applied, source = _last_applied(live, last, has_file=has_file)
                versions = _annotate(last_applied, new.value, live.value)
            masks = self.settings.masks(
                {
                    "live": versions.live,
                    "last-applied": versions.last_applied,
                    "manifest": versions.modified,
                }
            )
            masked = versions.masked(masks)
            operation = self._begin(row, schema, masks)
            # Without a live object kubectl creates it, and sends no patch.
            if masked.live is None:
                outcome = operation.create(masked.modified)
            else:
                outcome = operation.apply(
                    masked,
                    overwrite=self.settings.overwrite,
                    notes=[source],
                    shows=shows,
                )
        outcome = self._as_applied(outcome, row, schema, note)
        # The other formats print the object with its values. They are put back only
        # here, so that no error of the operation can show one.
        is_masked = self.settings.is_for_a_reader
        return outcome if is_masked else _unmask(outcome, masks)

    def _begin(self, row: ObjectRow, schema: Schema, masks: Masks) -> ObjectOperation:
        with_defaults = self.selection.schemas.with_defaults
        return ObjectOperation(row.entry, schema, self.settings, masks, with_defaults)

    def apply_server_side(self, row: ObjectRow) -> ObjectOutcome | None:
        """Apply as a field manager."""
        from smp.cli._server_side import for_a_reader, server_side_outcome  # noqa: PLC0415  # 60 ms, for one option

        row = row.in_namespace_of(row.partners[0])
        new, live, _ = load_row(row, self.inputs)
        if not self.selection.has_labels(new.value):
            return None
        with concerning(new.document, new.label):
            schema, note = self.selection.schemas.of_any(new.value, _WITHOUT_SCHEMA)
            operation = self._begin(row, schema, self.settings.masks({}))
            path = self.selection.schemas.path_of(new.value)
            outcome = server_side_outcome(operation, new, live, path)
        outcome = self._as_applied(outcome, row, schema, note)
        if self.settings.is_for_a_reader:
            return for_a_reader(outcome, self.settings)
        return outcome

    def _as_applied(
        self, outcome: ObjectOutcome, row: ObjectRow, schema: Schema, note: str
    ) -> ObjectOutcome:
        unchecked = self.selection.schemas.unchecked_of(schema)
        return outcome.with_inputs(row, ("live", "last-applied"), note, unchecked)


def _unmask(outcome: ObjectOutcome, masks: Masks) -> ObjectOutcome:
    return msgspec.structs.replace(
        outcome,
        before=masks.unmask(outcome.before),
        after=masks.unmask(outcome.after),
        patch=masks.unmask(outcome.patch),
        kubectl_patch=masks.unmask(outcome.kubectl_patch),
    )


def _last_applied(
    live: Object, last: Object | None, *, has_file: bool
) -> tuple[JSONObject | None, str]:
    """Return what was applied last, by a file or the annotation, and by which."""
    # kubectl knows the annotation only; a file is for objects that come from elsewhere,
    # such as a repository of manifests.
    if last is not None:
        return last.value, f"last-applied: from {last.place}"
    # The file is the whole last configuration, so this object was not in it.
    if has_file:
        return None, _NOT_IN_FILE
    with concerning(live.document, live.label):
        configuration = last_applied_configuration(live.value)
    return configuration, _NOTHING if configuration is None else _ANNOTATION


def _annotate(
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
        annotations = {**annotations_of(last_applied), LAST_APPLIED: text}
        last_applied = set_metadata(last_applied, annotations=annotations)
    return Versions(last_applied, with_last_applied(modified), live)
