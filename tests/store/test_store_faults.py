"""What stores keep when processes die, files are locked or full, and etcd stops, hangs
or loses its data.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from time import monotonic
from typing import Final, Literal

import pytest

from smp.server.store import (
    Event,
    Expired,
    FutureRevisionError,
    OutcomeUnknownError,
    Store,
    Stored,
    StoreError,
    TooLargeError,
    open_store,
)
from smp.server.store.etcd import EtcdStore
from smp.server.store.feed import Batch, Feed, Log
from smp.server.store.worker import Worker
from tests.store.test_store import PATIENCE, QUIET, taken, written
from tests.support.etcd import Etcd, free_ports, needs_etcd, running

pytestmark = pytest.mark.anyio

# A process that writes to a store from many tasks, and says what was acknowledged. A
# key is created, then swapped: "KEY NUMBER REVISION", where NUMBER is the value.
WRITER: Final = """
import asyncio, sys
from smp.server.store import open_store

async def write(store, name):
    for number in range(int(sys.argv[3])):
        key = f"{name}/{number}"
        revision = 0
        for value in range(3):
            text = b"%d" % value
            revision = await (store.swap(key, text, revision) if value else store.create(key, text))
            sys.stdout.write(f"{key} {value} {revision}\\n")
            sys.stdout.flush()

async def main():
    store = open_store(sys.argv[1])
    await asyncio.gather(*(write(store, f"{sys.argv[2]}-{task}") for task in range(8)))
    await store.close()

asyncio.run(main())
"""
# A process that increments a counter in a store.
COUNTER: Final = """
import asyncio, sys
from smp.server.store import open_store

async def main():
    store = open_store(sys.argv[1])
    left = int(sys.argv[2])
    while left:
        present = await store.get("counter")
        done = await store.swap("counter", b"%d" % (int(present.value) + 1), present.revision)
        left -= done is not None
    await store.close()

asyncio.run(main())
"""
OPENER: Final = """
import sys
from smp.server.store import open_store

print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1])
print("opened", flush=True)
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def acknowledged(output: str) -> Iterator[tuple[str, bytes, int]]:
    """Read what a writer said; its last line may be half a line."""
    for line in output[: output.rfind("\n") + 1].splitlines():
        key, value, revision = line.split()
        yield key, value.encode(), int(revision)


# SQLite


async def test_what_was_acknowledged_before_a_kill_is_in_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    promised: dict[int, tuple[str, bytes]] = {}
    for attempt in range(4):
        with started(WRITER, f"sqlite:{path}", attempt, 100_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(200 * (attempt + 1))]
            process.kill()
            output = "".join(lines) + process.stdout.read()
        promised |= {
            revision: (key, value) for key, value, revision in acknowledged(output)
        }
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(promised) >= 2000
    store = open_store(f"sqlite:{path}")
    async with aclosing(store.watch("", max(promised) - 1500)) as events:
        seen = {event.revision: event for event in await taken(events, 1500)}
    for revision, (key, value) in promised.items():
        present = await store.get(key)
        assert present
        assert int(present.value) >= int(value)
        assert present.revision >= revision
        if revision in seen:
            assert (seen[revision].key, seen[revision].value) == (key, value)
    assert (await store.create("after", b"") or 0) > max(promised)
    await store.close()


