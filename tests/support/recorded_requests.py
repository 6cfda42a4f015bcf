"""Recorded requests of all kinds, and what this project's server answers to them.

tests/record/requests.py recorded them, and tests/data/apiserver/fields.json describes
the lines. Each request is sent to the server's application in this process, whose store
has what a kube-apiserver had before the request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.types import Message

from smp._values.values import JSON, JSONObject, as_object, same
from smp.server.registry.envelope import pack, unpack
from smp.server.registry.target import Target, locate
from tests.support.makers.requests import NAMESPACE, VERSION, document, encoded
from tests.support.paths import DATA
from tests.support.server_app import Served
from tests.support.waiting import TIMEOUT

FILE: Final = DATA / "apiserver" / "requests.jsonl.xz"
USER_AGENT: Final = "recorder/1.0"
TIME: Final = "2024-01-01T00:00:00Z"
"""Stands for all times of the recording."""

_NOW: Final = re.compile(r"\b202[5-9]-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID: Final = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_ADDRESS: Final = re.compile(r"\b10\.(0|9|96)\.\d+\.\d+\b")
_LEAST_PORT: Final = 30000
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_TURNS: Final = 20
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Answer(NamedTuple):
    """The HTTP status of an answer, and its body, decoded; None if it is no JSON."""

    code: int
    body: JSON

    @property
    def accepted(self) -> bool:
        """Whether the server did what it was asked for."""
        return self.code < httpx.codes.BAD_REQUEST


class Comparison(NamedTuple):
    """A request, and what both servers made of it."""

    kind: str
    step: dict[str, Any]
    theirs: Answer
    ours: Answer
    their_state: list[JSONObject]
    our_state: list[JSONObject]

    @property
    def same_verdict(self) -> bool:
        """Whether both accepted the request, or both refused it."""
        return self.theirs.accepted == self.ours.accepted

    @property
    def same_code(self) -> bool:
        """Whether both answered with the same HTTP status."""
        return self.theirs.code == self.ours.code

    @property
    def same_object(self) -> bool:
        """Whether both answered the same objects, and have stored the same.

        Where both refused the request nothing but what is stored counts.
        """
        if not self.same_verdict:
            return False
        if not same(in_order(self.their_state), in_order(self.our_state)):
            return False
        if not self.theirs.accepted:
            return True
        return same(comparable(self.theirs.body), comparable(self.ours.body))


def in_order(state: list[JSONObject]) -> JSON:
    """Return what is stored in the order of the names, as it is compared."""
    named = {str(as_object(obj["metadata"]).get("name")): obj for obj in state}
    return [comparable(named[name]) for name in sorted(named)]


def comparable(value: JSON) -> JSON:
    """Return a value without what differs from one run to the next."""
    text = json.dumps(value, ensure_ascii=False)
    text = _ADDRESS.sub("(address)", _UID.sub("(uid)", _NOW.sub(TIME, text)))
    return _comparable(json.loads(text))


def _comparable(value: JSON) -> JSON:
    if isinstance(value, list):
        return [_comparable(element) for element in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "Status":
        return "a status"
    result: JSONObject = {}
    for name, member in value.items():
        if name == "resourceVersion" and isinstance(member, str) and member:
            result[name] = VERSION
        elif name in {"nodePort", "healthCheckNodePort"} and isinstance(member, int):
            result[name] = "(port)" if member >= _LEAST_PORT else member
        elif name == "continue":
            result[name] = "(continue)"
        elif name == "managedFields" and isinstance(member, list):
            # They are in the order of their times, which are to the second. Controllers
            # of a server write while others read.
            others = [
                json.dumps(each, sort_keys=True)
                for each in map(as_object, member)
                if each.get("manager") != "kube-apiserver"
            ]
            result[name] = [*sorted(others)]
        else:
            result[name] = _comparable(member)
    metadata = result.get("metadata")
    if isinstance(metadata, dict) and "generateName" in metadata:
        # The end of the name is random.
        name = str(metadata.get("name"))
        labels = {**as_object(metadata.get("labels"))}
        if labels.get(_NAME_LABEL) == name:
            labels[_NAME_LABEL] = name[:-5]
            metadata = {**metadata, "labels": labels}
        result["metadata"] = {**metadata, "name": name[:-5]}
    if result.get("kind") == "CustomResourceDefinition":
        # Controllers write it while others read it.
        result.pop("status", None)
    return result


class Replay:
    """Sends recorded requests to an application."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._store = served.store
        self._first: set[str] = set()

    async def prepare(self) -> None:
        """Create what the requests need to be there."""
        for definition in document()["definitions"]:
            await self._served.acall("POST", _DEFINITIONS, definition)
        namespace = {"metadata": {"name": NAMESPACE}}
        await self._served.acall("POST", "/api/v1/namespaces", namespace)
        await self._served.app.state.server.kinds.load()
        page = await self._store.list("")
        self._first = {item.key for item in page.items}

    async def compared(self, line: dict[str, Any]) -> list[Comparison]:
        """Send the requests of a line of the recording."""
        collection = self._target(line["collection"])
        state: list[JSONObject] = line["start"]
        await self._restore(collection, [], state)
        found: list[Comparison] = []
        for step in line["steps"]:
            before = state
            state = step.get("after", state)
            answer = await self._sent(step, collection, before)
            ours = await self._state(collection)
            theirs = Answer(step["code"], step["answer"])
            found.append(Comparison(line["kind"], step, theirs, answer, state, ours))
            await self._restore(collection, ours, state)
        await self._restore(collection, await self._state(collection), [])
        return found

    def _target(self, path: str) -> Target:
        """Return the target of the path of a collection."""
        segments = path.strip("/").split("/")
        group = "" if segments[0] == "api" else segments[1]
        version, *rest = segments[1:] if segments[0] == "api" else segments[2:]
        resources = self._served.app.state.server.kinds.resources
        return locate(resources, group, version, "/".join(rest))

    async def _state(self, collection: Target) -> list[JSONObject]:
        page = await self._store.list(collection.prefix)
        return [
            unpack(item, collection.resource)
            for item in page.items
            if item.key not in self._first
        ]

    async def _restore(
        self, collection: Target, ours: list[JSONObject], wanted: list[JSONObject]
    ) -> None:
        """Store what a kube-apiserver had stored."""
        if ours and same(in_order(ours), in_order(wanted)):
            return
        is_definition = collection.resource.plural == "customresourcedefinitions"
        for obj in ours:
            key = collection.named(str(as_object(obj["metadata"])["name"])).key
            stored = await self._store.get(key)
            assert stored
            await self._store.delete(key, stored.revision)
        for obj in wanted:
            key = collection.named(str(as_object(obj["metadata"])["name"])).key
            value = pack(obj, collection.resource)
            assert await self._store.create(key, value)
        if is_definition:
            await self._served.app.state.server.kinds.load()

    async def _sent(
        self, step: dict[str, Any], collection: Target, before: list[JSONObject]
    ) -> Answer:
        text = step.get("text")
        if "body" in step:
            text = json.dumps(step["body"])
        version = await self._version(collection, before)
        body = b"" if text is None else encoded(text.replace(VERSION, version))
        headers = {"user-agent": USER_AGENT}
        for header, name in (("content-type", "content_type"), ("accept", "accept")):
            if step.get(name):
                headers[header] = step[name]
        path = step["path"].replace(quote(VERSION), version)
        exchange = _Exchange(step["method"], path, body, headers)
        if "watch=true" in path and step["method"] == "GET":
            events = step["answer"] if isinstance(step["answer"], list) else []
            return await exchange.watched(self._served.app, len(events))
        return await exchange.made(self._served.app)

    async def _version(self, collection: Target, before: list[JSONObject]) -> str:
        """Return the resourceVersion of the first object."""
        if not before:
            return "1"
        first = str(as_object(before[0]["metadata"])["name"])
        stored = await self._store.get(collection.named(first).key)
        return str(stored.revision) if stored else "1"


