"""Record what a real kube-apiserver makes of the requests that change a union.

``python -m tests.record.union_requests`` writes tests/data/managed_fields/
union_requests.jsonl.xz again: for each union of tests/data/apiserver/unions.yaml, an
object with one member, and an apply of another one, which the server may refuse. Where
``predict_refusal`` has a remedy, its requests are sent as well. The file fields.json
beside it describes the lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.managed_fields import PatchRequest, apply_request, predict_refusal
from smp.schema.catalog import kubernetes
from tests.record.applies import refusal, write
from tests.record.unions import (
    choices,
    collection,
    is_success,
    object_with,
    patchable,
    rows,
    wait_for_the_end,
)
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.paths import DATA

FILE: Final = DATA / "managed_fields" / "union_requests.jsonl.xz"
# Who wrote the first member: who applies the second one, another one by an apply, and
# one who has created the object.
OWNERS: Final = ("two", "one", "creator")
VERSION: Final = "7"
_TIME: Final = "2024-01-01T00:00:00Z"
_TRIES: Final = 5


def pinned(obj: JSONObject) -> JSONObject:
    """Return an object with the same uid, version and times in each recording."""
    metadata = {
        **as_object(obj["metadata"]),
        "uid": "(uid)",
        "resourceVersion": VERSION,
        "creationTimestamp": _TIME,
    }
    metadata["managedFields"] = [
        {**as_object(entry), "time": _TIME}
        for entry in as_list(metadata.get("managedFields"))
    ]
    return {**obj, "metadata": metadata}


def sent(server: ApiServer, request: PatchRequest) -> Answer:
    """Send a request."""
    query = "&".join(f"{name}={value}" for name, value in request.query)
    path = f"{request.path}?{query}"
    return server.request(request.method, path, request.body, request.media_type)


def _answer(answer: Answer) -> JSONObject:
    if is_success(answer):
        return {"stored": pinned(answer.body)}
    return {"refused": refusal(answer)}


def _written(
    server: ApiServer, path: str, place: str, obj: JSONObject, owner: str
) -> Answer:
    if owner == "creator":
        return server.request("POST", f"{path}?fieldManager=creator", obj)
    return sent(server, apply_request(place, obj, owner))


def _lines(server: ApiServer, row: dict[str, Any]) -> Iterator[JSONObject]:
    api_version, _, kind = row["kind"].partition(" ")
    path = collection(server, api_version, kind)
    pairs = itertools.permutations(choices(row), 2)
    for (before, after), owner in itertools.product(pairs, OWNERS):
        obj, modified = object_with(row, before), object_with(row, after)
        place = f"{path}/{as_object(obj['metadata'])['name']}"
        valid = server.request("POST", f"{path}?dryRun=All", modified)
        # No PriorityLevelConfiguration of type Exempt may have another name.
        if not is_success(valid):
            continue
        if not is_success(_written(server, path, place, obj, owner)):
            continue
        # A controller in the server may write a CustomResourceDefinition meanwhile.
        for _ in range(_TRIES):
            line = _line(server, row, place, modified, force=owner != "two")
            if not any(_is_conflict(answer) for answer in as_list(line["answers"])):
                break
        yield line
        server.request("DELETE", place)
        wait_for_the_end(server, place)


def _is_conflict(answer: JSON) -> bool:
    refused = as_object(as_object(answer).get("refused"))
    return "modified" in str(refused.get("message"))


def _line(
    server: ApiServer,
    row: dict[str, Any],
    place: str,
    modified: JSONObject,
    *,
    force: bool,
) -> JSONObject:
    """Apply another member to an object, and send the requests of the remedy."""
    live = server.request("GET", place).body
    request = apply_request(place, modified, "two", force=force)
    answers: list[JSON] = [_answer(sent(server, request))]
    line: JSONObject = {
        "kind": row["kind"],
        "type": row["type"],
        "live": pinned(live),
        "applied": modified,
        "force": force,
    }
    schema = kubernetes(version()).schema_of(live)
    if "refused" in as_object(answers[0]):
        for pins in (True, False):
            remark = predict_refusal(
                pinned(live) if pins else live,
                modified,
                schema,
                manager="two",
                force=force,
            )
            if remark is None or remark.remedy is None:
                break
            if pins:
                line["body"] = remark.remedy.body
                continue
            answers += [
                _answer(sent(server, each)) for each in remark.remedy.requests(place)
            ]
    return {**line, "answers": answers}


def main() -> None:
    """Record."""
    lines: list[JSONObject] = [{"kube-apiserver": version()}]
    with running() as server:
        for original in rows():
            row = patchable(original)
            if "subresource" in row or row["kind"].endswith("SubjectAccessReview"):
                continue
            lines.extend(_lines(server, row))
    write(FILE, lines)


if __name__ == "__main__":
    main()
