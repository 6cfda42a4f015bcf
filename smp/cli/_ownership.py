"""Who owns which field before a server-side apply and after it, and conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from smp._values.values import ABSENT, JSON, Absent, JSONArray, drop_absent
from smp.cli._errors import inline, printable
from smp.cli._owners import owner_record, owner_text
from smp.explain import CAUSES, Cause, Edit, Evidence, Remedy
from smp.managed_fields import ApplyConflict, Escape, FieldSet, Owner, WayOut
from smp.paths import Path, value_at

_NO_MANAGER: Final = "no manager"
_WAYS: Final[Mapping[Escape, str]] = {
    "give up": "give it up (the configuration leaves it out)",
    "share": "share it (the configuration has the live value)",
    "take": "take it (--force-conflicts)",
}


class OwnerChanges(msgspec.Struct, frozen=True):
    """The owners of the fields of an object before an apply and after it."""

    before: tuple[Owner, ...]
    after: tuple[Owner, ...]
    conflicts: tuple[ApplyConflict, ...] = ()
    ways: tuple[WayOut, ...] = ()

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
                f"manifest {inline(value_at(new, conflict.path))}",
            ]
            owner = owner_text(conflict)
            yield conflict.path, f"owned by {owner}; {', '.join(values)}"

    def describe_ways(self, path: Path) -> Iterator[str]:
        """Yield the ways out of the conflict at a path, and what each leads to.

        No value is in them: it may be that of a Secret.
        """
        for way in self.ways:
            if way.path == path:
                names = ", ".join(owner_text(owner) for owner in way.owners)
                owned = f"owned by {names}" if names else f"owned by {_NO_MANAGER}"
                yield f"{_WAYS[way.escape]}: {owned}"

    def causes(self, live: JSON, new: JSON) -> Iterator[Cause]:
        """Yield the conflicts as causes, with the ways out of each as a remedy."""
        for conflict in self.conflicts:
            value = value_at(live, conflict.path)
            wanted = value_at(new, conflict.path)
            ways = [way for way in self.ways if way.path == conflict.path]
            reason = CAUSES["conflict"]
            remedy = None
            if ways:
                edit = Edit("manifest", conflict.path, ABSENT)
                sentences = "; ".join(self.describe_ways(conflict.path))
                remedy = Remedy(sentences, (edit,), value, "server-side")
            yield Cause(
                conflict.path,
                "conflict",
                reason.sentence.format(owners=owner_text(conflict)),
                value,
                value,
                reason.source,
                (
                    *([] if wanted is ABSENT else [Evidence("manifest", wanted)]),
                    Evidence("owner", owner_text(conflict)),
                ),
                remedy,
            )

    def describe_owners(self, path: str) -> str:
        """Name the owners after the apply of a path without a conflict, or within."""
        names = [
            owner_text(owner)
            for owner in self.after
            if any(
                f"{found}.".startswith((f"{path}.", f"{path}["))
                for found in owner.fields.paths()
            )
        ]
        return f"no conflict; owned by {', '.join(names) or _NO_MANAGER}"

    def conflict_records(self, live: JSON, new: JSON) -> JSONArray:
        """Return the conflicts as JSON, with the values of both objects."""
        records: JSONArray = []
        for conflict in self.conflicts:
            ways = [way for way in self.ways if way.path == conflict.path]
            record: dict[str, JSON | Absent] = {
                "path": str(conflict.path),
                **owner_record(conflict),
                "live": value_at(live, conflict.path),
                "manifest": value_at(new, conflict.path),
                "ways": [*map(_way_record, ways)],
            }
            records.append(drop_absent(record))
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
                    **owner_record(owner),
                    "gained": [str(path) for path in new.difference(old).paths()],
                    "lost": [str(path) for path in old.difference(new).paths()],
                }
            )
        return records


def _way_record(way: WayOut) -> JSON:
    record: dict[str, JSON | Absent] = {
        "way": way.escape,
        "force": way.force,
        "configuration": way.configuration,
        "object": way.object,
        "owners": [owner_record(owner) for owner in way.owners],
        "value": way.value,
    }
    return drop_absent(record)


def _names_by_path(owners: Iterable[Owner]) -> dict[str, str]:
    by_path: dict[str, str] = {}
    for owner in owners:
        for path in owner.fields.paths():
            text = printable(str(path))
            others = f"{by_path[text]}, " if text in by_path else ""
            by_path[text] = others + owner_text(owner)
    return by_path
