"""Objects of Python clients, read without importing any client.

The official client (``kubernetes``, and ``kubernetes_asyncio``) has a class for each
type. Its ``attribute_map`` has the JSON name of each attribute, and None stands for a
field that is absent. The objects of the dynamic client, lightkube and kr8s have a
method ``to_dict``, with JSON names.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def content_of(value: object) -> Mapping[Any, Any] | None:
    """Return the fields of an object of a client by their JSON names; None for others.

    The values may be objects of the client again.
    """
    names = getattr(type(value), "attribute_map", None)
    if isinstance(names, Mapping):
        fields = {name: getattr(value, key, None) for key, name in names.items()}
        return {name: field for name, field in fields.items() if field is not None}
    # Of a class, it is a function that wants an object.
    to_dict = None if isinstance(value, type) else getattr(value, "to_dict", None)
    content = to_dict() if callable(to_dict) else None
    return content if isinstance(content, Mapping) else None


def time_of(value: object) -> str | None:
    """Print a datetime as Kubernetes does: in UTC, with microseconds if it has any.

    A time without a zone is taken for UTC (Go: metav1.Time and MicroTime). Returns None
    for other values.
    """
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.replace(tzinfo=None).isoformat() + "Z"
