"""The contract of a store: keys with values, a revision for every change, a history.

The contract is that of etcd, on which Kubernetes builds its resourceVersion and its
watches: one counter for the whole store grows with every write; a write names the
revision that it replaces; a snapshot and a watch may begin at any revision that has
not been compacted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import Final, Literal, Protocol

import msgspec

from smp.errors import SmpError


class StoreError(SmpError):
    """A store that cannot be reached, read or written; the write was not executed."""

    default_code = "store-unavailable"
    status = 503


class ClosedError(StoreError):
    """A store that was closed."""

    default_code = "store-closed"

    def __init__(self) -> None:
        super().__init__("the store is closed")


class OutcomeUnknownError(StoreError):
    """A write that may or may not have been executed: only reading again tells."""

    default_code = "outcome-unknown"
    status = 504


class ChangedError(SmpError):
    """A key was written that a write expected to be unchanged; nothing was written."""

    default_code = "changed"
    status = 409

    def __init__(self) -> None:
        super().__init__("a key that was to be unchanged was changed")


class ValueTooLargeError(StoreError):
    """A value larger than the store accepts; the write was not executed."""

    default_code = "value-too-large"
    status = 413


class Expired(SmpError):  # noqa: N818 - the reason that Kubernetes gives: Expired
    """A revision whose history was compacted: list again, and watch from there."""

    default_code = "expired"
    status = 410

    def __init__(self, revision: int) -> None:
        super().__init__(
            f"revision {revision} has been compacted",
            hint="list again and watch from there",
        )
        self.revision = revision


class FutureRevisionError(SmpError):
    """A revision that the store has not reached; API servers answer a timeout.

    Clients know it by its words. Go: NewTooLargeResourceVersionError in
    k8s.io/apiserver, pkg/storage/errors.go.
    """

    default_code = "future-revision"
    status = 504

    def __init__(self, revision: int, current: int | None = None) -> None:
        now = "" if current is None else f", current: {current}"
        super().__init__(f"Too large resource version: {revision}{now}")
        self.revision = revision


def check_reached(revision: int, current: int) -> None:
    """Raise FutureRevisionError for a revision that the store has not reached."""
    if revision > current:
        raise FutureRevisionError(revision, current)


# The revision of a store that was never written, as etcd counts; revisions are above 0.
FIRST_REVISION: Final = 1


class Stored(msgspec.Struct, frozen=True):
    """A key and its value, with the revision of its last write."""

    key: str
    value: bytes
    revision: int


class Event(msgspec.Struct, frozen=True):
    """A change of a key, and what the key held ``before`` it.

    The value of a delete is the last one. A ``progress`` event has no key: every change
    up to its revision has been delivered.
    """

    type: Literal["put", "delete", "progress"]
    key: str
    value: bytes
    revision: int
    before: Stored | None = None


def change_event(
    key: str, value: bytes | None, revision: int, before: Stored | None
) -> Event:
    """Make the event of a change; a value of None is a delete."""
    # Clients of a watch get a deleted object as it was last.
    if value is None:
        last_value = before.value if before else b""
        return Event("delete", key, last_value, revision, before)
    return Event("put", key, value, revision, before)


class Page(msgspec.Struct, frozen=True):
    """A part of a snapshot.

    ``revision`` is that of the snapshot, ``remaining`` the number of keys after the
    last item.
    """

    items: tuple[Stored, ...]
    revision: int
    remaining: int = 0

    @property
    def more(self) -> bool:
        """Whether to continue after the key of the last item."""
        return self.remaining > 0


class Store(Protocol):
    """Keys and values with optimistic concurrency, snapshots and watches.

    A key is any text but the empty one; keys are ordered by code points. Revisions grow
    with every write to the store. A read that starts after a write was acknowledged
    returns what was written. Any method may raise StoreError, a write also
    OutcomeUnknownError and TooLargeError; a write whose task is cancelled may or may
    not be executed.
    """

    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        ...

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return the keys with a prefix, in order, that come after a key.

        A ``limit`` of 0 means no limit. A revision other than 0 selects the snapshot.
        Raises Expired and FutureRevisionError.
        """
        ...

    async def create(
        self, key: str, value: bytes, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Write a new key and return the revision; None where the key exists.

        Raises ChangedError where one of the ``unchanged`` keys was written, or deleted,
        since it was read.
        """
        ...

    async def swap(
        self, key: str, value: bytes, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Replace the value written at a revision, and return the new revision.

        None where the key was written since; raises what ``create`` raises.
        """
        ...

    async def delete(
        self, key: str, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Delete the value written at a revision, and return the new revision.

        None where the key was written since; raises what ``create`` raises.
        """
        ...

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix: every change after a revision, once, in order.

        A progress event comes after some seconds without changes. Ends when the store
        is closed. Raises FutureRevisionError at the start, and Expired at any time,
        where the history was compacted.
        """
        ...

    async def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    async def maintain(self) -> None:
        """Do what a store in use needs, such as compacting it, until cancelled."""
        ...

    async def close(self) -> None:
        """End the watches, finish the writes and release all resources."""
        ...


class Writes(ABC):
    """The three writes of a store as one compare-and-swap."""

    @abstractmethod
    async def _change(
        self,
        key: str,
        value: bytes | None,
        last: int,
        unchanged: Sequence[Stored] = (),
    ) -> int | None:
        """Write a value, or with None delete the key, if ``last`` wrote it last.

        A ``last`` of 0: the key must not exist. Returns the new revision, or None where
        the condition does not hold. Raises ChangedError where it holds, but one of the
        ``unchanged`` keys was written or deleted since.
        """

    async def create(
        self, key: str, value: bytes, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Write a new key."""
        if not key:
            raise StoreError("a key must not be empty", code="empty-key")
        return await self._change(key, value, 0, unchanged)

    # A revision of 0 would mean "the key must not exist" to _change, so it is answered
    # here: no key was ever written at it.

    async def swap(
        self, key: str, value: bytes, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Replace a value."""
        if revision <= 0:
            return None
        return await self._change(key, value, revision, unchanged)

    async def delete(
        self, key: str, revision: int, unchanged: Sequence[Stored] = ()
    ) -> int | None:
        """Delete a value."""
        if revision <= 0:
            return None
        return await self._change(key, None, revision, unchanged)
