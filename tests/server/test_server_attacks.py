"""Others are answered while a server is asked for a lot of work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

import pytest

from tests.support import attacks
from tests.support.attacks import Attack, Request, probing, send
from tests.support.server_process import ServerProcess, serving
from tests.support.waiting import wait_until

# Seconds of processor time, which do not depend on what else the machine does, on the
# machine of ``speed.slowness``. They are less where the engine is compiled;
# benchmarks/attacks.py measures.
MOST = 0.25
# Seconds: less than requests in flight have to finish (smp.server.run._GRACE).
SOON = 25


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("attacked")) as running:
        yield running
        assert running.stop() == 0


def no_error(request: Request, status: int, _seconds: float) -> None:
    assert status < 500, request.path


QUICK = [attacks.any_of(8, 50), attacks.enum(5_000, 200), attacks.columns(50, 6)]
OTHERS = [
    attack
    for attack in attacks.short()
    if attack.name.split()[1] not in {"tree", "enum", "table"}
]


def withstands(server: ServerProcess, attack: Attack) -> None:
    with probing(server) as probe:
        attacks.run(server.url, attack, no_error)
    assert probe.most_worked < MOST * probe.slowness
    assert probe.statuses == {200}


@pytest.mark.parametrize("attack", QUICK, ids=lambda attack: attack.name)
def test_others_are_answered_meanwhile(server: ServerProcess, attack: Attack) -> None:
    withstands(server, attack)


@pytest.mark.exhaustive
@pytest.mark.parametrize("attack", OTHERS, ids=lambda attack: attack.name)
def test_others_are_answered_during_each(server: ServerProcess, attack: Attack) -> None:
    withstands(server, attack)


@pytest.mark.exhaustive
def test_others_are_answered_during_work_on_many_objects(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for attack in attacks.over_many(500, 500):
            withstands(server, attack)


@pytest.mark.exhaustive
def test_a_server_ends_although_it_has_a_lot_to_do(tmp_path: Path) -> None:
    attack = attacks.any_of(13, 200)
    with serving(tmp_path) as server:
        for request in attack.before:
            send(server.url, request)
        statuses = []
        attacker = threading.Thread(
            target=lambda: statuses.append(send(server.url, attack.requests[0])[0])
        )
        attacker.start()
        wait_until(lambda: server.in_flight() == 1)
        sleep(0.5)
        started = perf_counter()
        assert server.stop(signal.SIGTERM) == 0
        assert perf_counter() - started < SOON
        attacker.join()
        # Not executed.
        assert statuses == [503]
