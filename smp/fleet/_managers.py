"""Who owns what a live object has at a path."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET

from smp._values.raw import RawJSON
from smp._values.values import ABSENT, JSON, JSONObject, as_list, as_object
from smp.comparison import Rule
from smp.errors import SmpError
from smp.fleet._memory import Memory
from smp.fleet._objects import ObjectText
from smp.fleet._usual import Part
from smp.managed_fields import FieldSet, Owner, owned_path, owners
from smp.paths import Path, index_of, value_at
from smp.schema.model import Schema

# A set takes many times as much memory as its text.
_MOST: Final = 1 << 20


class _Entry(msgspec.Struct):
    fieldsType: str  # noqa: N815  # as in JSON
    fieldsV1: RawJSON  # noqa: N815  # as above
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""


_decode_entries: Final = msgspec.json.Decoder(list[_Entry]).decode


class Managers:
    """Reads who owns what, and remembers sets of fields by their text."""

    def __init__(self) -> None:
        self._known: Memory[FieldSet] = Memory(_MOST)

    def of(
        self, fields: Part, live: bytes, *, is_required: bool = False
    ) -> tuple[Owner, ...]:
        """Return the owners of fields; none where managed fields cannot be read.

        ``fields`` are the managed fields of a live object. Raises ObjectError where
        they are required.
        """
        if fields is UNSET:
            return ()
        try:
            entries = _decode_entries(fields)
            if all(entry.fieldsType == "FieldsV1" for entry in entries):
                return tuple([self._owner(entry) for entry in entries])
        except (msgspec.MsgspecError, UnicodeError, SmpError):
            # They may be readable all the same: null is the same as nothing.
            pass
        try:
            return owners(ObjectText(live, "live").decoded("live"))
        except SmpError:
            # A server repairs broken managed fields with the next write.
            if is_required:
                raise
            return ()

    def trusted_by(self, rule: Rule, fields: Part) -> tuple[object, ...]:
        """Return what a rule about managers looks at in managed fields.

        That is the fields of each manager that it trusts, at whatever time.
        """
        if fields is UNSET:
            return ()
        try:
            entries = _decode_entries(fields)
        except (msgspec.MsgspecError, UnicodeError):
            return (bytes(fields),)
        return tuple(
            [
                (entry.fieldsType, bytes(entry.fieldsV1))
                for entry in entries
                if rule.trusts(entry.manager)
            ]
        )

    def _owner(self, entry: _Entry) -> Owner:
        text = bytes(entry.fieldsV1)
        fields = self._known.get(text, len(text))
        if fields is None:
            fields = FieldSet.from_v1(text)
            self._known.keep(text, fields, len(text))
        return Owner(
            entry.manager,
            entry.operation,
            # Of which version a field is does not matter here.
            "",
            entry.subresource,
            entry.time,
            fields,
        )


def find_owned_at(live: JSONObject, schema: Schema, path: Path) -> Path | None:
    """Return the path by which a field is owned; None where live has nothing."""
    if value_at(live, path) is ABSENT:
        return None
    return owned_path(live, schema, by_index(live, path))


def managers_at(known: tuple[Owner, ...], owned: Path | None) -> str:
    """Return who owns a field, or anything in it."""
    if owned is None:
        return ""
    found = [
        named(owner)
        for owner in known
        if owner.fields.has(owned) or owner.fields.at(owned)
    ]
    return ", ".join(found)


def by_index(live: JSONObject, path: Path) -> Path:
    """Return a path with the indexes of live, as far as live has a value."""
    value: JSON = live
    found = Path()
    for step in path.steps:
        if isinstance(step, str):
            members = as_object(value)
            if step not in members:
                break
            value = members[step]
            found = found / step
        else:
            elements = as_list(value)
            index = index_of(step, elements)
            if index >= len(elements):
                break
            value = elements[index]
            found = found / index
    return found


def named(owner: Owner) -> str:
    """Name a manager, as ``kubectl-edit Update 2026-01-02T03:04:05Z``."""
    how = f"{owner.manager} {owner.operation}"
    if owner.subresource:
        how += f" {owner.subresource}"
    return f"{how} {owner.time}".rstrip()
