"""The limits of a server: tokens, sizes, times, failures, concurrency, any request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.handler import Limits
from smp.server.app import create_app
from smp.server.settings import Settings
from smp.server.store import Page, Stored, StoreError
from smp.server.store.memory import MemoryStore
from tests.support import attacks
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Served,
    config_map,
    deployment,
    serving,
    until,
)
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.waiting import TIMEOUT


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", "Basic secret", "Bearer secret2", "bearer sécret"],
)
def test_without_the_token_only_health_is_answered(authorization: str) -> None:
    headers = {"authorization": authorization} if authorization else {}
    with serving(Settings(token="secret")) as server:
        for path in (
            CONFIG_MAPS,
            "/api",
            "/openapi/v3",
            "/metrics",
            "/version",
            "/nowhere",
        ):
            answer = server.call("GET", path, **headers)
            assert outcome(answer) == (401, "Unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/healthz", "/livez", "/readyz"):
            assert server.call("GET", path).status_code == 200


def test_with_the_token_everything_is_answered() -> None:
    with serving(Settings(token="secret")) as server:
        headers = {"authorization": "Bearer secret", "host": "example.com"}
        assert server.call("GET", CONFIG_MAPS, **headers).status_code == 200
    assert "secret" not in repr(Settings(token="secret"))


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "127.0.0.1:8001"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "127.0.0.1.nip.io"}, 403),
        ({"host": "evil.example.com"}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
    ],
)
def test_without_a_token_requests_from_foreign_pages_are_forbidden(
    server: Served, headers: dict[str, str], code: int
) -> None:
    answer = server.call("GET", CONFIG_MAPS, **headers)
    assert answer.status_code == code
    if code == 403:
        assert answer.json()["reason"] == "Forbidden"


def outcome(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


async def has(server: Served, path: str, text: str) -> bool:
    return text in (await server.acall("GET", path)).text


async def chunks(
    number: int, size: int = 1000, pause: float = 0
) -> AsyncIterator[bytes]:
    for _ in range(number):
        await asyncio.sleep(pause)
        yield b" " * size


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", CONFIG_MAPS), ("PATCH", f"{CONFIG_MAPS}/a"), ("DELETE", CONFIG_MAPS)],
)
def test_a_body_is_read_no_further_than_its_limit(method: str, path: str) -> None:
    with serving(Settings(limits=Limits(body=10_000))) as server:
        server.post(CONFIG_MAPS, config_map("a"))
        read = 0

        async def counted() -> AsyncIterator[bytes]:
            nonlocal read
            async for chunk in chunks(1000):
                read += len(chunk)
                yield chunk

        media_type = MERGE if method == "PATCH" else "application/json"
        for body in (counted(), b" " * 10_001):
            answer = server.call(method, path, body, content_type=media_type)
            assert outcome(answer) == (413, "RequestEntityTooLarge")
        assert read < 20_000
        assert len(server.get(CONFIG_MAPS)["items"]) == 1


def test_an_object_does_not_grow_beyond_the_limit_of_a_request() -> None:
    path = f"{CONFIG_MAPS}/a"
    with serving(Settings(limits=Limits(body=3000))) as server:
        server.post(CONFIG_MAPS, config_map("a", k0="x" * 1000))
        server.patch(path, {"data": {"k1": "x" * 1000}})
        for query in ("", "?dryRun=All"):
            patch = {"data": {"k2": "x" * 1000}}
            answer = server.call("PATCH", path + query, patch, content_type=MERGE)
            assert outcome(answer) == (413, "RequestEntityTooLarge")
        assert [*server.get(path)["data"]] == ["k0", "k1"]
        smaller = server.patch(path, {"data": {"k0": None}})
        assert [*smaller["data"]] == ["k1"]


def test_a_slow_body_times_out() -> None:
    with serving(Settings(body_timeout=0.05)) as server:
        answer = server.call("POST", CONFIG_MAPS, chunks(100, pause=0.02))
    assert outcome(answer) == (408, "Timeout")


def test_bodies_that_do_not_arrive_take_no_place() -> None:
    rest = asyncio.Event()

    async def begun(number: int) -> AsyncIterator[bytes]:
        body = json.dumps(config_map(f"c{number}")).encode()
        yield body[:10]
        await rest.wait()
        yield body[10:]

    async def scenario(server: Served) -> None:
        posts = [
            asyncio.create_task(server.acall("POST", CONFIG_MAPS, begun(number)))
            for number in range(1000)
        ]
        for _ in range(3):
            assert (await server.acall("GET", CONFIG_MAPS)).status_code == 200
        for task in posts[2:]:
            task.cancel()
        await asyncio.gather(*posts[2:], return_exceptions=True)
        rest.set()
        answers = await asyncio.gather(*posts[:2])
        assert [answer.status_code for answer in answers] == [201, 201]

    with serving(Settings(max_in_flight=2)) as server:
        server.run(scenario(server))


class SlowStore(MemoryStore):
    """A store that answers no reads while it is blocked."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.free.set()

    async def get(self, key: str) -> Stored | None:
        await self.free.wait()
        return await super().get(key)


