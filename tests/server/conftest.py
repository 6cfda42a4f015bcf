"""kubectl with a server process and a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.server_process import Kubectl, ServerProcess, serving

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def kubectl_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server over SQLite that must log neither a warning nor an error."""
    directory = tmp_path_factory.mktemp("server")
    with serving(directory, "--store", f"sqlite:{directory / 'objects.db'}") as running:
        yield running
        assert running.stop() == 0
        unexpected = [
            line for line in running.logged() if line["level"] in {"warning", "error"}
        ]
        assert not unexpected


@pytest.fixture
def kubectl(kubectl_server: ServerProcess, tmp_path: Path) -> Kubectl:
    """kubectl in a namespace of its own."""
    namespace = f"test-{next(_NUMBERS)}"
    kubectl_server.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Kubectl(kubectl_server, tmp_path / "home", namespace)
