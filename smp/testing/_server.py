"""The server of a test, and what a test may do to it, all in one event loop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette

from smp._values.api_objects import set_metadata
from smp._values.values import ABSENT, JSONObject, as_object, as_text
from smp.schema.resources import Resource
from smp.server.app import create_app
from smp.server.registry.deletion import resume_deletions
from smp.server.registry.state import ServerState
from smp.server.run import Server, uvicorn_config
from smp.server.settings import Listener, Settings
from smp.server.store import Store
from smp.server.store.memory import MemoryStore
from smp.testing._collector import collect_garbage
from smp.testing._faults import Fault, KubernetesApiError
from smp.testing._traffic import Request, Traffic, read_warnings

if TYPE_CHECKING:
    import httpx

_GRACE: Final = 1  # seconds that requests in flight have to finish
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
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
        self._state: ServerState = app.state.server
        self._store = store
        self._traffic = traffic

    async def snapshot(self) -> Snapshot:
        """Return all objects, without those that are being deleted with their parent.

        What waits for finalizers is among them.
        """
        async with self._state.at_rest():
            page = await self._store.list("")
            objects = {item.key: item.value for item in page.items}
            return Snapshot(objects, self._state.randomness.getstate())

    async def restore(self, snapshot: Snapshot) -> None:
        """Write what differs from a snapshot."""
        async with self._state.at_rest():
            await self._write(snapshot.objects)
            self._state.randomness.setstate(snapshot.randomness)
            # At once, not when the server gets the events: custom resources may have
            # come or gone.
            await self._state.kinds.load()
            await resume_deletions(self._state)

    async def _write(self, wanted: Mapping[str, bytes]) -> None:
        """Write what differs, until nothing does: requests may be under way."""
        while True:
            page = await self._store.list("")
            current = {item.key: item for item in page.items}
            if {key: item.value for key, item in current.items()} == wanted:
                return
            for key, item in current.items():
                value = wanted.get(key)
                if value is None:
                    await self._store.delete(key, item.revision)
                elif value != item.value:
                    await self._store.swap(key, value, item.revision)
            for key, value in wanted.items():
                if key not in current:
                    await self._store.create(key, value)

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
        resource = self._resource(obj)
        # Removed: an apply that states a resourceVersion of null is refused.
        obj = set_metadata(obj, **dict.fromkeys(_SET_BY_SERVER, ABSENT))
        path = _path(resource, obj, namespace)
        if "status" not in obj or not resource.status:
            return await self._patch(client, path, obj, _APPLY)
        # A server ignores the status in a write of the object, and warns of it.
        others = {name: value for name, value in obj.items() if name != "status"}
        await self._patch(client, path, others, _APPLY)
        return await self._patch(client, f"{path}/status", obj, _APPLY)

    def _resource(self, obj: JSONObject) -> Resource:
        return self._state.kinds.resources.of_kind(
            as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
        )

    async def _patch(
        self, client: httpx.AsyncClient, path: str, patch: JSONObject, media_type: str
    ) -> JSONObject:
        """Send a patch of the test, and return what is stored then."""
        answer = await client.patch(
            path,
            params=_QUERY if media_type == _APPLY else {},
            content=msgspec.json.encode(patch),
            headers={"content-type": media_type},
        )
        self._traffic.untold.extend(
            [f"{path}: {text}" for text in read_warnings(answer.headers.raw)]
        )
        body = as_object(answer.json())
        if answer.is_error:
            raise KubernetesApiError(as_text(body.get("message")))
        return body

    async def set_status(
        self, obj: JSONObject, status: JSONObject, namespace: str
    ) -> JSONObject:
        """Merge a status into that of an object, and return the object."""
        path = f"{_path(self._resource(obj), obj, namespace)}/status"
        async with self._client() as client:
            return await self._patch(client, path, {"status": status}, _MERGE)

    async def collect_garbage(self) -> list[str]:
        """Delete the dependents of what is gone."""
        return await collect_garbage(self._state)

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

    async def take_warnings(self) -> list[str]:
        """Return the warnings of writes since the last time."""
        untold = [*self._traffic.untold]
        self._traffic.untold.clear()
        return untold

    async def serve_webhook(self, place: str, url: str) -> None:
        """Call the webhooks of a service, or of the begin of a URL, at a URL."""
        self._state.webhook_urls[place] = url

    async def forget_webhooks(self) -> None:
        """Call no webhook elsewhere than its configuration says."""
        self._state.webhook_urls.clear()

    async def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._traffic.forget()


def _path(resource: Resource, obj: JSONObject, namespace: str) -> str:
    """Return the path of an object; ``namespace`` is that of one that names none."""
    metadata = as_object(obj["metadata"])
    path = resource.prefix
    if resource.namespaced:
        path += f"/namespaces/{as_text(metadata.get('namespace')) or namespace}"
    return f"{path}/{resource.plural}/{as_text(metadata.get('name'))}"


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
