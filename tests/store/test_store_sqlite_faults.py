"""What SQLite keeps when processes die and files are locked, shared or full."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Final

import pytest

from smp.server.store import OutcomeUnknownError, StoreError, open_store
from tests.support.paths import ROOT
from tests.support.stores import fill_store, take_changes
from tests.support.waiting import TIMEOUT

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


# A program that writes to a store from eight tasks. It creates keys, swaps each of them
# twice, and prints every acknowledged write as "KEY VALUE REVISION".
WRITER: Final = """
import asyncio, sys
from smp.server.store import open_store

async def write(store, name):
    for number in range(int(sys.argv[3])):
        key = f"{name}/{number}"
        revision = 0
        for value in range(3):
            text = b"%d" % value
            if revision:
                revision = await store.swap(key, text, revision)
            else:
                revision = await store.create(key, text)
            sys.stdout.write(f"{key} {value} {revision}\\n")
            sys.stdout.flush()

async def main():
    store = open_store(sys.argv[1])
    await asyncio.gather(*(write(store, f"{sys.argv[2]}-{task}") for task in range(8)))
    await store.close()

asyncio.run(main())
"""


# A program that increments a counter in a store, as often as its argument says.
COUNTER: Final = """
import asyncio, sys
from smp.server.store import open_store

async def main():
    store = open_store(sys.argv[1])
    left = int(sys.argv[2])
    while left:
        present = await store.get("counter")
        value = b"%d" % (int(present.value) + 1)
        if await store.swap("counter", value, present.revision):
            left -= 1
    await store.close()

asyncio.run(main())
"""


# A program that opens a store when it reads a line.
OPENER: Final = """
import sys
from smp.server.store import open_store

print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1])
print("opened", flush=True)
"""


def start_program(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def acknowledged_writes(output: str) -> Iterator[tuple[str, bytes, int]]:
    """Parse the output of a writer; a killed one may leave an incomplete last line."""
    complete, _, _ = output.rpartition("\n")
    for line in complete.splitlines():
        key, value, revision = line.split()
        yield key, value.encode(), int(revision)


async def test_acknowledged_writes_survive_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    acknowledged: dict[int, tuple[str, bytes]] = {}
    for attempt in range(4):
        with start_program(WRITER, f"sqlite:{path}", attempt, 100_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(200 * (attempt + 1))]
            process.kill()
            output = "".join(lines) + process.stdout.read()
        acknowledged |= {
            revision: (key, value)
            for key, value, revision in acknowledged_writes(output)
        }
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(acknowledged) >= 2000
    store = open_store(f"sqlite:{path}")
    async with aclosing(store.watch("", max(acknowledged) - 1500)) as events:
        seen = {event.revision: event for event in await take_changes(events, 1500)}
    for revision, (key, value) in acknowledged.items():
        present = await store.get(key)
        assert present
        assert int(present.value) >= int(value)
        assert present.revision >= revision
        if revision in seen:
            assert (seen[revision].key, seen[revision].value) == (key, value)
    assert (await store.create("after", b"") or 0) > max(acknowledged)
    await store.close()


async def test_processes_share_a_file(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    start = await store.create("counter", b"0") or 0
    processes = [
        start_program(COUNTER, f"sqlite:{tmp_path / 'store.db'}", 100) for _ in range(2)
    ]
    async with aclosing(store.watch("", start)) as events:
        assert [event.value for event in await take_changes(events, 200)] == [
            b"%d" % number for number in range(1, 201)
        ]
    for process in processes:
        process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0
    present = await store.get("counter")
    assert present
    assert present.value == b"200"
    await store.close()


def test_processes_may_create_the_file_at_the_same_time(tmp_path: Path) -> None:
    processes = [
        start_program(OPENER, f"sqlite:{tmp_path / 'store.db'}") for _ in range(6)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate(timeout=TIMEOUT)[0] for process in processes] == [
        "opened\n"
    ] * 6


async def test_a_watch_sees_writes_of_its_own_store_without_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smp.server.store.sqlite._POLL", 10 * TIMEOUT)
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    async with aclosing(store.watch("", await store.revision())) as events:
        for number in range(3):
            await store.create(f"a/{number}", b"1")
            assert len(await take_changes(events, 1)) == 1
    await store.close()


async def test_opening_waits_for_a_file_that_another_process_creates_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:{tmp_path / 'store.db'}"
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        # SQLite itself does not wait for this lock before it switches to a WAL file.
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("smp.server.store.sqlite._BUSY", 0.2)
        with pytest.raises(StoreError) as caught:
            open_store(url)
        assert caught.value.code == "unusable-store"
        monkeypatch.setattr("smp.server.store.sqlite._BUSY", TIMEOUT)
        opening = asyncio.create_task(asyncio.to_thread(open_store, url))
        assert not (await asyncio.wait([opening], timeout=0.3))[0]
        other.execute("ROLLBACK")
    store = await opening
    assert await store.create("a", b"1")
    await store.close()


async def test_a_write_to_a_locked_file_fails_after_a_time_and_reads_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smp.server.store.sqlite._PATIENCE", 1)
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    await store.create("a", b"1")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.create("b", b"1"))
        for _ in range(10):
            assert await store.get("a")
        # Only the write waits for the lock.
        assert not write.done()
        other.execute("ROLLBACK")
        assert await write
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            await store.create("c", b"1")
        assert type(caught.value) is StoreError
    assert await store.get("c") is None
    assert await store.create("c", b"2")
    await store.close()


async def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        done, error = await fill_store(store, 100_000)
        assert type(error) in (StoreError, OutcomeUnknownError)
        assert 1 < done < 20
        assert len((await store.list("a/")).items) == done
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert await store.create("b", bytes(100_000))
    assert len((await store.list("a/")).items) == done
    await store.close()


async def test_a_commit_that_fails_has_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    opened: list[sqlite3.Connection] = []

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(sqlite3.Connection(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    store = open_store(f"sqlite:{path}")
    for connection in opened:
        connection.execute("PRAGMA foreign_keys = ON")
    with closing(sqlite3.connect(path)) as other:
        # What refers to no row is found when the transaction is committed.
        other.executescript(
            "CREATE TABLE a (id INTEGER PRIMARY KEY);"
            "CREATE TABLE b (a REFERENCES a DEFERRABLE INITIALLY DEFERRED);"
            "CREATE TRIGGER wrong AFTER INSERT ON changes WHEN new.key = x'61'"
            " BEGIN INSERT INTO b VALUES (1); END"
        )
    writes = [store.create(key, b"1") for key in ("b", "a", "c")]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(each) for each in outcomes] == [int, OutcomeUnknownError, int]
    assert isinstance(outcomes[1], OutcomeUnknownError)
    assert outcomes[1].status == 504
    assert [item.key for item in (await store.list("")).items] == ["b", "c"]
    await store.close()


def test_a_loop_may_end_before_its_writes(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'store.db'}")

    async def start_writes() -> list[asyncio.Task[int | None]]:
        writes = [
            asyncio.create_task(store.create(f"a/{number}", b"1"))
            for number in range(100)
        ]
        await asyncio.sleep(0)
        return writes

    async def write_again() -> None:
        assert await store.create("b", b"1")
        await store.close()

    asyncio.run(start_writes())
    asyncio.run(write_again())
