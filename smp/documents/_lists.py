"""Lists of objects (List, PodList, ...), which kubectl replaces by their items."""

from __future__ import annotations

from smp.values import ABSENT, JSON


def flattened(value: JSON) -> list[JSON]:
    """Return the items of a list of objects, and any other value as the only item.

    Null gives no item: kubectl skips documents without content.
    """
    if value is None:
        return []
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str):
        return [value]
    items = value.get("items", ABSENT)
    # ``items: null`` is a list of objects that is empty (Go: a nil slice).
    if items is None:
        return []
    # An object with items of another type is an object like any other.
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return [value]
    # API servers leave apiVersion and kind out of the items of typed lists: an item of
    # a PodList is a Pod (Go: unstructuredJSONScheme.decodeToList).
    kind_of_items = kind.removesuffix("List")
    api_version = value.get("apiVersion", "")
    result: list[JSON] = []
    for item in items:
        if kind_of_items and isinstance(item, dict) and not item.get("kind"):
            result.append({"apiVersion": api_version, "kind": kind_of_items, **item})
        else:
            result.append(item)
    return result
