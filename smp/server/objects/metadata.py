"""The metadata that a server gives and guards: identity, names, generation. Pure: time
and chance are arguments.

Sources: the Kubernetes API conventions ("Metadata"), "Object Names and IDs", "Labels
and Selectors", and what an API server does before it creates and updates
(k8s.io/apiserver, registry/rest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from smp.paths import Path
from smp.server.errors import StatusError, forbidden, invalid, raise_invalid, required
from smp.server.objects import names
from smp.server.objects.resources import Resource
from smp.values import ABSENT, JSON, Absent, JSONObject, as_list, same, type_name
from smp.violations import Violation

METADATA: Final = Path(("metadata",))

# no vowels, so that no words are formed
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_LONGEST_GENERATED: Final = 63
_SYSTEM: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "uid",
)
_NOT_STORED: Final = ("resourceVersion", "selfLink")


def timestamp(now: datetime) -> str:
    """Print a time as metadata has it: RFC 3339, in UTC, to the second."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def random_suffix(choice: Callable[[str], str]) -> str:
    """Return what makes a generateName a name; ``choice`` chooses a character
    (``random.choice``).
    """
    return "".join(choice(_ALPHABET) for _ in range(_SUFFIX))


def metadata_of(obj: JSONObject) -> JSONObject:
    """Return the metadata of an object, empty where it has none. Raises StatusError for
    what is no object.
    """
    found = obj.get("metadata")
    if isinstance(found, dict | None):
        return found or {}
    raise StatusError(f"an object is expected, not {type_name(found)}", path=METADATA)


def with_metadata(obj: JSONObject, **members: JSON | Absent) -> JSONObject:
    """Return the object with these members of its metadata; ABSENT takes one away."""
    merged = {**metadata_of(obj), **members}
    return {
        **obj,
        "metadata": {
            name: value
            for name, value in merged.items()
            if not isinstance(value, Absent)
        },
    }


def with_resource_version(obj: JSONObject, revision: int) -> JSONObject:
    """Return the object as it is answered: with the revision of its last write."""
    return with_metadata(obj, resourceVersion=str(revision))


def without_resource_version(obj: JSONObject) -> JSONObject:
    """Return the object as it is stored: its revision is the store's to know."""
    return with_metadata(obj, **dict.fromkeys(_NOT_STORED, ABSENT))


def prepare_for_create(
    obj: JSONObject,
    resource: Resource,
    *,
    namespace: str,
    now: datetime,
    uid: str,
    suffix: str,
) -> JSONObject:
    """Return an object as a server stores it when it is created.

    ``namespace`` is that of the request, ``suffix`` makes a generateName a name. Raises
    StatusError for an object of another namespace, InvalidError for names that are not
    allowed.
    """
    given = with_metadata(
        without_resource_version(obj), **dict.fromkeys(_SYSTEM, ABSENT)
    )
    placed = in_namespace(_named(given, suffix), resource, namespace)
    raise_invalid(_problems(metadata_of(placed), resource))
    return with_metadata(
        placed, uid=uid, creationTimestamp=timestamp(now), generation=1
    )


def in_namespace(obj: JSONObject, resource: Resource, namespace: str) -> JSONObject:
    """Return an object in the namespace of the request. Raises StatusError where it is in
    another.
    """
    if not resource.namespaced:
        return with_metadata(obj, namespace=ABSENT)
    if metadata_of(obj).get("namespace") not in {None, "", namespace}:
        problem = "the namespace of the provided object does not match the namespace sent on the request"
        raise StatusError(problem, path=METADATA / "namespace")
    return with_metadata(obj, namespace=namespace)


def prepare_for_update(
    old: JSONObject, new: JSONObject, resource: Resource
) -> JSONObject:
    """Return an object as a server stores it in the place of the old one.

    What the server gave stays. The generation grows where something changed that is
    neither metadata nor, for a resource with that subresource, status. Raises
    InvalidError for names that are not allowed, and for a new finalizer on an object
    that is being deleted.
    """
    kept = {name: metadata_of(old).get(name, ABSENT) for name in _SYSTEM}
    merged = with_metadata(without_resource_version(new), **kept)
    raise_invalid(
        [
            *_problems(metadata_of(merged), resource),
            *_new_finalizers(metadata_of(old), metadata_of(merged)),
        ]
    )
    if same(_specified(old, resource), _specified(merged, resource)):
        return merged
    return with_metadata(merged, generation=next_generation(old))


def next_generation(obj: JSONObject) -> int:
    """Return the generation that follows that of an object."""
    generation = metadata_of(obj).get("generation")
    return generation + 1 if isinstance(generation, int) else 1


def _specified(obj: JSONObject, resource: Resource) -> JSONObject:
    aside = {"metadata", "status"} if resource.status else {"metadata"}
    return {name: value for name, value in obj.items() if name not in aside}


def _named(obj: JSONObject, suffix: str) -> JSONObject:
    members = metadata_of(obj)
    prefix = members.get("generateName")
    if members.get("name") or not isinstance(prefix, str) or not prefix:
        return obj
    return with_metadata(obj, name=prefix[: _LONGEST_GENERATED - len(suffix)] + suffix)


def _problems(members: JSONObject, resource: Resource) -> Iterator[Violation]:
    name = members.get("name")
    if not name:
        yield required(METADATA / "name", "name or generateName is required")
    elif (
        problem := names.name_problem(name, resource.group, resource.plural)
        if isinstance(name, str)
        else _NO_STRING
    ):
        yield invalid(METADATA / "name", name, problem)
    namespace = members.get("namespace")
    if resource.namespaced and (
        problem := names.label(namespace) if isinstance(namespace, str) else _NO_STRING
    ):
        yield invalid(METADATA / "namespace", namespace, problem)
    yield from _key_problems(members, "labels", names.label_key, names.label_value)
    yield from _key_problems(
        members, "annotations", names.annotation_key, names.anything
    )
    for finalizer in _texts(members, "finalizers"):
        if problem := names.label_key(finalizer):
            yield invalid(METADATA / "finalizers", finalizer, problem)


_NO_STRING: Final = "must be a string"


def _key_problems(
    members: JSONObject, word: str, key_rule: names.Rule, value_rule: names.Rule
) -> Iterator[Violation]:
    entries = members.get(word)
    if not isinstance(entries, dict | None):
        yield invalid(METADATA / word, entries, "must be an object")
        return
    for key, value in (entries or {}).items():
        if problem := key_rule(key):
            yield invalid(METADATA / word, key, problem)
        if problem := value_rule(value) if isinstance(value, str) else _NO_STRING:
            yield invalid(METADATA / word, value, problem)


def _new_finalizers(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    added = set(_texts(new, "finalizers")) - set(_texts(old, "finalizers"))
    if "deletionTimestamp" in old and added:
        detail = (
            "no new finalizers can be added if the object is being deleted, found "
            + ", ".join(sorted(added))
        )
        yield forbidden(METADATA / "finalizers", detail)


def _texts(members: JSONObject, word: str) -> list[str]:
    return [text for text in as_list(members.get(word)) if isinstance(text, str)]
