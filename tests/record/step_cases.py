"""Record what a kube-apiserver does as the results of the steps of spec cases.

It is run by hand, from the root of the repository, with a kube-apiserver
(tests.support.apiserver):

    python -m tests.record.step_cases [--check] FILE ...

Each case is run on an empty server: ``live`` is put into etcd as it is, since a server
would refuse some of what older ones stored, and read back as the server reads it. Then
its steps are sent, each in a second of its own, so that the times that the server
writes tell which step wrote them. The results of all steps are written into the file;
with ``--check`` they are compared with it, for another version of Kubernetes.

What differs from run to run is left out: see ``_VOLATILE``.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.cases import (
    SpecCase,
    in_order,
    parse,
    step_time,
    updated_text,
    with_results,
)
from smp.documents import dump_json
from smp.schema.resource_names import guess
from tests.support.apiserver import Answer, ApiServer, running
from tests.support.etcd import Etcd

_NAMESPACE: Final = "default"
# Members of metadata that are another value each time, or say nothing here.
_VOLATILE: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "namespace",
)
MEDIA_TYPES: Final = {
    "apply": "application/apply-patch+yaml",
    "merge_patch": "application/merge-patch+json",
    "strategic_merge_patch": "application/strategic-merge-patch+json",
    "json_patch": "application/json-patch+json",
}
_SCHEMA_DELAY: Final = 3.0  # seconds


class Place:
    """Where the object of a case is: its resource, and its key in etcd."""

    def __init__(self, case: SpecCase) -> None:
        objects = [as_object(case.document.get("live"))]
        objects += [
            as_object(step.get("apply", step.get("update"))) for step in steps(case)
        ]
        first = next(obj for obj in objects if obj)
        self.name = as_text(as_object(first["metadata"])["name"])
        self.api_version = as_text(first["apiVersion"])
        self.resource = guess(self.api_version, as_text(first["kind"]))
        group = f"{self.resource.group}/" if "crd" in case.document else ""
        self.key = f"/registry/{group}{self.resource.plural}/{_NAMESPACE}/{self.name}"

    def path(self, api_version: str = "", subresource: str = "") -> str:
        """Return the path of the object for requests."""
        api_version = api_version or self.api_version
        api = "apis" if "/" in api_version else "api"
        path = f"/{api}/{api_version}/namespaces/{_NAMESPACE}/{self.resource.plural}"
        return f"{path}/{self.name}" + (f"/{subresource}" if subresource else "")


def steps(case: SpecCase) -> list[JSONObject]:
    """Return the steps of a case."""
    return [as_object(step) for step in as_list(case.document.get("steps"))]


class Recorder:
    """Runs cases on a server that keeps its objects in ``store``."""

    def __init__(self, server: ApiServer, store: Etcd) -> None:
        self._server = server
        self._etcd = store
        # The CustomResourceDefinitions that the server has, by name.
        self._defined: dict[str, JSON] = {}

    def results(self, case: SpecCase) -> tuple[JSON, list[JSONObject]]:
        """Return ``live`` as the server reads it, and the results of the steps."""
        place = Place(case)
        self._define(case.document.get("crd"))
        self._forget(place)
        live = case.document.get("live")
        if isinstance(live, dict):
            self._store(place, live)
            live = _stable(self._get(place.path()).body, {})
        seconds: dict[str, str] = {}
        found: list[JSONObject] = []
        for index, step in enumerate(steps(case)):
            self._define(step.get("crd"))
            found.append(self._result(place, step, step_time(index), seconds))
        self._forget(place)
        return live, found

    def _result(
        self, place: Place, step: JSONObject, stated: str, seconds: dict[str, str]
    ) -> JSONObject:
        """Send a step; ``seconds`` are the stated times by those of the server."""
        sent = as_object(step.get("apply", step.get("update")))
        path = place.path(as_text(sent.get("apiVersion")))
        before = self._get(path)
        start = _next_second()
        answer = self._send(place, path, step, before)
        for second in range(start, int(time.time()) + 1):
            written = datetime.fromtimestamp(second, UTC)
            seconds[written.strftime("%Y-%m-%dT%H:%M:%SZ")] = stated
        if answer.code >= HTTPStatus.BAD_REQUEST:
            return _refusal(answer, seconds)
        after = self._get(path)
        if before.code == HTTPStatus.OK and _version(before) == _version(after):
            return {"changed": False}
        return {"object": _stable(after.body, seconds)}

    def _send(
        self, place: Place, path: str, step: JSONObject, before: Answer
    ) -> Answer:
        query = f"?fieldManager={quote(as_text(step['manager']))}"
        if "scale" in step:
            path = place.path(subresource="scale")
            scale = self._server.request("GET", path).body
            return self._server.request(
                "PUT", path + query, {**scale, "spec": {"replicas": step["scale"]}}
            )
        if "update" in step and before.code == HTTPStatus.NOT_FOUND:
            collection = path.removesuffix(f"/{place.name}")
            return self._server.request("POST", collection + query, step["update"])
        if "subresource" in step:
            path += f"/{step['subresource']}"
        if "update" in step:
            # The client has read the object that it updates.
            sent = as_object(step["update"])
            known = as_object(before.body["metadata"])
            metadata = {
                **as_object(sent["metadata"]),
                "uid": known["uid"],
                "resourceVersion": known["resourceVersion"],
            }
            return self._server.request(
                "PUT", path + query, {**sent, "metadata": metadata}
            )
        if step.get("force"):
            query += "&force=true"
        (operation,) = MEDIA_TYPES.keys() & step.keys()
        return self._server.request(
            "PATCH", path + query, step[operation], MEDIA_TYPES[operation]
        )

    def _get(self, path: str) -> Answer:
        return self._server.request("GET", path)

    # --- etcd ---

    def _store(self, place: Place, obj: JSONObject) -> None:
        metadata = {
            "namespace": _NAMESPACE,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
            **as_object(obj["metadata"]),
        }
        text = json.dumps({**obj, "metadata": metadata})
        self._ask("put", place, value=base64.b64encode(text.encode()).decode())

    def _forget(self, place: Place) -> None:
        self._ask("deleterange", place)

    def _ask(self, request: str, place: Place, **members: object) -> None:
        key = base64.b64encode(place.key.encode()).decode()
        self._etcd.call(f"kv/{request}", {"key": key, **members})

    # --- custom resources ---

    def _define(self, definition: JSON) -> None:
        """Let the server have a CustomResourceDefinition, if there is one."""
        if not isinstance(definition, dict):
            return
        metadata = as_object(definition["metadata"])
        name = as_text(metadata["name"])
        if same(self._defined.get(name), definition):
            return
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        existing = self._server.request("GET", f"{path}/{name}")
        if existing.code == HTTPStatus.NOT_FOUND:
            answer = self._server.request("POST", path, definition)
        else:
            known = as_object(existing.body["metadata"])
            metadata = {**metadata, "resourceVersion": known["resourceVersion"]}
            answer = self._server.request(
                "PUT", f"{path}/{name}", {**definition, "metadata": metadata}
            )
        if answer.code >= HTTPStatus.BAD_REQUEST:
            raise ValueError(answer.body)
        self._defined[name] = definition
        while not _is_established(self._server.request("GET", f"{path}/{name}")):
            time.sleep(0.1)
        # It takes another moment to be served, and nothing shows when.
        time.sleep(_SCHEMA_DELAY)


# --- answers ---


def _is_established(answer: Answer) -> bool:
    conditions = as_list(as_object(answer.body.get("status")).get("conditions"))
    return any(
        (as_object(each)["type"], as_object(each)["status"]) == ("Established", "True")
        for each in conditions
    )


def _next_second() -> int:
    """Wait for the next second, and return it."""
    time.sleep(1.02 - time.time() % 1)
    return int(time.time())


def _version(answer: Answer) -> JSON:
    return as_object(answer.body.get("metadata")).get("resourceVersion")


def _with_times(text: str, seconds: dict[str, str]) -> str:
    for real, stated in seconds.items():
        text = text.replace(real, stated)
    return text


def _stable(obj: JSONObject, seconds: dict[str, str]) -> JSONObject:
    """Return an object without what differs from run to run."""
    metadata = as_object(obj["metadata"])
    kept = {name: value for name, value in metadata.items() if name not in _VOLATILE}
    text = json.dumps({**obj, "metadata": kept})
    stable: JSONObject = json.loads(_with_times(text, seconds))
    return stable


def _refusal(answer: Answer, seconds: dict[str, str]) -> JSONObject:
    status: JSONObject = json.loads(_with_times(json.dumps(answer.body), seconds))
    causes = as_list(as_object(status.get("details")).get("causes"))
    first, *errors = as_text(status["message"]).split("\n")
    # The server lists errors of fields in the random order of a map, but not conflicts.
    if all(each.startswith("* ") for each in errors):
        errors.sort()
    result: JSONObject = {"message": "\n".join([first, *errors])}
    conflicts: JSONArray = [
        {"field": as_object(cause)["field"], "message": as_object(cause)["message"]}
        for cause in causes
        if as_object(cause).get("reason") == "FieldManagerConflict"
    ]
    if conflicts:
        # The server lists them in the random order of a map.
        result["conflicts"] = in_order(conflicts)
    return result


# --- files ---


def recorded(recorder: Recorder, case: SpecCase) -> JSONObject:
    """Return the members of a case that state what the server does."""
    live, results = recorder.results(case)
    stated: JSONArray = []
    for step, result in zip(steps(case), results, strict=True):
        # The server has no codes of errors, so these are written by hand. A text that
        # is about Go values is deleted by hand.
        is_error = "message" in result and "conflicts" not in result
        if is_error and "error" in step and "message" not in step:
            stated.append({"error": step["error"]})
        elif is_error:
            stated.append({"error": step.get("error", "invalid"), **result})
        else:
            stated.append(result)
    new = with_results(list[JSON](steps(case)), stated)
    members: JSONObject = {"steps": new}
    if live is not None:
        members["live"] = live
    return {
        name: value
        for name, value in members.items()
        if not same(value, case.document.get(name))
    }


def record(recorder: Recorder, file: Path, *, check: bool) -> Iterator[str]:
    """Rewrite the results in a file, and yield a line for each that changes."""
    text = file.read_text(encoding="utf-8")
    changes: dict[int, JSONObject] = {}
    for case in parse(text, source=str(file)):
        if "steps" not in case.document:
            continue
        changes[case.index] = recorded(recorder, case)
        for name, value in changes[case.index].items():
            yield f"{file}:{case.line}: {case.description}: {name}: {dump_json(value)}"
    if not check:
        file.write_text(updated_text(text, changes, source=str(file)), encoding="utf-8")


def main() -> int:
    """Record, or check; return 1 if the check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    with running() as server:
        assert server.store
        recorder = Recorder(server, server.store)
        found = False
        for file in options.files:
            for line in record(recorder, file, check=options.check):
                found = True
                print(line, flush=True)  # noqa: T201
    return int(found and options.check)


if __name__ == "__main__":
    sys.exit(main())
