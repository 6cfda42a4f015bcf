"""Three-way apply: compute the patch, apply it, and say what it did not achieve.

This is what ``kubectl apply`` and an API server do together, on three objects and
without either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from smp import _strategic as strategic
from smp import merge_patch
from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.update import (
    Update,
    UpdateRequest,
    as_stored,
    asks_for_anything,
    drop_by_strategy,
    drop_status,
    normalize_update,
)
from smp._strategic import KUBECTL_PRECONDITIONS, Known
from smp._values.plain import over_json, require_object, require_object_or_none
from smp._values.values import JSONObject, as_object
from smp.custom_resources import (
    STRATEGIC_MERGE_PATCH,
    Guard,
    form_of,
    three_way_json_merge_patch,
)
from smp.errors import ApplyWarning, ConflictError, SmpError
from smp.hazards import (
    MOST_ROUNDS,
    POLICIES,
    REPEATED_KEYS,
    Hazard,
    HazardError,
    Policy,
    Repair,
    all_directive_hazards,
    change_hazards,
    custom_resource_hazards,
    input_hazards,
    is_serious,
)
from smp.paths import Path
from smp.schema.model import AnyType, Schema, UnknownFields
from smp.unions import (
    Change,
    profile_named,
    stock_server_warnings,
)
from smp.violations import Violation


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to.

    ``object`` is the live object with ``patch`` applied, on any API server: what the
    normalization of unions changed is in the patch, and no directive of it is in a
    value that is new to live. ``kubectl_patch`` is what kubectl would send; it is the
    same, but for these two, what a server makes of which is in ``warnings``, and for
    objects that kubectl sends as they are (the selector of a PodDisruptionBudget).

    ``media_type`` says which of the three forms ``patch`` has. For a custom resource it
    is a JSON merge patch, or a JSON Patch (a list of operations), so that its type is
    Any; ``reason`` says why, and ``guard`` what makes a server refuse it after a
    concurrent change. Its ``kubectl_patch`` is a JSON merge patch.

    ``changes`` is what the normalization changed, ``violations`` what a server would
    reject in the object. ``unmet`` are the paths at which the object is not what the
    configuration asks for: it lacks something, or has what the configuration no longer
    has or nulls. ``converged`` says that there is none.
    ``hazards`` are those of the inputs, less those that a repair removed.
    """

    object: dict[str, Any]
    patch: Any
    kubectl_patch: dict[str, Any]
    changes: tuple[Change, ...]
    warnings: tuple[ApplyWarning, ...]
    violations: tuple[Violation, ...]
    unmet: tuple[Path, ...]
    media_type: str = STRATEGIC_MERGE_PATCH
    reason: str = "a server takes strategic merge patches for this kind"
    guard: Guard = "none"
    hazards: tuple[Hazard, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the object is all that the modified configuration asks for."""
        return not self.unmet


class ApplyInputs(msgspec.Struct, frozen=True):
    """The objects of an apply; no last-applied configuration is None."""

    last_applied: JSONObject | None
    manifest: JSONObject
    live: JSONObject


class ThreeWayOptions(msgspec.Struct, frozen=True):
    """How an apply is done; three_way_apply says what each option means."""

    profile: str = "kep1027"
    overwrite: bool = True
    ratchet: bool = True
    unknown_fields: UnknownFields = "error"
    defaults: bool = False
    hazards: Policy = "warn"


class _Merged(msgspec.Struct, frozen=True):
    """What a merge of the inputs led to, before it is judged.

    ``object`` is live after the update, and ``patch`` leads there from live, by its
    ``media_type``; ``kept`` is what the strategy of the kind leaves of the object.
    ``equal`` and ``whole`` are what the search for hazards, and a repair, need to know:
    what is equal by id (see strategic.ComputedPatch), and the lists that were replaced
    or set as a whole because of their keys.
    """

    kubectl_patch: JSONObject
    patch: Any
    object: JSONObject
    kept: JSONObject
    update: Update
    unmet: tuple[Path, ...]
    warnings: tuple[ApplyWarning, ...]
    whole: tuple[Path, ...]
    equal: Known
    media_type: str = STRATEGIC_MERGE_PATCH
    reason: str = "a server takes strategic merge patches for this kind"
    guard: Guard = "none"


@over_json("the object", "last_applied", "modified", "live")
def three_way_apply(  # noqa: PLR0913  # keyword arguments are options
    last_applied: Mapping[str, Any] | None,
    modified: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    ratchet: bool = True,
    unknown_fields: UnknownFields = "error",
    defaults: bool = False,
    hazards: Policy = "warn",
) -> ApplyResult:
    """Bring the live object to the modified configuration, as kubectl and a server do.

    The patch is computed and applied, unions are normalized by a profile; unions, enums
    and immutable fields are validated. With ``ratchet`` only what the apply changes is
    judged, as a server has accepted what live holds; without it, all of the result is.
    ``last_applied=None`` says that there is no last-applied configuration; a hazard
    reports it, as nothing can be pruned then. With ``defaults`` the object of
    the result is what a server stores: it is decoded and defaulted, see with_defaults;
    what that drops or fills in is not unmet. A custom resource is merged by the list
    types of its definition (smp.managed_fields.local_merge), one without a definition
    (the schema ``any``) by RFC 7396 as in kubectl.

    ``hazards`` is what to do about hazards: "warn" lists them in the result, "error"
    raises HazardError for all but notes, "ignore" does not look for them. "repair"
    applies so that nothing is lost or left behind where there is a safe form; the
    warnings with the code "repaired" say what it did. Such a patch has the
    resourceVersion of live, so that a server refuses it (409) if others have written in
    the meantime.

    Raises what three_way_patch, apply_patch and normalize_unions raise,
    PreconditionError where apiVersion, kind or metadata.name would change, and
    UnionError for a configuration that sets two members of a union.
    """
    inputs = ApplyInputs(
        require_object_or_none("last_applied", last_applied),
        require_object("modified", modified),
        require_object("live", live),
    )
    options = ThreeWayOptions(
        profile, overwrite, bool(ratchet), unknown_fields, defaults, hazards
    )
    return apply_inputs(inputs, schema, options)


def apply_inputs(
    inputs: ApplyInputs, schema: Schema, options: ThreeWayOptions
) -> ApplyResult:
    """Do a three-way apply of inputs that are plain JSON; see three_way_apply."""
    profile_named(options.profile)  # before anything is computed
    if options.hazards not in POLICIES:
        raise SmpError(
            f"{options.hazards!r} is not a policy for hazards",
            code="unknown-policy",
            hint=", ".join(POLICIES),
        )
    if schema.is_custom or isinstance(schema.type, AnyType):
        return _CustomApply(inputs, schema, options).run()
    return _StrategicApply(inputs, schema, options).run()


class _Apply(ABC):
    """One apply in three phases: merge the inputs, repair, judge what came of it.

    How inputs are merged, and what of them can be repaired, is a matter of the kind.
    """

    def __init__(
        self, inputs: ApplyInputs, schema: Schema, options: ThreeWayOptions
    ) -> None:
        self._inputs = inputs
        self._schema = schema
        self._lenient = schema.with_unknown_fields(options.unknown_fields)
        self._options = options
        self._warnings: list[ApplyWarning] = []

    def run(self) -> ApplyResult:
        """Merge, repair where that is wanted, and judge."""
        policy = self._options.hazards
        merged = self._merge(self._inputs)
        kubectl_patch = merged.kubectl_patch
        hazards: list[Hazard] = []
        if policy != "ignore":
            hazards = self._find_hazards(self._inputs, merged)
        if policy == "error" and is_serious(hazards):
            raise HazardError(tuple(hazards))
        if policy == "repair" and is_serious(hazards):
            merged, hazards = self._repair(merged, hazards)
        return self._judge(merged, kubectl_patch, hazards)

    @abstractmethod
    def _merge(self, inputs: ApplyInputs) -> _Merged:
        """Merge the inputs, and normalize unions."""

    @abstractmethod
    def _find_hazards(self, inputs: ApplyInputs, merged: _Merged) -> list[Hazard]:
        """Find what is dangerous in the inputs, and in what came of them."""

    @abstractmethod
    def _repair(
        self, merged: _Merged, hazards: list[Hazard]
    ) -> tuple[_Merged, list[Hazard]]:
        """Return what repaired inputs led to, and the hazards that stay."""

    @abstractmethod
    def _unknown_warnings(self, merged: _Merged) -> tuple[ApplyWarning, ...]:
        """Return a warning for each place that was merged without a schema."""

    def _update(
        self, merged: JSONObject, patch: JSONObject, manifest: JSONObject
    ) -> Update:
        """Do what a server does with the merged object: normalize and validate it."""
        return normalize_update(
            self._inputs.live,
            merged,
            self._lenient,
            UpdateRequest(
                profile=self._options.profile,
                ratchet=self._options.ratchet,
                patch=patch,
                configuration=manifest,
            ),
        )

    def _judge(
        self, merged: _Merged, kubectl_patch: JSONObject, hazards: list[Hazard]
    ) -> ApplyResult:
        """Return the result, with what a server refuses of it and warns of."""
        live, update = self._inputs.live, merged.update
        obj, kept = merged.object, merged.kept
        violations = update.violations
        if violations and kept is not obj:
            violations = self._update(kept, as_object(merged.patch), kept).violations
        if self._options.defaults:
            obj = as_stored(kept, live, self._schema, profile=self._options.profile)
        # In the order of servers: an update first has to lead to a valid object.
        immutable = find_changed_immutable_fields(live, kept, self._schema)
        warnings = self._warnings
        if self._options.unknown_fields == "merge":
            warnings.extend(self._unknown_warnings(merged))
        warnings.extend(merged.warnings)
        warnings.extend(stock_server_warnings(update.changes, self._lenient))
        return ApplyResult(
            obj,
            merged.patch,
            kubectl_patch,
            update.changes,
            (*warnings, *update.warnings),
            (*violations, *immutable),
            merged.unmet,
            merged.media_type,
            merged.reason,
            merged.guard,
            tuple(hazards),
        )


class _StrategicApply(_Apply):
    """The apply of a kind for which a server takes strategic merge patches."""

    def _merge(self, inputs: ApplyInputs, repair: Repair | None = None) -> _Merged:
        """Compute the patch, apply it, and normalize unions as a server may do.

        With a repair the patch replaces lists whose merge keys are ambiguous.
        """
        base, manifest, live = inputs.last_applied, inputs.manifest, inputs.live
        schema = self._lenient
        computed = strategic.compute_patch(
            base,
            manifest,
            live,
            schema,
            overwrite=self._options.overwrite,
            preconditions=KUBECTL_PRECONDITIONS,
            notes_met=True,
        )
        patch = computed.patch
        replaced: list[Path] = []
        if repair is not None:
            patch, replaced = strategic.add_whole_lists(
                patch, base or {}, manifest, live, schema, repair.refused
            )
        leftovers: list[Path] = []
        # A deletion can also become a part of a new element of the same merge key.
        if computed.deletes_in_new or computed.ambiguous:
            patch, leftovers = strategic.drop_leftovers(live, patch, schema)
        # What an API server does with it: apply, normalize, validate.
        patched = strategic.apply_patch(live, patch, schema)
        update = self._update(patched, patch, manifest)
        result = update.object
        if update.changes:
            # Servers of today normalize nothing, so the patch has to do it.
            patch = strategic.amend_patch(patch, live, patched, result, schema)
            result = strategic.apply_patch(live, patch, schema)
        # Where nothing is to be deleted, nothing can be left.
        applied = base if base and computed.deletes else {}
        as_kept = drop_status(result, manifest, schema, live)
        is_status_dropped = as_kept is not result
        if is_status_dropped:
            # A server does not look at it, and a patch without it does the same.
            result = as_kept
            patch = {name: patch[name] for name in patch if name != "status"}
        kept = drop_by_strategy(result, schema, live)
        unmet = strategic.unmet_paths(applied, manifest, kept, schema, computed)
        if is_status_dropped and _has_generated_status(manifest):
            unmet = tuple([path for path in unmet if path.steps[0] != "status"])
        # What kubectl sends besides changes nothing.
        kubectl_patch = strategic.add_whole_objects(
            computed.patch, manifest, live, schema
        )
        return _Merged(
            kubectl_patch,
            patch,
            result,
            kept,
            update,
            unmet,
            tuple([_leftover_warning(path) for path in leftovers]),
            tuple(replaced),
            computed.equal,
        )

    def _find_hazards(self, inputs: ApplyInputs, merged: _Merged) -> list[Hazard]:
        of_inputs = self._find_input_hazards(inputs, merged)
        has_unique_keys = all(each.code not in REPEATED_KEYS for each in of_inputs)
        losses = self._find_losses(inputs, merged, has_unique_keys=has_unique_keys)
        return [*of_inputs, *losses]

    def _find_input_hazards(self, inputs: ApplyInputs, merged: _Merged) -> list[Hazard]:
        base, manifest, live = inputs.last_applied, inputs.manifest, inputs.live
        return input_hazards(base, manifest, live, self._lenient, merged.equal)

    def _find_losses(
        self, inputs: ApplyInputs, merged: _Merged, *, has_unique_keys: bool = False
    ) -> list[Hazard]:
        return change_hazards(
            inputs.last_applied,
            inputs.manifest,
            inputs.live,
            merged.object,
            self._lenient,
            [change.path for change in merged.update.changes],
            has_unique_keys=has_unique_keys,
        )

    def _repair(
        self, merged: _Merged, hazards: list[Hazard]
    ) -> tuple[_Merged, list[Hazard]]:
        """Edit the inputs until what an apply loses is what was asked for."""
        given = self._inputs
        of_inputs = self._find_input_hazards(given, merged)
        remaining = hazards[len(of_inputs) :]
        repair = Repair(given.last_applied, given.manifest, given.live, self._lenient)
        # An object that is kept, as {}, may have lists that are dropped in turn.
        for _ in range(MOST_ROUNDS):
            is_edited = repair.edit(remaining)
            inputs = ApplyInputs(repair.last_applied, repair.modified, given.live)
            try:
                merged = self._merge(inputs, repair)
            except SmpError as error:
                # A member of a union that is there, as {}, excludes the others, and
                # a list as a whole may have what a server refuses.
                if not repair.refuse(error.path):
                    break
                continue
            remaining = self._find_losses(inputs, merged)
            if not is_edited:
                break
        repair.replaced([*merged.whole])
        # The values of others are in the patch, or it deletes what was found in live.
        if repair.warnings or is_serious(remaining):
            patch = repair.guarded(merged.patch)
            merged = msgspec.structs.replace(merged, patch=patch)
        self._warnings += repair.warnings
        return merged, [*repair.not_repaired(of_inputs), *remaining]

    def _unknown_warnings(self, merged: _Merged) -> tuple[ApplyWarning, ...]:
        return strategic.unknown_field_warnings(merged.patch, self._schema)


def _has_generated_status(manifest: JSONObject) -> bool:
    """Tell whether its status has zero values only, which nobody misses."""
    return "status" in manifest and not asks_for_anything(manifest["status"])


class _CustomApply(_Apply):
    """The apply of a custom resource, or of a kind without a definition."""

    def _merge(self, inputs: ApplyInputs) -> _Merged:
        """Merge by list types, or by RFC 7396; normalize unions."""
        # Most applies are of built-in kinds, and take less time than to load this.
        from smp.managed_fields import changed_members, local_merge  # noqa: PLC0415

        base, manifest, live = inputs.last_applied or {}, inputs.manifest, inputs.live
        schema = self._lenient
        kubectl_patch = three_way_json_merge_patch(base, manifest, live)
        # Go: k8s.io/kubectl, apply/patcher.go, buildMergePatch.
        strategic.check_preconditions(kubectl_patch, KUBECTL_PRECONDITIONS)
        merge = local_merge(base, manifest, live, schema)
        if not self._options.overwrite and merge.conflicts:
            raise ConflictError(merge.conflicts)
        merged = merge.object
        if not schema.is_custom:
            # There is no list type to merge by, and no null that would be a value.
            merged = as_object(merge_patch.apply(live, kubectl_patch))
        update = self._update(merged, changed_members(live, merged, schema), manifest)
        unmet: tuple[Path, ...] = ()
        if schema.is_custom and update.changes:
            # Only the normalization of unions does what was not asked for.
            again = local_merge(base, manifest, update.object, schema)
            difference = changed_members(update.object, again.object, schema)
            unmet = tuple(strategic.leaf_paths(difference, update.object, schema))
        result = drop_status(update.object, manifest, schema, live)
        if result is not update.object and not _has_generated_status(manifest):
            difference = changed_members(result, update.object, schema)
            unmet += tuple(strategic.leaf_paths(difference, result, schema))
        # What the normalization of unions changed is in the patch as all else.
        form = form_of(live, result, schema)
        reason = form.reason
        if not schema.is_custom:
            reason = f"merged by RFC 7396, as the kind has no schema; {reason}"
        return _Merged(
            kubectl_patch,
            form.patch,
            result,
            drop_by_strategy(result, schema, live),
            update,
            unmet,
            tuple([ApplyWarning(_WHOLE, path, _NO_IDENTITY) for path in merge.whole]),
            merge.whole,
            {},
            form.media_type,
            reason,
            form.guard,
        )

    def _find_hazards(self, inputs: ApplyInputs, merged: _Merged) -> list[Hazard]:
        return custom_resource_hazards(
            inputs.last_applied,
            inputs.manifest,
            inputs.live,
            merged.object,
            self._lenient,
            [change.path for change in merged.update.changes],
        )

    def _repair(
        self, merged: _Merged, hazards: list[Hazard]
    ) -> tuple[_Merged, list[Hazard]]:
        """Keep what others have put into objects, where RFC 7396 removes it with them.

        A merge by list types keeps that anyway.
        """
        if self._lenient.is_custom:
            return merged, hazards
        given = self._inputs
        repair = Repair(given.last_applied, given.manifest, given.live, self._lenient)
        # An object that is kept may have others in turn.
        for _ in range(MOST_ROUNDS):
            if not repair.edit([e for e in hazards if e.code == _WITH_OBJECT]):
                break
            inputs = ApplyInputs(repair.last_applied, repair.modified, given.live)
            merged = self._merge(inputs)
            hazards = self._find_hazards(inputs, merged)
        self._warnings += repair.warnings
        return merged, hazards

    def _unknown_warnings(self, merged: _Merged) -> tuple[ApplyWarning, ...]:
        from smp.managed_fields import changed_members  # noqa: PLC0415  # as in _merge

        changed = changed_members(self._inputs.live, merged.object, self._schema)
        return strategic.unknown_field_warnings(changed, self._schema)


def _leftover_warning(path: Path) -> ApplyWarning:
    text = f'{_UNKNOWN_DIRECTIVE}: unknown field "{path.decoded}"'
    return ApplyWarning("strict-decoding", path, text)


@over_json("the object", "last_applied", "modified", "live")
def find_hazards(
    last_applied: Mapping[str, Any] | None,
    modified: Mapping[str, Any],
    live: Mapping[str, Any] | None,
    schema: Schema,
) -> tuple[Hazard, ...]:
    """Return what is dangerous in the inputs of a three-way apply.

    The manifest (``modified``) may be looked at alone, without a last-applied
    configuration and a live object (None). With a live object the hazards are those of
    three_way_apply; where that raises, those that need no result. Names of directives
    are also found where an apply changes nothing. Raises SchemaError and DepthError.
    """
    last_applied = require_object_or_none("last_applied", last_applied)
    modified = require_object("modified", modified)
    live = require_object_or_none("live", live)
    found: list[Hazard] | None = None
    if live is not None:
        with suppress(SmpError):
            found = [*three_way_apply(last_applied, modified, live, schema).hazards]
    if found is None:
        found = input_hazards(last_applied, modified, live, schema)
    known = {(each.code, str(each.path)) for each in found}
    for each in all_directive_hazards(last_applied, live, schema):
        if (each.code, str(each.path)) not in known:
            found.append(each)
            known.add((each.code, str(each.path)))
    return tuple(found)


# What an object that is there, and empty, keeps.
_WITH_OBJECT: Final = "lost-with-object"
_WHOLE: Final = "list-as-a-whole"
_NO_IDENTITY: Final = (
    "two elements have the same keys, or one has none, so the list is set as a whole"
)
_UNKNOWN_DIRECTIVE: Final = (
    "kubectl's patch has a directive in a new value, which a server refuses:"
    " strict decoding error"
)
