"""The scalars that a schema allows: by its type and enum, and by those it combines.

controller-gen publishes an enum of the type and one of the field as two branches of
``allOf``; a value has to be in both. A value of ``oneOf`` or ``anyOf`` may have several
types, of which only some have an enum::

    {"oneOf": [{"type": "integer"}, {"type": "string", "enum": ["auto"]}]}

allows every integer, and one string. Other keywords (``pattern``, ``minimum``) are not
looked at, nor is a reference followed, so that a schema may allow less than is said
here. A value that two branches of ``oneOf`` list is refused where these have no other
keywords, of which one may refuse it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from smp._values.values import JSON, JSONArray, as_list, same, type_name
from smp.schema.model import TypeDocument

# The values of each JSON type that are allowed: None for all of them. A type that is
# left out has none.
Allowed: TypeAlias = dict[str, JSONArray | None]

# The keywords that decide here, and those that decide nothing.
_LOOKED_AT: Final = frozenset({"type", "enum", "description", "title"})
_JSON_TYPES: Final = ("string", "integer", "number", "boolean")
# The JSON types of the values of a type.
_OF_TYPE: Final = {
    "string": ("string",),
    "integer": ("integer",),
    # JSON Schema: every integer is a number.
    "number": ("integer", "number"),
    "boolean": ("boolean",),
    # The value of a Quantity may be a number.
    "int-or-string": ("string", "integer", "number"),
}


def scalar_document(node: JSON, name: str) -> TypeDocument:
    """Return the type document of a schema whose values are scalars of that type."""
    allowed = _list_allowed(node)
    listed: JSONArray = []
    any_of: list[JSON] = []
    for json_type in _OF_TYPE[name]:
        values = allowed.get(json_type, [])
        if values is None:
            any_of.append(json_type)
        else:
            listed += values
    if listed and any_of:
        return {"type": name, "enum": listed, "or_any": any_of}
    if listed:
        return {"type": name, "enum": listed}
    if not any_of:
        # No value is in every enum, so there is none but null, which stands for absent.
        return {"type": name, "enum": [None]}
    return name


def _list_allowed(node: JSON) -> Allowed:
    allowed: Allowed = dict.fromkeys(_JSON_TYPES)
    # JSON Schema: the schema true allows every value.
    if not isinstance(node, dict):
        return allowed
    stated = node.get("type")
    if stated is not None:
        allowed = {}
        for name in stated if isinstance(stated, list) else [stated]:
            for json_type in _OF_TYPE.get(str(name), ()):
                allowed[json_type] = None
    enum = as_list(node.get("enum"))
    if enum:
        listed: Allowed = {}
        for json_type in _JSON_TYPES:
            values = [value for value in enum if type_name(value) == json_type]
            if values:
                listed[json_type] = values
        allowed = _intersect(allowed, listed)
    for branch in as_list(node.get("allOf")):
        allowed = _intersect(allowed, _list_allowed(branch))
    for keyword in ("oneOf", "anyOf"):
        branches = as_list(node.get(keyword))
        if branches:
            in_one: Allowed = {}
            for branch in branches:
                in_one = _unite(in_one, _list_allowed(branch))
            # JSON Schema, oneOf: valid against exactly one of them.
            if keyword == "oneOf" and all(map(_is_exact, branches)):
                in_one = _keep_of_one([_list_allowed(branch) for branch in branches])
            allowed = _intersect(allowed, in_one)
    return allowed


def _is_exact(branch: JSON) -> bool:
    """Tell whether what is allowed by a schema is all that it says."""
    return isinstance(branch, dict) and branch.keys() <= _LOOKED_AT


def _keep_of_one(branches: list[Allowed]) -> Allowed:
    """Return what one branch allows and no other, as far as the values are listed."""
    found: Allowed = {}
    for json_type in _JSON_TYPES:
        lists = [branch[json_type] for branch in branches if json_type in branch]
        if None in lists:
            found[json_type] = None
            continue
        listed = [values for values in lists if values is not None]
        once: JSONArray = []
        for values in listed:
            once += [v for v in values if sum(_has(each, v) for each in listed) == 1]
        if once:
            found[json_type] = once
    return found


def _intersect(left: Allowed, right: Allowed) -> Allowed:
    both: Allowed = {}
    for json_type, values in left.items():
        others = right.get(json_type, [])
        if values is None:
            common = others
        elif others is None:
            common = values
        else:
            common = [value for value in values if _has(others, value)]
        if common is None or common:
            both[json_type] = common
    return both


def _unite(left: Allowed, right: Allowed) -> Allowed:
    either: Allowed = {**left}
    for json_type, others in right.items():
        values = left.get(json_type, [])
        if values is None or others is None:
            either[json_type] = None
        else:
            new = [value for value in others if not _has(values, value)]
            either[json_type] = [*values, *new]
    return either


def _has(values: JSONArray, value: JSON) -> bool:
    return any(same(value, listed) for listed in values)
