"""Calling a webhook: the review that is sent, and what is made of the answer.

Go: k8s.io/apiserver, pkg/admission/plugin/webhook: request/admissionreview.go,
mutating/dispatcher.go, validating/dispatcher.go and errors/statuserror.go.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from smp._values import codec
from smp._values.api_objects import make_status
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.errors import SmpError
from smp.handler import InternalFailureError
from smp.handler.admission import Criteria, ReviewedResource, ReviewRequest
from smp.json_patch import apply_as_server

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


class Webhook(msgspec.Struct, frozen=True):
    """A webhook of a configuration, and what it is about."""

    name: str
    fields: JSONObject
    criteria: Criteria
    is_mutating: bool

    @property
    def is_ignored_on_failure(self) -> bool:
        """Whether the request goes on where the webhook cannot be called."""
        return self.fields.get("failurePolicy") == "Ignore"


class CallError(Exception):
    """A webhook could not be called, or its answer is none."""


def _post(
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
        problem = _find_failure(answer)
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


def _find_failure(answer: httpx.Response) -> str:
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


_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_BAD_REQUEST: Final = 400


class WebhookError(InternalFailureError):
    """A webhook that cannot be called, or whose answer is none."""

    default_code = "webhook"


def ask(
    webhook: Webhook,
    request: ReviewRequest,
    matched: ReviewedResource,
    urls: Mapping[str, str],
) -> JSONObject:
    """Send a review, and return the response in the answer. Raises CallError."""
    accepted = as_list(webhook.fields.get("admissionReviewVersions"))
    version = next((each for each in accepted if each in _VERSIONS), None)
    if version is None:
        raise CallError(
            "could not create admission objects: webhook does not accept known"
            " AdmissionReview versions (v1, v1beta1)"
        )
    uid = str(uuid4())
    review: JSONObject = {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{version}",
        "request": {
            "uid": uid,
            **request.describe(matched),
            "object": request.convert(request.object, matched),
            "oldObject": request.convert(request.old, matched),
        },
    }
    timeout = webhook.fields.get("timeoutSeconds")
    seconds = timeout if isinstance(timeout, int) else 10
    client = as_object(webhook.fields.get("clientConfig"))
    body = _post(client, urls, codec.encode(review), seconds)
    return _read_response(body, as_text(version), uid, webhook)


def _read_response(body: bytes, version: str, uid: str, webhook: Webhook) -> JSONObject:
    """Return the response of a review. Raises CallError."""
    try:
        review = as_object(codec.decode(body))
    except SmpError as error:
        problem = f"couldn't get version/kind; json parse error: {error.problem}"
        raise CallError(f"failed to call webhook: {problem}") from None
    answered = as_text(review.get("apiVersion")).rpartition("/")[2]
    if answered != version:
        raise CallError(
            f"failed to call webhook: converting ({answered}.AdmissionReview) to"
            f" ({version}.AdmissionReview): unknown conversion"
        )
    response = review.get("response")
    problem = ""
    if not isinstance(response, dict):
        problem = "webhook response was absent"
    elif version == "v1":
        problem = _find_problem(response, uid, is_mutating=webhook.is_mutating)
    if problem or not isinstance(response, dict):
        raise CallError(f"received invalid webhook response: {problem}")
    return response


def _find_problem(response: JSONObject, uid: str, *, is_mutating: bool) -> str:
    """Return what is wrong with a response (Go: VerifyAdmissionResponse)."""
    answered = as_text(response.get("uid"))
    patch, patch_type = response.get("patch"), response.get("patchType")
    if answered != uid:
        return f'expected response.uid="{uid}", got "{answered}"'
    if is_mutating and patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if is_mutating and not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    if not is_mutating and patch:
        return "validating webhook may not return response.patch"
    if not is_mutating and patch_type is not None:
        return "validating webhook may not return response.patchType"
    return ""


def read_patch(response: JSONObject) -> JSON:
    """Return the operations of a response. Raises CallError."""
    text = response.get("patch")
    if not text or response.get("allowed") is not True:
        return None
    try:
        patch = codec.decode(base64.b64decode(as_text(text)))
    except (SmpError, binascii.Error) as error:
        raise CallError(
            f"received undecodable patch in webhook response: {error}"
        ) from None
    patch_type = response.get("patchType", "JSONPatch")
    if patch and patch_type != "JSONPatch":
        raise CallError(f'unsupported patch type "{as_text(patch_type)}"')
    return patch


def apply_patch(
    webhook: Webhook, request: ReviewRequest, matched: ReviewedResource, patch: JSON
) -> JSONObject:
    """Apply the patch of a webhook, in the version that it was asked about."""
    obj = request.convert(request.object, matched)
    if obj is None:
        raise WebhookError(
            f'admission webhook "{webhook.name}" attempted to modify the object, which'
            " is not supported for this operation"
        )
    try:
        changed = as_object(apply_as_server(obj, patch))
    except SmpError as error:
        raise WebhookError(str(error)) from None
    return request.convert(changed, request.resource) or {}


def describe_denial(name: str, status: JSON) -> JSONObject:
    """Return the Status of a denial (Go: ToStatusErr)."""
    given = as_object(status)
    denied = f'admission webhook "{name}" denied the request'
    code = given.get("code")
    if not isinstance(code, int) or code < _BAD_REQUEST:
        code = _BAD_REQUEST
    said = as_text(given.get("message")) or as_text(given.get("reason"))
    text = f"{denied}: {said}" if said else f"{denied} without explanation"
    answer = make_status("Failure", message=text)
    for field in ("reason", "details"):
        if given.get(field):
            answer[field] = given[field]
    return {**answer, "code": code}
