"""Record what a real kube-apiserver stores of opaque JSON in its built-in kinds.

``SMP_KUBE_APISERVER=build python -m tests.record.opaque`` creates the objects of
tests/data/apiserver/opaque.yaml and sends each a strategic merge patch for every value
there, with strict field validation. It writes opaque.jsonl beside it: the version of
the server, and for each patch a line with the live object, the patch, the HTTP status
and the object that was answered.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from smp._values.values import JSON, JSONObject
from tests.support.apiserver import running, version
from tests.support.paths import DATA

CASES: Final = DATA / "apiserver" / "opaque.yaml"
ANSWERS: Final = CASES.with_suffix(".jsonl")
_PLACEHOLDER: Final = "VALUE"
_QUERY: Final = "?dryRun=All&fieldValidation=Strict"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
# What differs from one run to the next.
_VARIABLE: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
_OK: Final = 200


def record() -> None:
    """Write the answers again."""
    cases = yaml.safe_load(CASES.read_text())
    lines: list[Any] = [{"kube-apiserver": version().removeprefix("v")}]
    with running() as server:
        for kind in cases["kinds"]:
            obj = kind["object"]
            collection = kind["collection"]
            created = server.request("POST", collection, obj)
            assert created.code == 201, created
            live = without_variable(created.body)
            path = f"{collection}/{obj['metadata']['name']}{_QUERY}"
            for patch in kind["patches"]:
                for value in cases["values"]:
                    sent = _with_value(patch, value)
                    answer = server.request("PATCH", path, sent, _STRATEGIC)
                    line = {"live": live, "patch": sent, "code": answer.code}
                    if answer.code == _OK:
                        line["stored"] = without_variable(answer.body)
                    lines.append(line)
    ANSWERS.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def read() -> tuple[str, list[dict[str, Any]]]:
    """Return the version of the server, and the patches with their answers."""
    heading, *lines = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    return heading["kube-apiserver"], lines


def without_variable(obj: JSONObject) -> JSONObject:
    """Return an object without what differs from one run to the next."""
    metadata: Any = obj["metadata"]
    kept = {name: metadata[name] for name in metadata if name not in _VARIABLE}
    return {**obj, "metadata": kept}


def _with_value(patch: JSON, value: JSON) -> JSON:
    """Return a patch with a value in place of the placeholder."""
    if patch == _PLACEHOLDER:
        return value
    if isinstance(patch, dict):
        return {name: _with_value(member, value) for name, member in patch.items()}
    if isinstance(patch, list):
        return [_with_value(element, value) for element in patch]
    return patch


if __name__ == "__main__":
    record()
