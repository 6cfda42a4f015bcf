"""Kubernetes objects among documents: their names, and which of two inputs are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from smp._values.findings import Finding
from smp._values.values import JSON, JSONObject, type_name
from smp.cli._errors import CommandFailure
from smp.cli._identity import Key, ObjectIdentity, identity_of
from smp.documents import Chunk, Document
from smp.errors import ObjectError


class TextPart(msgspec.Struct, frozen=True, array_like=True):
    """The part of a file that has an object, and which of its documents it is.

    ``line`` is the one on which the part starts.
    """

    source: str
    offset: int
    length: int
    line: int
    list_of: tuple[str, str] | None
    index: int

    @classmethod
    def of(cls, chunk: Chunk, index: int) -> TextPart:
        """Return where a document of a chunk stands."""
        offset, length = chunk.offset or 0, len(chunk.data)
        return cls(chunk.source, offset, length, chunk.line, chunk.list_of, index)


class Entry(msgspec.Struct, frozen=True):
    """An object of an input, which is parsed when it is needed.

    ``data`` is its text where that is not a ``part`` of a file that can be read again,
    or not the only document in it. ``number`` counts the entries of one input from
    zero, ``occurrence`` those of them that are the same object, which is at
    ``first_place`` for the first time.
    """

    identity: ObjectIdentity
    source: str
    line: int
    data: bytes | None = None
    list_of: tuple[str, str] | None = None
    number: int = 0
    occurrence: int = 0
    first_place: str = ""
    part: TextPart | None = None
    # What the text says where a namespace was added.
    written: ObjectIdentity | None = None

    @property
    def length(self) -> int:
        """How many bytes the text has."""
        if self.data is not None:
            return len(self.data)
        return 0 if self.part is None else self.part.length

    @property
    def label(self) -> str:
        """The object for a reader."""
        return self.identity.label

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.source}:{self.line}"

    def in_namespace(self, namespace: str) -> Entry:
        """Return the entry in a namespace, if it leaves out its own.

        Go: resource.SetNamespace.
        """
        if self.identity.namespace or not namespace:
            return self
        return msgspec.structs.replace(
            self,
            identity=msgspec.structs.replace(self.identity, namespace=namespace),
            written=self.written or self.identity,
        )

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
    def label(self) -> str:
        """The object for a reader: ``apps/v1 Deployment shop/web``."""
        return identity_of(self.value).label

    @property
    def place(self) -> str:
        """The text and the line that the object is in."""
        return f"{self.document.source}:{self.document.line}"


def is_object(value: JSON) -> bool:
    """Tell whether a value is meant to be an object.

    apiVersion or kind alone is enough; looking for the schema reports what is missing.
    """
    return isinstance(value, dict) and ("apiVersion" in value or "kind" in value)


class Listing:
    """The entries of an input, which are listed as far as they have been asked for."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._listed: list[Entry] = []
        self._coming = iter(entries)

    def next(self) -> Entry | None:
        """List one more entry, or return None after the last one."""
        entry = next(self._coming, None)
        if entry is not None:
            self._listed.append(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        """Yield all entries from the first one on, listed before or now."""
        index = 0
        while index < len(self._listed) or self.next() is not None:
            yield self._listed[index]
            index += 1

    def all(self) -> list[Entry]:
        """Return all entries."""
        self._listed += self._coming
        return self._listed


class EntryPairing:
    """Which entry of another input is the same object as one of this input.

    A namespace that one side leaves out matches where there is only one candidate.
    Entries that are the same object in both inputs are paired in their order. Objects
    with a generated name are no partners of each other. (Two states of files are paired
    otherwise: StatePairing.)

    The other input is listed only until a partner is found that no other entry could be
    preferred to, so that where both have about the same order, the first objects are
    computed before the last ones are listed.
    """

    def __init__(self, entries: Listing, others: Listing) -> None:
        self._entries = entries
        self._others = others
        self._candidates: dict[Key, list[Entry]] = {}
        self._rivals: dict[Key, list[Entry]] | None = None
        self._paired: set[int] = set()

    def partner(self, entry: Entry) -> Entry | None:
        """Return the same object of the other input, or None.

        Raises Failure where several may be it.
        """
        identity = entry.identity
        # A server makes a new object of it each time.
        if identity.is_generated:
            return None
        # The same namespace, or none on both sides, is an exact match. Of several
        # documents with one object the first is paired with the first, and so on.
        same_namespace = [
            candidate
            for candidate in self._candidates.get(identity.key, [])
            if candidate.identity.namespace == identity.namespace
        ]
        partner: Entry | None
        if entry.occurrence < len(same_namespace):
            partner = same_namespace[entry.occurrence]
        else:
            partner = self._listed_until(entry) or self._without_exact_match(entry)
        if partner is not None:
            self._paired.add(partner.number)
        return partner

    def _listed_until(self, entry: Entry) -> Entry | None:
        """List the other input until the exact partner of an entry, or None."""
        while (other := self._others.next()) is not None:
            self._candidates.setdefault(other.identity.key, []).append(other)
            if (
                other.identity.key == entry.identity.key
                and other.identity.namespace == entry.identity.namespace
                and other.occurrence == entry.occurrence
            ):
                return other
        return None

    def _without_exact_match(self, entry: Entry) -> Entry | None:
        """Choose among the candidates of the same group, kind and name, all listed."""
        candidates = self._candidates.get(entry.identity.key, [])
        if not candidates:
            return None
        namespace = entry.identity.namespace
        for candidate in reversed(candidates):
            if candidate.identity.namespace == namespace:
                return candidate
        # Most inputs agree about namespaces, and never come here.
        if self._rivals is None:
            self._rivals = {}
            for rival in self._entries:
                self._rivals.setdefault(rival.identity.key, []).append(rival)
        return _likely_partner(entry, candidates, self._rivals[entry.identity.key])

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other input that were no partner so far."""
        return [other for other in self._others if other.number not in self._paired]


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

    others = [other for other in (*possible, *claimants) if other is not entry]
    raise ambiguous_namespace(entry, others)


def ambiguous_namespace(entry: Entry, others: Iterable[Entry]) -> CommandFailure:
    """Make the failure of an entry that may be each of several objects."""
    places = ", ".join([other.place for other in others])
    error = ObjectError(
        f"several objects match without a namespace: {places}",
        code="ambiguous-object",
        hint="set metadata.namespace",
    )
    return CommandFailure(error, entry, entry.label)


def _may_be_same(left: Entry, right: Entry) -> bool:
    return not (left.identity.namespace and right.identity.namespace)


class ObjectRow(msgspec.Struct, frozen=True):
    """An object of the input that a command goes through, and where the others are.

    ``problem`` is why it cannot be computed, ``notes`` are what to warn of. A row that
    ``is_removed`` is of another input, and this one lacks it; one that ``is_renamed``
    has a partner of another name.
    """

    entry: Entry
    partners: tuple[Entry | None, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()
    is_removed: bool = False
    is_renamed: bool = False

    def in_namespace_of(self, live: Entry | None) -> ObjectRow:
        """Return the row with the namespace of a live object where it leaves it out.

        A manifest leaves it to the context of kubectl, which puts it into the object;
        no apply removes it.
        """
        if live is None:
            return self
        entry = self.entry.in_namespace(live.identity.namespace)
        return msgspec.structs.replace(self, entry=entry)


class PrintedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a command finds out about one object.

    ``kind_note`` concerns all objects of the kind, and ``unchecked`` says what of the
    definition of the kind cannot be checked here. ``problem`` is why the operation
    failed, as a block for standard error.
    """

    identity: ObjectIdentity
    place: str
    kind_note: str = ""
    unchecked: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        """The object for a reader, or its place where it has no name."""
        return self.identity.label or self.place

    @property
    def verdict(self) -> str:
        """What happens to the object, in the words of the summary."""
        raise NotImplementedError

    @property
    def messages(self) -> tuple[Finding, ...]:
        """What a user should look at."""
        return ()

    @property
    def counts_set_aside(self) -> dict[str, int]:
        """How many differences do not count, by the reason."""
        return {}


class Pairing(Protocol):
    """Which entry of another input is the same object as one of this input."""

    def partner(self, entry: Entry) -> Entry | None:
        """Return the same object of the other input, or None; may raise Failure."""

    def unpaired(self) -> list[Entry]:
        """Return the entries of the other input that were no partner so far."""


def rows_of(entries: Iterable[Entry], *pairings: Pairing) -> Iterator[ObjectRow]:
    """Find the partners of entries in other inputs, and what to warn of."""
    for entry in entries:
        try:
            partners = tuple([pairing.partner(entry) for pairing in pairings])
        except CommandFailure as failure:
            yield ObjectRow(entry, problem=failure.block)
        else:
            # kubectl applies documents of one object one after the other; here each is
            # applied to what is live.
            yield ObjectRow(entry, partners, notes=entry.notes)
