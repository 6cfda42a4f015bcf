"""The hazards of what an apply changes: what it takes away, and what it leaves behind.

One walk over the live object and the result, which share what did not change, beside
both configurations. It looks at nothing that is shared, so an apply that changes an
image costs a few comparisons.

A *loss* is a value of live that neither configuration has, and that the result does not
have either. Each loss is in one hazard, whose code says what caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from smp.codec import encode
from smp.hazards._hazard import Hazard, Input, Severity, hazard
from smp.hazards._leaves import Leaves
from smp.hazards._pairs import PAIRS, SECOND_KEYS, Pair
from smp.paths import Element, Path, Step, value_at
from smp.schema.model import ANY_FIELD, Field, ObjectType, Type
from smp.strategic import (
    identities_of,
    is_directive,
    keys_of_identity,
    lists_by_identity,
)
from smp.values import (
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
)

# So many of the values that are lost are named.
_NAMED: Final = 5


class Sides:
    """What the live object, both configurations and the result have at one place."""

    __slots__ = ("base", "live", "modified", "result")

    def __init__(
        self,
        live: JSON | Absent,
        base: JSON | Absent,
        modified: JSON | Absent,
        result: JSON | Absent,
    ) -> None:
        self.live = live
        self.base = base
        self.modified = modified
        self.result = result


class _At:
    """Where the walk is; the path is only made where something is to be said."""

    __slots__ = ("index", "name", "parent", "step")

    def __init__(self, parent: _At | None, name: str, index: int, step: JSON) -> None:
        self.parent = parent
        # A member; or an element, which has an index: its merge key and what it has
        # there.
        self.name = name
        self.index = index
        self.step = step

    def member(self, name: str) -> _At:
        """Return the place of a member."""
        return _At(self, name, -1, None)

    def element(self, index: int, field: Field, element: JSONObject) -> _At:
        """Return the place of an element of a merge list."""
        return _At(self, field.merge_key, index, element.get(field.merge_key))

    @property
    def path(self) -> Path:
        """The path from the root."""
        steps: list[Step] = []
        at = self
        while at.parent is not None:
            if at.index < 0:
                steps.append(at.name)
            else:
                steps.append(Element(at.index, at.name, at.step))
            at = at.parent
        steps.reverse()
        return Path(tuple(steps))


class ChangeSearch:
    """The walk; ``hazards`` are those that it found.

    ``cleared`` are the paths that the normalization of unions changed, and ``filled``
    returns what a server makes of the last-applied configuration. ``by_list_types``
    says that a list with equal keys was set as a whole (managed_fields.local_merge).
    """

    def __init__(
        self,
        cleared: set[str],
        filled: Callable[[], JSONObject],
        *,
        by_list_types: bool,
    ) -> None:
        self.hazards: list[Hazard] = []
        self._by_list_types = by_list_types
        self._cleared = cleared
        self._filled = filled

    def root(self, sides: Sides, type_: Type) -> None:
        """Look at the objects."""
        self.object(sides, type_, _At(None, "", -1, None), MAX_LEVELS)

    def object(
        self,
        sides: Sides,
        type_: Type,
        at: _At,
        levels: int,
        *,
        retains: bool = False,
        keys: Sequence[str] = (),
    ) -> None:
        """Look at an object that live and the result have, and that differs.

        ``retains`` says that the apply clears what the manifest does not have. ``keys``
        identify the object as an element of a list, so it has them still.
        """
        if not levels:
            raise RecursionError
        live, base = as_object(sides.live), as_object(sides.base)
        modified, result = as_object(sides.modified), as_object(sides.result)
        if isinstance(type_, ObjectType):
            type_name = type_.name.rpartition(".")[2]
            for pair in PAIRS.get(type_name, ()):
                self.pair(pair, Sides(live, base, modified, result), at)
            if type_name == "Secret":
                self.write_only(base, modified, result)
        for name in base:
            # That of the manifest was found before.
            if "$" in name and is_directive(name) and name not in modified:
                self._add("directive-in-object", at.member(name).path, "last-applied")
        for name, value in live.items():
            is_new = name not in modified and name not in base
            if is_new and "$" in name and is_directive(name):
                self._add("directive-in-object", at.member(name).path, "live")
            after = result.get(name, ABSENT)
            # What the apply does not change is shared.
            if after is value or name in keys:
                continue
            is_container = isinstance(value, (dict, list))
            is_wanted = name in modified or name in base
            if is_wanted and after is not ABSENT and not is_container:
                # A configuration changes its own value.
                continue
            below = Sides(
                value, base.get(name, ABSENT), modified.get(name, ABSENT), after
            )
            field = type_.field(name) or ANY_FIELD
            self.value(below, field, at.member(name), levels - 1, retains=retains)

    def value(
        self, sides: Sides, field: Field, at: _At, levels: int, *, retains: bool
    ) -> None:
        """Look at a field of an object, which differs."""
        live, base, modified = sides.live, sides.base, sides.modified
        if isinstance(live, dict) and isinstance(sides.result, dict):
            if field.replaces:
                self._report("lost-by-replacement", sides, field, at)
            else:
                retained = field.retain_keys and modified is not ABSENT
                self.object(sides, field.type, at, levels, retains=retained)
        elif isinstance(live, list) and isinstance(sides.result, list):
            is_merged = field.merges and bool(field.merge_key)
            if is_merged and self._by_list_types:
                lists = (live, as_list(base), as_list(modified))
                is_merged = all(_are_unique(elements, field) for elements in lists)
            if is_merged:
                self.merge_list(sides, field, at, levels)
            else:
                self.atomic_list(sides, at)
        elif self._cleared and str(at.path) in self._cleared:
            # The normalization says itself which discriminator it wrote.
            if sides.result is ABSENT:
                self._report("lost-by-union", sides, field, at)
        elif sides.result is not ABSENT:
            if base is ABSENT and modified is ABSENT:
                self._report("lost-by-ambiguous-key", sides, field, at)
            elif isinstance(live, (dict, list)):
                self._report("lost-by-replacement", sides, field, at)
        elif modified is None:
            self._report("lost-by-null", sides, field, at)
        elif modified is ABSENT and base is not ABSENT:
            code = "lost-with-list" if isinstance(live, list) else "lost-with-object"
            self._report(code, sides, field, at)
        elif modified is ABSENT and retains:
            self._report("lost-by-retain-keys", sides, field, at)
        else:
            self._report("lost-by-ambiguous-key", sides, field, at)

    def _report(
        self,
        code: str,
        sides: Sides,
        field: Field,
        at: _At,
        keys: Sequence[str] = (),
    ) -> None:
        """Report what is lost of a value, if anything is.

        With ``keys`` it is an element of the list in the field, which they identify.
        """
        live = sides.live
        if isinstance(live, Absent):
            return
        type_ = field.type.items if keys else field.type
        others = [sides.base, sides.modified]
        if isinstance(sides.result, (dict, list)):
            # A scalar that is another one now is lost as well.
            others.append(sides.result)
        # What a server filled in is worked out only where something is lost.
        filled: JSON | Absent = ABSENT
        for attempt in (1, 2):
            leaves = Leaves()
            if isinstance(live, dict) and live:
                leaves.object(live, others, filled, type_, Path())
            else:
                leaves.value(live, others, filled, field, Path())
            if not leaves.found:
                return
            if attempt == 1:
                filled = value_at(self._filled(), at.path)
        names: list[str] = []
        severity: Severity | None = "note"
        for leaf in leaves.found:
            name = str(leaf.path)
            if name not in keys:
                names.append(name)
                if not leaf.is_default:
                    severity = None
        if not isinstance(live, (dict, list)):
            self._add(code, at.path, "live", severity, lost="the value itself")
        elif names:
            self._add(code, at.path, "live", severity, lost=_listed(names))

    def _add(
        self,
        code: str,
        path: Path,
        source: Input,
        severity: Severity | None = None,
        rule: str = "",
        **blanks: str,
    ) -> None:
        self.hazards.append(
            hazard(code, path, source, severity=severity, rule=rule, **blanks)
        )

    def atomic_list(self, sides: Sides, at: _At) -> None:
        """Look at a list that the manifest replaces, or at one of scalars.

        An element of live that has all of one of a configuration, and more, is that
        element with the defaults of a server.
        """
        live = as_list(sides.live)
        others = (sides.result, sides.modified, sides.base)
        # Elements have no key here, so they are compared by their text.
        known = {encode(element) for other in others for element in as_list(other)}
        lost: list[int] = []
        for index, element in enumerate(live):
            if encode(element) not in known:
                lost.append(index)
        if not lost:
            return
        kept = {encode(element) for element in live}
        unpaired: list[JSON] = []
        for configuration in (sides.modified, sides.base):
            elements = as_list(configuration)
            unpaired += [each for each in elements if encode(each) not in kept]
        severity: Severity | None = "note"
        for number, index in enumerate(lost):
            if number >= len(unpaired) or not _covers(live[index], unpaired[number]):
                severity = None
        # What is not in a configuration may still be what a server makes of one.
        if severity is None:
            filled = as_list(value_at(self._filled(), at.path))
            defaults = {encode(element) for element in filled}
            if all(encode(live[index]) in defaults for index in lost):
                severity = "note"
        names = [f"[{index}]" for index in lost]
        self._add("lost-in-list", at.path, "live", severity, lost=_listed(names))

    def merge_list(self, sides: Sides, field: Field, at: _At, levels: int) -> None:
        """Look at a list whose elements were merged by the patch merge key."""
        lists = (sides.live, sides.base, sides.modified, sides.result)
        live, base, modified, result = lists_by_identity(
            [as_list(elements) for elements in lists], field
        )
        keys = keys_of_identity(field)
        left: list[tuple[int, JSONObject]] = []
        index = -1
        for identity, element in live.items():
            index += 1
            after = result.get(identity)
            wanted = modified.get(identity)
            if after is element and wanted is not None:
                continue
            former = base.get(identity)
            if after is element:
                # What neither configuration has is that of others.
                if former is None:
                    left.append((index, element))
                continue
            below = Sides(
                element, _or_absent(former), _or_absent(wanted), _or_absent(after)
            )
            here = at.element(index, field, element)
            if after is None:
                self.lost_element(below, field, here, keys)
                continue
            if former is None and wanted is None:
                left.append((index, element))
            retains = field.retain_keys and wanted is not None
            self.object(
                below, field.type.items, here, levels, retains=retains, keys=keys
            )
        # Elements of the manifest that are new, or that are missing after the apply.
        added: list[JSONObject] = []
        index = -1
        for identity, element in modified.items():
            index += 1
            if identity not in result:
                path = at.element(index, field, element).path
                self._add("deleted-with-duplicate", path, "manifest")
            elif identity not in live:
                added.append(element)
        if left and added:
            self.key_changes(left, added, field, at)

    def lost_element(
        self, sides: Sides, field: Field, at: _At, keys: list[str]
    ) -> None:
        """Look at an element that the result does not have."""
        if sides.modified is ABSENT and sides.base is not ABSENT:
            # The user removed it.
            self._report("lost-with-element", sides, field, at, keys)
        elif sides.modified is not ABSENT:
            # It was deleted with another one; the manifest has most of it.
            self._report("lost-by-ambiguous-key", sides, field, at, keys)
        else:
            # All of it is of others. It is named by its map keys and its name.
            element = as_object(sides.live)
            names = dict.fromkeys([*keys, "name"])
            parts = [f"{n}={printed(element[n])}" for n in names if n in element]
            lost = f"the element {', '.join(parts)}"
            self._add("lost-by-ambiguous-key", at.path, "live", lost=lost)

    def key_changes(
        self,
        left: list[tuple[int, JSONObject]],
        added: list[JSONObject],
        field: Field,
        at: _At,
    ) -> None:
        """Find new elements that are likely to be ones that stay under another key."""
        items = field.type.items
        if not isinstance(items, ObjectType):
            return
        merge_key = field.merge_key
        type_name = items.name.rpartition(".")[2]
        reported: set[int] = set()
        for names in SECOND_KEYS.get(type_name, ()):
            # The first fields that two elements have in common count.
            by_second_key: dict[bytes, JSONObject] = {}
            for element in added:
                key = second_key(element, names)
                if key:
                    by_second_key[key] = element
            for index, element in left:
                new = by_second_key.get(second_key(element, names))
                if new is None or index in reported:
                    continue
                reported.add(index)
                new_step = Element(0, merge_key, new.get(merge_key))
                self._add(
                    "key-changed",
                    at.element(index, field, element).path,
                    "live",
                    same=" and ".join(names),
                    new=str(new_step)[1:-1],
                )

    def pair(self, pair: Pair, sides: Sides, at: _At) -> None:
        """Look at two fields that a server takes for one another."""
        base, modified = as_object(sides.base), as_object(sides.modified)
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
                    at.member(pair.other).path,
                    "manifest",
                    rule=pair.rule,
                    field=pair.field,
                    other=pair.other,
                )
        # A server fills in the one field from the other, unless both go.
        if not pair.restores or modified.get(pair.field) or modified.get(pair.other):
            return
        for gone, stays in (
            (pair.field, pair.other),
            (pair.other, pair.field),
        ):
            if gone in base and gone not in result and result.get(stays):
                self._add(
                    "pair-restored",
                    at.member(gone).path,
                    "live",
                    rule=pair.rule,
                    gone=gone,
                    stays=stays,
                )

    def write_only(
        self, base: JSONObject, modified: JSONObject, result: JSONObject
    ) -> None:
        """Look at stringData of a Secret, which a server moves into data."""
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


def _are_unique(elements: JSONArray, field: Field) -> bool:
    return len({*identities_of(elements, field)}) == len(elements)


def _or_absent(element: JSONObject | None) -> JSON | Absent:
    return ABSENT if element is None else element


def second_key(element: JSONObject, names: tuple[str, ...]) -> bytes:
    """Return what tells an element beside its merge key; b"" if it has none of it."""
    if not element.get(names[0]):
        return b""
    return encode([element.get(name) for name in names])


def _covers(value: JSON, other: JSON) -> bool:
    """Tell whether a value has all that another one has."""
    if isinstance(value, dict) and isinstance(other, dict):
        return all(
            name in value and _covers(value[name], member)
            for name, member in other.items()
        )
    return same(value, other)


def _listed(names: list[str]) -> str:
    """List names, the first ones if there are many."""
    more = len(names) - _NAMED
    text = ", ".join(names[:_NAMED])
    return f"{text} and {more} more" if more > 0 else text
