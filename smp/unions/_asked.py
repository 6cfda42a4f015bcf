"""What a patch asks for at a place: which members it wants, and which it wants gone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from smp.schema.model import Field
from smp.strategic import REPLACE, PatchObject, read_object
from smp.unions._pairs import Key, Value, by_key, key_of
from smp.values import ABSENT


class Asked(msgspec.Struct, frozen=True):
    """The part of a patch for one place; ``replaced``: what it does not set there is
    gone on purpose.
    """

    patch: Value = ABSENT
    replaced: bool = False

    def _read(self) -> PatchObject:
        return (
            read_object(self.patch) if isinstance(self.patch, dict) else PatchObject({})
        )

    def member(self, name: str, field: Field) -> Asked:
        """Return what the patch asks for a field."""
        here = self._read()
        replaced = here.marker is not ABSENT or (field.replaces and name in here.fields)
        return Asked(here.fields.get(name, ABSENT), self.replaced or replaced)

    def elements(self, keys: tuple[str, ...]) -> Callable[[Key], Asked]:
        """Return what the patch asks for the elements of a list, by their keys."""
        listed = (
            [e for e in self.patch if isinstance(e, dict)]
            if isinstance(self.patch, list)
            else []
        )
        marked = [
            (key_of(element, keys), read_object(element).marker) for element in listed
        ]
        everything = self.replaced or any(marker == REPLACE for _, marker in marked)
        deleted = {key for key, marker in marked if marker is not ABSENT}
        found = by_key([e for e in listed if read_object(e).marker is ABSENT], keys)
        return lambda key: Asked(found.get(key, ABSENT), everything or key in deleted)

    def wants(self, name: str) -> bool:
        """Tell whether the patch sets or retains a field."""
        here = self._read()
        return here.fields.get(name) is not None or (
            isinstance(here.retained, list) and name in here.retained
        )

    def drops(self, name: str) -> bool:
        """Tell whether the patch removed a field, so that nothing may bring it back."""
        here = self._read()
        gone = isinstance(here.retained, list) and name not in here.retained
        return (
            gone
            or self.replaced
            or here.marker is not ABSENT
            or here.fields.get(name, ABSENT) is None
        )
