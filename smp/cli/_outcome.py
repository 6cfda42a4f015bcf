"""What an operation made of one object, whatever the operation was."""

from __future__ import annotations

import msgspec

from smp.paths import Path
from smp.schema.model import Type
from smp.values import JSON, same


class Outcome(msgspec.Struct, frozen=True):
    """One object before and after: ``before`` is None for an object that is to be
    created.

    ``notes`` say what the outcome rests on, ``warnings`` what a user should look at.
    ``unmet`` is the paths of the new configuration that do not hold, ``pruned`` those
    that it dropped since it was last applied.
    """

    label: str
    before: JSON
    after: JSON
    known: Type
    patch: JSON
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unmet: tuple[Path, ...] = ()
    pruned: frozenset[str] = frozenset()

    @property
    def creates(self) -> bool:
        """Whether there was no object before."""
        return self.before is None

    @property
    def differs(self) -> bool:
        """Whether the object becomes another one."""
        return not same(self.before, self.after)

    @property
    def operations(self) -> JSON:
        """The change as a JSON Patch (RFC 6902); a new object is added at the root."""
        if self.creates:
            return [{"op": "add", "path": "", "value": self.after}]
        from smp.json_patch import diff

        return [*diff(self.before, self.after)]
