"""Sending whole lists where a patch merge key stands for several elements.

A patch names the elements of a merge list by the patch merge key alone. Where that
stands for several elements, such as the ports 53/TCP and 53/UDP, or a variable that is
in the list twice, a patch for one of them changes or deletes others. Then only a patch
that replaces the list does what the configuration asks for. ``add_whole_lists`` merges
such lists here, by all keys of their elements (``identity_of``), and puts the result
into the patch, with ``$patch: replace``.

    base      [{"port": 53, "protocol": "TCP"}]
    live      [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    modified  []
    the patch [{"port": 53, "$patch": "delete"}], which deletes both
    replaced  [{"$patch": "replace"}, {"port": 53, "protocol": "UDP"}]

What others write to the list between the moment at which live was read and that of the
patch would be lost, so such a patch needs the resourceVersion of live.

The walk is by hand, as it builds a patch at each level.
"""

from __future__ import annotations

from typing import TypeAlias

from smp._strategic._apply import apply_object
from smp._strategic._diff import Diff
from smp._strategic._directives import (
    MARKER,
    REPLACE,
    clean,
    deletions_from,
    is_directive,
    order_of,
)
from smp._strategic._ordering import arrange, elements_by_identity, keys_of, plain_keys
from smp._values.last_applied import ApplyInputs
from smp._values.values import (
    JSON,
    MAX_LEVELS,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_list,
    as_object,
    same,
)
from smp.paths import Element, Path
from smp.schema.model import Field, Schema, Type
from smp.schema.sides import identity_keys

# An object, or a list, of the last-applied configuration, live, and modified.
_Objects: TypeAlias = tuple[JSONObject, JSONObject, JSONObject]
_Lists: TypeAlias = tuple[JSONArray, JSONArray, JSONArray]


def add_whole_lists(
    patch: JSONObject, inputs: ApplyInputs, schema: Schema, excluded: set[str]
) -> tuple[JSONObject, list[Path]]:
    """Return a three-way patch that replaces the lists whose merge keys are ambiguous.

    The paths are those of the lists: their elements were merged by all keys. Lists at
    the paths that are ``excluded``, as texts, are left to the patch. Raises what
    computing and applying a patch raise.
    """
    replacement = _Replacement(excluded)
    objects = (inputs.last_applied or {}, inputs.live, inputs.manifest)
    changed = replacement.object(patch, objects, schema.type, Path())
    return changed, replacement.paths


