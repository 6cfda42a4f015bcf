"""Record what a kube-apiserver answers to kubectl apply in the situations of users.

It is run by hand, from the root of the repository, with a kube-apiserver
(tests.support.apiserver):

    python -m tests.record.situations [--check] spec_cases/causes/*.yaml

Of each case the object is created: from ``last_applied``, as ``kubectl apply`` does, or
by the first write of ``history``. The writes of ``history`` are sent, and what is
stored then becomes ``live``. The real kubectl applies ``modified`` through a proxy, and
what it sent and what the server answered become ``kubectl_patch`` and ``client_side``.
All is done once more with ``kubectl apply --server-side``, for ``server_side``. With
``--check`` the outcomes are compared with the files.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote

from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text, same
from smp.cases import SpecCase, find_changes_of, parse, updated_text, word_refusal
from smp.documents import dump_json
from smp.schema.resource_names import guess
from tests.record.applies import RecordingProxy, kubectl, recording
from tests.record.step_cases import MEDIA_TYPES
from tests.support.apiserver import Answer, ApiServer, running
from tests.support.kubectl import without_last_applied

_NAMESPACE: Final = "default"
_CLIENT_SIDE: Final = "kubectl-client-side-apply"
_ADDRESS: Final = "10.0.0.10"
_TIME: Final = "2026-01-01T00:00:00Z"
_VOLATILE: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "namespace",
)


class Situations:
    """Runs cases on a server."""

    def __init__(self, server: ApiServer, proxy: RecordingProxy, home: Path) -> None:
        self._server = server
        self._proxy = proxy
        self._home = home

    def recorded(self, case: SpecCase) -> JSONObject:
        """Return the members of a case that state what the server does."""
        modified = case.object("modified")
        api_version = as_text(modified["apiVersion"])
        name = as_text(as_object(modified["metadata"])["name"])
        resource = guess(api_version, as_text(modified["kind"]))
        api = "apis" if "/" in api_version else "api"
        collection = f"/{api}/{api_version}/namespaces/{_NAMESPACE}/{resource.plural}"
        path = f"{collection}/{name}"

        live = self._prepared(case, collection, path)
        members: JSONObject = {"live": _stable(live)}
        sent, answer, failure = self._applied(modified, path)
        if failure:
            raise ValueError(f"{case.description}: {failure}")
        members["kubectl_patch"] = _without_annotation(as_object(sent))
        members["client_side"] = self._outcome(live, answer, path)
        self._remove(path)

        live = self._prepared(case, collection, path)
        _, answer, _ = self._applied(modified, path, "--server-side")
        members["server_side"] = self._outcome(live, answer, path)
        self._remove(path)
        return members

    def _prepared(self, case: SpecCase, collection: str, path: str) -> JSONObject:
        """Create the object of a case, and let other actors change it."""
        self._remove(path)
        applied = case.document.get("last_applied")
        writes = [as_object(write) for write in as_list(case.document.get("history"))]
        if isinstance(applied, dict):
            content = with_last_applied(applied)
            writes.insert(0, {"manager": _CLIENT_SIDE, "update": content})
        created, *others = writes
        query = f"?fieldManager={quote(as_text(created['manager']))}"
        if "apply" in created:
            answer = self._server.request(
                "PATCH", path + query, created["apply"], MEDIA_TYPES["apply"]
            )
        else:
            answer = self._server.request("POST", collection + query, created["update"])
        _require_success(case, answer)
        for write in others:
            _require_success(case, self._written(path, write))
        return self._server.request("GET", path).body

    def _written(self, path: str, write: JSONObject) -> Answer:
        query = f"?fieldManager={quote(as_text(write['manager']))}"
        if "scale" in write:
            scale = self._server.request("GET", f"{path}/scale").body
            body = {**scale, "spec": {"replicas": write["scale"]}}
            return self._server.request("PUT", f"{path}/scale{query}", body)
        if "subresource" in write:
            path += f"/{write['subresource']}"
        (operation,) = MEDIA_TYPES.keys() & write.keys()
        return self._server.request(
            "PATCH", path + query, write[operation], MEDIA_TYPES[operation]
        )

    def _applied(
        self, modified: JSONObject, path: str, *flags: str
    ) -> tuple[JSON, Answer | None, str]:
        """Run kubectl: the first patch that it sent, its answer, and its failure."""
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "manifest.json"
            file.write_text(json.dumps(modified, ensure_ascii=False))
            done = kubectl(
                self._home,
                "apply",
                "-f",
                str(file),
                "-n",
                _NAMESPACE,
                "--server",
                self._proxy.url,
                *flags,
            )
        patches = self._proxy.patches.pop(path, [])
        if patches:
            sent, answer = patches[0]
            return sent, answer, ""
        return {}, None, done.stderr.strip() if done.returncode else ""

    def _outcome(
        self, live: JSONObject, answer: Answer | None, path: str
    ) -> JSONObject:
        if answer is not None and answer.code >= HTTPStatus.BAD_REQUEST:
            # Cases name no namespace.
            text = json.dumps(answer.body).replace(f"({_NAMESPACE}/", "(/")
            return word_refusal(json.loads(text), answer.code)
        now = self._server.request("GET", path).body
        return find_changes_of(_stable(live), _stable(now))

    def _remove(self, path: str) -> None:
        self._server.request(
            "PATCH",
            path,
            {"metadata": {"finalizers": None}},
            "application/merge-patch+json",
        )
        self._server.request("DELETE", f"{path}?gracePeriodSeconds=0")


def _require_success(case: SpecCase, answer: Answer) -> None:
    if answer.code >= HTTPStatus.BAD_REQUEST:
        raise ValueError(f"{case.description}: {answer.body}")


def _stable(obj: JSONObject) -> JSONObject:
    """Return an object without what differs from run to run."""
    metadata = {
        name: value
        for name, value in as_object(obj["metadata"]).items()
        if name not in _VOLATILE
    }
    text = json.dumps(without_last_applied({**obj, "metadata": metadata}))
    text = re.sub(r'"time": "[^"]*"', f'"time": "{_TIME}"', text)
    address = as_object(obj.get("spec")).get("clusterIP")
    if isinstance(address, str) and address not in ("", "None"):
        text = text.replace(f'"{address}"', f'"{_ADDRESS}"')
    text = re.sub(r'"nodePort": \d+', '"nodePort": 30000', text)
    stable: JSONObject = json.loads(text)
    return stable


def _without_annotation(patch: JSONObject) -> JSONObject:
    metadata = {**as_object(patch.get("metadata"))}
    annotations = {**as_object(metadata.get("annotations"))}
    annotations.pop(LAST_APPLIED, None)
    # kubectl writes the annotation, so that each of its patches has annotations.
    if annotations:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    rest = {name: value for name, value in patch.items() if name != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest


def record(situations: Situations, file: Path, *, check: bool) -> list[str]:
    """Rewrite the outcomes in a file, and return a line for each that changes."""
    text = file.read_text(encoding="utf-8")
    changes: dict[int, JSONObject] = {}
    lines: list[str] = []
    for case in parse(text, source=str(file)):
        members = {
            name: value
            for name, value in situations.recorded(case).items()
            if not same(value, case.document.get(name))
        }
        changes[case.index] = members
        for name, value in members.items():
            lines.append(f"{file}:{case.line}: {name}: {dump_json(value)}")
    if not check:
        file.write_text(updated_text(text, changes, source=str(file)), encoding="utf-8")
    return lines


def main() -> int:
    """Record, or check; return 1 if the check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    found = False
    with (
        running() as server,
        recording(server) as proxy,
        tempfile.TemporaryDirectory() as home,
    ):
        situations = Situations(server, proxy, Path(home))
        for file in options.files:
            for line in record(situations, file, check=options.check):
                found = True
                print(line, flush=True)  # noqa: T201
    return int(found and options.check)


if __name__ == "__main__":
    sys.exit(main())
