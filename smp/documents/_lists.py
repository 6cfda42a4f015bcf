"""Lists of objects (List, PodList, ...), which stand for their items as they do for
kubectl.
"""

from __future__ import annotations

from smp.values import ABSENT, JSON, JSONObject


def unrolled(value: JSON) -> list[JSON]:
    """Return the items of a list of objects, nothing for null, and any other value as
    it is.
    """
    if value is None:
        return []
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return [value]
    items = value.get("items", ABSENT)
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        return [_named_as(value, item) for item in items]
    return [] if items is None else [value]


def _named_as(collection: JSONObject, item: JSON) -> JSON:
    """Give an item without a kind the one of its list: a Pod in a PodList."""
    if not isinstance(item, dict) or item.get("kind"):
        return item
    kind = str(collection["kind"]).removesuffix("List")
    return (
        {"apiVersion": collection.get("apiVersion", ""), "kind": kind, **item}
        if kind
        else item
    )
