"""What objects of the Kubernetes API have in common.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, Absent, JSONObject, as_object, drop_absent

# What a server sets in the metadata of each object, and a new object does not have.
SERVER_METADATA: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)

# What a Secret shows; its other members are confidential, misspelled ones such as
# ``stringdata`` too.
SHOWN_OF_SECRET: Final = frozenset(
    {"apiVersion", "immutable", "kind", "metadata", "type"}
)


def annotations_of(obj: JSONObject) -> JSONObject:
    """Return the annotations of an object, which may be none."""
    return as_object(as_object(obj.get("metadata")).get("annotations"))


def drop_managed_fields(obj: JSONObject) -> JSONObject:
    """Return an object without the entries of its field managers.

    It is the object itself where it has none.
    """
    metadata = as_object(obj.get("metadata"))
    if "managedFields" not in metadata:
        return obj
    rest = {**metadata}
    del rest["managedFields"]
    return {**obj, "metadata": rest}


def make_status(status: str, **members: JSON) -> JSONObject:
    """Return a Status: ``Success`` or ``Failure``, and its other members."""
    head: JSONObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    return {**head, "status": status, **members}


def metadata_of(obj: JSONObject) -> JSONObject:
    """Return the metadata of an object; empty where it has none."""
    return as_object(obj.get("metadata"))


def is_stated(metadata: JSONObject, name: str) -> bool:
    """Tell whether metadata states a field.

    An empty text states nothing, nor does null, nor a resourceVersion of 0 (Go: etcd3,
    APIObjectVersioner).
    """
    value = metadata.get(name)
    is_no_version = name == "resourceVersion" and value == "0"
    return not (value is None or value == "" or is_no_version)


def set_metadata(obj: JSONObject, **fields: JSON | Absent) -> JSONObject:
    """Return an object with these fields of its metadata; ABSENT removes a field."""
    return {**obj, "metadata": drop_absent({**metadata_of(obj), **fields})}


def keep_names(obj: JSONObject) -> JSONObject:
    """Return nothing but the apiVersion, kind, name and namespace of an object."""
    metadata = metadata_of(obj)
    kinds = ("apiVersion", "kind")
    named: JSONObject = {name: obj[name] for name in kinds if name in obj}
    names = ("name", "namespace")
    kept: JSONObject = {name: metadata[name] for name in names if name in metadata}
    return {**named, "metadata": kept}
