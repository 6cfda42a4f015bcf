"""Remedies: edits of the inputs that make a field another value, and their proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from smp._values.values import ABSENT, JSON, Absent, as_list, same
from smp.explain._causes import Edit, Input, Remedy, Way
from smp.explain._ways import Ways
from smp.paths import value_at
from smp.schema.sides import Sides

# Causes of which a remedy is the same.
_LOST: Final = frozenset(
    {
        "changed-by-ambiguous-key",
        "lost-by-ambiguous-key",
        "lost-with-parent",
        "pruned",
        "retain-keys",
        "union",
    }
)
_STAYING: Final = frozenset(
    {"live-only", "never-applied", "not-pruned", "owned-by-others"}
)
_SHORT: Final = frozenset({"deleted-by-repeated-key", "not-as-asked", "repeated-key"})

# What a value is taken from; "longer" is the list of the manifest with the element that
# is lost.
_Value: TypeAlias = Literal["absent", "null", "live", "manifest", "result", "longer"]


class _Proposal(msgspec.Struct, frozen=True):
    """Edits of inputs at the path of a cause, and what they should lead to there."""

    sentence: str
    edits: dict[Input, _Value]
    wanted: _Value


_TO_REMOVE: Final = (
    _Proposal(
        "to remove it, set it to null in the manifest", {"manifest": "null"}, "absent"
    ),
    _Proposal(
        "to remove it, add it to the last-applied configuration",
        {"last-applied": "live"},
        "absent",
    ),
)
_TO_KEEP: Final = (
    _Proposal("to keep it, put it into the manifest", {"manifest": "live"}, "live"),
    _Proposal(
        "to keep it, take it out of the last-applied configuration",
        {"last-applied": "absent"},
        "live",
    ),
)
_TO_LEAVE: Final = (
    _Proposal(
        "to leave it to others, take it out of the manifest and out of the "
        "last-applied configuration",
        {"manifest": "absent", "last-applied": "absent"},
        "live",
    ),
    _Proposal(
        "to keep the live value, write it in the manifest", {"manifest": "live"}, "live"
    ),
)
_TO_DROP: Final = (
    _Proposal(
        "leave it out of the manifest: the server stores the same",
        {"manifest": "absent"},
        "result",
    ),
)
_TO_SPELL: Final = (
    _Proposal(
        "write it in the manifest as the server stores it",
        {"manifest": "result"},
        "result",
    ),
)
# By the code of the cause; the first remedy that is proved is shown.
_PROPOSALS: Final[dict[str, tuple[_Proposal, ...]]] = {
    **dict.fromkeys(_STAYING, _TO_REMOVE),
    **dict.fromkeys(_LOST, _TO_KEEP),
    "lost-in-list": (
        _Proposal(
            "to keep it, put it into the list in the manifest",
            {"manifest": "longer"},
            "longer",
        ),
    ),
    "overwritten": _TO_LEAVE,
    "overwrites-controller": _TO_LEAVE,
    "deleted-by-null": (
        _Proposal(
            "to keep it, take the null out of the manifest",
            {"manifest": "absent"},
            "live",
        ),
        _Proposal(
            "to keep it, take it out of the manifest and out of the last-applied "
            "configuration",
            {"manifest": "absent", "last-applied": "absent"},
            "live",
        ),
    ),
    "zero-value": _TO_DROP,
    "unknown-field": _TO_DROP,
    "canonical": _TO_SPELL,
    "nulls": _TO_SPELL,
    "deleted-by-repeated-key": (
        _Proposal(
            "to keep it, take one of them out of the last-applied configuration",
            {"last-applied": "absent"},
            "manifest",
        ),
    ),
    "repeated-key": (
        _Proposal(
            "to have one element of this key, take this one out of the manifest",
            {"manifest": "absent"},
            "absent",
        ),
    ),
}
_REMEDIED: Final = _PROPOSALS.keys() | _SHORT
_BY_WAY: Final[dict[Way, str]] = {
    "server-side": "apply it server-side (kubectl apply --server-side)",
    "forced server-side": (
        "apply it server-side, and take over what others own (kubectl apply "
        "--server-side --force-conflicts)"
    ),
    "replace": (
        "replace the object (kubectl replace), which loses all that is only in the "
        "live object"
    ),
}


def remedy_for(
    code: str, sides: Sides, ways: Ways, element: JSON | Absent = ABSENT
) -> Remedy | None:
    """Return a remedy that leads to what it says; None where none is found.

    ``element`` is the one that a list loses.
    """
    if code not in _REMEDIED:
        return None
    # Elements of one patch merge key that differ in other map keys are what only
    # another way can tell from each other.
    if code == "repeated-key":
        is_indexed = any(isinstance(step, int) for step in sides.path.steps)
        if not is_indexed:
            return _find_way(code, sides, ways) or _find_edit(
                code, sides, ways, element
            )
    return _find_edit(code, sides, ways, element) or _find_way(code, sides, ways)


def _find_edit(
    code: str, sides: Sides, ways: Ways, element: JSON | Absent
) -> Remedy | None:
    for remedy in _edits(code, sides, element):
        obj = ways.apply_edited(sides, remedy.edits)
        if obj is not None and _holds(value_at(obj, sides.path), remedy.wanted):
            return remedy
    return None


def _find_way(code: str, sides: Sides, ways: Ways) -> Remedy | None:
    """Return the first of the other ways that is proved."""
    wanted: JSON | Absent = ABSENT
    if code in _SHORT:
        purpose, wanted = "to get it", sides.manifest
    elif code in ("changed-by-ambiguous-key", "lost-by-ambiguous-key"):
        purpose, wanted = "to keep it", sides.live
    elif code in _STAYING:
        purpose = "to remove it"
    else:
        return None
    for way, obj in ways.others:
        if _holds(value_at(obj, sides.path), wanted):
            return Remedy(f"{purpose}, {_BY_WAY[way]}", (), wanted, way)
    return None


def _edits(code: str, sides: Sides, element: JSON | Absent) -> Iterator[Remedy]:
    """Yield what edits of the inputs may help, the smallest ones first."""
    if code in _LOST and sides.live is ABSENT:
        return
    values: dict[_Value, JSON | Absent] = {
        "absent": ABSENT,
        "null": None,
        "live": sides.live,
        "manifest": sides.manifest,
        "result": sides.result,
    }
    if not isinstance(element, Absent):
        values["longer"] = [*as_list(sides.manifest), element]
    for proposal in _PROPOSALS.get(code, ()):
        edits = [
            Edit(side, sides.path, values[value])
            for side, value in proposal.edits.items()
        ]
        yield Remedy(proposal.sentence, tuple(edits), values[proposal.wanted])


def _holds(value: JSON | Absent, wanted: JSON | Absent) -> bool:
    """Tell whether a value is what is wanted, with defaults beside it."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(
            _holds(value.get(name, ABSENT), member) for name, member in wanted.items()
        )
    return same(value, wanted)
