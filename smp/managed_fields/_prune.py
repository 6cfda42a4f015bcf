"""What an apply removes: what its manager applied before, and now nobody owns.

Go: merge.Updater.prune, step by step, with the conversions between its steps. All that
the manager applied before is taken out. Then what somebody owns is put back, in the
version of each owner, with all that is in it; last what was not applied itself, but
only lay in something that was.
"""

from __future__ import annotations

from collections.abc import Mapping

from smp._values.sharing import share_object
from smp._values.values import JSONObject
from smp.managed_fields._elements import step_of
from smp.managed_fields._entries import Owner
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._items import removed
from smp.managed_fields._object_fields import fieldset_of
from smp.managed_fields._shapes import Shape, root_shape
from smp.managed_fields._versions import Serving, convert_to_form
from smp.schema.model import Schema


def prune(
    merged: JSONObject,
    schema: Schema,
    former: Owner,
    owned: Mapping[str, FieldSet],
    serving: Serving,
) -> JSONObject:
    """Return the merged object without what its manager no longer applies.

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
