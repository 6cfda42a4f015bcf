"""A store in etcd, through its JSON gateway.

Revisions, transactions and watches are etcd's own. It must be 3.4 or newer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final

from smp.server.store._etcd_client import (
    Client,
    KeyValue,
    WatchEvent,
    parse_url,
)
from smp.server.store.base import HISTORY, PROGRESS, Batch, Store
from smp.server.store.model import (
    ChangedError,
    Event,
    Expired,
    Page,
    Stored,
    StoreError,
    change_event,
    check_reached,
    decode,
    encode,
    key_range,
)

_TIMEOUT: Final = 5.0  # seconds
_CHUNK: Final = 500  # keys in an answer
_MAX: Final = (1 << 63) - 1  # revisions are 64 bit numbers


class EtcdStore(Store):
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
        super().__init__(history=history, progress=progress)
        address, root = parse_url(url)
        self._root = f"/{root}/"
        self._objects = f"{self._root}objects/"
        self._progress_key = encode(f"{self._root}progress")
        self._client = Client(address, timeout=timeout, silence=progress)

    async def get(self, key: str) -> Stored | None:
        """Return the current value of a key."""
        response = await self._client.range(encode(self._objects + key))
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
            response = await self._client.range(
                start, end, limit=size, revision=min(revision, _MAX)
            )
            items.extend(self._stored(entry) for entry in response.kvs)
            # The further chunks come from the snapshot of the first one.
            revision = revision or response.revision
            remaining = response.count - len(response.kvs)
            if not remaining or (limit and len(items) == limit):
                return Page(tuple(items), revision, remaining)
            after = items[-1].key

    async def close(self) -> None:
        """End the watches and close the connections."""
        await super().close()
        await self._client.close()

    async def revision(self) -> int:
        """Return the revision of the last write to etcd."""
        response = await self._client.range(self._progress_key)
        return response.revision

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        """Follow every change after a revision."""
        start, end = key_range(self._root)
        objects = encode(self._objects)
        while True:
            responses = self._client.watch(start, end, since + 1)
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
                        raise StoreError(f"etcd: {response.cancel_reason}")
            # The watch was quiet. Where etcd was written to meanwhile, make it deliver
            # something, so that the watchers learn that nothing here was changed.
            current = await self.revision()
            check_reached(since, current)
            if since < current:
                await self._client.txn([], [_put(self._progress_key)])

    async def _change(
        self, key: str, value: bytes | None, last: int, unchanged: Sequence[Stored]
    ) -> int | None:
        name = encode(self._objects + key)
        # The compare-and-swap: the last change of the key must have been ``last``. etcd
        # takes 0 for the revision of a key that does not exist.
        compare = [_is_at(name, min(last, _MAX))]
        compare += [
            _is_at(encode(self._objects + other.key), other.revision)
            for other in unchanged
        ]
        # Which of the conditions does not hold is a question of its own.
        response = await self._client.txn(
            compare,
            [{"request_delete_range": {"key": name}}]
            if value is None
            else [_put(name, value)],
            [{"request_range": {"key": name}}] if unchanged else [],
        )
        if response.succeeded:
            return response.revision
        if unchanged:
            found = response.responses[0]["response_range"].kvs
            if (found[0].mod_revision if found else 0) == last:
                raise ChangedError
        return None

    def _stored(self, entry: KeyValue) -> Stored:
        key = decode(entry.key).removeprefix(self._objects)
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


def _put(key: bytes, value: bytes = b"") -> dict[str, Any]:
    return {"request_put": {"key": key, "value": value}}


def _is_at(key: bytes, revision: int) -> dict[str, Any]:
    return {"target": "MOD", "key": key, "mod_revision": revision}
