"""The endpoint as an ASGI server calls it, and the examples of docs/handler.md."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

import httpx
import pytest

from smp import handler
from smp.errors import SmpError
from smp.handler import MERGE, Limits, Options
from smp.handler.asgi import PatchEndpoint
from smp.schema.catalog import kubernetes
from smp.values import JSONObject
from tests.support.handler_objects import WEB, dump
from tests.support.paths import DOCS

PATH: Final = "/deployments/web"
EXAMPLES: Final = re.findall(
    r"^```python\n(.*?)^```",
    (DOCS / "handler.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


class Answer(NamedTuple):
    """What was sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: Any


class Shelf:
    """One object, behind an endpoint; somebody else may be faster a few times."""

    def __init__(
        self,
        stored: bytes | JSONObject | None = WEB,
        *,
        others: int = 0,
        **options: Any,
    ) -> None:
        self.stored, self.others, self.saved = stored, others, 0
        self.loads: list[bytes | JSONObject | None] = []
        self.endpoint = PatchEndpoint(
            self.load, self.save, kubernetes(), Options(**options), attempts=3
        )

    async def load(self, scope: Any) -> bytes | JSONObject | None:
        assert scope["path"] == PATH
        self.loads.append(self.stored)
        return self.stored

    async def save(self, _: Any, loaded: Any, new: JSONObject) -> JSONObject | None:
        assert loaded is self.loads[-1]
        self.saved += 1
        if self.saved <= self.others:
            assert isinstance(self.stored, dict)
            self.stored = {**self.stored, "status": {"observedGeneration": self.saved}}
            return None
        self.stored = new
        return {**new, "stored": True}

    def ask(
        self,
        *chunks: bytes,
        method: str = "PATCH",
        query: bytes = b"",
        media_type: str = MERGE,
    ) -> Answer:
        """Send a request, its body in chunks."""
        scope = {
            "type": "http",
            "method": method,
            "path": PATH,
            "query_string": query,
            "headers": [(b"host", b"x"), (b"content-type", media_type.encode())],
        }
        messages = [
            {"type": "http.request", "body": chunk, "more_body": index < len(chunks)}
            for index, chunk in enumerate(chunks, 1)
        ]
        return call(self.endpoint, scope, messages)


def call(
    endpoint: Callable[..., Coroutine[Any, Any, None]], scope: Any, messages: list[Any]
) -> Answer:
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(endpoint(scope, receive, send))
    start, body = sent
    assert (start["type"], body["type"]) == (
        "http.response.start",
        "http.response.body",
    )
    assert (b"content-length", str(len(body["body"])).encode()) in start["headers"]
    return Answer(start["status"], start["headers"], json.loads(body["body"]))


REPLICAS: Final = dump({"spec": {"replicas": 5}})


@pytest.mark.parametrize("stored", [WEB, dump(WEB)], ids=["dict", "bytes"])
def test_the_stored_object_is_answered(stored: bytes | JSONObject) -> None:
    shelf = Shelf(stored)
    answer = shelf.ask(REPLICAS[:5], REPLICAS[5:], b"")
    assert answer.status == 200
    assert answer.body["stored"] is True
    assert answer.body["spec"]["replicas"] == 5
    assert isinstance(shelf.stored, dict)
    assert (b"content-type", b"application/json") in answer.headers


def test_what_changes_nothing_is_not_saved() -> None:
    shelf = Shelf()
    answer = shelf.ask(b"{}")
    assert (answer.status, answer.body, shelf.saved) == (200, WEB, 0)


def test_a_dry_run_is_not_saved() -> None:
    shelf = Shelf()
    answer = shelf.ask(REPLICAS, query=b"dryRun=All")
    assert (answer.status, answer.body["spec"]["replicas"], shelf.saved) == (200, 5, 0)


def test_whoever_is_slower_patches_anew() -> None:
    shelf = Shelf(others=2)
    answer = shelf.ask(REPLICAS)
    assert answer.status == 200
    assert answer.body["status"] == {"observedGeneration": 2}
    assert answer.body["spec"]["replicas"] == 5


def test_whoever_is_always_slower_conflicts() -> None:
    shelf = Shelf(others=9, resource="deployments.apps")
    answer = shelf.ask(REPLICAS)
    assert (answer.status, shelf.saved, len(shelf.loads)) == (409, 3, 3)
    assert answer.body["message"].startswith(
        'Operation cannot be fulfilled on deployments.apps "web": the object has '
    )


