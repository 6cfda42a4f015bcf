"""Validating unions, on the normalized object: what a server would reject.

V1 to V5 are the rules of KEP-1027. A union with answers (smp.schema.union_groups) is
one that API servers validate by code of their own: it is refused in their words. Under
``validate-only`` the others are judged by Kubernetes' declarative validation (Go:
k8s.io/apimachinery/pkg/api/validate, Union and DiscriminatedUnion).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from smp._values.values import ABSENT, JSON, JSONObject, as_text, same
from smp.paths import Key, Path, Step
from smp.schema.go_structs import print_struct
from smp.schema.model import ListType, ObjectType, Type
from smp.schema.plan import Interest
from smp.schema.union_groups import Answer, Failure, Member, UnionGroup
from smp.schema.walk import Counterpart, Place, Rule
from smp.unions._normalize import require_keys_outside_unions
from smp.unions._profiles import (
    KEP_1027,
    KEP_2019,
    VALIDATE_ONLY,
    Choice,
    Profile,
    profile_of,
)
from smp.unions._situation import UnionFacts, choice, discriminator_value, select
from smp.violations import (
    NAMES,
    Reason,
    Violation,
    quote_json,
    unsupported,
    violation_of,
)

# The step to what is above an object.
PARENT: Final = Key("..")
_PLACEHOLDER: Final = re.compile(r"\{(value|members|object|member|name|selecting)\}")
_REASONS: Final[Mapping[str, Reason]] = {
    "Forbidden": "FieldValueForbidden",
    "Invalid": "FieldValueInvalid",
    "Required": "FieldValueRequired",
}
# What a user asks for: it may leave out what a server fills in. (Go:
# structured-merge-diff v4.3, NormalizeUnionsApply.)
DESIRED: Final = Profile("desired")


class ValidatedUnions:
    """The unions of a type, each with the profile whose rules it has to keep."""

    def __init__(self, unions: list[UnionFacts]) -> None:
        self.unions = unions


class UnionValidationInterest(Interest):
    """Object types with unions."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(f"validate {profile.name}")
        self._profile = profile

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:
        """Return the unions of an object type."""
        if isinstance(type_, ListType):
            require_keys_outside_unions(type_, keys)
        if not isinstance(type_, ObjectType) or not type_.unions:
            return None
        unions: list[UnionFacts] = []
        for union in type_.unions:
            if union.validated:
                profile = DESIRED
                if self._profile is not DESIRED:
                    profile = profile_of(union, self._profile)
                if profile is VALIDATE_ONLY and union.answers:
                    # A server validates this union by code of its own, which decides
                    # as KEP-1027 does, in the words of the union's answers.
                    profile = KEP_1027
                unions.append(UnionFacts(union, profile))
        return ValidatedUnions(unions) if unions else None


class ValidationRule(Rule):
    """Finds the violations of each object's own unions, then those further down.

    With ``ratchet`` a union is tolerated that is as it was in the old object: KEP-1027,
    Ratcheting Validation, "if and only if the existing object also fails the stricter
    validation for the same reason".
    """

    def __init__(self, *, ratchet: bool) -> None:
        self.violations: list[Violation] = []
        self._ratchet = ratchet

    def enter(self, place: Place, facts: object | None) -> bool:
        """Judge the unions of an object."""
        new = place.new
        if self._ratchet and new is place.old:
            return True
        if isinstance(facts, ValidatedUnions) and isinstance(new, dict):
            for union in facts.unions:
                members = union.members_set(new)
                if union.discriminator or len(members) > 1 or union.required:
                    self._union(place, new, union)
        return True

    def _union(self, place: Place, new: JSONObject, facts: UnionFacts) -> None:
        type_ = place.node.type
        likely = place.likely
        old = likely if isinstance(likely, dict) else None
        violations = violations_of(facts, old, new, type_)
        if not violations:
            return
        if self._ratchet and (place.shared or _is_tolerated(facts, place, type_)):
            return
        path = place.path
        for violation in violations:
            self.violations.append(_place_violation(violation, path))


