"""Remedies: edits of the inputs that make a field another value, and their proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from smp.errors import SmpError
from smp.explain._causes import Edit, Remedy
from smp.explain._sides import Sides
from smp.paths import Element, KeyedElement, Path, Step, index_of, value_at
from smp.three_way import ApplyResult
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    same,
)

# Runs the engine on a last-applied configuration and a manifest.
Apply: TypeAlias = Callable[[JSONObject | None, JSONObject], ApplyResult]
# A sentence, the edits, and what the field is after them.
_Candidate: TypeAlias = "tuple[str, tuple[Edit, ...], JSON | Absent]"

# What each cause may be remedied by; the first one that is proved is shown.
_LOST: Final = frozenset(
    {
        "lost-by-ambiguous-key",
        "lost-in-list",
        "lost-with-parent",
        "pruned",
        "retain-keys",
        "union",
    }
)
_STAYING: Final = frozenset({"live-only", "not-pruned", "owned-by-others"})
_OVERWRITTEN: Final = frozenset({"overwritten", "overwrites-controller"})


def remedy_for(
    code: str,
    sides: Sides,
    last_applied: JSONObject | None,
    manifest: JSONObject,
    apply: Apply,
) -> Remedy | None:
    """Return a remedy that leads to what it says; None where none is found."""
    for sentence, edits, wanted in _candidates(code, sides):
        try:
            base, modified = last_applied, manifest
            for edit in edits:
                if edit.input == "manifest":
                    modified = edited(modified, edit.path, edit.value)
                else:
                    base = edited(base or {}, edit.path, edit.value)
            result = apply(base, modified)
        except SmpError:
            # The edited input is refused, as one that sets two members of a union is.
            continue
        if result.unmet or result.violations:
            continue
        if same(value_at(result.object, sides.path), wanted):
            return Remedy(sentence, edits, wanted)
    return None


def _candidates(code: str, sides: Sides) -> Iterator[_Candidate]:
    path, live = sides.path, sides.live
    if code in _STAYING:
        null = Edit("manifest", path, None)
        yield "to remove it, set it to null in the manifest", (null,), ABSENT
        known = Edit("last-applied", path, live)
        sentence = "to remove it, add it to the last-applied configuration"
        yield sentence, (known,), ABSENT
    elif code in _LOST and live is not ABSENT:
        keep = Edit("manifest", path, live)
        yield "to keep it, put it into the manifest", (keep,), live
        forget = Edit("last-applied", path, ABSENT)
        sentence = "to keep it, take it out of the last-applied configuration"
        yield sentence, (forget,), live
    elif code in _OVERWRITTEN:
        edits = (Edit("manifest", path, ABSENT), Edit("last-applied", path, ABSENT))
        sentence = (
            "to leave it to others, take it out of the manifest and out of the "
            "last-applied configuration"
        )
        yield sentence, edits, live
    elif code == "zero-value":
        drop = Edit("manifest", path, ABSENT)
        sentence = "leave it out of the manifest: the server stores the same"
        yield sentence, (drop,), sides.result


def edited(obj: JSONObject, path: Path, value: JSON | Absent) -> JSONObject:
    """Return an object with a value at a path, or without it where that is ABSENT."""
    changed = _edited(obj, path.steps, value)
    return as_object(changed)


def _edited(current: JSON, steps: tuple[Step, ...], value: JSON | Absent) -> JSON:
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        members = {**as_object(current)}
        if rest:
            inner = members.get(step)
            # Where there is nothing above it, there is nothing to leave out.
            if inner is None and value is ABSENT:
                return current
            members[step] = _edited(inner, rest, value)
        elif isinstance(value, Absent):
            members.pop(step, None)
        else:
            members[step] = value
        return members
    elements: JSONArray = [*as_list(current)]
    index = index_of(step, elements)
    if not rest:
        if isinstance(value, Absent):
            del elements[index : index + 1]
        else:
            elements[index : index + 1] = [value]
        return elements
    if index < len(elements):
        elements[index] = _edited(elements[index], rest, value)
    elif value is not ABSENT and isinstance(step, (Element, KeyedElement)):
        keys = (
            step.keys
            if isinstance(step, KeyedElement)
            else [(step.merge_key, step.value)]
        )
        elements.append(_edited(dict(keys), rest, value))
    return elements
