"""Reading collections page by page, so that never more than a page is in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Final

from smp.errors import SmpError
from smp.server.store import FutureRevisionError, Page, Store

_PAGE: Final = 500


class LostRevisionError(SmpError):
    """A revision that a client has seen and the store does not have any more.

    The store is not the one that the client has seen, or was restored from a backup.
    API servers, whose stores lose nothing, answer such a revision with a timeout (it
    may come yet); this error makes the client list again.
    """

    default_code = "lost-revision"
    status = 410


async def snapshot(
    store: Store, prefix: str, *, after: str = "", revision: int = 0, size: int = _PAGE
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a snapshot: one at least, which may be empty.

    Raises Expired and FutureRevisionError.
    """
    while True:
        page = await store.list(prefix, limit=size, after=after, revision=revision)
        yield page
        await asyncio.sleep(0)  # other tasks run, even if the store never waits
        if not page.more:
            return
        after, revision = page.items[-1].key, page.revision


@contextmanager
def lost_revisions() -> Iterator[None]:
    """Raise LostRevisionError for a FutureRevisionError in the block."""
    try:
        yield
    except FutureRevisionError as error:
        raise LostRevisionError(f"{error.problem}: its history is incomplete") from None
