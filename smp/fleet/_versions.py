"""Versions of one kind: whether a catalog says that they have the same form."""

from __future__ import annotations

from smp._values.values import JSON, same
from smp.schema.catalog import Catalog
from smp.schema.model import Schema


def are_alike(schema: Schema, other: Schema, catalog: Catalog) -> bool:
    """Tell whether objects of two versions of a kind have the same fields.

    A server converts between versions; where both have the same fields it changes
    nothing but the apiVersion.
    """
    # A kind without a schema may have any form.
    if not schema.kind or not other.kind:
        return False
    # Of custom resources, the definition says it.
    if schema.structural is not None or other.structural is not None:
        return schema.structural == other.structural
    seen: set[tuple[JSON, JSON]] = set()

    def are_same(left: JSON, right: JSON) -> bool:
        if same(left, right):
            return True
        if isinstance(left, str) and isinstance(right, str):
            # Only references to named types can differ and mean the same.
            if not left.startswith("#") or not right.startswith("#"):
                return False
            if (left, right) in seen:
                return True
            # A type may contain itself: JSONSchemaProps does.
            seen.add((left, right))
            return are_same(catalog.load(left[1:]), catalog.load(right[1:]))
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(
                are_same(value, right[name]) for name, value in left.items()
            )
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(map(are_same, left, right))
        return False

    return are_same(schema.document, other.document)
