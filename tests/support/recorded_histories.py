"""Recorded histories, and what this project's server answers to their requests.

tests/record/apply_sequences.py recorded them. Each request is sent to the server's
application in this process, whose store has what a kube-apiserver had before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import httpx

import smp
from smp._values.values import JSON, JSONObject, as_object, same
from smp.server.registry.envelope import pack, unpack
from smp.server.registry.target import locate
from smp.server.settings import Settings
from tests.record.apply_sequences import path_of, refusal, request_of, shortened
from tests.support.apiserver import Answer
from tests.support.differences import differences
from tests.support.makers.histories import Subject, definitions, subjects
from tests.support.makers.writes import Write
from tests.support.recorded_requests import TIME, comparable
from tests.support.server_app import Served, serving

_RECORDED_TIME: Final = re.compile(r"\b2024-01-01T00:\d\d:00Z")
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Replayed(NamedTuple):
    """A recorded request, and in what the answer of the server differs."""

    where: str
    kind: str
    step: dict[str, Any]
    problems: tuple[str, ...]


def replayed(histories: list[dict[str, Any]]) -> Iterator[Replayed]:
    """Yield what the server makes of each request of histories."""
    settings = Settings(catalog=smp.kubernetes("1.36"), profile="validate-only")
    with serving(settings) as served:
        for definition in definitions():
            served.post(_DEFINITIONS, definition)
        for number, history in enumerate(histories):
            if history["kind"] not in subjects():
                continue
            yield from _History(served, number, history).replayed()


class _History:
    """A history, and its object in the store of a server."""

    def __init__(self, served: Served, number: int, history: dict[str, Any]) -> None:
        self._served = served
        self._number = number
        self._subject: Final[Subject] = subjects()[history["kind"]]
        self._steps: list[dict[str, Any]] = history["steps"]
        self._name = f"{history['kind'].lower()}{number}"
        _, _, group, version, *rest = self._path(self._subject.main_version).split("/")
        if group == "v1":
            group, version, rest = "", group, [version, *rest]
        resources = served.app.state.server.kinds.resources
        self._target = locate(resources, group, version, "/".join(rest))

    def _path(self, api_version: str) -> str:
        return path_of(self._subject, api_version, self._name)

    def replayed(self) -> Iterator[Replayed]:
        """Yield what the server makes of each request."""
        live: JSONObject | None = None
        for at, step in enumerate(self._steps):
            version = self._store(live)
            answer = self._sent(step, live, version)
            after = self._after(step, live)
            problems = [*_differences(step, answer), *self._state_problems(after)]
            where = f"{self._number}.{at}"
            yield Replayed(where, self._subject.kind, step, tuple(problems))
            live = None if after is None else as_object(after)
        self._store(None)

    def _after(self, step: dict[str, Any], live: JSONObject | None) -> JSON:
        """Return what a kube-apiserver has stored after a request."""
        if "live" in step:
            after: JSON = step["live"]
            return after
        answer = as_object(step.get("answer"))
        is_main = answer.get("apiVersion") == self._subject.main_version
        is_stored = is_main and answer.get("kind") == self._subject.kind
        # A deletion has its options in the body: the one of the query is not read.
        is_dry_run = "dry_run" in step and step["verb"] != "delete"
        return answer if is_stored and not is_dry_run else live

    def _store(self, live: JSONObject | None) -> str:
        """Store what a kube-apiserver has stored, and return its resourceVersion."""
        key, store = self._target.key, self._served.store
        stored = self._served.run(store.get(key))
        if stored is not None:
            self._served.run(store.delete(key, stored.revision))
        if live is None:
            return ""
        value = pack(live, self._target.resource)
        return str(self._served.run(store.create(key, value)))

    def _sent(
        self, step: dict[str, Any], live: JSONObject | None, version: str
    ) -> httpx.Response:
        former = str(as_object(as_object(live).get("metadata")).get("resourceVersion"))
        sent = Write(
            step["verb"],
            _renewed(step["body"], former, version),
            step["manager"],
            step.get("api_version", self._subject.main_version),
            step.get("subresource", ""),
            step.get("force", False),
            step.get("dry_run", False),
            step.get("field_validation", ""),
        )
        path = path_of(
            self._subject, sent.api_version, "" if sent.verb == "create" else self._name
        )
        method, path, body, media_type = request_of(sent, path)
        return self._served.call(method, path, body, content_type=media_type)

    def _state_problems(self, expected: JSON) -> list[str]:
        stored = self._served.run(self._served.store.get(self._target.key))
        found = unpack(stored, self._target.resource) if stored else None
        return [f"stored: {each}" for each in _compared(found, expected)]


def _renewed(value: JSON, former: str, version: str) -> JSON:
    """Return a body with the resourceVersion that the object has here."""
    if isinstance(value, list):
        return [_renewed(element, former, version) for element in value]
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        in_patch = name == "value" and value.get("path") == "/metadata/resourceVersion"
        is_version = name == "resourceVersion" or in_patch
        if is_version and member == former:
            result[name] = version
        else:
            result[name] = _renewed(member, former, version)
    return result


def _differences(step: dict[str, Any], answer: httpx.Response) -> Iterator[str]:
    body = answer.json()
    if answer.status_code != step["code"]:
        message = body.get("message", "")
        theirs = step.get("refused", {}).get("message", "")
        yield f"code: {answer.status_code} {message!r}, not {step['code']} {theirs!r}"
    elif "refused" in step:
        ours = shortened(refusal(Answer(answer.status_code, body)))
        if sorted(str(ours["message"]).split("\n")) != sorted(
            step["refused"]["message"].split("\n")
        ):
            yield f"message: {ours['message']!r}, not {step['refused']['message']!r}"
    else:
        yield from (f"answer: {each}" for each in _compared(body, step["answer"]))
    warnings = answer.headers.get_list("warning")
    if warnings != step.get("warnings", []):
        yield f"warnings: {warnings}, not {step.get('warnings', [])}"


def _compared(ours: JSON, theirs: JSON) -> Iterator[str]:
    """Yield in what two objects differ, but for what differs from run to run."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        if not same(ours, theirs):
            yield f"{ours}, not {theirs}"
        return
    theirs = json.loads(_RECORDED_TIME.sub(TIME, json.dumps(theirs)))
    ours = json.loads(_RECORDED_TIME.sub(TIME, json.dumps(ours)))
    first, second = as_object(comparable(ours)), as_object(comparable(theirs))
    yield from (str(each) for each in differences(first, second))
