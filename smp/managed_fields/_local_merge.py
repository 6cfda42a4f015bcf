"""A three-way merge by list types and map types, as server-side apply merges.

Server-side apply merges what a server has, and knows from managedFields what its
manager applied before. Here the last-applied configuration says that, and everything
else in the live object belongs to others. So where no field is null and no element of a
list is removed that others have written to, the result is that of an apply with two
managers (Go: merge.Updater.Apply), and in the same order.

A value is one of three kinds (``Shape``):

- A scalar, an atomic list or an atomic map is set or removed as a whole.
- The members of an object, and the elements of a list of type set or map, are merged
  one by one. What was last applied and is no longer in the configuration is removed;
  what only live has stays.
- An object or a list that is no longer in the configuration loses what was last
  applied, and is removed itself if that leaves nothing, or not what is required.

For example, last applied ``[{name: a}, {name: b}]``, configured ``[{name: a, x: 1}]``
and live ``[{name: c}, {name: a, y: 2}, {name: b}]``, with the map key ``name``, become
``[{name: c}, {name: a, y: 2, x: 1}]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from smp._values.plain import over_json, require_object
from smp._values.sharing import share_object
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    check_depth,
    same,
)
from smp.errors import Conflict, ObjectError, UnknownFieldError
from smp.managed_fields._elements import step_of
from smp.managed_fields._merge import merge_order
from smp.managed_fields._shapes import (
    LIST,
    MAP,
    SCALAR,
    Shape,
    Shapes,
    path_elements,
    root_shape,
)
from smp.paths import Path
from smp.schema.model import Schema, unknown_field

_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_AS_A_WHOLE: Final = Shape(SCALAR, Shapes())


class Structure(msgspec.Struct, frozen=True):
    """What a CustomResourceDefinition says of nulls and required members of a value.

    ``schema`` is None where there is none, and ``is_free`` where the value is in an
    object that preserves unknown fields: there all nulls are kept.
    """

    schema: JSONObject | None
    is_free: bool = False

    def of_name(self, name: str) -> Structure:
        """Return the same for a member of an object."""
        schema = self.schema
        if schema is None:
            return self
        # Go: defaulting.getSchemaForField.
        declared = as_object(schema.get("properties")).get(name)
        if isinstance(declared, dict):
            return Structure(declared)
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            return Structure(others)
        return Structure(None, others is True or schema.get(_PRESERVES) is True)

    def of_elements(self) -> Structure:
        """Return the same for the elements of a list."""
        if self.schema is None:
            return self
        items = self.schema.get("items")
        return Structure(items if isinstance(items, dict) else None, self.is_free)

    @property
    def required(self) -> list[str]:
        """The members that a server asks for."""
        if self.schema is None:
            return []
        stated = as_list(self.schema.get("required"))
        names = [name for name in stated if isinstance(name, str)]
        # Go: k8s.io/apiextensions-apiserver, schema/objectmeta.Validate.
        if self.schema.get("x-kubernetes-embedded-resource") is True:
            names += ["apiVersion", "kind"]
        return names

    @property
    def allows_null(self) -> bool:
        """Whether a null is a value here, and not a field that is left out.

        Go: defaulting.PruneNonNullableStructureWithoutDefaults.
        """
        if self.schema is None:
            return self.is_free
        return self.schema.get("nullable") is True


class LocalMerge(msgspec.Struct, frozen=True):
    """A merged object, and what was found on the way.

    ``whole`` are the lists whose elements have no keys of their own, so that they are
    set as a whole; ``conflicts`` what others changed and the merge changes as well.
    """

    object: dict[str, Any]
    whole: tuple[Path, ...]
    conflicts: tuple[Conflict, ...]


@over_json("the object", "last_applied", "modified", "live")
def local_merge(
    last_applied: Mapping[str, Any],
    modified: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
) -> LocalMerge:
    """Merge a configuration into the live object, by the list types of the schema.

    A null in the configuration is a value where the schema of a custom resource allows
    one; elsewhere it removes what live has. What does not change is shared with the
    live object. Raises UnknownFieldError, with the path, where an object or a list of a
    field that the schema does not know would have to be merged, and ObjectError (code
    no-path-element) for an element without its keys in the configuration.
    """
    last_applied = require_object("last_applied", last_applied)
    modified = require_object("modified", modified)
    live = require_object("live", live)
    for obj in (last_applied, modified, live):
        check_depth(obj)
    structure = Structure(schema.structural)
    walk = _LocalMergeWalk()
    base = as_object(_drop_nulls(last_applied, structure))
    shape = root_shape(schema, live)
    merged = walk.objects(base, modified, live, MergedPlace(shape, structure, Path()))
    return LocalMerge(
        share_object(merged, live), tuple(walk.whole), tuple(walk.conflicts)
    )


class MergedPlace(msgspec.Struct, frozen=True):
    """What the schema says of a value, and where the value is."""

    shape: Shape
    structure: Structure
    path: Path

    def member(self, name: str, shape: Shape | None) -> MergedPlace:
        """Return the place of a member, which is set as a whole without a shape."""
        inner = self.structure.of_name(name)
        return MergedPlace(shape or _AS_A_WHOLE, inner, self.path / name)

    def element(self, value: JSON, element: str) -> MergedPlace:
        """Return the place of an element of a list."""
        shape = self.shape.of_element(value)
        inner = self.structure.of_elements()
        return MergedPlace(shape, inner, self.path / step_of(element))


class _LocalMergeWalk:
    """One walk along three objects."""

    def __init__(self) -> None:
        self.whole: list[Path] = []
        self.conflicts: list[Conflict] = []

    def objects(
        self,
        base: JSONObject,
        modified: JSONObject,
        live: JSONObject,
        place: MergedPlace,
    ) -> JSONObject:
        shape = place.shape
        merged: JSONObject = {}
        for name in {**live, **modified}:
            before = live.get(name, ABSENT)
            wanted = modified.get(name, ABSENT)
            applied = base.get(name, ABSENT)
            if wanted is None and not place.structure.of_name(name).allows_null:
                # RFC 7396: a null removes the member.
                self._note_conflict(applied, ABSENT, before, place.path / name)
                continue
            value: JSON | Absent
            if wanted is ABSENT:
                # What only live has belongs to others.
                if applied is ABSENT:
                    value = before
                else:
                    here = place.member(name, _shape_of(shape, name, before))
                    value = self._keep_remaining(applied, before, here)
            else:
                field = shape.type.field(name)
                known = _shape_of(shape, name, wanted)
                if known is None and _would_be_merged(wanted, before):
                    raise unknown_field().at(place.path / name)
                if field is not None and field.replaces:
                    # The patch strategy replace.
                    known = None
                here = place.member(name, known)
                value = self._value(applied, wanted, before, here)
                # The patch strategy retainKeys, alone or with another.
                if field is not None and field.retain_keys:
                    value = _retain(wanted, before, value)
            if not isinstance(value, Absent):
                merged[name] = value
        return merged

    def _value(
        self,
        base: JSON | Absent,
        wanted: JSON | Absent,
        live: JSON | Absent,
        place: MergedPlace,
    ) -> JSON | Absent:
        form = place.shape.form
        if isinstance(wanted, dict) and form == MAP:
            return self.objects(as_object(base), wanted, as_object(live), place)
        if isinstance(wanted, list) and form == LIST:
            merged = self._lists(as_list(base), wanted, as_list(live), place)
            if merged is not None:
                return merged
            self.whole.append(place.path)
        value: JSON | Absent = ABSENT
        if not isinstance(wanted, Absent):
            value = _drop_nulls(wanted, place.structure)
        self._note_conflict(base, value, live, place.path)
        return value

    def _lists(
        self, base: JSONArray, wanted: JSONArray, live: JSONArray, place: MergedPlace
    ) -> JSONArray | None:
        """Merge the elements of three lists; None where their keys do not tell them."""
        shape = place.shape
        try:
            path_elements(shape, wanted)
        except ObjectError as error:
            raise error.at(place.path) from None
        # An API server refuses such a list, unless it was stored before the list type
        # was stated (Go: k8s.io/apiextensions-apiserver, schema/listtype).
        of_base = _index_by_element(shape, base)
        of_wanted = _index_by_element(shape, wanted)
        of_live = _index_by_element(shape, live)
        if of_base is None or of_wanted is None or of_live is None:
            return None
        kept: list[str] = []
        for element, before in of_live.items():
            # Applied before and no longer: removed, with all that others have in it.
            if element in of_wanted or element not in of_base:
                kept.append(element)
            else:
                here = place.path / step_of(element)
                self._note_conflict(of_base[element], ABSENT, before, here)
        applied = list(of_wanted)
        merged: JSONArray = []
        for is_applied, index in merge_order(kept, applied):
            if not is_applied:
                merged.append(of_live[kept[index]])
                continue
            element = applied[index]
            value = self._value(
                of_base.get(element, ABSENT),
                of_wanted[element],
                of_live.get(element, ABSENT),
                place.element(of_wanted[element], element),
            )
            if not isinstance(value, Absent):
                merged.append(value)
        return merged

    def _keep_remaining(
        self, base: JSON, live: JSON | Absent, place: MergedPlace
    ) -> JSON | Absent:
        """Return what is left of a value that the configuration no longer has."""
        if isinstance(live, Absent):
            return ABSENT
        shape = place.shape
        form = shape.form
        if form == MAP and isinstance(live, dict) and isinstance(base, dict):
            members: JSONObject = {}
            for name, before in live.items():
                value: JSON | Absent = before
                if name in base:
                    here = place.member(name, _shape_of(shape, name, before))
                    value = self._keep_remaining(base[name], before, here)
                if not isinstance(value, Absent):
                    members[name] = value
            # A server refuses a rest without a required member.
            if members and {*place.structure.required} <= members.keys():
                return members
            return ABSENT
        if form == LIST and isinstance(live, list) and isinstance(base, list):
            applied, there = (
                _index_by_element(shape, base),
                _index_by_element(shape, live),
            )
            if applied is not None and there is not None:
                return [
                    value for element, value in there.items() if element not in applied
                ] or ABSENT
            self.whole.append(place.path)
        self._note_conflict(base, ABSENT, live, place.path)
        return ABSENT

    def _note_conflict(
        self,
        base: JSON | Absent,
        ours: JSON | Absent,
        theirs: JSON | Absent,
        path: Path,
    ) -> None:
        """Note where others changed a value that the merge changes, too.

        Go: mergepatch.HasConflicts, on what changed since the last apply.
        """
        if not same(ours, theirs) and not same(theirs, base):
            self.conflicts.append(Conflict(path, ours, theirs, base))


def _shape_of(shape: Shape, name: str, value: JSON | Absent) -> Shape | None:
    """Return the shape of a member; None for a field that the schema does not know."""
    try:
        return shape.of_name(name, None if isinstance(value, Absent) else value)
    except UnknownFieldError:
        return None


def _would_be_merged(wanted: JSON | Absent, live: JSON | Absent) -> bool:
    """Tell whether two values are objects or lists, and differ."""
    is_structured = isinstance(wanted, (dict, list)) and type(wanted) is type(live)
    return is_structured and not same(wanted, live)


def _retain(
    wanted: JSON | Absent, live: JSON | Absent, merged: JSON | Absent
) -> JSON | Absent:
    """Clear what the configuration does not have, where it changes anything.

    Go: strategicpatch.diffMaps, which adds $retainKeys to such a patch.
    """
    if not isinstance(merged, dict) or not isinstance(wanted, dict):
        return merged
    if same(merged, live):
        return merged
    return {name: merged[name] for name in merged if name in wanted}


def _index_by_element(shape: Shape, values: JSONArray) -> dict[str, JSON] | None:
    """Return the elements of a list by their path elements.

    None where two have the same, or one has none.
    """
    try:
        elements = path_elements(shape, values)
    except ObjectError:
        return None
    found = dict(zip(elements, values, strict=True))
    return found if len(found) == len(values) else None


def _drop_nulls(value: JSON, structure: Structure) -> JSON:
    """Return a value without the members that are null where null is no value."""
    if isinstance(value, dict):
        members: JSONObject = {}
        for name, content in value.items():
            inner = structure.of_name(name)
            if content is not None or inner.allows_null:
                members[name] = _drop_nulls(content, inner)
        return members
    if isinstance(value, list):
        inner = structure.of_elements()
        return [_drop_nulls(element, inner) for element in value]
    return value


@over_json("the object", "live", "merged")
def changed_members(
    live: Mapping[str, Any], merged: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """Return what a merge set and removed, as rules about unions read a patch.

    A member that was removed is null. An element of a list of type map has its keys
    and what changed in it.
    """
    live = require_object("live", live)
    merged = require_object("merged", merged)
    return as_object(_find_changes(live, merged, root_shape(schema, live)))


def _find_changes(before: JSON, after: JSON, shape: Shape) -> JSON:
    if isinstance(before, dict) and isinstance(after, dict) and shape.form == MAP:
        members: JSONObject = {name: None for name in before if name not in after}
        for name, value in after.items():
            old = before.get(name, ABSENT)
            if isinstance(old, Absent):
                members[name] = value
            elif old is not value and not same(old, value):
                inner = _shape_of(shape, name, value) or _AS_A_WHOLE
                members[name] = _find_changes(old, value, inner)
        return members
    if isinstance(before, list) and isinstance(after, list) and shape.form == LIST:
        of_before, of_after = (
            _index_by_element(shape, before),
            _index_by_element(shape, after),
        )
        if of_before is None or of_after is None:
            return after
        elements: JSONArray = []
        for element, value in of_after.items():
            old = of_before.get(element, ABSENT)
            if isinstance(old, Absent):
                elements.append(value)
            elif not same(old, value):
                content = as_object(_find_changes(old, value, shape.of_element(value)))
                obj = as_object(value)
                keys = {name: obj[name] for name in shape.keys if name in obj}
                elements.append({**content, **keys})
        return elements
    return after
