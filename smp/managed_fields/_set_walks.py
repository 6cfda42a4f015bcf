"""The walks along field sets: each level of a set is one call of a function.

What is empty as a result is a set of the type that was given, as this module cannot
import it. Compiled code has no limit of recursion, so the levels are counted: beyond
them it is a RecursionError, as of interpreted code.

This module is compiled with mypyc (hatch_build.py), which cannot compile the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from smp._values.steps import count_steps
from smp._values.values import JSON, MAX_LEVELS, JSONObject, type_name
from smp.errors import ObjectError
from smp.managed_fields._elements import in_order, read_element, step_of

if TYPE_CHECKING:
    from smp.managed_fields._field_set import FieldSet

_SELF: Final = "."


def union(ours: FieldSet, theirs: FieldSet, levels: int = MAX_LEVELS) -> FieldSet:
    """Return the paths that are in one of two sets or in both."""
    _require_level(levels)
    if ours is theirs or _is_empty(theirs):
        return ours
    if _is_empty(ours):
        return theirs
    our_members = ours.members
    our_children = ours.children
    members = our_members | theirs.members
    changed: dict[str, FieldSet] = {}
    for element, their_child in theirs.children.items():
        count_steps(1)
        child = our_children.get(element)
        joined = their_child if child is None else union(child, their_child, levels - 1)
        if joined is not child:
            changed[element] = joined
    if not changed and len(members) == len(our_members):
        return ours
    children = {**our_children, **changed} if changed else our_children
    return type(ours)(members, children)


def intersection(
    ours: FieldSet, theirs: FieldSet, levels: int = MAX_LEVELS
) -> FieldSet:
    """Return the paths that are in both sets."""
    _require_level(levels)
    if ours is theirs:
        return ours
    children: dict[str, FieldSet] = {}
    for element, child in ours.children.items():
        count_steps(1)
        their_child = theirs.children.get(element)
        if their_child is not None:
            common = intersection(child, their_child, levels - 1)
            if not _is_empty(common):
                children[element] = common
    return _reduce(ours, ours.members & theirs.members, children)


def difference(
    ours: FieldSet, theirs: FieldSet, levels: int = MAX_LEVELS, *, recursive: bool
) -> FieldSet:
    """Return the paths of one set that are not in the other.

    Nor those below a path of the other, if it is a ``recursive`` difference.
    """
    _require_level(levels)
    if ours is theirs:
        return type(ours)()
    children: dict[str, FieldSet] = {}
    for element, child in ours.children.items():
        count_steps(1)
        if recursive and element in theirs.members:
            continue
        their_child = theirs.children.get(element)
        rest = child
        if their_child is not None:
            rest = difference(child, their_child, levels - 1, recursive=recursive)
        if not _is_empty(rest):
            children[element] = rest
    return _reduce(ours, ours.members - theirs.members, children)


def leaves(node: FieldSet, levels: int = MAX_LEVELS) -> FieldSet:
    """Return the paths that have none below them."""
    _require_level(levels)
    children: dict[str, FieldSet] = {}
    for element, child in node.children.items():
        count_steps(1)
        children[element] = leaves(child, levels - 1)
    return _reduce(node, node.members.difference(children), children)


def _require_level(levels: int) -> None:
    if not levels:
        raise RecursionError


def _is_empty(node: FieldSet) -> bool:
    return not node.members and not node.children


def _reduce(
    node: FieldSet, members: frozenset[str], children: dict[str, FieldSet]
) -> FieldSet:
    """Return a set with fewer paths than a node, or the node if it has as many.

    Each of the children is one of the node, or smaller.
    """
    before = node.children
    if len(members) == len(node.members) and len(children) == len(before):
        is_same = True
        for element, child in children.items():
            count_steps(1)
            if child is not before[element]:
                is_same = False
                break
        if is_same:
            return node
    if not members and not children:
        return type(node)()
    return type(node)(members, children)


def write(node: FieldSet, *, is_member: bool, levels: int = MAX_LEVELS) -> JSONObject:
    """Write a node as fieldsV1; ``is_member``: the path to it is in the set."""
    _require_level(levels)
    members, children = node.members, node.children
    document: JSONObject = {_SELF: {}} if is_member else {}
    elements = members if not children else {*members, *children}
    for element in in_order(elements):
        count_steps(1)
        subset = children.get(element)
        if subset is None:
            document[element] = {}
        else:
            document[element] = write(
                subset, is_member=element in members, levels=levels - 1
            )
    return document


def read(
    node: JSON, empty: FieldSet, levels: int = MAX_LEVELS
) -> tuple[FieldSet, bool]:
    """Read a node, and whether the path that leads to it is in the set.

    ``empty`` is the empty set. Go: fieldpath.readIterV1.
    """
    _require_level(levels)
    if not isinstance(node, dict):
        if node is None:
            return empty, True
        raise ObjectError(
            f"an object is expected, not {type_name(node)}",
            code="invalid-managed-fields",
        )
    is_member = False
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    # Compiled code would fail at a name that is no string.
    named: dict[Any, JSON] = node
    for text, content in named.items():
        count_steps(1)
        if not isinstance(text, str):
            raise ObjectError(
                f"a path element is a string, not {type_name(text)}",
                code="invalid-managed-fields",
            )
        if text == _SELF:
            is_member = True
            continue
        element = read_element(text)
        if element is None:
            continue
        try:
            subset, subset_is_member = read(content, empty, levels - 1)
        except ObjectError as error:
            raise error.within(step_of(element)) from None
        if subset_is_member:
            members.add(element)
        if not _is_empty(subset):
            children[element] = subset
    if not members and not children:
        # What has nothing below it is a leaf, with or without ".".
        return empty, True
    return type(empty)(frozenset(members), children), is_member
