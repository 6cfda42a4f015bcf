"""Server-side apply: what a server stores when a manager applies a configuration.

Theory of operation. An apply goes through the same steps as in a Kubernetes API server
(Go: k8s.io/apimachinery, util/managedfields, NewDefaultFieldManager):

1. The applied configuration is checked before anything changes it: apiVersion and
   kind, no managedFields, the types of the schema, no element of a list twice.
2. An object that exists without managedFields gets an entry for what it has, that of
   the manager ``before-first-apply``.
3. The configuration is merged into the live object. What the manager applied before and
   no longer does, and no other manager owns, is removed.
4. The unions of the result are normalized by a profile. No server does this, it is
   what KEP-1027 and its predecessor of 2019 ask for.
5. What the apply changes is compared with what other managers own: conflicts.
6. The result is decoded and defaulted as a server does it (``smp._storage.update``).
Then a
   resourceVersion in the configuration must be that of the live object.
7. The entries of managedFields are written. An apply that changes nothing but times
   changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.typed_storage import (
    find_decoding_problem,
    is_typed,
    rewriting_paths,
    stored,
)
from smp._storage.update import (
    Update,
    UpdateRequest,
    as_stored,
    asks_for_anything,
    fill_in,
    keeps_status,
    normalize_update,
    put_at_rest,
)
from smp._values.api_objects import (
    annotations_of,
    drop_managed_fields,
    metadata_of,
    set_metadata,
)
from smp._values.last_applied import (
    LAST_APPLIED,
    configuration_text,
    last_applied_configuration,
)
from smp._values.names import MAX_ANNOTATIONS, annotations_size
from smp._values.plain import (
    over_json,
    require_object,
    require_object_or_none,
    require_texts,
)
from smp._values.values import ABSENT, JSONObject, as_object, as_text, same
from smp.errors import ApplyWarning, ObjectError, SmpError, UnionError
from smp.managed_fields._apply import ConfigurationMerge, find_null_violations
from smp.managed_fields._compare import compare
from smp.managed_fields._conflicts import ApplyConflictError, require_preconditions
from smp.managed_fields._entries import APPLY, UPDATE, ManagedFields, Write, Writer
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._go_text import kind_text
from smp.managed_fields._owned_paths import owned_path
from smp.managed_fields._remarks import (
    ALONE,
    Attempt,
    Means,
    NormalizedApply,
    Remark,
    stock_remark,
)
from smp.managed_fields._reset_fields import (
    add_reset,
    add_system_metadata,
    reset_fields,
    reset_fields_of,
)
from smp.managed_fields._scale import (
    SCALE,
    SCALE_SCHEMA,
    merge_scale_entries,
    replica_count,
    scale_entries,
    scale_of,
    set_replicas,
    unconvertible_scale,
)
from smp.managed_fields._track import record_update, with_former_times
from smp.managed_fields._typed import require_typed, type_error
from smp.managed_fields._versions import SERVING, Serving, convert_to_version
from smp.paths import Path
from smp.schema.model import Schema
from smp.unions import Change, profile_named
from smp.violations import Violation

_SCALE: Final = "Scale"
_STATUS: Final = Path(("status",))
# The code of a violation that is one of an enum, and of no union.
_ENUM: Final = "unsupported-value"
# Go: skipNonAppliedManager.
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
# The manager of kubectl apply --server-side, for which a server looks at the
# last-applied configuration (Go: lastAppliedManager, lastAppliedUpdater).
_KUBECTL: Final = "kubectl"


class ServerSideApplyResult(msgspec.Struct, frozen=True):
    """What a server-side apply led to.

    ``object`` is what a server stores, with its managedFields; it is the live object
    itself where nothing ``changed``. ``changes`` is what the normalization of unions
    changed in it, ``violations`` what a server would reject. ``remark`` is what a
    server answers that does not normalize unions, where that is something else.
    """

    object: dict[str, Any]
    changed: bool
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
    violations: tuple[Violation, ...] = ()
    remark: Remark | None = None


@over_json("the object", "live", "applied", deciding=("live", "applied"))
def server_side_apply(  # noqa: PLR0913  (what a request says, step by step)
    live: Mapping[str, Any] | None,
    applied: Mapping[str, Any],
    schema: Schema,
    *,
    manager: str,
    force: bool = False,
    subresource: str = "",
    profile: str = "kep1027",
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> ServerSideApplyResult:
    """Apply a configuration as a field manager, as an API server does.

    ``live`` is the stored object with its managedFields, or None; ``applied`` is the
    configuration, in the version of the schema. ``force`` takes over what other
    managers own; ``serving`` says how the kind is served, ``now`` is the time of the
    write. Raises ApplyConflictError for what other managers own, ObjectError (codes
    other-kind-applied, managed-fields-applied, invalid-applied, no-path-element,
    invalid-managed-fields) for what a server cannot apply, ObjectError (code modified)
    for a resourceVersion other than that of the live object and for the uid of an
    object that is not there, UnionError for a configuration that sets two members of a
    union, and DepthError.
    """
    profile_named(profile)  # before anything is computed
    live = require_object_or_none("live", live)
    applied = require_object("applied", applied)
    require_texts(manager=manager, subresource=subresource)
    if live is not None:
        live = convert_to_version(live, schema)
    applier = _Applier(
        manager,
        subresource=subresource,
        serving=serving,
        now=now,
        force=force,
        profile=profile,
    )
    if subresource == SCALE and live is not None and schema.kind != _SCALE:
        return _apply_scale(live, applied, schema, applier)
    return _run(live, applied, schema, applier)


@over_json("the object", "live", "applied")
def predict_refusal(
    live: Mapping[str, Any] | None,
    applied: Mapping[str, Any],
    schema: Schema,
    *,
    manager: str,
    force: bool = False,
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> Remark | None:
    """Return how a server of today refuses an apply for its unions, and what helps.

    It is None where such a server accepts it, or answers with a conflict. The remedy is
    one that the manager needs no other one for: its ``requests`` are to be sent instead
    of the apply. The arguments are those of ``server_side_apply``. Raises what that
    raises, but for ApplyConflictError and UnionError.
    """
    live = require_object_or_none("live", live)
    applied = require_object("applied", applied)
    require_texts(manager=manager)
    stock = _Applier(manager, serving=serving, now=now, force=force, profile="off")
    try:
        _run(live, applied, schema, stock)
    except ApplyConflictError:
        return None
    wanted = replace(stock, force=True, profile="kep1027")
    apply = _ServerSideApply(live, applied, schema, wanted)
    managed = apply.find_entries()
    try:
        written = apply.write(*apply.merge(managed))
    except UnionError as error:
        # It chooses two members itself.
        return Remark(error.path, f"refuses the object: {error.problem}", None)
    remark = apply.remark_on(written, force=force, means=ALONE)
    return remark if remark is not None and remark.refuses else None


class _Applier(Writer, frozen=True):
    """Who applies, and how: forced, and with the unions of which profile."""

    operation: str = APPLY
    force: bool = False
    profile: str = "kep1027"


def _run(
    live: JSONObject | None, applied: JSONObject, schema: Schema, applier: _Applier
) -> ServerSideApplyResult:
    """Go through the phases of an apply, see the head of the module."""
    apply = _ServerSideApply(live, applied, schema, applier)
    new, entries = apply.merge(apply.find_entries())
    require_preconditions(live, applied)
    return apply.judge(apply.write(new, entries))


class _ServerSideApply:
    """An apply: what it begins with, and its phases in their order.

    ``old`` is the live object without its managedFields, empty on create.
    """

    def __init__(
        self,
        live: JSONObject | None,
        applied: JSONObject,
        schema: Schema,
        applier: _Applier,
    ) -> None:
        self.live = live
        self.old = drop_managed_fields(live or {})
        self.applied = applied
        self.schema = schema
        self.applier = applier
        self.is_custom = not is_typed(schema)
        self.nulls: tuple[Violation, ...] = ()
        self.rewrites = False
        self.reset = reset_fields_of(
            (self.old, applied),
            schema,
            applier.subresource,
            has_status=applier.serving.has_status,
        )

    def find_entries(self) -> ManagedFields:
        """Check the configuration, and return the entries of the live object.

        An object that exists without them gets one for what it has.
        """
        managed = ManagedFields.of(self.live or {})
        _require_kind(self.applied, self.schema)
        if self.live is not None and not managed.owners:
            first = replace(
                self.applier, manager=_BEFORE_FIRST_APPLY, operation=UPDATE
            ).write(self.live, self.reset)
            try:
                record_update(managed, {}, self.live, self.schema, first)
            except ObjectError as error:
                problem = "failed to create manager for existing fields"
                error.problem = f"{problem}: {error.problem}"
                raise
        _require_types(self.old, self.applied, self.schema)
        return managed

    @cached_property
    def not_written(self) -> FieldSet:
        """What of the object stays as it was.

        An apply through a subresource that creates the object writes all of it, as
        one through the main resource does, and owns what the subresource writes.
        """
        if self.live is None and keeps_status(self.schema):
            return FieldSet()
        if self.live is not None or not self.applier.subresource:
            return self.reset
        return reset_fields(self.schema, has_status=self.applier.serving.has_status)

    @cached_property
    def entry(self) -> Write:
        """The write, and the entry that it is recorded in."""
        return self.applier.write(self.applied, self.reset)

    @cached_property
    def unions(self) -> _Unions:
        """The unions of the configuration, with the discriminators that it lacks."""
        old = None if self.live is None else self.old
        return _Unions(old, self.applied, self.schema, self.applier.profile)

    def merge(self, managed: ManagedFields) -> tuple[JSONObject, ManagedFields]:
        """Return the object as it is decoded and defaulted, and the new entries.

        Raises ApplyConflictError. Over what kubectl has applied from a client before,
        there are no conflicts.
        """
        # An attempt that fails leaves the entries changed.
        entries = managed.copy()
        try:
            return self._attempt(entries, force=self.applier.force), entries
        except ApplyConflictError as error:
            if self.applier.manager != _KUBECTL:
                raise
            allowed = _last_applied_fields(self.old, self.schema)
            conflicts = [each for each in error.conflicts if not allowed.has(each.path)]
            if conflicts:
                raise ApplyConflictError(tuple(conflicts)) from None
        return self._attempt(managed, force=True), managed

    def _attempt(self, entries: ManagedFields, *, force: bool) -> JSONObject:
        try:
            unions = self.unions
        except UnionError:
            # A server that knows no unions says first what others own.
            self._merge_into(self.applied, entries.copy(), force=force)
            raise
        try:
            new = self._merge_into(
                unions.applied, entries, force=force, normalize=unions.normalized
            )
        except ApplyConflictError as error:
            raise unions.explained(error) from None
        self.rewrites = bool(rewriting_paths(new, self.schema))
        if self.is_custom:
            new = add_system_metadata(new, self.old)
            # The metadata of a custom resource is decoded when it is written.
            structural = as_object(self.schema.structural)
            self.nulls = tuple(find_null_violations(new, structural, Path()))
            return fill_in(new, self.old, self.schema, profile=self.applier.profile)
        # Typed storage fills in what is reset, such as an empty status.
        new = add_system_metadata(add_reset(new, self.old, self.not_written), self.old)
        problem = find_decoding_problem(new, self.schema, self.old)
        if problem:
            kind = kind_text(self.schema.api_version, self.schema.kind)
            message = (
                "failed to convert new object ({}) to proper version: "
                f"unable to convert unstructured object to {kind}: "
            )
            raise type_error(message, self.applied, [problem])
        # Zero values are dropped, and stay owned. What is filled in has no owner.
        new = as_stored(new, self.old, self.schema, profile=self.applier.profile)
        return put_at_rest(new, self.schema, self.old)

    def _merge_into(
        self,
        applied: JSONObject,
        entries: ManagedFields,
        *,
        force: bool,
        normalize: Callable[[JSONObject], JSONObject] = as_object,
    ) -> JSONObject:
        merging = ConfigurationMerge(entries, self.entry, self.schema)
        new = normalize(merging.merge(self.old, applied))
        return merging.take_over(self.old, new, force=force)

    def write(self, new: JSONObject, entries: ManagedFields) -> JSONObject:
        """Return the object with its entries; the live one where nothing changes."""
        if self.applier.manager == _KUBECTL:
            new = _add_last_applied(new, self.applied)
        written = entries.written_to(new)
        if self.live is not None and not self.rewrites:
            written = with_former_times(self.live, written)
        if not self.is_custom or written is self.live:
            return written
        # Go: the strategy of the resource resets what this write cannot change after
        # the times of a write that changes nothing are put back.
        written = entries.written_to(add_reset(new, self.old, self.not_written))
        if self.live is not None and same(self.live, written):
            return self.live
        # The metadata of a custom resource is decoded when it is written, after a
        # server has looked for changes: an empty list of finalizers is one.
        applier = self.applier
        written = stored(written, self.schema)
        return applier.serving.put_at_rest(
            written, self.schema, profile=applier.profile
        )

    def judge(self, written: JSONObject) -> ServerSideApplyResult:
        """Return the result, with what a server would reject, and the remark."""
        update = self.unions.update
        violations = (*update.violations, *self.nulls)
        if self.live is not None:
            violations += tuple(
                find_changed_immutable_fields(self.old, written, self.schema)
            )
        return ServerSideApplyResult(
            written,
            written is not self.live,
            update.changes,
            (*update.warnings, *self._warnings()),
            violations,
            self.remark_on(written, force=self.applier.force),
        )

    def _warnings(self) -> Iterator[ApplyWarning]:
        """Yield what a server drops of the configuration without a word."""
        asked = self.applied.get("status")
        if self.not_written.has(_STATUS) and asks_for_anything(asked):
            sentence = "a server drops it; only the subresource status writes it"
            yield ApplyWarning("ignored-status", _STATUS, sentence)

    def remark_on(
        self,
        written: JSONObject,
        *,
        force: bool,
        means: tuple[Means, ...] = ("apply", "drop", *ALONE),
    ) -> Remark | None:
        """Return what a server without unions answers, where that is something else."""
        if self.applier.profile == "off" or not self.unions.concern:
            return None

        def apply_on_a_stock_server(attempt: Attempt) -> JSONObject:
            applier = replace(
                self.applier,
                manager=attempt.manager,
                force=attempt.force,
                profile="off",
            )
            live = attempt.live or None
            return _run(live, attempt.configuration, self.schema, applier).object

        return stock_remark(
            Attempt(self.live or {}, self.applied, self.applier.manager, force),
            NormalizedApply(written, self.unions.applied, self.unions.changed),
            self.schema,
            apply=apply_on_a_stock_server,
            means=means,
        )


def _apply_scale(
    live: JSONObject, applied: JSONObject, schema: Schema, applier: _Applier
) -> ServerSideApplyResult:
    """Apply a Scale to an object (Go: ScaleREST.Update of the kinds that have one).

    A server cannot convert the scale of a custom resource to the kind of that, and
    refuses to apply it, but for conflicts.
    """
    managed = ManagedFields.of(live)
    scale = ManagedFields()
    scale.owners = scale_entries(managed)
    is_custom = not is_typed(schema)
    if is_custom and not scale.owners:
        raise unconvertible_scale(None)
    # A Scale is of a built-in kind, also that of a custom resource.
    result = _run(
        scale.written_to(scale_of(live)),
        applied,
        SCALE_SCHEMA,
        replace(applier, profile="off", serving=SERVING),
    )
    if is_custom and replica_count(result.object) != replica_count(live):
        raise unconvertible_scale(live)
    merge_scale_entries(
        managed, ManagedFields.of(result.object).owners, schema.api_version
    )
    new = managed.written_to(
        set_replicas(drop_managed_fields(live), replica_count(result.object))
    )
    new = with_former_times(live, new)
    return ServerSideApplyResult(new, new is not live)


def _require_kind(applied: JSONObject, schema: Schema) -> None:
    """Raise ObjectError for another kind (Go: versionCheckManager)."""
    api_version = as_text(applied.get("apiVersion"))
    kind = as_text(applied.get("kind"))
    if schema.kind and (api_version, kind) != (schema.api_version, schema.kind):
        raise ObjectError(
            f"invalid object type: {kind_text(api_version, kind)}",
            code="other-kind-applied",
        )


def _require_types(old: JSONObject, applied: JSONObject, schema: Schema) -> None:
    """Raise ObjectError for objects that cannot be merged.

    Go: structuredMergeManager.Apply.
    """
    # What is no list has a wrong type.
    if isinstance(as_object(applied.get("metadata")).get("managedFields"), list):
        raise ObjectError(
            "metadata.managedFields must be nil", code="managed-fields-applied"
        )
    require_typed(applied, schema, "failed to create typed patch object ({}): ")
    problem = "failed to create typed live object ({}): "
    require_typed(old, schema, problem, allow_duplicates=True)


class _Unions:
    """The unions of an apply: what the configuration chooses, and what is cleared.

    Where a configuration sets one member of a union and no discriminator, a profile may
    write that. The discriminator then counts as applied, so that it belongs to the
    manager, and may conflict with others who own it (KEP "Union types" of 2019,
    Normalizing on updates; Go: structured-merge-diff v4.3, Updater.Apply).
    """

    __slots__ = (
        "_old",
        "_profile",
        "_schema",
        "applied",
        "changed",
        "claimed",
        "update",
    )

    def __init__(
        self, old: JSONObject | None, applied: JSONObject, schema: Schema, profile: str
    ) -> None:
        self._old = old
        self._schema = schema
        self._profile = profile
        self.update = Update({})
        self.applied = applied
        self.claimed: list[Path] = []
        self.changed: tuple[Path, ...] = ()
        if profile == "validate-only":
            # What a server finds in the merged object is enough.
            return
        chosen = normalize_update(
            None,
            applied,
            schema,
            UpdateRequest(
                # The draft of KEP-1027 wants the discriminator to be applied.
                profile="validate-only" if profile == "kep1027-draft" else profile,
                configuration=applied,
                patch=applied,
                applied=True,
            ),
        )
        # The configuration, with the discriminators that it leaves out.
        self.applied = chosen.object
        self.claimed = [
            owned_path(self.applied, schema, change.path) for change in chosen.changes
        ]

    def normalized(self, merged: JSONObject) -> JSONObject:
        """Return the merged object without the members that are not chosen."""
        self.update = normalize_update(
            self._old,
            merged,
            self._schema,
            UpdateRequest(profile=self._profile, patch=self.applied, applied=True),
        )
        self.changed = (
            *self.claimed,
            *[
                owned_path(merged, self._schema, change.path)
                for change in self.update.changes
            ],
        )
        return self.update.object

    @property
    def concern(self) -> bool:
        """Whether the unions are changed, or refused as they are."""
        refused = [found.code for found in self.update.violations]
        return bool(self.changed) or any(code != _ENUM for code in refused)

    def explained(self, error: ApplyConflictError) -> ApplyConflictError:
        """Return conflicts with a remark at those that a union led to."""
        remark = "{} is the discriminator of the member that is applied"
        return ApplyConflictError(
            tuple(
                replace(conflict, remark=remark.format(conflict.path))
                if conflict.path in self.claimed
                else conflict
                for conflict in error.conflicts
            )
        )


def _last_applied_fields(live: JSONObject, schema: Schema) -> FieldSet:
    """Return the fields that are as kubectl apply has applied them before.

    They belong to the user, who changes from client-side to server-side apply: over
    them there are no conflicts (Go: lastAppliedManager).
    """
    try:
        last_applied = last_applied_configuration(live)
        if last_applied is None:
            return FieldSet()
        if last_applied.get("apiVersion") != schema.api_version:
            return FieldSet()
        for obj in (live, last_applied):
            require_typed(obj, schema, "")
        fields = fieldset_of(last_applied, schema)
        comparison = compare(last_applied, live, schema)
    except SmpError:
        return FieldSet()
    return (
        fields.difference(comparison.modified)
        .difference(comparison.added)
        .difference(comparison.removed)
    )


def _add_last_applied(new: JSONObject, applied: JSONObject) -> JSONObject:
    """Return the object with the configuration in its annotation, if it has that.

    Go: lastAppliedUpdater.
    """
    annotations = annotations_of(new)
    if not as_text(annotations.get(LAST_APPLIED)):
        return new
    configuration = applied
    applied_annotations = metadata_of(applied).get("annotations", ABSENT)
    if isinstance(applied_annotations, dict):
        # The configuration in the annotation has no such annotation itself, and the
        # annotations are texts (Go: GetAnnotations).
        rest: JSONObject = {}
        for name, value in applied_annotations.items():
            if name != LAST_APPLIED:
                rest[name] = "" if value is None else value
        configuration = set_metadata(applied, annotations=rest)
    elif applied_annotations is not ABSENT:
        configuration = set_metadata(applied, annotations=ABSENT)
    annotations = {**annotations, LAST_APPLIED: configuration_text(configuration)}
    if annotations_size(annotations) > MAX_ANNOTATIONS:
        # Go: SetLastApplied. An object with longer annotations could not be stored.
        del annotations[LAST_APPLIED]
    # An empty map is not stored.
    return set_metadata(new, annotations=annotations or ABSENT)