def test_nothing_is_not_found() -> None:
    answer = Shelf(None, resource="deployments.apps").ask(REPLICAS)
    assert (answer.status, answer.body["message"]) == (
        404,
        'deployments.apps "web" not found',
    )


def test_a_refusal_is_answered() -> None:
    answer = Shelf().ask(dump({"spec": {"bogus": 1}}), query=b"fieldValidation=Strict")
    assert (answer.status, answer.body["message"]) == (
        400,
        'strict decoding error: unknown field "spec.bogus"',
    )


def test_a_warning_is_a_header() -> None:
    answer = Shelf().ask(dump({"spec": {"bogus": 1, "replicas": 5}}))
    assert (b"warning", b'299 - "unknown field \\"spec.bogus\\""') in answer.headers


def test_a_query_that_is_wrong_is_invalid() -> None:
    answer = Shelf().ask(REPLICAS, query=b"dryRun=Some")
    assert (answer.status, answer.body["details"]["kind"]) == (422, "PatchOptions")


def test_other_methods_are_not_allowed() -> None:
    answer = Shelf().ask(b"", method="POST")
    assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
    assert (b"allow", b"PATCH") in answer.headers


def test_a_body_without_end_is_not_read_to_its_end() -> None:
    shelf = Shelf(limits=Limits(body=100))
    answer = shelf.ask(*[b" " * 60] * 3)
    assert (answer.status, answer.body["message"]) == (
        413,
        "Request entity too large: limit is 100",
    )
    scope = {
        "type": "http",
        "method": "PATCH",
        "path": PATH,
        "query_string": b"",
        "headers": [],
    }
    messages = [
        {"type": "http.request", "body": b" " * 60, "more_body": True} for _ in range(5)
    ]
    assert call(shelf.endpoint, scope, messages).status == 413
    assert len(messages) == 3


def test_half_a_request_changes_nothing() -> None:
    shelf = Shelf()
    scope = {
        "type": "http",
        "method": "PATCH",
        "path": PATH,
        "query_string": b"",
        "headers": [],
    }
    messages = [
        {"type": "http.request", "body": REPLICAS, "more_body": True},
        {"type": "http.disconnect"},
    ]
    assert call(shelf.endpoint, scope, messages).status == 400
    assert shelf.loads == []


def test_a_kind_without_a_schema() -> None:
    shelf = Shelf({"apiVersion": "odd/v1", "kind": "Odd", "metadata": {"name": "web"}})
    assert shelf.ask(dump({"a": {"b": 1}})).body["a"] == {"b": 1}
    assert shelf.ask(b"{}", media_type=handler.STRATEGIC).status == 415


def test_an_error_of_the_store_has_its_status() -> None:
    class FullError(SmpError):
        status = 503

    async def save(*_: Any) -> JSONObject:
        raise FullError("the disk is full")

    shelf = Shelf()
    shelf.endpoint = PatchEndpoint(shelf.load, save, kubernetes())
    answer = shelf.ask(REPLICAS)
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
    assert answer.body["message"] == "the disk is full"


@pytest.mark.parametrize("stored", [b"{", b"[]"])
def test_a_stored_object_that_is_none_is_the_servers_error(stored: bytes) -> None:
    with pytest.raises(ValueError, match="the stored object"):
        Shelf(stored).ask(REPLICAS)


def test_only_http_is_answered() -> None:
    with pytest.raises(ValueError, match="websocket"):
        call(Shelf().endpoint, {"type": "websocket"}, [])


def test_the_first_example_runs() -> None:
    exec(compile(EXAMPLES[0], "handler.md", "exec"), {})


def test_the_example_of_a_server_runs() -> None:
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[1], "handler.md", "exec"), names)
    path = "/apis/apps/v1/namespaces/default/deployments/"

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=names["app"])
        async with httpx.AsyncClient(
            transport=transport, base_url="http://x"
        ) as client:
            headers = {"Content-Type": handler.STRATEGIC}
            return [
                await client.patch(path + name, content=REPLICAS, headers=headers)
                for name in ("web", "web", "db")
            ]

    first, second, third = asyncio.run(ask())
    assert (first.status_code, first.json()["spec"]) == (200, {"replicas": 5})
    assert second.json()["metadata"] == {"name": "web", "resourceVersion": "2"}
    assert third.status_code == 404
    assert len([line for line in EXAMPLES[1].splitlines() if line]) <= 20


def test_the_handler_imports_no_framework() -> None:
    code = "import smp.handler.asgi, sys; print({'starlette', 'uvicorn', 'httpx', 'fastapi'} & {*sys.modules})"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "set()\n"
