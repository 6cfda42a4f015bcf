"""Random documents in the words of OpenAPI, CRDs and overlays, for the readers of
schemas.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from smp._values.values import JSON

# Words that schemas are made of, so that a random document passes the first checks of a
# reader and reaches the code behind them.
# fmt: off
_WORDS: Final = [
    "definitions", "$defs", "components", "schemas", "properties", "items",
    "additionalProperties", "type", "$ref", "allOf", "oneOf", "anyOf", "enum", "format",
    "object", "array", "string", "null", "int-or-string", "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key", "x-kubernetes-list-type", "map", "merge",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-unions",
    "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource", "x-kubernetes-group-version-kind", "group",
    "version", "kind", "#/definitions/a", "#/$defs/a", "a", "spec", "names", "versions",
    "name", "served", "schema", "openAPIV3Schema", "types", "kinds", "fields", "values",
    "is", "strategy", "key", "any",
]
# fmt: on

_names = st.sampled_from(["", *_WORDS])
_leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), _names, st.text(max_size=3)
)
schema_documents: st.SearchStrategy[JSON] = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_names | st.text(max_size=2), inner, max_size=4)
    ),
    max_leaves=25,
)


def nested(depth: int) -> JSON:
    """Return the OpenAPI schema of lists in lists, that many deep."""
    schema: JSON = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema
