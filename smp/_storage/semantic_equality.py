"""Whether a field of a typed object changed (Go: apiequality.Semantic.DeepEqual)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from smp._values import codec
from smp._values.quantities import read_quantity
from smp._values.raw import RawJSON
from smp._values.values import ABSENT, JSON, Absent, JSONArray, as_list, as_object, same

# What may change: an object with the names below, or None for all of a value.
Allowed: TypeAlias = "dict[str, Allowed] | None"
_NOTHING: Final[dict[str, Allowed]] = {}
# How texts begin that are read before they are compared.
_OF_NUMBERS: Final = frozenset("+-.:0123456789")
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
    of_both: bool = False,
) -> bool:
    """Tell whether a value changed elsewhere than where it may.

    Objects are compared as typed storage leaves them: an empty object, or text, that
    it keeps is what a pointer leads to, and is not the same as none.

    With ``of_both`` only what both have counts, and differs however it is written: a
    server that fills in defaults, and spells what it stores, does not make it equal.

    Go: k8s.io/apimachinery, api/equality, Semantic.DeepEqual.
    """
    if old is new:
        return False
    old, new = decode(old), decode(new)
    if of_both and (type(old) is not type(new) or is_empty(old) or is_empty(new)):
        return False
    if isinstance(old, dict) or isinstance(new, dict):
        is_of_one = all(isinstance(each, dict) or is_empty(each) for each in (old, new))
        # A pointer to an empty struct is another one than none.
        is_set = type(old) is not type(new) and (not allowed or new == {})
        if is_set or not is_of_one:
            return True
        for name in {**as_object(old), **as_object(new)}:
            below = allowed.get(name, _NOTHING)
            if below is not None and is_changed(
                as_object(old).get(name, ABSENT),
                as_object(new).get(name, ABSENT),
                below,
                is_quantity=is_quantity or name in _QUANTITIES,
                of_both=of_both,
            ):
                return True
        return False
    if isinstance(old, list) or isinstance(new, list):
        below = allowed.get("*", _NOTHING)
        elements, others = as_list(old), as_list(new)
        if below is None or len(elements) != len(others):
            return below is not None and not of_both
        return _are_changed(elements, others, below, of_both=of_both)
    if same(old, new) or (is_nil(old) and is_nil(new)):
        return False
    return not (is_quantity and _are_equal_quantities(old, new)) and (
        not of_both or _has_one_spelling(old) or _has_one_spelling(new)
    )


def _are_changed(
    elements: JSONArray,
    others: JSONArray,
    allowed: dict[str, Allowed],
    *,
    of_both: bool,
) -> bool:
    """Tell whether an element of two lists of one length changed."""
    for index in range(len(elements)):
        before, after = elements[index], others[index]
        # Most elements of a long list are shared.
        if before is not after and is_changed(before, after, allowed, of_both=of_both):
            return True
    return False


def _has_one_spelling(value: JSON | Absent) -> bool:
    """Tell whether a scalar can be no quantity, time, address or base64 with breaks."""
    if isinstance(value, str):
        return value[0] not in _OF_NUMBERS and "\n" not in value
    return True


def _are_equal_quantities(old: JSON | Absent, new: JSON | Absent) -> bool:
    if isinstance(old, Absent) or isinstance(new, Absent):
        return False
    before, after = read_quantity(old), read_quantity(new)
    return before is not None and after is not None and before.equals(after)


def is_nil(value: JSON | Absent) -> bool:
    """Tell whether a value is absent or null, as what no pointer leads to."""
    return isinstance(value, Absent) or value is None


def is_empty(value: JSON | Absent) -> bool:
    """Tell whether a value is absent, null or empty, which are equal in Go."""
    return is_nil(value) or (isinstance(value, (str, dict, list)) and not value)