def test_requests_beyond_the_limit_are_answered_with_429() -> None:
    async def scenario(server: Served, store: SlowStore) -> None:
        store.free.clear()
        path = f"{CONFIG_MAPS}/a"
        waiting = [asyncio.create_task(server.acall("GET", path)) for _ in range(2)]
        await until(lambda: has(server, "/metrics", "inflight_requests 2"))
        refused = await server.acall("GET", path)
        assert outcome(refused) == (429, "TooManyRequests")
        assert refused.headers["retry-after"] == "1"
        async with server.watch(CONFIG_MAPS):
            assert (await server.acall("GET", "/readyz")).text == "ok"
        store.free.set()
        answers = await asyncio.gather(*waiting)
        assert [answer.status_code for answer in answers] == [404, 404]

    with serving(Settings(max_in_flight=2), SlowStore) as server:
        assert isinstance(server.store, SlowStore)
        server.run(scenario(server, server.store))


def test_a_request_that_takes_too_long_times_out() -> None:
    with serving(Settings(request_timeout=0.05), SlowStore) as server:
        assert isinstance(server.store, SlowStore)
        server.store.free.clear()
        answer = server.call("GET", f"{CONFIG_MAPS}/a")
        server.store.free.set()
    assert outcome(answer) == (504, "Timeout")


def test_a_large_request_does_not_block_others(server: Served) -> None:
    big = deployment()
    env = [{"name": f"E{number}", "value": "x"} for number in range(40)]
    big["spec"]["template"]["spec"]["containers"] = [
        {"name": f"c{n}", "image": "x", "env": env} for n in range(300)
    ]

    async def scenario() -> int:
        working = asyncio.create_task(server.acall("POST", DEPLOYMENTS, big))
        answered = 0
        while not working.done():
            assert (await server.acall("GET", "/livez")).text == "ok"
            answered += 1
            await asyncio.sleep(0)
        assert (await working).status_code == 201
        return answered

    assert server.run(scenario()) > 10


class BrokenStore(MemoryStore):
    """A store that raises ``failure`` where it is set."""

    failure: Exception | None = None

    async def list(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        if self.failure:
            raise self.failure
        return await super().list(prefix, limit=limit, after=after, revision=revision)

    async def revision(self) -> int:
        if self.failure:
            raise self.failure
        return await super().revision()


def test_a_store_that_cannot_be_reached_makes_the_server_unready() -> None:
    with serving(store=BrokenStore) as server:
        assert isinstance(server.store, BrokenStore)
        server.store.failure = StoreError("the connection is lost")
        answer = server.call("GET", CONFIG_MAPS)
        assert outcome(answer) == (503, "ServiceUnavailable")
        assert server.call("GET", "/readyz").status_code == 503
        assert server.call("GET", "/livez").status_code == 200


def test_an_error_of_the_server_is_logged_and_answered_as_a_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(store=BrokenStore) as server:
        assert isinstance(server.store, BrokenStore)
        server.store.failure = ZeroDivisionError("a secret detail")
        with caplog.at_level(logging.ERROR):
            answer = server.call("GET", CONFIG_MAPS)
    assert outcome(answer) == (500, "InternalError")
    assert "secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_concurrent_patches_are_all_stored(server: Served) -> None:
    server.post(CONFIG_MAPS, config_map("a"))

    async def scenario() -> None:
        path = f"{CONFIG_MAPS}/a"
        patches = [{"data": {f"k{number}": "v"}} for number in range(40)]
        calls = [
            server.acall("PATCH", path, patch, content_type=MERGE) for patch in patches
        ]
        answers = await asyncio.gather(*calls)
        assert {answer.status_code for answer in answers} == {200}
        versions = {answer.json()["metadata"]["resourceVersion"] for answer in answers}
        assert len(versions) == 40

    server.run(scenario())
    assert len(server.get(f"{CONFIG_MAPS}/a")["data"]) == 40


def test_of_concurrent_creates_one_succeeds(server: Served) -> None:
    async def scenario() -> list[int]:
        calls = [
            server.acall("POST", CONFIG_MAPS, config_map("a", k=str(number)))
            for number in range(10)
        ]
        return [answer.status_code for answer in await asyncio.gather(*calls)]

    assert sorted(server.run(scenario())) == [201, *[409] * 9]


def test_servers_on_one_store_serve_the_definitions_of_each_other(
    server: Served,
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    path = "/apis/stable.example.com/v1/namespaces/default/crontabs"

    async def scenario() -> None:
        app = create_app(server.store, Settings())
        async with app.router.lifespan_context(app):
            other = server.replica(app)
            await server.acall("POST", definitions, CRON_TABS)
            # The other server serves the objects at once, and lists them soon.
            created = await other.acall(
                "POST", path, cron_tab({"image": "x"}, name="c")
            )
            assert created.status_code == 201
            await until(lambda: has(other, "/apis", "stable.example.com"))
            await server.acall("DELETE", f"{definitions}/crontabs.stable.example.com")
            await until(lambda: has(other, path, "NotFound"))

    server.run(asyncio.wait_for(scenario(), TIMEOUT))


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "spec",
                    "name",
                    "data",
                    "labels",
                    "finalizers",
                    "op",
                    "path",
                    "$patch",
                    "replicas",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "configmaps",
        "deployments",
        "a",
        "status",
        "scale",
        "",
        "%2F",
    ]
)
PATHS = st.one_of(
    st.sampled_from(
        [
            CONFIG_MAPS,
            f"{CONFIG_MAPS}/a",
            DEPLOYMENTS,
            f"{DEPLOYMENTS}/web",
            f"{DEPLOYMENTS}/web/scale",
        ]
    ),
    st.sampled_from(
        [
            f"{DEPLOYMENTS}/web/status",
            "/api/v1/namespaces",
            "/api/v1/namespaces/default",
        ]
    ),
    # After two slashes httpx expects a host.
    st.lists(SEGMENTS, max_size=7)
    .map(lambda parts: "/" + "/".join(parts))
    .filter(lambda path: not path.startswith("//")),
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "continue",
            "resourceVersion",
            "labelSelector",
            "fieldSelector",
            "dryRun",
            "fieldValidation",
            "timeoutSeconds",
        ]
    ),
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "5",
            "All",
            "a=b",
            "a in (b",
            "Strict",
            "-1",
            "é",
            "metadata.name=a",
            "x" * 50,
        ]
    ),
    max_size=3,
)
MEDIA_TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        STRATEGIC,
        MERGE,
        JSON_PATCH,
        "text/plain",
        "",
    ]
)
ACCEPTED_TYPES = st.sampled_from(
    [
        "*/*",
        "application/yaml",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "x",
        "a/b;q=z",
    ]
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])


