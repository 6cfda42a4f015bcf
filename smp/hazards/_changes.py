"""The hazards of what an apply changes: what it takes away, and what it leaves behind.

One walk over the live object and the result, which share what did not change, beside
both configurations. It looks at nothing that is shared, so an apply that changes an
image costs a few comparisons.

A *loss* is a value of live that neither configuration has, and that the result does not
have either. Each loss is in one hazard, whose code says what caused it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from smp._strategic import is_directive
from smp._values.findings import Input
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    printed,
    same,
    value_key,
    value_keys,
)
from smp.hazards._hazard import Hazard, hazard
from smp.hazards._pairs import PAIRS, SECOND_KEYS, Pair
from smp.paths import Element, Path, value_at
from smp.schema.model import ObjectType
from smp.schema.sides import BASE, LIVE, MANIFEST, Pairing, Roles, Sides, identity_names

# So many of the values that are lost are named.
_WHOLE: Final = "the value itself"
_NAMED: Final = 5
_ROLES: Final = Roles((LIVE,), by_map_keys=True)
# A leaf of live, and whether a server had filled it in: a scalar, an empty object or
# list, or an element of an atomic list.
Leaf: TypeAlias = tuple[Path, bool]


class ChangeSearch:
    """The walk; ``hazards`` are those that it found.

    ``cleared`` are the paths that the normalization of unions changed, and ``filled``
    returns what a server makes of the last-applied configuration. ``by_list_types``
    says that a list with equal keys was set as a whole (managed_fields.local_merge),
    ``has_unique_keys`` that there is none.
    """

    def __init__(
        self,
        cleared: set[str],
        filled: Callable[[], JSONObject],
        *,
        by_list_types: bool,
        has_unique_keys: bool,
    ) -> None:
        self.hazards: list[Hazard] = []
        self._by_list_types = by_list_types
        self._has_unique_keys = has_unique_keys
        self._cleared = cleared
        self._filled = filled

    def search(self, sides: Sides) -> None:
        """Look at the objects: live, the manifest, the former one, the result."""
        self._search_object(sides, MAX_LEVELS, retains=False)

    def _search_object(self, sides: Sides, levels: int, *, retains: bool) -> None:
        """Look at an object that live and the result have, and that differs.

        ``retains`` says that the apply clears what the manifest does not have.
        """
        if not levels:
            raise RecursionError
        live, base = as_object(sides.live), as_object(sides.last_applied)
        modified, result = as_object(sides.manifest), as_object(sides.result)
        type_ = sides.type
        if isinstance(type_, ObjectType):
            type_name = type_.name.rpartition(".")[2]
            for pair in PAIRS.get(type_name, ()):
                self._judge_pair(pair, sides)
            if type_name == "Secret":
                self._judge_write_only(sides)
        for name in base:
            # That of the manifest was found before.
            if "$" in name and is_directive(name) and name not in modified:
                path = sides.member(name).path_in(LIVE)
                self._add("directive-in-object", path, "last-applied")
        # An element has the keys by which it was found.
        pairing = sides.pairing
        keys = () if pairing is None else pairing.names
        for name, value in live.items():
            is_new = name not in modified and name not in base
            if is_new and "$" in name and is_directive(name):
                path = sides.member(name).path_in(LIVE)
                self._add("directive-in-object", path, "live")
            after = result.get(name, ABSENT)
            # What the apply does not change is shared.
            if after is value or name in keys:
                continue
            is_wanted = name in modified or name in base
            is_scalar = not isinstance(value, (dict, list))
            if is_wanted and is_scalar and after is not ABSENT:
                # A configuration changes its own value.
                continue
            self._search_value(sides.member(name), levels - 1, retains=retains)

    def _search_value(self, sides: Sides, levels: int, *, retains: bool) -> None:
        """Look at a field of an object, which differs."""
        live, result = sides.live, sides.result
        field = sides.field
        if isinstance(live, dict) and isinstance(result, dict):
            if field.replaces:
                self._report("lost-by-replacement", sides)
            else:
                retained = field.retain_keys and sides.manifest is not ABSENT
                self._search_object(sides, levels, retains=retained)
        elif isinstance(live, list) and isinstance(result, list):
            if not field.merges or not field.merge_key:
                self._search_atomic_list(sides)
                return
            changed = sides.find_changed_elements() if self._has_unique_keys else None
            if changed is not None:
                for element in changed:
                    self._search_element(element, levels)
                return
            pairing = sides.pair()
            if self._by_list_types and not pairing.is_unique:
                self._search_atomic_list(sides)
            else:
                self._search_merge_list(sides, pairing, levels)
        elif self._cleared and str(sides.path_in(LIVE)) in self._cleared:
            # The normalization says itself which discriminator it wrote.
            if result is ABSENT:
                self._report("lost-by-union", sides)
        else:
            code = _code_of_loss(sides, retains=retains)
            if code:
                self._report(code, sides)

    def _report(self, code: str, sides: Sides) -> None:
        """Report what is lost of a value, if anything is."""
        live, result = sides.live, sides.result
        others = [sides.last_applied, sides.manifest]
        if isinstance(result, (dict, list)):
            # A scalar that is another one now is lost as well.
            others.append(result)
        # What a server filled in is worked out only where something is lost.
        filled: JSON | Absent = ABSENT
        leaves: list[Leaf] = []
        for is_last in (False, True):
            below = Sides([live, *others, filled], sides.type, _ROLES)
            below.field = sides.field
            leaves = []
            _find_leaves(below, leaves)
            if not leaves:
                return
            if not is_last:
                filled = value_at(self._filled(), sides.path_in(LIVE))
        # An element that is lost is named by its keys.
        keys = () if sides.pairing is None else sides.pairing.names
        names: list[str] = []
        is_default = True
        for path, is_filled_in in leaves:
            # An empty object or list is a leaf itself.
            name = str(path) or _WHOLE
            if name not in keys:
                names.append(name)
                is_default = is_default and is_filled_in
        if not isinstance(live, (dict, list)):
            self._add_loss(code, sides, _WHOLE, is_default=is_default)
        elif names:
            lost = _list_names(sorted(names))
            self._add_loss(code, sides, lost, is_default=is_default)

    def _add(self, code: str, path: Path, source: Input, **blanks: str) -> None:
        self.hazards.append(hazard(code, path, source, **blanks))

    def _add_loss(
        self, code: str, sides: Sides, lost: str, *, is_default: bool
    ) -> None:
        """Add what live loses; of what a server had filled in that is a note."""
        found = hazard(code, sides.path_in(LIVE), "live", lost=lost)
        if is_default:
            found = msgspec.structs.replace(found, severity="note")
        self.hazards.append(found)

    def _search_atomic_list(self, sides: Sides) -> None:
        """Look at a list that the manifest replaces, or at one of scalars.

        An element of live that has all of one of a configuration, and more, is that
        element with the defaults of a server.
        """
        live = as_list(sides.live)
        # Elements have no key here: each is what it is.
        known = value_keys(sides.values[MANIFEST:])
        keys = [value_key(element) for element in live]
        lost = [index for index in range(len(live)) if keys[index] not in known]
        if not lost:
            return
        kept = set(keys)
        unpaired: JSONArray = []
        for side in (MANIFEST, BASE):
            for element in as_list(sides.values[side]):
                if value_key(element) not in kept:
                    unpaired.append(element)
        is_default = len(unpaired) >= len(lost) and all(
            _covers(live[index], other)
            for index, other in zip(lost, unpaired, strict=False)
        )
        # What is not in a configuration may still be what a server makes of one.
        if not is_default:
            defaults = value_keys([value_at(self._filled(), sides.path_in(LIVE))])
            is_default = all(keys[index] in defaults for index in lost)
        names = _list_names([f"[{index}]" for index in lost])
        self._add_loss("lost-in-list", sides, names, is_default=is_default)

    def _search_merge_list(self, sides: Sides, pairing: Pairing, levels: int) -> None:
        """Look at a list whose elements were merged by the patch merge key."""
        live, result = as_list(sides.live), as_list(sides.result)
        if pairing.is_aligned:
            # Nothing was added, and nothing was removed.
            for index in range(len(live)):
                if live[index] is not result[index]:
                    element = sides.element([index] * len(sides.values), pairing)
                    self._search_element(element, levels)
            return
        # Elements that stay and that neither configuration has are those of others;
        # elements of the manifest may be new, or be missing after the apply.
        left: list[Sides] = []
        added: list[JSONObject] = []
        deleted: list[Sides] = []
        for element in sides.elements(pairing):
            former = element.live
            wanted, after = element.manifest, element.result
            if wanted is not ABSENT and after is ABSENT:
                deleted.append(element)
            if isinstance(former, Absent):
                if isinstance(wanted, dict) and after is not ABSENT:
                    added.append(wanted)
            elif after is ABSENT:
                self._judge_lost_element(element)
            else:
                if wanted is ABSENT and element.last_applied is ABSENT:
                    left.append(element)
                if after is not former:
                    self._search_element(element, levels)
        for element in deleted:
            self._add("deleted-with-duplicate", element.path_in(MANIFEST), "manifest")
        if left and added:
            self._judge_key_changes(left, added)

    def _search_element(self, element: Sides, levels: int) -> None:
        parent = element.parent
        retains = parent is not None and parent.field.retain_keys
        is_wanted = element.manifest is not ABSENT
        self._search_object(element, levels, retains=retains and is_wanted)

    def _judge_lost_element(self, sides: Sides) -> None:
        """Look at an element that the result does not have."""
        is_wanted = sides.manifest is not ABSENT
        if not is_wanted and sides.last_applied is not ABSENT:
            # The user removed it.
            self._report("lost-with-element", sides)
        elif is_wanted:
            # It was deleted with another one; the manifest has most of it.
            self._report("lost-by-ambiguous-key", sides)
        else:
            # All of it is of others. It is named by its map keys and its name.
            element = as_object(sides.live)
            keys: tuple[str, ...] = ()
            if sides.parent is not None:
                keys = identity_names(sides.parent.type, sides.parent.field.merge_key)
            names = dict.fromkeys([*keys, "name"])
            parts = [f"{n}={printed(element[n])}" for n in names if n in element]
            lost = f"the element {', '.join(parts)}"
            self._add_loss("lost-by-ambiguous-key", sides, lost, is_default=False)

    def _judge_key_changes(self, left: list[Sides], added: list[JSONObject]) -> None:
        """Find new elements that are likely to be ones that stay under another key."""
        items = left[0].type
        parent = left[0].parent
        if not isinstance(items, ObjectType) or parent is None:
            return
        merge_key = parent.field.merge_key
        type_name = items.name.rpartition(".")[2]
        reported: set[int] = set()
        for names in SECOND_KEYS.get(type_name, ()):
            # The first fields that two elements have in common count.
            by_second_key: dict[object, JSONObject] = {}
            for wanted in added:
                key = second_key(wanted, names)
                if key is not None:
                    by_second_key[key] = wanted
            for number, element in enumerate(left):
                key = second_key(as_object(element.live), names)
                new = None if key is None else by_second_key.get(key)
                if new is None or number in reported:
                    continue
                reported.add(number)
                new_step = Element(0, merge_key, new.get(merge_key))
                self._add(
                    "key-changed",
                    element.path_in(LIVE),
                    "live",
                    same=" and ".join(names),
                    new=str(new_step)[1:-1],
                )

    def _judge_pair(self, pair: Pair, sides: Sides) -> None:
        """Look at two fields that a server takes for one another."""
        base = as_object(sides.last_applied)
        modified = as_object(sides.manifest)
        result = as_object(sides.result)
        value, other = result.get(pair.field), result.get(pair.other)
        # Both are set: one of them counts.
        if modified.get(pair.other) and value and other:
            counts = as_list(other)[:1] == [value]
            if pair.likeness == "equal":
                counts = same(value, other)
            if not counts:
                self._add(
                    "pair-ignored",
                    sides.member(pair.other).path_in(LIVE),
                    "manifest",
                    rule=pair.rule,
                    field=pair.field,
                    other=pair.other,
                )
        # A server fills in the one field from the other, unless both go.
        if not pair.restores or modified.get(pair.field) or modified.get(pair.other):
            return
        for gone, stays in ((pair.field, pair.other), (pair.other, pair.field)):
            if gone in base and gone not in result and result.get(stays):
                self._add(
                    "pair-restored",
                    sides.member(gone).path_in(LIVE),
                    "live",
                    rule=pair.rule,
                    gone=gone,
                    stays=stays,
                )

    def _judge_write_only(self, sides: Sides) -> None:
        """Look at stringData of a Secret, which a server moves into data."""
        base = as_object(sides.last_applied)
        modified = as_object(sides.manifest)
        result = as_object(sides.result)
        for name in as_object(base.get("stringData")):
            if name in as_object(modified.get("stringData")):
                continue
            if name in as_object(modified.get("data")):
                continue
            if name in as_object(result.get("data")):
                self._add(
                    "write-only",
                    Path(("stringData", name)),
                    "last-applied",
                    gone=f"stringData.{name}",
                    stays=f"data.{name}",
                )


def _code_of_loss(sides: Sides, *, retains: bool) -> str:
    """Return the code of the hazard by which a value is lost; empty if it is not."""
    live, result = sides.live, sides.result
    base, modified = sides.last_applied, sides.manifest
    if result is not ABSENT:
        if base is ABSENT and modified is ABSENT:
            return "lost-by-ambiguous-key"
        return "lost-by-replacement" if isinstance(live, (dict, list)) else ""
    if modified is None:
        return "lost-by-null"
    if modified is ABSENT and base is not ABSENT:
        return "lost-with-list" if isinstance(live, list) else "lost-with-object"
    if modified is ABSENT and retains:
        return "lost-by-retain-keys"
    return "lost-by-ambiguous-key"


def second_key(element: JSONObject, names: tuple[str, ...]) -> object:
    """Return what tells an element beside its merge key; None if it has none of it."""
    if not element.get(names[0]):
        return None
    return value_key([element.get(name) for name in names])


def _covers(value: JSON, other: JSON) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return all(
            name in value and _covers(value[name], member)
            for name, member in other.items()
        )
    return same(value, other)


def _list_names(names: list[str]) -> str:
    """List names, the first ones if there are many."""
    more = len(names) - _NAMED
    text = ", ".join(names[:_NAMED])
    return f"{text} and {more} more" if more > 0 else text


def _find_leaves(sides: Sides, found: list[Leaf], levels: int = MAX_LEVELS) -> None:
    """Find the leaves of the first value that none of the others has.

    The last value is none of those: it is what a server makes of the last-applied
    configuration there. Raises RecursionError.
    """
    if not levels:
        raise RecursionError
    live = sides.values[0]
    # What is empty is a leaf itself, see the end.
    if isinstance(live, dict) and live:
        for name in live:
            _find_leaves(sides.member(name), found, levels - 1)
    elif isinstance(live, list) and live:
        field = sides.field
        if field.merges and field.merge_key:
            for element in sides.elements(sides.pair()):
                if element.values[0] is not ABSENT:
                    _find_leaves(element, found, levels - 1)
        else:
            _find_elements(sides, live, found)
    elif live is not ABSENT and all(value is ABSENT for value in sides.values[1:-1]):
        found.append((sides.path_in(0), same(live, sides.values[-1])))


def _find_elements(sides: Sides, live: JSONArray, found: list[Leaf]) -> None:
    """Find those of a list of scalars, or of one that is atomic."""
    # Without a key an element is what it is: its value tells it from others.
    known = value_keys(sides.values[1:-1])
    defaults = value_keys(sides.values[-1:])
    path = sides.path_in(0)
    for index, element in enumerate(live):
        key = value_key(element)
        if key not in known:
            found.append((path / index, key in defaults))
