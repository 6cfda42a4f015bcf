"""The two conversions: a document is checked, converted, and its losses are listed."""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.values import JSON, JSONObject, type_name
from smp.errors import SchemaError, bounded
from smp.paths import Path
from smp.schema.conversion._direction import Direction
from smp.schema.conversion._to_v2 import ToV2
from smp.schema.conversion._to_v3 import ToV3
from smp.schema.rewrite import rewrite_named

# The keyword that states the version of a document, and where its schemas are.
_SCHEMA_SECTIONS: Final = {"swagger": "definitions", "openapi": "components"}


class Conversion(msgspec.Struct, frozen=True):
    """A converted document, and the parts that have no counterpart in it.

    ``lost`` has the paths of these parts in the original, sorted by JSON Pointer.
    """

    document: JSONObject
    lost: tuple[Path, ...]


@bounded("the OpenAPI document")
def to_v3(document: JSON) -> Conversion:
    """Convert an OpenAPI v2 document to v3.

    Raises SchemaError, with the path, for what is not such a document, and DepthError.
    """
    return _convert(ToV3(_check(document, "swagger", "2.")))


@bounded("the OpenAPI document")
def to_v2(document: JSON, *, keep_defaults: bool = True) -> Conversion:
    """Convert an OpenAPI v3 document to v2.

    ``keep_defaults=False`` drops the defaults of named schemas, as an API server does
    where it serves v2 (Go: handler.PruneDefaults); they do not count as lost. Raises
    SchemaError, with the path, for what is not such a document, and DepthError.
    """
    conversion = _convert(ToV2(_check(document, "openapi", "3.")))
    if keep_defaults:
        return conversion
    pruned = rewrite_named(conversion.document, _drop_default)
    return Conversion(pruned, conversion.lost)


def _convert(direction: Direction) -> Conversion:
    document = direction.document()
    lost = sorted(set(direction.lost), key=lambda path: path.pointer)
    return Conversion(document, tuple(lost))


def _check(document: JSON, keyword: str, version: str) -> JSONObject:
    """Check that a document is of a version of OpenAPI.

    A document that does not state its version is of the one whose section for schemas
    it has.
    """
    if not isinstance(document, dict):
        raise SchemaError(
            f"an OpenAPI document is an object, not {type_name(document)}"
        )
    stated = document.get(keyword)
    if isinstance(stated, str) and stated.startswith(version):
        return document
    states_no_version = document.keys().isdisjoint(_SCHEMA_SECTIONS)
    if states_no_version and _SCHEMA_SECTIONS[keyword] in document:
        return document
    raise SchemaError(
        f"the document is not OpenAPI {version}x",
        code="wrong-version",
        hint=f'such a document has "{keyword}": "{version}.."',
    )


def _drop_default(node: JSONObject) -> JSONObject:
    if "default" not in node:
        return node
    return {keyword: value for keyword, value in node.items() if keyword != "default"}
