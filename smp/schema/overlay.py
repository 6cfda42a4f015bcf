"""Overlays: what users and reviewed data know better than a published schema.

``{"types": {NAME: TYPE}, "kinds": {API_VERSION: {KIND: NAME}}, "unions": [UNION]}``,
all optional.

A TYPE is a type document (smp.schema.model), merged over the one of that name: members
that it lacks stay, a null removes. ``{"strategy": ..}`` and ``{"key": ..}`` under a
field's name correct just those. A name that the catalog lacks is a new type.

A UNION is one in the overlay's shape (smp.schema.union_groups) with the types that have
it and the Kubernetes versions that it holds for: ``{"types": {NAME: VERSIONS},
"members": ..}``. VERSIONS is ``1.31+``, ``1.26-1.30``, ``1.25``, or empty for all; they
do not matter to a catalog without a version. ``members`` may be a list of names where
there is no discriminator. A type that the catalog lacks is skipped, a member that the
type lacks is left out. A union replaces those of the type that share a field with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from smp.errors import DepthError, SchemaError
from smp.paths import Path
from smp.schema.model import Loader, TypeDocument
from smp.schema.union_groups import read_unions
from smp.values import JSON, JSONObject, type_name

_SECTIONS: Final = frozenset({"types", "kinds", "unions"})
_OF_FIELD: Final = frozenset({"is", "strategy", "key"})
_VERSION: Final = r"(\d{1,4}\.\d{1,4})"
_VERSIONS: Final = re.compile(rf"|{_VERSION}(?:(\+)|-{_VERSION})?", re.ASCII)


class Overlay(msgspec.Struct, frozen=True):
    """An overlay as it is for one catalog: type documents and unions by the name of
    their type, and kinds.
    """

    types: JSONObject
    kinds: dict[tuple[str, str], str]
    unions: dict[str, list[JSONObject]]

    @classmethod
    def read(cls, document: JSON, version: str = "") -> Overlay:
        """Read an overlay for a catalog of that version, if it has one. Raises
        SchemaError for what is none.
        """
        overlay = _object(document, Path())
        for word in sorted(overlay.keys() - _SECTIONS):
            raise _invalid("a section that no overlay has", Path((word,)))
        return cls(_types(overlay), dict(_kinds(overlay)), _unions(overlay, version))

    def load(self, load: Loader, name: str) -> TypeDocument | None:
        """Load a type and correct it. Raises SchemaError for a correction that does not
        fit, and DepthError.
        """
        document = load(name)
        if name in self.types:
            document = _corrected(document, self.types[name], Path(("types", name)))
        if document is None or name not in self.unions:
            return document
        return _with_unions(document, self.unions[name], Path(("unions", name)))


def _types(overlay: JSONObject) -> JSONObject:
    types = _object(overlay.get("types", {}), Path(("types",)))
    for name, document in types.items():
        if not isinstance(document, str | dict):
            raise _invalid(
                "a type document is a string or an object", Path(("types", name))
            )
    return types


def _kinds(overlay: JSONObject) -> Iterator[tuple[tuple[str, str], str]]:
    for api_version, section in _object(
        overlay.get("kinds", {}), Path(("kinds",))
    ).items():
        path = Path(("kinds", api_version))
        for kind, name in _object(section, path).items():
            if not isinstance(name, str):
                raise _invalid("the name of a type is expected", path / kind)
            yield (api_version, kind), name


def _unions(overlay: JSONObject, version: str) -> dict[str, list[JSONObject]]:
    """Index the unions by type. Of unions of the same fields the last counts: later
    rows are for later versions.
    """
    rows, path = overlay.get("unions", []), Path(("unions",))
    if not isinstance(rows, list):
        raise _invalid(f"unions are a list, not {type_name(rows)}", path)
    number = _number(version) if re.fullmatch(_VERSION, version, re.ASCII) else []
    found: dict[str, dict[frozenset[str], JSONObject]] = {}
    for index, entry in enumerate(rows):
        row = _object(entry, path / index)
        union = _union(row, path / index)
        for name in _types_of(row, number, path / index / "types"):
            found.setdefault(name, {})[_names_in(union)] = union
    return {name: [*unions.values()] for name, unions in found.items()}


def _union(row: JSONObject, path: Path) -> JSONObject:
    members = row.get("members")
    if isinstance(members, list) and not row.get("discriminator"):
        members = {name: {} for name in members if isinstance(name, str)}
    if not isinstance(members, dict) or not members:
        hint = "a list of names, or with a discriminator an object: the value that selects each"
        raise _invalid("a union names its members", path / "members", hint)
    return {word: value for word, value in row.items() if word != "types"} | {
        "members": members
    }


def _names_in(union: JSONObject) -> frozenset[str]:
    members, discriminator = union["members"], union.get("discriminator")
    names = [*members] if isinstance(members, dict) else []
    return frozenset(
        [*names, discriminator] if isinstance(discriminator, str) else names
    )


def _types_of(row: JSONObject, number: list[int], path: Path) -> Iterator[str]:
    for name, versions in _object(row.get("types"), path).items():
        match = _VERSIONS.fullmatch(versions) if isinstance(versions, str) else None
        if match is None:
            raise _invalid(
                "these are no versions",
                path / name,
                "1.31+, 1.26-1.30, 1.25, or nothing for all",
            )
        if not versions or not number or _covers(match, number):
            yield name


def _covers(versions: re.Match[str], number: list[int]) -> bool:
    since, open_end, until = versions.groups()
    return _number(since) <= number and (
        bool(open_end) or number <= _number(until or since)
    )


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _with_unions(
    document: TypeDocument, unions: list[JSONObject], path: Path
) -> TypeDocument:
    fields = document.get("fields") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(fields, dict):
        raise _invalid("only an object has unions", path)
    fitting = [fitted for union in unions if (fitted := _fitted(union, fields, path))]
    taken, others = (
        frozenset[str]().union(*map(_names_in, fitting)),
        document.get("unions", []),
    )
    kept = (
        [union for union in others if taken.isdisjoint(_fields_of(union))]
        if isinstance(others, list)
        else []
    )
    return {**document, "unions": [*kept, *fitting]}


def _fitted(union: JSONObject, fields: JSONObject, path: Path) -> JSONObject | None:
    """Leave out the members that a type lacks: the values that would select them are
    without one there.
    """
    try:
        (group,) = read_unions([union], {})
    except SchemaError as error:
        raise error.at(path) from None
    if group.discriminator and group.discriminator not in fields:
        raise _invalid(
            f"the type has no field {group.discriminator!r}", path / "discriminator"
        )
    lacking = {
        member.name: member.value
        for member in group.members
        if member.name not in fields
    }
    if len(lacking) == len(group.members):
        return None
    members = {
        name: facets
        for name, facets in _object(union["members"], path).items()
        if name not in lacking
    }
    fitted: JSONObject = {**union, "members": members}
    if "empty" in union:
        fitted["empty"] = [*sorted(group.empty), *lacking.values()]
    return fitted


def _fields_of(union: JSON) -> frozenset[str]:
    """Return the fields of a union; none of one that nobody can read, for its reader
    will say so.
    """
    try:
        groups = read_unions([union], {})
    except SchemaError:
        return frozenset()
    return frozenset(
        name for group in groups for name in (*group.names, group.discriminator)
    ) - {""}


def _object(value: JSON, path: Path) -> JSONObject:
    if not isinstance(value, dict):
        raise _invalid(f"an object is expected, not {type_name(value)}", path)
    return value


def _invalid(
    problem: str, path: Path, hint: str = "an overlay has types, kinds and unions"
) -> SchemaError:
    return SchemaError(problem, code="invalid-overlay", path=path, hint=hint)


def _corrected(
    document: TypeDocument | None, correction: JSON, path: Path
) -> TypeDocument | None:
    try:
        merged = _merged_type(document or {}, correction)
    except SchemaError as error:
        raise error.at(path) from None
    except RecursionError:
        raise DepthError("the overlay is nested too deeply", path=path) from None
    return merged if isinstance(merged, str | dict) else None


def _merged_type(document: JSON, correction: JSON) -> JSON:
    if not isinstance(document, dict) or not isinstance(correction, dict):
        return correction
    merged = {word: value for word, value in document.items() if word not in correction}
    for word, value in correction.items():
        if value is not None:
            merged[word] = _merged_member(word, document.get(word, {}), value)
    return merged


def _merged_member(word: str, member: JSON, correction: JSON) -> JSON:
    if word in ("items", "values", "is"):
        return _merged_type(member, correction)
    if word == "fields" and isinstance(member, dict) and isinstance(correction, dict):
        kept = {name: field for name, field in member.items() if name not in correction}
        changed = {
            name: _merged_field(name, member.get(name), field)
            for name, field in correction.items()
        }
        return {
            **kept,
            **{name: field for name, field in changed.items() if field is not None},
        }
    return correction


def _merged_field(name: str, field: JSON, correction: JSON) -> JSON:
    """Merge a correction into a field: of what is the field's own (strategy, key), or
    of its type.
    """
    if not isinstance(correction, dict):
        return correction
    of_field = bool(correction.keys() & _OF_FIELD)
    if field is None and of_field and "is" not in correction:
        raise _invalid(
            "there is no such field to correct, and it is given no type",
            Path(("fields", name)),
        )
    if isinstance(field, dict) and "is" in field:
        return _merged_type(field, correction if of_field else {"is": correction})
    return _merged_type({"is": field or {}} if of_field else field or {}, correction)
