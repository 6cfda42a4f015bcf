"""Cases of admission, asked of a server with the webhooks that they describe.

tests/data/apiserver/admission.yaml has the cases: webhooks with their answers, other
objects that are there before, and requests. A case is played against any server, and
what comes of it is in a form that does not differ from run to run.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TypeAlias

import httpx
import yaml

from tests.support.certificates import make_certificate
from tests.support.paths import DATA

CASES: Final = DATA / "apiserver" / "admission.yaml"
RECORD: Final = DATA / "apiserver" / "admission.jsonl"
Document: TypeAlias = dict[str, Any]

_KINDS: Final = {
    "mutating": "MutatingWebhookConfiguration",
    "validating": "ValidatingWebhookConfiguration",
}
_GROUP: Final = "admissionregistration.k8s.io/v1"
_RULE: Final = {
    "operations": ["*"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}
_PLURALS: Final = {
    "ConfigMap": "configmaps",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Deployment": "deployments",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
    "Pod": "pods",
    "Secret": "secrets",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "Widget": "widgets",
}
_NAMESPACED: Final = frozenset({"ConfigMap", "Deployment", "Pod", "Secret", "Widget"})
_OF_THE_SERVER: Final = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "uid",
    }
)
# What requests leave behind.
_LEFT: Final = (
    "/api/v1/namespaces/shop/configmaps",
    "/api/v1/namespaces/shop/pods",
    "/apis/apps/v1/namespaces/shop/deployments",
    "/apis/example.com/v1/namespaces/shop/widgets",
)
# A name from the generateName of the cases.
_GENERATED: Final = re.compile(r'"a-[a-z0-9]{5}"')
_CREATED: Final = 201


@cache
def cases() -> tuple[Document, ...]:
    """Read the cases."""
    return tuple(_read()["cases"])


@cache
def world() -> tuple[Document, ...]:
    """Read the objects that are there in all cases."""
    return tuple(_read()["world"])


@cache
def _read() -> Document:
    return dict(yaml.load(CASES.read_bytes(), yaml.CSafeLoader))


@cache
def recorded() -> dict[str, Document]:
    """Read what a kube-apiserver answered, by the name of the case."""
    lines = RECORD.read_text().splitlines()
    return {line["case"]: line for line in map(json.loads, lines[1:])}


class Webhooks:
    """An HTTPS server on this machine that answers as the case at hand says."""

    def __init__(self, url: str, authority: bytes) -> None:
        self.url: Final = url
        self.bundle: Final = base64.b64encode(authority).decode()
        self.answers: dict[str, Document] = {}
        self.reviews: list[Document] = []

    def answer(self, path: str, review: Document) -> tuple[int, bytes]:
        """Return the status and the body of the answer to a review."""
        request = review["request"]
        # The server that is asked writes ConfigMaps of its own.
        if request["userInfo"].get("username") == "admin":
            self.reviews.append({"path": path, **_without_server(review)})
        answer = self.answers.get(path, {})
        time.sleep(answer.get("delay", 0))
        if "text" in answer:
            return answer.get("status", 200), answer["text"].encode()
        response = {"uid": request["uid"], "allowed": True}
        response.update(answer.get("response", {}))
        if "patch" in answer:
            patch = json.dumps(answer["patch"]).encode()
            response["patch"] = base64.b64encode(patch).decode()
            response.setdefault("patchType", "JSONPatch")
        body = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response,
            **answer.get("review", {}),
        }
        return 200, json.dumps(body).encode()


@contextmanager
def serving(directory: Path) -> Iterator[Webhooks]:
    """Serve webhooks, with a certificate that is made in a directory."""
    certificate, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            review = json.loads(self.rfile.read(size))
            status, body = webhooks.answer(self.path.partition("?")[0], review)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            # The server may have given up.
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_port}"
    webhooks = Webhooks(url, certificate.read_bytes())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield webhooks
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def configurations(case: Document, webhooks: Webhooks) -> Iterator[Document]:
    """Yield the objects of a case, and say what its webhooks answer."""
    webhooks.answers = {}
    for name, kind in _KINDS.items():
        for number, hooks in enumerate(case.get(name, ())):
            made = []
            for index, hook in enumerate(hooks):
                path = f"/{name}-{number}-{index}"
                fields = {**hook}
                webhooks.answers[path] = fields.pop("answer", {})
                client = fields.pop("client", {"url": f"{webhooks.url}{path}"})
                # A path is below the URL, which the cases do not know.
                if "path" in client:
                    client = {"url": f"{webhooks.url}{client['path']}"}
                elif "caBundle" not in client:
                    client = {**client, "caBundle": webhooks.bundle}
                made.append(
                    {
                        "name": f"{name}-{index}.example.com",
                        "rules": [_RULE],
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                        "clientConfig": client,
                        **fields,
                    }
                )
            yield {
                "apiVersion": _GROUP,
                "kind": kind,
                "metadata": {"name": f"{name}-{number}"},
                "webhooks": made,
            }
    yield from case.get("objects", ())


def path_of(obj: Document) -> str:
    """Return the path of the collection that an object belongs to."""
    version, kind = obj["apiVersion"], obj["kind"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if kind in _NAMESPACED:
        prefix += f"/namespaces/{obj['metadata'].get('namespace', 'shop')}"
    return f"{prefix}/{_PLURALS[kind]}"


def play(
    client: httpx.Client,
    case: Document,
    webhooks: Webhooks,
    wait: Callable[[], None] = lambda: None,
) -> Document:
    """Play a case, and return what came of it; ``wait`` is until it is configured."""
    refused = []
    for obj in configurations(case, webhooks):
        answer = client.post(path_of(obj), json=obj)
        assert answer.status_code == _CREATED or "asks" in case, answer.text
        refused.append(_plain(answer, webhooks))
    wait()
    webhooks.reviews = []
    answers = []
    for request in case.get("requests", ()):
        asked = len(webhooks.reviews)
        answer = client.request(
            request["method"],
            request["path"],
            json=request.get("body"),
            headers={"content-type": request.get("type", "application/json")},
        )
        plain = _plain(answer, webhooks)
        plain["reviews"] = webhooks.reviews[asked:]
        answers.append(plain)
    line: Document = {"case": case["name"], "answers": answers}
    if "asks" in case:
        line["objects"] = refused
    text = json.dumps(line).replace(webhooks.url.removeprefix("https://"), "WEBHOOKS")
    return dict(json.loads(_GENERATED.sub('"a-SUFFIX"', text)))


def clean(
    client: httpx.Client,
    case: Document,
    webhooks: Webhooks,
    wait: Callable[[], None],
) -> None:
    """Delete what a case left; ``wait`` is until nothing is configured any more."""
    for obj in configurations(case, webhooks):
        client.delete(f"{path_of(obj)}/{obj['metadata']['name']}")
    wait()
    for path in _LEFT:
        client.request("DELETE", path, json={"gracePeriodSeconds": 0})


def _plain(answer: httpx.Response, webhooks: Webhooks) -> Document:
    """Return an answer without what differs from run to run."""
    body = _without_server(answer.json())
    body = json.loads(json.dumps(body).replace(webhooks.bundle, "BUNDLE"))
    warnings = answer.headers.get_list("warning")
    return {"code": answer.status_code, "body": body, "warnings": warnings}


def _without_server(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_server(element) for element in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, member in value.items():
        # userInfo has a uid as well, which is the same in each run.
        if name in _OF_THE_SERVER and "username" not in value:
            continue
        kept[name] = _without_server(member)
    return kept
