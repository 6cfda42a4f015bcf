"""Several processes of one server: they share a store, and end with their parent."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.server_app import CONFIG_MAPS, MERGE, config_map
from tests.support.server_process import ServerProcess, serving
from tests.support.waiting import TIMEOUT, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="/proc has the child processes"
    ),
]


@contextmanager
def serving_with_two(directory: Path, *options: str) -> Iterator[ServerProcess]:
    store = f"sqlite:{directory / 'objects.db'}"
    with serving(directory, "--processes", "2", "--store", store, *options) as server:
        yield server


def children(server: ServerProcess) -> set[int]:
    pid = server.process.pid
    return {
        int(child)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    }


def await_end_of(pids: set[int]) -> None:
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    # One that has ended and is not waited for is a zombie (proc(5), state Z).
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_each_process_has_what_the_other_one_wrote(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    options = ("--store", "memory:") if store == "memory" else ()
    with serving_with_two(tmp_path, *options) as server:
        # The memory of one process is not that of the other: it is a file.
        assert len([*temporary.iterdir()]) == (1 if store == "memory" else 0)
        assert len(children(server)) == 2

        def increment(name: str) -> None:
            # Each request has a connection of its own, which either process accepts.
            path = f"{CONFIG_MAPS}/{name}"
            for _ in range(5):
                obj = server.get(path)
                obj["data"]["count"] = str(int(obj["data"]["count"]) + 1)
                url = server.url + path
                httpx.put(url, json=obj, timeout=TIMEOUT).raise_for_status()

        names = ("a", "b")
        for name in names:
            server.post(CONFIG_MAPS, config_map(name, count="0"))
        with ThreadPoolExecutor(len(names)) as threads:
            list(threads.map(increment, names))
        found = {item["data"]["count"] for item in server.get(CONFIG_MAPS)["items"]}
        assert found == {"5"}

        # Writers of one object never give up to those of the other process.
        def patch(writer: int) -> None:
            with httpx.Client(base_url=server.url, timeout=TIMEOUT) as client:
                for number in range(20):
                    body = {"data": {f"{writer}-{number}": ""}}
                    answer = client.patch(
                        f"{CONFIG_MAPS}/a", json=body, headers={"content-type": MERGE}
                    )
                    answer.raise_for_status()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(patch, range(8)))
        assert len(server.get(f"{CONFIG_MAPS}/a")["data"]) == 1 + 8 * 20
        assert server.stop() == 0
        assert not [*temporary.iterdir()]


def test_a_process_that_ends_is_replaced(tmp_path: Path) -> None:
    with serving_with_two(tmp_path) as server:
        server.post(CONFIG_MAPS, config_map("a"))
        former = children(server)
        killed = min(former)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(children(server) - {killed}) == 2)
        assert server.get(f"{CONFIG_MAPS}/a")["metadata"]["name"] == "a"
        (line,) = server.logged()
        assert (line["message"], line["pid"]) == (
            "a process of the server ended",
            killed,
        )
        assert line["exit_code"] == -signal.SIGKILL
        now = children(server)
        assert server.stop() == 0
        await_end_of(now | former)


def test_an_interrupt_lets_requests_finish(tmp_path: Path) -> None:
    with serving_with_two(tmp_path) as server:
        server.post(CONFIG_MAPS, config_map("a"))
        url = f"{server.url}{CONFIG_MAPS}?watch=1&resourceVersion=0"
        with httpx.stream("GET", url, timeout=TIMEOUT) as watch:
            lines = watch.iter_lines()
            assert json.loads(next(lines))["type"] == "ADDED"
            assert server.stop(signal.SIGINT) == 0
            # The end of the body: the watch was not cut off.
            assert list(lines) == []


def test_the_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    with serving_with_two(tmp_path) as server:
        pids = children(server)
        server.stop(signal.SIGKILL)
        await_end_of(pids)
