"""Objects as the store has them, and as clients get them.

They differ in apiVersion and resourceVersion: the store has the apiVersion of the
storage version, and no resourceVersion, as that is the revision of the store. Stored
objects begin with apiVersion, kind and metadata, in this order, so that an answer is
made from the stored bytes without decoding them:

    stored  {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{}}
    served  {"apiVersion":"v1","kind":"ConfigMap",
             "metadata":{"resourceVersion":"7","name":"a"},"data":{}}

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from smp._storage.typed_storage import convert
from smp._values.codec import decode, encode
from smp._values.values import JSONObject, as_object, as_text
from smp.schema.resources import Resource
from smp.schema.structural import add_schema_defaults, prune
from smp.server.objects.metadata import drop_resource_version, set_resource_version
from smp.server.store import Stored

_METADATA: Final = b'"metadata":{'


def pack(obj: JSONObject, resource: Resource) -> bytes:
    """Return an object, whose metadata has at least a name, as the store has it."""
    obj = drop_resource_version(obj)
    # One version is stored, although clients write in any version of the resource.
    if _is_converted(resource):
        obj = convert(obj, resource.kind, resource.storage_api_version)
    return _in_order(obj, resource.storage_api_version, resource.kind)


def _in_order(obj: JSONObject, api_version: str, kind: str) -> bytes:
    ordered: JSONObject = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": obj["metadata"],
    }
    for name, value in obj.items():
        ordered.setdefault(name, value)
    return encode(ordered)


def _is_converted(resource: Resource) -> bool:
    """Tell whether objects have another shape in the store than in this version.

    Of the built-in resources two are served in two versions
    (smp._storage.typed_storage.convert).
    """
    is_stored = resource.api_version == resource.storage_api_version
    return not is_stored and not resource.custom


def _from_storage(obj: JSONObject, resource: Resource) -> JSONObject:
    """Return a stored object in a version, by what its definition says now.

    Go: apiextensions-apiserver, pkg/apiserver, schemaCoercingDecoder and
    unstructuredDefaulter: it is pruned by the version in which it was stored, and gets
    the defaults of that. Then schemaCoercingConverter: what the other version does not
    know is pruned.
    """
    if not resource.reading_schemas:
        return convert(obj, resource.kind, resource.api_version)
    schemas = _decode_schemas(resource.reading_schemas)
    stored = as_object(schemas.get(as_text(obj.get("apiVersion"))))
    if stored:
        obj = add_schema_defaults(prune(obj, stored), stored)
    read = as_object(schemas.get(resource.api_version))
    return prune(obj, read) if read and read is not stored else obj


@lru_cache(maxsize=256)
def _decode_schemas(text: bytes) -> JSONObject:
    return as_object(decode(text))


def unpack(item: Stored, resource: Resource) -> JSONObject:
    """Return a stored object as clients get it, decoded."""
    obj = _decode(item)
    if resource.reading_schemas or _is_converted(resource):
        obj = _from_storage(obj, resource)
    obj = {**obj, "apiVersion": resource.api_version}
    return set_resource_version(obj, item.revision)


def unpack_whole(item: Stored, resource: Resource) -> JSONObject:
    """Return all that is stored of a custom resource, decoded, in one of its versions.

    A version that is not stored may not know all of it.
    """
    obj = {**_decode(item), "apiVersion": resource.api_version}
    return set_resource_version(obj, item.revision)


def _decode(item: Stored) -> JSONObject:
    obj = decode(item.value)
    if not isinstance(obj, dict):
        raise TypeError(f"the value of {item.key} in the store is not an object")
    return obj


def served(item: Stored, resource: Resource, *, is_item: bool = False) -> bytes:
    """Return a stored object as clients get it, as JSON.

    What has revision 0 was not stored: the answer to a dry run. An item of a list has
    no apiVersion and kind: those of the list say what it is.
    """
    version = b'"resourceVersion":"%d",' % item.revision if item.revision else b""
    value = item.value
    if resource.reading_schemas or _is_converted(resource):
        obj = _from_storage(as_object(decode(value)), resource)
        value = _in_order(obj, resource.api_version, resource.kind)
    rest = value[value.index(_METADATA) + len(_METADATA) :]
    head = b"{" if is_item else _head(resource.api_version, resource.kind)
    return b'%b"metadata":{%b%b' % (head, version, rest)


def make_served_list(
    items: Iterable[Stored], metadata: JSONObject, resource: Resource
) -> bytes:
    """Return stored objects as the JSON of a list."""
    head = _head(resource.api_version, resource.list_kind)
    # Go encodes the items of a typed list without their TypeMeta, which is empty;
    # custom resources are unstructured, and keep theirs.
    bare = not resource.custom
    objects = b",".join(served(item, resource, is_item=bare) for item in items)
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
