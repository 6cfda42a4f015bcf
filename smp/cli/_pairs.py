"""Which object of one side is which of another: by group, kind, namespace and name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from smp.cli._errors import Failure
from smp.cli._objects import Object
from smp.errors import ObjectError

Key: TypeAlias = tuple[tuple[str, str], str]


def require_distinct(objects: Iterable[Object]) -> None:
    """Refuse two documents about one object. Raises Failure."""
    seen: dict[tuple[Key, str], Object] = {}
    for each in objects:
        first = seen.setdefault((_key(each), each.namespace), each)
        if first is not each and not each.is_generated:
            problem = f"the same object is also in {first.document.source}:{first.document.line}"
            raise Failure(
                ObjectError(problem, code="duplicate-object"), each.document, each.label
            )


def partners(
    objects: Iterable[Object], others: Iterable[Object]
) -> list[Object | None]:
    """Find for each object the other that it is, or None.

    A namespace that one side leaves out matches where only one object can be meant.
    Raises Failure where several can, and for two documents about one object.
    """
    mine, theirs = list(objects), list(others)
    require_distinct(mine)
    require_distinct(theirs)
    groups, rivals = _by_key(theirs), _by_key(mine)
    return [_partner(each, groups[_key(each)], rivals[_key(each)]) for each in mine]


def unpaired(
    objects: Iterable[Object], paired: Iterable[Object | None]
) -> list[Object]:
    """Return the objects that are nobody's partner."""
    taken = {id(each) for each in paired}
    return [each for each in objects if id(each) not in taken]


def _partner(
    each: Object, candidates: list[Object], rivals: list[Object]
) -> Object | None:
    if each.is_generated:
        return None
    exact = [other for other in candidates if other.namespace == each.namespace]
    if exact:
        return exact[0]
    taken = {rival.namespace for rival in rivals}
    loose = [
        other
        for other in candidates
        if other.namespace not in taken and _may_be_same(each, other)
    ]
    claims = [
        rival for rival in rivals if any(_may_be_same(rival, other) for other in loose)
    ]
    if len(loose) > 1 or (loose and len(claims) > 1):
        raise _ambiguous(each, loose, claims)
    return loose[0] if loose else None


def _ambiguous(each: Object, loose: list[Object], claims: list[Object]) -> Failure:
    places = ", ".join(
        f"{it.document.source}:{it.document.line}"
        for it in (*loose, *claims)
        if it is not each
    )
    problem = f"without its namespace there is no telling which object it is: {places}"
    return Failure(
        ObjectError(problem, code="ambiguous-object", hint="set metadata.namespace"),
        each.document,
        each.label,
    )


def _may_be_same(left: Object, right: Object) -> bool:
    return not (left.namespace and right.namespace)


def _key(each: Object) -> Key:
    return each.group_kind, each.name


def _by_key(objects: Iterable[Object]) -> defaultdict[Key, list[Object]]:
    found: defaultdict[Key, list[Object]] = defaultdict(list)
    for each in objects:
        if not each.is_generated:
            found[_key(each)].append(each)
    return found
