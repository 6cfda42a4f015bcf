"""Record what a real kube-apiserver makes of sequences of writes by several managers.

``python -m tests.record.apply_sequences`` writes tests/data/managed_fields/ again:
``sequences.jsonl.xz``, whose lines tests/data/managed_fields/fields.json describes.
``--seed S``, ``--sequences N`` and ``--to FILE`` record other ones elsewhere;
``sequences-1.37.jsonl.xz`` is from ``--sequences 200 --server-version v1.37.1``, and
``histories.jsonl.xz`` from ``--histories --sequences 1000 --seed 71``.

All sequences take their first step, then all their second, at least two seconds later:
so each step has a time of its own, as a server writes times in whole seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import httpx

from smp._values.values import JSON, JSONObject, as_list, as_object
from tests.record.applies import write
from tests.support.apiserver import Answer, ApiServer, running
from tests.support.makers.histories import HistoryMaker, Subject, definitions, subjects
from tests.support.makers.manifests import KINDS
from tests.support.makers.widgets import API_VERSIONS, crd
from tests.support.makers.writes import SHARES, WIDGET, Write, WriteMaker
from tests.support.paths import DATA

FILE: Final = DATA / "managed_fields" / "sequences.jsonl.xz"
OTHER_VERSION: Final = FILE.with_name("sequences-1.37.jsonl.xz")
HISTORIES: Final = FILE.with_name("histories.jsonl.xz")
SEED: Final = 1
SEQUENCES: Final = 2000
_PAUSE: Final = 2.0  # seconds
_PATIENCE: Final = 30.0  # seconds
# The longest message that is recorded whole.
_LONGEST: Final = 600
_KEPT: Final = 120
_METHODS: Final = {"create": "POST", "update": "PUT", "delete": "DELETE"}
_MEDIA_TYPES: Final = {
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}
# Of objects that were never stored.
_UID: Final = re.compile(r"\b(?!0{8})[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NOW: Final = re.compile(r"\b202[5-9]-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TIME: Final = re.compile(r'"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"')


class Sequence:
    """A sequence of writes to one object of a server."""

    def __init__(self, server: ApiServer, seed: int, number: int, kind: str) -> None:
        self._server = server
        self.kind = kind
        self._name = f"{kind.lower()}-{number}"
        self._maker: WriteMaker = WriteMaker(f"{seed}-{number}", kind, self._name)
        self._live: JSONObject | None = None
        self.steps: list[JSONObject] = []
        # What is written instead of times, by when they came up first.
        self._times: dict[str, str] = {}

    @property
    def done(self) -> bool:
        return len(self.steps) == self._maker.length

    def step(self) -> None:
        """Send the next write, and record it and its answer."""
        sent = self._maker.next(self._live)
        if self._live is not None and sent.api_version != self._main_version:
            # The versions of widgets differ in their name only.
            other = self._seen_in(sent.api_version)
            assert other == {**self._live, "apiVersion": sent.api_version}
        self._take(sent)

    def _seen_in(self, api_version: str) -> JSONObject:
        """Return the stored object in a version."""
        return self._server.request("GET", self._path(api_version, self._name)).body

    def _take(self, sent: Write) -> Answer:
        """Send a write, and record it and its answer."""
        before = json.dumps(sent.body)
        name = "" if sent.verb == "create" else self._name
        path = self._path(sent.api_version, name)
        answer = self._server.request(*request_of(sent, path))
        after = self._server.request("GET", self._path(self._main_version, self._name))
        record: JSONObject = {
            name: value
            for name, value in sent._asdict().items()
            if value not in ("", False)
        }
        if sent.api_version == self._main_version:
            del record["api_version"]
        record["code"] = answer.code
        if answer.code < httpx.codes.BAD_REQUEST:
            record["answer"] = answer.body
        else:
            record["refused"] = refusal(answer)
        live = after.body if after.code == httpx.codes.OK else None
        # What is stored is recorded where it is neither the answer nor as it was.
        if live != record.get("answer") and live != self._live:
            record["live"] = live
        self._live = live
        self.steps.append(record)
        for found in _TIME.findall(json.dumps([answer.body, live])):
            if found not in before:
                number = len(self.steps) - 1
                self._times.setdefault(found, f"2024-01-01T00:{number:02}:00Z")
        return answer

    @property
    def _main_version(self) -> str:
        return API_VERSIONS[0] if self.kind == WIDGET else KINDS[self.kind].api_version

    def _path(self, api_version: str, name: str) -> str:
        namespace = "namespaces/default/"
        resource = "widgets"
        if self.kind != WIDGET:
            about = KINDS[self.kind]
            namespace = namespace if about.namespaced else ""
            resource = about.resource
            api_version = about.api_version
        root = "apis" if "/" in api_version else "api"
        path = f"/{root}/{api_version}/{namespace}{resource}"
        return f"{path}/{name}" if name else path

    def record(self) -> JSONObject:
        """Return the line of the recording, without what differs from run to run."""
        names: dict[str, str] = dict(self._times)
        versions: dict[str, str] = {}
        addresses: dict[str, str] = {}
        for number, step in enumerate(self.steps):
            for stored in (step.get("answer"), step.get("live")):
                metadata = as_object(as_object(stored).get("metadata"))
                uid = metadata.get("uid")
                if isinstance(uid, str):
                    names.setdefault(uid, f"00000000-0000-4000-8000-{number:012}")
                version = metadata.get("resourceVersion")
                if isinstance(version, str) and version:
                    versions.setdefault(version, str(1000 + number))
                found = as_object(as_object(stored).get("spec")).get("clusterIPs")
                for address in map(str, as_list(found)):
                    if address != "None":
                        addresses.setdefault(address, f"10.0.0.{10 + len(addresses)}")
        text = json.dumps({"kind": self.kind, "steps": [*self.steps]})
        for old, new in {**names, **addresses}.items():
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
        result = as_object(_renumbered(json.loads(text), versions, {}))
        for each in map(as_object, as_list(result["steps"])):
            if "refused" in each:
                each["refused"] = shortened(as_object(each["refused"]))
        return result


class History(Sequence):
    """A sequence of writes in all versions of a kind of the table."""

    def __init__(self, server: ApiServer, seed: int, number: int, kind: str) -> None:
        super().__init__(server, seed, number, "ConfigMap")
        self.kind = kind
        self._subject: Final[Subject] = subjects()[kind]
        self._name = f"{kind.lower()}{number}"
        self._history = HistoryMaker(f"{seed}-{number}", self._subject, self._name)
        self._maker = self._history

    def step(self) -> None:
        """Send the next write, and record it, its answer and what was before."""
        version = self._history.choose_version()
        live = self._live
        seen = live
        if live is not None and version != self._main_version:
            seen = self._seen_in(version)
        answer = self._take(self._history.next(seen))
        record = self.steps[-1]
        if seen != live and seen != {**as_object(live), "apiVersion": version}:
            record["before"] = seen
        if answer.warnings:
            record["warnings"] = [*answer.warnings]

    @property
    def _main_version(self) -> str:
        return self._subject.main_version

    def _path(self, api_version: str, name: str) -> str:
        return path_of(self._subject, api_version, name)


def path_of(subject: Subject, api_version: str, name: str) -> str:
    """Return the path of an object of a kind of the table, or of all."""
    root = "apis" if "/" in api_version else "api"
    namespace = "namespaces/default/" if subject.namespaced else ""
    resource = subject.versions[api_version]["resource"]
    path = f"/{root}/{api_version}/{namespace}{resource}"
    return f"{path}/{name}" if name else path


def request_of(sent: Write, path: str) -> tuple[str, str, JSON, str]:
    """Return method, path, body and media type of the request that writes."""
    query = {"fieldManager": sent.manager}
    if sent.force:
        query["force"] = "true"
    if sent.dry_run:
        query["dryRun"] = "All"
    if sent.field_validation:
        query["fieldValidation"] = sent.field_validation
    if sent.subresource:
        path = f"{path}/{sent.subresource}"
    if sent.verb == "delete":
        query = {"dryRun": "All"} if sent.dry_run else {}
    return (
        _METHODS.get(sent.verb, "PATCH"),
        f"{path}?{urlencode(query)}",
        sent.body,
        _MEDIA_TYPES.get(sent.verb, "application/json"),
    )


def _renumbered(value: JSON, versions: dict[str, str], ports: dict[int, int]) -> JSON:
    """Return a value with resourceVersions by step, and allocated ports from 30000."""
    if isinstance(value, list):
        return [_renumbered(element, versions, ports) for element in value]
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        in_patch = name == "value" and value.get("path") == "/metadata/resourceVersion"
        if isinstance(member, str) and (name == "resourceVersion" or in_patch):
            result[name] = versions.get(member, member)
        elif name in {"nodePort", "healthCheckNodePort"} and isinstance(member, int):
            result[name] = ports.setdefault(member, 30000 + len(ports))
        else:
            result[name] = _renumbered(member, versions, ports)
    return result


def refusal(answer: Answer) -> JSONObject:
    """Return what is recorded of a request that was refused."""
    body = answer.body
    result: JSONObject = {
        "reason": body.get("reason"),
        "message": str(body.get("message")),
    }
    causes = [
        as_object(cause)
        for cause in as_list(as_object(body.get("details")).get("causes"))
    ]
    if causes:
        # A server makes those of several managers in the order of a Go map: in any.
        causes.sort(key=lambda cause: (str(cause["message"]), str(cause.get("field"))))
        result["causes"] = [*causes]
    return result


def shortened(refused: JSONObject) -> JSONObject:
    """Return a refusal with short messages: some print whole objects."""
    result: JSONObject = {}
    for name, value in refused.items():
        if name == "causes":
            result[name] = [shortened(as_object(cause)) for cause in as_list(value)]
        elif name == "message":
            text = _UID.sub("(uid)", str(value))
            text = _NOW.sub("(time)", text)
            whole = len(text) <= _LONGEST
            result[name] = text if whole else f"{text[:_KEPT]} ..."
        else:
            result[name] = value
    return result


def _kinds(shares: Mapping[str, int], count: int) -> list[str]:
    """Return the kinds of that many sequences, by their shares, evenly mixed."""
    turn = [kind for kind, share in shares.items() for _ in range(share)]
    # A step that shares no factor with the length visits all, in mixed order.
    step = next(s for s in range(37, 200) if len(turn) % s and s % 2)
    mixed = sorted(range(len(turn)), key=lambda at: (at * step) % len(turn))
    return [turn[mixed[at % len(turn)]] for at in range(count)]


def recorded(server: ApiServer, seed: int, count: int) -> list[JSONObject]:
    """Return the records of that many sequences."""
    _define(server, [crd()])
    kinds = _kinds(SHARES, count)
    return _written(
        [Sequence(server, seed, number, kinds[number]) for number in range(count)]
    )


def recorded_histories(server: ApiServer, seed: int, count: int) -> list[JSONObject]:
    """Return the records of that many histories."""
    _define(server, definitions())
    kinds = _kinds({kind: each.share for kind, each in subjects().items()}, count)
    return _written(
        [History(server, seed, number, kinds[number]) for number in range(count)]
    )


def _define(server: ApiServer, crds: list[JSONObject]) -> None:
    for each in crds:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        created = server.request("POST", path, each)
        assert created.code == httpx.codes.CREATED, created.body
        deadline = time.monotonic() + _PATIENCE
        group = str(as_object(each["spec"])["group"])
        while group not in str(server.request("GET", "/apis").body):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    # Its handlers follow its discovery.
    time.sleep(_PAUSE)


def _written(sequences: list[Sequence] | list[History]) -> list[JSONObject]:
    """Take all steps of the sequences, and return their records."""
    with ThreadPoolExecutor(4) as threads:
        number = 0
        while waiting := [sequence for sequence in sequences if not sequence.done]:
            number += 1
            print(f"step {number} of {len(waiting)} sequences", flush=True)  # noqa: T201
            for _ in threads.map(lambda each: each.step(), waiting):
                pass
            time.sleep(_PAUSE)
    return [sequence.record() for sequence in sequences]


def server_version(server: ApiServer) -> str:
    """Return the version of a server, which is built without one."""
    found: Any = server.request("GET", "/version").body
    return f"{found['major']}.{found['minor']}"


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=SEQUENCES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--server-version", default="v1.36.3")
    parser.add_argument("--to", type=Path, default=FILE)
    parser.add_argument("--histories", action="store_true")
    options = parser.parse_args()
    # A LimitRange that one history makes must not fill in the Pods of another one.
    with running(without=("LimitRanger",)) as server:
        heading: JSONObject = {
            "kube-apiserver": options.server_version,
            "seed": options.seed,
        }
        assert str(options.server_version).startswith(f"v{server_version(server)}.")
        record = recorded_histories if options.histories else recorded
        lines = record(server, options.seed, options.sequences)
    write(options.to, [heading, *lines])


if __name__ == "__main__":
    main()
