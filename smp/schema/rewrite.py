"""One walk over the schemas of an OpenAPI document that rewrites them and mutates
nothing.

A schema is rewritten after the schemas inside it. What a change leaves alone is shared
with the document, so a change returns the very node that it was given unless it has
something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Final, TypeAlias

from smp.errors import SchemaError, SmpError
from smp.values import JSON, JSONArray, JSONObject, type_name

Change: TypeAlias = Callable[[JSONObject], JSONObject]
Part: TypeAlias = Callable[[JSON, Change], JSON]


def rewrite_named(document: JSONObject, change: Change) -> JSONObject:
    """Rewrite the schemas that a document names: in ``definitions``,
    ``components.schemas`` and ``$defs``.

    Raises SchemaError, with the path, for what is not a schema.
    """
    return _parts(
        document,
        {"definitions": _named, "components": _components, "$defs": _named},
        change,
    )


def rewrite(node: JSON, change: Change) -> JSON:
    """Rewrite one schema and those inside it. Raises SchemaError, with the path, for
    what is not a schema.
    """
    if isinstance(node, bool):
        return node
    return change(_parts(_object(node), _PARTS, change))


def _components(value: JSON, change: Change) -> JSON:
    return _parts(_object(value), {"schemas": _named}, change)


def _parts(node: JSONObject, parts: Mapping[str, Part], change: Change) -> JSONObject:
    rewritten = {
        word: _step(word, parts[word], value, change)
        for word, value in node.items()
        if word in parts
    }
    return _shared(node, rewritten)


def _named(value: JSON, change: Change) -> JSON:
    members = _object(value)
    return _shared(
        members,
        {name: _step(name, rewrite, node, change) for name, node in members.items()},
    )


def _listed(value: JSON, change: Change) -> JSON:
    if not isinstance(value, list):
        raise SchemaError(f"a list of schemas is expected, not {type_name(value)}")
    rewritten: JSONArray = [
        _step(index, rewrite, node, change) for index, node in enumerate(value)
    ]
    return value if all(map(is_, rewritten, value)) else rewritten


def _one_or_listed(value: JSON, change: Change) -> JSON:
    return _listed(value, change) if isinstance(value, list) else rewrite(value, change)


def _dependencies(value: JSON, change: Change) -> JSON:
    """Rewrite those that are schemas; the others are lists of names."""
    schemas: JSONObject = {
        name: node for name, node in _object(value).items() if isinstance(node, dict)
    }
    return _shared(_object(value), _object(_named(schemas, change)))


_PARTS: Final[dict[str, Part]] = {
    "properties": _named,
    "patternProperties": _named,
    "definitions": _named,
    "$defs": _named,
    "dependencies": _dependencies,
    "allOf": _listed,
    "anyOf": _listed,
    "oneOf": _listed,
    "not": rewrite,
    "items": _one_or_listed,
    "additionalItems": rewrite,
    "additionalProperties": rewrite,
}


def _step(step: str | int, rewrite_part: Part, node: JSON, change: Change) -> JSON:
    try:
        return rewrite_part(node, change)
    except SmpError as error:
        raise error.within(step) from None


def _shared(node: JSONObject, changed: JSONObject) -> JSONObject:
    return (
        node
        if all(node[name] is member for name, member in changed.items())
        else {**node, **changed}
    )


def _object(value: JSON) -> JSONObject:
    if not isinstance(value, dict):
        raise SchemaError(f"a schema is an object, not {type_name(value)}")
    return value
