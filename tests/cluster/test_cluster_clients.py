"""Every client sends the same requests, and gives the same results."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import lightkube
import pytest
from kr8s._async_utils import as_sync_func
from kubernetes.dynamic import DynamicClient

from smp._values.values import JSONObject, as_object
from smp.cluster import AsyncCluster, BrokenConnectionError, Cluster
from smp.cluster.clients import async_transport_over, transport_over
from smp.cluster.drive import run, run_async
from smp.cluster.plan.exchange import PlannedRequest
from smp.cluster.plan.sending import path_of, send
from smp.testing import KubernetesApi, _kubernetes_api
from smp.testing import Request as RecordedRequest
from tests.support.cluster_proxy import Exchange
from tests.support.cluster_recordings import Entry, read
from tests.support.cluster_sides import (
    Apply,
    Outcome,
    change,
    cluster_apply,
    essence,
    options_of,
    outcome_of,
)
from tests.support.cluster_situations import Situation, situations

# kr8s knows the versions of Kubernetes that it was tested with.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")

_DOCUMENTS: dict[str, bytes] = {}
# What each client plays, of the situations that are recorded with kubectl.
_SUITE = (
    "a new object",
    "nothing changes",
    "an image changes",
    "an injected sidecar stays",
    "a field is removed",
    "an environment variable is removed",
    "a container is renamed",
    "a volume becomes another one",
    "one port number with two protocols",
    "a finalizer is removed",
    "nulls and characters that JSON escapes",
    "an object that was not applied before",
    "a secret with stringData",
    "a kind without a namespace",
    "another namespace",
    "an unknown field",
    "an object that fails among others",
    "server-side",
    "from client-side to server-side",
    "a conflict of server-side applies",
    "a dry run on the server",
    "a dry run on the client",
    "unknown fields are warned of",
    "an immutable field, forced",
    "changes of others are not overwritten",
    "pruning by labels",
    "an ApplySet",
    "one object twice, as it is and changed",
    "a list of objects",
    "a status in the manifest",
    "numbers, and keys that are escaped in paths",
    "text with line breaks, quotes and other scripts",
    "an annotation of 200 KiB",
    "a configuration that is too long for an annotation",
    "an object with a name that must be encoded",
    "a kind that is not served among others",
    "several errors of one object",
    "a namespace that does not exist",
    "a deprecated version is warned of",
    "server-side, several conflicts",
)
# By default each client plays some, all clients together half of them.
_ALL = os.environ.get("SMP_CLUSTER_SITUATIONS") == "all"


@cache
def _recorded() -> dict[str, Entry]:
    return read("smp-serve").entries


def _suite_of(number: int) -> list[Situation]:
    """Return what the client of a number plays."""
    assert len(set(_SUITE)) == 40
    clients = len(_CLIENTS) + len(_ASYNC_CLIENTS)
    names = _SUITE if _ALL else _SUITE[number :: 2 * clients]
    return [each for each in situations() if each.name in names]


def _play(situation: Situation, api: KubernetesApi, apply: Apply) -> None:
    """Compare what a client sends and is answered with what is recorded of kubectl."""
    web: httpx.Client = api.client("httpx")
    outcomes = []
    with api.unchanged():
        for step in situation.steps:
            if "apply" not in step:
                change(web, step, {})
                continue
            api.clear_requests()
            lines, errors, failed = apply(step)
            sent = [essence(_exchange(each)) for each in api.requests if _writes(each)]
            outcomes.append(Outcome(sent, sorted(lines), sorted(errors), failed))
    assert outcomes == _recorded()[situation.name].kubectl.outcomes


def _writes(request: RecordedRequest) -> bool:
    return request.method != "GET"


def _exchange(request: RecordedRequest) -> Exchange:
    return Exchange(
        method=request.method,
        # The server has decoded it.
        path=path_of(*request.path.split("/")),
        query=[*request.query.items()],
        content_type=request.headers.get("content-type", ""),
        body=request.content,
        status=request.status,
        headers=[],
        answer=b"",
    )


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
    cluster = Cluster(client, documents=_DOCUMENTS)
    for situation in _suite_of([*_CLIENTS].index(name)):
        _play(situation, api, cluster_apply(cluster))
    with api.unchanged():
        cluster.apply(_CONFIG_MAP).raise_for_errors()
        live = cluster.get(_CONFIG_MAP)
        assert live is not None
        assert live["data"] == {"k": "v"}
        (difference,) = cluster.diff(_CHANGED)
        assert as_object(difference.merged)["data"] == {"k": "w"}
        (waited,) = cluster.wait(_CONFIG_MAP, timeout=1)
        assert waited.error is None
        assert [each.action for each in cluster.delete(_CONFIG_MAP)] == ["deleted"]
        assert cluster.get(_CONFIG_MAP) is None
    if name == "kr8s":
        # It has no public way to be closed.
        as_sync_func(client._session.aclose)()  # noqa: SLF001  # see above
    elif hasattr(client, "close"):
        client.close()


_CONFIG_MAP: JSONObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a"},
    "data": {"k": "v"},
}
_CHANGED: JSONObject = {**_CONFIG_MAP, "data": {"k": "w"}}


async def _asynchronous_httpx(api: KubernetesApi) -> Any:
    return httpx.AsyncClient(base_url=api.url, trust_env=False)


async def _asynchronous_lightkube(api: KubernetesApi) -> Any:
    config = lightkube.KubeConfig.from_file(api.kubeconfig)
    return lightkube.AsyncClient(config=config, trust_env=False)


async def _asynchronous_kubernetes(api: KubernetesApi) -> Any:
    return api.client("kubernetes_asyncio")


async def _asynchronous_kr8s(api: KubernetesApi) -> Any:
    return await api.client("kr8s.asyncio")


_ASYNC_CLIENTS: dict[str, Callable[[KubernetesApi], Coroutine[Any, Any, Any]]] = {
    "httpx": _asynchronous_httpx,
    "kr8s": _asynchronous_kr8s,
    "kubernetes_asyncio": _asynchronous_kubernetes,
    "lightkube": _asynchronous_lightkube,
}


@pytest.mark.parametrize("name", _ASYNC_CLIENTS)
@pytest.mark.slow
def test_a_client_of_asyncio(name: str, api: KubernetesApi) -> None:
    with asyncio.Runner() as runner:
        client = runner.run(_ASYNC_CLIENTS[name](api))
        cluster = AsyncCluster(client, documents=_DOCUMENTS)

        def apply(step: dict[str, Any]) -> tuple[list[str], list[str], bool]:
            return outcome_of(
                runner.run(cluster.apply(step["apply"], **options_of(step)))
            )

        for situation in _suite_of(len(_CLIENTS) + [*_ASYNC_CLIENTS].index(name)):
            _play(situation, api, apply)
        with api.unchanged():
            runner.run(_the_other_methods(cluster))
        if name == "kr8s":
            # It has no public way to be closed.
            runner.run(client._session.aclose())  # noqa: SLF001  # see above
        else:
            closes = "aclose" if name == "httpx" else "close"
            runner.run(getattr(client, closes)())


async def _the_other_methods(cluster: AsyncCluster) -> None:
    (await cluster.apply(_CONFIG_MAP)).raise_for_errors()
    live = await cluster.get(_CONFIG_MAP)
    assert live is not None
    assert live["data"] == {"k": "v"}
    (difference,) = await cluster.diff(_CHANGED)
    assert as_object(difference.merged)["data"] == {"k": "w"}
    (waited,) = await cluster.wait(_CONFIG_MAP, timeout=1)
    assert waited.error is None
    deleted = await cluster.delete(_CONFIG_MAP)
    assert [each.action for each in deleted] == ["deleted"]
    assert await cluster.get(_CONFIG_MAP) is None


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
            run(
                send(PlannedRequest("POST", "/api/v1/namespaces", body=b"{}")),
                transport,
            )
        assert not caught.value.sent


# What a server sends before it hangs up, in the middle of an answer or before it.
_HALF = b"HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n{"
_POST = PlannedRequest("POST", "/api/v1/namespaces", body=b"{}")


@contextmanager
def hanging_up(answer: bytes) -> Iterator[str]:
    """Run a server that reads one request, sends a part of an answer, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(answer)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize("answer", [b"", _HALF])
