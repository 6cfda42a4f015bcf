"""Kubernetes objects among documents: their names, and which of two inputs are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from smp.cli._errors import Failure
from smp.documents import Document
from smp.errors import ObjectError
from smp.values import JSONObject, as_object, as_text, type_name

# The API group and the kind, and the name: what identifies an object in a namespace.
Key: TypeAlias = tuple[tuple[str, str], str]


class Object(msgspec.Struct, frozen=True):
    """A Kubernetes object and the document that it is in."""

    value: JSONObject
    document: Document

    @classmethod
    def of(cls, document: Document) -> Object:
        """Read a document as an object. Raises ObjectError for another JSON type."""
        if not isinstance(document.value, dict):
            raise ObjectError(
                f"a Kubernetes object is expected, not {type_name(document.value)}",
                code="not-an-object",
            )
        return cls(document.value, document)

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind, which all versions of an object share."""
        group, slash, _version = as_text(self.value.get("apiVersion")).partition("/")
        # A server converts an object between the versions of its group. The apiVersion
        # of the core group is a version alone.
        return group if slash else "", as_text(self.value.get("kind"))

    @property
    def namespace(self) -> str:
        """The namespace, or the empty string."""
        return as_text(self._metadata.get("namespace"))

    @property
    def name(self) -> str:
        """The name, or the empty string."""
        return as_text(self._metadata.get("name"))

    @property
    def is_generated(self) -> bool:
        """Whether a server generates the name, and so a new object each time."""
        # API conventions: a server generates a name from generateName only where name
        # is missing.
        return not self.name and bool(as_text(self._metadata.get("generateName")))

    @property
    def label(self) -> str:
        """The object for a reader: ``apps/v1 Deployment shop/web``."""
        name = self.name
        if self.is_generated:
            name = f"{as_text(self._metadata.get('generateName'))}*"
        if self.namespace and name:
            name = f"{self.namespace}/{name}"
        parts = [
            as_text(self.value.get("apiVersion")),
            as_text(self.value.get("kind")),
            name or self.namespace,
        ]
        return " ".join(part for part in parts if part)

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.document.source}:{self.document.line}"

    @property
    def key(self) -> Key:
        """What identifies the object in its namespace."""
        return self.group_kind, self.name

    @property
    def _metadata(self) -> JSONObject:
        return as_object(self.value.get("metadata"))


def is_object(document: Document) -> bool:
    """Tell whether a document is meant to be an object.

    apiVersion or kind alone is enough; looking for the schema reports what is missing.
    """
    value = document.value
    return isinstance(value, dict) and ("apiVersion" in value or "kind" in value)


def label_of(document: Document) -> str:
    """Name the object in a document, or the document where it has none."""
    if is_object(document):
        return Object.of(document).label
    return f"{document.source}:{document.line}"


def annotations_of(obj: JSONObject) -> JSONObject:
    """Return the annotations of an object, which may be none."""
    return as_object(as_object(obj.get("metadata")).get("annotations"))


def partners(
    objects: Iterable[Object], others: Iterable[Object]
) -> list[Object | None]:
    """Find for each object the one of the others that is the same object, or None.

    A namespace that one side leaves out matches where there is only one candidate.
    Raises Failure where there are several, and for two documents with one object.
    """
    left, right = list(objects), list(others)
    _require_distinct(left)
    _require_distinct(right)
    candidates = _by_key(right)
    rivals = _by_key(left)
    return [_partner(obj, candidates[obj.key], rivals[obj.key]) for obj in left]


def unpaired(
    objects: Iterable[Object], paired: Iterable[Object | None]
) -> list[Object]:
    """Return the objects that are not among those paired."""
    identities = {id(obj) for obj in paired}
    return [obj for obj in objects if id(obj) not in identities]


def _require_distinct(objects: Iterable[Object]) -> None:
    # kubectl would apply one after the other; here there is one answer for an object.
    first_by_key: dict[tuple[Key, str], Object] = {}
    for obj in objects:
        first = first_by_key.setdefault((obj.key, obj.namespace), obj)
        if first is not obj and not obj.is_generated:
            error = ObjectError(
                f"the same object is also in {first.place}", code="duplicate-object"
            )
            raise Failure(error, obj.document, obj.label)


def _by_key(objects: Iterable[Object]) -> defaultdict[Key, list[Object]]:
    by_key: defaultdict[Key, list[Object]] = defaultdict(list)
    for obj in objects:
        if not obj.is_generated:
            by_key[obj.key].append(obj)
    return by_key


def _partner(
    obj: Object, candidates: list[Object], rivals: list[Object]
) -> Object | None:
    """Choose among the candidates of the same group, kind and name.

    ``rivals`` are the objects, this one included, that have the same candidates.
    """
    if obj.is_generated:
        return None
    # The same namespace, or none on both sides, is an exact match.
    for candidate in candidates:
        if candidate.namespace == obj.namespace:
            return candidate

    # A manifest may leave the namespace to the context of kubectl, which is unknown
    # here, so a missing namespace can be any. But what another object matches exactly
    # is that object.
    matched_exactly = {rival.namespace for rival in rivals}
    possible = [
        candidate
        for candidate in candidates
        if candidate.namespace not in matched_exactly and _may_be_same(obj, candidate)
    ]
    if not possible:
        return None
    # One candidate can still be meant by several objects that leave out the namespace.
    claimants = [
        rival
        for rival in rivals
        if any(_may_be_same(rival, candidate) for candidate in possible)
    ]
    if len(possible) == 1 and len(claimants) == 1:
        return possible[0]

    places = [other.place for other in (*possible, *claimants) if other is not obj]
    error = ObjectError(
        f"several objects match without a namespace: {', '.join(places)}",
        code="ambiguous-object",
        hint="set metadata.namespace",
    )
    raise Failure(error, obj.document, obj.label)


def _may_be_same(left: Object, right: Object) -> bool:
    return not (left.namespace and right.namespace)
