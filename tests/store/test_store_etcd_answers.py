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
from tests.support.stores import opened_etcd_store
from tests.support.waiting import refusing_port

pytestmark = pytest.mark.anyio


def failure(code: int, message: str) -> tuple[int, bytes]:
    """Return a status other than OK, with the code of gRPC."""
    return 500, json.dumps({"error": message, "code": code}).encode()


class FakeEtcd:
    """Answers every request with the same status and bytes, or not at all.

    It counts the requests.
    """

    def __init__(self, answer: tuple[int, bytes] | None) -> None:
        self.answer = answer
        self.calls = 0
        self.ended = asyncio.Event()

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        await reader.readexactly(length)
        self.calls += 1
        if self.answer is None:
            await self.ended.wait()
            writer.close()
            return
        self.respond(writer, *self.answer)

    def respond(self, writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
        answer = (
            f"HTTP/1.1 {status} Word\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(answer.encode() + body)
        writer.close()


@asynccontextmanager
async def fake_etcd(
    answer: tuple[int, bytes] | None, limit: float = 5
) -> AsyncIterator[tuple[FakeEtcd, EtcdStore]]:
    fake = FakeEtcd(answer)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    _, port = server.sockets[0].getsockname()
    async with opened_etcd_store(f"etcd://127.0.0.1:{port}", limit=limit) as store:
        yield fake, store
    fake.ended.set()
    server.close()
    await asyncio.sleep(0)  # those who wait end


# The error of a write and the error of a read, by the answer of the server. The codes
# and texts are etcd's own: api/v3rpc/rpctypes/error.go.
ANSWERS: Final[dict[str, tuple[tuple[int, bytes], type[StoreError]]]] = {
    "not JSON": ((200, b"hello"), OutcomeUnknownError),
    "half an answer": ((200, b'{"header":{"revision":"7"'), OutcomeUnknownError),
    "timed out": (failure(14, "etcdserver: request timed out"), OutcomeUnknownError),
    "leader changed": (failure(14, "etcdserver: leader changed"), OutcomeUnknownError),
    "a failure within etcd": (failure(2, "unexpected"), OutcomeUnknownError),
    "no space": (failure(8, "etcdserver: mvcc: database space exceeded"), StoreError),
    "too many requests": (failure(8, "etcdserver: too many requests"), StoreError),
    "denied": (failure(7, "etcdserver: permission denied"), StoreError),
    "not etcd": (failure(12, "unknown"), StoreError),
}


@pytest.mark.parametrize(("answer", "write_error"), ANSWERS.values(), ids=ANSWERS)
async def test_the_answer_decides_whether_the_outcome_of_a_write_is_known(
    answer: tuple[int, bytes], write_error: type[StoreError]
) -> None:
    async with fake_etcd(answer) as (fake, store):
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is write_error
        assert fake.calls == 1  # a write is not sent again
        with pytest.raises(StoreError) as caught:
            await store.get("a")
        assert type(caught.value) is StoreError
        assert fake.calls == 2


async def test_a_write_that_was_never_sent_has_a_known_outcome() -> None:
    with refusing_port() as absent:
        async with opened_etcd_store(f"etcd://127.0.0.1:{absent}", limit=1) as store:
            with pytest.raises(StoreError) as caught:
                await store.create("a", b"1")
            assert type(caught.value) is StoreError


@pytest.mark.slow
async def test_writes_without_an_answer_have_an_unknown_outcome() -> None:
    async with fake_etcd(None, limit=2) as (fake, store):
        writes = (store.create(f"a/{number}", b"1") for number in range(60))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {OutcomeUnknownError}
        assert fake.calls == 60


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"hello\n"),
        (200, b'{"result":{"canceled":true}}\n'),
        (200, b'{"result":{"created":true}}\n'),
        (200, b'{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}\n'),
        failure(14, "etcdserver: no leader"),
    ],
    ids=["no message", "canceled", "ended", "no leader", "refused"],
)
async def test_a_broken_stream_is_an_error(answer: tuple[int, bytes]) -> None:
    async with fake_etcd(answer) as (_, store):
        with pytest.raises(StoreError):
            async with aclosing(store.changes(1)) as batches:
                await anext(batches)
