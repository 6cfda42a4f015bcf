"""Objects as the store has them, and as clients get them.

They differ in apiVersion and resourceVersion: the store has the apiVersion of the
storage version, and no resourceVersion, as that is the revision of the store. Stored
objects begin with apiVersion, kind and metadata, in this order, so that an answer is
made from the stored bytes without decoding them:

    stored  {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{}}
    served  {"apiVersion":"v1","kind":"ConfigMap",
             "metadata":{"resourceVersion":"7","name":"a"},"data":{}}
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
from smp.values import JSONObject
from smp.wire import decode, encode

_METADATA: Final = b'"metadata":{'


def pack(obj: JSONObject, resource: Resource) -> bytes:
    """Return an object, whose metadata has at least a name, as the store has it."""
    obj = without_resource_version(obj)
    # One version is stored, although clients write in any version of the resource.
    packed: JSONObject = {
        "apiVersion": resource.storage_api_version,
        "kind": resource.kind,
        "metadata": obj["metadata"],
    }
    for name, value in obj.items():
        packed.setdefault(name, value)
    return encode(packed)


def unpack(item: Stored, resource: Resource) -> JSONObject:
    """Return a stored object as clients get it, decoded."""
    obj = decode(item.value)
    if not isinstance(obj, dict):
        raise TypeError(f"the value of {item.key} in the store is not an object")
    obj = {**obj, "apiVersion": resource.api_version}
    return with_resource_version(obj, item.revision)


def served(item: Stored, resource: Resource) -> bytes:
    """Return a stored object as clients get it, as JSON.

    What has revision 0 was not stored: the answer to a dry run.
    """
    version = b""
    if item.revision:
        version = b'"resourceVersion":"%d",' % item.revision
    rest = item.value[item.value.index(_METADATA) + len(_METADATA) :]
    head = _head(resource.api_version, resource.kind)
    return b'%b"metadata":{%b%b' % (head, version, rest)


def served_list(
    items: Iterable[Stored], metadata: JSONObject, resource: Resource
) -> bytes:
    """Return stored objects as the JSON of a list."""
    head = _head(resource.api_version, resource.list_kind)
    objects = b",".join(served(item, resource) for item in items)
    return b'%b"metadata":%b,"items":[%b]}' % (head, encode(metadata), objects)


@lru_cache(maxsize=1024)
def _head(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


def metadata_only(obj: JSONObject) -> JSONObject:
    """Return the metadata of an object, as PartialObjectMetadata."""
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": obj.get("metadata", {}),
    }
