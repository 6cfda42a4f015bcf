"""Record what a kube-apiserver refuses because of what an object was before.

``SMP_KUBE_APISERVER=build python -m tests.record.immutable_updates`` creates the
objects of tests/data/apiserver/immutable.yaml, and those of
tests.support.mutated_objects. Each gets as a dry run its merge patches of the file,
updates that tests.support.random_updates draws, and some with zero values. What is
refused is also created as another object: a cause that the creation does not have
compares the new object with the old one. It writes immutable.jsonl.xz beside the file:
the version of the server, and a line for each object, with what is live, and of each
update ``[patch, code, causes]``, the causes that compare, as ``[reason, field,
message]``.

``--each N`` and ``--to FILE`` record another number of updates elsewhere.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from smp import merge_patch
from smp._storage.semantic_equality import read_at
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object, same
from tests.record.opaque import without_variable
from tests.record.refusals import delete, outcome
from tests.support.apiserver import ApiServer, running, version
from tests.support.defaulted_manifests import resource_path
from tests.support.mutated_objects import bases
from tests.support.paths import DATA
from tests.support.random_updates import UpdateMaker, emptied

CASES: Final = DATA / "apiserver" / "immutable.yaml"
FILE: Final = CASES.with_suffix(".jsonl.xz")
# Updates that are drawn for each object.
EACH: Final = 3
# Fields of each object that get a zero value.
EMPTIED: Final = 20
_MERGE: Final = "application/merge-patch+json"
_COMPARING: Final = ("FieldValueInvalid", "FieldValueForbidden")
_CREATED: Final = 201
_ATTEMPTS: Final = 50
_OF_THE_SERVER: Final = ("clusterIP", "clusterIPs", "healthCheckNodePort")


def recorded(server: ApiServer, each: int) -> Iterator[JSONObject]:
    """Yield the lines of the recording."""
    yield {"kube-apiserver": version().removeprefix("v")}
    cases: list[Any] = yaml.safe_load(CASES.read_text())
    cases += [{"object": base, "patches": []} for base in bases()]
    maker = UpdateMaker([case["object"] for case in cases], "updates")
    for number, case in enumerate(cases):
        name = case["object"]["metadata"]["name"].replace("x", f"x{number}", 1)
        metadata = {**case["object"]["metadata"], "name": name}
        obj = {**case["object"], "metadata": metadata}
        collection = resource_path(obj)
        created = server.request("POST", collection, obj)
        if created.code != _CREATED:
            # Kinds whose objects have one name only.
            created = server.request("POST", collection, case["object"])
            name = case["object"]["metadata"]["name"]
        assert created.code == _CREATED, created
        if "status" in case:
            status: JSON = {"status": case["status"]}
            path = f"{collection}/{name}/status"
            server.request("PATCH", path, status, _MERGE)
        live = _read_live(server, f"{collection}/{name}")
        drawn = [merge_patch.diff(live, maker.update(live)) for _ in range(each)]
        zeros = emptied(live)
        some = Random(number).sample(zeros, min(EMPTIED, len(zeros)))
        drawn += [merge_patch.diff(live, new) for new in some]
        updates: JSONArray = [
            [patch, *_answer(server, f"{collection}/{name}", live, patch)]
            for patch in (*case["patches"], *drawn)
        ]
        delete(server, f"{collection}/{name}")
        yield {"live": live, "updates": updates}


def _answer(
    server: ApiServer, path: str, live: JSONObject, patch: JSON
) -> tuple[int, JSONArray]:
    """Return the code of an update, and the causes that compare with what is live."""
    answer = server.request("PATCH", f"{path}?dryRun=All", patch, _MERGE)
    _, *causes = outcome(answer)
    if not causes:
        return answer.code, []
    new = as_object(merge_patch.apply(live, patch))
    metadata = {**as_object(new.get("metadata")), "name": "another"}
    if new["kind"] == "Service":
        new = {**new, "spec": _drop_allocated(live, new)}
    collection = path.rpartition("/")[0]
    created = server.request(
        "POST", f"{collection}?dryRun=All", {**new, "metadata": metadata}
    )
    of_creation = outcome(created)[1:]
    known = [as_list(cause)[:2] for cause in as_list([*of_creation, []][0])]
    comparing: JSONArray = []
    for listed in as_list(causes[0]):
        cause = as_list(listed)
        # A creation may be refused before its values are looked at.
        if cause[0] in _COMPARING and cause[1] != "patch" and cause[:2] not in known:
            comparing.append(cause)
    return answer.code, comparing


def _drop_allocated(live: JSONObject, new: JSONObject) -> JSONObject:
    """Return the spec of a Service without what another one cannot have as well."""
    was, spec = as_object(live["spec"]), {**as_object(new["spec"])}
    for name in _OF_THE_SERVER:
        if same(spec.get(name), was.get(name)):
            spec.pop(name, None)
    used = [as_object(port).get("nodePort") for port in as_list(was.get("ports"))]
    ports: JSONArray = []
    for listed in as_list(spec.pop("ports", None)):
        port = as_object(listed)
        ports.append(
            {**port, "nodePort": None} if port.get("nodePort") in used else port
        )
    return {**spec, "ports": ports}


def _read_live(server: ApiServer, path: str) -> JSONObject:
    """Return an object without what differs, a definition when it is established."""
    for _ in range(_ATTEMPTS):
        obj = server.request("GET", path).body
        is_definition = obj["kind"] == "CustomResourceDefinition"
        established = read_at(obj, ("status", "conditions", "Established", "status"))
        if not is_definition or established == "True":
            break
        time.sleep(0.1)
    return without_variable(obj)


def read() -> tuple[str, list[dict[str, Any]]]:
    """Return the version of the server, and the lines of the objects."""
    heading, *lines = map(json.loads, lzma.decompress(FILE.read_bytes()).splitlines())
    return heading["kube-apiserver"], lines


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=EACH)
    parser.add_argument("--to", type=Path, default=FILE)
    arguments = parser.parse_args()
    with running() as server:
        lines = [*recorded(server, arguments.each)]
    text = "".join([json.dumps(line, separators=(",", ":")) + "\n" for line in lines])
    arguments.to.write_bytes(
        lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    )


if __name__ == "__main__":
    main()
