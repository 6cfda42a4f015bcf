"""The fast comparison: whether live has all that the manifest asks for.

Most pairs of a fleet differ only in what a server adds: status, metadata, defaults. So
before a patch is computed, one walk looks at what the manifest has, along its type, and
at nothing else. What it cannot tell for sure it calls not covered, and the engine
decides: a list in another order, a repeated patch merge key, a null, a quantity in
another spelling.
"""

from __future__ import annotations

from smp._values.values import JSON, JSONArray, JSONObject, same
from smp.schema.model import Field, ListType, ObjectType, Type


def covers(live: JSONObject, desired: JSONObject, type_: Type) -> bool:
    """Tell whether an apply of the manifest would leave the live object as it is.

    Members that only live has are not looked at. Raises RecursionError.
    """
    for name, value in desired.items():
        # Go: strategicpatch.diffMaps: null in a manifest deletes what live has.
        if name not in live or value is None:
            return False
        other = live[name]
        if type(value) is not type(other):
            return False
        # Scalars first: most values are strings.
        if not isinstance(value, (dict, list)):
            if value != other:
                return False
            continue
        if same(value, other):
            continue
        # An unknown field is merged by RFC 7396, which this does not follow.
        field = type_.field(name)
        if field is None or not covers_value(other, value, field):
            return False
    return True


def covers_value(live: JSON, desired: JSON, field: Field) -> bool:
    """Compare two objects, or two lists, that are not the same."""
    # Go: strategicpatch.handleMapDiff, handleSliceDiff: a field with the strategy
    # replace is one value.
    if field.replaces:
        return False
    if isinstance(desired, dict) and isinstance(live, dict):
        # An atomic map of a custom resource is one value.
        map_type = field.map_type
        if not map_type and isinstance(field.type, ObjectType):
            map_type = field.type.map_type
        return map_type != "atomic" and covers(live, desired, field.type)
    if not isinstance(desired, list) or not isinstance(live, list):
        return False
    keys = keys_of(field)
    return bool(keys) and covers_elements(live, desired, keys, field.type.items)


def keys_of(field: Field) -> tuple[str, ...]:
    """Return the keys by which the elements of a list are merged; none for others."""
    if field.merge_key:
        return (field.merge_key,) if field.merges else ()
    # Custom resources are merged by the list types of their definition.
    type_ = field.type
    if isinstance(type_, ListType) and type_.list_type == "map":
        return type_.map_keys
    return ()


def covers_elements(
    live: JSONArray, desired: JSONArray, keys: tuple[str, ...], type_: Type
) -> bool:
    """Compare the elements of two lists that are in the same places."""
    # Another order, or an element of others, takes the engine to judge.
    if len(live) != len(desired):
        return False
    seen = set()
    for element, other in zip(desired, live, strict=True):
        if not isinstance(element, dict) or not isinstance(other, dict):
            return False
        identity = tuple([element.get(key) for key in keys])
        # Without a key no patch can be computed, which is an error to report.
        for part in identity:
            if not isinstance(part, (str, int)):
                return False
        seen.add(identity)
        if not covers(other, element, type_):
            return False
    # A patch for one of several elements of a key changes another one.
    return len(seen) == len(desired)


def keeps(value: JSON, former: JSON, *, in_order: bool) -> bool:
    """Tell whether a value has all members that a former one has, whatever they are.

    ``in_order`` says that the elements of lists are still in their places; otherwise a
    list that is not equal does not count as kept. Raises RecursionError.
    """
    if isinstance(former, dict):
        if not isinstance(value, dict):
            return False
        for name, member in former.items():
            if name not in value:
                return False
            if not keeps(value[name], member, in_order=in_order):
                return False
    elif isinstance(former, list):
        if not isinstance(value, list):
            return False
        # 1, 1.0 and true need not be told apart: only the members matter.
        if former == value:
            return True
        if not in_order or len(former) != len(value):
            return False
        for element, other in zip(value, former, strict=True):
            if not keeps(element, other, in_order=True):
                return False
    return True
