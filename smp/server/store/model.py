"""What every store is: keys to bytes, every change with a revision of its own, and a
history to watch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from smp.server.store.errors import StoreError

# The revision of a store that was never written, as etcd counts; 0 is no revision.
FIRST_REVISION: Final = 1


@dataclass(frozen=True, slots=True)
class Stored:
    """A key and its value, with the revision of its last write."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Event:
    """A change, and what was there before it.

    The value of a delete is the last one. A ``progress`` has no key: it says that every
    change up to its revision has been given.
    """

    kind: Literal["put", "delete", "progress"]
    key: str
    value: bytes
    revision: int
    before: Stored | None = None

    @property
    def created(self) -> bool:
        """Whether the key did not exist."""
        return self.kind == "put" and self.before is None

    @property
    def previous(self) -> bytes | None:
        """The value before the change; None where there was none."""
        return self.before.value if self.before else None


def changed(
    key: str, value: bytes | None, revision: int, before: Stored | None
) -> Event:
    """Make the event of a change; no value is a delete."""
    if value is None:
        return Event("delete", key, before.value if before else b"", revision, before)
    return Event("put", key, value, revision, before)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a snapshot: its revision, and how many keys ``remaining`` come after
    the last item.
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

    A key is any text but the empty one, ordered by code points. Revisions grow with
    every write to the store. A read that starts after a write was acknowledged sees it.
    Any method may raise StoreError, a write OutcomeUnknownError or TooLargeError; a
    write whose task is cancelled may or may not happen.
    """

    async def get(self, key: str) -> Stored | None:
        """Return the present value of a key."""
        ...

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return the keys with a prefix, in order, that come after a key; at most
        ``limit`` where it is not 0.

        A revision other than 0 pins the snapshot. Raises Expired and
        FutureRevisionError.
        """
        ...

    async def create(self, key: str, value: bytes) -> int | None:
        """Write a new key and return the revision; None where the key exists."""
        ...

    async def swap(self, key: str, value: bytes, revision: int) -> int | None:
        """Replace the value last written at a revision; None where that is not the
        present one.
        """
        ...

    async def delete(self, key: str, revision: int) -> int | None:
        """Delete the value last written at a revision and return the new one; None
        where it is not the present one.
        """
        ...

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix: every change after a revision, once, in order.

        A progress event comes after some quiet seconds. Ends when the store is closed.
        Raises Expired, at any time, where the history is gone, and FutureRevisionError
        at the start.
        """
        ...

    async def revision(self) -> int:
        """Return the revision of the last write."""
        ...

    async def close(self) -> None:
        """End the watches, finish the writes and let go of everything."""
        ...


class Writes(ABC):
    """The three writes as one: a change of a key whose last write is known, 0 where
    there is none.
    """

    @abstractmethod
    async def _change(self, key: str, value: bytes | None, last: int) -> int | None: ...

    async def create(self, key: str, value: bytes) -> int | None:
        """Write a new key."""
        if not key:
            raise StoreError("a key is not empty", code="empty-key")
        return await self._change(key, value, 0)

    async def swap(self, key: str, value: bytes, revision: int) -> int | None:
        """Replace a value."""
        return await self._change(key, value, revision) if revision > 0 else None

    async def delete(self, key: str, revision: int) -> int | None:
        """Delete a value."""
        return await self._change(key, None, revision) if revision > 0 else None
