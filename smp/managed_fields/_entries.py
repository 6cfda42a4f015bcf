"""The entries of metadata.managedFields, as a server reads and writes them.

An entry belongs to a manager, an operation and a subresource; that of an update also to
a version of the API: an applier has one entry, in whatever version it applies (Go:
managedfields, internal.BuildManagerIdentifier).
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from time import time
from typing import Any, Final, Literal, TypeAlias

import msgspec

from smp._values.api_objects import drop_managed_fields, set_metadata
from smp._values.times import read_time, timestamp
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object, as_text
from smp.errors import ObjectError, SmpError
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._go_text import value_text
from smp.managed_fields._versions import SERVING, Serving
from smp.paths import Path

Operation: TypeAlias = Literal["Apply", "Update"]
APPLY: Final = "Apply"
UPDATE: Final = "Update"

_PATH = Path(("metadata", "managedFields"))


class Owner(msgspec.Struct, frozen=True):
    """A field manager, and what it owns: an entry of metadata.managedFields.

    A manager has several where it writes by several operations (``Apply``,
    ``Update``), versions of the API or subresources. ``time`` is that of the last
    change of the entry, not of each field; it is empty where there is none.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    fields: FieldSet

    @property
    def identity(self) -> Identity:
        """What tells this entry from the other ones of an object."""
        version = self.api_version if self.operation == UPDATE else ""
        return Identity(self.manager, self.operation, version, self.subresource)


class Identity(msgspec.Struct, frozen=True):
    """What tells an entry from others: ``api_version`` is empty for an apply."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @property
    def text(self) -> str:
        """The identity as Go's map key; conflicts are sorted by it."""
        members: dict[str, str] = {}
        if self.manager:
            members["manager"] = self.manager
        members["operation"] = self.operation
        if self.api_version:
            members["apiVersion"] = self.api_version
        if self.subresource:
            members["subresource"] = self.subresource
        return msgspec.json.encode(members).decode()


class Write(msgspec.Struct, frozen=True):
    """A write: the entry that it is recorded in, and when it is.

    ``reset`` are the fields that a server resets at such a write, so that it gives its
    manager none of them.
    """

    identity: Identity
    api_version: str
    time: str
    reset: FieldSet
    serving: Serving

    def owner(self, fields: FieldSet, time: str) -> Owner:
        """Return the entry of the write."""
        return Owner(
            manager=self.identity.manager,
            operation=self.identity.operation,
            api_version=self.api_version,
            subresource=self.identity.subresource,
            time=time,
            fields=fields,
        )


class Writer(msgspec.Struct, frozen=True):
    """Who writes, by which operation and when, and how the kind is served.

    Without ``now``, each write is made at its time.
    """

    manager: str
    operation: str = UPDATE
    subresource: str = ""
    serving: Serving = SERVING
    now: datetime | None = None

    def write(self, obj: JSONObject, reset: FieldSet = EMPTY) -> Write:
        """Return a write of an object; a manager without a name is ``unknown``.

        Raises ObjectError for an object without an apiVersion: no server could read the
        entry.
        """
        api_version = as_text(obj.get("apiVersion"))
        if not api_version:
            raise _invalid("apiVersion must not be empty")
        identity = Identity(
            # Go: buildManagerInfoManager.
            self.manager or "unknown",
            self.operation,
            api_version if self.operation == UPDATE else "",
            self.subresource,
        )
        now = self.now
        text = _second_text(int(time())) if now is None else _time_text(now)
        return Write(identity, api_version, text, reset, self.serving)


class ManagedFields:
    """The entries of an object, while an operation works on them.

    ``owners`` has them by their identity; of equal ones the last counts. An owner with
    an empty field set is left out when they are written.
    """

    __slots__ = ("_read", "owners")

    def __init__(self) -> None:
        self.owners: dict[Identity, Owner] = {}
        # What was read, to be written as it was where it does not change.
        self._read: dict[Identity, tuple[Owner, JSON]] = {}

    @classmethod
    def of(cls, obj: JSONObject) -> ManagedFields:
        """Read the entries of an object.

        Raises ObjectError (code invalid-managed-fields), with the path, for what a
        server cannot read (Go: internal.DecodeManagedFields).
        """
        managed = cls()
        found, problems = readable_owners(obj)
        if problems:
            raise problems[0]
        entries = as_list(as_object(obj.get("metadata")).get("managedFields"))
        for index, owner in enumerate(found):
            problem = ""
            if owner.operation not in (APPLY, UPDATE):
                problem = "operation must be `Apply` or `Update`"
            elif not owner.api_version:
                problem = "apiVersion must not be empty"
            if problem:
                raise _invalid(problem).at(_PATH / index)
            managed.owners[owner.identity] = owner
            managed._read[owner.identity] = (owner, entries[index])
        return managed

    def copy(self) -> ManagedFields:
        """Return the same entries, for another attempt at the same operation."""
        copied = ManagedFields()
        copied.owners = dict(self.owners)
        copied._read = self._read
        return copied

    def written_to(self, obj: JSONObject) -> JSONObject:
        """Return an object with these entries, without managedFields if there are none.

        Go: internal.EncodeObjectManagedFields.
        """
        entries: JSONArray = []
        owners = [*self.owners.values()]
        if len(owners) > 1:
            owners.sort(key=_order)
        for owner in owners:
            if not owner.fields:
                continue
            read = self._read.get(owner.identity)
            if read is not None and read[0] is owner:
                entries.append(read[1])
                continue
            entries.append(entry_of(owner, owner.fields.to_v1()))
        return add_entries(obj, entries)


