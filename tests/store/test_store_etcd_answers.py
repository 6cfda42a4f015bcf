"""What a store in etcd makes of the answers of an etcd, real and broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final

import grpc
import pytest

from smp.server.store import OutcomeUnknownError, StoreError
from smp.server.store import _messages as messages
from smp.server.store.etcd import EtcdStore
from tests.support.stores import opened_etcd_store
from tests.support.waiting import refusing_port

pytestmark = pytest.mark.anyio


class Failure:
    """A status other than OK."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        self.code = code
        self.message = message


class FakeEtcd:
    """Answers every call with the same bytes or failure, or not at all.

    It counts the calls.
    """

    def __init__(self, answer: bytes | Failure | None) -> None:
        self.answer = answer
        self.calls = 0

    def service(self, details: Any) -> Any:
        if details.method.endswith("Watch"):
            return grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    async def _unary(self, _request: bytes, context: Any) -> bytes:
        self.calls += 1
        if isinstance(self.answer, Failure):
            await context.abort(self.answer.code, self.answer.message)
        if self.answer is None:
            await asyncio.Event().wait()
        assert isinstance(self.answer, bytes)
        return self.answer

    async def _stream(self, _requests: Any, context: Any) -> AsyncIterator[bytes]:
        yield await self._unary(b"", context)


@asynccontextmanager
async def fake_etcd(
    answer: bytes | Failure | None, limit: float = 5
) -> AsyncIterator[tuple[FakeEtcd, EtcdStore]]:
    fake = FakeEtcd(answer)
    server = grpc.aio.server(handlers=(fake,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with opened_etcd_store(f"etcd://127.0.0.1:{port}", limit=limit) as store:
        yield fake, store
    await server.stop(None)


# The error of a write and the error of a read, by the answer of the server. The codes
# and texts are etcd's own: api/v3rpc/rpctypes/error.go.
ANSWERS: Final[dict[str, tuple[bytes | Failure, type[StoreError]]]] = {
    "not a message": (b"hello", OutcomeUnknownError),
    "half a message": (
        messages.encode(messages.TxnResponse(messages.Header(7)))[:-1],
        OutcomeUnknownError,
    ),
    "timed out": (
        Failure(grpc.StatusCode.UNAVAILABLE, "etcdserver: request timed out"),
        OutcomeUnknownError,
    ),
    "leader changed": (
        Failure(grpc.StatusCode.UNAVAILABLE, "etcdserver: leader changed"),
        OutcomeUnknownError,
    ),
    "a failure within etcd": (
        Failure(grpc.StatusCode.UNKNOWN, "unexpected"),
        OutcomeUnknownError,
    ),
    "no space": (
        Failure(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "etcdserver: mvcc: database space exceeded",
        ),
        StoreError,
    ),
    "too many requests": (
        Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "etcdserver: too many requests"),
        StoreError,
    ),
    "denied": (
        Failure(grpc.StatusCode.PERMISSION_DENIED, "etcdserver: permission denied"),
        StoreError,
    ),
    "not etcd": (Failure(grpc.StatusCode.UNIMPLEMENTED, "unknown"), StoreError),
}


@pytest.mark.parametrize(("answer", "write_error"), ANSWERS.values(), ids=ANSWERS)
async def test_the_answer_decides_whether_the_outcome_of_a_write_is_known(
    answer: bytes | Failure, write_error: type[StoreError]
) -> None:
    async with fake_etcd(answer) as (fake, store):
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is write_error
        assert fake.calls == 1  # a write is not sent again
        with pytest.raises(StoreError) as caught:
            await store.read("a")
        assert type(caught.value) is StoreError
        assert fake.calls == 2


@pytest.mark.parametrize("peer", ["absent", "closes", "not gRPC"])
async def test_a_write_that_was_never_sent_has_a_known_outcome(peer: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if peer == "not gRPC":
            await reader.readline()
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    _, port = listening.sockets[0].getsockname()
    async with listening:
        with refusing_port() as absent:
            address = f"127.0.0.1:{absent if peer == 'absent' else port}"
            async with opened_etcd_store(f"etcd://{address}", limit=1) as store:
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
        b"hello",
        messages.encode(messages.WatchResponse(canceled=True)),
        messages.encode(messages.WatchResponse(created=True)),
        Failure(grpc.StatusCode.UNAVAILABLE, "etcdserver: no leader"),
    ],
    ids=["no message", "canceled", "ended", "no leader"],
)
async def test_a_broken_stream_is_an_error(answer: bytes | Failure) -> None:
    async with fake_etcd(answer) as (_, store):
        with pytest.raises(StoreError):
            async with aclosing(store.changes(1)) as batches:
                await anext(batches)
