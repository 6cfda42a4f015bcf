"""Merge lists: what identifies an element, and where each one goes.

The *key* identifies an element of a merge list: the value of the patch merge key for an
object, the scalar itself for a scalar. Keys are type-strict: ``1``, ``1.0`` and
``True`` are three keys (``smp._values.values.scalar_key``).
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar, cast

from smp._strategic._go_sort import sort_as_by_go
from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_object,
    printed,
    require_plain,
    scalar_key,
    type_name,
)
from smp.errors import ObjectError, PatchError, SmpError
from smp.schema.model import Field
from smp.schema.sides import identity_keys

ListError: TypeAlias = type[ObjectError] | type[PatchError]
Occurrence: TypeAlias = "ScalarKey | tuple[ScalarKey, int]"
T = TypeVar("T")
_NO_DELETIONS: Final[frozenset[int]] = frozenset()

# What no merge list can hold: the code of the error, and the problem.
_UNMERGEABLE: Final[dict[type, tuple[str, str]]] = {
    list: ("nested-list", "lists of lists are not supported"),
    type(None): ("null-element", "a null in a merge list has no identity"),
}


def element_type(*lists: JSONArray, error: ListError = ObjectError) -> type | None:
    """Return the one JSON type of all elements of all lists; None for empty lists.

    Raises ``error`` for mixed types, lists and nulls. Go:
    strategicpatch.sliceElementType.
    """
    json_type: type | None = None
    for elements in lists:
        for element in elements:
            other = type(element)
            if other is not json_type:
                require_plain(element)
                if json_type is not None or other in _UNMERGEABLE:
                    raise _type_error(lists, error)
                json_type = other
    return json_type


def _type_error(lists: tuple[JSONArray, ...], error: ListError) -> SmpError:
    names: dict[type, str] = {}
    for elements in lists:
        for element in elements:
            names[type(element)] = type_name(element)
    for json_type, (code, problem) in _UNMERGEABLE.items():
        if json_type in names:
            return error(problem, code=code)
    listed = ", ".join(sorted(names.values()))
    return error(f"elements of different types: {listed}", code="mixed-list")


def merge_key_of(
    element: JSON, index: int, merge_key: str, error: ListError = ObjectError
) -> ScalarKey:
    """Return the key of an element of a merge list of objects.

    Raises ``error`` where the element is not an object, lacks its merge key or has an
    object or a list there.
    """
    if not isinstance(element, dict):
        require_plain(element)
        raise error(
            f"an object is expected, not {type_name(element)}", code="not-an-object"
        ).within(index)
    if merge_key in element:
        value = element[merge_key]
        if isinstance(value, (dict, list)):
            raise (
                error(
                    f"an {type_name(value)} cannot be a merge key",
                    code="invalid-merge-key",
                )
                .within(merge_key)
                .within(index)
            )
        return scalar_key(value)
    if not merge_key:
        raise error(
            "the schema declares no merge key for this list of objects",
            code="no-merge-key",
            hint="a merge list of objects needs a patch merge key and a patch strategy",
        ).within(index)
    raise error(
        f"the element does not contain its merge key {merge_key!r}",
        code="missing-merge-key",
        hint=f"{merge_key!r} identifies the elements of this list",
    ).within(index)


def plain_keys(elements: JSONArray, merge_key: str) -> list[ScalarKey] | None:
    """Return the keys of objects that all have a string or an integer for a merge key.

    None if any element has not. This is the fast path for almost all lists.
    """
    count_steps(len(elements))
    keys: list[ScalarKey] = []
    for element in elements:
        key = element.get(merge_key) if isinstance(element, dict) else None
        if type(key) is str or type(key) is int:
            keys.append(key)
        else:
            return None
    return keys


def keys_of(
    elements: JSONArray, merge_key: str, error: ListError = ObjectError
) -> list[ScalarKey]:
    """Return the key of each element of a list of objects or of scalars.

    Raises ``error`` as merge_key_of does.
    """
    keys = plain_keys(elements, merge_key)
    if keys is not None:
        return keys
    if not merge_key and not any(isinstance(item, (dict, list)) for item in elements):
        return [scalar_key(element) for element in elements]
    return [
        merge_key_of(element, index, merge_key, error)
        for index, element in enumerate(elements)
    ]


def identity_of(element: JSON, field: Field) -> ScalarKey:
    """Return what tells an element of a merge list from all others.

    That is its merge key and its map keys (``x-kubernetes-list-map-keys``), with
    defaults. The patch merge key alone may stand for several elements, such as ports.
    """
    return identity_keys(field.type, field.merge_key).of(element)


def identities_of(elements: JSONArray, field: Field) -> list[ScalarKey]:
    """Return the identity of each element."""
    keys = identity_keys(field.type, field.merge_key)
    return [keys.of(element) for element in elements]


def elements_by_identity(
    elements: JSONArray, field: Field
) -> dict[ScalarKey, JSONObject]:
    """Map what tells an element from all others to the element, in their order.

    Elements with equal keys are numbered.
    """
    counts: dict[ScalarKey, int] = {}
    by_identity: dict[ScalarKey, JSONObject] = {}
    for element, key in zip(elements, identities_of(elements, field)):
        number = counts.get(key, 0)
        counts[key] = number + 1
        by_identity[key, number] = as_object(element)
    return by_identity


def align(
    elements: JSONArray, keys: list[ScalarKey], wanted: list[ScalarKey]
) -> tuple[list[JSON | Absent], JSONArray, bool]:
    """Pair elements with wanted keys.

    Returns the element for each wanted key (or ABSENT), the elements that are left, and
    whether a repeated key was met. Go: diffListsOfMaps sorts both lists by merge key,
    and pairs what comes next in both. Equal lists of keys are sorted equally, so that
    their elements pair by index.
    """
    if keys == wanted:
        return cast("list[JSON | Absent]", elements), [], False
    left: dict[ScalarKey, JSON] = dict(zip(keys, elements))
    if len(left) == len(keys) and len(set(wanted)) == len(wanted):
        found: list[JSON | Absent] = []
        for key in wanted:
            found.append(left.pop(key, ABSENT))  # noqa: PERF401  # it changes ``left``
        return found, list(left.values()), False
    # Elements of equal keys pair in the order in which Go's sort leaves them.
    indices: dict[ScalarKey, list[int]] = {}
    for index in reversed(sort_order(keys)):
        indices.setdefault(keys[index], []).append(index)
    paired: list[JSON | Absent] = [ABSENT] * len(wanted)
    for index in sort_order(wanted):
        candidates = indices.get(wanted[index])
        if candidates:
            paired[index] = elements[candidates.pop()]
    rest: JSONArray = []
    for unpaired in indices.values():
        for index in unpaired:
            rest.append(elements[index])
    return paired, rest, True


def sort_order(keys: list[ScalarKey]) -> list[int]:
    """Return the indices of keys in the order in which Go sorts their printed forms."""
    texts: list[str] = []
    for key in keys:
        value = key[1] if isinstance(key, tuple) else key
        texts.append(printed(value))
    return sort_as_by_go(texts)


def group_order(keys: list[ScalarKey]) -> list[int]:
    """Return the indices of keys in the order in which Go puts elements into a patch.

    Keys are in the order of the list, elements of one key in that of the sort. Go:
    diffLists calls normalizeSliceOrder, which is stable, for what was sorted before.
    """
    first = first_positions(keys, set(keys))
    places = [first[key] for key in keys]
    return sorted(sort_order(keys), key=places.__getitem__)


def group_by_key(
    elements: list[JSONObject], keys: list[ScalarKey]
) -> dict[ScalarKey, list[JSONObject]]:
    """Return the elements of a merge list by their keys."""
    by_key: dict[ScalarKey, list[JSONObject]] = {}
    for element, key in zip(elements, keys):
        by_key.setdefault(key, []).append(element)
    return by_key


def numbered(keys: list[ScalarKey]) -> list[Occurrence]:
    """Make keys unique: the second and later ones of equal keys get their number."""
    if len(set(keys)) == len(keys):
        return [*keys]
    times: dict[ScalarKey, int] = {}
    unique: list[Occurrence] = []
    for key in keys:
        before = times.get(key, 0)
        times[key] = before + 1
        if before:
            unique.append((key, before))
        else:
            unique.append(key)
    return unique


def first_positions(
    keys: list[ScalarKey], wanted: set[ScalarKey]
) -> dict[ScalarKey, int]:
    """Map each wanted key to the index at which it stands first; omit all others."""
    positions: dict[ScalarKey, int] = {}
    # backwards, so that the first of equal keys is the last to be set
    for index in range(len(keys) - 1, -1, -1):
        if keys[index] in wanted:
            positions[keys[index]] = index
    return positions


def arrange(
    elements: list[T],
    keys: list[ScalarKey],
    patched: list[ScalarKey],
    live: list[ScalarKey],
    deletions: frozenset[int] = _NO_DELETIONS,
) -> list[T]:
    """Put the elements of a merged list in order.

    ``keys`` are those of the elements, ``patched`` the order that the patch requests
    (its order directive, or else its own list), ``live`` the order of the live list.
    Where the lists are patches, ``deletions`` are the indices of the elements that
    delete.

    Elements that the patch names are put in its order, the others (*server-only*) in
    the live order, and both are merged by one scan. Go:
    strategicpatch.normalizeElementOrder. An example: live is [a, x, b, y], the patch
    orders [b, a].

        b comes first; x is server-only and stands before b in live:   x, b
        a comes next; no server-only element is left before a in live: x, b, a
        the remaining server-only elements follow:                     x, b, a, y
    """
    present = set(keys)
    if keys == patched and len(present) == len(keys) and not deletions:
        return [*elements]
    count = len(keys)
    rank = first_positions(patched, present)
    position = first_positions(live, present)
    not_live = len(live)  # greater than every index in live
    ranks: list[int] = []
    positions: list[int] = []
    # Go: partitionMapsByPresentInList and partitionPrimitivesByPresentInList.
    from_patch: list[int] = []
    server_only: list[int] = []
    for index in range(count):
        key = keys[index]
        ranks.append(rank.get(key, -1))
        positions.append(position.get(key, not_live))
        if key in rank:
            from_patch.append(index)
        else:
            server_only.append(index)
    # Go: normalizeSliceOrder puts elements that delete after all others.
    places = positions
    if deletions:
        places = positions.copy()
        for index in deletions:
            ranks[index] = len(patched)
            places[index] = not_live + 1
    # Go: normalizeSliceOrder, of each. The sort is stable: elements of one key keep the
    # order that they have.
    from_patch.sort(key=ranks.__getitem__)
    server_only.sort(key=places.__getitem__)
    # Go: mergeSortedSlice. A server-only element precedes one of the patch only if live
    # has both and has the server-only one earlier.
    result: list[T] = []
    taken = 0
    for index in from_patch:
        if positions[index] != not_live:
            while taken < len(server_only) and (
                positions[server_only[taken]] < positions[index]
            ):
                result.append(elements[server_only[taken]])
                taken += 1
        result.append(elements[index])
    return result + [elements[index] for index in server_only[taken:]]
