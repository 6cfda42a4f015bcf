"""One walk along a value and its type, for everything that looks at values.

Theory of operation
===================

Many questions are asked of a value along its schema: which members of a union are set,
which enum a value breaks, which field the schema does not know, where two patches
disagree. Each question is a *rule*; this module has the walk that they share. (Diff,
apply, compose and the lazy decoding merge values instead of looking at them; they go
along the type by hand. Go: structured-merge-diff, typed/merge.go, has the same division
of a walker and a rule.)

A walk looks at a ``new`` value beside an ``old`` one: the object after and before an
update, or, with no old value, an object alone. It answers three things once, for every
rule:

*Where is there something to do?* An ``Interest`` says which types concern a rule. A
``Plan`` asks it once for each type and keeps the answer as a tree of ``Node``s beside
the types (smp.schema.plan). The walk follows the nodes, so it visits only fields that
lead to a type of interest, and does not look at anything that the new value shares with
the old one (the same Python object), unless a rule acts on what did not change.

*Which element was which?* ``pair`` answers for a list: by the patch merge key, then by
the map keys of a list map, then by the place in the list. The third answer is a guess,
so ``Place.former`` gives the old value only where no guess was made on the way.

*Where are we?* A ``Place`` points to its parent. Its path is built only when a rule
wants to report something.

An example: a rule for unions, and a Deployment whose update changes one image. The plan
of the rule has nodes for ``spec``, ``spec.strategy``, ``spec.template``,
``spec.template.spec``, its ``containers`` and ``volumes``, and so on, and none for
``metadata`` and ``status``, as no union can be reached there.

    object    spec               new is not old: visit
    object    spec.strategy      new is old: the update shares it, do not visit
    object    spec.template.spec visit
    list      ...containers      visit; ``pair`` finds the old element for each new one
    object    ...[name=app]      visit: ``enter``, its members, ``leave``
    object    ...[name=sidecar]  shared: do not visit
    list      ...volumes         shared: do not visit

The events of a rule, for one place, in order: ``enter`` before the members of an object
(or the elements of a list), ``scalar`` for each scalar of interest, ``leave`` after
them. ``leave`` may return another value; the objects above it are then copied, and
every subtree without a change stays shared. A rule that judges *everything* is also
asked about unknown fields, nulls, and values of another JSON type than the schema's.
"""

from __future__ import annotations

from typing import TypeAlias

from smp._values.interpreted import mypyc_attr
from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_object,
    require_known,
    scalar_key,
)
from smp.errors import SchemaError
from smp.paths import Element, Path, Step
from smp.schema.model import Field, ListType, ObjectType, Type
from smp.schema.plan import LIST, OBJECT, SCALAR, Node, Plan, identities

# What identifies an element: the values of its keys; the empty tuple: nothing does.
Key: TypeAlias = tuple[ScalarKey, ...]


class Place:
    """Where a walk is: a value beside the old one, its node, and the way to it.

    A member of an object has its ``name``; an element of a list has its ``index``, and
    an empty name. ``guessed``: on the way here an element was paired by its place in a
    list without keys, so the old value may be another element's.
    """

    __slots__ = ("guessed", "index", "name", "new", "node", "old", "parent")

    def __init__(
        self,
        parent: Place | None,
        name: str,
        index: int,
        node: Node,
        old: JSON | Absent,
        new: JSON,
    ) -> None:
        self.parent: Place | None = parent
        self.name: str = name
        self.index: int = index
        self.node: Node = node
        self.old: JSON | Absent = old
        self.new: JSON = new
        self.guessed: bool = parent is not None and (
            parent.guessed or (index >= 0 and not parent.node.keys)
        )

    def old_at(self, step: Step) -> JSON | Absent:
        """Return what a scalar member was, or a scalar element at the same place.

        A list with keys tells none of its scalars from another one.
        """
        old = self.old
        if isinstance(step, str):
            return old.get(step, ABSENT) if isinstance(old, dict) else ABSENT
        if isinstance(step, int) and isinstance(old, list) and not self.node.keys:
            return old[step] if step < len(old) else ABSENT
        return ABSENT

    @property
    def former(self) -> JSON | Absent:
        """The old value where it is certain which one that was; else ABSENT."""
        return ABSENT if self.guessed else self.old

    @property
    def likely(self) -> JSON | Absent:
        """The former value, or the one at the same place of lists of the same length.

        An element of a list without keys is likely to be the one that was at its place
        only where the list did not grow or shrink.
        """
        place = self
        while place.guessed and place.parent is not None:
            parent = place.parent
            if place.index >= 0 and not parent.node.keys:
                before, after = parent.old, parent.new
                if not isinstance(before, list) or not isinstance(after, list):
                    return ABSENT
                if len(before) != len(after):
                    return ABSENT
            place = parent
        return self.old

    @property
    def shared(self) -> bool:
        """Whether the value, or one that it is in, is the old object's own.

        The elements of a shared list may have no counterpart, as where two of them have
        one key; they are shared all the same.
        """
        place: Place | None = self
        while place is not None:
            if place.new is place.old:
                return True
            place = place.parent
        return False

    def is_keyed_by(self, name: str) -> bool:
        """Tell whether a field of this element is one of the keys of its list."""
        if self.index < 0 or self.parent is None:
            return False
        return any(name in keys for keys in self.parent.node.identities)

    @property
    def path(self) -> Path:
        """The path from the root, with merge keys and map keys where elements have one.

        An element keyed by several fields is shown by the first.
        """
        steps: list[Step] = []
        place = self
        while place.parent is not None:
            steps.append(place._step(place.parent))
            place = place.parent
        steps.reverse()
        return Path(tuple(steps))

    def _step(self, parent: Place) -> Step:
        if self.index < 0:
            return self.name
        keys = parent.node.keys
        if key_of(self.new, keys) and isinstance(self.new, dict):
            return Element(self.index, keys[0], self.new[keys[0]])
        return self.index

    @property
    def atomic(self) -> bool:
        """Whether this is, or is inside, an atomic list's element or an atomic map."""
        if self.guessed:
            return True
        place: Place | None = self
        while place is not None:
            type_ = place.node.type
            if isinstance(type_, ObjectType) and type_.map_type == "atomic":
                return True
            place = place.parent
        return False