class ContradictionRule(Rule):
    """Finds where a configuration contradicts itself, in a walk along its outcome.

    The outcome has all members that the configuration sets, so the configuration is
    looked at only where the outcome contradicts itself.
    """

    def __init__(self, configuration: JSONObject) -> None:
        self.violations: list[Violation] = []
        self._configuration = Counterpart(configuration)

    def enter(self, place: Place, facts: object | None) -> bool:
        """Judge what the configuration says of an object."""
        new = place.new
        if new is place.old:
            return True
        if isinstance(facts, ValidatedUnions) and isinstance(new, dict):
            for union in facts.unions:
                if contradictions_of(union, new) and not place.shared:
                    desired = self._configuration.at(place)
                    if isinstance(desired, dict):
                        for violation in contradictions_of(union, desired):
                            self.violations.append(
                                _place_violation(violation, place.path)
                            )
        return True


def _place_violation(violation: Violation, path: Path) -> Violation:
    """Return the violation of an object at a path; it may name what is above it."""
    if PARENT not in violation.path.steps:
        return violation.below(path)
    steps = [*path.steps]
    for step in violation.path.steps:
        if step is not PARENT:
            steps.append(step)
        elif steps:
            steps.pop()
    return msgspec.structs.replace(violation, path=Path(tuple(steps)))


def violations_of(
    facts: UnionFacts, old: JSONObject | None, obj: JSONObject, type_: Type
) -> list[Violation]:
    """Return what is wrong with one union of an object; paths start at the object.

    ``old`` is the object before the update, None where there was none.
    """
    profile = facts.profile
    if profile is DESIRED:
        return contradictions_of(facts, obj)
    if facts.union.at_least_one:
        return [] if facts.members_set(obj) else _none(facts.union, obj)
    if facts.union.answers:
        # What Go takes for unset never reaches the validation of a server.
        obj = _drop_zero_values(facts, obj, type_)
    if profile is KEP_1027 and facts.discriminator:
        return _judge_discriminator(facts, old, obj)
    if profile is KEP_1027:
        # Without a discriminator KEP-1027 leaves them to Kubernetes' own validation.
        return _exactly_or_at_most_one(facts, _drop_zero_values(facts, obj, type_))
    if profile is VALIDATE_ONLY:
        seen = _drop_zero_values(facts, obj, type_)
        if facts.discriminator:
            return _members_of_value(facts, seen)
        return _exactly_or_at_most_one(facts, seen)
    return _judge_at_most_one(facts, obj)


def _drop_zero_values(facts: UnionFacts, obj: JSONObject, type_: Type) -> JSONObject:
    """Leave out the members that Go takes for unset: empty lists and empty maps.

    An empty struct is set: it is a pointer in Go.
    """
    unset: list[str] = []
    for name, value in obj.items():
        # Most values are not empty.
        if value or not isinstance(value, (dict, list)) or name not in facts.names:
            continue
        field = type_.field(name)
        is_map = (
            field is not None
            and isinstance(field.type, ObjectType)
            and field.type.others is not None
        )
        if is_map or isinstance(value, list):
            unset.append(name)
    if not unset:
        return obj
    return {name: value for name, value in obj.items() if name not in unset}


