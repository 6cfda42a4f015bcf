"""Kubernetes objects among documents: their names, and which of two inputs are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from smp.cli._errors import Failure
from smp.cli._identity import Identity, Key, identity_of
from smp.documents import Document
from smp.errors import ObjectError
from smp.values import JSONObject, as_object, type_name


class Entry(msgspec.Struct, frozen=True):
    """An object of an input, which is parsed when it is needed.

    ``offset`` and ``length`` count bytes of the file ``source``; ``data`` is the part
    itself where the file cannot be read again. ``number`` counts the entries of one
    input from zero, ``occurrence`` those of them that are the same object, which is at
    ``first_place`` for the first time.
    """

    identity: Identity
    source: str
    line: int
    offset: int
    length: int
    data: bytes | None = None
    list_of: tuple[str, str] | None = None
    number: int = 0
    occurrence: int = 0
    first_place: str = ""
    # What the text says where the namespace of the option --namespace was added.
    written: Identity | None = None

    @property
    def label(self) -> str:
        """The object for a reader."""
        return self.identity.label

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.source}:{self.line}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to warn of: that it is not the first document of its object."""
        # A server makes a new object of each document with a generated name.
        if not self.occurrence or self.identity.is_generated:
            return ()
        return (f"the same object is also in {self.first_place}",)


def numbered(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Count the entries of an input, and those that are the same object."""
    # How often an object was there, and where for the first time.
    seen: dict[tuple[Key, str], tuple[int, str, int]] = {}
    for number, entry in enumerate(entries):
        same_object = entry.identity.key, entry.identity.namespace
        occurrence, source, line = seen.get(same_object, (0, entry.source, entry.line))
        seen[same_object] = occurrence + 1, source, line
        yield msgspec.structs.replace(
            entry,
            number=number,
            occurrence=occurrence,
            first_place=f"{source}:{line}" if occurrence else "",
        )


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
        entries: Sequence[Entry],
        others: Sequence[Entry],
        *,
        pairs_generated: bool = False,
    ) -> None:
        self._entries = entries
        self._others = others
        self._candidates = _by_key(others)
        self._rivals: dict[Key, list[Entry]] | None = None
        self._is_paired = bytearray(len(others))
        self._pairs_generated = pairs_generated

    def partner(self, entry: Entry) -> Entry | None:
        """Return the same object of the other input, or None.

        Raises Failure where several may be it.
        """
        identity = entry.identity
        # A server makes a new object of it each time.
        if identity.is_generated and not self._pairs_generated:
            return None
        candidates = self._candidates.get(identity.key, [])
        # The same namespace, or none on both sides, is an exact match. Of several
        # documents with one object the first is paired with the first, and so on.
        partner: Entry | None = None
        for candidate in candidates:
            if candidate.identity.namespace == identity.namespace:
                partner = candidate
                if candidate.occurrence == entry.occurrence:
                    break
        if candidates and partner is None:
            # Most inputs agree about namespaces, and never come here.
            if self._rivals is None:
                self._rivals = _by_key(self._entries)
            partner = _likely_partner(entry, candidates, self._rivals[identity.key])
        if partner is not None:
            self._is_paired[partner.number] = True
        return partner

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other input that were no partner so far."""
        return [other for other in self._others if not self._is_paired[other.number]]


def _by_key(entries: Iterable[Entry]) -> dict[Key, list[Entry]]:
    by_key: dict[Key, list[Entry]] = {}
    for entry in entries:
        by_key.setdefault(entry.identity.key, []).append(entry)
    return by_key


def _likely_partner(
    entry: Entry, candidates: list[Entry], rivals: list[Entry]
) -> Entry | None:
    """Choose among the candidates of the same group, kind and name.

    None of them has the same namespace. ``rivals`` are the entries, this one included,
    that have the same candidates.
    """
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
