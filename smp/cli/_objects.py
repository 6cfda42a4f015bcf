"""Kubernetes objects among documents: their names, and which of two inputs are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from smp.cli._errors import Failure
from smp.cli._identity import Identity, Key, identity_of
from smp.documents import Document
from smp.errors import ObjectError
from smp.values import JSONObject, as_object, type_name


class Entry(msgspec.Struct, frozen=True):
    """An object of an input, which is parsed when it is needed.

    ``offset`` and ``length`` count bytes of the file ``source``; ``data`` is the part
    itself where the file cannot be read again. ``occurrence`` counts the entries of one
    input that are the same object, from zero.
    """

    identity: Identity
    source: str
    line: int
    offset: int
    length: int
    data: bytes | None = None
    list_of: tuple[str, str] | None = None
    occurrence: int = 0

    @property
    def label(self) -> str:
        """The object for a reader."""
        return self.identity.label

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.source}:{self.line}"


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
    def identity(self) -> Identity:
        """What identifies the object."""
        return identity_of(self.value)

    @property
    def label(self) -> str:
        """The object for a reader: ``apps/v1 Deployment shop/web``."""
        return self.identity.label

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.document.source}:{self.document.line}"


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


class Pairing:
    """Which entry of another input is the same object as one of this input.

    A namespace that one side leaves out matches where there is only one candidate.
    Entries that are the same object in both inputs are paired in their order. Objects
    with a generated name are no partners of each other, unless ``pairs_generated``.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        others: Iterable[Entry],
        *,
        pairs_generated: bool = False,
    ) -> None:
        self._others = list(others)
        self._pairs_generated = pairs_generated
        self._candidates = _by_key(self._others)
        self._rivals = _by_key(entries)
        self._paired: set[tuple[str, int, int]] = set()

    def partner(self, entry: Entry) -> Entry | None:
        """Return the same object of the other input, or None.

        Raises Failure where several may be it.
        """
        # A server makes a new object of it each time.
        if entry.identity.is_generated and not self._pairs_generated:
            return None
        key = entry.identity.key
        partner = _partner(
            entry, self._candidates.get(key, []), self._rivals.get(key, [])
        )
        if partner is not None:
            self._paired.add(_place_in_input(partner))
        return partner

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other input that were no partner so far."""
        return [
            other
            for other in self._others
            if _place_in_input(other) not in self._paired
        ]


def _place_in_input(entry: Entry) -> tuple[str, int, int]:
    return entry.source, entry.line, entry.offset


def _by_key(entries: Iterable[Entry]) -> dict[Key, list[Entry]]:
    by_key: defaultdict[Key, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_key[entry.identity.key].append(entry)
    return dict(by_key)


def _partner(
    entry: Entry, candidates: list[Entry], rivals: list[Entry]
) -> Entry | None:
    """Choose among the candidates of the same group, kind and name.

    ``rivals`` are the entries, this one included, that have the same candidates.
    """
    # The same namespace, or none on both sides, is an exact match. Of several documents
    # with one object the first is paired with the first, and so on.
    exact: Entry | None = None
    for candidate in candidates:
        if candidate.identity.namespace == entry.identity.namespace:
            exact = candidate
            if candidate.occurrence == entry.occurrence:
                break
    if exact is not None:
        return exact

    # A manifest may leave the namespace to the context of kubectl, which is unknown
    # here, so a missing namespace can be any. But what another object matches exactly
    # is that object.
    matched_exactly = {rival.identity.namespace for rival in rivals}
    possible = [
        candidate
        for candidate in candidates
        if candidate.identity.namespace not in matched_exactly
        and _may_be_same(entry, candidate)
    ]
    if not possible:
        return None
    # One candidate can still be meant by several objects that leave out the namespace.
    claimants = [
        rival
        for rival in rivals
        if any(_may_be_same(rival, candidate) for candidate in possible)
    ]
    namespaces = {candidate.identity.namespace for candidate in possible}
    claiming = {rival.identity.namespace for rival in claimants}
    if len(namespaces) == 1 and len(claiming) == 1:
        same = [c for c in possible if c.occurrence == entry.occurrence]
        return same[0] if same else possible[-1]

    places = [other.place for other in (*possible, *claimants) if other is not entry]
    error = ObjectError(
        f"several objects match without a namespace: {', '.join(places)}",
        code="ambiguous-object",
        hint="set metadata.namespace",
    )
    raise Failure(error, entry, entry.label)


def _may_be_same(left: Entry, right: Entry) -> bool:
    return not (left.identity.namespace and right.identity.namespace)