def _judge_discriminator(
    facts: UnionFacts, old: JSONObject | None, obj: JSONObject
) -> list[Violation]:
    union = facts.union
    value = discriminator_value(union, KEP_1027, obj)
    former = None if old is None else discriminator_value(union, KEP_1027, old)
    chosen = choice(union, value, KEP_1027)
    member = select(union, value, KEP_1027)
    members = facts.members_set(obj)
    violations: list[Violation] = []
    # V1: the value is not in the enum of the discriminator.
    if chosen is Choice.UNKNOWN:
        at, stored = Path((union.discriminator,)), obj.get(union.discriminator)
        violations.append(unsupported(at, stored, sorted(union.allowed or ())))
    # V5: a required discriminator, and one whose union has members, has to be set.
    if chosen is Choice.MISSING and (union.required or members):
        violations.extend(_require_discriminator(union, obj))
    # V2: of several members only the selected one may be set. "The client must change
    # the discriminator if it changes any union member fields."
    if union.answers:
        violations.extend(
            _check_unselected_as_answered(union, chosen, member, obj, members)
        )
    elif len(members) > 1:
        unmodified = old is not None and former == value
        violations.extend(_surplus(facts, obj, members, unmodified=unmodified))
    # V3: the selected member is required while the discriminator selects it.
    if member is not None and not member.optional:
        is_empty = member.not_empty and obj.get(member.name) == ""
        if member.name not in members or is_empty:
            violations.extend(_require_member(union, member, obj))
    # V4: another member is forbidden then. (Of several, V2 tells already.)
    if len(members) == 1 and not union.answers:
        forbidden = chosen in (Choice.EMPTY, Choice.NONE, Choice.MEMBER)
        if chosen is Choice.UNMAPPED and old is not None and former != value:
            # KEP-1027, cases 34 and 39: a discriminator changed to a value that is not
            # known, beside a member of another one. "The server will see the
            # unrecognized discriminator value and can fail loudly."
            name = members[0]
            forbidden = same(old.get(name, ABSENT), obj[name])
        if forbidden:
            violations.extend(_check_unselected_members(union, member, obj, members))
    return violations


def _check_unselected_members(
    union: UnionGroup, chosen: Member | None, obj: JSONObject, members: list[str]
) -> list[Violation]:
    value = discriminator_value(union, KEP_1027, obj)
    meaning = choice(union, value, KEP_1027)
    answered = _check_unselected_as_answered(union, meaning, chosen, obj, members)
    if answered:
        return answered
    rule = _forbidden(union, value, members)
    return [
        _member_forbidden("member-forbidden", member, rule)
        for member in union.members
        if member.name in members and (chosen is None or member.name != chosen.name)
    ]


def _surplus(
    facts: UnionFacts, obj: JSONObject, members: list[str], *, unmodified: bool = False
) -> list[Violation]:
    """Return a violation for each member that is set beside the one that counts.

    That is the selected one. Where the discriminator does not tell, it is the first, as
    in a server's own validation (Go: k8s.io/kubernetes, pkg/apis/core/validation,
    validateVolumeSource). ``unmodified``: an update left the discriminator as it was.
    """
    union = facts.union
    if union.answers and not union.discriminator:
        return _several_as_answered(union, obj, members)
    value = discriminator_value(union, facts.profile, obj)
    meaning = choice(union, value, facts.profile)
    chosen = select(union, value, facts.profile)
    answered = _check_unselected_as_answered(union, meaning, chosen, obj, members)
    if answered:
        return answered
    if meaning in (Choice.MEMBER, Choice.EMPTY, Choice.NONE):
        kept = "" if chosen is None else chosen.name
    else:
        value = None
        kept = members[0]
    violations: list[Violation] = []
    for member in union.members:
        if member.name in members and member.name != kept:
            rule = _forbidden(union, value, members)
            if unmodified and value is not None:
                name = union.discriminator
                rule = f"{rule}; `{name}` must change to '{member.value}' with it"
            violations.append(_member_forbidden("union-several", member, rule))
    return violations


def _judge_at_most_one(facts: UnionFacts, obj: JSONObject) -> list[Violation]:
    # KEP-1027 of 2019: unions are "at most one"; "exactly one" is said elsewhere.
    union = facts.union
    members = facts.members_set(obj)
    if len(members) > 1:
        return _surplus(facts, obj, members)
    if members or not union.required:
        return []
    value = discriminator_value(union, KEP_2019, obj)
    member = select(union, value, KEP_2019)
    chosen = choice(union, value, KEP_2019)
    # Draft of KEP-1027: "If required, the union must have exactly one member set". Only
    # a declared value, or an optional member, can stand for one that has no field.
    if chosen is Choice.EMPTY or (member is not None and member.optional):
        return []
    return _none(union, obj)


