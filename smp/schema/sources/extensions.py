"""The ``x-kubernetes-*`` keys of one schema node, checked and named as the schema model
names them.

One table for every source that speaks OpenAPI. Where a facet belongs (a field, a list,
an object) is said by the tuples below it; what a facet means is the engines' business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.model import Strategy
from smp.values import JSON, JSONObject, type_name

Check: TypeAlias = Callable[[JSON], JSON]


def facets(node: JSONObject) -> JSONObject:
    """Return the facets of one schema node.

    Raises SchemaError, with the key as its path, for a value that the extension does
    not allow.
    """
    found: JSONObject = {}
    for key in node.keys() & EXTENSIONS.keys():
        name, check = EXTENSIONS[key]
        try:
            found[name] = check(node[key])
        except SchemaError as error:
            raise error.within(key) from None
    if found.get("list_type") == "map" and not found.get("map_keys"):
        raise SchemaError(
            "a list of type map needs the fields that identify an element",
            path=Path(("x-kubernetes-list-type",)),
            hint="add x-kubernetes-list-map-keys",
        )
    return found


def _text(value: JSON) -> JSON:
    if not isinstance(value, str) or not value:
        raise SchemaError(
            "a name is expected, not "
            + ("the empty string" if value == "" else type_name(value))
        )
    return value


def _texts(value: JSON) -> JSON:
    if not isinstance(value, list):
        raise SchemaError(f"a list of names is expected, not {type_name(value)}")
    return [_text(element) for element in value]


def _flag(value: JSON) -> JSON:
    if not isinstance(value, bool):
        raise SchemaError(f"true or false is expected, not {type_name(value)}")
    return value


def _values(value: JSON) -> JSON:
    if not isinstance(value, list):
        raise SchemaError(f"a list of values is expected, not {type_name(value)}")
    return value


def _strategy(value: JSON) -> JSON:
    return str(Strategy.parse(str(_text(value))))


def _unions(value: JSON) -> JSON:
    """Keep unions as published: a list on an object, or one object on a discriminator
    (KEP-1027).
    """
    if not all(
        isinstance(union, dict)
        for union in (value if isinstance(value, list) else [value])
    ):
        raise SchemaError(
            "unions are a list of objects, or one object on the discriminator"
        )
    return value


def _one_of(*words: str) -> Check:
    def check(value: JSON) -> JSON:
        if value not in words:
            shown = repr(value) if isinstance(value, str) else type_name(value)
            raise SchemaError(
                f"{shown:.40} is not allowed here", hint="one of " + ", ".join(words)
            )
        return value

    return check


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
    "enum": ("enum", _values),
}
OF_FIELD: Final = ("strategy", "key")
OF_LIST: Final = ("list_type", "map_keys")
OF_OBJECT: Final = ("map_type", "embedded", "unions")


def pick(found: JSONObject, names: tuple[str, ...]) -> JSONObject:
    """Return those of the facets that say something."""
    return {name: found[name] for name in names if found.get(name)}
