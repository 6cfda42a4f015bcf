"""The ``x-kubernetes-*`` keys of a schema node, checked and named as in the model.

One table serves every source that has OpenAPI schemas. ``OF_FIELD``, ``OF_LIST`` and
``OF_OBJECT`` say where a facet belongs; what a facet means is the engines' business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.values import JSON, JSONObject, type_name
from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.model import Strategy

Check: TypeAlias = Callable[[JSON], JSON]


def facets(node: JSONObject) -> JSONObject:
    """Return the facets of one schema node, by their names in the schema model.

    Raises SchemaError, with the key as its path, for a value that the extension does
    not allow.
    """
    checked: JSONObject = {}
    for key, (name, check) in EXTENSIONS.items():
        # Go decodes null as absent.
        value = node.get(key)
        if value is not None:
            try:
                checked[name] = check(value)
            except SchemaError as error:
                raise error.within(key) from None
    # Server-side apply identifies the elements of such a list by the map keys.
    if checked.get("list_type") == "map" and not checked.get("map_keys"):
        raise SchemaError(
            "a list of type map needs the fields that identify an element",
            path=Path(("x-kubernetes-list-type",)),
            hint="add x-kubernetes-list-map-keys",
        )
    return checked


def pick(facets: JSONObject, names: tuple[str, ...]) -> JSONObject:
    """Return the facets of these names, without those that are empty or false."""
    # Absent, empty and false mean the same here; leaving all out keeps documents small.
    return {name: facets[name] for name in names if facets.get(name)}


def _text(value: JSON) -> JSON:
    if not isinstance(value, str):
        raise SchemaError(f"a name is expected, not {type_name(value)}")
    if not value:
        raise SchemaError("a name is expected, not the empty string")
    return value


def _texts(value: JSON) -> JSON:
    if not isinstance(value, list):
        raise SchemaError(f"a list of names is expected, not {type_name(value)}")
    return [_text(element) for element in value]


def _strategy(value: JSON) -> JSON:
    # In one spelling: published strategies differ in the order of their parts.
    return str(Strategy.parse(str(_text(value))))


def _unions(value: JSON) -> JSON:
    """Keep unions as published; smp.schema.union_groups reads them.

    They are a list on an object, or one object on a discriminator (KEP-1027).
    """
    for union in value if isinstance(value, list) else [value]:
        if not isinstance(union, dict):
            raise SchemaError(
                "unions are a list of objects, or one object on the discriminator"
            )
    return value


def _instance_of(json_type: type[bool | list[JSON]], what: str) -> Check:
    def check(value: JSON) -> JSON:
        if not isinstance(value, json_type):
            raise SchemaError(f"{what} is expected, not {type_name(value)}")
        return value

    return check


def _one_of(*allowed: str) -> Check:
    def check(value: JSON) -> JSON:
        if not isinstance(value, str) or value not in allowed:
            shown = repr(value) if isinstance(value, str) else type_name(value)
            raise SchemaError(
                f"{shown:.40} is not allowed here", hint="one of " + ", ".join(allowed)
            )
        return value

    return check


_flag: Final = _instance_of(bool, "true or false")

# The key in a schema node, the name of the facet, and the check of the value.
EXTENSIONS: Final[dict[str, tuple[str, Check]]] = {
    "x-kubernetes-patch-strategy": ("strategy", _strategy),
    "x-kubernetes-patch-merge-key": ("key", _text),
    "x-kubernetes-list-type": ("list_type", _one_of("atomic", "set", "map")),
    "x-kubernetes-list-map-keys": ("map_keys", _texts),
    "x-kubernetes-map-type": ("map_type", _one_of("atomic", "granular")),
    "x-kubernetes-unions": ("unions", _unions),
    "x-kubernetes-embedded-resource": ("embedded", _flag),
    "x-kubernetes-preserve-unknown-fields": ("preserve", _flag),
    "x-kubernetes-int-or-string": ("int_or_string", _flag),
    "enum": ("enum", _instance_of(list, "a list of values")),
}
OF_FIELD: Final[tuple[str, ...]] = ("strategy", "key")
OF_LIST: Final[tuple[str, ...]] = ("list_type", "map_keys")
OF_OBJECT: Final[tuple[str, ...]] = ("map_type", "embedded", "unions")
