"""Reading collections: snapshots in pages, so that no more than a page is held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Final

from smp.errors import SmpError
from smp.server.store import FutureRevisionError, Page, Store

_PAGE: Final = 500


class LostRevisionError(SmpError):
    """A revision that a client knows and the store does not: it is not the store that
    the client has seen.

    API servers, whose stores lose nothing, answer a timeout; this tells the client to
    list again.
    """

    default_code = "lost-revision"
    status = 410


async def snapshot(
    store: Store, prefix: str, *, after: str = "", revision: int = 0, size: int = _PAGE
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a snapshot: one at least, which may be empty. Raises Expired
    and FutureRevisionError.
    """
    more = True
    while more:
        page = await store.list(prefix, limit=size, after=after, revision=revision)
        yield page
        await asyncio.sleep(0)  # others may have their turn, whatever the store does
        after, revision, more = (
            page.items[-1].key if page.items else after,
            page.revision,
            page.more,
        )


def check_reached(revision: int | None, store_revision: int) -> None:
    """Raise FutureRevisionError where a client has seen more than the store."""
    if revision and store_revision < revision:
        raise FutureRevisionError(revision, store_revision)


@contextmanager
def from_another_store() -> Iterator[None]:
    """Turn FutureRevisionError into LostRevisionError."""
    try:
        yield
    except FutureRevisionError as error:
        raise LostRevisionError(f"{error.problem}: the store has lost it") from None
