"""The server of a test, and what a test may do to it, all in one event loop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette

from smp.server.app import create_app
from smp.server.objects.metadata import with_metadata
from smp.server.objects.resources import Resource
from smp.server.run import Server, uvicorn_config
from smp.server.settings import Listener, Settings
from smp.server.store import Store
from smp.server.store.memory import MemoryStore
from smp.testing._faults import Fault, KubernetesApiError
from smp.testing._traffic import Request, Traffic
from smp.values import JSONObject, as_object, as_text

if TYPE_CHECKING:
    import httpx

_GRACE: Final = 1  # seconds that requests in flight have to finish
_APPLY: Final = "application/apply-patch+yaml"
_QUERY: Final = {"fieldManager": "smp-testing", "force": "true"}
# Others are in a namespace, or are served, once these are there.
_FIRST: Final = {"Namespace": 0, "CustomResourceDefinition": 0}
# What only a server sets: an object that was exported has it.
_SET_BY_SERVER: Final = ("managedFields", "resourceVersion", "uid")


class Snapshot(msgspec.Struct, frozen=True):
    """All objects of a server, as they are stored, by key.

    ``randomness`` is the state of what the server allocates values from.
    """

    objects: Mapping[str, bytes]
    randomness: tuple[Any, ...]


class TestServer:
    """A running server: its store, its kinds, and the requests that it gets."""

    __test__ = False  # pytest takes a class of this name for tests

    def __init__(self, app: Starlette, store: Store, traffic: Traffic) -> None:
        self._app = app
        self._store = store
        self._traffic = traffic

    async def snapshot(self) -> Snapshot:
        """Return all objects."""
        page = await self._store.list("")
        objects = {item.key: item.value for item in page.items}
        return Snapshot(objects, self._app.state.randomness.getstate())

    async def restore(self, snapshot: Snapshot) -> None:
        """Write what differs from a snapshot."""
        wanted = snapshot.objects
        page = await self._store.list("")
        current = {item.key: item for item in page.items}
        for key, item in current.items():
            value = wanted.get(key)
            if value is None:
                await self._store.delete(key, item.revision)
            elif value != item.value:
                await self._store.swap(key, value, item.revision)
        for key, value in wanted.items():
            if key not in current:
                await self._store.create(key, value)
        self._app.state.randomness.setstate(snapshot.randomness)
        # At once, not when the server gets the events: custom resources may have come
        # or gone.
        await self._app.state.kinds.load()

    async def apply(
        self, objects: Sequence[JSONObject], namespace: str
    ) -> list[JSONObject]:
        """Apply objects, and return them as they are stored, in their order."""
        order = sorted(
            range(len(objects)),
            key=lambda index: _FIRST.get(as_text(objects[index].get("kind")), 1),
        )
        stored: dict[int, JSONObject] = {}
        async with self._client() as client:
            for index in order:
                stored[index] = await self._apply(client, objects[index], namespace)
        return [stored[index] for index in range(len(objects))]

    async def _apply(
        self, client: httpx.AsyncClient, obj: JSONObject, namespace: str
    ) -> JSONObject:
        resource: Resource = self._app.state.kinds.resources.of_kind(
            as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
        )
        absent: dict[str, Any] = dict.fromkeys(_SET_BY_SERVER)
        obj = with_metadata(obj, **absent)
        metadata = as_object(obj["metadata"])
        path = resource.prefix
        if resource.namespaced:
            path += f"/namespaces/{as_text(metadata.get('namespace')) or namespace}"
        path += f"/{resource.plural}/{as_text(metadata.get('name'))}"
        paths = [path]
        # A server ignores the status in a write of the object.
        if "status" in obj and resource.status:
            paths.append(f"{path}/status")
        stored: JSONObject = {}
        for path in paths:
            answer = await client.patch(
                path,
                params=_QUERY,
                content=msgspec.json.encode(obj),
                headers={"content-type": _APPLY},
            )
            body = as_object(answer.json())
            if answer.is_error:
                raise KubernetesApiError(as_text(body.get("message")))
            stored = body
        return stored

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace; its objects follow in the background."""
        async with self._client() as client:
            await client.delete(f"/api/v1/namespaces/{name}")

    def _client(self) -> httpx.AsyncClient:
        # It takes a tenth of the start, and not all tests need it.
        import httpx  # noqa: PLC0415  # see above

        # Not through ``Traffic``: these requests are the test's, not its subject's.
        transport = httpx.ASGITransport(self._app)
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def add_fault(self, fault: Fault) -> None:
        """Do this to requests from now on."""
        self._traffic.faults.append(fault)

    async def clear_faults(self) -> None:
        """Answer all requests again, without delay."""
        self._traffic.faults.clear()

    async def requests(self) -> list[Request]:
        """Return the requests that were answered."""
        return [*self._traffic.requests]

    async def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._traffic.requests.clear()


async def run(
    settings: Settings,
    listener: Listener,
    listening: socket.socket,
    ready: Callable[[Server, TestServer], None],
) -> None:
    """Serve until ``should_exit`` of the server is set.

    ``ready`` is called once requests are answered.
    """
    store = MemoryStore()
    app = create_app(store, settings)
    traffic = Traffic(app)
    config = uvicorn_config(traffic, listener, grace=_GRACE)

    def on_ready() -> None:
        ready(server, TestServer(app, store, traffic))

    server = Server(config, app, on_ready)
    async with app.router.lifespan_context(app):
        await server.serve(sockets=[listening])
