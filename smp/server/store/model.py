"""What stores hold and answer: keys with values, revisions, changes and errors."""

from __future__ import annotations

from typing import Final, Literal

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


# Keys as bytes are in UTF-8: the order of its bytes is the order of code points.


def encode(key: str) -> bytes:
    """Encode any text, even one with lone surrogates, which JSON can escape."""
    return key.encode("utf-8", "surrogatepass")


def decode(key: bytes) -> str:
    """Decode what ``encode`` returned."""
    return key.decode("utf-8", "surrogatepass")


def following(key: bytes) -> bytes:
    """Return the smallest key that is greater than a key."""
    return key + b"\0"


def key_range(prefix: str, after: str = "") -> tuple[bytes, bytes]:
    """Return the range of the keys with a prefix that come after a key.

    The range includes its start and excludes its end.
    """
    start = encode(prefix)
    end = start + b"\xff"  # greater than any key with the prefix: no UTF-8 has 0xff
    if after:
        start = max(start, following(encode(after)))
    return start, end
