"""The server of a test, and what a test may do to it, all in one event loop."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import (
    ABSENT,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
)
from smp.handler import NotFoundError
from smp.schema.resources import Resource
from smp.server.app import create_app
from smp.server.registry.deletion import remove, resume_deletions
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import replace
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target
from smp.server.run import Server, uvicorn_config
from smp.server.settings import Listener, Settings
from smp.server.store import Store, Stored
from smp.server.store.memory import MemoryStore
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
# The finalizers of the garbage collector.
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
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
        return await _collect_garbage(self._state)

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


class _Collected(msgspec.Struct, frozen=True):
    """An object of the store."""

    target: Target
    stored: Stored
    object: JSONObject

    @property
    def uid(self) -> str:
        return as_text(metadata_of(self.object).get("uid"))

    @property
    def owners(self) -> list[str]:
        references = objects_in(metadata_of(self.object).get("ownerReferences"))
        return [as_text(reference.get("uid")) for reference in references]

    def waits_for(self, finalizer: str) -> bool:
        """Tell whether its deletion waits for a finalizer of the collector."""
        metadata = metadata_of(self.object)
        finalizers = as_list(metadata.get("finalizers"))
        return "deletionTimestamp" in metadata and finalizer in finalizers

    def without(self, finalizer: str) -> JSONObject:
        finalizers = as_list(metadata_of(self.object).get("finalizers"))
        kept = [name for name in finalizers if name != finalizer]
        return set_metadata(self.object, finalizers=[*kept])

    def without_owners(self, uids: set[str]) -> JSONObject:
        references = objects_in(metadata_of(self.object).get("ownerReferences"))
        kept = [each for each in references if each.get("uid") not in uids]
        return set_metadata(self.object, ownerReferences=[*kept])


async def _collect_garbage(state: ServerState) -> list[str]:
    """Delete the dependents of what is gone, and what waits for that.

    Returns the resources and names of what was deleted: ``pods/web-1``. Go:
    k8s.io/kubernetes, pkg/controller/garbagecollector. What it does one after another
    in a cluster is done here until nothing is left to do.
    """
    deleted: list[str] = []
    while found := await _collect(state, [item async for item in _objects(state)]):
        deleted += found
    return [name for name in deleted if name]


async def _objects(state: ServerState) -> AsyncIterator[_Collected]:
    resources = {resource.key: resource for resource in state.kinds.resources}
    page = await state.store.list("")
    for stored in page.items:
        group, plural, *_ = stored.key.split("/")
        resource = resources.get(("" if group == "core" else group, plural))
        if resource is not None:
            target = Target(resource).at(stored.key)
            yield _Collected(target, stored, unpack(stored, resource))


async def _collect(state: ServerState, objects: list[_Collected]) -> list[str]:
    """Do what is to be done now; empty names are those of what was only changed.

    Go: attemptToDeleteItem, orphanDependents, processDeletingDependentsItem.
    """
    by_uid = {item.uid: item for item in objects}
    done: list[str] = []
    for item in objects:
        dropped, gone = [], []
        for uid in item.owners:
            owner = by_uid.get(uid)
            if owner is not None and owner.waits_for(_ORPHAN):
                dropped.append(uid)
            elif owner is None or owner.waits_for(_FOREGROUND):
                gone.append(uid)
        # Another owner that stays keeps it.
        if dropped or 0 < len(gone) < len(item.owners):
            changed = item.without_owners({*dropped, *gone})
            await replace(state, item.target, item.stored, changed)
            done.append("")
        elif gone and "deletionTimestamp" not in metadata_of(item.object):
            with suppress(NotFoundError):
                await remove(state, item.target)
                done.append(f"{item.target.resource.qualified}/{item.target.name}")
    if done:
        return done
    owning = {uid for item in objects for uid in item.owners}
    for item in objects:
        for finalizer in (_ORPHAN, _FOREGROUND):
            if item.waits_for(finalizer) and item.uid not in owning:
                changed = item.without(finalizer)
                await replace(state, item.target, item.stored, changed)
                done.append(f"{item.target.resource.qualified}/{item.target.name}")
                break
    return done


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
