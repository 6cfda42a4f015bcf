"""The rules that make a deviation invisible in a document.

A rule sees a member of an object, its name and its field, and returns the value to put
there, or ABSENT to drop the member. ``rewritten`` puts a whole document through it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object, printed
from smp.schema.model import OPAQUE, Field, ObjectType, ScalarType, Type

Rule: TypeAlias = "Callable[[str, JSON, Field | None], JSON | Absent]"

_SALT: Final = itertools.count(10**6)


def rewritten(value: JSONObject, type_: Type, rule: Rule) -> JSONObject:
    """Put every member of every object through a rule, outermost first.

    The field of a directive such as ``$setElementOrder/ports`` is the one it names.
    """
    result: JSONObject = {}
    for name, member in value.items():
        target = name.partition("/")[2] if name.startswith("$") else name
        field = type_.field(target)
        kept = rule(name, member, field)
        if kept is not ABSENT:
            member_type = OPAQUE if field is None else field.type
            result[name] = _rewritten_inside(kept, member_type, rule)
    return result


def _rewritten_inside(value: JSON, type_: Type, rule: Rule) -> JSON:
    if isinstance(value, dict):
        return rewritten(value, type_, rule)
    if isinstance(value, list):
        return [_rewritten_inside(element, type_.items, rule) for element in value]
    return value


def unchanged(_name: str, value: JSON, _field: Field | None) -> JSON:
    """Change nothing: for deviations that only their ``prepare`` makes invisible."""
    return value


# Deviations 3 and 4: scalars, at any path.


def separate_printed_forms(_name: str, value: JSON, _field: Field | None) -> JSON:
    """Print values of different types differently: "80" becomes "text 80"."""
    return _map_scalars(value, _with_own_printed_form)


def limit_integers(_name: str, value: JSON, _field: Field | None) -> JSON:
    """Replace integers beyond 64 bits by smaller ones."""
    return _map_scalars(value, _within_64_bits)


def _map_scalars(value: JSON, change: Callable[[JSON], JSON]) -> JSON:
    if isinstance(value, dict):
        return {name: _map_scalars(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_map_scalars(element, change) for element in value]
    return change(value)


def _with_own_printed_form(value: JSON) -> JSON:
    if isinstance(value, float) and value.is_integer():
        return value + 0.25
    if not isinstance(value, str):
        return value
    looks_like_another = value[:1].isdigit() or value in ("true", "false")
    return f"text {value}" if looks_like_another else value


def _within_64_bits(value: JSON) -> JSON:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    fits = -(2**63) <= value < 2**63
    return value if fits else 10**15 + value % 10**9


# Deviation 5: objects whose strategy is replace.


def make_replaced_objects_differ(
    _name: str, value: JSON, field: Field | None
) -> JSON | Absent:
    """Give each object with the strategy replace a member that no other one has."""
    if isinstance(value, dict) and field is not None and field.replaces:
        return {**value, "salt": next(_SALT)}
    return value


# Deviations 7, 9 and 10: lists of scalars.


def sort_scalar_merge_lists(_name: str, value: JSON, field: Field | None) -> JSON:
    """Sort the merge lists of scalars."""
    if _is_scalar_merge_list(value, field):
        return _sorted_if_scalars(value)
    return value


def sort_atomic_lists(_name: str, value: JSON, field: Field | None) -> JSON:
    """Sort the atomic lists of scalars."""
    if field is not None and not field.merges:
        return _sorted_if_scalars(value)
    return value


def drop_scalar_merge_lists(
    _name: str, value: JSON, field: Field | None
) -> JSON | Absent:
    """Drop the merge lists of scalars."""
    return ABSENT if _is_scalar_merge_list(value, field) else value


def drop_retained_keys(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    """Drop ``$retainKeys``: the reference ignores it where it looks for conflicts."""
    return ABSENT if name == "$retainKeys" else value


def drop_list_directives(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    """Drop ``$setElementOrder`` and ``$deleteFromPrimitiveList``."""
    if name.startswith(("$setElementOrder", "$deleteFromPrimitiveList")):
        return ABSENT
    return value


def _is_scalar_merge_list(value: JSON, field: Field | None) -> bool:
    if not isinstance(value, list) or field is None:
        return False
    return field.merges and not field.merge_key


def _sorted_if_scalars(value: JSON) -> JSON:
    if not isinstance(value, list):
        return value
    if any(isinstance(element, dict | list) for element in value):
        return value
    return sorted(value, key=printed)


# Deviations 11 and 20: elements that share a key.


def keep_one_element_of_each_key(_name: str, value: JSON, field: Field | None) -> JSON:
    """Keep the first element of each merge key, and each scalar once."""
    if not isinstance(value, list) or field is None or not field.merges:
        return value
    first: dict[str, JSON] = {}
    for element in value:
        key = _key_of(element, field)
        text = repr(element) if isinstance(key, dict | list) else printed(key)
        first.setdefault(text, element)
    return [*first.values()]


def keep_one_of_each_scalar(name: str, value: JSON, field: Field | None) -> JSON:
    """Keep each value of a merge list of scalars once."""
    if _is_scalar_merge_list(value, field):
        return keep_one_element_of_each_key(name, value, field)
    return value


def _key_of(element: JSON, field: Field) -> JSON:
    return element.get(field.merge_key) if isinstance(element, dict) else element


# Deviation 12: maps whose values are objects or lists.


def drop_maps_of_structures(
    _name: str, value: JSON, field: Field | None
) -> JSON | Absent:
    """Drop maps of objects or lists, and such values from maps of scalars."""
    if field is None or not isinstance(field.type, ObjectType):
        return value
    others = field.type.others
    if others is None:
        return value
    if not isinstance(others.type, ScalarType):
        return ABSENT
    if not isinstance(value, dict):
        return value
    return {
        name: member
        for name, member in value.items()
        if not isinstance(member, dict | list)
    }


# Deviation 18: where the reference panics, or answers two empty lists with an error.


def drop_elements_with_structured_keys(
    _name: str, value: JSON, field: Field | None
) -> JSON:
    """Drop the elements whose merge key is an object or a list."""
    if not isinstance(value, list) or field is None or not field.merges:
        return value
    return [e for e in value if not isinstance(_key_of(e, field), dict | list)]


def drop_repetitions_in_atomic_lists(
    _name: str, value: JSON, field: Field | None
) -> JSON:
    """Keep each element of an atomic list once; objects are kept all."""
    if not isinstance(value, list) or field is None or field.merges:
        return value
    kept = []
    for index, element in enumerate(value):
        # ``in`` compares loosely: True, 1 and 1.0 are repetitions of each other.
        if isinstance(element, dict) or element not in value[:index]:
            kept.append(element)
    return kept


def drop_empty_lists(_name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    """Drop empty lists."""
    return ABSENT if value == [] else value


# Deviations 13 and 19: directives that say nothing.


def drop_empty_orders(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    """Drop order directives without an element."""
    if name.startswith("$setElementOrder") and value == []:
        return ABSENT
    return value


def drop_null_markers(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    """Drop ``$patch: null``."""
    return ABSENT if name == "$patch" and value is None else value


# Deviation 22: keys outside $retainKeys.

_DIRECTIVES: Final = (
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$deleteFromPrimitiveList",
)


def list_all_keys(_name: str, value: JSON, _field: Field | None) -> JSON:
    """Let each ``$retainKeys`` be a list with every key beside it."""
    if isinstance(value, list):
        return [list_keys_beside(element) for element in value]
    return list_keys_beside(value)


def list_keys_beside(value: JSON) -> JSON:
    """Let the ``$retainKeys`` of an object be a list with every key beside it."""
    if not isinstance(value, dict) or "$retainKeys" not in value:
        return value
    listed = value["$retainKeys"]
    names = [name for name in value if not name.startswith(_DIRECTIVES)]
    if not isinstance(listed, list) or any(isinstance(e, dict | list) for e in listed):
        listed = []
    return {**value, "$retainKeys": [*listed, *names]}


def with_all_keys_listed(patch: JSONObject) -> JSONObject:
    """Let the ``$retainKeys`` of a patch be a list with every key beside it."""
    return as_object(list_keys_beside(patch))


# Deviation 2: the outcomes of the reference that depend on the order of a Go map.


def without_ambiguous_deletions(patch: JSONObject) -> JSONObject:
    """Drop lists of values to delete that stand beside the list they delete from."""
    result: JSONObject = {}
    for name, value in patch.items():
        if not _deletes_from_a_list_of(patch, name):
            result[name] = _without_ambiguous_deletions_inside(value)
    return result


def _without_ambiguous_deletions_inside(value: JSON) -> JSON:
    if isinstance(value, dict):
        return without_ambiguous_deletions(value)
    if isinstance(value, list):
        return [_without_ambiguous_deletions_inside(element) for element in value]
    return value


def _deletes_from_a_list_of(patch: JSONObject, name: str) -> bool:
    prefix = "$deleteFromPrimitiveList/"
    return name.startswith(prefix) and name.removeprefix(prefix) in patch


def composable(patch: JSONObject, type_: Type) -> JSONObject:
    """Drop from a patch what the reference has no single outcome for.

    That is what is random (deviation 2), elements that share a key, and ``$patch``
    inside an element: by how much of the element exists already, the reference executes
    it, drops its object, or stores it.
    """
    definite = _without_inner_markers(patch, inside_element=False)
    return rewritten(definite, type_, keep_one_element_of_each_key)


def _without_inner_markers(patch: JSONObject, *, inside_element: bool) -> JSONObject:
    result: JSONObject = {}
    for name, value in patch.items():
        if inside_element and name == "$patch":
            continue
        if _deletes_from_a_list_of(patch, name):
            continue
        if isinstance(value, dict):
            result[name] = _without_inner_markers(value, inside_element=inside_element)
        elif isinstance(value, list):
            result[name] = [_definite_element(element) for element in value]
        else:
            result[name] = value
    return result


def _definite_element(element: JSON) -> JSON:
    if isinstance(element, list):
        return [_definite_element(inner) for inner in element]
    if not isinstance(element, dict):
        return element
    # The marker of the element itself stays: it deletes or replaces.
    kept = _without_inner_markers(element, inside_element=True)
    if "$patch" in element:
        kept["$patch"] = element["$patch"]
    return kept
