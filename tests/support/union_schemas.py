"""Small schemas with unions, and objects of them."""

from __future__ import annotations

from typing import Final

from smp import normalize_unions
from smp._values.values import JSON, JSONObject
from smp.schema.model import Schema
from smp.schema.union_groups import UnionGroup, read_unions

MAP: Final[JSONObject] = {"a": "A", "b": "B"}
STRING: Final[JSONObject] = {"type": "string"}
FIELDS: Final[dict[str, JSON]] = dict.fromkeys(("a", "b", "c", "d", "e"), "string")
"""The fields of the type that has a union."""

# The same union as the KEP of 2019 publishes it, without a discriminator, and as
# structured-merge-diff does.
D2019: Final[JSONObject] = {"discriminator": "d", "fields-to-discriminateBy": MAP}
PLAIN: Final[JSONObject] = {"fields-to-discriminateBy": MAP}
AS_SMD: Final[JSONObject] = {
    "discriminator": "d",
    "deduceInvalidDiscriminator": True,
    "fields": [
        {"fieldName": "a", "discriminatorValue": "A"},
        {"fieldName": "b", "discriminatorValue": "B"},
    ],
}

A: Final[JSONObject] = {"d": "A", "a": "1"}
SWITCHED: Final[JSONObject] = {"d": "B", "a": "1", "b": "1"}
"""What becomes of A when a client selects b and does not clear a."""


def struct(
    union: JSONObject | list[JSON] = D2019, *names: str, enum: tuple[str, ...] = ()
) -> JSONObject:
    """Describe an object with the members a and b, the discriminator d, and others."""
    fields: JSONObject = dict.fromkeys(("a", "b", *names), "string")
    discriminator: JSON = "string"
    if enum:
        discriminator = {"type": "string", "enum": [*enum]}
    return {
        "fields": {"d": discriminator, **fields},
        "unions": union if isinstance(union, list) else [union],
    }


def schema_with(**fields: JSON) -> Schema:
    """Return the schema of an object with these fields."""
    return Schema.inline({"fields": fields})


def read(union: JSONObject, **enums: list[JSON]) -> UnionGroup:
    """Read one union of the fields a to e, some of which have an enum."""
    fields = {**FIELDS}
    for name, enum in enums.items():
        fields[name] = {"type": "string", "enum": enum}
    (group,) = read_unions([union], fields)
    return group


ELEMENT: Final = struct(D2019, "name", "port")
LISTS: Final[dict[str, JSON]] = {
    "merge": {"is": {"items": ELEMENT}, "strategy": "merge", "key": "name"},
    "map": {"items": ELEMENT, "list_type": "map", "map_keys": ["name", "port"]},
    "atomic": {"items": ELEMENT},
    "both": {
        "is": {"items": ELEMENT, "list_type": "map", "map_keys": ["port"]},
        "strategy": "merge",
        "key": "name",
    },
}
IN_LISTS: Final = schema_with(**LISTS)
"""Lists of each kind, whose elements have a union."""
CLOSED: Final = schema_with(u=struct(D2019, enum=("", "A", "B")))
"""A field u with a union whose discriminator has an enum."""


def named(name: str, element: JSONObject, **more: JSON) -> JSONObject:
    """Return an element with a name."""
    return {"name": name, **more, **element}


def cleared(
    old: JSONObject | None, new: JSONObject, schema: Schema, profile: str = "kep1027"
) -> list[str]:
    """Return the paths of what a normalization changes."""
    result = normalize_unions(old, new, schema, profile=profile)
    return [str(change.path) for change in result.changes]
