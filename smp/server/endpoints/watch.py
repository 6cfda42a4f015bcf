"""Watches: the objects that exist, if the client asks for them, then every change.

The answer is a stream of JSON lines without a fixed end. Three parts make it:
``_watch_events`` reads the store and yields lines, ``WatchEncoder`` makes lines of
objects and changes, ``Stream`` is the ASGI response that sends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import to_status
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import key_prefix
from smp.server.endpoints.lists import render, seconds_to_render
from smp.server.metrics import labels_of
from smp.server.registry.envelope import served, unpack
from smp.server.registry.objects import lost_revisions, snapshot
from smp.server.store import Event, Stored, check_reached
from smp.wire import encode

_NOTHING: Final[JSONObject] = {}
_INITIAL_END: Final[JSONObject] = {"annotations": {"k8s.io/initial-events-end": "true"}}
_START: Final[Message] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-cache, private"),
    ],
}


def watch(call: Call) -> Stream:
    """Answer a watch."""
    settings = call.state.settings
    return Stream(
        _watch_events(call),
        call.state.stopping,
        seconds=call.list_options.timeout or settings.watch_timeout,
        send_timeout=settings.send_timeout,
    )


async def _watch_events(call: Call) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a watch; an error is its last event, as of an API server."""
    encoder, options = WatchEncoder(call), call.list_options
    store, prefix = call.state.store, key_prefix(call.target, options)
    since = options.revision or 0
    resource = call.target.resource
    watches = call.state.metrics.watches.labels(*labels_of(resource))
    watches.inc()
    call.state.watches += 1
    try:
        with lost_revisions():
            # Without a resourceVersion a watch begins with the objects that exist ("Get
            # State and Start at Most Recent" in the Kubernetes documentation). With
            # one, sendInitialEvents asks for them (a streaming list).
            if options.initial_events or not since:
                pages = snapshot(store, prefix)
                async with aclosing(pages):
                    async for page in pages:
                        since = page.revision
                        check_reached(options.revision or 0, since)
                        for item in await encoder.selected(page.items):
                            yield await encoder.object_line("ADDED", item)
                if options.initial_events and options.bookmarks:
                    yield encoder.bookmark(since, _INITIAL_END)
            events = store.watch(prefix, since)
            async with aclosing(events):
                async for event in events:
                    # Many watches get a change at one time: they take turns, so that
                    # requests are answered between them.
                    async with call.state.turns:
                        line = await encoder.change(event)
                        await asyncio.sleep(0)
                    if line:
                        yield line
    except SmpError as error:
        # The status 200 was sent already, so the error is an event.
        yield _event_line("ERROR", to_status(error).body)
    finally:
        watches.dec()
        call.state.watches -= 1


class WatchEncoder:
    """Makes the lines of one watch, with objects in the form that was asked for."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._options = call.list_options
        self._send_columns = True

    async def selected(self, items: Sequence[Stored]) -> list[Stored]:
        """Return the objects that are selected."""
        if not self._options.has_selector:
            return [*items]
        # A change is selected by all watches at one time.
        watches = self._call.state.watches
        seconds = self._options.seconds_to_select(items) * max(watches, 1)
        selected, _ = await self._call.work(seconds, self._options.select, items, None)
        return selected

    async def change(self, event: Event) -> bytes:
        """Return the event of a change, or nothing where no event is to be sent.

        To a client with a selector an object that begins to be selected is added, and
        one that no longer is selected is deleted. A deleted object is sent as it was,
        with the resourceVersion of its deletion.
        """
        if event.type == "progress":
            # Bookmarks go only to clients that set allowWatchBookmarks.
            return self.bookmark(event.revision) if self._options.bookmarks else b""
        before, after = event.before, None
        if event.type == "put":
            after = Stored(event.key, event.value, event.revision)
        selected = await self.selected([item for item in (before, after) if item])
        was_selected = before in selected
        if after and after in selected:
            event_type = "MODIFIED" if was_selected else "ADDED"
            return await self.object_line(event_type, after)
        if before and was_selected:
            item = Stored(event.key, before.value, event.revision)
            return await self.object_line("DELETED", item)
        return b""

    def bookmark(self, revision: int, metadata: JSONObject = _NOTHING) -> bytes:
        """Return the event that all changes up to a revision were sent."""
        resource = self._call.target.resource
        return self._rendered(
            "BOOKMARK",
            {
                "kind": resource.kind,
                "apiVersion": resource.api_version,
                "metadata": {"resourceVersion": str(revision), **metadata},
            },
        )

    async def object_line(self, event_type: str, item: Stored) -> bytes:
        """Return an event with an object."""
        call, resource = self._call, self._call.target.resource
        call.state.metrics.events.labels(*labels_of(resource)).inc()
        if call.format.form == "object":
            return _event_line(event_type, served(item, resource))
        line = await call.work(
            seconds_to_render(call, len(item.value)),
            lambda: self._rendered(event_type, unpack(item, resource)),
        )
        # Only the first Table of a watch has the definitions of the columns.
        self._send_columns = False
        return line

    def _rendered(self, event_type: str, obj: JSONObject) -> bytes:
        rendered = render(self._call, obj)
        if "columnDefinitions" in rendered and not self._send_columns:
            rendered = {**rendered, "columnDefinitions": None}
        return _event_line(event_type, encode(rendered))


def _event_line(event_type: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), obj)


class Stream:
    """An ASGI response that sends each line at once, and holds no more than one.

    It ends with the lines, after so many ``seconds``, when ``stopping`` is set, when
    the client disconnects, and when the client reads nothing for ``send_timeout``
    seconds.
    """

    def __init__(
        self,
        lines: AsyncGenerator[bytes, None],
        stopping: asyncio.Event,
        *,
        seconds: float,
        send_timeout: float,
    ) -> None:
        self._lines = lines
        self._stopping = stopping
        self._seconds = seconds
        self._send_timeout = send_timeout

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send(_START)

        async def send_body(body: bytes, *, more: bool) -> None:
            async with asyncio.timeout(self._send_timeout):
                await send(
                    {"type": "http.response.body", "body": body, "more_body": more}
                )

        async def send_lines() -> None:
            async with aclosing(self._lines):
                async for line in self._lines:
                    await send_body(line, more=True)

        async def wait_for_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        # The first one to end ends the response.
        sender = asyncio.create_task(send_lines())
        ends = [
            asyncio.create_task(wait_for_disconnect()),
            asyncio.create_task(self._stopping.wait()),
        ]
        try:
            await asyncio.wait(
                [sender, *ends],
                timeout=self._seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for task in (sender, *ends):
                task.cancel()
            await asyncio.gather(sender, *ends, return_exceptions=True)
        # The last chunk tells the client that the watch ended in order, and not by a
        # broken connection. TimeoutError: it reads nothing any more.
        with suppress(TimeoutError):
            if not sender.cancelled():
                sender.result()  # raises what went wrong
            await send_body(b"", more=False)
