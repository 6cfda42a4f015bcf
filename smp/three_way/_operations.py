"""The operations of this package: do a three-way apply, and find its hazards."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from smp._values.last_applied import INPUTS, ApplyInputs
from smp._values.plain import over_json, require_object, require_object_or_none
from smp.errors import SmpError
from smp.hazards import POLICIES, Hazard, Policy, all_directive_hazards, input_hazards
from smp.paths import sort_by_path
from smp.schema.model import AnyType, Schema, UnknownFields
from smp.three_way._built_in import StrategicApply
from smp.three_way._phases import ApplyResult, ThreeWayOptions
from smp.unions import profile_named


@over_json("the object", *INPUTS, deciding=INPUTS)
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
    inputs = ApplyInputs.of(last_applied, modified, live)
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
        # Most applies are of built-in kinds, and take less time than to load this.
        from smp.three_way._custom import CustomApply  # noqa: PLC0415  # see above

        return CustomApply(inputs, schema, options).run()
    return StrategicApply(inputs, schema, options).run()


@over_json("the object", *INPUTS)
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
    return sort_by_path(found)
