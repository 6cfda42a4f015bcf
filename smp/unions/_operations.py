"""The public functions of unions, each one walk over an object."""

from __future__ import annotations

from typing import Literal, TypeAlias

from smp.errors import ObjectError, UnionError, bounded
from smp.schema.model import Schema
from smp.schema.walk import Interest, Walk, plan_of
from smp.unions._normalize import NormalizationInterest, NormalizationRule, together
from smp.unions._profiles import OFF, PROFILES, profile_named
from smp.unions._results import Normalization
from smp.unions._validate import (
    DESIRED,
    ContradictionRule,
    ValidationInterest,
    ValidationRule,
)
from smp.values import ABSENT, JSONObject, as_object, type_name
from smp.violations import Violation

OnConflict: TypeAlias = Literal["error", "clear"]

# An interest holds no state of a walk, so each is made once.
_NORMALIZATION = {
    name: NormalizationInterest(profile) for name, profile in PROFILES.items()
}
_VALIDATION = {name: ValidationInterest(profile) for name, profile in PROFILES.items()}
_DESIRED = ValidationInterest(DESIRED)


@bounded("the object")
def normalize_unions(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    patch: JSONObject | None = None,
    on_conflict: OnConflict = "error",
) -> Normalization:
    """Clear the members of unions that an update left behind, as a profile decides.

    ``old`` is the object before the update, None for a create; ``new`` is it after
    patch and defaulting. With ``patch``, clearing what the patch itself sets or retains
    is a UnionConflictError, unless ``on_conflict`` is ``clear``. Raises UnionError for
    what a profile refuses (all at once), SchemaError for unions that contradict
    themselves. KEP-1027, Normalization.
    """
    _require_object(new)
    chosen = profile_named(profile)
    if not chosen.rules:
        return Normalization(new)
    plan = plan_of(schema.types, [_NORMALIZATION[profile]])
    rule = NormalizationRule(
        plan,
        ABSENT if patch is None else patch,
        clear_conflicts=on_conflict == "clear",
    )
    result = Walk(plan, [rule]).run(ABSENT if old is None else old, new, schema.type)
    if rule.problems:
        raise together(rule.problems)
    return Normalization(as_object(result), tuple(rule.changes), tuple(rule.warnings))


@bounded("the object")
def validate_unions(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    ratchet: bool = False,
) -> tuple[Violation, ...]:
    """Return what a server would reject in the unions of a normalized object.

    With ``ratchet``, what was already wrong in ``old`` for the same reason is
    tolerated, and what ``new`` shares with ``old`` is not looked at. KEP-1027,
    Validation.
    """
    _require_object(new)
    if profile_named(profile) is OFF:
        return ()
    rule = ValidationRule(ratchet=ratchet)
    walk = Walk(
        plan_of(schema.types, [_VALIDATION[profile]]), [rule], whole=not ratchet
    )
    walk.run(ABSENT if old is None else old, new, schema.type)
    return tuple(rule.found)


def acts_unasked(schema: Schema, profile: str) -> bool:
    """Tell whether a profile may normalize an object though nothing in it changed."""
    if not profile_named(profile).rules:
        return False
    plan = plan_of(schema.types, [_NORMALIZATION[profile]])
    return plan.acts_unchanged(schema.type)


def validation(
    profile: str, *, ratchet: bool
) -> tuple[list[Interest], list[ValidationRule]]:
    """Return the interests and the rules that validate unions, to share a walk."""
    if profile_named(profile) is OFF:
        return [], []
    return [_VALIDATION[profile]], [ValidationRule(ratchet=ratchet)]


def normalize_applied(
    live: JSONObject,
    patched: JSONObject,
    modified: JSONObject,
    patch: JSONObject,
    schema: Schema,
    *,
    profile: str,
    ratchet: bool,
) -> Normalization:
    """Normalize what an apply makes of a live object.

    Raises UnionError where the modified configuration contradicts itself; with
    ``ratchet`` only where it changes something.
    """
    chosen = profile_named(profile)
    if chosen is OFF:
        return Normalization(patched)
    if not ratchet:
        _refuse(contradictions(modified, schema))
    if patched is live:
        return normalize_unions(live, patched, schema, profile=profile, patch=patch)
    plan = plan_of(schema.types, [_DESIRED, _NORMALIZATION[profile]])
    contradiction = ContradictionRule(modified)
    rule = NormalizationRule(
        plan_of(schema.types, [_NORMALIZATION[profile]]), patch, clear_conflicts=False
    )
    result = Walk(plan, [contradiction, rule]).run(live, patched, schema.type)
    _refuse(tuple(contradiction.found))
    if rule.problems:
        raise together(rule.problems)
    return Normalization(as_object(result), tuple(rule.changes), tuple(rule.warnings))


def _refuse(found: tuple[Violation, ...]) -> None:
    if found:
        text = "; ".join([str(violation) for violation in found])
        raise UnionError(
            f"the configuration contradicts itself: {text}",
            code="union-contradiction",
            path=found[0].path,
            hint="set one member of a union, and the discriminator to its value",
        )


@bounded("the configuration")
def contradictions(desired: JSONObject, schema: Schema) -> tuple[Violation, ...]:
    """Return where a configuration sets two members of a union, or an excluded one.

    Unlike an object, a configuration may leave out what a server fills in. Go:
    structured-merge-diff v4.3, NormalizeUnionsApply.
    """
    _require_object(desired)
    rule = ValidationRule(ratchet=False)
    Walk(plan_of(schema.types, [_DESIRED]), [rule]).run(ABSENT, desired, schema.type)
    return tuple(rule.found)


def _require_object(value: object) -> None:
    if type(value) is not dict:
        raise ObjectError(
            f"an object is expected, not {type_name(value)}", code="not-an-object"
        )
