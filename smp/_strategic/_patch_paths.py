"""Rules that return paths of a patch: unknown fields, and leaves that are missing."""

from __future__ import annotations

from smp._strategic._conflicts import EVERY_TYPE
from smp._strategic._directives import is_directive, list_deleted_from
from smp._values.values import ABSENT, JSON, JSONObject, as_object, same
from smp.paths import Path, Step
from smp.schema.model import AnyType, Field, Schema
from smp.schema.plan import Node, plan_of
from smp.schema.sides import identity_keys
from smp.schema.walk import Counterpart, Place, Rule, Walk


def unknown_paths(patch: JSONObject, schema: Schema) -> list[Path]:
    """Return where a patch has an object or a list in a field without a schema."""
    rule = UnknownFieldRule()
    Walk(plan_of(schema.types, EVERY_TYPE), [rule]).run(ABSENT, patch, schema.type)
    return rule.paths


def leaf_paths(
    patch: JSONObject,
    obj: JSONObject,
    schema: Schema,
    modified: JSONObject | None = None,
) -> list[Path]:
    """Return the paths of what a patch would change in an object.

    These are its scalars, its whole lists, and what it would delete. The merge key of
    an element that changes something else is left out. ``modified`` is what the patch
    makes of the object.
    """
    if not patch:
        return []
    rule = LeafRule(modified or {})
    # The whole patch: an element of a repeated key, which has no counterpart, may share
    # values with another one that the object has.
    plan = plan_of(schema.types, EVERY_TYPE)
    Walk(plan, [rule], whole=True).run(obj, patch, schema.type)
    return rule.paths


class UnknownFieldRule(Rule):
    """Finds objects and lists in fields that the schema does not know."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def enter(self, place: Place, facts: object | None) -> bool:  # noqa: ARG002
        """Go into everything but directives and free-form values."""
        return not isinstance(place.node.type, AnyType) and not is_directive(place.name)

    def unknown(self, place: Place, name: str, value: JSON) -> bool:
        """Record a member that the schema does not know."""
        if isinstance(value, dict | list) and not is_directive(name):
            self.paths.append(place.path / name)
        return True

    def mismatch(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        """Record what is inside a value of another type than the schema's."""
        directive = isinstance(step, str) and is_directive(step)
        if node.type.others is None and not directive:
            self._record_members(value, place.path / step)

    def _record_members(self, value: JSON, path: Path) -> None:
        if isinstance(value, list):
            for index, element in enumerate(value):
                self._record_members(element, path / index)
        elif isinstance(value, dict):
            for name, member in value.items():
                if isinstance(member, dict | list) and not is_directive(name):
                    self.paths.append(path / name)


class LeafRule(Rule):
    """Finds the leaves of a patch, beside the object that it would change."""

    def __init__(self, modified: JSONObject) -> None:
        self.paths: list[Path] = []
        self._modified = Counterpart(modified)
        # How many leaves there were when each place was entered.
        self._counts: list[int] = []

    def enter(self, place: Place, facts: object | None) -> bool:  # noqa: ARG002
        """Go into what merges; what is replaced as a whole is a leaf."""
        parent = place.parent
        if parent is not None and is_directive(place.name):
            self._directive(parent, place.name)
            return False
        field: Field | None = None
        if parent is not None and place.index < 0:
            field = parent.node.type.field(place.name)
        if field is not None and not _merges(place, field):
            self.paths.append(place.path)
            return False
        self._counts.append(len(self.paths))
        self._identity(place)
        return True

    def _identity(self, place: Place) -> None:
        """Record in which key an element differs from the one of its merge key.

        The patch adds it where the object has one with another map key, such as a port
        of another protocol, and may leave that key to its default.
        """
        parent, old = place.parent, place.old
        if parent is None or place.index < 0 or not isinstance(old, dict):
            return
        modified = self._modified.at(place)
        if not isinstance(modified, dict):
            return
        keys = identity_keys(parent.node.type, "")
        for name, default in zip(keys.names, keys.defaults):
            before, after = old.get(name, default), modified.get(name, default)
            if name not in as_object(place.new) and not same(before, after):
                self.paths.append(place.path / name)

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:  # noqa: ARG002
        """Take an object without leaves, such as an empty one, for a leaf."""
        count = self._counts.pop()
        if count == len(self.paths) and place.parent is not None:
            self.paths.append(place.path)
        return value

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:  # noqa: ARG002
        """Record a scalar that is another one than in the object."""
        if not same(value, place.old_at(step)):
            self._record(place, step)

    def _record(self, place: Place, step: Step) -> None:
        """Record a leaf, unless it is what identifies its element."""
        parent = place.parent
        is_key = parent is not None and place.index >= 0 and step in parent.node.keys
        if not is_key and not (isinstance(step, str) and is_directive(step)):
            self.paths.append(place.path / step)

    def mismatch(
        self,
        place: Place,
        step: Step,
        value: JSON,
        node: Node,  # noqa: ARG002
    ) -> None:
        """Record a value of another type than the schema's, or a free-form scalar."""
        if value is not None:
            self._record(place, step)

    def unknown(self, place: Place, name: str, value: JSON) -> bool:
        """Record a member that the schema does not know."""
        if is_directive(name):
            self._directive(place, name)
        elif value is not None:
            self._record(place, name)
        else:
            self._deletion(place, name)
        return True

    def null(self, place: Place, name: str, node: Node) -> bool:  # noqa: ARG002
        """Record a deletion of what the object has."""
        self._deletion(place, name)
        return True

    def _deletion(self, place: Place, name: str) -> None:
        # In a value that the object lacks there is nothing to delete.
        if name in as_object(place.old):
            self.paths.append(place.path / name)

    def _directive(self, place: Place, name: str) -> None:
        """Record a list of scalars from which values would be deleted."""
        if list_deleted_from(name):
            self.paths.append(place.path / list_deleted_from(name))


def _merges(place: Place, field: Field) -> bool:
    """Tell whether a patch merges into a field, so that its leaves are further down."""
    if isinstance(place.new, dict):
        return not field.replaces
    return field.merges and bool(field.merge_key)
