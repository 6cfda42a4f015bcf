"""Merge lists: what identifies an element, and where each one goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeAlias, TypeVar, cast

from smp.errors import ObjectError, PatchError, SmpError
from smp.values import ABSENT, JSON, Absent, JSONArray, ScalarKey, scalar_key, type_name

ListError: TypeAlias = type[ObjectError] | type[PatchError]
Occurrence: TypeAlias = "ScalarKey | tuple[ScalarKey, int]"
T = TypeVar("T")

_UNFIT: Final[dict[type, tuple[str, str]]] = {
    list: ("nested-list", "a list of lists cannot be merged"),
    type(None): ("null-element", "a null in a merge list has no identity"),
}


def element_type(*lists: JSONArray, error: ListError = ObjectError) -> type | None:
    """Return the one JSON type of all elements of all lists; None where there is no
    element.

    Raises ``error`` for mixed types, lists and nulls (Go:
    strategicpatch.sliceElementType).
    """
    found: type | None = None
    for elements in lists:
        for element in elements:
            kind = type(element)
            if kind is not found:
                if found is not None or kind in _UNFIT:
                    raise _unmergeable(lists, error)
                found = kind
    return found


def _unmergeable(lists: tuple[JSONArray, ...], error: ListError) -> SmpError:
    types = set(map(type, chain.from_iterable(lists)))
    for kind, (code, problem) in _UNFIT.items():
        if kind in types:
            return error(problem, code=code)
    names = sorted(
        type_name(next(v for es in lists for v in es if type(v) is kind))
        for kind in types
    )
    return error(f"elements of different types: {', '.join(names)}", code="mixed-list")


def merge_key_of(
    element: JSON, index: int, merge_key: str, error: ListError = ObjectError
) -> ScalarKey:
    """Return what identifies an element of a merge list.

    Raises ``error`` where the element is no object, lacks its merge key or has an
    object or a list there.
    """
    if not isinstance(element, dict):
        raise error(
            f"an object is expected, not {type_name(element)}", code="not-an-object"
        ).within(index)
    if merge_key not in element:
        raise _missing(merge_key, error).within(index)
    value = element[merge_key]
    if isinstance(value, (dict, list)):
        raise (
            error(
                f"an {type_name(value)} cannot be a merge key", code="invalid-merge-key"
            )
            .within(merge_key)
            .within(index)
        )
    return scalar_key(value)


def _missing(merge_key: str, error: ListError) -> SmpError:
    if not merge_key:
        return error(
            "the schema declares no merge key for this list of objects",
            code="no-merge-key",
            hint="a merge list of objects needs a patch merge key beside its patch strategy",
        )
    return error(
        f"the element lacks its merge key {merge_key!r}",
        code="missing-merge-key",
        hint=f"each element of this list is known by its {merge_key!r}",
    )


def plain_keys(elements: JSONArray, merge_key: str) -> list[ScalarKey] | None:
    """Return the merge keys of objects that all have one, a string or an integer; None
    where any has not.
    """
    keys: list[ScalarKey] = []
    for element in elements:
        key = element.get(merge_key) if isinstance(element, dict) else None
        if isinstance(key, str) or type(key) is int:
            keys.append(key)
        else:
            return None
    return keys


def keys_of(
    elements: JSONArray, merge_key: str, error: ListError = ObjectError
) -> list[ScalarKey]:
    """Return what identifies each element: its merge key, or, without one, the scalar
    itself.
    """
    keys = plain_keys(elements, merge_key)
    if keys is not None:
        return keys
    if not merge_key and not any(
        isinstance(element, (dict, list)) for element in elements
    ):
        return list(map(scalar_key, elements))
    return [
        merge_key_of(element, index, merge_key, error)
        for index, element in enumerate(elements)
    ]


def aligned(
    elements: JSONArray, keys: list[ScalarKey], wanted: list[ScalarKey]
) -> tuple[list[JSON | Absent], Iterable[JSON]]:
    """Pair elements with wanted keys: the element for each (or ABSENT), and the
    elements that nobody wants.

    Elements of one key pair up in their order.
    """
    if keys == wanted:
        return cast("list[JSON | Absent]", elements), ()
    left: dict[Occurrence, JSON] = dict(zip(numbered(keys), elements, strict=True))
    return [left.pop(key, ABSENT) for key in numbered(wanted)], left.values()


def numbered(keys: list[ScalarKey]) -> list[Occurrence]:
    """Tell equal keys apart by occurrence, so that the elements of one key pair up in
    order.
    """
    if len(set(keys)) == len(keys):
        return [*keys]
    seen: Counter[ScalarKey] = Counter()
    unique: list[Occurrence] = []
    for key in keys:
        unique.append((key, seen[key]) if seen[key] else key)
        seen[key] += 1
    return unique


def first_positions(
    keys: list[ScalarKey], wanted: set[ScalarKey]
) -> dict[ScalarKey, int]:
    """Map each wanted key that there is to where it stands first."""
    places: dict[ScalarKey, int] = {}
    for at in range(len(keys) - 1, -1, -1):
        if keys[at] in wanted:
            places[keys[at]] = at
    return places


def arranged(
    elements: list[T],
    keys: list[ScalarKey],
    wanted: list[ScalarKey],
    live: list[ScalarKey],
) -> list[T]:
    """Put the elements of a merged list in order.

    The wanted keys keep their order, the others (known to the server only) keep the
    live order. The two are merged by one scan: a server-only element goes before a
    wanted one only where both stand in the live list and it stands earlier there (Go:
    strategicpatch.normalizeElementOrder).
    """
    present = set(keys)
    if keys == wanted and len(present) == len(keys):
        return [*elements]
    rank, place = first_positions(wanted, present), first_positions(live, present)
    ours = sorted(
        (at for at, key in enumerate(keys) if key in rank),
        key=lambda at: rank[keys[at]],
    )
    last = len(live)
    theirs = sorted(
        (at for at, key in enumerate(keys) if key not in rank),
        key=lambda at: place.get(keys[at], last),
    )
    return [
        elements[at]
        for at in _scanned(theirs, ours, [place.get(key, -1) for key in keys])
    ]


def _scanned(theirs: list[int], ours: list[int], places: list[int]) -> Iterable[int]:
    left = 0
    for at in ours:
        while left < len(theirs) and 0 <= places[theirs[left]] < places[at]:
            yield theirs[left]
            left += 1
        yield at
    yield from theirs[left:]


def check_order(
    elements: JSONArray, order: JSONArray, merge_key: str, marks: Sequence[bool]
) -> None:
    """Check that the elements of a patch stand in the same relative order in its order
    directive.

    Raises PatchError where one does not (Go:
    strategicpatch.validatePatchWithSetOrderList).
    """
    if not order or not elements:
        return
    wanted = keys_of(order, merge_key, PatchError)
    if not any(marks) and wanted == plain_keys(elements, merge_key):
        return
    element_type(order, elements, error=PatchError)
    at = 0
    for index, (element, marked) in enumerate(zip(elements, marks, strict=True)):
        if at == len(wanted):
            raise _out_of_order(index)
        if marked:
            continue
        key = keys_of([element], merge_key, PatchError)[0]
        while at < len(wanted) and wanted[at] != key:
            at += 1
        if at == len(wanted):
            raise _out_of_order(index)
        at += 1


def _out_of_order(index: int) -> SmpError:
    return PatchError(
        "the order directive of this list does not have this element here",
        code="element-order-mismatch",
        hint="each element that the patch merges must be in the order directive, in the same relative order",
    ).within(index)
