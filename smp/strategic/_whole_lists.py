"""Sending whole lists where a patch merge key stands for several elements.

A patch names the elements of a merge list by the patch merge key alone. Where that
stands for several elements, such as the ports 53/TCP and 53/UDP, or a variable that is
in the list twice, a patch for one of them changes or deletes others. Then only a patch
that replaces the list does what the configuration asks for. ``whole_lists`` merges such
lists here, by all keys of their elements (``identity_of``), and puts the result into
the patch, with ``$patch: replace``.

    base      [{"port": 53, "protocol": "TCP"}]
    live      [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    modified  []
    the patch [{"port": 53, "$patch": "delete"}], which deletes both
    replaced  [{"$patch": "replace"}, {"port": 53, "protocol": "UDP"}]

What others write to the list between the moment at which live was read and that of the
patch would be lost, so such a patch needs the resourceVersion of live.
"""

from __future__ import annotations

from typing import TypeAlias

from smp.paths import Element, Path
from smp.schema.model import Field, Type
from smp.strategic._apply import apply_object
from smp.strategic._diff import Diff
from smp.strategic._directives import (
    MARKER,
    REPLACE,
    cleaned,
    deletions_from,
    is_directive,
    order_of,
)
from smp.strategic._ordering import (
    arranged,
    elements_by_identity,
    keys_of,
)
from smp.values import (
    MAX_LEVELS,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
)

# An object, or a list, of the last-applied configuration, live, and modified.
_Objects: TypeAlias = tuple[JSONObject, JSONObject, JSONObject]
_Lists: TypeAlias = tuple[JSONArray, JSONArray, JSONArray]


def whole_lists(
    patch: JSONObject,
    base: JSONObject,
    live: JSONObject,
    modified: JSONObject,
    type_: Type,
) -> tuple[JSONObject, list[Path]]:
    """Return a three-way patch that replaces the lists whose merge keys are ambiguous.

    The paths are those of the lists. Raises what computing and applying a patch raise.
    """
    replacement = _Replacement()
    objects = (base, live, modified)
    changed = replacement.object(patch, objects, type_, Path(), MAX_LEVELS)
    return changed, replacement.paths


class _Replacement:
    """The walk along a patch; ``paths`` are the lists that it replaced."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def object(
        self,
        patch: JSONObject,
        sides: _Objects,
        type_: Type,
        path: Path,
        levels: int,
    ) -> JSONObject:
        """Return the patch of an object that live has."""
        if not levels:
            raise RecursionError
        changed = dict(patch)
        for name, value in patch.items():
            field = None if is_directive(name) else type_.field(name)
            if field is None or field.replaces:
                continue
            base, live, modified = (side.get(name) for side in sides)
            here = path / name
            if isinstance(value, dict):
                if isinstance(live, dict) and isinstance(modified, dict):
                    inner = (as_object(base), live, modified)
                    changed[name] = self.object(
                        value, inner, field.type, here, levels - 1
                    )
            elif isinstance(value, list) and field.merges and field.merge_key:
                if not isinstance(live, list) or not isinstance(modified, list):
                    continue
                lists = (as_list(base), live, modified)
                if _is_ambiguous(lists, field):
                    # The directives of a list have no place beside a whole one.
                    self.paths.append(here)
                    changed.pop(order_of(name), None)
                    changed.pop(deletions_from(name), None)
                    merged = self.merged_list(lists, field, here, levels - 1)
                    changed[name] = [{MARKER: REPLACE}, *merged]
                else:
                    changed[name] = self._elements(
                        value, lists, field, here, levels - 1
                    )
        return changed

    def _elements(
        self, patch: JSONArray, lists: _Lists, field: Field, path: Path, levels: int
    ) -> JSONArray:
        """Return the elements of a patch for a list whose merge keys are unique."""
        base, live, modified = (
            {key: as_object(element) for key, element in _keyed(elements, field)}
            for elements in lists
        )
        indices = {key: index for index, key in enumerate(live)}
        changed: JSONArray = []
        for element in patch:
            members = as_object(element)
            # What is deleted has nothing below it.
            if MARKER in members:
                changed.append(element)
                continue
            ((key, _),) = _keyed([element], field)
            # So has a new element, which is taken as it is.
            if key not in live or key not in modified:
                changed.append(element)
                continue
            sides = (base.get(key, {}), live[key], modified[key])
            index = indices[key]
            here = path / Element(index, field.merge_key, members[field.merge_key])
            changed.append(self.object(members, sides, field.type.items, here, levels))
        return changed

    def merged_list(
        self, lists: _Lists, field: Field, path: Path, levels: int
    ) -> JSONArray:
        """Merge a list by all keys of its elements."""
        base, live, modified = (
            elements_by_identity(elements, field) for elements in lists
        )
        indices = {identity: index for index, identity in enumerate(live)}
        merged: list[JSONObject] = []
        identities: list[ScalarKey] = []
        for identity, element in modified.items():
            identities.append(identity)
            # A new element is taken as it is, less its nulls (Go: removeDirectives).
            if identity not in live:
                merged.append(as_object(cleaned(element)))
                continue
            sides = (base.get(identity, {}), live[identity], element)
            # An element is patched as it would be in a list without repeated keys.
            diff = Diff()
            patch = diff.objects(
                *sides, field.type.items, retain_keys=field.retain_keys
            )
            index = indices[identity]
            here = path / Element(index, field.merge_key, element[field.merge_key])
            patch = self.object(patch, sides, field.type.items, here, levels)
            merged.append(apply_object(live[identity], patch, field.type.items))
        for identity, element in live.items():
            # What was applied and is no longer in modified is removed.
            if identity not in modified and identity not in base:
                identities.append(identity)
                merged.append(element)
        return [*arranged(merged, identities, list(modified), list(live))]


def _is_ambiguous(lists: _Lists, field: Field) -> bool:
    """Tell whether a patch merge key stands for several elements of lists."""
    identity_of_key: dict[ScalarKey, ScalarKey] = {}
    for elements in lists:
        identities = elements_by_identity(elements, field)
        for key, identity in zip(keys_of(elements, field.merge_key), identities):
            if identity_of_key.setdefault(key, identity) != identity:
                return True
    return False


def _keyed(elements: JSONArray, field: Field) -> list[tuple[ScalarKey, JSONObject]]:
    keys = keys_of(elements, field.merge_key)
    return [(key, as_object(element)) for key, element in zip(keys, elements)]
