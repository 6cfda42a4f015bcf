"""Who owns which field before a server-side apply and after it, and conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from smp.cli._errors import inline, printable
from smp.managed_fields import ApplyConflict, FieldSet, Owner
from smp.paths import Path, value_at
from smp.values import ABSENT, JSON, JSONArray

_NO_MANAGER: Final = "no manager"


class OwnerChanges(msgspec.Struct, frozen=True):
    """The owners of the fields of an object before an apply and after it."""

    before: tuple[Owner, ...]
    after: tuple[Owner, ...]
    conflicts: tuple[ApplyConflict, ...] = ()

    def changed_fields(self) -> Iterator[tuple[str, str, str]]:
        """Yield each field that has other owners than before, with both."""
        before, after = _names_by_path(self.before), _names_by_path(self.after)
        for path in {**before, **after}:
            old, new = before.get(path, _NO_MANAGER), after.get(path, _NO_MANAGER)
            if old != new:
                yield path, old, new

    def describe_conflicts(self, live: JSON, new: JSON) -> Iterator[tuple[Path, str]]:
        """Yield the path and a text of each conflict, with the values of both."""
        for conflict in self.conflicts:
            values = [
                f"live {inline(value_at(live, conflict.path))}",
                f"new {inline(value_at(new, conflict.path))}",
            ]
            owner = owner_text(conflict)
            yield conflict.path, f"owned by {owner}; {', '.join(values)}"

    def owner_names(self) -> list[str]:
        """Name the owners after the apply."""
        return [owner_text(owner) for owner in self.after]

    def conflict_records(self, live: JSON, new: JSON) -> JSONArray:
        """Return the conflicts as JSON, with the values of both objects."""
        records: JSONArray = []
        for conflict in self.conflicts:
            record = {"path": str(conflict.path), **_identity(conflict)}
            live_value = value_at(live, conflict.path)
            if live_value is not ABSENT:
                record["live"] = live_value
            new_value = value_at(new, conflict.path)
            if new_value is not ABSENT:
                record["new"] = new_value
            records.append(record)
        return records

    def manager_records(self) -> JSONArray:
        """Return the managers as JSON, with the fields that they gain and lose."""
        before = {owner.identity: owner for owner in self.before}
        after = {owner.identity: owner for owner in self.after}
        records: JSONArray = []
        for identity, owner in {**before, **after}.items():
            old = before[identity].fields if identity in before else FieldSet()
            new = after[identity].fields if identity in after else FieldSet()
            records.append(
                {
                    **_identity(owner),
                    "gained": [str(path) for path in new.difference(old).paths()],
                    "lost": [str(path) for path in old.difference(new).paths()],
                }
            )
        return records


def owner_text(owner: Owner | ApplyConflict) -> str:
    """Name an owner for a reader: ``kubelet (Update status)``."""
    how = f"{owner.operation} {owner.subresource}".rstrip()
    return printable(f"{owner.manager} ({how})")


def _names_by_path(owners: Iterable[Owner]) -> dict[str, str]:
    by_path: dict[str, str] = {}
    for owner in owners:
        for path in owner.fields.paths():
            text = printable(str(path))
            others = f"{by_path[text]}, " if text in by_path else ""
            by_path[text] = others + owner_text(owner)
    return by_path


def _identity(owner: Owner | ApplyConflict) -> dict[str, JSON]:
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "subresource": owner.subresource,
        "time": owner.time,
    }