async def test_processes_share_a_file(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    start = await store.create("counter", b"0") or 0
    processes = [
        started(COUNTER, f"sqlite:{tmp_path / 'store.db'}", 100) for _ in range(2)
    ]
    async with aclosing(store.watch("", start)) as events:
        assert [event.value for event in await taken(events, 200)] == [
            b"%d" % number for number in range(1, 201)
        ]
    for process in processes:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    present = await store.get("counter")
    assert present
    assert present.value == b"200"
    await store.close()


def test_processes_may_make_the_file_at_the_same_time(tmp_path: Path) -> None:
    processes = [started(OPENER, f"sqlite:{tmp_path / 'store.db'}") for _ in range(6)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate(timeout=PATIENCE)[0] for process in processes] == [
        "opened\n"
    ] * 6


async def test_a_watch_does_not_wait_to_see_what_its_own_store_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smp.server.store.sqlite._POLL", 10 * PATIENCE)
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    async with aclosing(store.watch("", await store.revision())) as events:
        for number in range(3):
            await store.create(f"a/{number}", b"1")
            assert len(await taken(events, 1)) == 1
    await store.close()


async def test_a_file_that_another_is_making_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:{tmp_path / 'store.db'}"
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        # for this, SQLite does not wait when it is to switch to a write-ahead log
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(asyncio.to_thread(open_store, url))
        assert not (await asyncio.wait([opening], timeout=0.3))[0]
        monkeypatch.setattr("smp.server.store.sqlite._BUSY", 0.2)
        with pytest.raises(StoreError) as caught:
            open_store(url)
        assert caught.value.code == "unusable-store"
        other.execute("ROLLBACK")
    store = await opening
    assert await store.create("a", b"1")
    await store.close()


async def test_a_locked_file_is_an_error_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smp.server.store.sqlite._BUSY", 1.0)
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    await store.create("a", b"1")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.create("b", b"1"))
        longest, reads = 0.0, 0
        while not write.done():
            before = monotonic()
            await store.get("a")
            longest, reads = max(longest, monotonic() - before), reads + 1
        assert longest < 0.9  # nobody waited for the lock but the write
        assert reads > 1
        assert type(write.exception()) is StoreError
    assert await store.get("b") is None
    assert await store.create("b", b"2")
    await store.close()


async def filled(store: Store, size: int) -> tuple[int, StoreError]:
    """Write until that fails; return how many values were written, and why it ended."""
    for number in range(100):
        try:
            assert await store.create(f"a/{number}", bytes(size))
        except StoreError as error:
            return number, error
    pytest.fail("there is no end of the room")


async def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        done, error = await filled(store, 100_000)
        assert type(error) in (StoreError, OutcomeUnknownError)
        assert 1 < done < 20
        assert len((await store.list("a/")).items) == done
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert await store.create("b", bytes(100_000))
    assert len((await store.list("a/")).items) == done
    await store.close()


@asynccontextmanager
async def working(
    begin: Literal["BEGIN", "BEGIN IMMEDIATE"] = "BEGIN",
) -> AsyncIterator[Worker]:
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False
    )
    connection.executescript(
        "PRAGMA foreign_keys = ON; CREATE TABLE a (id INTEGER PRIMARY KEY);"
        "CREATE TABLE b (a REFERENCES a DEFERRABLE INITIALLY DEFERRED)"
    )
    worker = Worker(connection, begin)
    try:
        yield worker
    finally:
        await worker.close()


async def test_a_commit_that_fails_has_an_unknown_outcome() -> None:
    async with working() as worker:
        with pytest.raises(OutcomeUnknownError) as caught:
            await worker.run(
                lambda connection: (
                    connection.execute("INSERT INTO b VALUES (1)").rowcount
                )
            )
        assert caught.value.status == 504
        count = await worker.run(
            lambda connection: connection.execute("SELECT count(*) FROM b").fetchone()
        )
        assert count == (0,)


