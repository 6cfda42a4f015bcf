"""What a store in etcd makes of the answers of an etcd, real and broken ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

import pytest

from smp.server.store import OutcomeUnknownError, StoreError
from smp.server.store.etcd import EtcdStore
from tests.support.etcd import free_ports
from tests.support.stores import opened_etcd_store

pytestmark = pytest.mark.anyio


class FakeEtcd:
    """Answers every request with the same bytes, or not at all, and counts requests."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.requests = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, _, after = head.partition(b"content-length: ")
        length, _, _ = after.partition(b"\r\n")
        await reader.readexactly(int(length))
        self.requests += 1
        if self.answer is None:
            await reader.read()  # until the client closes the connection
        else:
            writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def fake_etcd(
    answer: bytes | None, limit: float = 5
) -> AsyncIterator[tuple[FakeEtcd, EtcdStore]]:
    fake = FakeEtcd(answer)
    listening = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    _, port = listening.sockets[0].getsockname()
    async with (
        listening,
        opened_etcd_store(f"etcd://127.0.0.1:{port}", limit=limit) as store,
    ):
        yield fake, store


def answer(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def failure(code: int, message: str) -> str:
    return json.dumps({"error": message, "code": code, "message": message})


# The error of a write and the error of a read, by the answer of the server. The codes
# and texts are etcd's own: api/v3rpc/rpctypes/error.go.
ANSWERS: Final[dict[str, tuple[bytes, type[StoreError], type[StoreError]]]] = {
    "closes the connection": (b"", OutcomeUnknownError, StoreError),
    "closes the connection within the answer": (
        answer("200 OK", "{}")[:-1],
        OutcomeUnknownError,
        StoreError,
    ),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", OutcomeUnknownError, StoreError),
    "not JSON": (answer("200 OK", "hello"), OutcomeUnknownError, StoreError),
    "other JSON": (answer("200 OK", '{"header": 7}'), OutcomeUnknownError, StoreError),
    "not etcd": (
        answer("404 Not Found", "404 page not found"),
        OutcomeUnknownError,
        StoreError,
    ),
    "timed out": (
        answer("503 Service Unavailable", failure(14, "etcdserver: request timed out")),
        OutcomeUnknownError,
        StoreError,
    ),
    "leader changed": (
        answer("503 Service Unavailable", failure(14, "etcdserver: leader changed")),
        OutcomeUnknownError,
        StoreError,
    ),
    "no space": (
        answer(
            "429 Too Many Requests",
            failure(8, "etcdserver: mvcc: database space exceeded"),
        ),
        StoreError,
        StoreError,
    ),
    "too many requests": (
        answer("429 Too Many Requests", failure(8, "etcdserver: too many requests")),
        StoreError,
        StoreError,
    ),
    "denied": (
        answer("403 Forbidden", failure(7, "etcdserver: permission denied")),
        StoreError,
        StoreError,
    ),
}


@pytest.mark.parametrize(
    ("response", "write_error", "read_error"), ANSWERS.values(), ids=ANSWERS
)
async def test_the_answer_decides_whether_the_outcome_of_a_write_is_known(
    response: bytes, write_error: type[StoreError], read_error: type[StoreError]
) -> None:
    async with fake_etcd(response) as (fake, store):
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is write_error
        assert fake.requests == 1  # a write is not sent again
        with pytest.raises(StoreError) as caught:
            await store.get("a")
        assert type(caught.value) is read_error
        assert fake.requests == 2


async def test_a_write_that_was_never_sent_has_a_known_outcome() -> None:
    (port,) = free_ports(1)
    async with opened_etcd_store(f"etcd://127.0.0.1:{port}") as store:
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is StoreError


async def test_only_writes_that_were_sent_have_an_unknown_outcome() -> None:
    async with fake_etcd(None, limit=0.5) as (fake, store):
        writes = (store.create(f"a/{number}", b"1") for number in range(60))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert all(isinstance(outcome, StoreError) for outcome in outcomes)
        unknown = [
            outcome for outcome in outcomes if isinstance(outcome, OutcomeUnknownError)
        ]
        assert 0 < len(unknown) == fake.requests < 60


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        '{"error": {"grpc_code": 14, "message": "etcdserver: no leader"}}',
        '{"result": {"canceled": true}}',
        "",
    ],
)
async def test_a_broken_stream_is_an_error(line: str) -> None:
    async with fake_etcd(answer("200 OK", f"{line}\n")) as (_, store):
        with pytest.raises(StoreError):
            async with aclosing(store.changes(1)) as batches:
                await anext(batches)
