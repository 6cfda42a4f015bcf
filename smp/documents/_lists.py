"""Lists of objects (List, PodList, ...), which kubectl replaces by their items."""

from __future__ import annotations

from typing import Any

from smp._values.values import ABSENT, JSON, as_text


def flatten_lists(value: Any) -> list[Any]:
    """Return the items of a list of objects, and any other value as the only item.

    Null gives no item: kubectl skips documents without content.
    """
    if value is None:
        return []
    # An empty kind is none.
    if not isinstance(value, dict) or not as_text(value.get("kind")):
        return [value]
    items = value.get("items", ABSENT)
    # ``items: null`` is a list of objects that is empty (Go: a nil slice).
    if items is None:
        return []
    # An object with items of another type is an object like any other.
    if not isinstance(items, list):
        return [value]
    if not all(item is None or isinstance(item, dict) for item in items):
        return [value]
    list_of = kind_of_items(value)
    return [set_kind(item, list_of) for item in items]


def kind_of_items(value: JSON) -> tuple[str, str] | None:
    """Return the apiVersion and kind that a list of objects gives to its items.

    None for what is no list of objects.
    """
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return None
    kind = as_text(value.get("kind"))
    if not kind:
        return None
    return as_text(value.get("apiVersion")), kind.removesuffix("List")


def set_kind(item: JSON, list_of: tuple[str, str] | None) -> JSON:
    """Return an item of a list, with the apiVersion and kind that it leaves out.

    API servers leave them out of the items of typed lists: an item of a PodList is a
    Pod, and so is null (Go: unstructuredJSONScheme.decodeToList).
    """
    if list_of is not None and item is None:
        item = {}
    if list_of is None or not isinstance(item, dict) or item.get("kind"):
        return item
    api_version, kind = list_of
    return {"apiVersion": api_version, "kind": kind, **item} if kind else item
