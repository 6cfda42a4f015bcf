"""The directives of a patch that an API server does not carry out.

Go carries out the directives of what it merges. A value that is new to the live object
it takes as it is, less the objects in it that have a ``$patch``: all other directives
stay there as if they were fields. A server drops them when it decodes the object, as it
does not know such fields, and with strict field validation it refuses the request.

The walk is by hand, as it builds a patch at each level, and goes as the apply does.
"""

from __future__ import annotations

from smp._strategic._directives import (
    DELETE,
    MARKER,
    clean,
    is_directive,
    is_marked,
    read_list,
    read_object,
)
from smp._values.values import (
    ABSENT,
    JSON,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    scalar_key,
)
from smp.paths import Path, Step
from smp.schema.model import Field, Type


class Leftovers:
    """A walk along a patch, as its application goes.

    ``paths`` are those of the directives that are left, by index in the result.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        # The way to the value that is looked at, from the root.
        self._steps: list[Step] = []

    def strip(
        self, live: JSONObject, patch: JSONObject, result: JSONObject, type_: Type
    ) -> JSONObject:
        """Return the patch of an object without directives in values that are new.

        ``result`` is the live object with the patch applied. Go: mergeMap.
        """
        # A value that is new, and may have a directive, is an object or a list.
        if MARKER not in patch and not _has_parts(patch):
            return patch
        parts = read_object(patch)
        if parts.marker is not ABSENT:
            if parts.marker != DELETE:
                # Go: handleDirectiveInMergeMap removes this directive only.
                fields = {name: patch[name] for name in patch if name != MARKER}
                self._new(fields, type_)
            return patch
        stripped = dict(patch)
        for name, value in parts.fields.items():
            field = type_.field(name)
            if field is None or not isinstance(value, (dict, list)):
                continue
            was, became = live.get(name, ABSENT), result.get(name, ABSENT)
            self._steps.append(name)
            if type(was) is not type(value):
                if not is_marked(value):
                    self._new(value, field.type, drop_marked=True)
                    stripped[name] = clean(value, field.type, drop_marked=True)
            elif field.replaces or (isinstance(value, list) and not field.merges):
                self._new(value, field.type)
                stripped[name] = clean(value, field.type)
            elif isinstance(value, dict):
                stripped[name] = self.strip(
                    as_object(was), value, as_object(became), field.type
                )
            elif field.merge_key:
                stripped[name] = self._strip_list(
                    as_list(was), value, as_list(became), field
                )
            self._steps.pop()
        return stripped

    def _strip_list(
        self, live: JSONArray, patch: JSONArray, result: JSONArray, field: Field
    ) -> JSONArray:
        """Return the patch of a list of objects in the same way. Go: mergeSlice."""
        has_more_than_scalars = False
        for element in patch:
            members = as_object(element)
            if _has_parts(members) or _has_directives(members):
                has_more_than_scalars = True
                break
        if not has_more_than_scalars:
            # As where an image changes: there is no place for a directive.
            return patch
        merge_key, items = field.merge_key, field.type.items
        parts = read_list(patch, field)
        places = _first_of_each_key(result, merge_key)
        # What an element of the patch merges into, by the merge key.
        targets: dict[ScalarKey, JSONObject] = {}
        if not parts.replaces:
            for key, index in _first_of_each_key(live, merge_key).items():
                if key not in parts.deleted:
                    targets[key] = as_object(live[index])
        stripped: JSONArray = []
        for element in patch:
            if not isinstance(element, dict) or MARKER in element:
                stripped.append(element)
                continue
            key = scalar_key(element[merge_key])
            index = places.get(key, len(result))
            self._steps.append(index)
            if key in targets:
                became = as_object(result[index]) if index < len(result) else {}
                stripped.append(self.strip(targets[key], element, became, items))
            else:
                self._new(element, items)
                new = as_object(clean(element, items, drop_marked=True))
                stripped.append(new)
                # A later element of this key merges into this one.
                targets[key] = new
            self._steps.pop()
        return stripped

    def _new(self, value: JSON, type_: Type, *, drop_marked: bool = False) -> None:
        """Look at a value that is taken as it is.

        With ``drop_marked`` less the objects with a ``$patch`` (Go: removeDirectives).
        """
        if isinstance(value, dict):
            # A map and a free-form value may have any names.
            if not type_.structured:
                return
            # A server reports the fields of an object before those further down.
            for name in value:
                if is_directive(name):
                    self.paths.append(Path((*self._steps, name)))
            for name, member in value.items():
                field = None if is_directive(name) else type_.field(name)
                if field is not None and not (drop_marked and is_marked(member)):
                    self._steps.append(name)
                    self._new(member, field.type, drop_marked=drop_marked)
                    self._steps.pop()
        elif isinstance(value, list):
            kept = value
            if drop_marked:
                kept = [element for element in value if not is_marked(element)]
            for index, element in enumerate(kept):
                self._steps.append(index)
                self._new(element, type_.items, drop_marked=drop_marked)
                self._steps.pop()


def _has_parts(members: JSONObject) -> bool:
    """Tell whether a field of an object is an object or a list."""
    for name, value in members.items():
        if isinstance(value, (dict, list)) and not is_directive(name):
            return True
    return False


def _has_directives(members: JSONObject) -> bool:
    for name in members:  # noqa: SIM110  (as above)
        if is_directive(name):
            return True
    return False


def _first_of_each_key(elements: JSONArray, merge_key: str) -> dict[ScalarKey, int]:
    positions: dict[ScalarKey, int] = {}
    for index, element in enumerate(elements):
        value = element.get(merge_key) if isinstance(element, dict) else None
        if value is not None and not isinstance(value, (dict, list)):
            positions.setdefault(scalar_key(value), index)
    return positions
