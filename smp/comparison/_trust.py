"""Whether a rule trusts a manager that owns a field, on either side."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from smp._values.values import ABSENT, JSONObject
from smp.comparison._rules import Rule
from smp.errors import SmpError
from smp.managed_fields import Owner, owned_path, owners
from smp.schema.model import Schema
from smp.schema.sides import Sides


class FieldTrust:
    """The owners of the fields of a desired and a live object."""

    def __init__(self, objects: tuple[JSONObject, JSONObject], schema: Schema) -> None:
        self._objects = objects
        self._schema = schema
        self._owners: dict[int, tuple[Owner, ...]] = {}
        # Live comes last, and is asked first.
        for side in reversed(range(len(objects))):
            # Managed fields that no server could read own nothing.
            with suppress(SmpError):
                self._owners[side] = owners(objects[side])

    def find(self, rules: Iterable[Rule], sides: Sides) -> tuple[Rule | None, str]:
        """Return the first rule that trusts an owner of the place, and its name."""
        for rule in rules:
            for side, own in self._owners.items():
                if sides.values[side] is ABSENT:
                    continue
                # An atomic list or map is owned as a whole, wherever it differs.
                path = sides.path_in(side)
                owned = owned_path(self._objects[side], self._schema, path)
                for owner in own:
                    if rule.trusts(owner.manager) and owner.fields.has(owned):
                        return rule, owner.manager
        return None, ""
