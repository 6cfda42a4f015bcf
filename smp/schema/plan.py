"""Where rules have something to do among types, worked out once (see smp.schema.walk).

An ``Interest`` says which types concern a rule. A ``Plan`` asks it once for each type
of a catalog, and keeps the answers as a tree of ``Node``s beside the types. Where
nothing that can be reached from a type is of interest there is no node, and a walk
ends.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.interpreted import mypyc_attr
from smp.errors import SchemaError
from smp.schema.model import (
    RAW,
    Field,
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
    Types,
)

# The form of the values of a node.
OBJECT: Final = 0
LIST: Final = 1
SCALAR: Final = 2

_NO_KEYS: Final[tuple[str, ...]] = ()


@mypyc_attr(allow_interpreted_subclasses=True)
class Interest:
    """What a rule looks for in types. A plan asks once for each type and keeps it.

    ``name`` identifies an interest: two of one name give equal answers. An interest in
    ``everything`` makes the walk visit every field, whether a type concerns it or not.
    """

    def __init__(self, name: str, *, everything: bool = False) -> None:
        self.name = name
        self.everything = everything

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return what the rule needs to know of a type; None: it has nothing to do.

        ``keys`` are what identifies the elements of a list. May raise SchemaError for
        a type that contradicts itself: the walk raises it when a value gets there.
        """
        return None

    def acts_unchanged(self, facts: object) -> bool:  # noqa: ARG002
        """Tell whether the rule acts on values of a type even where they are shared."""
        return False


class Interests:
    """The interests of rules that share a walk, in the order of the rules.

    A catalog keeps one plan for each ``name``, so they are made once, not per walk.
    Without ``merge_keys``, or ``map_keys``, a walk does not identify elements by these.
    ``decoded`` types are those that a server decodes values as, where others are
    published (``Type.stored``).
    """

    def __init__(
        self,
        *interests: Interest,
        merge_keys: bool = True,
        map_keys: bool = True,
        decoded: bool = False,
    ) -> None:
        self.merge_keys = merge_keys
        self.map_keys = map_keys
        self.decoded = decoded
        self.all: list[Interest] = list(interests)
        self.name: str = " ".join([interest.name for interest in interests])
        self.everything: bool = any(interest.everything for interest in interests)


class Node:
    """What a plan keeps about values of one type: the facts, and where to go on."""

    def __init__(
        self, plan: Plan, type_: Type, identities: list[tuple[str, ...]]
    ) -> None:
        self.type = type_
        self.identities = identities
        # By which an element is shown, and found in other documents.
        self.keys: tuple[str, ...] = identities[0] if identities else _NO_KEYS
        self.plan = plan
        self.form: int = OBJECT
        if isinstance(type_, ListType):
            self.form = LIST
        elif isinstance(type_, ScalarType):
            self.form = SCALAR
        self.facts: list[object | None] = [
            interest.facts(type_, self.keys) for interest in plan.interests.all
        ]
        self.unchanged: bool = plan.acts_unchanged(type_)
        self.with_facts: bool = any(facts is not None for facts in self.facts)
        # The nodes of members that a walk has come to, and the names of those members
        # below which there is nothing to do.
        self.members: dict[str, Node] = {}
        self.nowhere: set[str] = set()
        self._others: Node | None = None
        self._has_others = False
        self._items: Node | None = None
        self._has_items = False

    def member(self, name: str) -> Node | None:
        """Return the node of a member; None where it leads nowhere or is unknown."""
        node = self.members.get(name)
        if node is not None or name in self.nowhere:
            return node
        field = self.type.field(name)
        if field is None:
            return None
        if field is self.type.others:
            # One node stands for all undeclared names: labels, annotations, data.
            if not self._has_others:
                self._others = self.plan.node(field.type, field)
                self._has_others = True
            return self._others
        node = self.plan.node(field.type, field)
        if node is None:
            self.nowhere.add(name)
        else:
            self.members[name] = node
        return node

    def items(self) -> Node | None:
        """Return the node of the elements of a list; None where they lead nowhere."""
        if not self._has_items:
            self._items = self.plan.node(self.type.items, None)
            self._has_items = True
        return self._items


