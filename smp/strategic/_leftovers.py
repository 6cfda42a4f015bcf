"""The directives of a patch that an API server does not carry out.

Go carries out the directives of what it merges. A value that is new to the live object
it takes as it is, less the objects in it that have a ``$patch``: all other directives
stay there as if they were fields. A server drops them when it decodes the object, as it
does not know such fields, and with strict field validation it refuses the request.
"""

from __future__ import annotations

from smp.paths import Path
from smp.schema.model import Type
from smp.strategic._directives import (
    DELETE,
    MARKER,
    is_directive,
    is_marked,
    read_list,
    read_object,
)
from smp.values import (
    ABSENT,
    JSON,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    scalar_key,
)


def leftovers(
    live: JSONObject, patch: JSONObject, result: JSONObject, type_: Type
) -> list[Path]:
    """Return where Go leaves directives, as paths by the index in the result.

    ``result`` is the live object with the patch applied.
    """
    finder = Leftovers()
    finder.merged(live, patch, result, type_, Path())
    return finder.paths


class Leftovers:
    """The walk along a patch, as its application goes."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def merged(
        self,
        live: JSONObject,
        patch: JSONObject,
        result: JSONObject,
        type_: Type,
        path: Path,
    ) -> None:
        """Look at what merges into an object. Go: mergeMap."""
        parts = read_object(patch)
        if parts.marker is not ABSENT:
            if parts.marker != DELETE:
                # Go: handleDirectiveInMergeMap removes this directive only.
                fields = {name: patch[name] for name in patch if name != MARKER}
                self._new(fields, type_, path)
            return
        for name, value in parts.fields.items():
            if not isinstance(value, (dict, list)):
                continue
            was = live.get(name, ABSENT)
            field = type_.field(name)
            if field is None:
                continue
            here = path / name
            if type(was) is not type(value):
                if not is_marked(value):
                    self._new(value, field.type, here, drop_marked=True)
            elif field.replaces or (isinstance(value, list) and not field.merges):
                self._new(value, field.type, here)
            elif isinstance(value, dict):
                became = as_object(result.get(name, ABSENT))
                self.merged(as_object(was), value, became, field.type, here)
            elif field.merge_key:
                became_list = as_list(result.get(name, ABSENT))
                items = field.type.items
                self._merged_list(
                    as_list(was), value, became_list, field.merge_key, items, here
                )

    def _merged_list(
        self,
        live: JSONArray,
        patch: JSONArray,
        result: JSONArray,
        merge_key: str,
        items: Type,
        path: Path,
    ) -> None:
        """Look at what merges into a list of objects. Go: mergeSlice."""
        parts = read_list(patch, merge_key)
        in_live = {} if parts.replaces else _first_of_each_key(live, merge_key)
        in_result = _first_of_each_key(result, merge_key)
        for element, key in zip(parts.elements, parts.keys):
            if key not in in_result:
                # Its merge key was null, and nulls are not stored.
                continue
            index = in_result[key]
            here = path / index
            if key in in_live and key not in parts.deleted:
                was, became = as_object(live[in_live[key]]), as_object(result[index])
                self.merged(was, element, became, items, here)
            else:
                self._new(element, items, here)

    def _new(
        self, value: JSON, type_: Type, path: Path, *, drop_marked: bool = False
    ) -> None:
        """Look at a value that is taken as it is.

        With ``drop_marked`` less the objects with a ``$patch`` (Go: removeDirectives).
        """
        if isinstance(value, dict):
            # A map and a free-form value may have any names.
            if not type_.structured:
                return
            # A server reports the fields of an object before those further down.
            self.paths += [path / name for name in value if is_directive(name)]
            for name, member in value.items():
                field = None if is_directive(name) else type_.field(name)
                if field is not None and not (drop_marked and is_marked(member)):
                    self._new(member, field.type, path / name, drop_marked=drop_marked)
        elif isinstance(value, list):
            kept = value
            if drop_marked:
                kept = [element for element in value if not is_marked(element)]
            for index, element in enumerate(kept):
                self._new(element, type_.items, path / index, drop_marked=drop_marked)


def _first_of_each_key(elements: JSONArray, merge_key: str) -> dict[ScalarKey, int]:
    """Map each merge key to the index of the first element that has it."""
    positions: dict[ScalarKey, int] = {}
    for index, element in enumerate(elements):
        value = element.get(merge_key) if isinstance(element, dict) else None
        if value is not None and not isinstance(value, (dict, list)):
            positions.setdefault(scalar_key(value), index)
    return positions
