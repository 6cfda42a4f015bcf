"""What an update may not change: which object it is. And what of its metadata is a
server's to set.

Go: k8s.io/apiserver, registry/rest (BeforeUpdate,
EnsureObjectNamespaceMatchesRequestNamespace) and endpoints/handlers (checkName); where
PATCH and PUT differ there, PATCH counts.
"""

from __future__ import annotations

from typing import Final

from smp.handler._refusals import ModifiedError, StatusError
from smp.values import ABSENT, JSON, Absent, JSONObject, same, type_name

_KIND: Final[tuple[str, ...]] = ("apiVersion", "kind")
_KEPT_WHERE_ABSENT: Final[tuple[str, ...]] = (
    "namespace",
    "uid",
    "resourceVersion",
    "managedFields",
)
_KEPT: Final[tuple[str, ...]] = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)


def of_kind(
    new: JSONObject, api_version: JSON | Absent, kind: JSON | Absent
) -> JSONObject:
    """Return an object of an apiVersion and kind: what it lacks is filled in. Raises
    StatusError for another kind.
    """
    expected = {
        name: value
        for name, value in zip(_KIND, (api_version, kind), strict=True)
        if value is not ABSENT
    }
    lacking: JSONObject = {}
    for name, value in expected.items():
        if new.get(name) in (None, ""):
            lacking[name] = value
        elif not same(new[name], value):
            raise _other_kind(name, new, value)
    return (
        {
            **lacking,
            **{name: value for name, value in new.items() if name not in lacking},
        }
        if lacking
        else new
    )


def _other_kind(name: str, new: JSONObject, expected: JSON) -> StatusError:
    found = new[name] if isinstance(new[name], str) else type_name(new[name])
    if name == "apiVersion":
        return StatusError(
            f"the API version in the data ({found}) does not match the expected API version ({expected})"
        )
    version = str(new.get("apiVersion", "")).rpartition("/")[2]
    return StatusError(
        f'{found} in version "{version}" cannot be handled as a {expected}'
    )


def identified(new: JSONObject, old: JSONObject) -> JSONObject:
    """Return the new object with what identifies the old one, and with what only a
    server sets.

    A name or a namespace that differ are a StatusError (400); a uid or a resourceVersion
    that differ mean another object, or another state of it: ModifiedError (409). Absent
    and empty, the last three are the old object's, and so are managedFields.
    """
    before, after = metadata_of(old), metadata_of(new)
    kept = {
        name: before[name]
        for name in _KEPT_WHERE_ABSENT
        if name in before and after.get(name) in (None, "")
    }
    kept |= {name: before[name] for name in _KEPT if name in before}
    dropped = {name for name in ("namespace", *_KEPT) if name not in before}
    merged: JSONObject = {
        **{name: value for name, value in after.items() if name not in dropped},
        **kept,
    }
    _check(merged, before)
    unchanged = len(merged) == len(after) and all(
        same(after.get(name, ABSENT), merged[name]) for name in kept
    )
    return new if unchanged else {**new, "metadata": merged}


def _check(new: JSONObject, old: JSONObject) -> None:
    name = old.get("name", "")
    if not same(new.get("name", ""), name):
        raise StatusError(_misnamed(new.get("name"), name))
    if not same(new.get("namespace", ABSENT), old.get("namespace", ABSENT)):
        raise StatusError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    uid, former = new.get("uid", ""), old.get("uid", "")
    if not same(uid, former):
        raise ModifiedError(
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {former}"
        )
    if not same(new.get("resourceVersion", ""), old.get("resourceVersion", "")):
        raise ModifiedError


def _misnamed(name: JSON, expected: JSON) -> str:
    if not name:
        return f"the name of the object ({expected} based on URL) was undeterminable: name must be provided"
    return f"the name of the object ({name}) does not match the name on the URL ({expected})"


def metadata_of(obj: JSONObject) -> JSONObject:
    """Return the metadata of an object; empty where it has none."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def about(obj: JSONObject, resource: str = "") -> dict[str, str]:
    """Say which object a request is about, in the words of ``refusal``; ``resource``
    may have a group.
    """
    name, api_version, kind = (
        word if isinstance(word, str) else ""
        for word in (metadata_of(obj).get("name"), *map(obj.get, _KIND))
    )
    plural, _, group = resource.partition(".")
    group = api_version.rpartition("/")[0] if api_version else group
    return {
        "name": name,
        "group": group,
        "kind": kind,
        "resource": plural or _plural(kind.lower()),
    }


def _plural(singular: str) -> str:
    """Guess a plural (Go: k8s.io/apimachinery, meta.UnsafeGuessKindToResource)."""
    if singular.endswith("s"):
        return singular if singular == "endpoints" else f"{singular}es"
    return (
        f"{singular.removesuffix('y')}ies"
        if singular.endswith("y")
        else f"{singular}s"
        if singular
        else ""
    )