class Counterpart:
    """The values of another document, such as a configuration, at the places of a walk.

    Elements are found by key, and without keys by their index.
    """

    def __init__(self, document: JSONObject) -> None:
        self._document = document
        self._values: dict[Place, JSON | Absent] = {}
        self._by_key: dict[Place, KeyIndex] = {}

    def at(self, place: Place) -> JSON | Absent:
        """Return the value of the other document at a place, or ABSENT."""
        parent = place.parent
        if parent is None:
            return self._document
        if place not in self._values:
            self._values[place] = self._read_below(self.at(parent), parent, place)
        return self._values[place]

    def _read_below(
        self, above: JSON | Absent, parent: Place, place: Place
    ) -> JSON | Absent:
        if place.index < 0:
            return above.get(place.name, ABSENT) if isinstance(above, dict) else ABSENT
        if not isinstance(above, list):
            return ABSENT
        keys = parent.node.keys
        if not keys:
            return above[place.index] if place.index < len(above) else ABSENT
        if parent not in self._by_key:
            self._by_key[parent] = KeyIndex(above, keys)
        return self._by_key[parent].unique.get(key_of(place.new, keys), ABSENT)


@mypyc_attr(allow_interpreted_subclasses=True)
class Rule:
    """A question that is asked along a value and its type; see the events' methods.

    A rule is made for one walk and holds what it found. ``facts`` are those of its
    interest for the type of the place.
    """

    def enter(self, place: Place, facts: object | None) -> bool:  # noqa: ARG002
        """Look at an object or a list; tell whether to go on to what it holds."""
        return True

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:  # noqa: ARG002
        """Return what becomes of an object or a list, after all that it holds."""
        return value

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        """Look at a scalar of a type of interest, a member or an element of a place."""

    def unknown(self, place: Place, name: str, value: JSON) -> bool:  # noqa: ARG002
        """Look at a member that the schema does not know; tell whether it stays."""
        return True

    def null(self, place: Place, name: str, node: Node) -> bool:  # noqa: ARG002
        """Look at a member that is null; tell whether it stays."""
        return True

    def mismatch(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        """Look at a value of another JSON type than the schema's."""


class Walk:
    """One walk of several rules; the rules are in the order of the plan's interests.

    With ``whole`` it also visits what the new value shares with the old one. A value
    that is undecoded is passed by.
    """

    def __init__(self, plan: Plan, rules: list[Rule], *, whole: bool = False) -> None:
        self._plan = plan
        self._rules = rules
        self._whole = whole
        self._everything = plan.everything
        self._leaves = False
        for rule in rules:
            self._leaves = self._leaves or type(rule).leave is not Rule.leave
        self._levels = MAX_LEVELS

    def run(self, old: JSON | Absent, new: JSON, type_: Type) -> JSON:
        """Walk along a value of a type; return what the rules make of it.

        A scalar is returned as it is: a rule looks at the scalars of objects and lists.
        Raises RecursionError.
        """
        node = self._plan.node(type_, None)
        if node is None or (new is old and not self._whole and not node.unchanged):
            return new
        if not _is_gone_into(node, new):
            return new
        return self.visit(Place(None, "", -1, node, old, new))

    def visit(self, place: Place) -> JSON:
        """Visit one more object or list; return what the rules make of it.

        It is for a rule that pairs values in its own way.
        """
        if isinstance(place.new, dict):
            return self._object(place, place.new)
        if place.node.form == LIST and isinstance(place.new, list):
            return self._list(place, place.new)
        return place.new

    def _object(self, place: Place, new: JSONObject) -> JSON:
        if not self._levels:
            raise RecursionError
        self._levels -= 1
        node = place.node
        result: JSON = new
        if not self._enter(place):
            self._levels += 1
            return result
        count_steps(len(new))
        old = as_object(place.old)
        changed: dict[str, JSON | Absent] | None = None
        for name, value in new.items():
            was = old.get(name, ABSENT)
            if value is was and not self._whole and not node.unchanged:
                continue
            try:
                below = node.member(name)
            except SchemaError as error:
                raise error.at(place.path / name) from None
            if below is None:
                if self._everything and not self._keeps_unknown(place, name, value):
                    changed = {} if changed is None else changed
                    changed[name] = ABSENT
                continue
            if value is None:
                if self._everything and not self._keeps_null(place, name, below):
                    changed = {} if changed is None else changed
                    changed[name] = ABSENT
                continue
            if value is was and not self._whole and not below.unchanged:
                continue
            if not _is_gone_into(below, value):
                self._look_at(place, name, value, below)
                continue
            after = self.visit(Place(place, name, -1, below, was, value))
            if after is not value:
                changed = {} if changed is None else changed
                changed[name] = after
        if changed is not None:
            result = _add_changes(new, changed)
        if self._leaves and node.with_facts:
            result = self._leave(place, result)
        self._levels += 1
        return result

    def _look_at(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        require_known(value)
        form = node.form
        if self._everything and (form != SCALAR or isinstance(value, (dict, list))):
            for rule in self._rules:
                rule.mismatch(place, step, value, node)
        elif form == SCALAR:
            for at in range(len(self._rules)):
                facts = node.facts[at]
                if facts is not None:
                    self._rules[at].scalar(place, step, value, facts)

    def _list(self, place: Place, new: JSONArray) -> JSON:
        if not self._levels:
            raise RecursionError
        self._levels -= 1
        node = place.node
        result: JSON = new
        try:
            items = node.items()
        except SchemaError as error:
            raise error.at(place.path) from None
        if items is not None and self._enter(place):
            changed: dict[int, JSON] | None = None
            skips_shared = not self._whole and not items.unchanged
            befores: list[JSON | Absent] | None = None
            if not isinstance(place.old, list):
                require_known(place.old)
            else:
                befores = pair(
                    place.old, new, node.identities, trust_shared=skips_shared
                )
            count_steps(len(new))
            for index in range(len(new)):
                element = new[index]
                was: JSON | Absent = ABSENT if befores is None else befores[index]
                if element is was and not self._whole and not items.unchanged:
                    continue
                if element is None and not self._everything:
                    continue
                if not _is_gone_into(items, element):
                    self._look_at(place, index, element, items)
                    continue
                after = self.visit(Place(place, "", index, items, was, element))
                if after is not element:
                    changed = {} if changed is None else changed
                    changed[index] = after
            if changed is not None:
                result = [
                    changed[index] if index in changed else new[index]
                    for index in range(len(new))
                ]
            if self._leaves and node.with_facts:
                result = self._leave(place, result)
        self._levels += 1
        return result

    def _enter(self, place: Place) -> bool:
        node = place.node
        go_on = True
        if node.with_facts:
            for at in range(len(self._rules)):
                facts = node.facts[at]
                if facts is not None:
                    go_on = self._rules[at].enter(place, facts) and go_on
        return go_on

    def _leave(self, place: Place, value: JSON) -> JSON:
        for at in range(len(self._rules)):
            facts = place.node.facts[at]
            if facts is not None:
                value = self._rules[at].leave(place, value, facts)
        return value

    def _keeps_unknown(self, place: Place, name: str, value: JSON) -> bool:
        keeps = True
        for rule in self._rules:
            keeps = rule.unknown(place, name, value) and keeps
        return keeps

    def _keeps_null(self, place: Place, name: str, node: Node) -> bool:
        keeps = True
        for rule in self._rules:
            keeps = rule.null(place, name, node) and keeps
        return keeps


def _is_gone_into(node: Node, value: JSON) -> bool:
    """Tell whether a value is an object or a list, as its type says."""
    if isinstance(value, dict):
        return node.form == OBJECT
    return node.form == LIST and isinstance(value, list)


def _add_changes(members: JSONObject, changed: dict[str, JSON | Absent]) -> JSONObject:
    result: JSONObject = {}
    for name, value in members.items():
        after = changed.get(name, value)
        if not isinstance(after, Absent):
            result[name] = after
    return result


def pair(
    old: JSONArray,
    new: JSONArray,
    identities: list[tuple[str, ...]],
    *,
    trust_shared: bool = True,
) -> list[JSON | Absent]:
    """Return for each element of a list the element that it was before, or ABSENT.

    An element that is shared with the old list was itself. With keys, another element
    was the one of its patch merge key, or where that is not unique, of its map keys;
    an element whose keys are missing, or are not unique, counts as new. Without keys it
    was the one at its place.

    Without ``trust_shared`` a list with keys goes by them alone. A rule that acts on
    shared elements needs that: what it makes of one is not shared any more, and the
    answer may not depend on it.
    """
    count = len(old)
    paired: list[JSON | Absent] = []
    by_key: list[KeyIndex] = []
    shared: dict[int, JSON] | None = None
    for index in range(len(new)):
        element = new[index]
        if index < count and old[index] is element and (trust_shared or not identities):
            paired.append(element)
        elif identities:
            was: JSON | Absent = ABSENT
            for at in range(len(identities)):
                if at == len(by_key):
                    by_key.append(KeyIndex(old, identities[at]))
                key = key_of(element, identities[at])
                was = by_key[at].unique.get(key, ABSENT)
                if key not in by_key[at].ambiguous:
                    break
            paired.append(was)
        else:
            if shared is None:
                # Scalars have no identity: equal strings are often one object.
                shared = {id(e): e for e in old if isinstance(e, (dict, list))}
            if id(element) in shared:
                paired.append(element)
            else:
                paired.append(old[index] if index < count else ABSENT)
    return paired


def key_of(element: JSON, keys: tuple[str, ...]) -> Key:
    """Return the key of an element; the empty one where it lacks a part of it."""
    if not isinstance(element, dict):
        return ()
    parts: list[ScalarKey] = []
    for key in keys:
        value = element.get(key)
        if value is None or isinstance(value, (dict, list)):
            return ()
        parts.append(scalar_key(value))
    return tuple(parts)


def name_elements(path: Path, value: JSON, type_: Type) -> Path:
    """Return a path in a value with the keys of elements that have some, as in a walk.

    The elements of other lists keep their indexes.
    """
    steps: list[Step] = []
    current: Type | None = type_
    field: Field | None = None
    for step in path.steps:
        named = step
        if isinstance(step, (int, Element)):
            index = step if isinstance(step, int) else step.index
            elements = value if isinstance(value, list) else []
            value = elements[index] if index < len(elements) else None
            found = [] if current is None else identities(current, field)
            keys = found[0] if found else ()
            if key_of(value, keys) and isinstance(value, dict):
                named = Element(index, keys[0], value[keys[0]])
            field = None
            current = current.items if isinstance(current, ListType) else None
        else:
            value = value.get(str(step)) if isinstance(value, dict) else None
            field = (
                current.field(str(step)) if isinstance(current, ObjectType) else None
            )
            current = None if field is None else field.type
        steps.append(named)
    return Path(tuple(steps))


def find_identifying_keys(
    type_: Type, field: Field | None, old: JSONArray, new: JSONArray
) -> tuple[str, ...]:
    """Return the first keys of a list that all elements have and that no two share.

    There are none for two lists that are to be compared as a whole.
    """
    for keys in identities(type_, field):
        if identifies(old, keys) and identifies(new, keys):
            return keys
    return ()


def identifies(elements: JSONArray, keys: tuple[str, ...]) -> bool:
    """Tell whether all elements of a list have the keys, and no two the same ones."""
    found = {key_of(element, keys) for element in elements}
    return () not in found and len(found) == len(elements)


class KeyIndex:
    """The elements of a list by key: those that are the only one of their key.

    ``ambiguous`` are the keys of several elements. An element without a key is in
    neither.
    """

    def __init__(self, elements: JSONArray, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.unique: dict[Key, JSON] = {}
        self.ambiguous: set[Key] = set()
        for element in elements:
            key = key_of(element, keys)
            if key in self.unique:
                self.ambiguous.add(key)
            elif key:
                self.unique[key] = element
        for key in self.ambiguous:
            del self.unique[key]