def _exactly_or_at_most_one(facts: UnionFacts, obj: JSONObject) -> list[Violation]:
    members = facts.members_set(obj)
    union = facts.union
    if len(members) > 1 and union.answers:
        return _several_as_answered(union, obj, members)
    if len(members) > 1:
        # Go: api/validate, Union and ZeroOrOneOfUnion.
        most = "exactly" if union.required else "at most"
        rule = f"must specify {most} one of: {_quote(union.names)}"
        message = f'Invalid value: "{{{", ".join(members)}}}": {rule}'
        value: list[JSON] = [*members]
        return [Violation("union-several", Path(), "FieldValueInvalid", message, value)]
    return _none(union, obj) if not members and union.required else []


def _members_of_value(facts: UnionFacts, obj: JSONObject) -> list[Violation]:
    # Go: api/validate.DiscriminatedUnion judges each member against the discriminator.
    union = facts.union
    value = discriminator_value(union, VALIDATE_ONLY, obj)
    chosen = select(union, value, VALIDATE_ONLY)
    members = facts.members_set(obj)
    violations: list[Violation] = []
    for member in union.members:
        is_set = member.name in members
        if is_set == (member is chosen) or (member is chosen and member.optional):
            continue
        code, rule = "member-forbidden", "may only be specified"
        if not is_set:
            code, rule = "member-required", "must be specified"
        text = f'{rule} when `{union.discriminator}` is "{member.value}"'
        violations.append(
            violation_of("FieldValueInvalid", Path((member.name,)), text, "", code=code)
        )
    return violations


def contradictions_of(facts: UnionFacts, obj: JSONObject) -> list[Violation]:
    """Return where an object sets two members, or one that its value excludes."""
    union = facts.union
    members = facts.members_set(obj)
    if union.at_least_one:
        # What is left out may be filled in by others.
        return []
    if len(members) > 1:
        return _surplus(facts, obj, members)
    value = obj.get(union.discriminator)
    if not isinstance(value, str):
        return []
    if choice(union, value, KEP_1027) in (Choice.UNMAPPED, Choice.UNKNOWN):
        return []
    return _check_unselected_members(
        union, select(union, value, KEP_1027), obj, members
    )


def _forbidden(union: UnionGroup, value: str | None, members: list[str]) -> str:
    """Word the rule that a surplus member breaks; None: no value decides."""
    if union.discriminator and value is not None:
        return f"may not be specified when `{union.discriminator}` is '{value}'"
    return f"may not specify more than 1 of: {_quote(members)}"


def _quote(names: Iterable[str]) -> str:
    return ", ".join([f"`{name}`" for name in names])


def _none(union: UnionGroup, obj: JSONObject) -> list[Violation]:
    answers = union.answers.get("none", ())
    if answers:
        return _answer("union-none", answers, union, obj)
    rule = f"must specify one of: {_quote(union.names)}"
    return [violation_of("FieldValueInvalid", Path(), rule, "", code="union-none")]


def _several_as_answered(
    union: UnionGroup, obj: JSONObject, members: list[str]
) -> list[Violation]:
    """Return a server's errors for members beside the first one."""
    violations: list[Violation] = []
    others = members[1:]
    for member in union.members:
        # A server counts the members in their order, and some it does not count.
        if member.name in others and not member.uncounted:
            answers = union.answers.get("several", ())
            found = _answer("union-several", answers, union, obj, member)
            # Of errors at the object there is one, whatever the number of members.
            violations.extend([each for each in found if each not in violations])
    return violations


def _check_unselected_as_answered(
    union: UnionGroup,
    meaning: Choice,
    chosen: Member | None,
    obj: JSONObject,
    members: list[str],
) -> list[Violation]:
    """Return a server's errors for members that the discriminator does not select."""
    code = "member-forbidden"
    failure: Failure = "unselected"
    if len(members) > 1:
        code = "union-several"
        failure = "several" if "several" in union.answers else "unselected"
    is_known = meaning not in (Choice.MISSING, Choice.UNKNOWN)
    violations: list[Violation] = []
    for member in union.members:
        if member.name not in members or member is chosen:
            continue
        answers = [
            answer
            for answer in union.answers.get(failure, ())
            if is_known or answer.always
        ]
        violations.extend(_answer(code, answers, union, obj, member))
    return violations


