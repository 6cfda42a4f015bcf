"""Requests of field managers: to record what a real API server answers, and to replay.

The requests are those of tests/data/apiserver/server_side_apply.yaml, which describes
their form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from smp.handler import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.support.paths import DATA

REQUESTS: Final = DATA / "apiserver" / "server_side_apply.yaml"
RECORDED: Final = REQUESTS.with_suffix(".jsonl.xz")

_JSON: Final = "application/json"
_VERBS: Final = {
    "get": ("GET", ""),
    "delete": ("DELETE", ""),
    "post": ("POST", _JSON),
    "put": ("PUT", _JSON),
    "apply": ("PATCH", APPLY),
    "merge": ("PATCH", MERGE),
    "strategic": ("PATCH", STRATEGIC),
    "json": ("PATCH", JSON_PATCH),
}
_USER_AGENT: Final = "recorder/1.0"
# The times and the uids of a server, not those that requests have.
_TIME: Final = re.compile(r"20(?!01)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UID: Final = re.compile(r"(?!0{8})[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Answer(NamedTuple):
    """The HTTP status, the body, and the Warning headers of an answer."""

    code: int
    body: Any
    warnings: list[str]


Send: TypeAlias = Callable[[str, str, bytes | None, dict[str, str]], Answer]


class Scenario(NamedTuple):
    """Requests that are sent one after the other."""

    name: str
    steps: list[dict[str, Any]]


def definitions() -> list[dict[str, Any]]:
    """Return the CustomResourceDefinitions that must exist."""
    found: list[dict[str, Any]] = _document()["definitions"]
    return found


def scenarios() -> list[Scenario]:
    """Return all scenarios."""
    return [
        Scenario(scenario["name"], scenario["steps"])
        for scenario in _document()["scenarios"]
    ]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(REQUESTS.read_text())
    return document


def played(scenario: Scenario, namespace: str, send: Send) -> Iterator[dict[str, Any]]:
    """Send the requests of a scenario; yield what is stable of the answers."""
    known = {"(namespace)": namespace, "(uid)": "", "(version)": ""}
    versions: dict[str, str] = {}
    for step in scenario.steps:
        headers = {"user-agent": _USER_AGENT}
        request, content = "", None
        for name, value in step.items():
            if name[:1].islower():
                request, content = name, value
            else:
                headers[name.lower()] = value
        verb, _, path = request.partition(" ")
        method, content_type = _VERBS[verb]
        if content_type:
            headers["content-type"] = content_type
        text = content if isinstance(content, str) else json.dumps(content)
        for placeholder, value in known.items():
            text = text.replace(placeholder, value)
        body = None if content is None else text.encode()
        path = path.replace("(namespace)", namespace)
        answer = send(method, absolute_path(path, namespace), body, headers)
        metadata = answer.body.get("metadata", {})
        if metadata.get("uid"):
            known["(uid)"] = metadata["uid"]
            known["(version)"] = metadata.get("resourceVersion", known["(version)"])
        yield _stable(answer, namespace, versions)


def absolute_path(path: str, namespace: str) -> str:
    """Return the whole path of a resource: those of a group begin with group/vN."""
    if path.startswith("/"):
        return path
    first, _, rest = path.partition("/")
    version, _, below = rest.partition("/")
    if re.fullmatch(r"v\d+", version):
        return f"/apis/{first}/{version}/namespaces/{namespace}/{below}"
    return f"/api/v1/namespaces/{namespace}/{path}"


def _stable(answer: Answer, namespace: str, versions: dict[str, str]) -> dict[str, Any]:
    """Return what the same requests lead to at any time and on any server.

    A resourceVersion becomes the number of writes since the first one that was seen.
    """
    text = json.dumps(answer.body, ensure_ascii=False).replace(namespace, "(namespace)")
    body = json.loads(_UID.sub("(uid)", _TIME.sub("(time)", text)))
    stable: dict[str, Any] = {"code": answer.code}
    if answer.warnings:
        stable["warnings"] = answer.warnings
    if body.get("kind") == "Status":
        names = ("reason", "message", "details")
        stable |= {name: body[name] for name in names if body.get(name)}
        return stable
    metadata = body["metadata"]
    if "resourceVersion" in metadata:
        version = metadata["resourceVersion"]
        metadata["resourceVersion"] = versions.setdefault(version, f"{len(versions)}")
    return {**stable, "object": body}
