"""The server's application in this process: requests without a socket, and watches line
by line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Scope

from smp.server.app import create_app
from smp.server.settings import Settings
from smp.server.store import Store
from smp.server.store.memory import MemoryStore
from tests.support.waiting import TIMEOUT

T = TypeVar("T")

URL = "http://127.0.0.1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Served:
    """A running application; ``call`` is one request, ``run`` anything else that has to
    happen in its loop.
    """

    def __init__(self, app: Starlette, store: Store, runner: asyncio.Runner) -> None:
        self.app, self.store, self._runner = app, store, runner

    def replica(self, app: Starlette) -> Served:
        """Return another application on the same store, in the same loop."""
        return Served(app, self.store, self._runner)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something to its end."""
        return self._runner.run(work)

    def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Make a request; a body that is not bytes is sent as JSON. Names of headers
        have _ for -.
        """
        return self.run(self.acall(method, path, body, **headers))

    async def acall(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Make a request, among others."""
        given = [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in headers.items()
        ]
        is_raw = body is None or isinstance(body, bytes) or hasattr(body, "__aiter__")
        content = body if is_raw else json.dumps(body).encode()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
            return await client.request(method, path, content=content, headers=given)

    def get(self, path: str) -> Any:
        """Return the object at a path, which must exist."""
        return self.call("GET", path).raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        """Create something, which must succeed."""
        return self.call("POST", path, body).raise_for_status().json()

    def patch(self, path: str, body: Any, media_type: str = MERGE) -> Any:
        """Patch something, which must succeed."""
        return (
            self.call("PATCH", path, body, content_type=media_type)
            .raise_for_status()
            .json()
        )

    @asynccontextmanager
    async def watch(
        self, path: str, accept: str = "*/*", **query: str
    ) -> AsyncIterator[Watch]:
        """Watch a collection."""
        watch = Watch()
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": urlencode({"watch": "true", **query}).encode(),
            "headers": [(b"host", b"127.0.0.1"), (b"accept", accept.encode())],
        }
        task = asyncio.create_task(watch.run(self.app, scope))
        try:
            yield watch
        finally:
            watch.disconnect.set()
            await asyncio.wait_for(task, TIMEOUT)


class Watch:
    """The client of a watch; while ``taking`` is not set, it takes nothing; ``ended``
    says that it was answered.
    """

    def __init__(self) -> None:
        self.disconnect = asyncio.Event()
        self.taking = asyncio.Event()
        self.taking.set()
        self.ended = asyncio.Event()
        self._received: asyncio.Queue[Message] = asyncio.Queue()

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        await app(scope, self.receive, self.send)
        self.ended.set()

    async def receive(self) -> Message:
        await self.disconnect.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.taking.wait()
        self._received.put_nowait(message)

    async def event(self) -> Any:
        """Return the next event, or None at the end of the answer."""
        async with asyncio.timeout(TIMEOUT):
            message = await self._received.get()
            while message["type"] == "http.response.start":
                message = await self._received.get()
        return json.loads(message["body"]) if message["more_body"] else None

    async def names(self, number: int) -> list[tuple[str, str]]:
        """Return type and name of the next events."""
        events = [await self.event() for _ in range(number)]
        return [
            (event["type"], event["object"]["metadata"]["name"]) for event in events
        ]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is true; others have their turn meanwhile."""
    async with asyncio.timeout(TIMEOUT):
        for _ in count():
            await asyncio.sleep(0)
            if await condition():
                return


@contextmanager
def serving(
    settings: Settings | None = None, store: Callable[[], Store] = MemoryStore
) -> Iterator[Served]:
    """Run the application over a store until the end of the block."""
    with asyncio.Runner() as runner:
        opened = runner.run(_opened(store))
        app = create_app(opened, settings or Settings())
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        try:
            yield Served(app, opened, runner)
        finally:
            runner.run(lifespan.__aexit__(None, None, None))


async def _opened(store: Callable[[], Store]) -> Store:
    return store()


def config_map(
    name: str, labels: dict[str, str] | None = None, **data: str
) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels or {}},
        "data": data,
    }


def deployment(
    image: str = "nginx:1.25", name: str = "web", **spec: Any
) -> dict[str, Any]:
    """Return a Deployment."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
            **spec,
        },
    }
