"""A store in etcd, through its gRPC gateway: revisions, transactions and watches are
etcd's own.

etcd keeps its whole history unless it is told not to (``--auto-compaction-mode=revision
--auto-compaction-retention=10000``), and is to be at least 3.4.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final
from urllib.parse import urlsplit

from smp.server.store._gateway import Gateway, KeyValue, WatchEvent, WatchResponse
from smp.server.store._keys import decoded, encoded, key_range
from smp.server.store.errors import Expired, StoreError
from smp.server.store.feed import HISTORY, PROGRESS, Batch, Feed, check_present
from smp.server.store.model import Event, Page, Stored, Writes, changed

_PORT: Final = 2379
_TIMEOUT: Final = 5.0  # seconds
_CHUNK: Final = 500  # keys in an answer
_MAX: Final = (1 << 63) - 1  # revisions are 64 bit numbers


class EtcdStore(Writes):
    """The keys below a root; other roots, and whatever else is in the same etcd, are
    left alone.

    The URL is ``etcd://HOST[:PORT][/ROOT]``, anything else a StoreError; ``timeout`` is
    in seconds. Below the root are the objects, and a key that is written where changes
    elsewhere made the revision grow: once the watch has shown it, every change before
    has been seen.
    """

    def __init__(
        self,
        url: str,
        *,
        history: int = HISTORY,
        progress: float = PROGRESS,
        timeout: float = _TIMEOUT,
    ) -> None:
        address, root = _parsed(url)
        self._root = f"/{root}/"
        self._objects = f"{self._root}objects/"
        self._beat = f"{self._root}progress"
        self._gateway = Gateway(f"http://{address}", timeout=timeout, silence=progress)
        self._feed = Feed(self, history=history, progress=progress)

    async def get(self, key: str) -> Stored | None:
        """Return the present value of a key."""
        found = await self._gateway.range({"key": encoded(self._objects + key)})
        return self._stored(found.kvs[0]) if found.kvs else None

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot, read in chunks."""
        items: tuple[Stored, ...] = ()
        remaining = 1
        while remaining and not (limit and len(items) == limit):
            size = min(_CHUNK, limit - len(items)) if limit else _CHUNK
            page = await self._chunk(
                prefix, items[-1].key if items else after, size, revision
            )
            items, revision, remaining = (
                (*items, *page.items),
                page.revision,
                page.remaining,
            )
        return Page(items, revision, remaining)

    async def revision(self) -> int:
        """Return the revision of the last write to etcd."""
        return (await self._gateway.range({"key": encoded(self._beat)})).header.revision

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        return self._feed.watch(prefix, since)

    async def close(self) -> None:
        """End the watches and close the connections."""
        await self._feed.close()
        await self._gateway.close()

    async def origin(self) -> int:
        """Return the present revision, and move on from it, so that a watch has
        something to show.
        """
        current = await self.revision()
        await self._gateway.txn(
            {"success": [{"request_put": {"key": encoded(self._beat)}}]}
        )
        return current

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision; in silence, make sure that nothing is
        missed.
        """
        start, end = key_range(self._root)
        while True:
            watch = {
                "key": start,
                "range_end": end,
                "start_revision": since + 1,
                "prev_kv": True,
            }
            async with aclosing(
                self._gateway.watch({"create_request": watch})
            ) as responses:
                async for response in responses:
                    if response.events:
                        since = response.events[-1].kv.mod_revision
                        yield self._events(response), since
                    elif response.canceled:
                        raise (
                            Expired(since)
                            if response.compact_revision
                            else StoreError(response.cancel_reason)
                        )
            current = await self.revision()
            check_present(since, current)
            if since < current:
                await self.origin()

    async def _change(self, key: str, value: bytes | None, last: int) -> int | None:
        name = encoded(self._objects + key)
        same = {"key": name, "target": "MOD", "mod_revision": min(last, _MAX)}
        put = {"request_put": {"key": name, "value": value}}
        write = {"request_delete_range": {"key": name}} if value is None else put
        response = await self._gateway.txn({"compare": [same], "success": [write]})
        return response.header.revision if response.succeeded else None

    async def _chunk(self, prefix: str, after: str, limit: int, revision: int) -> Page:
        start, end = key_range(self._objects + prefix, after and self._objects + after)
        request = {
            "key": start,
            "range_end": end,
            "limit": limit,
            "revision": min(revision, _MAX),
        }
        found = await self._gateway.range(request)
        items = tuple(map(self._stored, found.kvs))
        return Page(items, revision or found.header.revision, found.count - len(items))

    def _stored(self, found: KeyValue) -> Stored:
        return Stored(
            decoded(found.key).removeprefix(self._objects),
            found.value,
            found.mod_revision,
        )

    def _events(self, response: WatchResponse) -> Sequence[Event]:
        mine = encoded(self._objects)
        return [
            self._event(event)
            for event in response.events
            if event.kv.key.startswith(mine)
        ]

    def _event(self, event: WatchEvent) -> Event:
        new = self._stored(event.kv)
        if event.prev_kv is None and event.kv.version != 1:
            raise Expired(new.revision)  # what it replaced is gone
        before = self._stored(event.prev_kv) if event.prev_kv else None
        return changed(
            new.key, None if event.type == "DELETE" else new.value, new.revision, before
        )


def _parsed(url: str) -> tuple[str, str]:
    """Return host and port, and the root."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    root = parts.path.strip("/") or "smp"
    if (
        not parts.hostname
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or "/" in root
    ):
        raise StoreError(
            "the URL of etcd is etcd://HOST[:PORT][/ROOT]", code="invalid-store-url"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}", root
