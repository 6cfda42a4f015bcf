"""An API server on a thread of the test: clients, objects, faults, what it leaves."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import pytest

from smp.errors import DocumentError, SmpError
from smp.server.settings import Settings
from smp.testing import KubernetesApi, KubernetesApiError
from tests.support.kubectl import kubectl_path, needs_kubectl
from tests.support.server_app import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.waiting import TIMEOUT, wait_until

STATUSES = [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503, 504]
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@pytest.fixture(scope="module")
def started() -> Iterator[KubernetesApi]:
    with KubernetesApi() as api:
        yield api


@pytest.fixture(scope="module")
def process() -> Iterator[KubernetesApi]:
    with KubernetesApi(process=True) as api:
        yield api


@pytest.fixture
def api(started: KubernetesApi) -> KubernetesApi:
    started.reset()
    return started


@pytest.fixture
def web(api: KubernetesApi) -> Iterator[httpx.Client]:
    with api.client("httpx") as client:
        yield client


def names(web: httpx.Client, path: str = CONFIG_MAPS) -> list[str]:
    items = web.get(path).raise_for_status().json()["items"]
    return [item["metadata"]["name"] for item in items]


class TestClients:
    def test_the_official_client_reads_and_writes(self, api: KubernetesApi) -> None:
        core = import_module("kubernetes.client").CoreV1Api(api.client())
        core.create_namespaced_config_map("default", config_map("a", x="1"))
        assert core.read_namespaced_config_map("a", "default").data == {"x": "1"}

    def test_httpx_has_the_url_as_its_base(self, web: httpx.Client) -> None:
        assert web.get("/readyz").text == "ok"

    def test_proxies_of_the_environment_are_not_used(
        self, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert api.client("httpx").get("/readyz").text == "ok"
        client = import_module("kubernetes.client")
        assert client.CoreV1Api(api.client()).list_namespace().items

    @needs_kubectl
    def test_kubectl_uses_the_kubeconfig(
        self, api: KubernetesApi, tmp_path: Path
    ) -> None:
        api.apply(config_map("a"))
        ran = subprocess.run(
            [str(kubectl_path()), "get", "configmaps", "-o", "name"],
            env={"HOME": str(tmp_path), "KUBECONFIG": str(api.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert (ran.returncode, ran.stdout) == (0, "configmap/a\n"), ran.stderr

    def test_an_unknown_client_is_an_error_with_the_known_ones(
        self, api: KubernetesApi
    ) -> None:
        with pytest.raises(KubernetesApiError, match="lightkube"):
            api.client("pykube")

    def test_a_missing_package_is_an_error_that_names_it(
        self, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "lightkube", None)
        with pytest.raises(KubernetesApiError, match="pip install lightkube") as caught:
            api.client("lightkube")
        assert caught.value.code == "missing-package"


# They leave connections open that nothing but the garbage collector closes.
@pytest.mark.filterwarnings("default")
class TestOtherClients:
    """Those that the project does not install are tested where they are installed."""

    def test_kubernetes_asyncio(self, api: KubernetesApi) -> None:
        import asyncio  # noqa: PLC0415  # only this test is asynchronous

        package = pytest.importorskip("kubernetes_asyncio")
        api.apply(config_map("a", x="1"))

        async def read() -> Any:
            async with api.client("kubernetes_asyncio") as client:
                core = package.client.CoreV1Api(client)
                return await core.read_namespaced_config_map("a", "default")

        assert asyncio.run(read()).data == {"x": "1"}

    def test_lightkube(self, api: KubernetesApi) -> None:
        pytest.importorskip("lightkube")
        resources = import_module("lightkube.resources.core_v1")
        api.apply(config_map("a", x="1"))
        with api.client("lightkube") as client:
            assert client.get(resources.ConfigMap, "a").data == {"x": "1"}

    def test_kr8s(self, api: KubernetesApi) -> None:
        pytest.importorskip("kr8s")
        api.apply(config_map("a", x="1"))
        (found,) = api.client("kr8s").get("configmaps", "a")
        assert found.raw["data"] == {"x": "1"}


class TestApply:
    def test_objects_text_files_and_directories_are_taken(
        self, api: KubernetesApi, web: httpx.Client, tmp_path: Path
    ) -> None:
        text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}\n"
        (tmp_path / "more").mkdir()
        (tmp_path / "b.yaml").write_text(f"{text % 'b'}---\n{text % 'c'}")
        (tmp_path / "more" / "d.yml").write_text(text % "d")
        (tmp_path / "more" / "README.md").write_text("not an object")
        given: list[Any] = [
            config_map("a"),
            tmp_path / "b.yaml",
            tmp_path / "more",
            text % "e",
        ]
        stored = api.apply(given)
        assert [obj["metadata"]["name"] for obj in stored] == [*"abcde"]
        assert names(web) == [*"abcde"]

    def test_a_text_that_is_a_path_is_an_error(self, api: KubernetesApi) -> None:
        with pytest.raises(DocumentError, match=r"pathlib\.Path"):
            api.apply("objects.yaml")

    def test_definitions_and_namespaces_come_first(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        elsewhere = config_map("a")
        elsewhere["metadata"]["namespace"] = "n"
        namespace: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "n"},
        }
        stored = api.apply([cron_tab({}), elsewhere, CRON_TABS, namespace])
        assert [obj["kind"] for obj in stored] == [
            "CronTab",
            "ConfigMap",
            "CustomResourceDefinition",
            "Namespace",
        ]
        assert names(web, "/api/v1/namespaces/n/configmaps") == ["a"]

    def test_objects_without_a_namespace_are_put_into_that_of_the_api(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.apply("{apiVersion: v1, kind: Namespace, metadata: {name: mine}}")
        api.namespace = "mine"
        api.apply(config_map("a"))
        assert names(web, "/api/v1/namespaces/mine/configmaps") == ["a"]
        assert names(web) == []

    def test_a_status_is_written(self, api: KubernetesApi) -> None:
        status = {"replicas": 2, "readyReplicas": 1}
        with_status = deployment()
        with_status["status"] = status
        (stored,) = api.apply(with_status)
        assert stored["status"] == status

    def test_what_was_read_can_be_applied(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.apply(deployment())
        read = web.get(f"{DEPLOYMENTS}/web").json()
        api.reset()
        api.apply(read)
        assert web.get(f"{DEPLOYMENTS}/web").json()["spec"] == read["spec"]

    def test_what_the_server_refuses_is_an_error_with_its_message(
        self, api: KubernetesApi
    ) -> None:
        with pytest.raises(KubernetesApiError, match="Invalid value"):
            api.apply(config_map("Not A Name"))
        with pytest.raises(SmpError, match="no resource of kind Nope"):
            api.apply("{apiVersion: v1, kind: Nope, metadata: {name: a}}")


class TestSnapshots:
    def test_objects_come_back_and_go(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.apply([config_map("kept"), config_map("changed", x="1"), config_map("old")])
        kept = web.get(f"{CONFIG_MAPS}/kept").json()
        snapshot = api.snapshot()
        api.apply([config_map("changed", x="2"), config_map("new")])
        web.delete(f"{CONFIG_MAPS}/old").raise_for_status()
        api.restore(snapshot)
        assert names(web) == ["changed", "kept", "old"]
        assert web.get(f"{CONFIG_MAPS}/changed").json()["data"] == {"x": "1"}
        # What did not change has its resourceVersion.
        assert web.get(f"{CONFIG_MAPS}/kept").json() == kept

    def test_custom_resources_come_and_go_with_their_definition(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        path = "/apis/stable.example.com/v1/namespaces/default/crontabs"
        api.apply([CRON_TABS, cron_tab({})])
        with_tabs = api.snapshot()
        api.reset()
        assert web.get(path).status_code == 404
        api.restore(with_tabs)
        assert names(web, path) == ["my-new-cron-object"]

    def test_watches_get_what_a_restore_changes(self, api: KubernetesApi) -> None:
        kubernetes = import_module("kubernetes")
        core = kubernetes.client.CoreV1Api(api.client())
        before = api.snapshot()
        api.apply(config_map("a"))
        version = core.list_namespaced_config_map("default").metadata.resource_version
        api.restore(before)
        events = kubernetes.watch.Watch().stream(
            core.list_namespaced_config_map,
            "default",
            resource_version=version,
            timeout_seconds=5,
        )
        event = next(iter(events))
        assert (event["type"], event["object"].metadata.name) == ("DELETED", "a")

    def test_a_snapshot_and_a_restore_take_a_few_milliseconds(
        self, api: KubernetesApi
    ) -> None:
        api.apply([config_map(f"c{number}") for number in range(100)])
        # Less than 1 ms where nothing else runs.
        wait_until(lambda: _seconds_of_a_restore(api) < 0.02)


def _seconds_of_a_restore(api: KubernetesApi) -> float:
    started = perf_counter()
    snapshot = api.snapshot()
    api.restore(snapshot)
    return perf_counter() - started


class TestFaults:
    @pytest.mark.parametrize("status", STATUSES)
    def test_a_fault_is_a_status_as_an_api_server_words_it(
        self, api: KubernetesApi, web: httpx.Client, status: int
    ) -> None:
        api.apply(config_map("a"))
        api.fail_next(status)
        answer = web.put(f"{CONFIG_MAPS}/a", json=config_map("a"))
        assert answer.status_code == status
        body = answer.json()
        assert (body["kind"], body["code"]) == ("Status", status)
        assert body["reason"] == REASONS[status]
        assert body["message"]
        # Once.
        assert web.put(f"{CONFIG_MAPS}/a", json=config_map("a")).status_code == 200

    def test_messages_name_the_object(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        path = f"{DEPLOYMENTS}/web"
        api.fail_next(409)
        assert web.post(DEPLOYMENTS, json=deployment()).json()["message"] == (
            'deployments.apps "web" already exists'
        )
        api.fail_next(409)
        message = web.patch(path).json()["message"]
        assert message.startswith(
            'Operation cannot be fulfilled on deployments.apps "web": the object has '
        )
        api.fail_next(403)
        assert web.get(DEPLOYMENTS).json()["message"] == (
            'deployments.apps is forbidden: User "system:anonymous" cannot list'
            ' resource "deployments" in API group "apps" in the namespace "default"'
        )
        api.fail_next(404)
        assert web.get(path).json()["message"] == 'deployments.apps "web" not found'
        api.fail_next(500, message="etcdserver: leader changed")
        assert web.get(path).json()["message"] == "etcdserver: leader changed"

    def test_too_many_requests_name_the_time_to_wait(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.fail_next(429)
        assert web.get(CONFIG_MAPS).headers["retry-after"] == "1"
        api.fail_next(429, retry_after=0)
        assert "retry-after" not in web.get(CONFIG_MAPS).headers
        api.fail_next(503)
        assert "retry-after" not in web.get(CONFIG_MAPS).headers
        api.fail_next(503, retry_after=7)
        assert web.get(CONFIG_MAPS).headers["retry-after"] == "7"

    def test_the_official_client_sees_a_fault(self, api: KubernetesApi) -> None:
        client = import_module("kubernetes.client")
        api.fail_next(503)
        with pytest.raises(client.ApiException) as caught:
            client.CoreV1Api(api.client()).list_namespaced_config_map("default")
        assert caught.value.status == 503

    def test_only_requests_of_the_verb_on_the_resource_fail(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.fail_next(503, verb="create", resource="configmaps", times=2)
        assert web.get(CONFIG_MAPS).status_code == 200
        created = [
            web.post(CONFIG_MAPS, json=config_map("a")).status_code for _ in range(3)
        ]
        assert created == [503, 503, 201]

    def test_a_resource_is_named_as_in_a_role(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.apply(deployment())
        path = f"{DEPLOYMENTS}/web"
        api.fail_next(500, resource="deployments.apps/scale", times=0)
        assert web.get(path).status_code == 200
        assert web.get(f"{path}/scale").status_code == 500
        assert web.get(f"{path}/scale").status_code == 500
        api.clear_faults()
        assert web.get(f"{path}/scale").status_code == 200

    def test_a_watch_is_not_a_list(self, api: KubernetesApi, web: httpx.Client) -> None:
        api.fail_next(410, verb="watch")
        assert web.get(CONFIG_MAPS).status_code == 200
        assert web.get(CONFIG_MAPS, params={"watch": "true"}).status_code == 410
        # As Go reads it, any value but false and 0 is true.
        api.fail_next(410, verb="watch")
        assert web.get(CONFIG_MAPS, params={"watch": "0"}).status_code == 200
        assert web.get(CONFIG_MAPS, params={"watch": "T"}).status_code == 410

    def test_discovery_does_not_fail(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.fail_next(500)
        assert web.get("/api/v1").status_code == 200
        assert web.get("/apis/apps/v1").status_code == 200
        assert web.get(CONFIG_MAPS).status_code == 500

    def test_several_faults_happen_in_their_order(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.fail_next(500)
        api.fail_next(503)
        codes = [web.get(CONFIG_MAPS).status_code for _ in range(3)]
        assert codes == [500, 503, 200]

    def test_a_delay_holds_the_requests_that_it_concerns(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.delay(10 * TIMEOUT, verb="list", resource="configmaps")
        assert web.get("/api/v1/namespaces", timeout=TIMEOUT).status_code == 200
        api.clear_faults()
        api.delay(0.3, verb="list", resource="configmaps", times=1)
        started = perf_counter()
        assert web.get(CONFIG_MAPS).status_code == 200
        assert perf_counter() - started >= 0.3

    @pytest.mark.parametrize(
        "arguments", [{"status": 418}, {"status": 500, "verb": "read"}]
    )
    def test_a_fault_that_cannot_happen_is_an_error(
        self, api: KubernetesApi, arguments: dict[str, Any]
    ) -> None:
        with pytest.raises(KubernetesApiError, match="known are"):
            api.fail_next(**arguments)


class TestRequests:
    def test_what_was_sent_is_data(self, api: KubernetesApi, web: httpx.Client) -> None:
        web.post(
            DEPLOYMENTS,
            json=deployment(),
            params={"fieldManager": "me"},
            headers={"X-Mine": "yes", "Authorization": "Bearer secret"},
        )
        web.get(f"{DEPLOYMENTS}/nope/scale")
        created, read = api.requests
        assert (created.method, created.path) == ("POST", DEPLOYMENTS)
        assert created.query == {"fieldManager": "me"}
        assert created.headers["x-mine"] == "yes"
        assert created.body == deployment()
        assert created.status == 201
        assert (created.verb, created.resource) == ("create", "deployments.apps")
        assert "secret" not in repr(created)
        assert (read.status, read.verb, read.body) == (404, "get", None)
        assert (read.namespace, read.name, read.subresource) == (
            "default",
            "nope",
            "scale",
        )

    def test_requests_that_fail_by_a_fault_are_recorded(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        api.fail_next(500)
        web.post(CONFIG_MAPS, json=config_map("a"))
        (request,) = api.requests
        assert (request.status, request.body) == (500, config_map("a"))

    def test_those_of_apply_are_not(self, api: KubernetesApi) -> None:
        api.fail_next(500)
        api.apply(config_map("a"))
        assert api.requests == []

    def test_a_request_whose_client_left_has_no_status(
        self, api: KubernetesApi
    ) -> None:
        port = httpx.URL(api.url).port
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9"
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(f"{head}\r\n\r\n{{".encode())
        wait_until(lambda: bool(api.requests))
        (request,) = api.requests
        assert (request.status, request.content) == (0, b"{")


class TestStart:
    def test_a_server_starts_in_300_milliseconds(self, api: KubernetesApi) -> None:
        api.snapshot()  # what is imported and read once is there
        wait_until(lambda: _seconds_of_a_start() < 0.3)

    def test_several_servers_have_objects_of_their_own(
        self, api: KubernetesApi, web: httpx.Client
    ) -> None:
        with KubernetesApi() as other:
            assert other.url != api.url
            other.apply(config_map("a"))
            assert names(web) == []

    def test_after_its_end_it_is_an_error_to_ask_it(self) -> None:
        api = KubernetesApi()
        api.stop()
        api.stop()
        with pytest.raises(KubernetesApiError, match="not running"):
            api.snapshot()
        with pytest.raises(httpx.ConnectError):
            httpx.get(api.url, trust_env=False)

    def test_an_error_of_the_start_is_raised(self) -> None:
        settings: Any = object()
        with pytest.raises(AttributeError):
            KubernetesApi(settings)

    def test_a_watch_does_not_hold_its_end(self) -> None:
        wait_until(lambda: _seconds_of_an_end_with_a_watch() < 2)

    def test_a_delay_does_not_hold_its_end(self) -> None:
        wait_until(_ends_with_a_delayed_request)


def _seconds_of_an_end_with_a_watch() -> float:
    api = KubernetesApi()
    query = {"watch": "true"}
    with api.client("httpx").stream("GET", CONFIG_MAPS, params=query) as watch:
        assert watch.status_code == 200
        started = perf_counter()
        api.stop()
    return perf_counter() - started


def _ends_with_a_delayed_request() -> bool:
    """Tell whether a server ends soon that has a request, which it answers."""
    api = KubernetesApi()
    # Not a client of the API, which closes those.
    web = httpx.Client(base_url=api.url, timeout=TIMEOUT, trust_env=False)
    # Connected, so that the next request is under way at once.
    web.get("/version")
    api.delay(10 * TIMEOUT)
    answers: list[int] = []

    def ask() -> None:
        # The server may end before the request arrives.
        with suppress(httpx.TransportError):
            answers.append(web.get(CONFIG_MAPS).status_code)

    waiting = threading.Thread(target=ask)
    waiting.start()
    sleep(0.1)
    started = perf_counter()
    api.stop()
    waiting.join()
    seconds = perf_counter() - started
    web.close()
    return seconds < 2 and len(answers) == 1


def _seconds_of_a_start() -> float:
    started = perf_counter()
    with KubernetesApi():
        return perf_counter() - started


def test_the_requests_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smp.testing._traffic._MOST_BYTES", 3000)
    with KubernetesApi() as api:
        web = api.client("httpx")
        for number in range(9):
            web.post(CONFIG_MAPS, json=config_map(f"c{number}", x="y" * 1000))
        assert [each.body["metadata"]["name"] for each in api.requests] == ["c7", "c8"]
        api.clear_requests()
        web.get(CONFIG_MAPS)
        assert len(api.requests) == 1


class TestAProcess:
    """The same server, with an interpreter of its own."""

    def test_it_does_what_one_on_a_thread_does(self, process: KubernetesApi) -> None:
        with process.unchanged(), process.client("httpx") as web:
            (stored,) = process.apply(config_map("a", x="1"))
            assert web.get(f"{CONFIG_MAPS}/a").json()["data"] == stored["data"]
            process.fail_next(503, verb="list")
            assert web.get(CONFIG_MAPS).status_code == 503
            assert [request.status for request in process.requests] == [200, 503]
        with process.client("httpx") as web:
            assert names(web) == []

    def test_errors_are_those_of_the_server(self, process: KubernetesApi) -> None:
        with pytest.raises(KubernetesApiError, match="Invalid value"):
            process.apply(config_map("Not A Name"))

    def test_an_error_of_its_start_is_raised(self) -> None:
        overlay: Any = {"types": {"nope": 1}}
        with pytest.raises(SmpError, match="overlay"):
            KubernetesApi(Settings(overlay=overlay), process=True)

    def test_nothing_is_left_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        before = left_behind()
        api = KubernetesApi(process=True)
        api.stop()
        api.stop()
        wait_until_nothing_more(before)
        with pytest.raises(httpx.ConnectError):
            httpx.get(api.url, trust_env=False)
        with pytest.raises(KubernetesApiError, match="not running"):
            api.snapshot()

    def test_it_ends_when_the_process_of_the_tests_is_killed(self) -> None:
        code = (
            "from smp.testing import KubernetesApi\n"
            "import os, signal\n"
            "print(KubernetesApi(process=True).url, flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        killed = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        url = httpx.URL(killed.stdout.strip())
        wait_until(lambda: not _is_listened_on(url.port or 0))


def _is_listened_on(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def left_behind() -> tuple[int, int, int]:
    """Return how many threads, descriptors and temporary directories there are."""
    gc.collect()
    descriptors = Path("/proc/self/fd")
    return (
        threading.active_count(),
        len([*descriptors.iterdir()]) if descriptors.exists() else 0,
        len([*Path(tempfile.gettempdir()).glob("smp-kubernetes-api-*")]),
    )


def wait_until_nothing_more(before: tuple[int, int, int]) -> None:
    """Wait until no more is left than was; clients of other tests may end meanwhile."""

    def is_nothing_more() -> bool:
        counts = zip(before, left_behind(), strict=True)
        return all(now <= former for former, now in counts)

    wait_until(is_nothing_more)


@pytest.mark.parametrize(
    "starts", [3, pytest.param(50, marks=pytest.mark.exhaustive)], ids=str
)
def test_nothing_is_left_behind(
    starts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests of this machine have temporary directories, too.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()  # connections that they did not close
    use_a_server()  # what stays for good: caches of modules
    before = left_behind()
    for _ in range(starts):
        use_a_server()
    wait_until_nothing_more(before)
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # names


def use_a_server() -> None:
    with KubernetesApi() as api:
        core = import_module("kubernetes.client").CoreV1Api(api.client())
        core.create_namespaced_config_map("default", config_map("a"))
        # Large enough for a thread of the server.
        big = config_map("b", x="x" * 100_000)
        web = api.client("httpx")
        assert web.post(CONFIG_MAPS, json=big).status_code == 201


class InUnittest(unittest.TestCase):
    """Python's own framework: one server for the class, a fresh store for each test."""

    api: KubernetesApi

    @classmethod
    def setUpClass(cls) -> None:
        cls.api = cls.enterClassContext(KubernetesApi())

    def setUp(self) -> None:
        self.addCleanup(self.api.reset)
        self.core = import_module("kubernetes.client").CoreV1Api(self.api.client())

    def test_a_first_one(self) -> None:
        self.check()

    def test_a_second_one(self) -> None:
        self.check()

    def check(self) -> None:
        assert not self.core.list_namespaced_config_map("default").items
        self.core.create_namespaced_config_map("default", config_map("a"))


def test_a_unittest_has_a_fresh_store_in_each_test() -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(InUnittest).run(result)
    assert result.wasSuccessful(), result.errors + result.failures
    assert result.testsRun == 2


class TestAllocatedValues:
    def created(self, api: KubernetesApi) -> dict[str, Any]:
        answer = api.client("httpx").post(
            "/api/v1/namespaces/default/configmaps",
            json={"metadata": {"generateName": "a-"}},
        )
        metadata: dict[str, Any] = answer.json()["metadata"]
        return {name: metadata[name] for name in ("name", "uid")}

    def test_they_are_the_same_after_a_restore(self, api: KubernetesApi) -> None:
        before = api.snapshot()
        first, second = self.created(api), self.created(api)
        assert first != second
        api.restore(before)
        assert [self.created(api), self.created(api)] == [first, second]

    def test_they_are_the_same_in_each_run(self) -> None:
        with KubernetesApi() as one, KubernetesApi() as two:
            assert self.created(one) == self.created(two)

    def test_another_seed_leads_to_others(self) -> None:
        values = []
        for seed in (1, 2, None, None):
            with KubernetesApi(Settings(seed=seed)) as api:
                values.append(self.created(api)["uid"])
        assert len({*values}) == len(values)
