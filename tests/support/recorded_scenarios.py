"""Recorded requests of field managers as steps of a simulation, with the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.managed_fields import Step, Verb
from tests.record.applies import read
from tests.support.field_manager_requests import RECORDED, absolute_path, scenarios

_VERBS: Final[dict[str, Verb]] = {
    "apply": "apply",
    "merge": "merge patch",
    "strategic": "strategic merge patch",
    "json": "JSON patch",
    "post": "update",
    "put": "update",
}


def requests_of(name: str) -> Iterator[tuple[Step | None, dict[str, Any]]]:
    """Yield the requests of a scenario with their answers; a GET is no step."""
    (requests,) = [each.steps for each in scenarios() if each.name == name]
    for request, answer in zip(requests, answers_of(name), strict=True):
        [(text, body)] = request.items()
        verb, _, path = text.partition(" ")
        if verb == "get":
            yield None, answer
            continue
        url = urlsplit(absolute_path(path, "(namespace)"))
        query = parse_qs(url.query)
        _, api, *rest = url.path.split("/")
        yield (
            Step(
                query["fieldManager"][0],
                body,
                _VERBS[verb],
                force="force" in query,
                subresource="status" if rest[-1] == "status" else "",
                api_version="/".join(rest[:2]) if api == "apis" else rest[0],
            ),
            answer,
        )


def answers_of(name: str) -> list[dict[str, Any]]:
    """Return the recorded answers to the requests of a scenario."""
    (found,) = [line["answers"] for line in read(RECORDED)[1] if line["name"] == name]
    answers: list[dict[str, Any]] = found
    return answers


def owned(obj: JSONObject) -> JSON:
    """Return the entries of an object without their times, in any order."""
    entries = as_list(as_object(obj["metadata"]).get("managedFields"))
    found: list[JSON] = [{**as_object(entry), "time": ""} for entry in entries]
    return sorted(found, key=str)
