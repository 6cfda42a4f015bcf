"""Stores of every backend; etcd only where it is on PATH."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from smp.server.store import Store
from tests.support.etcd import Etcd, running
from tests.support.stores import BACKENDS, new_url, opened_store


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> None:  # it runs the loop
    """Keep one event loop for all tests, as a server has one."""


@pytest.fixture(scope="session")
def etcd() -> Iterator[Etcd]:
    """One etcd for all tests; each store in it has a prefix of its own."""
    with running() as server:
        yield server


@pytest.fixture
def etcd_server() -> Iterator[Etcd]:
    """An etcd for one test, which may stop it or delete its data."""
    with running() as server:
        yield server


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(backend, request, tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with opened_store(url) as store:
        yield store
