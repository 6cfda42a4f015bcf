"""The codes of causes at some paths, without evidence and remedies.

A report on many objects needs no more, and to prove remedies takes most of the time of
an explanation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.defaults import with_defaults
from smp.explain import _judgement
from smp.explain._sides import Sides
from smp.paths import Path, Step
from smp.schema.model import Schema
from smp.three_way import ApplyResult
from smp.typed_storage import stored
from smp.values import ABSENT, JSON, Absent, JSONObject

# The codes that depend on what a server makes of the manifest.
_BY_DEFAULTS: Final = frozenset(
    {"zero-value", "canonical", "filled-in", "changed-by-ambiguous-key", "not-as-asked"}
)


def codes_at(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    result: ApplyResult,
    schema: Schema,
    paths: Iterable[Path],
) -> list[str]:
    """Return the code of the cause of each of some paths of an apply.

    The paths are those of the result, at which it differs from live or from what was
    asked for; the codes are those of ``explain_apply``.
    """
    changed = {str(change.path) for change in result.changes}
    values: dict[str, JSON | Absent] = {
        "last-applied": last_applied or {},
        "manifest": modified,
        "live": live,
        "result": result.object,
        "default": ABSENT,
        "former": ABSENT,
    }
    root = Sides(values, schema.type, None, Path(), Path())
    root.by_list_types = schema.is_custom
    with_default: Sides | None = None
    codes: list[str] = []
    for path in paths:
        # What the normalization of unions did has a reason of its own.
        if str(path) in changed:
            codes.append("union")
            continue
        code = _judgement.code_of(_side_at(root, path.steps), schema.kind)
        if code in _BY_DEFAULTS:
            # Defaults take longer than all else here, and few causes depend on them.
            if with_default is None:
                decoded = stored(modified, schema)
                values["default"] = with_defaults(decoded, schema)
                with_default = Sides(values, schema.type, None, Path(), Path())
                with_default.by_list_types = schema.is_custom
            sides = _side_at(with_default, path.steps)
            code = _judgement.code_of(sides, schema.kind)
        codes.append(code)
    return codes


def _side_at(root: Sides, steps: tuple[Step, ...]) -> Sides:
    """Return a path of all objects; what is in an atomic value counts as that value."""
    side = root
    for step in steps:
        if isinstance(step, str) and side.is_merge_object:
            side = side.member(step)
            continue
        wanted = str(Path((step,)))
        below = [
            each for each in side.below() if str(each.path)[-len(wanted) :] == wanted
        ]
        if not below:
            break
        side = below[0]
    return side
