"""Overlays: corrections of published schemas, by users and by reviewed data.

An overlay is ``{"types": {NAME: TYPE}, "kinds": {API_VERSION: {KIND: NAME}}, "unions":
[UNION]}``; every section is optional.

A TYPE is a type document (smp.schema.model), merged over the one of that name: what it
leaves out stays, and a null removes. Under the name of a field, ``{"strategy": ..}``,
``{"key": ..}`` and ``{"default": ..}`` correct only these. A name that the catalog
lacks is a new type.

A UNION is one in the overlay's shape (smp.schema.union_groups), with the types that
have it and the Kubernetes versions that it holds for: ``{"types": {NAME: VERSIONS},
"members": ..}``. VERSIONS is ``1.31+``, ``1.26-1.30``, ``1.25``, or empty for all; a
catalog without a version takes every union. ``members`` may be a list of names where
there is no discriminator. A type that the catalog lacks is skipped, a member that the
type lacks is left out. A union replaces those of the type that share a field with it.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    type_name,
)
from smp.errors import SchemaError, SmpError, bounded
from smp.paths import Path
from smp.schema.bundle import holds_in
from smp.schema.model import Loader, TypeDocument
from smp.schema.union_groups import read_unions

_SECTIONS: Final = frozenset({"types", "kinds", "unions"})
_FIELD_FACETS: Final = frozenset({"is", "strategy", "key", "default"})
_VERSION: Final = r"\d{1,4}\.\d{1,4}"
_VERSIONS: Final = rf"|({_VERSION})(?:(\+)|-({_VERSION}))?"


class Overlay(msgspec.Struct, frozen=True):
    """An overlay for one catalog.

    ``types`` has the corrections by the name of the type, ``kinds`` the name of the
    type by (apiVersion, kind), and ``unions`` those that hold for the version of the
    catalog, by the name of the type.
    """

    types: JSONObject
    kinds: dict[tuple[str, str], str]
    unions: dict[str, list[JSONObject]]

    @classmethod
    def read(cls, document: JSON, version: str = "") -> Overlay:
        """Read an overlay for a catalog of that version, or of no version.

        Raises SchemaError (code invalid-overlay), with the path, for what is not an
        overlay.
        """
        overlay = _object(document, Path())
        for section in sorted(overlay.keys() - _SECTIONS):
            raise _invalid("unknown section", Path((section,)))

        path = Path(("types",))
        types = _object(overlay.get("types", {}), path)
        for name, correction in types.items():
            # Its members are checked where the type is loaded.
            if not isinstance(correction, str | dict):
                raise _invalid("a type document is a string or an object", path / name)

        path = Path(("kinds",))
        kinds = {}
        for api_version, by_kind in _object(overlay.get("kinds", {}), path).items():
            for kind, reference in _object(by_kind, path / api_version).items():
                if not isinstance(reference, str):
                    problem = "the name of a type is expected"
                    raise _invalid(problem, path / api_version / kind)
                kinds[api_version, kind] = reference

        return cls(types, kinds, _read_unions(overlay.get("unions", []), version))

    def load(self, load: Loader, name: str) -> TypeDocument | None:
        """Load a type and correct it.

        Raises SchemaError (code invalid-overlay), with the path in the overlay, for a
        correction that does not fit the type, and DepthError.
        """
        document = load(name)
        if name in self.types:
            try:
                merged = _merge_type(document or {}, self.types[name])
                document = merged if isinstance(merged, str | dict) else None
            except SmpError as error:
                raise error.at(Path(("types", name))) from None
        if document is None or name not in self.unions:
            return document
        return _add_unions(document, self.unions[name], Path(("unions", name)))


def _read_unions(rows: JSON, version: str) -> dict[str, list[JSONObject]]:
    """Return the unions of each type by its name, without those of other versions."""
    path = Path(("unions",))
    if not isinstance(rows, list):
        raise _invalid(f"unions are a list, not {type_name(rows)}", path)
    # A catalog from OpenAPI or from CRDs has no version, and gets every union.
    if not re.fullmatch(_VERSION, version, re.ASCII):
        version = ""
    unions: dict[str, dict[frozenset[str], JSONObject]] = {}
    for index, entry in enumerate(rows):
        row = _object(entry, path / index)
        union = _read_union(row, path / index)
        at_types = path / index / "types"
        for name, versions in _object(row.get("types"), at_types).items():
            if _covers(versions, version, at_types / name):
                # Of several rows for the same fields the last counts: later rows are
                # for later versions.
                unions.setdefault(name, {})[_fields_in(union)] = union
    return {name: [*by_fields.values()] for name, by_fields in unions.items()}


def _read_union(row: JSONObject, path: Path) -> JSONObject:
    """Return a row of the section as a union in the overlay's shape, without types."""
    members = row.get("members")
    # Without a discriminator no values select the members, so their names will do.
    if isinstance(members, list) and not row.get("discriminator"):
        members = {name: {} for name in members if isinstance(name, str)}
    if not isinstance(members, dict) or not members:
        raise _invalid(
            "a union names its members",
            path / "members",
            "a list of names; with a discriminator, an object of names and values",
        )
    union = {key: value for key, value in row.items() if key != "types"}
    union["members"] = members
    return union


