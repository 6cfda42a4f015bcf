"""What a server does with an updated object: it normalizes unions, and validates.

Both are rules that share one walk, over what the update changed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp.defaults import with_defaults
from smp.enums import ENUM_INTEREST, EnumRule
from smp.errors import ApplyWarning, UnionError
from smp.schema.model import Schema
from smp.schema.plan import Interests, plan_of
from smp.schema.walk import Rule, Walk
from smp.typed_storage import stored
from smp.unions import (
    CONTRADICTION_INTEREST,
    NORMALIZATION_INTERESTS,
    OFF,
    PROFILES,
    VALIDATION_INTERESTS,
    Change,
    ContradictionRule,
    NormalizationRule,
    OnConflict,
    ValidationRule,
    contradictions,
    profile_named,
    raise_problems,
    without_unchosen_defaults,
)
from smp.values import ABSENT, JSONObject, as_object
from smp.violations import Violation


class Update(msgspec.Struct, frozen=True):
    """The normalized object, what was changed in it, and what a server would reject."""

    object: JSONObject
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
    violations: tuple[Violation, ...] = ()


_VALIDATION: Final = {
    name: Interests(VALIDATION_INTERESTS[name], ENUM_INTEREST) for name in PROFILES
}
_NORMALIZATION: Final = {
    name: Interests(
        NORMALIZATION_INTERESTS[name], VALIDATION_INTERESTS[name], ENUM_INTEREST
    )
    for name in PROFILES
}
_APPLY: Final = {
    name: Interests(
        NORMALIZATION_INTERESTS[name],
        VALIDATION_INTERESTS[name],
        ENUM_INTEREST,
        CONTRADICTION_INTEREST,
    )
    for name in PROFILES
}
_ENUMS: Final = Interests(ENUM_INTEREST)


def updated(  # noqa: PLR0913  # what led to the object, and what to judge it by
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str,
    ratchet: bool,
    patch: JSONObject | None = None,
    on_conflict: OnConflict = "error",
    configuration: JSONObject | None = None,
    applied: bool = False,
) -> Update:
    """Normalize the unions of an object by a profile, and validate it.

    ``patch`` is what led to the new object, ``on_conflict`` says what to do where it
    sets a member and asks for another one, ``configuration`` is the modified
    configuration of an apply. ``applied`` says that the patch is a configuration, which
    server-side apply has merged. With ``ratchet``, what the new object shares with the
    old one is not looked at, and what was wrong before for the same reason is
    tolerated.
    Raises UnionError where a profile refuses, or where the configuration contradicts
    itself, and RecursionError. KEP-1027, Normalization and Validation.
    """
    if profile_named(profile) is OFF:
        # Enums are judged all the same.
        rule = EnumRule(ratchet=ratchet)
        walk = Walk(plan_of(schema.types, _ENUMS), [rule], whole=not ratchet)
        walk.run(ABSENT if old is None else old, new, schema.type)
        return Update(new, violations=tuple(rule.violations))
    if configuration is not None and not ratchet:
        _raise_contradictions(contradictions(configuration, schema))
    interests = (_NORMALIZATION if configuration is None else _APPLY)[profile]
    plan = plan_of(schema.types, interests)
    type_ = schema.type
    if not plan.leads(type_):
        # No union and no enum can be reached: a ConfigMap, a Secret.
        return Update(new)
    normalization = NormalizationRule(
        plan,
        ABSENT if patch is None else patch,
        clear_conflicts=on_conflict == "clear",
        applied=applied,
    )
    validation = ValidationRule(ratchet=ratchet)
    enums = EnumRule(ratchet=ratchet)
    rules: list[Rule] = [normalization, validation, enums]
    contradiction = ContradictionRule(configuration or {})
    if configuration is not None:
        rules.append(contradiction)
    before = ABSENT if old is None else old
    result = Walk(plan, rules, whole=not ratchet).run(before, new, type_)
    _raise_contradictions(tuple(contradiction.violations))
    raise_problems(normalization.problems)
    obj = as_object(result)
    if normalization.changes:
        # A member with a violation may have been cleared: the normalized object counts.
        validation = ValidationRule(ratchet=ratchet)
        enums = EnumRule(ratchet=ratchet)
        plan = plan_of(schema.types, _VALIDATION[profile])
        walk = Walk(plan, [validation, enums], whole=not ratchet)
        walk.run(before, obj, type_)
    # A discriminator may have an enum of its own: a server refuses its value once.
    refused = [(violation.code, violation.path) for violation in validation.violations]
    others = [
        violation
        for violation in enums.violations
        if (violation.code, violation.path) not in refused
    ]
    return Update(
        obj,
        tuple(normalization.changes),
        tuple(normalization.warnings),
        (*validation.violations, *others),
    )


def as_stored(
    obj: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return an object as a server decodes it, and with the defaults that it fills in.

    What it shares with ``old``, the stored object, is not visited. Where a profile of
    unions is in force, no default is a member that is not chosen. Raises DepthError.
    """
    decoded = stored(obj, schema, old)
    defaulted = with_defaults(decoded, schema, old=old)
    return without_unchosen_defaults(decoded, defaulted, schema, profile=profile)


def _raise_contradictions(violations: tuple[Violation, ...]) -> None:
    if violations:
        listing = [str(violation) for violation in violations]
        if len(listing) == 1:
            text = f": {listing[0]}"
        else:
            text = "".join([f"\n  {line}" for line in listing])
        raise UnionError(
            f"the configuration contradicts itself{text}",
            code="union-contradiction",
            path=violations[0].path,
            hint="set one member of a union, and the discriminator to its value",
        )
