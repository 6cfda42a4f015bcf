"""The public functions of unions, each one walk over an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from smp._values.plain import not_an_object, over_json, plain
from smp._values.values import ABSENT, JSON, JSONObject, as_object, show
from smp.errors import UnionError
from smp.paths import sort_by_path
from smp.schema.model import Schema
from smp.schema.plan import Interest, Interests, acts_on_unchanged, plan_of
from smp.schema.walk import Walk
from smp.unions._defaults import MemberDefaultsInterest, MemberDefaultsRule
from smp.unions._normalize import (
    Normalization,
    NormalizationInterest,
    NormalizationRule,
    raise_problems,
)
from smp.unions._profiles import OFF, PROFILES, profile_named, unknown_profile
from smp.unions._validate import DESIRED, UnionValidationInterest, ValidationRule
from smp.violations import Violation

OnConflict: TypeAlias = Literal["error", "clear"]
_ON_CONFLICT: Final = ("error", "clear")

# An interest holds no state of a walk, so each is made once.
NORMALIZATION_INTERESTS: Final[Mapping[str, Interest]] = {
    name: NormalizationInterest(profile) for name, profile in PROFILES.items()
}
VALIDATION_INTERESTS: Final[Mapping[str, Interest]] = {
    name: UnionValidationInterest(profile) for name, profile in PROFILES.items()
}
CONTRADICTION_INTEREST: Final = UnionValidationInterest(DESIRED)
_NORMALIZATION: Final = {
    name: Interests(interest) for name, interest in NORMALIZATION_INTERESTS.items()
}
_VALIDATION: Final = {
    name: Interests(interest) for name, interest in VALIDATION_INTERESTS.items()
}
# Defaults move no element: each is compared with the one at its place.
_DEFAULTS: Final = {
    name: Interests(MemberDefaultsInterest(profile), merge_keys=False, map_keys=False)
    for name, profile in PROFILES.items()
}
_DESIRED: Final = Interests(CONTRADICTION_INTEREST)


def normalize_unions(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    schema: Schema,
    *,
    profile: str = "kep1027",
    patch: Mapping[str, Any] | None = None,
    on_conflict: OnConflict = "error",
) -> Normalization:
    """Clear the members of unions that an update left behind, as a profile decides.

    ``old`` is the object before the update, None for a create; ``new`` is it after
    patch and defaulting. With ``patch``, clearing what the patch itself gives a value
    is a UnionConflictError, or with ``on_conflict="clear"`` a warning. Raises
    UnionError for what a profile refuses (all at once), SchemaError for unions that
    contradict themselves. KEP-1027, Normalization.
    """
    if on_conflict not in _ON_CONFLICT:
        raise UnionError(
            f"unknown treatment of conflicts {show(on_conflict)}",
            code="unknown-option",
            hint=" or ".join(_ON_CONFLICT),
        )
    if not isinstance(profile, str):
        raise unknown_profile(profile)
    # What is no schema is found below.
    at_rest = getattr(schema, "at_rest", ())
    if new is old and type(new) is dict and profile in at_rest:
        return Normalization(new)
    # Only what changed pays for the guard.
    return _normalize(old, new, schema, profile, patch, on_conflict)


@over_json("the object", "old", "new", "patch")
def _normalize(
    old: Any,
    new: Any,
    schema: Schema,
    profile: str,
    patch: Any,
    on_conflict: OnConflict,
) -> Normalization:
    _require_object(new)
    if new is old and not acts_unasked(schema, profile):
        schema.at_rest.add(profile)
        return Normalization(new)
    if not profile_named(profile).rules:
        return Normalization(new)
    plan = plan_of(schema.types, _NORMALIZATION[profile])
    rule = NormalizationRule(
        plan,
        ABSENT if patch is None else plain(patch),
        clear_conflicts=on_conflict == "clear",
    )
    result = _run(Walk(plan, [rule]), old, new, schema)
    raise_problems(rule.problems)
    return Normalization(as_object(result), tuple(rule.changes), tuple(rule.warnings))


def validate_unions(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    schema: Schema,
    *,
    profile: str = "kep1027",
    ratchet: bool = False,
) -> tuple[Violation, ...]:
    """Return what a server would reject in the unions of a normalized object, by path.

    With ``ratchet``, what was already wrong in ``old`` for the same reason is
    tolerated, and what ``new`` shares with ``old`` is not looked at. KEP-1027,
    Validation.
    """
    if not isinstance(profile, str):
        raise unknown_profile(profile)
    if new is old and ratchet and type(new) is dict and profile in PROFILES:
        return ()
    return _violations(old, new, schema, profile, ratchet=bool(ratchet))


@over_json("the object", "old", "new")
def _violations(
    old: Any, new: Any, schema: Schema, profile: str, *, ratchet: bool
) -> tuple[Violation, ...]:
    _require_object(new)
    if profile_named(profile) is OFF:
        return ()
    rule = ValidationRule(ratchet=ratchet)
    walk = Walk(plan_of(schema.types, _VALIDATION[profile]), [rule], whole=not ratchet)
    _run(walk, old, new, schema)
    return sort_by_path(rule.violations)


@over_json("the object", "undefaulted", "defaulted")
def drop_unchosen_defaults(
    undefaulted: JSONObject, defaulted: JSONObject, schema: Schema, *, profile: str
) -> JSONObject:
    """Return a defaulted object without defaulted members beside the selected one.

    ``undefaulted`` is the object before its defaults were added. A profile that clears
    nothing leaves them where they are.
    """
    if undefaulted is defaulted or not profile_named(profile).rules:
        return defaulted
    _require_object(defaulted)
    plan = plan_of(schema.types, _DEFAULTS[profile])
    return as_object(
        Walk(plan, [MemberDefaultsRule()]).run(undefaulted, defaulted, schema.type)
    )


def acts_unasked(schema: Schema, profile: str) -> bool:
    """Tell whether a profile may normalize an object though nothing in it changed."""
    if not profile_named(profile).rules:
        return False
    return acts_on_unchanged(schema, _NORMALIZATION[profile])


def contradictions(desired: JSONObject, schema: Schema) -> tuple[Violation, ...]:
    """Return where a configuration sets two members of a union, or an excluded one.

    Unlike an object, a configuration may leave out what a server fills in. Go:
    structured-merge-diff v4.3, NormalizeUnionsApply.
    """
    _require_object(desired)
    rule = ValidationRule(ratchet=False)
    _run(Walk(plan_of(schema.types, _DESIRED), [rule]), None, desired, schema)
    return sort_by_path(rule.violations)


def _run(walk: Walk, old: JSONObject | None, new: JSONObject, schema: Schema) -> JSON:
    return walk.run(ABSENT if old is None else old, new, schema.type)


def _require_object(value: object) -> None:
    if type(value) is not dict:
        raise not_an_object("the new value", value)