async def test_a_job_that_fails_fails_alone() -> None:
    async with working() as worker:
        outcomes = await asyncio.gather(
            worker.run(
                lambda connection: (
                    connection.execute("INSERT INTO a VALUES (1)").lastrowid
                )
            ),
            worker.run(lambda _: 1 // 0),
            worker.run(lambda connection: connection.execute("SELECT 7").fetchone()),
            return_exceptions=True,
        )
        assert outcomes[0] == 1
        assert isinstance(outcomes[1], ZeroDivisionError)
        assert outcomes[2] == (7,)


def test_a_loop_may_end_before_its_writes(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")

    async def begin() -> None:
        for number in range(100):
            asyncio.create_task(store.create(f"a/{number}", b"1"))
        await asyncio.sleep(0)

    async def go_on() -> None:
        assert await store.create("b", b"1")
        await store.close()

    asyncio.run(begin())
    asyncio.run(go_on())


# Feeds


class Scripted:
    """A source of changes that does what it is told, a step each time that it is
    followed; an event is waited for.
    """

    def __init__(
        self, *script: Sequence[Batch | asyncio.Event | Exception] | Exception
    ) -> None:
        self.script = list(script)
        self.followed: list[int] = []
        self.present = 10

    async def revision(self) -> int:
        return self.present

    origin = revision

    async def changes(self, since: int) -> AsyncGenerator[Batch, None]:
        self.followed.append(since)
        step = self.script.pop(0)
        for action in [step] if isinstance(step, Exception) else step:
            if isinstance(action, Exception):
                raise action
            if isinstance(action, asyncio.Event):
                await action.wait()
            else:
                yield action
        if not self.script:
            await asyncio.Event().wait()


def put(revision: int) -> Event:
    return Event("put", "a", b"", revision)


async def test_a_feed_goes_on_where_its_source_broke_off() -> None:
    source = Scripted(
        [([put(11)], 11)],
        StoreError("away"),
        StoreError("still away"),
        [([put(12), put(13)], 13)],
    )
    feed = Feed(source, history=10, progress=PATIENCE)
    assert [event.revision for event in await taken(feed.watch("", 10), 3)] == [
        11,
        12,
        13,
    ]
    assert source.followed == [10, 11, 11, 11]
    await feed.close()


async def test_a_watch_is_not_told_again_what_its_feed_learns_late() -> None:
    source = Scripted([([put(11)], 11)], StoreError("away"), [([put(12), put(13)], 13)])
    feed = Feed(source, history=10, progress=PATIENCE)
    assert len(await taken(feed.watch("", 10), 1)) == 1
    source.present = 12
    assert [event.revision for event in await taken(feed.watch("", 12), 1)] == [13]
    await feed.close()


async def test_a_feed_that_missed_something_says_so() -> None:
    source = Scripted([([put(11)], 11)], Expired(11), Expired(11), [])
    feed = Feed(source, history=10, progress=PATIENCE)
    events = feed.watch("", 10)
    assert len(await taken(events, 1)) == 1
    source.present = 20
    with pytest.raises(Expired):
        await taken(events, 1)
    await feed.close()


async def test_a_watch_that_is_behind_when_the_store_closes_skips_nothing() -> None:
    closed = asyncio.Event()
    source = Scripted(
        [([put(11), put(12), put(13)], 13), closed],
        [([put(11)], 11), closed, StoreError("closed")],
    )
    feed = Feed(source, history=1, progress=PATIENCE)
    events = feed.watch("", 10)
    assert [event.revision for event in await taken(events, 1)] == [11]
    await feed.close()
    closed.set()
    with pytest.raises(StopAsyncIteration):
        await taken(events, 1)


@pytest.mark.parametrize(
    "error", [FutureRevisionError(11, 3), RuntimeError("a mistake")]
)
async def test_a_feed_that_cannot_go_on_ends_its_watches_and_starts_anew(
    error: Exception,
) -> None:
    told: list[object] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: told.append(context.get("exception")))
    source = Scripted([([put(11)], 11)], error, [([put(12)], 12)])
    feed = Feed(source, history=10, progress=PATIENCE)
    events = feed.watch("", 10)
    assert len(await taken(events, 1)) == 1
    with pytest.raises(StopAsyncIteration):
        await taken(events, 1)
    assert [event.revision for event in await taken(feed.watch("", 10), 1)] == [12]
    await feed.close()
    loop.set_exception_handler(handler)
    # a mistake is not kept quiet
    assert told == [error] * isinstance(error, RuntimeError)


def test_a_log_is_bounded_in_bytes() -> None:
    log = Log(1, size=100)
    for revision in range(2, 12):
        log.extend([Event("put", "a", bytes(30), revision)], revision)
    assert (log.start, log.revision) == (8, 11)
    assert [event.revision for event in log.after(8)] == [9, 10, 11]


# etcd


@pytest.fixture
def server() -> Iterator[Etcd]:
    with running() as etcd:
        yield etcd


@asynccontextmanager
async def opened(url: str, *, limit: float = 5) -> AsyncIterator[EtcdStore]:
    store = EtcdStore(url, timeout=limit, progress=QUIET)
    try:
        yield store
    finally:
        await store.close()


def calls(store: Store) -> Sequence[Callable[[], Awaitable[object]]]:
    return (
        lambda: store.get("a"),
        lambda: store.list(""),
        store.revision,
        lambda: store.create("b", b"1"),
        lambda: store.swap("a", b"2", 2),
        lambda: store.delete("a", 2),
        lambda: anext(store.watch("", 1)),
    )


@needs_etcd
async def test_a_stopped_etcd_is_an_error_that_a_watch_outlives(server: Etcd) -> None:
    async with (
        opened(server.url) as store,
        aclosing(store.watch("", await store.revision())) as events,
    ):
        first = await store.create("a", b"1") or 0
        assert [event.revision for event in await taken(events, 1)] == [first]
        server.stop()
        for call in calls(store):
            with pytest.raises(StoreError) as caught:
                async with asyncio.timeout(PATIENCE):
                    await call()
            assert caught.value.status in (503, 504)
        server.start()
        second = await store.swap("a", b"2", first) or 0
        assert await taken(events, 1) == [
            Event("put", "a", b"2", second, Stored("a", b"1", first))
        ]


@needs_etcd
async def test_a_hanging_etcd_is_an_error_in_time(server: Etcd) -> None:
    async with opened(server.url, limit=0.5) as store:
        start = await store.revision()
        server.pause()
        for call in calls(store):
            with pytest.raises(StoreError) as caught:
                async with asyncio.timeout(PATIENCE):
                    await call()
            assert caught.value.code in ("store-unavailable", "outcome-unknown")
        server.resume()
        last = await written(store, "b", b"2")
        async with aclosing(store.watch("b", start)) as events:
            seen = await taken(events, 1)
            while seen[-1].revision < last:
                seen += await taken(events, 1)
        assert [event.created for event in seen] == [True, False][
            : len(seen)
        ]  # what was unknown happened once or never


@needs_etcd
async def test_nothing_that_was_acknowledged_is_lost_when_etcd_is_killed(
    server: Etcd,
) -> None:
    acknowledged: dict[int, str] = {}
    unknown: set[str] = set()
    progress = asyncio.Semaphore(0)

    async def write(store: Store, name: int) -> None:
        for number in range(1_000_000):
            key = f"{name}/{number}"
            try:
                revision = await store.create(key, key.encode())
            except OutcomeUnknownError:
                unknown.add(key)
            except StoreError:  # it did not happen
                await asyncio.sleep(0.01)
            else:
                assert revision
                acknowledged[revision] = key
                progress.release()

    async with (
        opened(server.url) as store,
        aclosing(store.watch("", await store.revision())) as events,
    ):
        writers = [asyncio.create_task(write(store, name)) for name in range(8)]
        for _ in range(3):
            for _ in range(60):
                await progress.acquire()
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        last = await written(store, "last")
        seen = await taken(events, len(acknowledged))
        while seen[-1].revision < last:
            seen += await taken(events, 1)
        items = (await store.list("")).items
    keys = {event.revision: event.key for event in seen}
    assert keys | acknowledged == keys
    assert len(set(keys.values())) == len(seen) == len(items)
    cancelled = {key for key in keys.values() if key not in unknown} - {
        *acknowledged.values(),
        "last",
    }
    # the last one of a writer
    assert len({key.split("/")[0] for key in cancelled}) == len(cancelled)
    assert [Stored(event.key, event.value, event.revision) for event in seen] == sorted(
        items, key=revision_of
    )


def revision_of(item: Stored) -> int:
    return item.revision


@needs_etcd
async def test_a_watch_ends_when_etcd_has_lost_its_data(server: Etcd) -> None:
    async with opened(server.url) as store:
        for number in range(5):
            start = await store.create(f"a/{number}", b"1") or 0
        async with aclosing(store.watch("", start)) as events:
            assert (await anext(events)).kind == "progress"
            server.stop()
            server.wipe()
            server.start()
            async with asyncio.timeout(PATIENCE):
                assert {event.kind async for event in events} <= {"progress"}
        assert await store.create("a/0", b"1")


@needs_etcd
async def test_other_keys_in_etcd_move_the_progress_and_nothing_else(
    server: Etcd,
) -> None:
    async with (
        opened(server.url + "/one") as one,
        opened(server.url + "/one-more") as other,
    ):
        start = await one.revision()
        async with aclosing(one.watch("", start)) as events:
            assert (await anext(events)).kind == "progress"
            theirs = await other.create("a", b"1") or 0
            server.call("kv/put", {"key": "YQ==", "value": "YQ=="})
            reached = 0
            async with asyncio.timeout(PATIENCE):
                while reached < theirs + 1:
                    event = await anext(events)
                    assert event.kind == "progress"
                    reached = event.revision
        assert (await one.list("")).items == ()


@needs_etcd
async def test_a_change_whose_predecessor_is_compacted_has_expired(
    server: Etcd,
) -> None:
    async with opened(server.url) as store:
        first = await store.create("a", b"1") or 0
        second = await store.swap("a", b"2", first) or 0
        third = await store.swap("a", b"3", second) or 0
        server.call("kv/compaction", {"revision": second, "physical": True})
        with pytest.raises(Expired):
            await taken(store.watch("", first), 1)
        async with aclosing(store.watch("", second)) as events:
            assert await taken(events, 1) == [
                Event("put", "a", b"3", third, Stored("a", b"2", second))
            ]


@needs_etcd
@pytest.mark.parametrize("size", [1_600_000, 3_600_000])
async def test_a_value_may_be_too_large(server: Etcd, size: int) -> None:
    async with opened(server.url) as store:
        with pytest.raises(TooLargeError) as caught:
            await store.create("a", bytes(size))
        assert (caught.value.code, caught.value.status) == ("value-too-large", 413)
        assert await store.get("a") is None


@needs_etcd
async def test_an_etcd_without_room_is_an_error() -> None:
    with running("--quota-backend-bytes=2000000") as server:
        async with opened(server.url) as store:
            done, error = await filled(store, 500_000)
            assert type(error) is StoreError
            # An etcd that notices only while it writes says so of what it has written.
            assert len((await store.list("")).items) in (done, done + 1)


class FakeEtcd:
    """Answers every request with the same bytes, or with nothing at all, and counts
    them.
    """

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.requests = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(
            int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        )
        self.requests += 1
        if self.answer is None:
            await reader.read()  # until the client hangs up
        else:
            writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def faked(
    answer: bytes | None, limit: float = 5
) -> AsyncIterator[tuple[FakeEtcd, EtcdStore]]:
    fake = FakeEtcd(answer)
    listening = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with (
        listening,
        opened(
            f"etcd://127.0.0.1:{listening.sockets[0].getsockname()[1]}", limit=limit
        ) as store,
    ):
        yield fake, store


def answer(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def failure(code: int, message: str) -> str:
    return json.dumps({"error": message, "code": code, "message": message})


# The codes and texts are etcd's own: api/v3rpc/rpctypes/error.go.
ANSWERS: Final[dict[str, tuple[bytes, type[StoreError], type[StoreError]]]] = {
    "hangs up": (b"", OutcomeUnknownError, StoreError),
    "hangs up in the answer": (
        answer("200 OK", "{}")[:-1],
        OutcomeUnknownError,
        StoreError,
    ),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", OutcomeUnknownError, StoreError),
    "no JSON": (answer("200 OK", "hello"), OutcomeUnknownError, StoreError),
    "other JSON": (answer("200 OK", '{"header": 7}'), OutcomeUnknownError, StoreError),
    "no etcd": (
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


@pytest.mark.parametrize(("said", "writing", "reading"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_says_whether_a_write_happened(
    said: bytes, writing: type[StoreError], reading: type[StoreError]
) -> None:
    async with faked(said) as (fake, store):
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is writing
        assert fake.requests == 1  # nothing is sent twice
        with pytest.raises(StoreError) as caught:
            await store.get("a")
        assert type(caught.value) is reading
        assert fake.requests == 2


async def test_what_was_never_sent_did_not_happen() -> None:
    (port,) = free_ports(1)
    async with opened(f"etcd://127.0.0.1:{port}") as store:
        with pytest.raises(StoreError) as caught:
            await store.create("a", b"1")
        assert type(caught.value) is StoreError


async def test_of_too_many_writes_those_that_were_sent_are_unknown() -> None:
    async with faked(None, limit=0.5) as (fake, store):
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
async def test_a_stream_that_breaks_is_an_error(line: str) -> None:
    async with faked(answer("200 OK", f"{line}\n")) as (_, store):
        with pytest.raises(StoreError):
            async with aclosing(store.changes(1)) as batches:
                await anext(batches)
