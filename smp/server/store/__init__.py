"""Where the server keeps its objects: in memory, in a SQLite file or in etcd.

All stores have the same contract, that of ``Store``.
"""

from __future__ import annotations

from smp.server.store.base import Store
from smp.server.store.model import (
    ChangedError,
    Event,
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    Page,
    Stored,
    StoreError,
    ValueTooLargeError,
    check_reached,
)
from smp.server.store.opening import open_store

__all__ = [
    "ChangedError",
    "Event",
    "Expired",
    "FutureRevisionError",
    "OutcomeUnknownError",
    "Page",
    "Store",
    "StoreError",
    "Stored",
    "ValueTooLargeError",
    "check_reached",
    "open_store",
]
