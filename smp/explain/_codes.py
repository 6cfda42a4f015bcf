"""The codes of causes at some paths, without evidence and remedies.

A report on many objects needs no more, and to prove remedies takes most of the time of
an explanation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp._storage.defaults import with_defaults
from smp._storage.typed_storage import stored
from smp._values.values import ABSENT, JSON, Absent
from smp.explain import _judgement
from smp.explain._sides import below, is_merge_object, sides_of
from smp.paths import Path, Step
from smp.schema.model import Schema
from smp.schema.sides import DEFAULT, Sides
from smp.three_way import ApplyInputs, ApplyResult

# The codes that depend on what a server makes of the manifest.
_BY_DEFAULTS: Final = frozenset(
    {"zero-value", "canonical", "filled-in", "changed-by-ambiguous-key", "not-as-asked"}
)


def codes_at(
    inputs: ApplyInputs, result: ApplyResult, schema: Schema, paths: Iterable[Path]
) -> list[str]:
    """Return the code of the cause of each of some paths of an apply.

    The paths are those of the result, at which it differs from live or from what was
    asked for; the codes are those of ``explain_apply``.
    """
    changed = {str(change.path) for change in result.changes}
    values: list[JSON | Absent] = [
        inputs.live,
        inputs.manifest,
        inputs.last_applied or {},
        result.object,
        ABSENT,
    ]
    root = _CodePlace(sides_of(values, schema))
    with_default: _CodePlace | None = None
    codes: list[str] = []
    for path in paths:
        # What the normalization of unions did has a reason of its own.
        if str(path) in changed:
            codes.append("union")
            continue
        code = _judgement.code_of(root.at(path.steps), schema.kind)
        if code in _BY_DEFAULTS:
            # Defaults take longer than all else here, and few causes depend on them.
            if with_default is None:
                values = [*values]
                values[DEFAULT] = with_defaults(stored(inputs.manifest, schema), schema)
                with_default = _CodePlace(sides_of(values, schema))
            code = _judgement.code_of(with_default.at(path.steps), schema.kind)
        codes.append(code)
    return codes


class _CodePlace:
    """A path of all objects, and the paths below it that were asked for."""

    __slots__ = ("_below", "_is_complete", "sides")

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self._below: dict[str, _CodePlace] = {}
        self._is_complete = False

    def at(self, steps: tuple[Step, ...]) -> Sides:
        """Return a path; what is in an atomic value counts as that value."""
        place = self
        for step in steps:
            below = place.below(step)
            if below is None:
                break
            place = below
        return place.sides

    def below(self, step: Step) -> _CodePlace | None:
        """Return the path of a member or an element; None where there is none."""
        if isinstance(step, str) and is_merge_object(self.sides):
            if step not in self._below:
                self._below[step] = _CodePlace(self.sides.member(step))
            return self._below[step]
        if not self._is_complete:
            # Elements are found together, so all of them are kept.
            for each in below(self.sides):
                own = str(Path(each.path.steps[-1:]))
                self._below.setdefault(own, _CodePlace(each))
            self._is_complete = True
        return self._below.get(str(Path((step,))))
