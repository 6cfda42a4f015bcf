"""A response without a fixed end: lines, for as long as the client, the server and the
clock like.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final

from starlette.types import Message, Receive, Scope, Send

_START: Final[Message] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-cache, private"),
    ],
}


@dataclass(frozen=True, slots=True)
class Stream:
    """An ASGI response that sends each line as soon as it is there, and holds no more
    than one.

    It ends with the lines, after ``seconds``, when ``stopping`` is set, when the client
    goes away, and when the client takes nothing for ``send_timeout`` seconds.
    """

    lines: AsyncGenerator[bytes, None]
    stopping: asyncio.Event
    seconds: float
    send_timeout: float

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send(_START)
        pump = asyncio.create_task(self._pump(send))
        ends = [
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self._stopping()),
        ]
        try:
            await asyncio.wait(
                [pump, *ends], timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for task in (pump, *ends):
                task.cancel()
            await asyncio.gather(pump, *ends, return_exceptions=True)
        with suppress(TimeoutError):
            if not pump.cancelled():
                pump.result()
            await self._send(send, b"", more=False)

    async def _pump(self, send: Send) -> None:
        async with aclosing(self.lines):
            async for line in self.lines:
                await self._send(send, line, more=True)

    async def _send(self, send: Send, body: bytes, *, more: bool) -> None:
        async with asyncio.timeout(self.send_timeout):
            await send({"type": "http.response.body", "body": body, "more_body": more})

    async def _stopping(self) -> None:
        await self.stopping.wait()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
