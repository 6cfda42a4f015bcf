"""The part of a patch for one field: its value and the directives for it."""

from __future__ import annotations

import msgspec

from smp._strategic._directives import PatchObject, deletions_from, order_of
from smp._values.values import ABSENT, JSON, Absent, JSONObject


class FieldPatch(msgspec.Struct, frozen=True):
    """The part of a patch for one field.

    ``order`` is the field's ``$setElementOrder``, ``deleted`` its
    ``$deleteFromPrimitiveList``.
    """

    value: JSON | Absent = ABSENT
    order: JSON | Absent = ABSENT
    deleted: JSON | Absent = ABSENT

    @classmethod
    def read(cls, patch: PatchObject, name: str) -> FieldPatch:
        """Return the part of a patch for the field of that name."""
        return cls(
            patch.fields.get(name, ABSENT),
            patch.orders.get(name, ABSENT),
            patch.deletions.get(name, ABSENT),
        )

    @property
    def is_empty(self) -> bool:
        """Whether the patch does not mention the field."""
        return self.value is ABSENT and self.order is ABSENT and self.deleted is ABSENT

    @property
    def is_list(self) -> bool:
        """Whether the field is a list, by its value or by a directive for lists."""
        if self.value is ABSENT:
            return not self.is_empty
        return isinstance(self.value, list)

    def to_fields(self, name: str) -> JSONObject:
        """Return the members of a patch object that this part consists of."""
        fields: JSONObject = {}
        if self.order is not ABSENT:
            fields[order_of(name)] = self.order
        if self.deleted is not ABSENT:
            fields[deletions_from(name)] = self.deleted
        if self.value is not ABSENT:
            fields[name] = self.value
        return fields
