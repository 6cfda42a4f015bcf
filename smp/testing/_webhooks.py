"""A function of Python, served as a webhook."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeAlias

import msgspec

# From the request of a review to its response, or to what stands for one.
WebhookHandler: TypeAlias = Callable[[dict[str, Any]], Any]

_LOG: Final = logging.getLogger("smp.testing")


class ServedWebhook:
    """A webhook on a free port of this machine, until ``stop``.

    ``url`` is where it listens, ``requests`` are those of the reviews that it got.
    """

    def __init__(self, handler: WebhookHandler) -> None:
        self.requests: list[dict[str, Any]] = []
        self._handler = handler
        webhook = self

        class _Endpoint(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                status, body = webhook.answer(self.rfile.read(size))
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                # Who waited for longer than the timeout is gone.
                with suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Write no line for each request."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
        self._server.daemon_threads = True
        self.url: str = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            # How often it looks whether it is to end.
            target=lambda: self._server.serve_forever(0.01),
            name="smp-webhook",
            daemon=True,
        )
        self._thread.start()

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to a review."""
        review = msgspec.json.decode(body)
        request = review["request"]
        self.requests.append(request)
        try:
            response = _response(self._handler(request))
        except Exception:  # noqa: BLE001  # the function is that of a test
            # The server says that the call failed, and this why.
            _LOG.exception("a webhook failed")
            return 500, b"{}"
        answer = {
            "apiVersion": review["apiVersion"],
            "kind": "AdmissionReview",
            "response": {"uid": request["uid"], **response},
        }
        return 200, msgspec.json.encode(answer)

    def stop(self) -> None:
        """End the server and its thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _response(result: Any) -> dict[str, Any]:
    if result is None or isinstance(result, bool):
        return {"allowed": result is not False}
    if isinstance(result, str):
        return {"allowed": False, "status": {"message": result}}
    if isinstance(result, list):
        result = {"patch": result}
    if not isinstance(result, Mapping):
        raise TypeError(f"a webhook returned {result!r}")
    response = {"allowed": True, **result}
    if isinstance(response.get("patch"), list):
        patch = base64.b64encode(msgspec.json.encode(response["patch"]))
        response |= {"patch": patch.decode(), "patchType": "JSONPatch"}
        if not result["patch"]:
            del response["patch"], response["patchType"]
    return response