class _Replacement:
    """The walk along a patch; ``paths`` are the lists that it replaced."""

    def __init__(self, excluded: set[str]) -> None:
        self.paths: list[Path] = []
        self._excluded = excluded
        self._levels = MAX_LEVELS

    def object(
        self, patch: JSONObject, sides: _Objects, type_: Type, path: Path
    ) -> JSONObject:
        """Return the patch of an object that live has.

        It goes along modified: a patch has nothing for an element that it takes for
        another one.
        """
        if not self._levels:
            raise RecursionError
        self._levels -= 1
        changed = dict(patch)
        base_object, live_object, modified_object = sides
        for name, modified in modified_object.items():
            field = None if is_directive(name) else type_.field(name)
            if field is None or field.replaces:
                continue
            base, live = base_object.get(name), live_object.get(name)
            here = path / name
            if isinstance(modified, dict):
                if name not in patch and not isinstance(live, dict):
                    continue
                inner = (as_object(base), as_object(live), modified)
                below = as_object(patch.get(name))
                below = self.object(below, inner, field.type, here)
                if below:
                    changed[name] = below
            elif isinstance(modified, list) and field.merges and field.merge_key:
                lists = (as_list(base), as_list(live), modified)
                if any(plain_keys(each, field.merge_key) is None for each in lists):
                    # No list is merged by keys that are missing.
                    continue
                if _is_ambiguous(lists, field):
                    if self._excluded and str(here) in self._excluded:
                        continue
                    whole = self.merged_list(lists, field, here)
                    self.replace(changed, field, whole, live)
                    if changed.get(name) is not patch.get(name):
                        self.paths.append(here)
                elif name in patch or isinstance(live, list):
                    sent = as_list(patch.get(name))
                    elements = self._elements(sent, lists, field, here)
                    if elements:
                        changed[name] = elements
        self._levels += 1
        return changed

    def replace(
        self, patch: JSONObject, field: Field, whole: JSONArray, live: JSON
    ) -> None:
        """Put a whole list into a patch, if it changes what the patch does."""
        name, items = field.name, field.type.items
        # A patch stores no nulls, and an object of a server has none.
        if not same([clean(element, items) for element in whole], whole):
            return
        directives = (order_of(name), deletions_from(name))
        has_directives = any(directive in patch for directive in directives)
        # A server takes a list that is new as it is.
        is_new = not isinstance(live, list)
        if is_new and not has_directives and same(patch.get(name), whole):
            return
        is_sent = name in patch or has_directives
        if not is_new and not is_sent and same(live, whole):
            return
        # The directives of a list have no place beside a whole one.
        for directive in directives:
            patch.pop(directive, None)
        patch[name] = whole if is_new else [{MARKER: REPLACE}, *whole]

    def _elements(
        self, patch: JSONArray, lists: _Lists, field: Field, path: Path
    ) -> JSONArray:
        """Return the elements of a patch for a list whose merge keys are unique."""
        merge_key = field.merge_key
        base, live, modified = (
            {
                key: as_object(element)
                for key, element in _list_with_keys(elements, field)
            }
            for elements in lists
        )
        changed = {
            key: as_object(element) for key, element in _list_with_keys(patch, field)
        }
        for index, (key, element) in enumerate(modified.items()):
            members = changed.get(key, {})
            # What neither live nor the patch has is not there yet in another list.
            if key not in live and key not in changed:
                continue
            sides = (base.get(key, {}), live.get(key, {}), element)
            step = Element(index, merge_key, element[merge_key])
            below = self.object(members, sides, field.type.items, path / step)
            if below:
                changed[key] = {**below, merge_key: element[merge_key]}
        return [*changed.values()]

    def merged_list(self, lists: _Lists, field: Field, path: Path) -> JSONArray:
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
                merged.append(as_object(clean(element, field.type.items)))
                continue
            sides = (base.get(identity, {}), live[identity], element)
            # An element is patched as it would be in a list without repeated keys.
            diff = Diff()
            patch = diff.objects(
                *sides, field.type.items, retain_keys=field.retain_keys
            )
            index = indices[identity]
            here = path / Element(index, field.merge_key, element[field.merge_key])
            patch = self.object(patch, sides, field.type.items, here)
            merged.append(apply_object(live[identity], patch, field.type.items))
        for identity, element in live.items():
            # What was applied and is no longer in modified is removed.
            if identity not in modified and identity not in base:
                identities.append(identity)
                merged.append(element)
        return [*arrange(merged, identities, list(modified), list(live))]


def _is_ambiguous(lists: _Lists, field: Field) -> bool:
    """Tell whether a patch merge key stands for several elements of lists."""
    keys = identity_keys(field.type, field.merge_key)
    identity_of_key: dict[ScalarKey, ScalarKey] = {}
    for elements in lists:
        # A server refuses an element that lacks one of the other keys.
        if not all(keys.are_in(element) for element in elements):
            return False
        identities = elements_by_identity(elements, field)
        for key, identity in zip(keys_of(elements, field.merge_key), identities):
            if identity_of_key.setdefault(key, identity) != identity:
                return True
    return False


def _list_with_keys(
    elements: JSONArray, field: Field
) -> list[tuple[ScalarKey, JSONObject]]:
    keys = keys_of(elements, field.merge_key)
    return [(key, as_object(element)) for key, element in zip(keys, elements)]
