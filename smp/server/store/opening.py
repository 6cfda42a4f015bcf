"""From the URL of a store to the store."""

from __future__ import annotations

from smp.server.store.base import HISTORY, PROGRESS, Store
from smp.server.store.memory import MemoryStore
from smp.server.store.model import StoreError
from smp.server.store.sqlite import SQLiteStore


def open_store(
    url: str, *, history: int = HISTORY, progress: float = PROGRESS
) -> Store:
    """Open the store of a URL: ``memory:``, ``sqlite:PATH`` or one of etcd.

    Raises StoreError for any other URL (``invalid-store-url``) and for a file that
    cannot be used (``unusable-store``); etcd is not contacted before it is used.
    """
    scheme, _, path = url.partition(":")
    if url == "memory:":
        return MemoryStore(history=history, progress=progress)
    # sqlite::memory: is refused: each connection would get a database of its own.
    if scheme == "sqlite" and path not in ("", ":memory:"):
        return SQLiteStore(path, history=history, progress=progress)
    if scheme == "etcd":
        # It takes a tenth of the start of a server to import what only etcd needs.
        from smp.server.store.etcd import EtcdStore  # noqa: PLC0415 - see above

        return EtcdStore(url, history=history, progress=progress)
    raise StoreError(
        "the URL of a store is memory:, sqlite:PATH or etcd://HOST:PORT",
        code="invalid-store-url",
    )
