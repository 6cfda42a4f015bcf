"""``smp diff``: the patch between two states of objects, or from live to new ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from smp._strategic import two_way_patch, unknown_field_warnings
from smp._values.last_applied import drop_last_applied, last_applied_configuration
from smp._values.values import JSON, JSONObject, as_object, same, value_key
from smp.cli._cluster_options import DRY_RUN, MERGE, MergeSettings
from smp.cli._commands import Argument, Command, path_options, repeatable, switch
from smp.cli._comparing import Comparing, read_ignored
from smp.cli._errors import CommandFailure, UsageError, concerning
from smp.cli._formats import patch_layout
from smp.cli._identity import Key
from smp.cli._inputs import Inputs
from smp.cli._live import cluster_of, pair_with_live
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import (
    Entry,
    EntryPairing,
    Listing,
    ObjectRow,
    Pairing,
    ambiguous_namespace,
    rows_of,
)
from smp.cli._options import (
    CONNECTION_OPTIONS,
    HAZARDS_OPTION,
    KUSTOMIZE_OPTION,
    MERGE_OPTIONS,
    READER_OUTPUTS,
    RECURSIVE_OPTION,
    REPORT_FORMATS,
    RULES_OPTION,
    SELECTION_OPTIONS,
    VALIDATE_OPTION,
    CommandSettings,
    filename_option,
    format_option,
    output_option,
    profile_option,
)
from smp.cli._outcomes import ObjectOperation, Versions, findings_of_update
from smp.cli._renames import pair_renamed
from smp.cli._run import Work, load_row, run
from smp.cli._selection import Selection
from smp.comparison import SetAside, is_stored
from smp.custom_resources import STRATEGIC_MERGE_PATCH, form_of
from smp.errors import SmpError
from smp.schema.model import AnyType, Schema

if TYPE_CHECKING:
    from smp.hazards import Input

# The hazard of a last-applied configuration that the annotation does not have.
_STALE: Final = "stale-last-applied"
# What only a server does, and what is of no use to one, by the names of the settings.
_BY_A_SERVER: Final = (
    *("force_conflicts", "give_up", "skip_conflicts", "overwrite", "applyset"),
    *("tooling", "prune_allowlist"),
)
_WITHOUT_A_SERVER: Final = ("include_kind",)


class DiffSettings(MergeSettings, frozen=True):
    """The options of ``smp diff``."""

    states: tuple[str, ...] = ()
    live: tuple[str, ...] = ()

    @property
    def is_three_way(self) -> bool:
        """Whether it is said what an apply changes in live objects."""
        return bool(self.live)


def run_diff(settings: DiffSettings) -> int:
    """Show what differs between two states of objects, or what an apply changes.

    From each object of ORIGINAL to that of MODIFIED; with --live, from each live object
    to what `kubectl apply` of MODIFIED makes of it. What was applied last is in
    ORIGINAL, or else in the annotation of the live object. Objects are paired by group,
    kind, namespace and name. -o patch prints the strategic merge patch of each object
    that differs, and with --live the three-way one of `smp apply`; kyaml and json are
    the same patch, jsonpatch another one (RFC 6902). --format is for other programs.
    The values of Secrets are masked. What a server sets (uid, resourceVersion, status
    and the like) is left out where only one of the objects has it, and a PATH of
    --ignore wherever both objects differ in it.

    With --dry-run=server the cluster of --live is asked, as kubectl diff does, and so
    with the options of a server-side apply or of a prune. Nothing is written.

    For kubectl diff, smp-diff is this command:
    KUBECTL_EXTERNAL_DIFF=smp-diff kubectl diff -f new.yaml
    """
    originals_at, manifests = _paths_of(settings)
    if settings.dry_run == "server" or settings.server_side or settings.prune:
        cluster = cluster_of(settings.live)
        if cluster is None or originals_at:
            raise UsageError(
                "--dry-run=server, --server-side and --prune ask a cluster: "
                "smp diff FILE --live cluster"
            )
        _require_unset(settings, _WITHOUT_A_SERVER, "does not work")
        from smp.cli._cluster_printing import show_diff  # noqa: PLC0415  # 150 ms

        return show_diff(cluster, replace(settings, paths=tuple(manifests)))
    _require_unset(settings, _BY_A_SERVER, "only works")
    inputs = settings.open_inputs()
    comparing = Comparing.of(settings, inputs)
    at_once = settings.selects_by_name
    original_entries = inputs.listing(originals_at, at_once=at_once)
    entries = inputs.listing(manifests, settings.kustomizations, at_once=at_once)
    named = [*original_entries, *entries] if at_once else []
    selection = Selection(settings, inputs, named)
    entries, live_entries = pair_with_live(
        settings.live, selection.of_configuration(entries), inputs, settings
    )
    former = selection.of_states(original_entries)
    originals: Pairing = EntryPairing(entries, former)
    if not settings.is_three_way:
        originals = StatePairing(entries, former, inputs)
    lives = EntryPairing(entries, selection.of_states(live_entries))
    # Else the live objects themselves say what was applied last.
    has_annotations = not originals_at
    operation = DiffOperation(inputs, selection, settings, comparing, has_annotations)
    rows = operation.rows(entries, originals, lives)
    layout = patch_layout(settings, inputs, "smp diff")
    work = Work(operation.compute, layout, is_comparison=True)
    return run(rows, work, inputs, settings)


def _require_unset(settings: DiffSettings, names: tuple[str, ...], how: str) -> None:
    unset = DiffSettings()
    for name in names:
        value = getattr(settings, name)
        if value != getattr(unset, name):
            option = "no-" * (value is False) + name.replace("_", "-")
            raise UsageError(
                f"--{option} {how} where a server is asked: with --dry-run=server, "
                "--server-side or --prune"
            )


def _paths_of(settings: DiffSettings) -> tuple[list[str], list[str]]:
    """Return ORIGINAL, and MODIFIED: the last argument without -f or -k."""
    former, modified = [*settings.states], [*settings.paths]
    if former and not modified and not settings.kustomizations:
        modified = [former.pop()]
    is_whole = bool(modified or settings.kustomizations)
    if len(former) > 1 or not is_whole or not (former or settings.live):
        raise UsageError(
            "give ORIGINAL and MODIFIED, -f FILE or -k DIR in place of MODIFIED; with "
            "--live, MODIFIED may be alone"
        )
    return former, modified


COMMAND: Final = Command(
    run_diff,
    settings=DiffSettings,
    options=(
        filename_option("MODIFIED"),
        KUSTOMIZE_OPTION,
        path_options(
            "--live",
            "Live objects, files or cluster[:CONTEXT]: what changes them to MODIFIED, "
            "which may then be the only path. Repeatable.",
        ),
        *CONNECTION_OPTIONS,
        replace(DRY_RUN, help="server: ask the cluster.", choices=("none", "server")),
        *[option for option in MERGE if option.name not in ("hazards", "profile")],
        RECURSIVE_OPTION,
        repeatable(
            "--ignore",
            "Leave out a path: spec.replicas, data.*, spec.containers[*].image. "
            "Repeatable.",
            metavar="PATH",
            convert=read_ignored,
        ),
        path_options(
            "--ignore-file",
            "File with such a path on each line. Repeatable.",
            variable="SMP_IGNORE_FILE",
        ),
        RULES_OPTION,
        switch(
            "--all-fields",
            "Compare the fields that a server sets, and its defaults, too, where one "
            "side is a dump of live objects.",
        ),
        profile_option(),
        HAZARDS_OPTION,
        VALIDATE_OPTION,
        output_option(*READER_OUTPUTS, "patch", "kyaml", "json", "jsonpatch"),
        format_option(*REPORT_FORMATS),
        *SELECTION_OPTIONS,
        *MERGE_OPTIONS,
    ),
    arguments=(
        Argument(
            "states",
            metavar="[ORIGINAL] [MODIFIED]",
            is_required=False,
            is_repeatable=True,
        ),
    ),
    example="diff old.yaml new.yaml",
    exit_codes="0 nothing differs, 1 something does, 2 an error, or a\n"
    "server would refuse an object, 3 done in part",
)


class DiffOperation(msgspec.Struct, frozen=True):
    """What a diff does with each object.

    A patch is printed as well as a report, so what computes one sees masked values. A
    comparison sees the real ones.
    """

    inputs: Inputs
    selection: Selection
    settings: DiffSettings
    comparing: Comparing
    # Whether the live objects say what was applied last.
    has_annotations: bool

    def rows(
        self, entries: Listing, originals: Pairing, lives: Pairing
    ) -> Iterator[ObjectRow]:
        """Pair the objects as far as they are listed; add those that are removed."""
        # A patch cannot rename an object.
        settings, is_three_way = self.settings, self.settings.is_three_way
        finds_renamed = (
            not is_three_way and settings.is_for_a_reader and not settings.quiet
        )
        former_numbers: set[int] = set()
        rows = rows_of(entries, originals, lives)
        for row in rows:
            if finds_renamed and row.partners and row.partners[0] is None:
                # Which objects are removed is known when all are paired.
                finds_renamed = False
                paired = pair_renamed([row, *rows], originals.unpaired(), self.inputs)
                renamed = [other for other in paired if other.is_renamed]
                former_numbers = {
                    each.partners[0].number for each in renamed if each.partners[0]
                }
                yield from paired
            else:
                yield row
        removed, only_live = originals.unpaired(), lives.unpaired()
        # Now all inputs are listed to their ends.
        self.inputs.end_listings()
        # A three-way patch never removes an object: --prune of kubectl apply does.
        if is_three_way:
            self.inputs.skip(removed, "only in ORIGINAL")
        self.inputs.skip(only_live, "live, but in no manifest")
        if not is_three_way:
            for entry in removed:
                if entry.number not in former_numbers:
                    yield ObjectRow(entry, notes=entry.notes, is_removed=True)

    def compute(self, row: ObjectRow) -> ObjectOutcome | None:
        """Return the outcome of an object; None for one that is not selected."""
        if row.is_removed:
            return self._remove(row)
        if self.settings.is_three_way:
            row = row.in_namespace_of(row.partners[1])
        obj, original, live = load_row(row, self.inputs)
        if not self.selection.has_labels(obj.value):
            return None
        states = Versions(
            original.value if original else None,
            obj.value,
            live.value if live else None,
        )
        if self.has_annotations and live is not None:
            with concerning(live.document, live.label):
                states = _read_annotation(obj.value, live.value)
        with concerning(obj.document, obj.label):
            # Of two states a later version may not know the kind; what is applied to
            # a live object, or is new, has to be of one that it knows.
            is_former = original is not None and not self.settings.is_three_way
            schema, note = self.selection.schemas.of_any(obj.value, is_former=is_former)
            outcome = self._compare(row.entry, states, schema)
        if row.is_renamed and original is not None:
            outcome = replace(outcome, renamed_from=original.label)
        if not self.settings.is_three_way and row.partners[0] is not None:
            places = f"{row.partners[0].place} -> {row.entry.place}"
            outcome = replace(outcome, places=places)
        before: Input = "last-applied" if self.settings.is_three_way else "live"
        unchecked = self.selection.schemas.unchecked_of(schema)
        return outcome.with_inputs(row, (before, "live"), note, unchecked)

    def _remove(self, row: ObjectRow) -> ObjectOutcome | None:
        obj = self.inputs.load(row.entry)
        if not self.selection.has_labels(obj.value):
            return None
        masks = self.settings.masks({"original": obj.value})
        with concerning(obj.document, obj.label):
            schema, _note = self.selection.schemas.of_any(obj.value, is_former=True)
        outcome = ObjectOutcome(
            identity=row.entry.identity,
            place=row.entry.place,
            before=masks.mask(obj.value),
            after=None,
            type_=schema.type,
            # As a directive to delete it would.
            patch={"$patch": "delete"},
        )
        return outcome.add_notes_of(row)

    def _compare(self, entry: Entry, states: Versions, schema: Schema) -> ObjectOutcome:
        lenient = schema.with_unknown_fields(self.settings.unknown_fields)
        original, live = states.last_applied, states.live
        masks = self.settings.masks(
            {"live": live, "original": original, "modified": states.modified}
        )
        operation = ObjectOperation(
            entry, schema, self.settings, masks, self.selection.schemas.with_defaults
        )
        set_aside: tuple[SetAside, ...] = ()
        if self.settings.is_three_way and live is not None:
            outcome, set_aside = self._apply(operation, states, live)
        elif self.settings.is_three_way or original is None:
            outcome = operation.create(masks.mask(states.modified))
        else:
            compared = self.comparing.of_states(original, states.modified, lenient)
            set_aside = compared.set_aside
            old, new = masks.mask(original), masks.mask(compared.aligned)
            outcome = _compare(entry, old, new, schema, self.settings)
            asked = masks.mask(states.modified)
            refused = findings_of_update(old, asked, schema, self.settings)
            outcome = replace(outcome, warned=(*outcome.warned, *refused))
        # The verdict: what normalizers take for equal stays in the patch.
        former = live if self.settings.is_three_way else original
        if former is None:
            return outcome
        is_dump = is_stored(former) != is_stored(states.modified)
        result = as_object(masks.unmask(outcome.after))
        verdict = self.comparing.verdict(
            former, result, lenient, has_live=self.settings.is_three_way or is_dump
        )
        return replace(
            outcome,
            compared=masks.mask(verdict.aligned),
            set_aside=(*set_aside, *verdict.set_aside),
        )

    def _apply(
        self, operation: ObjectOperation, states: Versions, live: JSONObject
    ) -> tuple[ObjectOutcome, tuple[SetAside, ...]]:
        """Compute the three-way patch, and return what it leaves out as well."""
        lenient = operation.lenient
        align = self.comparing.of_configuration
        original = states.last_applied
        asked = align(live, states.modified, lenient, original)
        aligned = None if original is None else align(live, original, lenient).aligned
        versions = Versions(aligned, asked.aligned, live)
        outcome = operation.apply(versions.masked(operation.masks))
        # What was set aside makes it another one than the annotation has.
        if original is not None and _is_annotated(live, original):
            current = [each for each in outcome.hazards if each.code != _STALE]
            outcome = replace(outcome, hazards=tuple(current))
        return outcome, asked.set_aside


def _read_annotation(modified: JSONObject, live: JSONObject) -> Versions:
    """Return the versions with what the live object says was applied last."""
    original = last_applied_configuration(live)
    # Both have annotations then (Go: GetModifiedConfiguration).
    modified = modified if original is None else drop_last_applied(modified)
    return Versions(original, modified, live)


def _is_annotated(live: JSONObject, last_applied: JSONObject) -> bool:
    try:
        annotated = last_applied_configuration(live)
    except SmpError:
        return False
    return annotated is not None and same(
        drop_last_applied(annotated), drop_last_applied(last_applied)
    )


def _compare(
    entry: Entry,
    original: JSONObject,
    modified: JSONObject,
    schema: Schema,
    settings: CommandSettings,
) -> ObjectOutcome:
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    changed = two_way_patch(original, modified, lenient)
    patch: JSON = changed
    media_type, reason = STRATEGIC_MERGE_PATCH, ""
    if lenient.is_custom or isinstance(lenient.type, AnyType):
        form = form_of(original, modified, lenient)
        patch, media_type, reason = form.patch, form.media_type, form.reason
    return ObjectOutcome(
        identity=entry.identity,
        place=entry.place,
        before=original,
        after=modified,
        type_=lenient.type,
        patch=patch,
        media_type=media_type,
        reason=reason,
        warned=unknown_field_warnings(changed, schema)
        if settings.keeps_unknown
        else (),
    )


_Namespaces: TypeAlias = dict[str, list[Entry]]


class StatePairing:
    """The partners of the entries of one state among those of another one.

    Unlike a manifest and what is live, of which the one is applied to the other, each
    document of a state has one partner at most: an object that is in five files of one
    state and in one of the other has been removed from four.

    Of the documents of one object those of equal content are paired first, wherever
    they are, and the others in their order. Where one state leaves out a namespace, its
    object is that of the only namespace of the other state, if each has one document.
    """

    def __init__(self, entries: Listing, others: Listing, inputs: Inputs) -> None:
        self._entries = entries
        self._others = others
        self._inputs = inputs
        self._partners: dict[int, Entry] = {}
        self._ambiguous: dict[int, list[Entry]] = {}
        self._paired: set[Key] = set()

    def partner(self, entry: Entry) -> Entry | None:
        """Return the document of the same object in the other state, or None.

        Raises Failure where it may be that of several objects.
        """
        key = entry.identity.key
        if key not in self._paired:
            self._paired.add(key)
            entries, others = self._sides
            self._pair(entries.get(key, {}), others.get(key, {}))
        if entry.number in self._ambiguous:
            raise ambiguous_namespace(entry, self._ambiguous[entry.number])
        return self._partners.get(entry.number)

    @cached_property
    def _sides(self) -> tuple[dict[Key, _Namespaces], dict[Key, _Namespaces]]:
        return _by_key(self._entries), _by_key(self._others)

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other state that were no partner so far."""
        paired = {other.number for other in self._partners.values()}
        return [other for other in self._others if other.number not in paired]

    def _pair(self, entries: _Namespaces, others: _Namespaces) -> None:
        for namespace, found in entries.items():
            if namespace in others:
                self._pair_documents(found, others[namespace])
        mine = {name: entries[name] for name in entries if name not in others}
        theirs = {name: others[name] for name in others if name not in entries}
        # What one of them leaves out may be any namespace that is not accounted for.
        if ("" in mine) == ("" in theirs):
            return
        unnamed = "" in mine
        claiming = {"": mine[""]} if unnamed else mine
        possible = theirs if unnamed else {"": theirs[""]}
        if len(possible) > 1 or len(claiming) > 1:
            every = [each for side in (possible, claiming) for each in _all(side)]
            for entry in _all(claiming):
                self._ambiguous[entry.number] = [e for e in every if e is not entry]
            return
        left, right = _all(claiming), _all(possible)
        if len(left) == len(right) == 1:
            self._partners[left[0].number] = right[0]

    def _pair_documents(self, entries: list[Entry], others: list[Entry]) -> None:
        if len(entries) == len(others) == 1:
            self._partners[entries[0].number] = others[0]
            return
        equal: defaultdict[object, list[Entry]] = defaultdict(list)
        for other in reversed(others):
            content = self._content(other)
            if content is not None:
                equal[content].append(other)
        left: list[Entry] = []
        taken: set[int] = set()
        for entry in entries:
            content = self._content(entry)
            if content is not None and equal[content]:
                other = equal[content].pop()
                self._partners[entry.number] = other
                taken.add(other.number)
            else:
                left.append(entry)
        remaining = [other for other in others if other.number not in taken]
        for entry, other in zip(left, remaining, strict=False):
            self._partners[entry.number] = other

    def _content(self, entry: Entry) -> object:
        # What cannot be read is reported when it is its turn.
        with suppress(CommandFailure, RecursionError):
            return value_key(self._inputs.load(entry).value)
        return None


def _by_key(entries: Iterable[Entry]) -> dict[Key, _Namespaces]:
    by_key: dict[Key, _Namespaces] = {}
    for entry in entries:
        identity = entry.identity
        by_namespace = by_key.setdefault(identity.key, {})
        by_namespace.setdefault(identity.namespace, []).append(entry)
    return by_key


def _all(namespaces: _Namespaces) -> list[Entry]:
    return [entry for entries in namespaces.values() for entry in entries]