def _answer(
    code: str,
    answers: Iterable[Answer],
    union: UnionGroup,
    obj: JSONObject,
    member: Member | None = None,
) -> list[Violation]:
    """Return the errors of a server for an object, with paths from there."""
    name = "" if member is None else member.name
    violations: list[Violation] = []
    for answer in answers:
        if answer.member and answer.member != name:
            continue
        steps: list[Step] = []
        for part in answer.at.split("/"):
            if part == "..":
                steps.append(PARENT)
            elif part != ".":
                steps.append(name if part == "{name}" else part)
        path = Path(tuple(steps))
        if answer.reason == "NotSupported":
            value = as_text(obj.get(union.discriminator))
            found = unsupported(path, value, sorted(union.allowed or ()))
            violations.append(msgspec.structs.replace(found, code=code))
            continue
        # The message has the form of Go's field.Error.ErrorBody.
        reason = _REASONS[answer.reason]
        texts = [NAMES[reason][1], answer.value, answer.detail]
        pieces = _PLACEHOLDER.split(": ".join([text for text in texts if text]))
        for at in range(1, len(pieces), 2):
            pieces[at] = _word(pieces[at], union, obj, member, answer.struct)
        violations.append(Violation(code, path, reason, "".join(pieces)))
    return violations


def _word(
    placeholder: str,
    union: UnionGroup,
    obj: JSONObject,
    member: Member | None,
    struct: str,
) -> str:
    """Return what a placeholder of an answer stands for.

    ``struct`` is the Go type in which the object is printed.
    """
    if placeholder == "value":
        return as_text(obj.get(union.discriminator))
    if placeholder == "members":
        return _quote(union.members_set(obj))
    if placeholder == "object" or member is None:
        return print_struct(obj, struct)
    if placeholder == "member":
        return quote_json(obj.get(member.name))
    return member.name if placeholder == "name" else member.value


def _require_discriminator(union: UnionGroup, obj: JSONObject) -> list[Violation]:
    code = "discriminator-required"
    answers = union.answers.get("discriminator", ())
    if answers:
        return _answer(code, answers, union, obj)
    return [violation_of("FieldValueRequired", Path((union.discriminator,)), code=code)]


def _require_member(
    union: UnionGroup, member: Member, obj: JSONObject
) -> list[Violation]:
    answers = union.answers.get("required", ())
    if answers:
        return _answer("member-required", answers, union, obj, member)
    rule = f"must be specified when `{union.discriminator}` is '{member.value}'"
    path = Path((member.name,))
    return [violation_of("FieldValueRequired", path, rule, code="member-required")]


def _member_forbidden(code: str, member: Member, rule: str) -> Violation:
    return violation_of("FieldValueForbidden", Path((member.name,)), rule, code=code)


def _is_tolerated(facts: UnionFacts, place: Place, type_: Type) -> bool:
    """Tell whether the old object fails for the same reason, with the same values."""
    new, old = place.new, place.old
    if not isinstance(new, dict) or not isinstance(old, dict):
        return False
    if facts.profile is VALIDATE_ONLY:
        # Go: api/validate ratchets a union as a whole, where an update left the members
        # that are set, and the discriminator, whatever the members contain.
        before = _drop_zero_values(facts, old, type_)
        after = _drop_zero_values(facts, new, type_)
        if place.guessed or not before:
            return False
        if facts.members_set(before) != facts.members_set(after):
            return False
        then = as_text(before.get(facts.discriminator))
        return then == as_text(after.get(facts.discriminator))
    # Where an element was paired by its place, equal values are evidence enough.
    if facts.union.within:
        within = facts.union.within
        return same(old.get(within), new.get(within))
    for name in (facts.discriminator, *facts.names):
        if name and not same(old.get(name), new.get(name)):
            return False
    return True
