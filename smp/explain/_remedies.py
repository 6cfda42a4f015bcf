"""Remedies: edits of the inputs that make a field another value, and their proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    as_list,
    same,
)
from smp.explain._causes import Edit, Remedy, Way
from smp.explain._ways import Ways
from smp.paths import value_at
from smp.schema.sides import Sides

# What each cause may be remedied by; the first remedy that is proved is shown.
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
_OVERWRITTEN: Final = frozenset({"overwritten", "overwrites-controller"})
_SHORT: Final = frozenset({"deleted-by-repeated-key", "not-as-asked", "repeated-key"})
_OTHERS: Final = frozenset(
    {
        "canonical",
        "deleted-by-null",
        "lost-in-list",
        "nulls",
        "unknown-field",
        "zero-value",
    }
)
_REMEDIED: Final = _LOST | _STAYING | _OVERWRITTEN | _SHORT | _OTHERS
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
    """Return the first edit that is proved."""
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
    for way, obj in ways.others():
        if _holds(value_at(obj, sides.path), wanted):
            return Remedy(f"{purpose}, {_BY_WAY[way]}", (), wanted, way)
    return None


def _edits(code: str, sides: Sides, element: JSON | Absent) -> Iterator[Remedy]:
    """Yield what edits of the inputs may help, the smallest ones first."""
    path, live = sides.path, sides.live
    if code in _STAYING:
        null = Edit("manifest", path, None)
        yield Remedy("to remove it, set it to null in the manifest", (null,), ABSENT)
        known = Edit("last-applied", path, live)
        sentence = "to remove it, add it to the last-applied configuration"
        yield Remedy(sentence, (known,), ABSENT)
    elif code in _LOST and live is not ABSENT:
        keep = Edit("manifest", path, live)
        yield Remedy("to keep it, put it into the manifest", (keep,), live)
        forget = Edit("last-applied", path, ABSENT)
        sentence = "to keep it, take it out of the last-applied configuration"
        yield Remedy(sentence, (forget,), live)
    elif code == "lost-in-list" and not isinstance(element, Absent):
        longer: JSONArray = [*as_list(sides.manifest), element]
        sentence = "to keep it, put it into the list in the manifest"
        yield Remedy(sentence, (Edit("manifest", path, longer),), longer)
    elif code in _OVERWRITTEN:
        edits = (Edit("manifest", path, ABSENT), Edit("last-applied", path, ABSENT))
        sentence = (
            "to leave it to others, take it out of the manifest and out of the "
            "last-applied configuration"
        )
        yield Remedy(sentence, edits, live)
        keep = Edit("manifest", path, live)
        sentence = "to keep the live value, write it in the manifest"
        yield Remedy(sentence, (keep,), live)
    elif code == "deleted-by-null":
        edits = (Edit("manifest", path, ABSENT), Edit("last-applied", path, ABSENT))
        yield Remedy("to keep it, take the null out of the manifest", edits[:1], live)
        sentence = (
            "to keep it, take it out of the manifest and out of the last-applied "
            "configuration"
        )
        yield Remedy(sentence, edits, live)
    elif code in ("zero-value", "unknown-field"):
        drop = Edit("manifest", path, ABSENT)
        sentence = "leave it out of the manifest: the server stores the same"
        yield Remedy(sentence, (drop,), sides.result)
    elif code in ("canonical", "nulls"):
        write = Edit("manifest", path, sides.result)
        sentence = "write it in the manifest as the server stores it"
        yield Remedy(sentence, (write,), sides.result)
    elif code == "deleted-by-repeated-key":
        forget = Edit("last-applied", path, ABSENT)
        sentence = "to keep it, take one of them out of the last-applied configuration"
        yield Remedy(sentence, (forget,), sides.manifest)
    elif code == "repeated-key":
        drop = Edit("manifest", path, ABSENT)
        sentence = "to have one element of this key, take this one out of the manifest"
        yield Remedy(sentence, (drop,), ABSENT)


def _holds(value: JSON | Absent, wanted: JSON | Absent) -> bool:
    """Tell whether a value is what is wanted, with defaults beside it."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(
            _holds(value.get(name, ABSENT), member) for name, member in wanted.items()
        )
    return same(value, wanted)
