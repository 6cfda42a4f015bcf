"""Record what a real kube-apiserver answers to requests of all kinds.

``SMP_KUBE_APISERVER=build python -m tests.record.requests`` makes the requests of
tests.support.makers.requests and writes tests/data/apiserver/requests.jsonl.xz, a
sequence a line; fields.json beside it describes the lines. ``--seed S``,
``--sequences N`` and ``--to FILE`` record other ones elsewhere.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from smp._values.values import JSON, JSONObject, as_list, as_object
from tests.record.applies import write
from tests.record.server_side_apply import define
from tests.support.apiserver import running, version
from tests.support.makers.requests import (
    NAMESPACE,
    VERSION,
    Request,
    RequestMaker,
    Subject,
    document,
    encoded,
    subjects,
)
from tests.support.recorded_requests import FILE, USER_AGENT

SEED: Final = 1
SEQUENCES: Final = 520
# The time of all that was written while recording, and the uids.
TIME: Final = "2024-01-01T00:00:00Z"
_NOW: Final = re.compile(r"\b202[5-9]-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID: Final = re.compile(r"\b(?!0{8})[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_ADDRESS: Final = re.compile(r"\b10\.0\.\d+\.\d+\b")
_LONGEST: Final = 400
_PATIENCE: Final = 100
NO_ANSWER: Final = 599


class Sequence:
    """A sequence of requests to the objects of one kind on a server."""

    def __init__(self, client: httpx.Client, seed: str, subject: Subject) -> None:
        self._client = client
        self._subject = subject
        self._maker = RequestMaker(seed, subject)
        self._names: dict[str, str] = {}
        self._versions: set[str] = set()
        self._tracked: list[str] = []

    def record(self) -> JSONObject:
        """Send the requests, and return the line of the recording."""
        subject = self._subject
        for manifest in self._maker.started():
            self._clear(str(as_object(manifest["metadata"])["name"]))
            answer = self._client.post(subject.collection, json=manifest)
            if not answer.is_success:
                raise ValueError(f"{subject.name}: {answer.text}")
            self._tracked.append(answer.json()["metadata"]["name"])
        self._wait()
        state = self._state()
        line: JSONObject = {
            "kind": subject.name,
            "collection": subject.collection,
            "start": [self._normal(obj) for obj in state.values()],
            "steps": [],
        }
        main = subject.object_name
        for _ in range(self._maker.length):
            live = as_object(self._normal(state[main])) if main in state else None
            request = self._maker.next(live)
            before, version = state, self._version(state)
            answer = self._sent(request, version)
            state = self._state(answer)
            step: JSONObject = {
                name: value
                for name, value in request._asdict().items()
                if value not in (None, "") or (name == "text" and value == "")
            }
            if request.body is None:
                step.pop("body", None)
            step |= self._answer(answer, watch="watch=true" in request.path)
            if state != before:
                step["after"] = [self._normal(obj) for obj in state.values()]
            as_list(line["steps"]).append(step)
        for name in self._tracked:
            self._clear(name)
        return line

    def _wait(self) -> None:
        """Wait until controllers in the server have seen a CustomResourceDefinition."""
        if self._subject.plural != "customresourcedefinitions":
            return
        for _ in range(_PATIENCE):
            [obj] = self._state().values()
            conditions = as_list(as_object(obj.get("status")).get("conditions"))
            if "Established" in [as_object(each)["type"] for each in conditions]:
                return
            time.sleep(0.05)
        raise TimeoutError(self._subject.name)

    def _version(self, state: dict[str, JSONObject]) -> str:
        obj = state.get(self._subject.object_name)
        if obj is None:
            return "1"
        return str(as_object(obj["metadata"])["resourceVersion"])

    def _sent(self, request: Request, version: str) -> httpx.Response:
        text = request.text
        if request.body is not None:
            text = json.dumps(request.body)
        if text is not None:
            text = text.replace(VERSION, version)
            for real, short in self._names.items():
                text = text.replace(short, real)
        path = request.path.replace(
            VERSION.replace("(", "%28").replace(")", "%29"), version
        )
        headers = {"user-agent": USER_AGENT}
        if request.content_type:
            headers["content-type"] = request.content_type
        if request.accept:
            headers["accept"] = request.accept
        content = None if text is None else encoded(text)
        try:
            return self._client.request(
                request.method, path, content=content, headers=headers
            )
        except httpx.RemoteProtocolError:
            # The server panics, and ends the connection.
            return httpx.Response(NO_ANSWER)

    def _state(self, answer: httpx.Response | None = None) -> dict[str, JSONObject]:
        """Return the objects of the sequence that are stored, by name."""
        if answer is not None and answer.is_success:
            try:
                name = answer.json()["metadata"]["name"]
            except (ValueError, KeyError, TypeError):
                name = ""
            if name and name not in self._tracked:
                self._tracked.append(name)
        found: dict[str, JSONObject] = {}
        for name in self._tracked:
            got = self._client.get(f"{self._subject.collection}/{name}")
            if got.is_success:
                found[name] = got.json()
        return found

    def _clear(self, name: str) -> None:
        path = f"{self._subject.collection}/{name}"
        for _ in range(_PATIENCE):
            got = self._client.get(path)
            if got.status_code == httpx.codes.NOT_FOUND:
                return
            if got.json()["metadata"].get("finalizers"):
                patch: JSON = {"metadata": {"finalizers": None}}
                self._client.patch(
                    path,
                    json=patch,
                    headers={"content-type": "application/merge-patch+json"},
                )
            self._client.delete(path, params={"gracePeriodSeconds": "0"})
            if self._subject.plural == "namespaces":
                finalized = self._client.get(path)
                if finalized.is_success:
                    obj = finalized.json()
                    obj["spec"] = {}
                    self._client.put(f"{path}/finalize", json=obj)
            elif self._subject.plural == "customresourcedefinitions":
                time.sleep(0.05)
        raise TimeoutError(path)

    def _answer(self, answer: httpx.Response, *, watch: bool) -> JSONObject:
        found: JSONObject = {"code": answer.status_code}
        warnings = answer.headers.get_list("warning")
        if warnings:
            found["warnings"] = [self._normal(text) for text in warnings]
        try:
            if watch and answer.is_success:
                body: Any = [json.loads(line) for line in answer.text.splitlines()]
            else:
                body = answer.json()
        except ValueError:
            found["answer"] = None
            return found
        body = self._normal(body)
        if isinstance(body, dict) and body.get("kind") == "Status":
            body = {
                name: body[name]
                for name in ("kind", "status", "reason", "message", "details")
                if body.get(name)
            }
            _shorten(body)
        found["answer"] = body
        return found

    def _normal(self, value: JSON) -> JSON:
        """Return a value without what differs from one run to the next."""
        text = json.dumps(value, ensure_ascii=False)
        text = _NOW.sub(TIME, text)
        for uid in _UID.finditer(text):
            short = f"00000000-0000-4000-8000-{len(self._names) + 1:012}"
            self._names.setdefault(uid[0], short)
        for address in _ADDRESS.finditer(text):
            # A short one, that no other address begins with.
            if address[0] not in self._names.values():
                short = f"10.9.9.{len(self._names) + 100}"
                self._names.setdefault(address[0], short)
        for real, short in self._names.items():
            text = re.sub(rf"\b{re.escape(real)}\b", short, text)
        return _without_versions(json.loads(text))


def _without_versions(value: JSON) -> JSON:
    """Return a value whose metadata has (version) for a resourceVersion."""
    if isinstance(value, list):
        return [_without_versions(element) for element in value]
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        if name == "resourceVersion" and isinstance(member, str) and member:
            result[name] = VERSION
        elif name == "managedFields" and isinstance(member, list):
            result[name] = member
        else:
            result[name] = _without_versions(member)
    return result


def _shorten(status: JSONObject) -> None:
    message = status.get("message")
    if isinstance(message, str) and len(message) > _LONGEST:
        status["message"] = f"{message[:_LONGEST]} ..."
    for cause in as_list(as_object(status.get("details")).get("causes")):
        text = as_object(cause).get("message")
        if isinstance(text, str) and len(text) > _LONGEST:
            as_object(cause)["message"] = f"{text[:_LONGEST]} ..."


def recorded(client: httpx.Client, seed: int, count: int) -> Iterator[JSONObject]:
    """Yield the lines of that many sequences, the kinds in turn."""
    for definition in document()["definitions"]:
        define(client, definition)
    client.post("/api/v1/namespaces", json={"metadata": {"name": NAMESPACE}})
    chosen = [*subjects().values()]
    for number in range(count):
        subject = chosen[number % len(chosen)]
        yield Sequence(client, f"{seed}-{number}", subject).record()


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sequences", type=int, default=SEQUENCES)
    parser.add_argument("--to", type=Path, default=FILE)
    options = parser.parse_args()
    lines: list[JSONObject] = [{"kube-apiserver": version(), "seed": options.seed}]
    with running() as server:
        client = server.client
        client.headers["user-agent"] = USER_AGENT
        lines += recorded(client, options.seed, options.sequences)
    write(options.to, lines)


if __name__ == "__main__":
    main()
