"""The outcome of an operation on one object, with its warnings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from smp._values.findings import Finding
from smp._values.values import ABSENT, JSON, JSONObject, same
from smp.cli._changes import ValueChange, changes
from smp.cli._objects import PrintedOutcome
from smp.custom_resources import STRATEGIC_MERGE_PATCH
from smp.errors import ApplyWarning
from smp.paths import Path
from smp.reports import Verdict, sort_counts
from smp.schema.model import Type

if TYPE_CHECKING:
    from smp.cli._objects import Entry, ObjectRow
    from smp.cli._ownership import OwnerChanges
    from smp.comparison import SetAside
    from smp.explain import Cause
    from smp.hazards import Hazard, Input
    from smp.managed_fields import PatchRequest

_MANAGED_FIELDS: Final = Path(("metadata", "managedFields"))


class ObjectOutcome(PrintedOutcome, frozen=True, kw_only=True):
    """One object before and after: ``before`` is None for an object to be created.

    ``after`` is None for one that is removed. ``place`` is the file and line that it
    comes from. ``notes`` say what the outcome is based on, ``warned`` what a user
    should look at, beside hazards and causes. An apply prunes what is in
    ``last_applied`` and not in ``configuration``. ``causes`` are there where the format
    of the output has them. The differences between the objects are those of ``before``
    and ``compared``, where there is such an object: the one after, but for the
    differences that were ``set_aside``.
    """

    before: JSON
    after: JSON
    type_: Type
    patch: JSON
    # The form of the patch, why it has it, and what kubectl would send instead.
    media_type: str = STRATEGIC_MERGE_PATCH
    reason: str = ""
    kubectl_patch: JSONObject | None = None
    notes: tuple[str, ...] = ()
    warned: tuple[Finding, ...] = ()
    last_applied: JSONObject | None = None
    configuration: JSONObject | None = None
    causes: tuple[Cause, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    # The inputs that the objects are read from, where causes have places in them.
    entries: tuple[tuple[Input, Entry], ...] = ()
    # The label of the object before, where it had another name.
    renamed_from: str = ""
    # The files and lines of both objects, where two states of files are compared.
    places: str = ""
    compared: JSONObject | None = None
    set_aside: tuple[SetAside, ...] = ()
    # Who owns which field, and conflicts. Only server-side apply knows that.
    ownership: OwnerChanges | None = None
    # What a client sends to get there, or would have to send; of server-side apply.
    requests: tuple[PatchRequest, ...] = ()

    def with_inputs(
        self,
        row: ObjectRow,
        partners: tuple[Input, Input],
        kind_note: str,
        unchecked: str,
    ) -> ObjectOutcome:
        """Return the outcome with where its inputs are, and what is said of these.

        ``partners`` is what the partners of the row are to the manifest.
        """
        found = [("manifest", row.entry), *zip(partners, row.partners, strict=True)]
        return msgspec.structs.replace(
            self.add_notes_of(row),
            kind_note=kind_note,
            unchecked=unchecked,
            entries=tuple(
                [(name, entry) for name, entry in found if entry is not None]
            ),
        )

    def add_notes_of(self, row: ObjectRow) -> ObjectOutcome:
        """Return the outcome with what a row warns of."""
        if not row.notes:
            return self
        of_row = [ApplyWarning("repeated-object", Path(), note) for note in row.notes]
        return msgspec.structs.replace(self, warned=(*of_row, *self.warned))

    @property
    def messages(self) -> tuple[Finding, ...]:
        """The hazards and what else a user should look at."""
        found = (*self.hazards, *self.warned)
        return tuple([each for each in found if each.severity != "note"])

    @property
    def has_other_form(self) -> bool:
        """Whether a server takes the patch, but not as a strategic merge patch."""
        is_patch = not self.creates and not self.removes
        return is_patch and self.media_type != STRATEGIC_MERGE_PATCH

    @property
    def creates(self) -> bool:
        """Whether there was no object before."""
        return self.before is None

    @property
    def removes(self) -> bool:
        """Whether there is no object any more."""
        return self.after is None and not self.creates

    @property
    def judged(self) -> JSON:
        """The object after, as far as it counts for the verdict."""
        return self.after if self.compared is None else self.compared

    @property
    def differs(self) -> bool:
        """Whether the object changes, in a way that counts."""
        if self.ownership is not None and self.ownership.before != self.ownership.after:
            return True
        return not same(self.before, self.judged)

    @property
    def is_patched(self) -> bool:
        """Whether the patch of the object does something, even if it does not count."""
        return self.differs or not same(self.before, self.after)

    @property
    def counts_set_aside(self) -> dict[str, int]:
        """How many differences do not count, by normalizer and reason of a rule."""
        return sort_counts(Counter(entry.label for entry in self.set_aside))

    @property
    def verdict(self) -> Verdict:
        """What happens to the object, in a word."""
        if self.problem:
            return "failed"
        if self.renamed_from:
            return "renamed"
        if self.creates:
            return "new"
        if self.removes:
            return "removed"
        return "changed" if self.differs else "unchanged"

    @property
    def operations(self) -> JSON:
        """The change as a JSON Patch (RFC 6902); a new object is added at the root."""
        if self.creates:
            return [{"op": "add", "path": "", "value": self.after}]
        if self.removes:
            return [{"op": "remove", "path": ""}]
        from smp.json_patch import diff  # noqa: PLC0415  # 15 ms, for one output

        return [*diff(self.before, self.after)]


def differences(outcome: ObjectOutcome) -> list[ValueChange]:
    """Return what differs between the object before and after."""
    before, after = outcome.before, outcome.judged
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


def request_record(request: PatchRequest) -> JSONObject:
    """Return what a client sends, for another program."""
    return {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "mediaType": request.media_type,
        "body": request.body,
    }
