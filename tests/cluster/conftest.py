"""A server for the tests of clusters, and a Cluster that is connected to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from smp.cluster import Cluster
from smp.testing import KubernetesApi

# Descriptions that were read from a server are read once.
_DOCUMENTS: Final[dict[str, bytes]] = {}


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server


@pytest.fixture
def cluster(api: KubernetesApi) -> Iterator[Cluster]:
    with api.unchanged():
        yield Cluster(api.client("httpx"), documents=_DOCUMENTS)
