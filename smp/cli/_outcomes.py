"""The outcome of an operation on one object, with its warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from smp.cli._options import Settings
from smp.paths import Path
from smp.schema.model import Schema, Type
from smp.strategic import apply_patch
from smp.three_way import three_way_apply, unknown_field_warnings
from smp.values import JSON, JSONObject, same

_UNMET: Final = "the result is not what the new configuration asks for"
_REJECTED: Final = "a server would reject this"


class ObjectOutcome(msgspec.Struct, frozen=True):
    """One object before and after: ``before`` is None for an object to be created.

    ``notes`` say what the outcome is based on, ``warnings`` what a user should look at.
    ``unmet`` are the paths at which the result is not what was asked for. An apply
    prunes what is in ``last_applied`` and not in ``configuration``.
    """

    label: str
    before: JSON
    after: JSON
    type_: Type
    patch: JSON
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unmet: tuple[Path, ...] = ()
    last_applied: JSONObject | None = None
    configuration: JSONObject | None = None

    @property
    def creates(self) -> bool:
        """Whether there was no object before."""
        return self.before is None

    @property
    def differs(self) -> bool:
        """Whether the object changes."""
        return not same(self.before, self.after)

    @property
    def operations(self) -> JSON:
        """The change as a JSON Patch (RFC 6902); a new object is added at the root."""
        if self.creates:
            return [{"op": "add", "path": "", "value": self.after}]
        # Only one output format needs the library that this loads.
        from smp.json_patch import diff  # noqa: PLC0415  # see above

        return [*diff(self.before, self.after)]


class Versions(msgspec.Struct, frozen=True):
    """The versions of one object that a three-way apply merges."""

    last_applied: JSONObject | None
    modified: JSONObject
    live: JSONObject


def created_outcome(label: str, new: JSONObject, schema: Schema) -> ObjectOutcome:
    """Create an object: a server stores all of it but its nulls."""
    return ObjectOutcome(label, None, apply_patch({}, new, schema), schema.type, new)


def applied_outcome(
    label: str,
    versions: Versions,
    schema: Schema,
    settings: Settings,
    *,
    overwrite: bool = True,
    notes: Iterable[str] = (),
) -> ObjectOutcome:
    """Apply a new configuration to a live object.

    Raises what three_way_apply raises.
    """
    result = three_way_apply(
        versions.last_applied,
        versions.modified,
        versions.live,
        schema,
        profile=settings.profile,
        overwrite=overwrite,
        unknown_fields=settings.unknown_fields,
    )
    # What the normalization of unions did to the patched object, rule by rule.
    changes = [
        f"{change.path}: {change.why} ({settings.profile} {change.rule})"
        for change in result.changes
    ]
    # None of these is an error: kubectl would send the patch, and a server may differ
    # in version or configuration from the bundled schema.
    warnings = [str(warning) for warning in result.warnings]
    warnings += [f"{violation} ({_REJECTED})" for violation in result.violations]
    warnings += [f"{path}: {_UNMET}" for path in result.unmet]
    return ObjectOutcome(
        label=label,
        before=versions.live,
        after=result.object,
        type_=schema.with_unknown_fields(settings.unknown_fields).type,
        patch=result.patch,
        notes=(*notes, *changes),
        warnings=tuple(warnings),
        unmet=result.unmet,
        last_applied=versions.last_applied,
        configuration=versions.modified,
    )


def unknown_field_messages(
    patch: JSONObject, schema: Schema, settings: Settings
) -> tuple[str, ...]:
    """Warn of each field that the schema does not know, if such fields are merged."""
    if settings.unknown_fields == "error":
        return ()
    return tuple(str(warning) for warning in unknown_field_warnings(patch, schema))
