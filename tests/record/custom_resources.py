"""Record applies of custom resources on a real kube-apiserver, and the real kubectl.

``python -m tests.record.custom_resources`` writes tests/data/custom_resources/ again;
``--seed S``, ``--triples N`` and ``--to FILE`` record other ones elsewhere. Each line
is an apply:

``kind``, ``last_applied``, ``modified``, ``live``
    the shape (tests/support/makers/custom_resources.py) and the three objects
``patch``, ``media_type``, ``guard``
    what ``smp.three_way_apply`` made of them, and what was sent
``answer``, ``stored``
    the code of the answer, and the object in it
``refused``
    the code of the answer to the same patch after a concurrent change of what it
    guards, on a second object; absent where nothing is guarded
``kept``
    whether a concurrent change of another member was still there afterwards; absent
    where the resourceVersion is guarded
``kubectl``
    the patch that the real kubectl apply sends for the same objects, without the
    annotation; null where it sends none
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import smp
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.schema.catalog import Catalog
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.kubectl import capture_apply, without_last_applied
from tests.support.makers.custom_resources import (
    GROUP,
    SHAPES,
    Triple,
    definition,
    triple,
)
from tests.support.paths import DATA

FILE: Final = DATA / "custom_resources" / "applies.jsonl.xz"
SEED: Final = 1
TRIPLES: Final = 390
_MERGE: Final = "application/merge-patch+json"
_JSON: Final = "application/json-patch+json"
_NOISE: Final = ("managedFields", "uid", "creationTimestamp", "generation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--triples", type=int, default=TRIPLES)
    parser.add_argument("--to", type=Path, default=FILE)
    options = parser.parse_args()
    with running() as server:
        definitions = [definition(kind) for kind in SHAPES]
        for crd in definitions:
            answer = server.request(
                "POST",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                crd,
            )
            assert answer.code == 201, answer.body
        for crd in definitions:
            _wait_for(server, crd)
        catalog = Catalog.from_crd([*definitions])

        def record(number: int) -> JSONObject:
            made = triple(options.seed, number)
            return _recorded(server, catalog, made)

        with ThreadPoolExecutor(2) as pool:
            rows = [*pool.map(record, range(options.triples))]
    header: JSONObject = {"server": version(), "seed": options.seed}
    lines = [json.dumps(row, separators=(",", ":")) for row in [header, *rows]]
    options.to.parent.mkdir(exist_ok=True)
    options.to.write_bytes(lzma.compress("\n".join(lines).encode()))


def _collection(kind: str) -> str:
    return f"/apis/{GROUP}/v1/namespaces/default/{kind.lower()}s"


def _wait_for(server: ApiServer, crd: JSONObject) -> None:
    """Wait until the kind of a definition is served."""
    name = as_object(crd["metadata"])["name"]
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    deadline = time.monotonic() + 30
    while True:
        status = as_object(server.request("GET", path).body.get("status"))
        for condition in as_list(status.get("conditions")):
            members = as_object(condition)
            if (members["type"], members["status"]) == ("Established", "True"):
                return
        assert time.monotonic() < deadline, status
        time.sleep(0.1)


def _recorded(server: ApiServer, catalog: Catalog, made: Triple) -> JSONObject:
    """Apply a triple on a server, and once more after a concurrent change."""
    live = _created(server, made, "")
    schema = catalog.schema_of(made.modified)
    result = smp.three_way_apply(made.last_applied, made.modified, live, schema)
    answer = _patched(server, live, result)
    row: JSONObject = {
        "kind": made.kind,
        "last_applied": made.last_applied,
        "modified": made.modified,
        "live": live,
        "patch": result.patch,
        "media_type": result.media_type,
        "guard": result.guard,
        "answer": answer.code,
        "stored": _without_noise(answer.body),
    }
    sent = capture_apply(made.last_applied, made.modified, live)
    row["kubectl"] = None if sent is None else without_last_applied(sent)

    again = _created(server, made, "-again")
    modified = _renamed(made.modified, "-again")
    last_applied = _renamed(made.last_applied, "-again")
    result = smp.three_way_apply(last_applied, modified, again, schema)
    if result.guard == "test":
        tested = _changed_value(as_list(result.patch))
        if tested is not None:
            path = f"{_collection(made.kind)}/{as_object(again['metadata'])['name']}"
            changed = server.request("PATCH", path, [tested], _JSON)
            # What is tested may be what the schema does not let be otherwise.
            if changed.code == 200:
                row["refused"] = _patched(server, again, result).code
                return row
    _annotate(server, made.kind, again)
    answer = _patched(server, again, result)
    if result.guard == "resourceVersion":
        row["refused"] = answer.code
    else:
        metadata = as_object(answer.body["metadata"])
        row["kept"] = as_object(metadata.get("annotations")).get("other") == "1"
    return row


def _renamed(obj: JSONObject, suffix: str) -> JSONObject:
    metadata = as_object(obj["metadata"])
    return {**obj, "metadata": {**metadata, "name": f"{metadata['name']}{suffix}"}}


def _created(server: ApiServer, made: Triple, suffix: str) -> JSONObject:
    """Create the object as others have made it; return it as it is read."""
    obj = _renamed(made.changed, suffix)
    answer = server.request("POST", _collection(made.kind), obj)
    assert answer.code == 201, (obj, answer.body)
    return _without_noise(answer.body)


def _without_noise(obj: JSONObject) -> JSONObject:
    metadata = as_object(obj.get("metadata"))
    kept = {name: value for name, value in metadata.items() if name not in _NOISE}
    return {**obj, "metadata": kept}


def _patched(server: ApiServer, live: JSONObject, result: smp.ApplyResult) -> Answer:
    path = f"{_collection(as_text(live['kind']))}/{as_object(live['metadata'])['name']}"
    return server.request(
        "PATCH", f"{path}?fieldValidation=Strict", result.patch, result.media_type
    )


def _annotate(server: ApiServer, kind: str, live: JSONObject) -> None:
    path = f"{_collection(kind)}/{as_object(live['metadata'])['name']}"
    body: JSON = {"metadata": {"annotations": {"other": "1"}}}
    assert server.request("PATCH", path, body, _MERGE).code == 200


def _changed_value(patch: list[JSON]) -> JSONObject | None:
    """Return an operation that changes the first value that a patch tests."""
    test = as_object(patch[0])
    value = test["value"]
    if isinstance(value, list) and value:
        return {"op": "replace", "path": test["path"], "value": value[1:]}
    if isinstance(value, dict) and value:
        # apiVersion and kind of an embedded resource are required.
        name = max(value)
        kept = {key: inner for key, inner in value.items() if key != name}
        return {"op": "replace", "path": test["path"], "value": kept}
    # An empty one is gone.
    return {"op": "remove", "path": test["path"]}


if __name__ == "__main__":
    main()
