"""Record what a real kube-apiserver answers to the texts in tests/data/lint.

``python -m tests.record.lint`` sends each example of examples.yaml as a dry run with
strict field validation, and writes a line for each of them to answers.jsonl.
"""

from __future__ import annotations

import json
import re
import time
from typing import Final

import httpx

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.documents import read_one
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.paths import DATA

EXAMPLES: Final = DATA / "lint" / "examples.yaml"
ANSWERS: Final = DATA / "lint" / "answers.jsonl"
_PATIENCE: Final = 60.0  # seconds
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RESOURCES: Final = {
    ("apps/v1", "Deployment"): "/apis/apps/v1/namespaces/default/deployments",
    ("apps/v1beta1", "Deployment"): "/apis/apps/v1beta1/namespaces/default/deployments",
    ("example.com/v1", "Widget"): "/apis/example.com/v1/namespaces/default/widgets",
    ("v1", "ConfigMap"): "/api/v1/namespaces/default/configmaps",
    ("v1", "PersistentVolume"): "/api/v1/persistentvolumes",
    ("v1", "Pod"): "/api/v1/namespaces/default/pods",
    ("v1", "Secret"): "/api/v1/namespaces/default/secrets",
    ("v1", "Service"): "/api/v1/namespaces/default/services",
}
_MEDIA_TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_OPTIONS: Final = "dryRun=All&fieldValidation=Strict"
# The server has no answer for what panics in it: net/http closes the connection.
_CLOSED: Final = "the connection is closed: the handler panics"
_LONGEST: Final = 300
# A server quotes the whole patch or object.
_WHOLE: Final = re.compile(r'^"" is invalid: patch: Invalid value: "(?:[^"\\]|\\.)*": ')


def data() -> JSONObject:
    """Return the examples, and the objects that they are sent to."""
    return as_object(read_one(EXAMPLES.read_bytes()).value)


def objects() -> dict[str, JSONObject]:
    """Return the objects that patches are sent to, by their names."""
    found = [as_object(obj) for obj in as_list(data()["objects"])]
    return {as_text(as_object(obj["metadata"])["name"]): obj for obj in found}


def _collection(obj: JSONObject) -> str:
    return _RESOURCES[as_text(obj["apiVersion"]), as_text(obj["kind"])]


def _answer(server: ApiServer, example: JSONObject) -> Answer:
    if "text" in example:
        text = as_text(example["text"])
        # The values that come first say where it is to be created.
        lines = dict(line.split(": ", 1) for line in text.splitlines())
        path = _RESOURCES[lines["apiVersion"], lines["kind"]]
        response = httpx.post(
            f"{server.url}{path}?{_OPTIONS}",
            content=text,
            headers={**server.headers, "Content-Type": "application/yaml"},
            verify=False,  # noqa: S501  # its certificate is its own
            trust_env=False,
        )
        return Answer(response.status_code, response.json())
    if example["send"] == "create":
        obj = as_object(example["value"])
        return server.request("POST", f"{_collection(obj)}?{_OPTIONS}", obj)
    name = as_text(example["to"])
    path = f"{_collection(objects()[name])}/{name}?{_OPTIONS}"
    media_type = _MEDIA_TYPES[as_text(example["send"])]
    try:
        return server.request("PATCH", path, example["value"], media_type)
    except httpx.RemoteProtocolError:
        return Answer(0, {"message": _CLOSED})


def _record(server: ApiServer) -> None:
    created = server.request("POST", _DEFINITIONS, data()["definition"])
    assert created.code == 201, created.body
    for obj in objects().values():
        deadline = time.monotonic() + _PATIENCE
        # A definition is served a moment later.
        while server.request("POST", _collection(obj), obj).code != 201:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    lines: list[JSON] = [{"kube-apiserver": version()}]
    for example in [as_object(example) for example in as_list(data()["examples"])]:
        answer = _answer(server, example)
        line: JSONObject = {"codes": example["codes"], "code": answer.code}
        if answer.code not in (200, 201):
            message = _WHOLE.sub("", as_text(answer.body.get("message")).strip())
            line["message"] = message.strip()[:_LONGEST]
        lines.append(line)
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    ANSWERS.write_text(text)


if __name__ == "__main__":
    with running() as the_server:
        _record(the_server)
