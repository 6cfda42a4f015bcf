"""The outcome of an operation on one object, with its warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from smp.cli._changes import ValueChange, changes
from smp.cli._identity import Identity
from smp.cli._options import Settings
from smp.paths import Path
from smp.schema.model import Schema, Type
from smp.values import ABSENT, JSON, JSONObject, same

if TYPE_CHECKING:
    from smp.cli._ownership import Ownership

_ACTIONS: Final = {
    "failed": "failed",
    "new": "created",
    "changed": "configured",
    "unchanged": "unchanged",
    "removed": "removed",
}

_MANAGED_FIELDS: Final = Path(("metadata", "managedFields"))


class ObjectOutcome(msgspec.Struct, frozen=True):
    """One object before and after: ``before`` is None for an object to be created.

    ``after`` is None for one that is removed. ``place`` is the file and line that it
    comes from. ``notes`` say what the outcome is based on, ``warnings`` what a user
    should look at. An outcome that ``is_faulty`` has warnings that --strict takes for
    failures: a server would reject the object, or it is not what was asked for.
    ``kind_note`` concerns all objects of the kind. An apply prunes what is in
    ``last_applied`` and not in ``configuration``.
    """

    identity: Identity
    place: str
    before: JSON
    after: JSON
    type_: Type
    patch: JSON
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_faulty: bool = False
    kind_note: str = ""
    last_applied: JSONObject | None = None
    configuration: JSONObject | None = None
    # Whether the object after is what the command is asked for.
    is_applied: bool = False
    # The label of the object before, where it had another name.
    renamed_from: str = ""
    # Who owns which field, and conflicts. Only server-side apply knows that.
    ownership: Ownership | None = None
    # Why the operation failed, as blocks for standard error.
    problems: tuple[str, ...] = ()

    def with_faults(self, faults: tuple[str, ...]) -> ObjectOutcome:
        """Return the outcome with more warnings that --strict takes for failures."""
        if not faults:
            return self
        return msgspec.structs.replace(
            self, warnings=(*faults, *self.warnings), is_faulty=True
        )

    @property
    def label(self) -> str:
        """The object for a reader, or its place where it has no name."""
        return self.identity.label or self.place

    @property
    def old_label(self) -> str:
        """The object before, for a reader."""
        return self.renamed_from or self.label

    @property
    def creates(self) -> bool:
        """Whether there was no object before."""
        return self.before is None

    @property
    def removes(self) -> bool:
        """Whether there is no object any more."""
        return self.after is None and not self.creates

    @property
    def differs(self) -> bool:
        """Whether the object changes."""
        if self.ownership is not None and self.ownership.before != self.ownership.after:
            return True
        return not same(self.before, self.after)

    @property
    def verdict(self) -> str:
        """What happens to the object, in a word."""
        if self.problems:
            return "failed"
        if self.renamed_from:
            return "renamed"
        if self.creates:
            return "new"
        if self.removes:
            return "removed"
        return "changed" if self.differs else "unchanged"

    @property
    def action(self) -> str:
        """What happens to the object, in the words of kubectl apply."""
        return _ACTIONS[self.verdict]

    @property
    def operations(self) -> JSON:
        """The change as a JSON Patch (RFC 6902); a new object is added at the root."""
        if self.creates:
            return [{"op": "add", "path": "", "value": self.after}]
        if self.removes:
            return [{"op": "remove", "path": ""}]
        # Only one output format needs the library that this loads.
        from smp.json_patch import diff  # noqa: PLC0415  # see above

        return [*diff(self.before, self.after)]


def differences(outcome: ObjectOutcome) -> list[ValueChange]:
    """Return what differs between the object before and after."""
    before, after = outcome.before, outcome.after
    if isinstance(before, dict) and isinstance(after, dict):
        found = changes(before, after, outcome.type_)
        if outcome.ownership is None:
            return list(found)
        # Their changes are those of the owners.
        return [change for change in found if change.path != _MANAGED_FIELDS]
    if not outcome.differs:
        return []
    old = ABSENT if outcome.creates else before
    new = ABSENT if outcome.removes else after
    return [ValueChange(Path(), old, new)]


def unknown_field_messages(
    patch: JSONObject, schema: Schema, settings: Settings
) -> tuple[str, ...]:
    """Warn of each field that the schema does not know, if such fields are merged."""
    if settings.unknown_fields == "error":
        return ()
    # Loading it takes longer than patching an object.
    from smp.three_way import unknown_field_warnings  # noqa: PLC0415  # see above

    return tuple(str(warning) for warning in unknown_field_warnings(patch, schema))
