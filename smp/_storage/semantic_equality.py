"""Whether a field of a typed object changed (Go: apiequality.Semantic.DeepEqual)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from smp._values import codec
from smp._values.quantities import read_quantity
from smp._values.raw import RawJSON
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    same,
)

# What may change: an object with the names below, or None for all of a value.
Allowed: TypeAlias = "dict[str, Allowed] | None"
_NOTHING: Final[dict[str, Allowed]] = {}
# Fields with quantities, in a map or alone.
_QUANTITIES: Final = frozenset(
    {"capacity", "divisor", "limits", "overhead", "requests", "sizeLimit"}
)


def read_at(value: JSON | Absent, steps: Sequence[str]) -> JSON | Absent:
    """Return what is at a path; a step into a list is the type of a condition."""
    for step in steps:
        if isinstance(value, list):
            found = [each for each in value if as_object(each).get("type") == step]
            value = found[0] if found else ABSENT
        elif isinstance(value, dict):
            value = decode(value.get(step, ABSENT))
        else:
            return ABSENT
    return value


def decode(value: JSON | Absent) -> JSON | Absent:
    """Decode a value that a handler left undecoded."""
    return codec.decode(bytes(value)) if isinstance(value, RawJSON) else value


def is_changed(
    old: JSON | Absent,
    new: JSON | Absent,
    allowed: dict[str, Allowed] = _NOTHING,
    *,
    is_quantity: bool = False,
) -> bool:
    """Tell whether a value changed elsewhere than where it may.

    Go: k8s.io/apimachinery, api/equality, Semantic.DeepEqual.
    """
    if old is new:
        return False
    old, new = decode(old), decode(new)
    if isinstance(old, dict) or isinstance(new, dict):
        for value in (old, new):
            if not (isinstance(value, dict) or is_empty(value)):
                return True
        return _is_object_changed(
            as_object(old), as_object(new), allowed, is_quantity=is_quantity
        )
    if isinstance(old, list) or isinstance(new, list):
        below = allowed.get("*", _NOTHING)
        elements, others = as_list(old), as_list(new)
        if below is None or len(elements) != len(others):
            return below is not None
        pairs = zip(elements, others, strict=True)
        return any(is_changed(before, after, below) for before, after in pairs)
    if same(old, new) or (is_empty(old) and is_empty(new)):
        return False
    return not (is_quantity and _are_equal_quantities(old, new))


def _is_object_changed(
    old: JSONObject,
    new: JSONObject,
    allowed: dict[str, Allowed],
    *,
    is_quantity: bool,
) -> bool:
    for member in {**old, **new}:
        below = allowed.get(member, _NOTHING)
        if below is not None and is_changed(
            old.get(member, ABSENT),
            new.get(member, ABSENT),
            below,
            is_quantity=is_quantity or member in _QUANTITIES,
        ):
            return True
    return False


def _are_equal_quantities(old: JSON | Absent, new: JSON | Absent) -> bool:
    if isinstance(old, Absent) or isinstance(new, Absent):
        return False
    before, after = read_quantity(old), read_quantity(new)
    return before is not None and after is not None and before.equals(after)


def is_empty(value: JSON | Absent) -> bool:
    """Tell whether a value is absent, null or empty, which are equal in Go."""
    if isinstance(value, Absent) or value is None:
        return True
    return isinstance(value, (str, dict, list)) and not value
