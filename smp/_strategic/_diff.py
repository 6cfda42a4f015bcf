"""Computing a strategic merge patch from three objects in one walk.

Theory of operation
===================

A three-way patch is computed from the *last-applied configuration* (``base`` here), the
*modified configuration* and the *live* object. Go's CreateThreeWayMergePatch makes
three passes:

    delta      = diffMaps(live, modified), no deletions     what to add and to change
    deletions  = diffMaps(base, modified), deletions only   what to delete
    patch      = mergeMap(deletions, delta)                 both, merged as patches

Here one walk over ``modified`` compares it with both other sides at once and writes the
patch directly. For a two-way patch, base and live are the same object.

An example: a user applied a Pod with the containers ``app`` and ``old``. The next
configuration changes the image of ``app`` and removes ``old``. In the meantime the
server has set a default, the pull policy.

    base      {"containers": [{"name": "app", "image": "i:1"}, {"name": "old"}]}
    live      {"containers": [{"name": "app", "image": "i:1", "imagePullPolicy": ..},
                              {"name": "old"}]}
    modified  {"containers": [{"name": "app", "image": "i:2"}]}

1. ``_object`` reaches ``containers``, a list. ``_list_field`` finds that neither base
   and live differs from modified, and that the field is a merge list.
2. ``_list`` reads the keys: ``app`` in modified, ``app`` and ``old`` in base and live.
   It pairs the elements of base and live with those of modified.
3. The three elements ``app`` differ. ``_object`` walks them and returns
   ``{"image": "i:2"}``. The pull policy is only in live, so it is not touched.
4. No element of modified pairs with ``old`` of base, so the patch deletes it.
5. The list changes, so the patch contains its order. The result is

    {"$setElementOrder/containers": [{"name": "app"}],
     "containers": [{"image": "i:2", "name": "app"},
                    {"$patch": "delete", "name": "old"}]}

One convention makes this fast. Most parts of the three objects are equal, and comparing
a subtree takes as long as walking it, so nothing is compared twice. A side that equals
the modified value is *replaced by the modified value* (``_share_equal`` for one value,
``smp._values.values.share_equal`` for the elements of a list). After that, ``live is
modified`` means that live equals modified, and ``base is modified`` that base does.
Objects with declared fields are not compared beforehand, as the walk finds the
differences itself.

The walk is by hand, as it builds a patch at each level, and pairs elements as Go does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, cast

from smp._strategic._directives import (
    RETAIN_KEYS,
    check_names,
    clean,
    delete_element,
    deletions_from,
    directive_as_field,
    field_of,
    is_directive,
    is_in_order,
    order_of,
)
from smp._strategic._ordering import (
    align,
    element_type,
    group_order,
    identities_of,
    identity_of,
    keys_of,
    numbered,
    plain_keys,
)
from smp._strategic._patch_merge import UnmergeableError, merge_list
from smp._values.raw import RawJSON
from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    SCALAR_TYPES,
    Absent,
    JSONArray,
    JSONObject,
    NotPlainError,
    ScalarKey,
    as_list,
    as_object,
    printed,
    require_plain,
    same,
    scalar_key,
    share_equal,
)
from smp.errors import SmpError
from smp.paths import Element
from smp.schema.model import OPAQUE, RAW, Field, ListType, Type, unknown_field
from smp.schema.sides import Keys, identity_names

Value: TypeAlias = "JSON | Absent"
# Objects and lists of modified, by the ids of those of base or live with all of it.
Known: TypeAlias = "dict[int, JSON]"

_SEVERAL: Final = 2


class Diff:
    """The walk over three objects that the docstring of this module explains.

    ``orders=False`` leaves out order directives, as Go does (SetElementOrder: false)
    where it looks for conflicts. Such a patch is not for a server, so fields that are
    named as directives are in it like all others. ``two_way=True`` says that base and
    live are one object. ``only_unmet=True`` leaves out each deletion of what live does
    not have.

    Afterwards ``deletes`` tells whether there may have been anything to delete,
    ``deletes_in_new`` whether something of it was in a value that is new to live, and
    ``ambiguous`` whether the patch has elements of a merge key that may stand for
    several elements. ``equal`` has the objects and lists of base and live that are the
    same as those of modified at their place.

    With ``notes_met=True`` it is also noted what need not be looked at in the patched
    object. ``exact`` tells whether that certainly has all that modified asks for: the
    patch sets nothing but scalars in objects that live has, and all of its elements are
    found by their merge keys. ``met`` has the objects and lists of live, beside the
    equal ones, for which the patch has nothing, but for those within such a one; a walk
    that is given both as ``known`` does not visit them.
    """

    def __init__(
        self,
        *,
        orders: bool = True,
        two_way: bool = False,
        only_unmet: bool = False,
        notes_met: bool = False,
        known: tuple[Known, ...] = (),
    ) -> None:
        self._known = known
        self._notes_met = notes_met
        self.met: Known = {}
        # How many lists were seen in which elements of one patch merge key may be
        # others: there an empty patch does not say that all is met.
        self._doubts = 0
        self._levels = MAX_LEVELS
        self._orders = orders
        self._two_way = two_way
        self._only_unmet = only_unmet
        self.deletes: bool = False
        self.deletes_in_new: bool = False
        self.ambiguous: bool = False
        self.exact: bool = True
        self.equal: Known = {}

    def objects(
        self,
        base: JSONObject,
        live: JSONObject,
        modified: JSONObject,
        type_: Type,
        *,
        retain_keys: bool = False,
    ) -> JSONObject:
        """Return the patch for three objects of a type; ``{}`` if nothing changes.

        With ``retain_keys`` it may have the directive $retainKeys. Raises ObjectError
        for lists that cannot be compared and for a field that is named as a directive
        and differs, UnknownFieldError where unknown fields differ, RecursionError for
        too much depth. Go: diffMaps.
        """
        if not self._levels:
            raise RecursionError
        self._levels -= 1
        count_steps(len(modified))
        doubts = self._doubts
        patch: JSONObject = {}
        common = 0  # how many names of modified live has as well
        for name, value in modified.items():
            live_value = live.get(name, ABSENT)
            if live_value is not ABSENT:
                common += 1
            json_type = type(value)
            if json_type is dict or json_type is list:
                if self._known and self._is_known(live_value, value):
                    continue
                field = type_.field(name)
                base_value = base.get(name, ABSENT)
                try:
                    members = self._field(name, base_value, live_value, value, field)
                except SmpError as error:
                    raise error.within(name) from None
                if members:
                    patch.update(members)
            elif json_type is not str and json_type not in SCALAR_TYPES:
                _add_undecoded(patch, name, value, live_value)
                self.exact = self.exact and live_value is value
            elif live_value is not value and (
                type(live_value) is not json_type or live_value != value
            ):
                require_plain(live_value)
                # Go: "Key was added", "Types have changed", and
                # replacePatchFieldIfNotEqual for scalars of one type.
                # The null asks for an absence, which there is; in opaque JSON it is a
                # value.
                asks_nothing = value is None and live_value is ABSENT
                if asks_nothing and self._only_unmet and type_.stored is not RAW:
                    continue
                if self._orders and is_directive(name):
                    raise directive_as_field(name).within(name)
                patch[name] = value
                if value is None:
                    self.exact = False
        live_has_more = len(live) > common
        # The conditions exclude the cases in which base cannot have another name.
        if base is not modified and (base is not live or live_has_more):
            self._add_deletions(patch, base, live, modified)
        # Go: "Insert the retainKeysList iff there are values present in the
        # retainKeysList and [..] the patch is not empty [or] there are additional
        # field in original that need to be cleared"; original is live here.
        if retain_keys and (
            patch or (live_has_more and _has_more_fields(live, modified))
        ):
            _retain_keys(patch, modified)
        self._levels += 1
        is_noted = bool(patch) or self._levels == MAX_LEVELS
        if is_noted and self._notes_met and self._doubts == doubts:
            self._note_members(patch, live, modified)
        return patch

    def _is_known(self, live: Value, modified: JSON) -> bool:
        """Tell whether an earlier walk found that live has all of a value."""
        identity = id(live)
        for known in self._known:  # noqa: SIM110  # any() over a generator is slower
            if known.get(identity) is modified:
                return True
        return False

    def _note_members(
        self, patch: JSONObject, live: JSONObject, modified: JSONObject
    ) -> None:
        """Note the members of an object for which the patch has nothing."""
        # A list may have directives alone.
        changed = {field_of(name) for name in patch}
        for name, value in modified.items():
            if name not in changed:
                self._note_met(live.get(name, ABSENT), value)

    def _note_met(self, live: Value, modified: JSON) -> None:
        """Note that live has all of a value, if that is an object or a list."""
        if isinstance(live, (dict, list)) and id(live) not in self.equal:
            self.met[id(live)] = modified

    def _field(
        self, name: str, base: Value, live: Value, modified: JSON, field: Field | None
    ) -> JSONObject:
        """Return the patch members for an object or a list of modified.

        Raises ObjectError for a field that is named as a directive.
        """
        members: JSONObject = {}
        if isinstance(modified, dict):
            child = self._object_field(base, live, modified, field)
            if child is not ABSENT:
                members[name] = child
        elif isinstance(modified, list):
            members = self._list_field(name, base, live, modified, field)
        if members and self._orders:
            if is_directive(name):
                raise directive_as_field(name)
            if members.get(name, ABSENT) is modified:
                self.exact = False
                type_ = OPAQUE if field is None else field.type
                is_new = type(live) is not type(modified)
                check_names(modified, type_, self._levels + 1, is_new=is_new)
        return members

    def _add_deletions(
        self,
        patch: JSONObject,
        base: JSONObject,
        live: JSONObject,
        modified: JSONObject,
    ) -> None:
        """Set null for each name that base has and modified lacks.

        Go: updatePatchIfMissing.
        """
        for name in base:
            if name in modified or (self._only_unmet and name not in live):
                continue
            if self._orders and is_directive(name):
                # A null would be a malformed directive. Where live lacks the field
                # there is nothing to delete.
                if name in live:
                    raise directive_as_field(name).within(name)
                continue
            patch[name] = None
            self.deletes = True

    def _object_field(
        self, base: Value, live: Value, modified: JSONObject, field: Field | None
    ) -> JSONObject | Absent:
        """Return the patch for a field that is an object in modified, or ABSENT.

        Go: handleMapDiff.
        """
        require_plain(base)
        require_plain(live)
        if field is None or field.replaces or not field.type.structured:
            base, live = self._share_equal(base, live, modified)
        if live is modified and not _may_have_deletions(base, modified):
            return ABSENT
        if not isinstance(live, dict) and not isinstance(base, dict):
            # Go: "Key was added", "Types have changed": the whole value.
            return modified
        if field is None:
            # Go: "If the values are identical, this doesn't matter, no patch is needed.
            # Otherwise, return the error", both for live and for base.
            if isinstance(live, dict) or base is not modified:
                raise unknown_field()
            return modified
        if field.replaces:
            # The strategy replace: the whole value, but only if it differs
            # (docs/deviations.md, 5).
            return ABSENT if self._is_whole(live, modified, field.type) else modified
        return self._compare_nested(
            base, live, modified, field.type, retain_keys=field.retain_keys
        )

    def _share_equal(
        self, base: Value, live: Value, modified: JSON
    ) -> tuple[Value, Value]:
        """Return base and live, each replaced by the modified value if it equals it."""
        live_equal = live is modified or same(live, modified)
        if base is live:
            base_equal = live_equal
        else:
            base_equal = base is modified or same(base, modified)
        if base_equal:
            self.equal[id(base)] = modified
            base = modified
        if live_equal:
            self.equal[id(live)] = modified
            live = modified
        return base, live

    def _share_elements(self, values: list[Value], modified: JSONArray) -> list[Value]:
        """Return elements, each replaced by that of modified if it equals it."""
        if self._known:
            values = [
                element if self._is_known(value, element) else value
                for value, element in zip(values, modified)
            ]
        shared = share_equal(values, modified)
        if shared is not values:
            for value, same_value, element in zip(values, shared, modified):
                if value is not same_value:
                    self.equal[id(value)] = element
        return shared

    def _is_whole(self, live: Value, modified: JSON, type_: Type) -> bool:
        """Tell whether live has a value that a patch replaces as a whole."""
        if live is modified:
            return True
        # What a null asks for is met by what a patch makes of it.
        return self._only_unmet and same(live, clean(modified, type_))

    def _compare_nested(
        self,
        base: Value,
        live: Value,
        modified: JSONObject,
        type_: Type,
        *,
        retain_keys: bool,
    ) -> JSONObject | Absent:
        """Return the patch for an object that live may lack, or ABSENT."""
        base_object = as_object(base)
        if isinstance(live, dict):
            patch = self.objects(
                base_object, live, modified, type_, retain_keys=retain_keys
            )
            return patch or ABSENT
        # Live lacks the object, so Go's delta is all of modified. If there are
        # deletions (a walk with modified as the live object finds nothing else), Go
        # merges the delta into them. The result is that of an empty live object.
        deletions = self.objects(
            base_object, modified, modified, type_, retain_keys=retain_keys
        )
        if not deletions:
            return modified
        self.deletes_in_new = True
        self.exact = False
        return self.objects(base_object, {}, modified, type_, retain_keys=retain_keys)

    def _list_field(
        self,
        name: str,
        base: Value,
        live: Value,
        modified: JSONArray,
        field: Field | None,
    ) -> JSONObject:
        """Return the patch members for a field that is a list in modified.

        These are the list and its directives. Go: handleSliceDiff.
        """
        require_plain(base)
        require_plain(live)
        base, live = self._share_equal(base, live, modified)
        if live is modified and not _may_have_deletions(base, modified):
            return {}
        if not isinstance(live, list) and not isinstance(base, list):
            # Go: "Key was added", "Types have changed": the whole value.
            return {name: modified}
        if field is None:
            # As for objects: an error unless both sides are equal to modified.
            if isinstance(live, list) or base is not modified:
                raise unknown_field()
            return {name: modified}
        if not field.merges:
            # An atomic list. Go: replacePatchFieldIfNotEqual.
            return (
                {} if self._is_whole(live, modified, field.type) else {name: modified}
            )
        base_list = as_list(base)
        in_live = isinstance(live, list)
        if live and isinstance(live, list):
            return self._list(name, _Lists(base_list, live, modified), field)
        # Live lacks the list, or has an empty one. Go: diffLists, "Old slice was empty
        # - add all elements from the new slice". As in _compare_nested, Go merges the
        # elements into the deletions, if any. If base equals modified there are none;
        # if live has the list it is walked all the same, for the errors of malformed
        # elements.
        deletes = False
        if base_list and (in_live or base is not modified):
            lists = _Lists(base_list, modified, modified)
            deletes = bool(self._list(name, lists, field))
        if not deletes:
            return {} if in_live and not modified else {name: modified}
        if not in_live and field.merge_key:
            self.deletes_in_new = True
            self.exact = False
        patch = self._list(name, _Lists(base_list, [], modified), field)
        return patch if in_live else {name: modified, **patch}

    def _list(self, name: str, lists: _Lists, field: Field) -> JSONObject:
        """Return the patch members for a merge list. Go: diffLists."""
        merge_key = field.merge_key
        base, live, modified = lists.base, lists.live, lists.modified
        # Elements with plain merge keys are valid: no further check of types and keys.
        keys = plain_keys(modified, merge_key)
        base_keys = keys if base is modified else plain_keys(base, merge_key)
        if live is modified:
            live_keys = keys
        elif live is base:
            live_keys = base_keys
        else:
            live_keys = plain_keys(live, merge_key)
        if keys is None or base_keys is None or live_keys is None:
            json_type = element_type(base or live, modified)
            if live and element_type(live, modified) is not json_type:
                # Live has elements of another type than base. Modified agrees with
                # both, so it is empty, and there is nothing to add. Only the errors of
                # Go's pass over live remain, for elements without their merge key.
                if isinstance(live[0], dict):
                    keys_of(live, merge_key)
                lists.live = live = []
            if json_type is not dict:
                return self._list_of_scalars(name, lists)
            keys = keys_of(modified, merge_key)
            base_keys = keys_of(base, merge_key)
            live_keys = keys_of(live, merge_key)
        lists.base_keys, lists.live_keys, lists.keys = base_keys, live_keys, keys
        return self._list_of_objects(name, lists, field)

    def _list_of_objects(self, name: str, lists: _Lists, field: Field) -> JSONObject:
        """Return the patch members for a merge list of objects, whose keys are known.

        Go: diffListsOfMaps, which sorts both lists by merge key to pair the elements.
        """
        merge_key = field.merge_key
        modified, keys = lists.modified, lists.keys
        repeats = self._pair_by_key(lists)
        if repeats:
            # An element that was removed is not deleted where another has its key.
            self.deletes = True
        has_several = isinstance(field.type, ListType) and len(field.type.map_keys) > 1
        doubts = self._doubts
        if self._notes_met and (
            repeats or (has_several and _are_in_doubt(lists, field))
        ):
            self._doubts += 1
            self.exact = False
        if self._only_unmet:
            self._pair_for_unmet(lists, field, repeats=repeats)
        changed = self._elements(lists, field)
        removed_keys = [as_object(element)[merge_key] for element in lists.removed]
        deletions: JSONArray = []
        for value in sorted(removed_keys, key=printed):
            deletions.append(delete_element(merge_key, value))
            self.deletes = True
        # Lists of equal keys were paired without a look for repeated ones.
        if changed and not repeats:
            repeats = len(set(keys)) < len(keys)
        # Go: "append the deletions to the end of the patch list".
        elements: JSONArray = [*changed.values(), *deletions]
        if elements and not self._only_unmet:
            if repeats:
                self.ambiguous = True
                self.exact = False
                elements = self._compare_repeated_keys(lists, changed, deletions, field)
            elif has_several and _changes_identity(lists, changed, field):
                self.ambiguous = True
                self.exact = False
        order: JSONArray = []
        # Go: "generate the setElementOrder list when there are content changes or order
        # changes".
        if self._orders and (elements or lists.live_keys != keys):
            order = [{merge_key: as_object(item)[merge_key]} for item in modified]
        if self._notes_met and self._doubts == doubts and (elements or order):
            for index, element in enumerate(modified):
                if index not in changed:
                    self._note_met(lists.paired_live[index], element)
        return self._add_order(name, elements, order)

    def _pair_by_key(self, lists: _Lists) -> bool:
        """Pair the elements by their patch merge key; tell whether one is repeated."""
        base, live, modified = lists.base, lists.live, lists.modified
        paired, lists.removed, repeats = align(base, lists.base_keys, lists.keys)
        lists.paired_base = self._share_elements(paired, modified) if base else paired
        if live is base:
            lists.paired_live, lists.unpaired_live = lists.paired_base, lists.removed
            return repeats
        paired, lists.unpaired_live, repeats_in_live = align(
            live, lists.live_keys, lists.keys
        )
        lists.paired_live = self._share_elements(paired, modified)
        return repeats or repeats_in_live

    def _pair_for_unmet(self, lists: _Lists, field: Field, *, repeats: bool) -> None:
        """Pair the elements as an API server identifies them, where keys do not tell.

        How Go pairs elements decides what is sent, not what was achieved. An API server
        identifies elements of one merge key by their map keys. Removed are only those
        that are still there.
        """
        base, live, modified = lists.base, lists.live, lists.modified
        if (
            repeats
            or len(set(lists.keys)) < len(lists.keys)
            or _are_others(lists.paired_live, modified, field)
        ):
            identities = identities_of(modified, field)
            paired, lists.removed, _ = align(
                base, identities_of(base, field), identities
            )
            lists.paired_base = share_equal(paired, modified)
            paired, lists.unpaired_live, _ = align(
                live, identities_of(live, field), identities
            )
            lists.paired_live = share_equal(paired, modified)
        if lists.removed:
            still_there = set(identities_of(lists.unpaired_live, field))
            lists.removed = [
                element
                for element in lists.removed
                if identity_of(element, field) in still_there
            ]

    def _elements(self, lists: _Lists, field: Field) -> dict[int, JSONObject]:
        """Return the elements of a patch for elements that were paired by merge key.

        They are under the index that each one has in modified.
        """
        base, live = lists.paired_base, lists.paired_live
        merge_key = field.merge_key
        type_ = field.type.items
        elements: dict[int, JSONObject] = {}
        for index, element in enumerate(lists.modified):
            base_element, live_element = base[index], live[index]
            if live_element is element and (
                base_element is element or base_element is ABSENT
            ):
                continue
            if not isinstance(element, dict):
                continue
            try:
                patch = self._compare_nested(
                    base_element,
                    live_element,
                    element,
                    type_,
                    retain_keys=field.retain_keys,
                )
                if patch is element and self._orders:
                    self.exact = False
                    check_names(patch, type_, self._levels + 1, is_new=False)
            except SmpError as error:
                raise error.within(
                    Element(index, merge_key, element[merge_key])
                ) from None
            if isinstance(patch, Absent):
                continue
            if patch is not element:
                patch[merge_key] = element[merge_key]
            elements[index] = patch
        return elements

    def _compare_repeated_keys(
        self,
        lists: _Lists,
        changed: dict[int, JSONObject],
        deletions: JSONArray,
        field: Field,
    ) -> JSONArray:
        """Return the elements of a patch for lists that repeat a merge key.

        They are those of Go, in its order. Where Go fails, or makes a patch that its
        order directive contradicts, they are what the elements of modified need, in
        the order of modified (docs/deviations.md, 11).
        """
        merge_key = field.merge_key
        as_modified: JSONArray = [*changed.values(), *deletions]
        sequence = group_order(lists.keys)
        elements: JSONArray = [changed[index] for index in sequence if index in changed]
        elements += deletions
        # Go's second pass finds nothing where modified equals base or live.
        in_one_pass = (
            self._two_way
            or lists.base is lists.modified
            or lists.live is lists.modified
        )
        element_keys = keys_of(elements, merge_key)
        if not in_one_pass and len(set(element_keys)) < len(element_keys):
            try:
                elements = self._compare_in_two_passes(
                    lists, sequence, deletions, field
                )
            except UnmergeableError:
                return as_modified
        return elements if is_in_order(elements, lists.keys, merge_key) else as_modified

    def _compare_in_two_passes(
        self, lists: _Lists, sequence: list[int], deletions: JSONArray, field: Field
    ) -> JSONArray:
        """Compute deletions and additions one after the other, and merge them.

        ``sequence`` is the order of the elements of modified in a patch. Raises
        UnmergeableError. Go: CreateThreeWayMergePatch.
        """
        modified = lists.modified
        as_it_is = cast("list[Value]", modified)
        # One pass alone does not tell what the patch has nothing for.
        self._notes_met = False
        removing = self._elements(lists.pair(lists.paired_base, as_it_is), field)
        first: JSONArray = [removing[index] for index in sequence if index in removing]
        first += deletions
        second = modified  # Go: "Old slice was empty - add all elements"
        if lists.live:
            adding = self._elements(lists.pair(as_it_is, lists.paired_live), field)
            if not adding and lists.live_keys == lists.keys:
                return first
            second = [adding[index] for index in sequence if index in adding]
            # Go: validatePatchWithSetOrderList.
            if not is_in_order(second, lists.keys, field.merge_key):
                raise UnmergeableError
            if not first:
                return second
        return merge_list(first, second, lists.keys, field)

    def _list_of_scalars(self, name: str, lists: _Lists) -> JSONObject:
        """Return the patch members for a merge list of scalars.

        Go: diffListsOfScalars.
        """
        live, modified = lists.live, lists.modified
        added = _surplus(modified, live)
        # Without repeats, as after Go's deduplicateScalars.
        removed: dict[ScalarKey, JSON] = {}
        for value in _surplus(lists.base, modified):
            removed[scalar_key(value)] = value
        if removed:
            self.deletes = True
        if self._only_unmet and removed:
            still_there = {scalar_key(value) for value in _surplus(live, modified)}
            removed = {key: removed[key] for key in removed if key in still_there}
        # Go: "generate the setElementOrder list when there are content changes or order
        # changes"; of the lists as they are written (docs/deviations.md, 10).
        order: JSONArray = []
        if self._orders and (removed or (live and not same(live, modified))):
            order = modified
        patch = self._add_order(name, added, order)
        self.exact = self.exact and not patch and not removed
        if not removed:
            return patch
        return {deletions_from(name): [*sorted(removed.values(), key=printed)], **patch}

    def _add_order(
        self, name: str, elements: JSONArray, order: JSONArray
    ) -> JSONObject:
        patch: JSONObject = {}
        if order:
            patch[order_of(name)] = order
        if elements:
            patch[name] = elements
        return patch


def _retain_keys(patch: JSONObject, modified: JSONObject) -> None:
    """Put the names of the fields into the patch, but for those that are null."""
    retained = [name for name, value in modified.items() if value is not None]
    if retained:
        patch[RETAIN_KEYS] = [*sorted(retained)]


def _add_undecoded(patch: JSONObject, name: str, value: JSON, live: Value) -> None:
    """Put a value that smp.wire left undecoded into the patch, if it is new to live.

    Otherwise live has the same one. Raises NotPlainError for any other value that is
    not plain JSON.
    """
    if type(value) is not RawJSON or (live is not ABSENT and live is not value):
        raise NotPlainError
    if live is ABSENT:
        patch[name] = value


class _Lists:
    """A merge list on all three sides; of objects, with the keys of the elements.

    The paired lists have, for each element of modified, the one of the other side.
    ``removed`` are the elements of base, and ``unpaired_live`` those of live, that
    modified has none for.
    """

    __slots__ = (
        "base",
        "base_keys",
        "keys",
        "live",
        "live_keys",
        "modified",
        "paired_base",
        "paired_live",
        "removed",
        "unpaired_live",
    )

    def __init__(self, base: JSONArray, live: JSONArray, modified: JSONArray) -> None:
        self.base = base
        self.live = live
        self.modified = modified
        self.base_keys: list[ScalarKey] = []
        self.live_keys: list[ScalarKey] = []
        self.keys: list[ScalarKey] = []
        self.paired_base: list[Value] = []
        self.paired_live: list[Value] = []
        self.removed: JSONArray = []
        self.unpaired_live: JSONArray = []

    def pair(self, base: list[Value], live: list[Value]) -> _Lists:
        lists = _Lists(self.base, self.live, self.modified)
        lists.paired_base, lists.paired_live = base, live
        return lists


def _are_others(paired: list[Value], modified: JSONArray, field: Field) -> bool:
    """Tell whether an element was paired with one that its map keys tell from it."""
    if not isinstance(field.type, ListType) or len(field.type.map_keys) < _SEVERAL:
        return False
    # They were paired by the first key, the patch merge key.
    names = identity_names(field.type, field.merge_key)[1:]
    keys = Keys(names, field.type.items)
    for index in range(len(paired)):
        live, element = paired[index], modified[index]
        if live is element or not isinstance(live, dict):
            continue
        if keys.tell(live, element):
            return True
    return False


def _are_in_doubt(lists: _Lists, field: Field) -> bool:
    """Tell whether elements that were paired by merge key may be others to a server."""
    if len(set(lists.keys)) < len(lists.keys):
        return True
    return _are_others(lists.paired_live, lists.modified, field)


def _changes_identity(lists: _Lists, changed: Iterable[int], field: Field) -> bool:
    """Tell whether a patch hits an element of live that is another one.

    That is an element with the merge key of what is added, changed or removed, and with
    another map key, such as a port of another protocol. ``changed`` are the indices of
    elements of modified.
    """
    replaced = [lists.paired_live[index] for index in changed]
    if _are_others(replaced, [lists.modified[index] for index in changed], field):
        return True
    removed, others = lists.removed, lists.unpaired_live
    known = set(identities_of(removed, field))
    keys = set(keys_of(removed, field.merge_key))
    other_keys = keys_of(others, field.merge_key)
    for identity, key in zip(identities_of(others, field), other_keys):
        if key in keys and identity not in known:
            return True
    return False


def _may_have_deletions(base: Value, modified: JSON) -> bool:
    """Tell whether base may have something that modified no longer has."""
    return base is not modified and bool(base) and type(base) is type(modified)


def _has_more_fields(live: JSONObject, modified: JSONObject) -> bool:
    """Tell whether live has a field, not null, that modified lacks.

    Go: hasAdditionalNewField.
    """
    for name, value in live.items():
        if value is not None and name not in modified:
            return True
    return False


def _surplus(elements: JSONArray, others: JSONArray) -> JSONArray:
    """Return the scalars that a list has more often than another list, in order."""
    matched = set(numbered(keys_of(others, "")))
    surplus: JSONArray = []
    for value, key in zip(elements, numbered(keys_of(elements, ""))):
        if key not in matched:
            surplus.append(value)
    return surplus
