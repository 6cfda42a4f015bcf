"""The metadata that a server sets and guards: identity, names, generation.

Time and chance are arguments. Sources: the Kubernetes API conventions ("Metadata"),
"Object Names and IDs" and "Labels and Selectors" in the Kubernetes documentation, and
what an API server does before it creates and updates an object (Go: BeforeCreate and
BeforeUpdate in k8s.io/apiserver/pkg/registry/rest).

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.times import timestamp
from smp._values.values import ABSENT, JSONObject, same, strings_in
from smp.paths import Path
from smp.schema.resources import Resource
from smp.server.errors import StatusError, forbidden, raise_invalid
from smp.violations import quote_json

METADATA: Final = Path(("metadata",))

# The alphabet, the length and the limit of generated names are those of Go:
# k8s.io/apiserver/pkg/storage/names.SimpleNameGenerator. The alphabet has no vowels, so
# that no words are formed.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_GENERATED: Final = 63

# "System" fields in the API conventions: the server sets them, a client cannot.
_SYSTEM_FIELDS: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "uid",
)
# The store knows the first one; the second one is deprecated (KEP-1164).
_UNSTORED_FIELDS: Final = ("resourceVersion", "selfLink")
_SET_BY_SERVERS: Final = frozenset((*_SYSTEM_FIELDS, *_UNSTORED_FIELDS))


def random_suffix(choice: Callable[[str], str]) -> str:
    """Return the suffix that turns a generateName into a name.

    ``choice`` picks a character of a string, as ``random.choice`` does.
    """
    return "".join(choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))


def set_resource_version(obj: JSONObject, revision: int) -> JSONObject:
    """Return an object as clients get it: with the revision of its last write."""
    return set_metadata(obj, resourceVersion=str(revision))


def drop_resource_version(obj: JSONObject) -> JSONObject:
    """Return an object as it is stored: the store knows its revision."""
    metadata = metadata_of(obj)
    if "resourceVersion" not in metadata and "selfLink" not in metadata:
        return obj
    return set_metadata(obj, **dict.fromkeys(_UNSTORED_FIELDS, ABSENT))


def prepare_for_create(
    obj: JSONObject, resource: Resource, *, now: datetime, uid: str, suffix: str
) -> JSONObject:
    """Return a new object of a namespace as a server stores it.

    ``suffix`` is appended to a generateName. Raises InvalidError for names that are not
    allowed. Go: rest.BeforeCreate, after EnsureObjectNamespaceMatchesRequestNamespace.
    """
    # What a server sets is ignored where a client sends it.
    metadata: JSONObject = {
        name: value
        for name, value in metadata_of(obj).items()
        if name not in _SET_BY_SERVERS
    }

    # A generateName makes a name, unless there is one. It is shortened so that the
    # name fits, for the end of the name must stay random.
    prefix = metadata.get("generateName")
    if isinstance(prefix, str) and prefix and not metadata.get("name"):
        metadata["name"] = prefix[: _LONGEST_GENERATED - len(suffix)] + suffix

    metadata["uid"] = uid
    metadata["creationTimestamp"] = timestamp(now)
    if resource.strategy.generation:
        metadata["generation"] = 1
    return {**obj, "metadata": metadata}


def in_namespace(obj: JSONObject, resource: Resource, namespace: str) -> JSONObject:
    """Return an object in the namespace of the request.

    Raises StatusError for an object of another namespace.
    """
    # An API server ignores the namespace of an object that can have none.
    if not resource.namespaced:
        return set_metadata(obj, namespace=ABSENT)
    if metadata_of(obj).get("namespace") not in (None, "", namespace):
        raise StatusError(
            "the namespace of the provided object does not match the namespace sent on "
            "the request"
        )
    return set_metadata(obj, namespace=namespace)


def prepare_for_update(
    old: JSONObject, new: JSONObject, resource: Resource, subresource: str = ""
) -> JSONObject:
    """Return a changed object as a server stores it (Go: rest.BeforeUpdate).

    The system fields are those of the old object. Raises InvalidError for names that
    are not allowed, and for a new finalizer on an object that is being deleted.
    """
    old_metadata = metadata_of(old)
    system = {name: old_metadata.get(name, ABSENT) for name in _SYSTEM_FIELDS}
    merged = set_metadata(drop_resource_version(new), **system)
    metadata = metadata_of(merged)

    # Finalizers end a deletion; new ones would delay it for ever (Go:
    # ValidateObjectMetaAccessorUpdate, ValidateNoNewFinalizers).
    before = strings_in(old_metadata.get("finalizers"))
    added = set(strings_in(metadata.get("finalizers"))).difference(before)
    if "deletionTimestamp" in old_metadata and added:
        # Printed as Go prints a slice of strings.
        found = ", ".join(map(quote_json, sorted(added)))
        detail = (
            "no new finalizers can be added if the object is being deleted, found new "
            f"finalizers []string{{{found}}}"
        )
        raise_invalid([forbidden(METADATA / "finalizers", detail)])

    # "metadata.generation: a sequence number representing a specific generation of the
    # desired state" (API conventions): it grows with any change outside of metadata
    # and, where status is a subresource, outside of status.
    if "generation" not in old_metadata and not resource.strategy.counted_later:
        return merged
    is_same = same(
        _find_desired_state(old, resource), _find_desired_state(merged, resource)
    )
    # Of a Deployment annotations count as well (Go: deploymentStrategy), but not where
    # they are written through its status.
    if resource.key == ("apps", "deployments") and not subresource:
        annotations = [
            each.get("annotations") or {} for each in (metadata, old_metadata)
        ]
        is_same = is_same and same(*annotations)
    return merged if is_same else set_metadata(merged, generation=next_generation(old))


def next_generation(obj: JSONObject) -> int:
    """Return the generation after that of an object; the first one is 1."""
    generation = metadata_of(obj).get("generation")
    return generation + 1 if isinstance(generation, int) else 1


def _find_desired_state(obj: JSONObject, resource: Resource) -> JSONObject:
    # Without a status subresource, the client writes the status as well.
    excluded = {"metadata", "status"} if resource.status else {"metadata"}
    state = {name: value for name, value in obj.items() if name not in excluded}
    # Go: PrepareForUpdate of the strategies, where they differ.
    strategy = resource.strategy
    if strategy.counted:
        state["metadata"] = metadata_of(obj).get(strategy.counted)
    return {} if strategy.never_counted else state
