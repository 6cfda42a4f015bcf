"""A loopback API server that answers from a table, and the real kubectl against it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import smp
from smp._values.values import JSON, JSONObject
from smp.schema.resources import Resources
from smp.server import openapi
from smp.server.objects import discovery
from smp.server.objects.crds import Definition
from smp.server.openapi import OpenAPI
from tests.support.kubectl import kubectl_path


class Answer(NamedTuple):
    """What a path is answered with."""

    body: bytes
    content_type: str = "application/json"


class Request(NamedTuple):
    """A request that changes something, as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    content_type: str
    body: JSON


class Loopback(ThreadingHTTPServer):
    """Answers a GET from its table, or else 404; any other request with what a GET of
    its path has, and keeps it.
    """

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = dict(answers)
        self.requests: list[Request] = []
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}
        )

    def kubectl(
        self, *arguments: str, stdin: JSON = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl against this server, in a home of its own."""
        kubectl = kubectl_path()
        assert kubectl is not None
        with tempfile.TemporaryDirectory() as home:
            environment = {"HOME": home, "KUBECONFIG": os.devnull, "PATH": os.defpath}
            manifest = Path(home) / "manifest.json"
            manifest.write_text(json.dumps(stdin))
            files = ("-f", str(manifest)) if stdin is not None else ()
            command = [
                kubectl,
                *arguments,
                *files,
                "--server",
                f"http://127.0.0.1:{self.server_port}",
            ]
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )

    def printed(self, *arguments: str, stdin: JSON = None) -> str:
        """Return what kubectl prints where all goes well."""
        done = self.kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_GET(self) -> None:
        answer = self.server.answers.get(urlsplit(self.path).path)
        status, found = (200, answer) if answer else (404, Answer(_NOT_FOUND))
        self.send_response(status)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(found.body)))
        self.end_headers()
        self.wfile.write(found.body)

    def do_PATCH(self) -> None:
        target = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content_type = self.headers["Content-Type"]
        self.server.requests.append(
            Request(
                self.command,
                target.path,
                dict(parse_qsl(target.query)),
                content_type,
                body,
            )
        )
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


_NOT_FOUND = json.dumps(
    {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "code": 404,
        "message": "not found",
    }
).encode()


def published(
    resources: Resources, definitions: tuple[Definition, ...] = ()
) -> dict[str, Answer]:
    """Return what a server publishes: aggregated discovery, its version, OpenAPI."""
    resources = resources.with_resources(
        resource for one in definitions for resource in one.resources
    )
    api = OpenAPI(resources, smp.kubernetes(), definitions)
    index = json.loads(api.index())
    return {
        "/api": Answer(
            encoded(discovery.aggregate(resources, core=True)), discovery.AGGREGATED
        ),
        "/apis": Answer(
            encoded(discovery.aggregate(resources, core=False)), discovery.AGGREGATED
        ),
        "/version": Answer(encoded(discovery.version(smp.kubernetes().version))),
        "/openapi/v2": Answer(openapi.V2_BODY, openapi.V2_CONTENT_TYPE),
        "/openapi/v3": Answer(api.index()),
        **{
            f"/openapi/v3/{name}": Answer(api.document(name).body)
            for name in index["paths"]
        },
    }


def encoded(value: JSONObject) -> bytes:
    """Print a document."""
    return json.dumps(value).encode()
