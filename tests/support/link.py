"""A link of a network that can be cut: connections stay open, and pass no bytes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Link:
    """Passes the bytes of each connection to an address on this machine, and back."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._loop = asyncio.new_event_loop()
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def cut(self) -> None:
        """Pass no more bytes until the link is mended."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self) -> None:
        """Pass what was sent meanwhile, and go on."""
        self._loop.call_soon_threadsafe(self._whole.set)

    def run(self, ready: threading.Event) -> None:
        """Pass bytes until the loop is stopped."""
        asyncio.set_event_loop(self._loop)
        starting = asyncio.start_server(self._accept, "127.0.0.1", 0)
        server = self._loop.run_until_complete(starting)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    def stop(self) -> None:
        """End the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Until the connections are closed.
        await asyncio.sleep(0.05)

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._whole.wait()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._pass(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        try:
            with suppress(ConnectionError):
                while data := await source.read(1 << 16):
                    await self._whole.wait()
                    sink.write(data)
                    await sink.drain()
        finally:
            sink.close()


@contextmanager
def linked(port: int) -> Iterator[Link]:
    """Run a link to a port until the end of the block."""
    link, ready = Link(port), threading.Event()
    thread = threading.Thread(target=link.run, args=(ready,))
    thread.start()
    try:
        assert ready.wait(timeout=60)
        yield link
    finally:
        link.stop()
        thread.join()
