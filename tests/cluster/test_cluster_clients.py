"""Every client gives the same results."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import lightkube
import pytest
from kr8s._async_utils import as_sync_func
from kubernetes.dynamic import DynamicClient

from smp.cluster import AsyncCluster, BrokenConnectionError, Cluster
from smp.cluster.clients import transport_over
from smp.cluster.drive import run
from smp.cluster.plan.exchange import Request
from smp.cluster.plan.sending import send
from smp.testing import KubernetesApi
from smp.values import JSONObject

# kr8s knows the versions of Kubernetes that it was tested with.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")

_DOCUMENTS: dict[str, bytes] = {}


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server


def config_map(**data: str) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {**data},
    }


_BAD: JSONObject = {**config_map(), "metadata": {"name": "Not a name"}}
_EXPECTED = ["created", "configured", "unchanged", "failed", "deleted"]


def _dynamic(api: KubernetesApi) -> Any:
    make: Any = DynamicClient
    return make(api.client("kubernetes"))


_CLIENTS: dict[str, Callable[[KubernetesApi], Any]] = {
    "kubernetes": lambda api: api.client("kubernetes"),
    "DynamicClient": _dynamic,
    "lightkube": lambda api: api.client("lightkube"),
    "kr8s": lambda api: api.client("kr8s"),
    "httpx": lambda api: api.client("httpx"),
}


@pytest.mark.parametrize("name", _CLIENTS)
def test_a_client_that_blocks(name: str, api: KubernetesApi) -> None:
    client = _CLIENTS[name](api)
    with api.unchanged():
        cluster = Cluster(client, documents=_DOCUMENTS)
        found = [
            cluster.apply(obj).results[0]
            for obj in (config_map(k="1"), config_map(k="2"), config_map(k="2"), _BAD)
        ]
        found += cluster.delete(config_map())
        assert [result.action for result in found] == _EXPECTED
        assert 'ConfigMap "Not a name" is invalid' in str(found[3].error)
        assert cluster.get(config_map()) is None
    if name == "kr8s":
        # It has no public way to be closed.
        as_sync_func(client._session.aclose)()  # noqa: SLF001  # see above
    elif hasattr(client, "close"):
        client.close()


async def _asynchronous_httpx(api: KubernetesApi) -> Any:
    return httpx.AsyncClient(base_url=api.url, trust_env=False)


async def _asynchronous_lightkube(api: KubernetesApi) -> Any:
    config = lightkube.KubeConfig.from_file(api.kubeconfig)
    return lightkube.AsyncClient(config=config, trust_env=False)


async def _asynchronous_kubernetes(api: KubernetesApi) -> Any:
    return api.client("kubernetes_asyncio")


async def _asynchronous_kr8s(api: KubernetesApi) -> Any:
    return await api.client("kr8s.asyncio")


_ASYNC_CLIENTS: dict[str, Callable[[KubernetesApi], Awaitable[Any]]] = {
    "httpx": _asynchronous_httpx,
    "kr8s": _asynchronous_kr8s,
    "kubernetes_asyncio": _asynchronous_kubernetes,
    "lightkube": _asynchronous_lightkube,
}


@pytest.mark.parametrize("name", _ASYNC_CLIENTS)
def test_a_client_of_asyncio(name: str, api: KubernetesApi) -> None:
    async def main() -> None:
        client = await _ASYNC_CLIENTS[name](api)
        cluster = AsyncCluster(client, documents=_DOCUMENTS)
        found = []
        for obj in (config_map(k="1"), config_map(k="2"), config_map(k="2"), _BAD):
            done = await cluster.apply(obj)
            found.append(done.results[0])
        found += await cluster.delete(config_map())
        assert [result.action for result in found] == _EXPECTED
        assert await cluster.get(config_map()) is None
        if name == "kr8s":
            await client._session.aclose()  # noqa: SLF001  # it has no public way
        else:
            closes = "aclose" if name == "httpx" else "close"
            await getattr(client, closes)()

    with api.unchanged():
        asyncio.run(main())


@pytest.mark.parametrize("name", ["kubernetes", "lightkube", "httpx"])
def test_a_server_that_is_not_there_was_sent_nothing(name: str) -> None:
    with KubernetesApi() as gone:
        client = _CLIENTS[name](gone)
        if name == "httpx":
            # The other one is closed with the server.
            client = httpx.Client(base_url=gone.url, trust_env=False)
        transport = transport_over(client)
        gone.stop()
        with pytest.raises(BrokenConnectionError) as caught:
            run(send(Request("POST", "/api/v1/namespaces", body=b"{}")), transport)
        assert not caught.value.sent


def test_a_connection_that_breaks_may_have_sent_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with httpx.Client(base_url=url, trust_env=False) as client:
            transport = transport_over(client)
            with pytest.raises(BrokenConnectionError) as caught:
                run(send(Request("POST", "/api/v1/namespaces", body=b"{}")), transport)
        thread.join()
    assert caught.value.sent


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes one of .*, and not builtins\.str"):
        Cluster("https://example.com")
    with httpx.Client() as client, pytest.raises(TypeError, match="AsyncCluster"):
        AsyncCluster(client)
