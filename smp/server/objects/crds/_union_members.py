"""The parts of one union in a schema, read where they are well-formed.

The shapes are those of smp.schema.union_groups. In a shape *by field* the name of a
field stands beside its value, or beside an object that has the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, type_name
from smp.paths import Key, Path
from smp.server.errors import invalid, require
from smp.unions import PROFILES
from smp.violations import Violation, unsupported

BY_VALUE: Final = "fieldMembers"
_LISTED: Final = "fields"
_MEMBERS: Final = "members"
# In the order of precedence, for a union that is written in two shapes at once.
SHAPES: Final = (
    BY_VALUE,
    _LISTED,
    _MEMBERS,
    "fields-to-discriminateBy",
    "fields-to-discriminator-value",
)


class Member(msgspec.Struct, frozen=True):
    """A field that a union names, and the value that selects it, each with its path."""

    name: str
    path: Path
    value: str
    value_path: Path


class Members:
    """The members of a union that are well-formed; ``problems`` has the others."""

    def __init__(self, published: JSON, shape: str, path: Path) -> None:
        self.well_formed: list[Member] = []
        self.problems: list[Violation] = []
        expected = "array" if shape == _LISTED else "object"
        if type_name(published) != expected:
            self.problems.append(_wrong_type(path, published, expected))
        # structured-merge-diff: [{"fieldName": FIELD, "discriminatorValue": VALUE}]
        for index, facets in enumerate(as_list(published)):
            at = path / index
            name = self._text(facets, "fieldName", at)
            value = self._text(facets, "discriminatorValue", at, default=name)
            at_value = at / "discriminatorValue"
            self.well_formed.append(Member(name, at / "fieldName", value, at_value))
        for key, facets in as_object(published).items():
            at = path / Key(key)
            # KEP-1027: {VALUE: {"name": FIELD, "optional": BOOL} | null}, where null
            # selects no member.
            if shape == BY_VALUE and facets is not None:
                name = self._text(facets, "name", at)
                self.problems += _flag_problems(facets, ("optional",), at)
                self.well_formed.append(Member(name, at / "name", key, at))
            elif shape != BY_VALUE and isinstance(facets, str):
                self.well_formed.append(Member(key, at, facets, at))
            elif shape != BY_VALUE:
                # An object with the value beside the name of the field.
                facet = "value" if shape == _MEMBERS else "discriminatorValue"
                value = self._text(facets, facet, at, default=key)
                flags = ("optional", "empty_is_unset")
                self.problems += _flag_problems(facets, flags, at)
                self.well_formed.append(Member(key, at, value, at / facet))
        # A name that is missing is a problem already.
        self.well_formed = [member for member in self.well_formed if member.name]
        if not self.well_formed and not self.problems:
            self.problems.append(require(path, "must name at least one field"))

    def _text(
        self, facets: JSON, name: str, path: Path, default: str | None = None
    ) -> str:
        """Return a text of a member, or the empty string; without default, required."""
        if not isinstance(facets, dict):
            problem = _wrong_type(path, facets, "object")
            if problem not in self.problems:
                self.problems.append(problem)
            return ""
        value = facets.get(name, default)
        if value is None or (value == "" and default is None):
            self.problems.append(require(path / name))
        elif not isinstance(value, str):
            self.problems.append(_wrong_type(path / name, value, "string"))
        return value if isinstance(value, str) else ""


def facet_problems(union: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with a union beside its members and its discriminator."""
    yield from _flag_problems(union, ("exactly_one", "required"), path)
    for name in ("empty", "none"):
        values = union.get(name, [])
        if not isinstance(values, list):
            yield _wrong_type(path / name, values, "array")
            continue
        for index, value in enumerate(values):
            if not isinstance(value, str):
                yield _wrong_type(path / name / index, value, "string")
    for name in ("default", "profile", "source"):
        text = union.get(name, "")
        if not isinstance(text, str):
            yield _wrong_type(path / name, text, "string")
        elif name == "profile" and text and text not in PROFILES:
            yield unsupported(path / name, text, PROFILES)


def _flag_problems(
    facets: JSON, names: tuple[str, ...], path: Path
) -> Iterator[Violation]:
    for name in names:
        flag = as_object(facets).get(name, False)
        if not isinstance(flag, bool):
            yield _wrong_type(path / name, flag, "boolean")


def _wrong_type(path: Path, value: JSON, expected: str) -> Violation:
    return invalid(path, value, f"must be of type {expected}, not {type_name(value)}")
