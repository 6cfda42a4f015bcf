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
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import MERGE, Limits, Options
from smp.handler.asgi import PatchEndpoint
from smp.schema.catalog import kubernetes
from tests.support.handler_objects import WEB, dump
from tests.support.paths import DOCS

PATH: Final = "/deployments/web"
EXAMPLES: Final = re.findall(
    r"^```python\n(.*?)^```",
    (DOCS / "handler.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


class Answer(NamedTuple):
    """What the endpoint sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: Any


class Storage:
    """One object behind an endpoint, which ``others`` change before it is saved."""

    def __init__(
        self,
        stored: bytes | JSONObject | None = WEB,
        *,
        others: int = 0,
        **options: Any,
    ) -> None:
        self.stored = stored
        self.others = others
        self.saved = 0
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

    def request(
        self,
        *chunks: bytes,
        method: str = "PATCH",
        query: bytes = b"",
        media_type: str = MERGE,
    ) -> Answer:
        """Send a request, its body in chunks."""
        headers = [(b"host", b"x"), (b"content-type", media_type.encode())]
        scope = http_scope(method, query, headers)
        messages = [
            {"type": "http.request", "body": chunk, "more_body": index < len(chunks)}
            for index, chunk in enumerate(chunks, 1)
        ]
        return call(self.endpoint, scope, messages)


def http_scope(
    method: str = "PATCH",
    query: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> dict[str, object]:
    return {
        "type": "http",
        "method": method,
        "path": PATH,
        "query_string": query,
        "headers": headers or [],
    }


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
    assert start["type"] == "http.response.start"
    assert body["type"] == "http.response.body"
    assert (b"content-length", str(len(body["body"])).encode()) in start["headers"]
    return Answer(start["status"], start["headers"], json.loads(body["body"]))


REPLICAS: Final = dump({"spec": {"replicas": 5}})


@pytest.mark.parametrize("stored", [WEB, dump(WEB)], ids=["dict", "bytes"])
def test_the_stored_object_is_answered(stored: bytes | JSONObject) -> None:
    storage = Storage(stored)
    answer = storage.request(REPLICAS[:5], REPLICAS[5:], b"")
    assert answer.status == 200
    assert answer.body["stored"] is True
    assert answer.body["spec"]["replicas"] == 5
    assert isinstance(storage.stored, dict)
    assert (b"content-type", b"application/json") in answer.headers


def test_a_patch_without_effect_is_not_saved() -> None:
    storage = Storage()
    answer = storage.request(b"{}")
    assert (answer.status, answer.body, storage.saved) == (200, WEB, 0)


def test_a_dry_run_is_not_saved() -> None:
    storage = Storage()
    answer = storage.request(REPLICAS, query=b"dryRun=All")
    assert (answer.status, answer.body["spec"]["replicas"], storage.saved) == (
        200,
        5,
        0,
    )


def test_a_patch_is_computed_again_after_a_concurrent_write() -> None:
    storage = Storage(others=2)
    answer = storage.request(REPLICAS)
    assert answer.status == 200
    assert answer.body["status"] == {"observedGeneration": 2}
    assert answer.body["spec"]["replicas"] == 5


def test_too_many_concurrent_writes_are_a_conflict() -> None:
    storage = Storage(others=9, resource="deployments.apps")
    answer = storage.request(REPLICAS)
    assert (answer.status, storage.saved, len(storage.loads)) == (409, 3, 3)
    assert answer.body["message"].startswith(
        'Operation cannot be fulfilled on deployments.apps "web": the object has '
    )


def test_a_missing_object_is_not_found() -> None:
    answer = Storage(None, resource="deployments.apps").request(REPLICAS)
    assert answer.status == 404
    assert answer.body["message"] == 'deployments.apps "web" not found'


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/v1/namespaces/shop/pods/web", "pods"),
        ("/api/v1/nodes/web/status", "nodes"),
        ("/apis/apps/v1/namespaces/shop/deployments/web/scale", "deployments.apps"),
        ("/apis/example.com/v1/things/web", "things.example.com"),
        ("/api/v1/namespaces/web", "namespaces"),
        ("/api/v1/namespaces/web/status", "namespaces"),
        ("/things/web", "things"),
    ],
)
def test_what_is_not_found_is_named_by_the_path(path: str, named: str) -> None:
    async def load(_scope: Any) -> None:
        return None

    endpoint = PatchEndpoint(load, Storage().save, kubernetes())
    scope = {**http_scope(headers=[(b"content-type", MERGE.encode())]), "path": path}
    message = {"type": "http.request", "body": REPLICAS, "more_body": False}
    answer = call(endpoint, scope, [message])
    assert answer.status == 404
    assert answer.body["message"] == f'{named} "web" not found'


def test_a_refusal_is_answered() -> None:
    answer = Storage().request(
        dump({"spec": {"bogus": 1}}), query=b"fieldValidation=Strict"
    )
    assert answer.status == 422
    (cause,) = answer.body["details"]["causes"]
    assert cause["message"] == 'strict decoding error: unknown field "spec.bogus"'


def test_a_warning_is_a_header() -> None:
    answer = Storage().request(dump({"spec": {"bogus": 1, "replicas": 5}}))
    assert (b"warning", b'299 - "unknown field \\"spec.bogus\\""') in answer.headers


def test_a_query_with_an_unsupported_value_is_invalid() -> None:
    answer = Storage().request(REPLICAS, query=b"dryRun=Some")
    assert (answer.status, answer.body["details"]["kind"]) == (422, "PatchOptions")


def test_other_methods_are_not_allowed() -> None:
    answer = Storage().request(b"", method="POST")
    assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
    assert (b"allow", b"PATCH") in answer.headers


def test_a_body_beyond_the_limit_is_not_read_to_its_end() -> None:
    storage = Storage(limits=Limits(body=100))
    answer = storage.request(*[b" " * 60] * 3)
    assert answer.status == 413
    assert answer.body["message"] == "Request entity too large: limit is 100"
    scope = http_scope()
    messages = [
        {"type": "http.request", "body": b" " * 60, "more_body": True} for _ in range(5)
    ]
    assert call(storage.endpoint, scope, messages).status == 413
    assert len(messages) == 3


def test_a_request_of_a_client_that_disconnects_changes_nothing() -> None:
    storage = Storage()
    scope = http_scope()
    messages = [
        {"type": "http.request", "body": REPLICAS, "more_body": True},
        {"type": "http.disconnect"},
    ]
    assert call(storage.endpoint, scope, messages).status == 400
    assert storage.loads == []


def test_an_object_without_a_schema_takes_merge_patches_only() -> None:
    storage = Storage(
        {"apiVersion": "odd/v1", "kind": "Odd", "metadata": {"name": "web"}}
    )
    assert storage.request(dump({"a": {"b": 1}})).body["a"] == {"b": 1}
    assert storage.request(b"{}", media_type=handler.STRATEGIC).status == 415


def test_an_error_of_the_store_has_its_status() -> None:
    class FullError(SmpError):
        status = 503

    async def save(*_: Any) -> JSONObject:
        raise FullError("the disk is full")

    storage = Storage()
    storage.endpoint = PatchEndpoint(storage.load, save, kubernetes())
    answer = storage.request(REPLICAS)
    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
    assert answer.body["message"] == "the disk is full"


@pytest.mark.parametrize("stored", [b"{", b"[]"])
def test_an_invalid_stored_object_is_an_error_of_the_server(stored: bytes) -> None:
    with pytest.raises(ValueError, match="the stored document"):
        Storage(stored).request(REPLICAS)


def test_only_http_is_answered() -> None:
    with pytest.raises(ValueError, match="websocket"):
        call(Storage().endpoint, {"type": "websocket"}, [])


def test_the_first_example_runs() -> None:
    exec(compile(EXAMPLES[0], "handler.md", "exec"), {})  # noqa: S102 - our own text


def test_the_example_of_a_server_runs() -> None:
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[2], "handler.md", "exec"), names)  # noqa: S102 - as above
    path = "/apis/apps/v1/namespaces/default/deployments/"

    async def request() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=names["app"])
        async with httpx.AsyncClient(
            transport=transport, base_url="http://x"
        ) as client:
            headers = {"Content-Type": handler.STRATEGIC}
            return [
                await client.patch(path + name, content=REPLICAS, headers=headers)
                for name in ("web", "web", "db")
            ]

    first, second, third = asyncio.run(request())
    assert (first.status_code, first.json()["spec"]) == (200, {"replicas": 5})
    assert second.json()["metadata"] == {"name": "web", "resourceVersion": "2"}
    assert third.status_code == 404
    assert len([line for line in EXAMPLES[2].splitlines() if line]) <= 20


CONFIGURATION: Final = b"{apiVersion: v1, kind: ConfigMap, data: {a: '1'}}"


@pytest.mark.parametrize("others", [0, 1])
def test_an_apply_creates_an_object_where_the_endpoint_can(others: int) -> None:
    objects: list[JSONObject] = []
    attempts: list[JSONObject] = []

    async def load(_: Any) -> JSONObject | None:
        return objects[-1] if objects else None

    async def save(_: Any, loaded: Any, new: JSONObject) -> JSONObject:
        assert loaded is objects[-1]
        objects.append(new)
        return new

    async def create(_: Any, new: JSONObject) -> JSONObject | None:
        attempts.append(new)
        if len(attempts) <= others:
            # Another writer was faster.
            objects.append({"apiVersion": "v1", "kind": "ConfigMap"})
            return None
        objects.append(new)
        return new

    headers = [(b"content-type", handler.APPLY.encode()), (b"user-agent", b"me/1")]
    scope = http_scope(query=b"fieldManager=a", headers=headers)
    message = {"type": "http.request", "body": CONFIGURATION}
    endpoint = PatchEndpoint(load, save, kubernetes(), create=create)
    answer = call(endpoint, scope, [message])
    assert answer.status == (200 if others else 201)
    assert answer.body["data"] == {"a": "1"}
    assert answer.body["metadata"]["managedFields"][0]["manager"] == "a"
    # Without a way to create it, it does not exist.
    objects.clear()
    endpoint = PatchEndpoint(load, save, kubernetes())
    assert call(endpoint, scope, [{**message}]).status == 404


def test_an_apply_names_its_manager_in_the_query() -> None:
    storage = Storage()
    answer = storage.request(b"{}", media_type=handler.APPLY)
    assert answer.status == 422
    message = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value'
    assert answer.body["message"].startswith(message)
    forced = storage.request(b"{}", query=b"force=true")
    assert forced.body["details"]["causes"][0]["field"] == "force"


def test_the_handler_imports_no_framework() -> None:
    code = (
        "import smp.handler.asgi, sys;"
        "print({'starlette', 'uvicorn', 'httpx', 'fastapi'} & {*sys.modules})"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout == "set()\n"