def _fields_in(union: JSONObject) -> frozenset[str]:
    if union.get("within"):
        return frozenset([str(union["within"])])
    # A discriminator counts as well: it can belong to one union only.
    fields = [*as_object(union["members"])]
    discriminator = union.get("discriminator")
    if isinstance(discriminator, str):
        fields.append(discriminator)
    return frozenset(fields)


def _covers(versions: JSON, version: str, path: Path) -> bool:
    """Tell whether VERSIONS has a version; an empty one stands for no version."""
    match = None
    if isinstance(versions, str):
        match = re.fullmatch(_VERSIONS, versions, re.ASCII)
    if match is None:
        raise _invalid(
            "invalid range of versions",
            path,
            "1.31+, 1.26-1.30, 1.25, or the empty string for all",
        )
    if not versions or not version:
        return True
    since, open_end, until = match.groups()
    return holds_in(version, since, "" if open_end else until or since)


def _add_unions(
    document: TypeDocument, unions: list[JSONObject], path: Path
) -> TypeDocument:
    """Add unions to an object type, in place of those that share a field with them."""
    fields = document.get("fields") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(fields, dict):
        raise _invalid("only an object can have unions", path)
    added: JSONArray = []
    replaced: set[str] = set()
    for row in unions:
        fitted = _fit(row, fields, path)
        if fitted is not None:
            added.append(fitted)
            replaced |= _fields_in(fitted)
    # An overlay knows better than the source: what it says of a field replaces the
    # published unions with that field.
    kept: JSONArray = []
    for union in as_list(document.get("unions")):
        try:
            (group,) = read_unions([union])
        except SchemaError:
            # A published union that cannot be read stays, and raises where it is read.
            kept.append(union)
        else:
            if replaced.isdisjoint(group.fields):
                kept.append(union)
    return {**document, "unions": [*kept, *added]}


def _fit(union: JSONObject, fields: JSONObject, path: Path) -> JSONObject | None:
    """Leave out the members that a type lacks; None where it lacks all of them.

    One row holds for several versions, and some of the members came later (Volume.image
    in 1.31). The values that would select the missing members select no member there.
    """
    try:
        (group,) = read_unions([union])
    except SchemaError as error:
        raise error.at(path) from None
    # Members may be missing; without its discriminator a union has no meaning.
    if group.discriminator and group.discriminator not in fields:
        raise _invalid(
            f"field {group.discriminator!r} not found", path / "discriminator"
        )
    if group.within:
        return union if group.within in fields else None
    present = [member for member in group.members if member.name in fields]
    missing = [member for member in group.members if member.name not in fields]
    if not present:
        return None
    facets = as_object(union["members"])
    fitted: JSONObject = {
        **union,
        "members": {member.name: facets[member.name] for member in present},
    }
    if "empty" in union:
        fitted["empty"] = [*sorted(group.empty), *[member.value for member in missing]]
    return fitted


@bounded("the overlay")
def _merge_type(document: JSON, correction: JSON) -> JSON:
    # A reference or a scalar has no members to merge: the correction replaces it.
    if not isinstance(document, dict) or not isinstance(correction, dict):
        return correction
    merged = {key: value for key, value in document.items() if key not in correction}
    for key, value in correction.items():
        current = document.get(key, {})
        if value is None:
            # A null removes: the key is already left out.
            continue
        # Types are merged inside each other; a strategy, an enum or a list of unions is
        # one value, and replaced.
        if key in ("items", "values", "is"):
            merged[key] = _merge_type(current, value)
        elif key == "fields" and isinstance(current, dict) and isinstance(value, dict):
            fields = {name: current[name] for name in current if name not in value}
            for name, field_correction in value.items():
                field = _merge_field(name, current.get(name), field_correction)
                if field is not None:
                    fields[name] = field
            merged[key] = fields
        else:
            merged[key] = value
    return merged


def _merge_field(name: str, field: JSON, correction: JSON) -> JSON:
    """Merge a correction over a field, which may be absent (None).

    A correction with a facet of a field (``is``, ``strategy``, ``key``) is one of the
    field, any other is one of the field's type. A field without facets of its own is
    written as its type alone, so one of the two may have to be wrapped in ``is``.
    """
    # A null removes the field, a string is its new type.
    if not isinstance(correction, dict):
        return correction
    of_field = not _FIELD_FACETS.isdisjoint(correction)
    if field is None and of_field and "is" not in correction:
        raise _invalid(
            "field not found, and the correction has no type for it",
            Path(("fields", name)),
        )
    if isinstance(field, dict) and "is" in field:
        return _merge_type(field, correction if of_field else {"is": correction})
    if of_field:
        return _merge_type({"is": field or {}}, correction)
    return _merge_type(field or {}, correction)


def _object(value: JSON, path: Path) -> JSONObject:
    if not isinstance(value, dict):
        raise _invalid(f"an object is expected, not {type_name(value)}", path)
    return value


def _invalid(
    problem: str, path: Path, hint: str = "an overlay has types, kinds and unions"
) -> SchemaError:
    return SchemaError(problem, code="invalid-overlay", path=path, hint=hint)
