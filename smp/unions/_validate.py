"""Validating unions, on the normalized object: what a server would reject.

V1 to V5 are the rules of KEP-1027. Under ``validate-only`` the rules of Kubernetes'
declarative validation hold (Go: k8s.io/apimachinery/pkg/api/validate, Union and
DiscriminatedUnion).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from smp.paths import Element, Path, Step
from smp.schema.model import Field, ObjectType, Type
from smp.schema.reach import Reach
from smp.schema.union_groups import Member, UnionGroup
from smp.unions._decide import choice, discriminator, selected
from smp.unions._pairs import Value, by_key, identity, key_of
from smp.unions._profiles import (
    KEP_1027,
    KEP_2019,
    VALIDATE_ONLY,
    Choice,
    Profile,
    profile_of,
)
from smp.values import ABSENT, JSON, JSONObject
from smp.violations import Violation, unsupported

Check: TypeAlias = Callable[[UnionGroup, JSONObject, Path], Iterator[Violation]]


def violations_of(
    union: UnionGroup, profile: Profile, obj: JSONObject, known: Type, path: Path
) -> Iterator[Violation]:
    """Yield what is wrong with one union of an object of a type."""
    check = _CHECKS.get((profile.name, bool(union.discriminator)), _at_most_one)
    yield from check(
        union,
        _as_go_sees(obj, union, known) if check in (_plain, _discriminated) else obj,
        path,
    )


def _as_go_sees(obj: JSONObject, union: UnionGroup, known: Type) -> JSONObject:
    """Leave out the members that Go takes for unset: empty lists and empty maps, but no
    empty structs.
    """
    return {
        name: value
        for name, value in obj.items()
        if not (name in union.names and _is_empty(value, known.field(name)))
    }


def _is_empty(value: JSON, field: Field | None) -> bool:
    if (
        isinstance(value, list)
        or field is None
        or not isinstance(field.type, ObjectType)
    ):
        return value == []
    return value == {} and field.type.others is not None


def _by_discriminator(
    union: UnionGroup, obj: JSONObject, path: Path
) -> Iterator[Violation]:
    value = discriminator(union, KEP_1027, obj)
    members, chosen = union.members_set(obj), choice(union, value, KEP_1027)
    at = path / union.discriminator
    if chosen is Choice.UNKNOWN:
        yield unsupported(at, obj.get(union.discriminator), sorted(union.allowed or ()))
    if chosen is Choice.MISSING and (union.required or members):
        yield Violation(
            "discriminator-required", at, "FieldValueRequired", "Required value"
        )
    if len(members) > 1:
        yield _several(union, members, path)
    yield from _selected(union, value, members, path)
    if chosen in (Choice.EMPTY, Choice.NONE, Choice.MEMBER) and len(members) == 1:
        yield from _foreign(union, value, members, path)


def _selected(
    union: UnionGroup, value: str | None, members: tuple[str, ...], path: Path
) -> Iterator[Violation]:
    member = selected(union, value, KEP_1027)
    if member is not None and not member.optional and member.name not in members:
        yield _required(union, member, path)


def _foreign(
    union: UnionGroup, value: str | None, members: tuple[str, ...], path: Path
) -> Iterator[Violation]:
    member = selected(union, value, KEP_1027)
    for name in members:
        if member is None or name != member.name:
            yield _forbidden(
                union, next(one for one in union.members if one.name == name), path
            )


def _at_most_one(union: UnionGroup, obj: JSONObject, path: Path) -> Iterator[Violation]:
    members = union.members_set(obj)
    if len(members) > 1:
        yield _several(union, members, path)
    if union.required and not members:
        yield from _none_set(union, obj, path)


def _none_set(union: UnionGroup, obj: JSONObject, path: Path) -> Iterator[Violation]:
    value = discriminator(union, KEP_2019, obj)
    member = selected(union, value, KEP_2019)
    if (
        value is None
        or (member is not None and not member.optional)
        or choice(union, value, KEP_2019) is Choice.NONE
    ):
        yield _one_of(union, path)


def _plain(union: UnionGroup, obj: JSONObject, path: Path) -> Iterator[Violation]:
    members = union.members_set(obj)
    if len(members) > 1:
        yield _several(union, members, path)
    elif not members and union.required:
        yield _one_of(union, path)


def _discriminated(
    union: UnionGroup, obj: JSONObject, path: Path
) -> Iterator[Violation]:
    value = discriminator(union, VALIDATE_ONLY, obj)
    chosen = selected(union, value, VALIDATE_ONLY)
    for member in union.members:
        is_set = member.is_set(obj)
        if is_set and member is not chosen:
            yield _forbidden(union, member, path)
        elif member is chosen and not is_set and not member.optional:
            yield _required(union, member, path)


def _several(union: UnionGroup, members: tuple[str, ...], path: Path) -> Violation:
    listed = ", ".join(members)
    rule = (
        f"{union.discriminator} must change when its members do"
        if union.discriminator
        else "at most one may be set"
    )
    value: list[JSON] = [*members]
    return Violation(
        "union-several",
        path,
        "FieldValueInvalid",
        f"Invalid value: {{{listed}}}: {rule}",
        value,
    )


def _one_of(union: UnionGroup, path: Path) -> Violation:
    listed = ", ".join(union.names)
    return Violation(
        "union-none",
        path,
        "FieldValueInvalid",
        f'Invalid value: "": must specify one of: {listed}',
        "",
    )


def _required(union: UnionGroup, member: Member, path: Path) -> Violation:
    message = (
        f'Required value: must be set while {union.discriminator} is "{member.value}"'
    )
    return Violation(
        "member-required", path / member.name, "FieldValueRequired", message
    )


def _forbidden(union: UnionGroup, member: Member, path: Path) -> Violation:
    message = (
        f'Forbidden: may only be set while {union.discriminator} is "{member.value}"'
    )
    return Violation(
        "member-forbidden", path / member.name, "FieldValueForbidden", message
    )


def _contradicts(union: UnionGroup, obj: JSONObject, path: Path) -> Iterator[Violation]:
    value, members = obj.get(union.discriminator), union.members_set(obj)
    if len(members) > 1:
        yield _several(union, members, path)
    elif isinstance(value, str) and choice(union, value, KEP_1027) not in (
        Choice.UNMAPPED,
        Choice.UNKNOWN,
    ):
        yield from _foreign(union, value, members, path)


# what a user asks for: it may leave out what a server fills in
DESIRED: Final = Profile("desired")

_CHECKS: Final[Mapping[tuple[str, bool], Check]] = {
    (KEP_1027.name, True): _by_discriminator,
    (KEP_1027.name, False): _plain,
    (DESIRED.name, True): _contradicts,
    (DESIRED.name, False): _contradicts,
    (VALIDATE_ONLY.name, True): _discriminated,
    (VALIDATE_ONLY.name, False): _plain,
}


class Validation(msgspec.Struct, frozen=True):
    """One walk over an object and what it was before."""

    profile: Profile
    ratchet: bool
    reaches: Reach

    def value(
        self, old: Value, new: JSON, known: Field, path: Path
    ) -> Iterator[Violation]:
        """Yield the violations in what a field holds; what an update shares with the
        old object was there before.
        """
        if self.ratchet and new is old:
            return
        if isinstance(new, dict) and self.reaches(known.type):
            yield from self.object(old, new, known.type, path)
        elif isinstance(new, list) and self.reaches(known.type):
            keys = identity(known)
            before = by_key(old, keys)
            for index, element in enumerate(new):
                if isinstance(element, dict):
                    key = key_of(element, keys)
                    step: Step = (
                        Element(index, keys[0], element[keys[0]]) if key else index
                    )
                    yield from self.object(
                        before.get(key, ABSENT), element, known.type.items, path / step
                    )

    def object(
        self, old: Value, new: JSONObject, known: Type, path: Path
    ) -> Iterator[Violation]:
        """Yield the violations of an object's own unions, then those further down."""
        if self.ratchet and new is old:
            return
        for union in known.unions if isinstance(known, ObjectType) else ():
            yield from self._union(union, old, new, known, path)
        before = old if isinstance(old, dict) else {}
        for name, value in new.items():
            field = known.field(name)
            if field is not None and isinstance(value, dict | list):
                yield from self.value(
                    before.get(name, ABSENT), value, field, path / name
                )

    def _union(
        self, union: UnionGroup, old: Value, new: JSONObject, known: Type, path: Path
    ) -> Iterator[Violation]:
        profile = (
            self.profile if self.profile is DESIRED else profile_of(union, self.profile)
        )
        found = violations_of(union, profile, new, known, path)
        if not (self.ratchet and isinstance(old, dict)):
            yield from found
        elif profile is VALIDATE_ONLY:
            # Stricter than the KEP: what an update touches is checked whole.
            before, after = (_as_go_sees(obj, union, known) for obj in (old, new))
            yield from () if before and _unchanged(union, before, after) else found
        else:
            tolerated = {
                (one.code, str(one.path))
                for one in violations_of(union, profile, old, known, path)
            }
            yield from (
                one for one in found if (one.code, str(one.path)) not in tolerated
            )


def _unchanged(union: UnionGroup, old: JSONObject, new: JSONObject) -> bool:
    """Tell whether an update left the members that are set, and the discriminator, as
    they were.
    """
    return union.members_set(old) == union.members_set(new) and _text(
        old, union
    ) == _text(new, union)


def _text(obj: JSONObject, union: UnionGroup) -> str:
    value = obj.get(union.discriminator)
    return value if isinstance(value, str) else ""
