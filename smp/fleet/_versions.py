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
    return _Forms(catalog).are_same(schema.document, other.document)


class _Forms:
    """A comparison of type documents; types may refer to each other in a circle."""

    def __init__(self, catalog: Catalog) -> None:
        self._load = catalog.load
        self._seen: set[tuple[JSON, JSON]] = set()

    def are_same(self, left: JSON, right: JSON) -> bool:
        if same(left, right):
            return True
        if isinstance(left, str) and isinstance(right, str):
            # Only references to named types can differ and mean the same.
            if not left.startswith("#") or not right.startswith("#"):
                return False
            if (left, right) in self._seen:
                return True
            # A type may contain itself: JSONSchemaProps does.
            self._seen.add((left, right))
            return self.are_same(self._load(left[1:]), self._load(right[1:]))
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(
                self.are_same(value, right[name]) for name, value in left.items()
            )
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(
                self.are_same(*pair) for pair in zip(left, right, strict=True)
            )
        return False