class Plan:
    """Where interests have something to do among the types of a catalog.

    Types refer to each other in circles and are linked when they are first used, so a
    plan grows as walks come to new types.
    """

    def __init__(self, interests: Interests) -> None:
        self.interests = interests
        self.everything: bool = interests.everything
        self._leads: dict[Type, bool] = {}
        self._acts_unchanged: dict[Type, bool] = {}
        self._roots: dict[str, bool] = {}
        self._objects: dict[Type, Node] = {}

    def node(self, type_: Type, field: Field | None) -> Node | None:
        """Return the node for values of a type; None where there is nothing to do."""
        if not self.everything and not self.leads(type_):
            return None
        if isinstance(type_, ListType):
            # The patch merge key is the field's, so each field has its own node.
            keys = identities(
                type_,
                field if self.interests.merge_keys else None,
                map_keys=self.interests.map_keys,
            )
            return Node(self, type_, keys)
        if self.interests.decoded and type_.stored is not RAW:
            type_ = type_.stored
        if type_ not in self._objects:
            self._objects[type_] = Node(self, type_, [])
        return self._objects[type_]

    def leads(self, start: Type) -> bool:
        """Tell whether a type, or one that can be reached from it, is of interest."""
        leads = self._leads.get(start)
        if leads is None:
            return self._search(start, self._leads, unchanged=False)
        return leads

    def acts_unchanged(self, start: Type) -> bool:
        """Tell whether an interest acts on unchanged values of a type, or below it."""
        acts = self._acts_unchanged.get(start)
        if acts is None:
            return self._search(start, self._acts_unchanged, unchanged=True)
        return acts

    def acts_on_unchanged(self, schema: Schema) -> bool:
        """Tell the same of the objects of a schema; a named type is not linked again.

        It is all that is asked about an object that did not change.
        """
        document = schema.document
        if not isinstance(document, str):
            return self.acts_unchanged(schema.type)
        acts = self._roots.get(document)
        if acts is None:
            acts = self.acts_unchanged(schema.type)
            self._roots[document] = acts
        return acts

    def _search(
        self, start: Type, answers: dict[Type, bool], *, unchanged: bool
    ) -> bool:
        """Search in breadth, which circles cannot trap; keep what became certain."""
        reached_from: dict[Type, Type | None] = {start: None}
        queue = [start]
        for current in queue:
            if answers.get(current) is False:
                continue
            try:
                if answers.get(current) or self._is_wanted(
                    current, unchanged=unchanged
                ):
                    # Every type on the way to this one leads to it.
                    on_the_way: Type | None = current
                    while on_the_way is not None:
                        answers[on_the_way] = True
                        on_the_way = reached_from[on_the_way]
                    return True
                following = find_following_types(current)
            except SchemaError:
                # A broken type counts as wanted, so that the walk reaches it and
                # raises there, with the path.
                answers[current] = True
                return True
            for type_ in following:
                if type_ not in reached_from:
                    reached_from[type_] = current
                    queue.append(type_)
        for type_ in reached_from:
            answers[type_] = False
        return False

    def _is_wanted(self, type_: Type, *, unchanged: bool) -> bool:
        for interest in self.interests.all:
            facts = interest.facts(type_, _NO_KEYS)
            if facts is not None and (not unchanged or interest.acts_unchanged(facts)):
                return True
        return False


def plan_of(types: Types, interests: Interests) -> Plan:
    """Return the plan of interests for the types of a catalog, which keep it."""
    plan = types.plans.get(interests.name)
    if not isinstance(plan, Plan):
        plan = Plan(interests)
        types.plans[interests.name] = plan
    return plan


def acts_on_unchanged(schema: Schema, interests: Interests) -> bool:
    """Tell whether an interest acts on objects of a schema that did not change."""
    return plan_of(schema.types, interests).acts_on_unchanged(schema)


def find_following_types(current: Type) -> list[Type]:
    """Return the types that the values of a type may hold."""
    if isinstance(current, ListType):
        return [current.items]
    if not isinstance(current, ObjectType):
        return []
    following = [field.type for field in current]
    if current.others is not None:
        following.append(current.others.type)
    return following


def identities(
    type_: Type, field: Field | None, *, map_keys: bool = True
) -> list[tuple[str, ...]]:
    """Return what may identify an element of a list, the first choice first.

    The patch merge key comes first: it is what patches go by. The map keys are those
    of server-side apply (``x-kubernetes-list-map-keys``). An atomic list has neither.
    """
    keys: list[tuple[str, ...]] = []
    if field is not None and field.merges and field.merge_key:
        keys.append((field.merge_key,))
    if map_keys and isinstance(type_, ListType) and type_.list_type == "map":
        keys.append(type_.map_keys)
    return [names for names in keys if names]
