"""How the tests run: examples of Hypothesis, garbage collections, workers.

The examples are the same in every run, so that a change is judged by those of the tree
before it. ``pytest --hypothesis-profile=random`` draws other ones, and ``thorough``,
for .ci/run, eight times as many. How long an example takes is no failure: that depends
on the machine, and on what else it does.

Workers and tests start hundreds of Python processes. They share compiled modules, also
where the environment says not to write them.

Programs in Go that answer tests are built with ``SMP_GO=build`` only, which takes
minutes the first time.

Commands that tests run in this process may fork. Where it has used gRPC before, for
etcd, gRPC would start its threads again in each fork, and abort it now and then
(doc/fork_support.md of gRPC).
"""

from __future__ import annotations

import gc
import os
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("SMP_GO", "built")
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

settings.register_profile(
    "random", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "repeatable", settings.get_profile("random"), derandomize=True, max_examples=50
)
settings.register_profile(
    "thorough", settings.get_profile("repeatable"), max_examples=400
)
settings.load_profile("repeatable")

_LEAVES_CONNECTIONS: Final = ("default", "ignore:unclosed:ResourceWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let ``-m "not slow"`` leave out exhaustive tests, too."""
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Leave modules and tests, millions of objects, out of all garbage collections."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect the connections that the clients of a test leave open.

    Such a test has a mark that Python may warn of them; in a later one it may not.
    """
    marks = item.iter_markers("filterwarnings")
    if any(text in mark.args for mark in marks for text in _LEAVES_CONNECTIONS):
        gc.collect()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers ``-n auto`` means: one more than processors.

    Tests of the server and of the command wait for other processes, or for a timeout.
    """
    return (os.cpu_count() or 1) + 1
