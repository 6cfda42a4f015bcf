"""Record how a real kube-apiserver converts HorizontalPodAutoscalers.

``SMP_KUBE_APISERVER=build python -m tests.record.autoscalers`` creates those of
tests/data/apiserver/autoscalers.yaml and writes autoscalers.jsonl beside it: each as
the server has it in autoscaling/v1 and in autoscaling/v2.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from tests.support.apiserver import running
from tests.support.paths import DATA

OBJECTS: Final = DATA / "apiserver" / "autoscalers.yaml"
ANSWERS: Final = OBJECTS.with_suffix(".jsonl")
_KIND: Final = "HorizontalPodAutoscaler"
# What differs from one run to the next.
_VARIABLE: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def record() -> None:
    """Write the answers again."""
    lines = []
    with running() as server:
        for index, case in enumerate(yaml.safe_load(OBJECTS.read_text())):
            name = f"a{index}"
            obj = {
                **case,
                "kind": _KIND,
                "metadata": {**case.get("metadata", {}), "name": name},
            }
            collection = (
                f"/apis/{case['apiVersion']}/namespaces/default/"
                "horizontalpodautoscalers"
            )
            created = server.request("POST", collection, obj)
            assert created.code == 201, created
            if "status" in case:
                path = f"{collection}/{name}/status"
                changed = {**created.body, "status": case["status"]}
                answer = server.request("PUT", path, changed)
                assert answer.code == 200, answer
            lines.append(json.dumps([_read(server, name, v) for v in ("v1", "v2")]))
    ANSWERS.write_text("".join(f"{line}\n" for line in lines))


def _read(server: Any, name: str, version: str) -> Any:
    path = f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
    obj = server.request("GET", f"{path}/{name}").body
    for member in _VARIABLE:
        obj["metadata"].pop(member, None)
    return obj


if __name__ == "__main__":
    record()
