"""The steps of a server, from an object that a request asks for to the one it stores.

They are in the order of k8s.io/apiserver: endpoints/handlers/patch.go and create.go
make the object, registry/rest/create.go and update.go prepare and validate it. A caller
takes the steps that its server takes:

1. ``decode_object``: types, fields that are not known, what cannot be decoded. An apply
   has compared its configuration with the types before anything changed that (Go:
   structuredMergeManager.Apply).
2. ``as_requested``: typed storage, and the defaults, as a field manager sees them.
   ``as_stored`` is the same without the managers.
3. What the endpoint does not write is as it was (Go: PrepareForUpdate). Field managers
   do not look at it either (Go: ResetFields), whether it comes before or after them.
4. Managed fields: ``smp.managed_fields.track``, or an apply.
5. Admission, the hook of a caller.
6. ``updated``: unions are normalized, and the object is validated (KEP-1027).
7. ``put_at_rest``: what the strategy of a kind drops, and what a server reads from its
   storage again.

The rules of the last step share one walk, over what the update changed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp.conformance import ConformanceRule, Misfit, conforming
from smp.defaults import with_defaults
from smp.enums import ENUM_INTEREST, EnumRule
from smp.errors import ApplyWarning, UnionError
from smp.paths import Path
from smp.schema.model import Schema
from smp.schema.plan import Interests, plan_of
from smp.schema.walk import Rule, Walk
from smp.typed_storage import decoding_problem, stored
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
from smp.values import ABSENT, JSONArray, JSONObject, as_list, as_object
from smp.violations import Violation


class Decoded(msgspec.Struct, frozen=True):
    """An object as a server decodes it, and what is wrong with it.

    ``misfits`` are values of a wrong type, at which a decoder fails; ``problem`` is a
    text that its type does not allow, such as a quantity that is none.
    """

    object: JSONObject
    unknown_fields: tuple[Path, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    problem: str = ""


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


def decode_object(
    new: JSONObject,
    old: JSONObject | None,
    schema: Schema,
    *,
    typed: bool,
    custom: bool,
    prunes: bool = True,
) -> Decoded:
    """Compare an object with the types of its kind, and drop what a server drops.

    With ``typed`` the object goes into typed storage next, which makes zero values of
    nulls; the nulls of a ``custom`` resource stay. Unknown fields are dropped where the
    server ``prunes``. What the object shares with ``old`` is not visited. Raises
    RecursionError. Go: the decoders of apimachinery and of apiextensions-apiserver.
    """
    if new is old:
        return Decoded(new)
    rule = ConformanceRule(
        prunes=prunes,
        keeps_nulls=custom or typed,
        null_elements=typed and not custom,
    )
    obj = conforming(new, old, schema, rule)
    problem = ""
    if typed and not rule.misfits:
        problem = decoding_problem(obj, schema, old)
    return Decoded(obj, tuple(rule.unknown_fields), tuple(rule.misfits), problem)


def as_requested(
    obj: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return an object as a server shows it to field managers: see ``as_stored``.

    An empty list of managedFields is not stored, but it means to reset them (Go:
    isResetManagedFields).
    """
    typed = as_stored(obj, old, schema, profile=profile)
    if as_object(obj.get("metadata")).get("managedFields") == []:
        metadata = as_object(typed.get("metadata"))
        return {**typed, "metadata": {**metadata, "managedFields": []}}
    return typed


def as_stored(
    obj: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return an object as a server decodes it, and with the defaults that it fills in.

    What it shares with ``old``, the stored object, is not visited. Raises DepthError.
    """
    return fill_in(stored(obj, schema, old), old, schema, profile=profile)


def fill_in(
    decoded: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return a decoded object with the defaults that a server fills in.

    Where a profile of unions is in force, no default is a member that is not chosen.
    """
    defaulted = with_defaults(decoded, schema, old=old)
    return without_unchosen_defaults(decoded, defaulted, schema, profile=profile)


# Lists of built-in kinds, and the fields that a server stores of their elements.
_STORED_OF_ELEMENTS: Final = {
    # Go: pkg/registry/core/serviceaccount, cleanSecretReferences.
    ("v1", "ServiceAccount"): ("secrets", ("name",)),
}


def put_at_rest(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> JSONObject:
    """Return an object of a built-in kind as a server reads it from its storage.

    What it shares with ``old``, the stored object, is not visited. Raises DepthError.
    """
    name, fields = _STORED_OF_ELEMENTS.get((schema.api_version, schema.kind), ("", ()))
    elements = as_list(obj.get(name))
    if any(not as_object(element).keys() <= {*fields} for element in elements):
        stored_elements: JSONArray = []
        for element in elements:
            members = as_object(element)
            kept: JSONObject = {}
            for field in fields:
                if field in members:
                    kept[field] = members[field]
            stored_elements.append(kept)
        obj = {**obj, name: stored_elements}
    return stored(obj, schema, old, at_rest=True)


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
