"""Where the server keeps its objects: in memory, in a SQLite file or in etcd, all with
the same contract.
"""

from __future__ import annotations

from smp.server.store.errors import (
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    StoreError,
    TooLargeError,
)
from smp.server.store.feed import HISTORY, PROGRESS
from smp.server.store.model import Event, Page, Store, Stored

__all__ = [
    "Event",
    "Expired",
    "FutureRevisionError",
    "OutcomeUnknownError",
    "Page",
    "Store",
    "StoreError",
    "Stored",
    "TooLargeError",
    "open_store",
]


def open_store(
    url: str, *, history: int = HISTORY, progress: float = PROGRESS
) -> Store:
    """Open the store of a URL: ``memory:``, ``sqlite:PATH`` or
    ``etcd://HOST[:PORT][/ROOT]``.

    The last ``history`` changes are kept in memory for watches, and in the file; etcd
    has its own history. A watch tells its ``progress`` after so many quiet seconds.
    Raises StoreError for any other URL (``invalid-store-url``) and for a file that
    cannot be used (``unusable-store``); etcd is not reached before it is used.
    """
    scheme, _, place = url.partition(":")
    if url == "memory:":
        from smp.server.store.memory import MemoryStore

        return MemoryStore(history=history, progress=progress)
    if scheme == "sqlite" and place not in ("", ":memory:"):
        from smp.server.store.sqlite import SQLiteStore

        return SQLiteStore(place, history=history, progress=progress)
    if scheme == "etcd":
        from smp.server.store.etcd import EtcdStore

        return EtcdStore(url, history=history, progress=progress)
    raise StoreError(
        "the URL of a store is memory:, sqlite:PATH or etcd://HOST:PORT",
        code="invalid-store-url",
    )
