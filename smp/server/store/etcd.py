"""A store in etcd, through its gRPC gateway.

Revisions, transactions and watches are etcd's own. etcd keeps its whole history unless
it is started with ``--auto-compaction-mode=revision --auto-compaction-retention=10000``
or the like. It must be 3.4 or newer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from urllib.parse import urlsplit

from smp.server.store._gateway import Gateway, KeyValue, WatchEvent
from smp.server.store._keys import decoded, encoded, key_range
from smp.server.store.errors import Expired, StoreError, check_reached
from smp.server.store.feed import HISTORY, PROGRESS, Batch, Feed
from smp.server.store.model import Event, Page, Stored, Writes, change_event

_PORT: Final = 2379
_TIMEOUT: Final = 5.0  # seconds
_CHUNK: Final = 500  # keys in an answer
_MAX: Final = (1 << 63) - 1  # revisions are 64 bit numbers


class EtcdStore(Writes):
    """The keys below a root; everything else in the same etcd is left alone.

    The URL is ``etcd://HOST[:PORT][/ROOT]``, any other is a StoreError; ``timeout`` is
    in seconds. ROOT/objects/ holds the objects. ROOT/progress is written when the
    revision of etcd grew by changes outside of the root: its own revision is greater
    than theirs, so once the watch has delivered it, no change before is missing.
    """

    def __init__(
        self,
        url: str,
        *,
        history: int = HISTORY,
        progress: float = PROGRESS,
        timeout: float = _TIMEOUT,
    ) -> None:
        address, root = _parse_url(url)
        self._root = f"/{root}/"
        self._objects = f"{self._root}objects/"
        self._progress_key = encoded(f"{self._root}progress")
        self._gateway = Gateway(f"http://{address}", timeout=timeout, silence=progress)
        self._feed = Feed(self, history=history, progress=progress)

    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        response = await self._gateway.range({"key": encoded(self._objects + key)})
        return self._stored(response.kvs[0]) if response.kvs else None

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return a page of a snapshot, read in chunks."""
        items: list[Stored] = []
        while True:
            start, end = key_range(
                self._objects + prefix, after and self._objects + after
            )
            size = min(_CHUNK, limit - len(items)) if limit else _CHUNK
            request = {
                "key": start,
                "range_end": end,
                "limit": size,
                "revision": min(revision, _MAX),
            }
            response = await self._gateway.range(request)
            items.extend(self._stored(entry) for entry in response.kvs)
            # The further chunks come from the snapshot of the first one.
            revision = revision or response.header.revision
            remaining = response.count - len(response.kvs)
            if not remaining or (limit and len(items) == limit):
                return Page(tuple(items), revision, remaining)
            after = items[-1].key

    async def revision(self) -> int:
        """Return the revision of the last write to etcd."""
        response = await self._gateway.range({"key": self._progress_key})
        return response.header.revision

    def watch(self, prefix: str, since: int) -> AsyncGenerator[Event, None]:
        """Follow the keys with a prefix."""
        return self._feed.watch(prefix, since)

    async def close(self) -> None:
        """End the watches and close the connections."""
        await self._feed.close()
        await self._gateway.close()

    async def origin(self) -> int:
        """Return the current revision, and write, so that a watch will pass it."""
        current = await self.revision()
        put = {"request_put": {"key": self._progress_key}}
        await self._gateway.txn({"success": [put]})
        return current

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision."""
        start, end = key_range(self._root)
        objects = encoded(self._objects)
        while True:
            watch = {
                "key": start,
                "range_end": end,
                "start_revision": since + 1,
                "prev_kv": True,
            }
            responses = self._gateway.watch({"create_request": watch})
            async with aclosing(responses):
                async for response in responses:
                    if response.events:
                        # All changes of a revision come in one response.
                        since = response.events[-1].kv.mod_revision
                        events = [
                            self._event(event)
                            for event in response.events
                            if event.kv.key.startswith(objects)
                        ]
                        yield events, since
                    # Neither: the answer to the creation of the watch.
                    elif response.canceled and response.compact_revision:
                        raise Expired(since)
                    elif response.canceled:
                        raise StoreError(response.cancel_reason)
            # The watch was quiet. Where etcd was written to meanwhile, make it deliver
            # something, so that the watchers learn that nothing here was changed.
            current = await self.revision()
            check_reached(since, current)
            if since < current:
                await self.origin()

    async def _change(self, key: str, value: bytes | None, last: int) -> int | None:
        name = encoded(self._objects + key)
        # The compare-and-swap: the last change of the key must have been ``last``. etcd
        # takes 0 for the revision of a key that does not exist.
        compare = {"key": name, "target": "MOD", "mod_revision": min(last, _MAX)}
        if value is None:
            write = {"request_delete_range": {"key": name}}
        else:
            write = {"request_put": {"key": name, "value": value}}
        response = await self._gateway.txn({"compare": [compare], "success": [write]})
        return response.header.revision if response.succeeded else None

    def _stored(self, entry: KeyValue) -> Stored:
        key = decoded(entry.key).removeprefix(self._objects)
        return Stored(key, entry.value, entry.mod_revision)

    def _event(self, event: WatchEvent) -> Event:
        new = self._stored(event.kv)
        # Only a creation (version 1) has no value before it. Otherwise the value was
        # compacted, and the event would look like a creation.
        if event.prev_kv is None and event.kv.version != 1:
            raise Expired(new.revision)
        before = self._stored(event.prev_kv) if event.prev_kv else None
        value = None if event.type == "DELETE" else new.value
        return change_event(new.key, value, new.revision, before)


def _parse_url(url: str) -> tuple[str, str]:
    """Return HOST:PORT, and the root."""
    problem = StoreError(
        "the URL of etcd is etcd://HOST[:PORT][/ROOT]", code="invalid-store-url"
    )
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
    except ValueError:
        raise problem from None
    root = parts.path.strip("/") or "smp"
    # Credentials and options would be ignored, so they are refused.
    has_more = "@" in parts.netloc or parts.query or parts.fragment
    if not parts.hostname or has_more or "/" in root:
        raise problem
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}", root
