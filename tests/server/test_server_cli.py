"""``smp serve`` as a process: its start, its end, and hostile clients between them."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import tomllib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from smp.server.run import new_event_loop
from tests.support.certificates import make_certificate
from tests.support.command import run, smp_command
from tests.support.kubectl import needs_kubectl
from tests.support.paths import ROOT
from tests.support.server_app import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MERGE,
    config_map,
    deployment,
)
from tests.support.server_definitions import CRON_TABS, cron_tab
from tests.support.server_process import Kubectl, ServerProcess, memory, serving
from tests.support.waiting import TIMEOUT, wait_until

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRON_TAB = "/apis/stable.example.com/v1/namespaces/default/crontabs"


def connect(server: ServerProcess) -> socket.socket:
    url = urlsplit(server.url)
    return socket.create_connection((str(url.hostname), url.port or 0), timeout=TIMEOUT)


def head(method: str, path: str, length: int) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Length: {length}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answer_of(connection: socket.socket) -> bytes:
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
    return data


def test_the_kubeconfig_is_complete_private_and_never_replaces_another_file(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        assert config["clusters"] == [
            {"name": "smp", "cluster": {"server": server.url}}
        ]
        assert config["users"] == [{"name": "smp", "user": {}}]
        assert config["current-context"] == "smp"
        assert server.kubeconfig.stat().st_mode & 0o777 == 0o600
    with serving(tmp_path) as server:
        written = yaml.safe_load(server.kubeconfig.read_text())
        assert written["clusters"][0]["cluster"]["server"] == server.url
    config["clusters"][0]["name"] = "production"
    server.kubeconfig.write_text(yaml.safe_dump(config))
    message = message_of_failure("--kubeconfig", str(server.kubeconfig))
    assert "was not written by smp serve" in message
    assert yaml.safe_load(server.kubeconfig.read_text()) == config
    assert not list(tmp_path.glob(".kubeconfig*"))


def message_of_failure(*options: str) -> str:
    """Start a server with options that must fail, and return its error message."""
    done = subprocess.run(
        [smp_command(), "serve", "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT,
        check=False,
    )
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "needs a token"),
        (("--host", "::"), "needs a token"),
        (("--host", "nowhere.invalid"), "needs a token"),
        (("--store", "redis://localhost"), "memory:, sqlite:PATH or etcd://HOST:PORT"),
        (
            ("--store", "sqlite:/nowhere/a.db"),
            "cannot use the store /nowhere/a.db: there is no directory /nowhere\n",
        ),
        (("--store", "sqlite:/tmp"), "cannot use the store /tmp: it is a directory"),
        (("--store", "etcd://127.0.0.1:1"), "etcd: "),
        (
            ("--kubeconfig", "/nowhere/at/all"),
            "/nowhere/at\n  hint:   mkdir -p /nowhere/at\n",
        ),
        (("--kubeconfig", "/proc/kubeconfig"), "cannot write /proc/kubeconfig: "),
        (("--pid-file", "/nowhere/at/all"), "there is no directory /nowhere/at\n"),
        (("--background",), "need --kubeconfig or --pid-file"),
        (("--stop",), "need --kubeconfig or --pid-file"),
        (
            ("--stop", "--kubeconfig", "/nowhere"),
            "no server is running: there is no file /nowhere.pid",
        ),
        (("--kubernetes", "1.2"), "Kubernetes 1.2 is not bundled"),
        (("--token-file", "/nowhere"), "cannot read the file"),
        (("--token-file", "/dev/null"), "no token found in"),
        (("--tls-cert", "/dev/null"), "a certificate needs its key"),
        (
            ("--tls-cert", "/dev/null", "--tls-key", "/dev/null"),
            "are not a certificate and its key",
        ),
        (
            ("--tls-cert", "/nowhere", "--tls-key", "/dev/null"),
            "cannot read /nowhere: No such file or directory",
        ),
        (
            ("--tls-cert", "/dev/null", "--tls-key", "/nowhere"),
            "cannot read /nowhere: No such file or directory",
        ),
        (("--overlay", "/nowhere"), "cannot read the file"),
        (("--profile", "none"), "Invalid value"),
        (("--feature-gates", "Unions=false"), "known are APIUnions, OpenAPIEnums"),
    ],
)
def test_invalid_options_are_reported(options: tuple[str, ...], message: str) -> None:
    ran = run("serve", "--port", "0", *options)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        _, port = taken.getsockname()
        message = message_of_failure("--port", str(port))
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in message
    assert "hint:   --port selects another port" in message


def smp_serve(*options: str) -> subprocess.CompletedProcess[str]:
    """Run ``smp serve``, which has to return by itself."""
    return subprocess.run(
        [smp_command(), "serve", *options],
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT,
        check=False,
    )


def test_a_server_in_the_background_is_ready_when_the_command_returns(
    tmp_path: Path,
) -> None:
    kubeconfig = tmp_path / "a file"
    options = ("--kubeconfig", str(kubeconfig))
    started = smp_serve("--background", "--port", "0", *options)
    assert (started.returncode, started.stderr) == (0, "")
    assert f"smp serve --stop --kubeconfig '{kubeconfig}'\n" in started.stdout
    written = yaml.safe_load(kubeconfig.read_text())
    cluster, user = written["clusters"][0]["cluster"], written["users"][0]["user"]
    url = cluster["server"]
    authority = b64decode(cluster["certificate-authority-data"]).decode()
    trusted = ssl.create_default_context(cadata=authority)
    try:
        with httpx.Client(verify=trusted, base_url=url, timeout=TIMEOUT) as web:
            assert web.get("/readyz").text == "ok"
            # Other users of this machine have no token.
            assert web.get("/api/v1/secrets").status_code == 401
            token = {"authorization": f"Bearer {user['token']}"}
            assert web.get("/api/v1/secrets", headers=token).status_code == 200
        again = smp_serve("--background", "--port", "0", *options)
        process = (tmp_path / "a file.pid").read_text().strip()
        assert again.returncode == 2
        assert f"a server is running: process {process}" in again.stderr
    finally:
        stopped = smp_serve("--stop", *options)
    assert stopped.stdout == f"smp: stopped process {process}\n"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/readyz", verify=trusted)
    assert {path.name for path in tmp_path.iterdir()} == {"a file", "a file.log"}
    assert "no server is running" in smp_serve("--stop", *options).stderr


def test_an_error_at_the_start_in_the_background_is_that_of_the_command(
    tmp_path: Path,
) -> None:
    options = ("--background", "--pid-file", str(tmp_path / "pid"))
    assert "it is a directory" in message_of_failure("--store", "sqlite:/", *options)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_got_the_id_of_a_killed_server_is_never_stopped(
    tmp_path: Path,
) -> None:
    pid_file = tmp_path / "pid"
    with serving(tmp_path, "--pid-file", str(pid_file)) as server:
        assert pid_file.read_text() == f"{server.process.pid}\n"
        server.stop(signal.SIGKILL)
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        pid_file.write_text(f"{other.pid}\n")
        stopped = smp_serve("--stop", "--pid-file", str(pid_file))
        assert stopped.returncode == 2
        assert "was left by one that was killed" in stopped.stderr
        assert other.poll() is None
        other.kill()
    assert not pid_file.exists()


def test_a_missing_extra_is_reported() -> None:
    program = (
        "import sys; sys.modules['starlette'] = None; sys.modules['uvicorn'] = None\n"
        "from smp.cli import main; sys.exit(main(['serve']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * TIMEOUT,
    )
    assert done.returncode == 2
    hint = done.stderr.rpartition("hint: ")[2].strip()
    assert hint.startswith("pip install 'cryptography")
    assert "'starlette" in hint
    # What it names is what the extra needs, and nothing else.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {name.strip("'") for name in hint.removeprefix("pip install ").split()}
    assert named == set(project["optional-dependencies"]["server"])


def test_another_version_of_kubernetes_and_an_overlay(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("types: {}\n")
    with serving(tmp_path, "--kubernetes", "1.30", "--overlay", str(overlay)) as server:
        assert server.kubernetes == "1.30"
        assert server.get("/version")["minor"].startswith("30")


def test_logs_are_lines_of_json_and_hold_no_secrets(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    token.chmod(0o644)
    with serving(tmp_path, "--token-file", str(token), "--log-level", "info") as server:
        headers = {"authorization": "Bearer s3cret", "user-agent": "test"}
        secret = config_map("a", password="hunter2")
        with httpx.Client(base_url=server.url, timeout=TIMEOUT) as client:
            client.post(CONFIG_MAPS, json=secret, headers=headers)
            assert client.get(CONFIG_MAPS).status_code == 401
        assert server.stop() == 0
        note, readable, *_ = server.log.read_text().splitlines()
        assert note == (
            "smp: note: kubectl sends a token over HTTPS only (--tls-cert, --tls-key)"
        )
        assert readable == (
            f"smp: note: {token} has the token, and is not only for its owner"
            " (chmod 600)"
        )
        (created,) = [line for line in server.logged() if line.get("verb") == "create"]
        assert (created["code"], created["path"]) == (201, CONFIG_MAPS)
        assert created["user_agent"] == "test"
        assert {"time", "level", "message", "seconds"} <= created.keys()
        text = server.log.read_text()
    assert "s3cret" not in text
    assert "hunter2" not in text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@needs_kubectl
def test_kubectl_over_tls_with_a_token(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret")
    tls = ("--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1]))
    options = ("--token-file", str(token), "--host", "0.0.0.0", *tls)
    with serving(tmp_path, *options) as server:
        kubectl = Kubectl(server, tmp_path / "home")
        assert kubectl.apply(deployment()) == "deployment.apps/web created\n"
        with kubectl.start("get", "deploy", "-w", "-o", "name") as watching:
            assert watching.stdout
            assert watching.stdout.readline() == "deployment.apps/web\n"
            # What is listed is printed before the watch begins.
            wait_until(lambda: watches_of_deployments(kubectl) == 1)
            assert server.stop() == 0
            assert watching.wait(timeout=TIMEOUT) == 0
        config = yaml.safe_load(server.kubeconfig.read_text())
        assert config["users"][0]["user"] == {"token": "s3cret"}


def watches_of_deployments(kubectl: Kubectl) -> int:
    metrics = kubectl("get", "--raw", "/metrics")
    gauge = r'(?m)^apiserver_longrunning_requests\{.*"deployments".*\} (\d+)\.0$'
    return sum(map(int, re.findall(gauge, metrics)))


@needs_kubectl
def test_kubectl_with_a_wrong_token_is_unauthorized(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret")
    tls = ("--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1]))
    with serving(tmp_path, "--token-file", str(token), *tls) as server:
        config = server.kubeconfig.read_text()
        server.kubeconfig.write_text(config.replace("s3cret", "guess"))
        failed = Kubectl(server, tmp_path / "home").run("get", "pods")
        assert "You must be logged in to the server" in failed.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


def test_idle_and_disconnected_clients_do_not_block_others(
    server: ServerProcess,
) -> None:
    idle = [connect(server) for _ in range(20)]
    for connection in idle[:10]:
        connection.sendall(b"GET /api/v1/names")
    for connection in idle[10:]:
        connection.sendall(head("POST", CONFIG_MAPS, 1000) + b'{"metadata":')
    namespace = server.get("/api/v1/namespaces/default")
    for connection in idle:
        connection.close()
    assert server.get("/api/v1/namespaces/default") == namespace
    assert server.get(CONFIG_MAPS)["items"] == []


def test_bytes_that_are_not_http_are_refused(server: ServerProcess) -> None:
    with connect(server) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 400 ")


def test_http_1_0_is_answered(server: ServerProcess) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /api/v1/namespaces/default HTTP/1.0\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_watcher_that_does_not_read_costs_no_memory(server: ServerProcess) -> None:
    big = config_map("big", k="v" * 100_000)
    with connect(server) as stuck:
        stuck.sendall(head("GET", f"{CONFIG_MAPS}?watch=true", 0))
        assert stuck.recv(12) == b"HTTP/1.1 200"
        server.post(CONFIG_MAPS, big)
        before = memory(server)
        with httpx.Client(base_url=server.url, timeout=TIMEOUT) as client:
            for number in range(300):
                patch = {"metadata": {"labels": {"n": str(number)}}}
                client.patch(
                    f"{CONFIG_MAPS}/big", json=patch, headers={"content-type": MERGE}
                ).raise_for_status()
        # 30 MB were written. The history of the store keeps them; a queue for the
        # watcher would keep them a second time.
        assert memory(server) - before < 50
    deleted = httpx.delete(f"{server.url}{CONFIG_MAPS}/big", timeout=TIMEOUT)
    deleted.raise_for_status()


def test_objects_definitions_and_versions_outlive_the_process(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path / 'objects.db'}")
    with serving(tmp_path, *store) as server:
        server.post(DEFINITIONS, CRON_TABS)
        created = [
            server.post(DEPLOYMENTS, deployment()),
            server.post(CRON_TAB, cron_tab({"image": "x"}, name="c")),
        ]
        server.process.kill()
        server.process.wait()
    with serving(tmp_path, *store) as server:
        restored = [server.get(f"{DEPLOYMENTS}/web"), server.get(f"{CRON_TAB}/c")]
        assert restored == created
        newest = server.post(CONFIG_MAPS, config_map("a"))
        versions = [
            int(obj["metadata"]["resourceVersion"]) for obj in (*created, newest)
        ]
        assert versions == sorted(set(versions))


def test_two_servers_on_one_file_share_their_objects(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path / 'objects.db'}")
    with (
        serving(tmp_path / "a", *store) as first,
        serving(tmp_path / "b", *store) as second,
        watching(second) as events,
    ):
        for server, name in ((first, "a"), (second, "b"), (first, "c"), (second, "d")):
            server.post(CONFIG_MAPS, config_map(name))
        names = [next(events)["object"]["metadata"]["name"] for _ in range(4)]
        assert names == ["a", "b", "c", "d"]
        assert first.get(CONFIG_MAPS) == second.get(CONFIG_MAPS)
        first.post(DEFINITIONS, CRON_TABS)
        created = second.post(CRON_TAB, cron_tab({"image": "x"}, name="c"))
        assert first.get(f"{CRON_TAB}/c") == created


@contextmanager
def watching(server: ServerProcess) -> Iterator[Iterator[Any]]:
    """Watch ConfigMaps from now on."""
    version = server.get(CONFIG_MAPS)["metadata"]["resourceVersion"]
    url = f"{server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}"
    with httpx.stream("GET", url, timeout=TIMEOUT) as response:
        yield (json.loads(line) for line in response.iter_lines())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_server_finishes_requests_and_ends_watches(
    tmp_path: Path, number: int
) -> None:
    body = json.dumps(config_map("late")).encode()
    store = tmp_path / "objects.db"
    with serving(tmp_path, "--store", f"sqlite:{store}") as server:
        with watching(server) as events, connect(server) as connection:
            connection.sendall(head("POST", CONFIG_MAPS, len(body)) + body[:10])
            wait_until(lambda: server.in_flight() == 1)
            stopping = threading.Thread(
                target=server.process.send_signal, args=(number,)
            )
            stopping.start()
            assert list(events) == []  # the watch ends while a request is in flight
            stopping.join()
            connection.sendall(body[10:])
            assert answer_of(connection).startswith(b"HTTP/1.1 201 ")
        assert server.process.wait(timeout=TIMEOUT) == 0
        with pytest.raises(httpx.ConnectError):
            server.get("/livez")
    with serving(tmp_path, "--store", f"sqlite:{store}") as server:
        assert server.get(f"{CONFIG_MAPS}/late")["metadata"]["name"] == "late"


def test_a_second_signal_ends_the_server_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server, connect(server) as connection:
        connection.sendall(head("POST", CONFIG_MAPS, 1000) + b"{")
        wait_until(lambda: server.in_flight() == 1)
        server.process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(timeout=1)
        assert server.stop(signal.SIGINT) == 0


def test_the_event_loop_is_that_of_uvloop_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uvloop = pytest.importorskip("uvloop")
    with closing(new_event_loop()) as loop:
        assert isinstance(loop, uvloop.Loop)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with closing(new_event_loop()) as loop:
        assert isinstance(loop, asyncio.BaseEventLoop)