class _Exchange:
    """A request to an application, and what comes back."""

    def __init__(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> None:
        parts = urlsplit(path)
        raw = [(b"host", b"127.0.0.1")]
        raw += [(name.encode(), value.encode()) for name, value in headers.items()]
        if body or method not in {"GET", "DELETE"}:
            raw.append((b"content-length", str(len(body)).encode()))
        self._scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": raw,
        }
        self._request: Message | None = {"type": "http.request", "body": body}
        self._code = 0
        self._content = b""
        self._most = 0
        self._enough = asyncio.Event()

    async def made(self, app: Starlette) -> Answer:
        """Return the answer."""
        self._most = -1
        await app(self._scope, self._receive, self._send)
        return self._answer()

    async def watched(self, app: Starlette, most: int) -> Answer:
        """Watch until so many events came, and a little more."""
        self._most = most
        await app(self._scope, self._receive, self._send)
        if self._code != httpx.codes.OK:
            return self._answer()
        events = [json.loads(line) for line in self._content.splitlines()]
        return Answer(self._code, events)

    def _answer(self) -> Answer:
        try:
            return Answer(self._code, json.loads(self._content))
        except ValueError:
            return Answer(self._code, None)

    async def _receive(self) -> Message:
        if self._request is not None:
            request, self._request = self._request, None
            return request
        if self._most < 0:
            await asyncio.Event().wait()
        if self._most:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), TIMEOUT)
        # What should not come would come now.
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._code = message["status"]
            return
        self._content += message.get("body", b"")
        if self._content.count(b"\n") >= self._most:
            self._enough.set()


def comparisons(served: Served, lines: list[dict[str, Any]]) -> Iterator[Comparison]:
    """Yield what both servers make of the requests of lines of the recording."""
    replay = Replay(served)
    served.run(replay.prepare())
    for line in lines:
        yield from served.run(replay.compared(line))
