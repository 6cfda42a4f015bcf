"""Three-way apply: compute the patch, apply it, and say what it did not achieve.

This is what ``kubectl apply`` and an API server do together, on three objects and
without either.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from smp import merge_patch, strategic
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
from smp.immutable import changed_immutable_fields
from smp.paths import Path
from smp.plain import over_json, require_object, require_object_or_none
from smp.schema.model import AnyType, Schema, UnknownFields
from smp.strategic import KUBECTL_PRECONDITIONS, ComputedPatch
from smp.unions import (
    Change,
    profile_named,
    stock_server_warnings,
)
from smp.update import Update, as_stored, updated
from smp.values import JSONObject, as_object
from smp.violations import Violation


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to.

    ``object`` is the live object with ``patch`` applied, on any API server: what the
    normalization of unions changed is in the patch, and no directive of it is in a
    value that is new to live. ``kubectl_patch`` is what kubectl would send; it is the
    same, but for these two, and what a server makes of it then is in ``warnings``.

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


class _Applied(msgspec.Struct, frozen=True):
    """The steps of an apply; ``patch`` leads from live to the object of the update.

    ``kubectl_patch`` is the patch before it was made one for all servers, and
    ``replaced`` are the lists that the patch replaces for their merge keys.
    """

    computed: ComputedPatch
    patch: JSONObject
    object: JSONObject
    update: Update
    unmet: tuple[Path, ...]
    leftovers: list[Path]
    replaced: list[Path]


class _Merged(msgspec.Struct, frozen=True):
    """A custom resource that was merged here, before and after the update.

    ``whole`` are the lists that were set as a whole for their keys.
    """

    kubectl_patch: JSONObject
    object: JSONObject
    whole: tuple[Path, ...]
    update: Update


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
    profile_named(profile)  # before anything is computed
    if hazards not in POLICIES:
        raise SmpError(
            f"{hazards!r} is not a policy for hazards",
            code="unknown-policy",
            hint=", ".join(POLICIES),
        )
    last_applied = require_object_or_none("last_applied", last_applied)
    modified = require_object("modified", modified)
    live = require_object("live", live)
    lenient = schema.with_unknown_fields(unknown_fields)
    if lenient.is_custom or isinstance(lenient.type, AnyType):
        return _applied_to_custom_resource(
            last_applied,
            modified,
            live,
            schema,
            profile=profile,
            overwrite=overwrite,
            ratchet=ratchet,
            unknown_fields=unknown_fields,
            defaults=defaults,
            hazards=hazards,
        )

    def apply(
        base: JSONObject | None, manifest: JSONObject, repair: Repair | None
    ) -> _Applied:
        return _applied(
            base,
            manifest,
            live,
            lenient,
            profile=profile,
            overwrite=overwrite,
            ratchet=bool(ratchet),
            repair=repair,
        )

    def changed(
        applied: _Applied, base: JSONObject | None, manifest: JSONObject
    ) -> list[Hazard]:
        cleared = [change.path for change in applied.update.changes]
        return change_hazards(base, manifest, live, applied.object, lenient, cleared)

    applied = apply(last_applied, modified, None)
    kubectl_patch = applied.computed.patch
    warnings: list[ApplyWarning] = []
    found: list[Hazard] = []
    of_inputs: list[Hazard] = []
    remaining: list[Hazard] = []
    if hazards != "ignore":
        of_inputs = input_hazards(
            last_applied, modified, live, lenient, applied.computed.equal
        )
        remaining = changed(applied, last_applied, modified)
        found = [*of_inputs, *remaining]
    if hazards == "error" and is_serious(found):
        raise HazardError(tuple(found))
    patch = applied.patch
    if hazards == "repair" and is_serious(found):
        repair = Repair(last_applied, modified, live, lenient)
        # An object that is kept, as {}, may have lists that are dropped in turn.
        for _ in range(MOST_ROUNDS):
            is_edited = repair.edit(remaining)
            try:
                applied = apply(repair.last_applied, repair.modified, repair)
            except SmpError as error:
                # A member of a union that is there, as {}, excludes the others, and
                # a list as a whole may have what a server refuses.
                if not repair.refuse(error.path):
                    break
                continue
            remaining = changed(applied, repair.last_applied, repair.modified)
            if not is_edited:
                break
        repair.replaced(applied.replaced)
        found = [*repair.not_repaired(of_inputs), *remaining]
        patch = applied.patch
        # The values of others are in the patch, or it deletes what was found in live.
        if repair.warnings or is_serious(remaining):
            patch = repair.guarded(patch)
        warnings += repair.warnings
    result = applied.object
    update = applied.update
    if defaults:
        result = as_stored(result, live, schema, profile=profile)
    # In the order of servers: an update first has to lead to a valid object.
    violations = (
        *update.violations,
        *changed_immutable_fields(live, result, schema),
    )
    if unknown_fields == "merge":
        warnings.extend(unknown_field_warnings(patch, schema))
    for path in applied.leftovers:
        text = f'{_UNKNOWN_DIRECTIVE}: unknown field "{path.decoded}"'
        warnings.append(ApplyWarning("strict-decoding", path, text))
    warnings.extend(stock_server_warnings(update.changes, lenient))
    return ApplyResult(
        result,
        patch,
        kubectl_patch,
        update.changes,
        (*warnings, *update.warnings),
        violations,
        applied.unmet,
        hazards=tuple(found),
    )


def _applied(  # as above
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str,
    overwrite: bool,
    ratchet: bool,
    repair: Repair | None,
) -> _Applied:
    """Compute the patch, apply it, and normalize unions as a server may do.

    With a repair the patch replaces lists whose merge keys are ambiguous.
    """
    computed = strategic.compute_patch(
        last_applied,
        modified,
        live,
        schema,
        overwrite=overwrite,
        preconditions=KUBECTL_PRECONDITIONS,
        notes_met=True,
    )
    patch = computed.patch
    replaced: list[Path] = []
    if repair is not None:
        patch, replaced = strategic.with_whole_lists(
            patch, last_applied or {}, modified, live, schema, repair.refused
        )
    leftovers: list[Path] = []
    # A deletion can also become a part of a new element that has the same merge key.
    if computed.deletes_in_new or computed.ambiguous:
        patch, leftovers = strategic.without_leftovers(live, patch, schema)
    # What an API server does with it: apply, normalize, validate.
    patched = strategic.apply_patch(live, patch, schema)
    update = updated(
        live,
        patched,
        schema,
        profile=profile,
        ratchet=ratchet,
        patch=patch,
        configuration=modified,
    )
    result = update.object
    if update.changes:
        # Servers of today normalize nothing, so the patch has to do it.
        patch = strategic.amended_patch(patch, live, patched, result, schema)
        result = strategic.apply_patch(live, patch, schema)
    unmet = strategic.unmet_paths(
        # Where nothing is to be deleted, nothing can be left.
        last_applied if last_applied and computed.deletes else {},
        modified,
        result,
        schema,
        computed.met,
    )
    return _Applied(computed, patch, result, update, unmet, leftovers, replaced)


def _applied_to_custom_resource(  # noqa: PLR0913  # those of three_way_apply
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str,
    overwrite: bool,
    ratchet: bool,
    unknown_fields: UnknownFields,
    defaults: bool,
    hazards: Policy,
) -> ApplyResult:
    """Apply where no server takes a strategic merge patch; see three_way_apply."""
    # Most applies are of built-in kinds, and loading this takes longer than they do.
    from smp.managed_fields import changed_members, local_merge  # noqa: PLC0415

    lenient = schema.with_unknown_fields(unknown_fields)

    def merge(base: JSONObject | None, manifest: JSONObject) -> _Merged:
        return _merged(
            base or {},
            manifest,
            live,
            lenient,
            profile=profile,
            overwrite=overwrite,
            ratchet=bool(ratchet),
        )

    def found_in(
        merged: _Merged, base: JSONObject | None, manifest: JSONObject
    ) -> list[Hazard]:
        cleared = [change.path for change in merged.update.changes]
        result = merged.update.object
        return custom_resource_hazards(base, manifest, live, result, lenient, cleared)

    merged = merge(last_applied, modified)
    kubectl_patch = merged.kubectl_patch
    warnings: list[ApplyWarning] = []
    found: list[Hazard] = []
    if hazards != "ignore":
        found = found_in(merged, last_applied, modified)
    if hazards == "error" and is_serious(found):
        raise HazardError(tuple(found))
    wanted, base = modified, last_applied
    repair = Repair(last_applied, modified, live, lenient)
    if hazards == "repair" and not lenient.is_custom:
        # A merge by list types keeps what others have put into lists and objects; RFC
        # 7396 removes it with them. An object that is kept may have others in turn.
        for _ in range(MOST_ROUNDS):
            if not repair.edit([each for each in found if each.code == _WITH_OBJECT]):
                break
            wanted, base = repair.modified, repair.last_applied
            merged = merge(base, wanted)
            found = found_in(merged, base, wanted)
        warnings += repair.warnings
    update = merged.update
    result = update.object
    # What the normalization of unions changed is in the patch as all else.
    form = form_of(live, result, lenient)
    reason = form.reason
    if not lenient.is_custom:
        reason = f"merged by RFC 7396, as the kind has no schema; {reason}"
    unmet: tuple[Path, ...] = ()
    if lenient.is_custom and update.changes:
        # Only the normalization of unions does what the configuration did not ask for.
        again = local_merge(base or {}, wanted, result, lenient)
        difference = changed_members(result, again.object, lenient)
        unmet = tuple(strategic.leaf_paths(difference, result, lenient))
    if defaults:
        result = as_stored(result, live, schema, profile=profile)
    if unknown_fields == "merge":
        changed = changed_members(live, merged.object, schema)
        warnings.extend(unknown_field_warnings(changed, schema))
    warnings += [ApplyWarning(_WHOLE, path, _NO_IDENTITY) for path in merged.whole]
    warnings.extend(stock_server_warnings(update.changes, lenient))
    return ApplyResult(
        result,
        form.patch,
        kubectl_patch,
        update.changes,
        (*warnings, *update.warnings),
        (*update.violations, *changed_immutable_fields(live, result, schema)),
        unmet,
        form.media_type,
        reason,
        form.guard,
        tuple(found),
    )


def _merged(
    base: JSONObject,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str,
    overwrite: bool,
    ratchet: bool,
) -> _Merged:
    """Merge a custom resource, and normalize its unions."""
    from smp.managed_fields import changed_members, local_merge  # noqa: PLC0415

    kubectl_patch = three_way_json_merge_patch(base, modified, live)
    # Go: k8s.io/kubectl, apply/patcher.go, buildMergePatch.
    strategic.check_preconditions(kubectl_patch, KUBECTL_PRECONDITIONS)
    merge = local_merge(base, modified, live, schema)
    if not overwrite and merge.conflicts:
        raise ConflictError(merge.conflicts)
    merged = merge.object
    if not schema.is_custom:
        # There is no list type to merge by, and no null that would be a value.
        merged = as_object(merge_patch.apply(live, kubectl_patch))
    update = updated(
        live,
        merged,
        schema,
        profile=profile,
        ratchet=ratchet,
        patch=changed_members(live, merged, schema),
        configuration=modified,
    )
    return _Merged(kubectl_patch, merged, merge.whole, update)


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
    for each in all_directive_hazards(last_applied, live):
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
_MERGED: Final = "unknown to the schema; merged by RFC 7396"


@over_json("the patch", "patch")
def unknown_field_warnings(
    patch: JSONObject, schema: Schema
) -> tuple[ApplyWarning, ...]:
    """Return a warning for each place where a patch is merged without a schema."""
    paths = strategic.unknown_paths(patch, schema)
    return tuple(ApplyWarning("unknown-field", path, _MERGED) for path in paths)
