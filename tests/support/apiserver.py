"""A real kube-apiserver on this machine: to ask it, and to record what it answers.

It is built from the Go module in tests/apiserver; the environment variable
``SMP_KUBE_APISERVER`` is that of tests.support.built.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

import httpx
import pytest

from smp._values.values import JSON, JSONObject
from tests.support import etcd
from tests.support.built import GoProgram
from tests.support.paths import ROOT

GO_MODULE: Final = ROOT / "tests" / "apiserver"
_PROGRAM: Final = GoProgram(
    GO_MODULE, "k8s.io/kubernetes", "cmd/kube-apiserver", "SMP_KUBE_APISERVER"
)
_PATIENCE: Final = 120.0  # seconds
_TOKEN: Final = "token"  # noqa: S105  (of a server that exists for one test)


def version() -> str:
    """Return the version of Kubernetes that the Go module pins."""
    return _PROGRAM.version()


def binary() -> Path | None:
    """Return the kube-apiserver to use, built if that was asked for, or None."""
    return _PROGRAM.binary()


needs_apiserver: Final = pytest.mark.skipif(
    binary() is None or etcd.BINARY is None or shutil.which("openssl") is None,
    reason="no kube-apiserver was built (SMP_KUBE_APISERVER=build), or no etcd",
)


class Answer(NamedTuple):
    """What the server answered: the HTTP status, the body, and its warnings."""

    code: int
    body: JSONObject
    warnings: tuple[str, ...] = ()


class ApiServer:
    """A running kube-apiserver, and a client of it with all rights.

    ``store`` is the etcd that it keeps objects in, where it was started here.
    """

    def __init__(
        self, url: str, token: str = _TOKEN, store: etcd.Etcd | None = None
    ) -> None:
        self.url = url
        self.store: Final = store
        self.headers: Final = {"Authorization": f"Bearer {token}"}
        # Its certificate is its own, and it listens on loopback only.
        self.client: Final = httpx.Client(
            base_url=url,
            headers=self.headers,
            timeout=60,
            trust_env=False,
            verify=False,  # noqa: S501
        )

    def request(
        self,
        method: str,
        path: str,
        body: JSON = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send a request, and return the answer."""
        answer = self.client.request(
            method, path, json=body, headers={"Content-Type": content_type}
        )
        warnings = tuple(answer.headers.get_list("warning"))
        return Answer(answer.status_code, answer.json(), warnings)

    def ready(self) -> bool:
        """Tell whether it serves."""
        try:
            return self.client.get("/readyz").text == "ok"
        except httpx.HTTPError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


@contextmanager
def running(without: tuple[str, ...] = ()) -> Iterator[ApiServer]:
    """Start one with an etcd of its own, and stop both at the end of the context.

    ``without`` names admission plugins that are disabled besides.
    """
    with (
        etcd.running() as store,
        tempfile.TemporaryDirectory(prefix="apiserver-") as name,
    ):
        directory = Path(name)
        (port,) = etcd.free_ports(1)
        with (directory / "log").open("ab") as log:
            process = subprocess.Popen(
                _arguments(directory, store.url, port, without), stdout=log, stderr=log
            )
        try:
            with ApiServer(f"https://127.0.0.1:{port}", store=store) as server:
                deadline = time.monotonic() + _PATIENCE
                while not server.ready():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise OSError((directory / "log").read_text()[-2000:])
                    time.sleep(0.2)
                yield server
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _arguments(
    directory: Path, store: str, port: int, without: tuple[str, ...]
) -> list[str]:
    private, public = directory / "sa.key", directory / "sa.pub"
    for arguments in (
        ["genrsa", "-out", str(private), "2048"],
        ["rsa", "-in", str(private), "-pubout", "-out", str(public)],
    ):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)  # noqa: S607
    tokens = directory / "tokens.csv"
    tokens.write_text(f'{_TOKEN},admin,1,"system:masters"\n')
    return [
        str(binary()),
        f"--etcd-servers={store.replace('etcd://', 'http://')}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={directory / 'certificates'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={private}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=AlwaysAllow",
        # Enough addresses for a recording of thousands of Services.
        "--service-cluster-ip-range=10.0.0.0/16",
        # No controller runs that makes the service account of a namespace.
        f"--disable-admission-plugins={','.join(('ServiceAccount', *without))}",
        "--allow-privileged",
    ]
