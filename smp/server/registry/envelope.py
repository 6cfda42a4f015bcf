"""How the store has an object, and how clients get it: what differs is its apiVersion
and its resourceVersion.

The revision of the store is the resourceVersion, so what is stored has none. It begins
with apiVersion, kind and metadata, in this order, so that an answer is made of its
bytes without reading them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from smp.server.objects.metadata import (
    with_resource_version,
    without_resource_version,
)
from smp.server.objects.resources import Resource
from smp.server.store import Stored
from smp.values import JSON, JSONObject
from smp.wire import decode, encode

_METADATA: Final = b'"metadata":{'


def packed(obj: JSONObject, resource: Resource) -> bytes:
    """Return an object, whose metadata has a name at least, as the store keeps it."""
    bare = without_resource_version(obj)
    head = {
        "apiVersion": resource.storage_api_version,
        "kind": resource.kind,
        "metadata": bare["metadata"],
    }
    return encode(
        {**head, **{name: value for name, value in bare.items() if name not in head}}
    )


def unpacked(item: Stored, resource: Resource) -> JSONObject:
    """Return a stored object as clients know it."""
    obj = decode(item.value)
    if not isinstance(obj, dict):
        raise TypeError(f"what the store has at {item.key} is no object")
    return with_resource_version(
        {**obj, "apiVersion": resource.api_version}, item.revision
    )


def served(item: Stored, resource: Resource) -> bytes:
    """Return a stored object as the JSON that clients get; what is of revision 0 was
    never stored.
    """
    version = b'"resourceVersion":"%d",' % item.revision if item.revision else b""
    rest = item.value[item.value.index(_METADATA) + len(_METADATA) :]
    return b'%b"metadata":{%b%b' % (
        _head(resource.api_version, resource.kind),
        version,
        rest,
    )


def served_list(
    items: Iterable[Stored], metadata: JSONObject, resource: Resource
) -> bytes:
    """Return stored objects as the JSON of a list."""
    head = _head(resource.api_version, resource.list_kind)
    return b'%b"metadata":%b,"items":[%b]}' % (
        head,
        encode(metadata),
        b",".join(served(one, resource) for one in items),
    )


@lru_cache(maxsize=1024)
def _head(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


def partial(obj: JSONObject) -> JSONObject:
    """Return an object's metadata only, as PartialObjectMetadata."""
    metadata: JSON = obj.get("metadata", {})
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": metadata,
    }