def entry_of(owner: Owner, fields: JSONObject) -> JSONObject:
    """Return the entry of an owner; ``fields`` is fieldsV1 of what it owns."""
    entry: JSONObject = {}
    if owner.manager:
        entry["manager"] = owner.manager
    entry["operation"] = owner.operation
    entry["apiVersion"] = owner.api_version
    if owner.time:
        entry["time"] = owner.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def add_entries(obj: JSONObject, entries: JSONArray) -> JSONObject:
    """Return an object with these entries; without managedFields if there are none."""
    if not entries:
        return drop_managed_fields(obj)
    return set_metadata(obj, managedFields=entries)


def readable_owners(obj: JSONObject) -> tuple[tuple[Owner, ...], tuple[SmpError, ...]]:
    """Return the owners of entries that can be read, and the errors of the others."""
    entries = as_object(obj.get("metadata")).get("managedFields")
    if entries is None:
        return (), ()
    if not isinstance(entries, list):
        return (), (_invalid("managedFields is a list").at(_PATH),)
    found: list[Owner] = []
    problems: list[SmpError] = []
    for index in range(len(entries)):
        try:
            found.append(owner_of_entry(entries, index))
        except SmpError as error:
            problems.append(error)
    return tuple(found), tuple(problems)


def owner_of_entry(entries: JSONArray, index: int) -> Owner:
    """Read one entry of managedFields. Raises ObjectError, with its path."""
    try:
        return _owner(entries[index], index)
    except SmpError as error:
        raise error.at(_PATH / index) from None


def _owner(entry: JSON, index: int) -> Owner:
    if not isinstance(entry, dict):
        raise _invalid("an entry is an object")
    fields_type = as_text(entry.get("fieldsType"))
    if not fields_type:
        raise _invalid(f"missing fieldsType in managed fields entry {index}")
    if fields_type != "FieldsV1":
        quoted = value_text(fields_type)
        raise _invalid(f"invalid fieldsType {quoted} in managed fields entry {index}")
    fields = EMPTY
    document = entry.get("fieldsV1")
    if document is not None:
        if not isinstance(document, dict):
            raise _invalid("fieldsV1 is an object")
        try:
            fields = FieldSet.from_v1(document)
        except SmpError as error:
            raise error.at(Path(("fieldsV1",))) from None
    return Owner(
        manager=as_text(entry.get("manager")),
        operation=as_text(entry.get("operation")),
        api_version=as_text(entry.get("apiVersion")),
        subresource=as_text(entry.get("subresource")),
        time=as_text(entry.get("time")),
        fields=fields,
    )


def _time_text(moment: datetime) -> str:
    """Return a time as an entry has it; without a zone it is UTC."""
    try:
        return timestamp(moment.replace(tzinfo=moment.tzinfo or UTC))
    except OverflowError:
        raise ObjectError(
            f"{moment} is no time of a write", code="invalid-time"
        ) from None


# A server writes many objects in a second.
@lru_cache(maxsize=2)
def _second_text(second: int) -> str:
    return _time_text(datetime.fromtimestamp(second, UTC))


def find_managed_fields_patch(obj: JSONObject) -> list[dict[str, Any]]:
    """Return the JSON Patch that gives a stored object these entries.

    A server refuses it for an object that was written since (Go:
    csaupgrade.UpgradeManagedFieldsPatch).
    """
    metadata = as_object(obj.get("metadata"))
    return [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": metadata.get("managedFields"),
        },
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": as_text(metadata.get("resourceVersion")),
        },
    ]


def _invalid(problem: str) -> SmpError:
    # The words of a server (Go: internal.DecodeManagedFields).
    return ObjectError(
        f"failed to decode managed fields: {problem}", code="invalid-managed-fields"
    )


def _order(owner: Owner) -> tuple[str, int, str, str, str]:
    """Go: internal.sortEncodedManagedFields."""
    return (
        owner.operation,
        seconds(owner.time),
        owner.manager,
        owner.api_version,
        owner.subresource,
    )


def seconds(time: str) -> int:
    """Return a time as seconds since 1970; 0 for none."""
    found = read_time(time)
    return 0 if found is None else found[0]