@pytest.mark.parametrize("name", ["httpx", "kubernetes"])
def test_a_connection_that_breaks_may_have_sent_it(name: str, answer: bytes) -> None:
    with hanging_up(answer) as url:
        client = _kubernetes_api.make_client(name, url, Path())
        with pytest.raises(BrokenConnectionError) as caught:
            run(send(_POST), transport_over(client))
        client.close()
    assert caught.value.is_unknown


@pytest.mark.parametrize("answer", [b"", _HALF])
@pytest.mark.parametrize("name", ["httpx", "kubernetes_asyncio"])
def test_one_of_asyncio_that_breaks_may_have_sent_it(name: str, answer: bytes) -> None:
    async def main(url: str) -> None:
        if name == "httpx":
            client: Any = httpx.AsyncClient(base_url=url, trust_env=False)
        else:
            client = _kubernetes_api.make_client(name, url, Path())
        with pytest.raises(BrokenConnectionError) as caught:
            await run_async(send(_POST), async_transport_over(client))
        await (client.aclose() if name == "httpx" else client.close())
        assert caught.value.is_unknown

    with hanging_up(answer) as url:
        asyncio.run(main(url))


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes one of .*, and not builtins\.str"):
        Cluster("https://example.com")
    with httpx.Client() as client, pytest.raises(TypeError, match="AsyncCluster"):
        AsyncCluster(client)