@pytest.fixture(scope="module")
def fuzzed_server() -> Iterator[Served]:
    with serving() as running:
        running.post(CONFIG_MAPS, config_map("a"))
        running.post(DEPLOYMENTS, deployment())
        yield running


def with_query(path: str, query: dict[str, str]) -> str:
    return path + "?" + "&".join(f"{name}={value}" for name, value in query.items())


@given(
    method=METHODS,
    url=st.builds(with_query, PATHS, QUERIES),
    body=st.none()
    | st.binary(max_size=20)
    | JSON_VALUES.map(lambda value: json.dumps(value).encode()),
    headers=st.fixed_dictionaries(
        {"content_type": MEDIA_TYPES, "accept": ACCEPTED_TYPES}
    ),
)
def test_nothing_that_a_client_sends_is_an_error_of_the_server(
    fuzzed_server: Served, method: str, url: str, body: Any, headers: dict[str, str]
) -> None:
    answer = fuzzed_server.call(method, url, body, **headers)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400 and method != "HEAD":
        status = answer.json()
        assert (status["kind"], status["code"]) == ("Status", answer.status_code)
        assert status["reason"] != "Unknown"


def test_definitions_that_come_and_go_leave_nothing() -> None:
    attack = attacks.any_of(1, 1)
    (define,), (create,) = attack.before, attack.requests
    path = f"{attacks.DEFINITIONS}/{define.body['metadata']['name']}"

    def come_and_go(server: Served) -> None:
        server.post(define.path, define.body)
        server.call("POST", create.path, create.body)
        server.get(create.path)
        assert server.call("DELETE", path).status_code == 200
        server.run(until(lambda: is_gone(server)))

    async def is_gone(server: Served) -> bool:
        answer = await server.acall("GET", create.path)
        return answer.status_code == 404

    with serving() as server:
        come_and_go(server)
        assert "example.com" not in server.call("GET", "/metrics").text
        lines = len(server.call("GET", "/metrics").text.splitlines())
        for _ in range(3):
            come_and_go(server)
        assert len(server.call("GET", "/metrics").text.splitlines()) == lines


def test_more_watches_than_allowed_are_refused() -> None:
    async def watch_twice(server: Served) -> int:
        async with server.watch(CONFIG_MAPS) as watch:
            await watch.event()
            answer = await server.acall("GET", f"{CONFIG_MAPS}?watch=1")
            return answer.status_code

    with serving(Settings(max_watches=1)) as server:
        server.post(CONFIG_MAPS, config_map("a"))
        assert server.run(watch_twice(server)) == 429


def test_warnings_are_fewer_than_the_headers_that_python_reads(
    server: Served,
) -> None:
    unknown = {f"x{number}": 1 for number in range(300)}
    answer = server.call("POST", CONFIG_MAPS, {**config_map("w"), **unknown})
    assert answer.status_code == 201
    assert 10 < len(answer.headers.get_list("warning")) < 90
