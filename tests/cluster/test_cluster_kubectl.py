"""Cluster.apply sends what the real kubectl sends, and leaves the same objects.

What kubectl did is recorded, and the answers of two servers to Cluster.apply: those of
a kube-apiserver, and of the server of smp.testing. Recording compared the objects that
both left behind (``python -m tests.record.cluster_applies``).
"""

from __future__ import annotations

import os
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from smp.cluster import Cluster, drive
from smp.testing import KubernetesApi
from tests.support.cluster_proxy import Exchange, recording
from tests.support.cluster_recordings import Entry, Replay, read
from tests.support.cluster_sides import (
    Outcome,
    cluster_apply,
    essence,
    kubectl_apply,
    played,
)
from tests.support.cluster_situations import Situation, situations
from tests.support.kubectl import needs_kubectl

# The compiled schemas of each server, for all tests.
_DOCUMENTS: dict[str, dict[str, bytes]] = {"kube-apiserver": {}, "smp-serve": {}}
# Asked again of the kubectl that is installed.
_ASKED = ("an image changes", "from client-side to server-side", "an ApplySet")
# One of so many situations is replayed; SMP_CLUSTER_SITUATIONS=all replays all.
_SAMPLE = 1 if os.environ.get("SMP_CLUSTER_SITUATIONS") == "all" else 6
# The first ones, which have each way to apply, are always replayed.
_ALWAYS = 34

_recorded = cache(read)


def _sample(first: int) -> list[Situation]:
    others = situations()[_ALWAYS:]
    return [*situations()[:_ALWAYS], *others[first % _SAMPLE :: _SAMPLE]]


def _replayed(
    applies: list[dict[str, Any]], exchanges: list[list[Exchange]], server: str
) -> list[Outcome]:
    """Return the outcomes of a Cluster on a recorded server."""
    outcomes = []
    for step, answers in zip(applies, exchanges, strict=True):
        replay = Replay(answers)
        with httpx.Client(
            base_url="http://recorded", transport=httpx.MockTransport(replay.answer)
        ) as client:
            cluster = Cluster(client, documents=_DOCUMENTS[server], parallel=1)
            lines, errors, failed = cluster_apply(cluster)(step)
        sent = [*map(essence, replay.sent)]
        outcomes.append(Outcome(sent, sorted(lines), sorted(errors), failed))
    return outcomes


def _is_as_with_kubectl(situation: Situation, server: str) -> bool:
    entry = _recorded(server).entries[situation.name]
    applies = [step for step in situation.steps if "apply" in step or "text" in step]
    return _replayed(applies, entry.exchanges, server) == entry.kubectl.outcomes


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pauses between attempts take no time."""
    run = partial(drive.run, sleep=lambda _seconds: None)
    monkeypatch.setattr(drive, "run", run)


@pytest.mark.parametrize("situation", _sample(0), ids=lambda each: each.name)
def test_all_is_as_with_kubectl_on_a_kube_apiserver(situation: Situation) -> None:
    is_same = _is_as_with_kubectl(situation, "kube-apiserver")
    assert is_same is not bool(situation.differs)


@pytest.mark.parametrize("situation", _sample(3), ids=lambda each: each.name)
def test_all_is_as_with_kubectl_on_the_server_of_tests(situation: Situation) -> None:
    is_same = _is_as_with_kubectl(situation, "smp-serve")
    assert is_same is not bool(situation.differs)


def _changes_of_unions() -> list[str]:
    found = [*_recorded("unions").entries]
    return found[::_SAMPLE]


@pytest.mark.parametrize("name", _changes_of_unions())
def test_the_member_of_a_union_is_changed(name: str) -> None:
    entry = _recorded("unions").entries[name]
    replayed = _replayed(entry.applies, entry.exchanges, "kube-apiserver")
    # As kubectl does, or as Cluster.apply did, which a kube-apiserver has accepted.
    assert replayed == entry.kubectl.outcomes
    if name.endswith("(clear)"):
        assert not any(outcome.failed for outcome in replayed)


@pytest.mark.parametrize("server", ["kube-apiserver", "smp-serve"])
def test_random_manifests_are_applied_as_with_kubectl(server: str) -> None:
    for entry in _recorded(f"random-{server}").entries.values():
        replayed = _replayed(entry.applies, entry.exchanges, server)
        assert replayed == entry.kubectl.outcomes


def test_kubectl_is_refused_where_a_cluster_is_not() -> None:
    entries = _recorded("unions").entries
    failed = {name for name, entry in entries.items() if _is_refused(entry)}
    assert {name.rpartition(" ")[2] for name in failed} == {"(kubectl)"}
    assert len(failed) == 32
    assert len(entries) == 2 * 168


def _is_refused(entry: Entry) -> bool:
    return any(outcome.failed for outcome in entry.kubectl.outcomes)


@pytest.mark.parametrize("server", ["kube-apiserver", "smp-serve"])
def test_all_situations_are_recorded(server: str) -> None:
    names = {situation.name for situation in situations()}
    assert _recorded(server).entries.keys() == names


@needs_kubectl
@pytest.mark.slow
@pytest.mark.parametrize("name", _ASKED)
def test_what_is_recorded_is_what_kubectl_does(
    name: str, api: KubernetesApi, tmp_path: Path
) -> None:
    situation = next(each for each in situations() if each.name == name)
    with recording(api.client("httpx")) as proxy:
        found, _ = played(situation, proxy, kubectl_apply(proxy, tmp_path))
    assert found == _recorded("smp-serve").entries[name].kubectl
