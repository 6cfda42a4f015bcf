"""One object and its new configuration: what ``smp apply`` prints and ``smp diff
--live`` compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.cli._changes import changes
from smp.cli._objects import Object
from smp.cli._options import Settings
from smp.cli._outcome import Outcome
from smp.schema.model import Schema
from smp.strategic import apply_patch
from smp.three_way import three_way_apply, unknown_field_warnings
from smp.values import ABSENT, JSONObject

_UNMET: Final = "the new configuration asks for this, and the result does not have it"
_REJECTED: Final = "a server would reject this"


def created(each: Object, new: JSONObject, schema: Schema) -> Outcome:
    """Tell what a server stores of a new object: all but its nulls."""
    return Outcome(each.label, None, apply_patch({}, new, schema), schema.type, new)


def brought(
    each: Object,
    last_applied: JSONObject | None,
    new: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    settings: Settings,
    overwrite: bool = True,
    notes: Iterable[str] = (),
) -> Outcome:
    """Apply the new configuration to the live object. Raises what three_way_apply
    raises.
    """
    policy = settings.unknown_fields
    result = three_way_apply(
        last_applied,
        new,
        live,
        schema,
        profile=settings.profile,
        overwrite=overwrite,
        unknown_fields=policy,
    )
    known = schema.with_unknown_fields(policy).type
    warnings = [
        *map(str, result.warnings),
        *(f"{violation} ({_REJECTED})" for violation in result.violations),
        *(f"{path}: {_UNMET}" for path in result.unmet),
    ]
    return Outcome(
        label=each.label,
        before=live,
        after=result.object,
        known=known,
        patch=result.patch,
        notes=(
            *notes,
            *(
                f"{change.path}: {change.why} ({settings.profile} {change.rule})"
                for change in result.changes
            ),
        ),
        warnings=tuple(warnings),
        unmet=result.unmet,
        pruned=frozenset(
            str(c.path)
            for c in changes(last_applied or {}, new, known)
            if c.new is ABSENT
        ),
    )


def merged_anyway(
    patch: JSONObject, schema: Schema, settings: Settings
) -> tuple[str, ...]:
    """Warn of each place at which a patch goes where the schema knows nothing, if that
    is allowed.
    """
    if settings.unknown_fields == "error":
        return ()
    return tuple(map(str, unknown_field_warnings(patch, schema)))
