"""Record what a real kube-apiserver answers to the requests of field managers.

``SMP_KUBE_APISERVER=build python -m tests.record.server_side_apply`` sends the requests
of tests/data/apiserver/server_side_apply.yaml, and writes server_side_apply.jsonl.xz
beside it: a scenario a line, with the name and the answers.
"""

from __future__ import annotations

import time
from typing import Any, Final

import httpx

from smp._values.values import JSONObject
from tests.record.applies import write
from tests.support.apiserver import running, version
from tests.support.field_manager_requests import (
    RECORDED,
    Answer,
    definitions,
    played,
    scenarios,
)

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE: Final = 100


def record() -> None:
    """Write the answers again."""
    lines: list[JSONObject] = [{"kube-apiserver": version()}]
    with running() as server:
        lines += recorded(server.client)
    write(RECORDED, lines)


def recorded(client: httpx.Client) -> list[JSONObject]:
    """Return what a server answers to all scenarios."""

    def send(
        method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        answer = client.request(method, path, content=body, headers=headers)
        return Answer(
            answer.status_code, answer.json(), answer.headers.get_list("warning")
        )

    for definition in definitions():
        define(client, definition)
    lines: list[JSONObject] = []
    for number, scenario in enumerate(scenarios()):
        namespace = f"ssa-{number}"
        client.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
        answers = [*played(scenario, namespace, send)]
        lines.append({"name": scenario.name, "answers": [*answers]})
    return lines


def define(client: httpx.Client, definition: dict[str, Any]) -> None:
    """Create a CustomResourceDefinition, and wait until its objects are served."""
    client.post(_DEFINITIONS, json=definition)
    spec = definition["spec"]
    for served in spec["versions"]:
        path = f"/apis/{spec['group']}/{served['name']}/{spec['names']['plural']}"
        for _ in range(_PATIENCE):
            if client.get(path).is_success:
                break
            time.sleep(0.1)
        else:
            raise TimeoutError(path)


if __name__ == "__main__":
    record()
