"""The request to a webhook over HTTP, and its failures in the words of Go.

Go: k8s.io/apiserver, pkg/util/webhook/client.go; k8s.io/client-go, rest/request.go;
k8s.io/apimachinery, pkg/api/errors (NewGenericServerResponse).
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from smp._values.values import JSONObject, as_object, as_text

if TYPE_CHECKING:
    import httpx

_ANSWERS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: (
        "the server has received too many requests and has asked us to try again later"
    ),
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still"
        " be processing the request"
    ),
}
_OK: Final = 200
_ERROR: Final = 500


class CallError(Exception):
    """A webhook could not be called, or its answer is none."""


def post(
    client: JSONObject, urls: Mapping[str, str], body: bytes, seconds: int
) -> bytes:
    """Send a review to what a clientConfig names, and return the answer.

    ``urls`` says where services are served, see ``Settings.webhooks``. Raises
    CallError.
    """
    import httpx  # noqa: PLC0415  # it takes a tenth of the start of a server

    shown, url = _locate(client, urls)
    asked = f'Post "{shown}?timeout={seconds}s": '
    if not url:
        service = as_text(as_object(client.get("service")).get("name"))
        raise CallError(f'failed to call webhook: {asked}service "{service}" not found')
    try:
        context = _context(as_text(client.get("caBundle")))
        # Proxies of the environment are not for what is on this machine.
        with httpx.Client(verify=context, trust_env=False, timeout=seconds) as web:
            answer = web.post(
                url,
                params={"timeout": f"{seconds}s"},
                content=body,
                headers={"content-type": "application/json"},
            )
    except httpx.TimeoutException:
        problem = f"{asked}context deadline exceeded"
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, binascii.Error) as error:
        problem = f"{asked}{_word(error, url)}"
    else:
        problem = _find_problem(answer)
        if not problem:
            return answer.content
    raise CallError(f"failed to call webhook: {problem}")


def _locate(client: JSONObject, urls: Mapping[str, str]) -> tuple[str, str]:
    """Return the URL of a webhook as a server names it, and where it is served."""
    place = url = as_text(client.get("url"))
    if not url:
        service = as_object(client.get("service"))
        name, namespace = as_text(service.get("name")), service.get("namespace")
        path = f"/{as_text(service.get('path')).lstrip('/')}"
        url = f"https://{name}.{namespace}.svc:{service.get('port', 443)}{path}"
        place = f"{namespace}/{name}{path}"
    # The longest name counts: several webhooks may be behind one service.
    for known in sorted(urls, key=len, reverse=True):
        if place == known or place.startswith(f"{known.rstrip('/')}/"):
            rest = place.removeprefix(known.rstrip("/"))
            return url, f"{urls[known].rstrip('/')}{rest}"
    return url, as_text(client.get("url"))


@lru_cache(maxsize=64)
def _context(bundle: str) -> ssl.SSLContext:
    """Return what trusts the authorities of a bundle, or those of this machine."""
    if not bundle:
        return ssl.create_default_context()
    return ssl.create_default_context(cadata=base64.b64decode(bundle).decode())


def _word(error: Exception, url: str) -> str:
    """Word a failure of the connection."""
    parts = urlsplit(url)
    address = f"{parts.hostname}:{parts.port or 443}"
    causes: list[BaseException] = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "tls: failed to verify certificate: x509: certificate signed by unknown"
                f" authority ({cause.verify_message})"
            )
        if isinstance(cause, ConnectionRefusedError):
            return f"dial tcp {address}: connect: connection refused"
    return f"dial tcp {address}: {error}"


def _find_problem(answer: httpx.Response) -> str:
    """Return what is wrong with an answer; empty for nothing."""
    code = answer.status_code
    kind = answer.headers.get("content-type", "")
    if code >= _ERROR and code not in _ANSWERS:
        said = answer.text.strip() if kind.startswith("text/") else "unknown"
        return (
            f'an error on the server ("{said}") has prevented the request from'
            " succeeding"
        )
    if not _OK <= code < 300:  # noqa: PLR2004  # answers of success
        return _ANSWERS.get(
            code,
            f"the server responded with the status code {code} but did not return more"
            " information",
        )
    if not answer.content:
        return f"0-length response with status code: {code} and content type: {kind}"
    return ""
