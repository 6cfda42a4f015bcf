"""A proxy on loopback that records what a client sends to an API server.

It passes requests on over one connection pool, with the credentials of the server, so
that a client needs none. Answers can be replaced by faults, which are the same for
every client that is tried.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec

_SENT: Final = ("Accept", "Content-Type", "If-None-Match")
_ANSWERED: Final = ("Content-Type", "ETag", "Cache-Control", "Warning", "Retry-After")
_NO_BODY: Final = {204, 304}


class Exchange(msgspec.Struct, frozen=True):
    """A request, and its answer."""

    method: str
    path: str
    query: list[tuple[str, str]]
    content_type: str
    body: bytes
    status: int
    headers: list[tuple[str, str]]
    answer: bytes

    @property
    def is_write(self) -> bool:
        """Whether it is no read."""
        return self.method != "GET"


class Fault(msgspec.Struct):
    """An answer that is given instead of that of the server, some times."""

    method: str
    status: int
    reason: str
    times: int
    retry_after: str = ""

    def answer(self) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return the answer."""
        self.times -= 1
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"a fault: {self.reason}",
            "reason": self.reason,
            "code": self.status,
        }
        headers = [("Content-Type", "application/json")]
        if self.retry_after:
            headers.append(("Retry-After", self.retry_after))
        return self.status, headers, msgspec.json.encode(status)


class RecordingProxy(ThreadingHTTPServer):
    """Passes requests on to a server, and records each with its answer."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self, client: httpx.Client) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.client = client
        self.exchanges: list[Exchange] = []
        self.faults: list[Fault] = []

    @property
    def url(self) -> str:
        """Where the proxy listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def taken(self) -> list[Exchange]:
        """Return what was recorded, and forget it."""
        found = self.exchanges
        self.exchanges = []
        return found


class _Handler(BaseHTTPRequestHandler):
    server: RecordingProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, answer = self._answered(body)
        target = urlsplit(self.path)
        self.server.exchanges.append(
            Exchange(
                self.command,
                target.path,
                parse_qsl(target.query, keep_blank_values=True),
                self.headers.get("Content-Type", ""),
                body,
                status,
                headers,
                answer,
            )
        )
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in _NO_BODY:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def do_PATCH(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def _answered(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        for fault in self.server.faults:
            if fault.method == self.command and fault.times:
                return fault.answer()
        kept = {name: self.headers[name] for name in _SENT if name in self.headers}
        answer = self.server.client.request(
            self.command, self.path, content=body, headers=kept
        )
        headers = [
            (name, value)
            for name in _ANSWERED
            for value in answer.headers.get_list(name)
        ]
        content = b"" if answer.status_code in _NO_BODY else answer.content
        return answer.status_code, headers, content

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def recording(client: httpx.Client) -> Iterator[RecordingProxy]:
    """Run a proxy to the server of a client."""
    with RecordingProxy(client) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.01])
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def as_json(exchange: Exchange) -> Any:
    """Return the body of a request as a value; None where it has none."""
    return msgspec.json.decode(exchange.body) if exchange.body else None
