"""Server-side apply on field sets: merge, prune, and who owns what afterwards.

Go: merge.Updater.Apply, and managedFieldsUpdater around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smp._values.sharing import share_object
from smp._values.values import JSON, JSONObject, as_object, as_text, equal
from smp.managed_fields._conflicts import ApplyConflictError
from smp.managed_fields._elements import step_of
from smp.managed_fields._entries import ManagedFields, Owner, Write
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._items import removed
from smp.managed_fields._merge import merge
from smp.managed_fields._ownership import (
    NEVER_OWNED,
    Changes,
    conflicts,
    reconcile,
    take_over,
)
from smp.managed_fields._shapes import Shape, root_shape
from smp.managed_fields._versions import Serving, convert_to_form
from smp.paths import Path
from smp.schema.model import Schema
from smp.violations import Violation


class ConfigurationMerge:
    """A configuration of a write that is merged into an object, in two steps.

    In between, the merged object can be normalized. The entries are updated. Objects
    are without managedFields.
    """

    __slots__ = ("_dropped", "_managed", "_own", "_schema", "_write")

    def __init__(self, managed: ManagedFields, write: Write, schema: Schema) -> None:
        self._managed = managed
        self._write = write
        self._schema = schema
        # Go: the times of a server have those of entries that it drops.
        self._dropped = managed.owners.get(write.identity)
        self._own = EMPTY

    def merge(self, live: JSONObject, applied: JSONObject) -> JSONObject:
        """Return the live object with the configuration.

        What the manager has applied before, and nobody owns now, is not in it. Raises
        what ``fieldset_of`` raises.
        """
        write, schema = self._write, self._schema
        reconcile(self._managed, live, schema, write.serving)
        former = self._managed.owners.get(write.identity)
        new = merge(live, applied, schema)
        own = fieldset_of(applied, schema).recursive_difference(write.reset)
        self._own = own
        if former is None:
            return new
        owned = _find_owned_by_version(self._managed, write, own)
        return prune(new, schema, former, owned, write.serving)

    def take_over(
        self, live: JSONObject, new: JSONObject, *, force: bool
    ) -> JSONObject:
        """Give the manager what it applies, and return the new object.

        It is the live one where they are equal. Raises ApplyConflictError.
        """
        managed, write = self._managed, self._write
        changes = Changes(live, new, self._schema, write)
        if not force:
            found = conflicts(managed, write.identity, changes)
            if found:
                raise ApplyConflictError.of(found)
        take_over(managed, write.identity, changes)
        # Go: an apply that changes nothing leaves the object and the time as they are.
        # 1 and 1.0 are nothing that changes.
        time = write.time
        if equal(live, new):
            new = live
            time = "" if self._dropped is None else self._dropped.time
        owned = self._own.difference(NEVER_OWNED)
        managed.owners[write.identity] = write.owner(owned, time)
        return new


def _find_owned_by_version(
    managed: ManagedFields, write: Write, own: FieldSet
) -> dict[str, FieldSet]:
    """Return what managers own after a write that owns a set, by apiVersion."""
    owned = {write.api_version: own}
    for identity, owner in managed.owners.items():
        if identity != write.identity:
            before = owned.get(owner.api_version, EMPTY)
            owned[owner.api_version] = before.union(owner.fields)
    return owned


def prune(
    merged: JSONObject,
    schema: Schema,
    former: Owner,
    owned: Mapping[str, FieldSet],
    serving: Serving,
) -> JSONObject:
    """Return the merged object without what its manager no longer applies.

    Go: merge.Updater.prune, step by step, with the conversions between its steps. All
    that the manager applied before is taken out. Then what somebody owns is put back,
    in the version of each owner, with all that is in it; last what was not applied
    itself, but only lay in something that was.

    ``former`` is the entry of the manager before, ``owned`` has by apiVersion what all
    managers own now. The object is in the version of the schema, before and after.
    """
    if not former.fields.difference(owned.get(former.api_version, EMPTY)):
        return merged
    former_schema = serving.schema_of(former.api_version, schema) or schema
    keeps_emptied = serving.keeps_emptied
    whole = convert_to_form(merged, former_schema)
    applied = _add_named_fields(former.fields, former_schema)
    left = removed(whole, former_schema, applied, keeps_emptied=keeps_emptied)
    # Go: addBackOwnedItems. The version that was applied comes first.
    before = whole
    for version in sorted(owned, key=lambda each: (each != former.api_version, each)):
        its_schema = serving.schema_of(version, schema)
        if its_schema is None:
            continue
        before = convert_to_form(before, its_schema)
        kept = _fields_of(convert_to_form(left, its_schema), its_schema)
        kept = kept.union(_add_named_fields(owned[version], its_schema))
        gone = _fields_of(before, its_schema).difference(kept)
        left = removed(before, its_schema, gone, keeps_emptied=keeps_emptied)
    # Go: addBackDanglingItems.
    left = convert_to_form(left, former_schema)
    gone = _fields_of(whole, former_schema).difference(_fields_of(left, former_schema))
    gone = gone.intersection(applied)
    left = removed(whole, former_schema, gone, keeps_emptied=keeps_emptied)
    return share_object(convert_to_form(left, schema), merged)


def _fields_of(obj: JSONObject, schema: Schema) -> FieldSet:
    return _add_named_fields(fieldset_of(obj, schema), schema)


def _add_named_fields(fields: FieldSet, schema: Schema) -> FieldSet:
    """Return a set that also has the declared fields in which it has something.

    Go: fieldpath.Set.EnsureNamedFieldsAreMembers.
    """
    return _name_below(fields, root_shape(schema, {}))


def _name_below(fields: FieldSet, shape: Shape | None) -> FieldSet:
    if shape is None or not fields.children:
        return fields
    named: set[str] = set()
    children: dict[str, FieldSet] = {}
    for element, below in fields.children.items():
        step = step_of(element)
        if isinstance(step, str) and shape.declares(step):
            named.add(element)
        children[element] = _name_below(below, shape.of_path_element(element))
    return FieldSet(fields.members | named, children) or EMPTY


def find_null_violations(
    merged: JSON, structural: JSONObject, path: Path
) -> Iterator[Violation]:
    """Yield what a server refuses of the nulls in a merged custom resource.

    The merge makes null what an apply empties, whoever has it empty (Go:
    typed.RemoveItems), and takes a null of the configuration. Other requests are
    decoded afterwards, which drops nulls; what an apply has merged is not, so that the
    validation of the definition refuses each where it is not nullable. ``structural``
    is the schema of the definition at its place.
    """
    if isinstance(merged, dict):
        properties = as_object(structural.get("properties"))
        others = structural.get("additionalProperties")
        for name, value in merged.items():
            below = as_object(properties.get(name, others))
            yield from find_null_violations(value, below, path / name)
    elif isinstance(merged, list):
        items = as_object(structural.get("items"))
        for index, element in enumerate(merged):
            yield from find_null_violations(element, items, path / index)
    elif merged is None and "type" in structural:
        # A null is what has no type, and a default takes the place of one.
        if structural.get("nullable") is True or "default" in structural:
            return
        # Go: kube-openapi, validation/errors.InvalidType.
        message = (
            f'Invalid value: "null": {path.by_index} in body must be of type'
            f' {as_text(structural["type"])}: "null"'
        )
        yield Violation("wrong-type", path, "FieldValueTypeInvalid", message)
