"""One situation of an apply, played on an API server by kubectl or by a Cluster."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from smp.testing import KubernetesApi, Request
from smp.values import JSON, JSONObject, as_object
from tests.support.cluster_situations import Situation
from tests.support.kubectl import kubectl_path
from tests.support.paths import DATA

RECORDED: Final = DATA / "cluster" / "kubectl.json.xz"
_WRITES: Final = {"POST", "PUT", "PATCH", "DELETE"}
# What differs between two servers.
_OF_THE_SERVER: Final = {"uid", "resourceVersion", "creationTimestamp", "time"}
_KINDS: Final = (
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/apis/apps/v1/deployments",
    "/apis/example.com/v1/widgets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
)


class Outcome(msgspec.Struct, frozen=True):
    """What one apply sent, what it said of each object, and whether it failed."""

    sent: list[Any]
    lines: list[str]
    failed: bool


class Played(msgspec.Struct, frozen=True):
    """The outcomes of the applies of a situation, and the objects at its end."""

    outcomes: list[Outcome]
    objects: list[dict[str, Any]]


class Recording(msgspec.Struct, frozen=True):
    """What a version of kubectl did, by the name of the situation."""

    kubectl: str
    played: dict[str, Played]


def recorded() -> Recording:
    """Return what tests/record/cluster_applies.py recorded."""
    data = lzma.decompress(RECORDED.read_bytes())
    return msgspec.json.decode(data, type=Recording)


# Applies the manifests of a step, and returns what was said, and whether it failed.
Apply = Callable[[dict[str, Any]], tuple[list[str], bool]]


def played(situation: Situation, api: KubernetesApi, apply: Apply) -> Played:
    """Play a situation on a server, which has its former objects again at the end."""
    web: httpx.Client = api.client("httpx")
    outcomes = []
    with api.unchanged():
        for step in situation.steps:
            if "apply" not in step:
                _change(web, step)
                continue
            api.clear_requests()
            lines, failed = apply(step)
            writes = [each for each in api.requests if each.method in _WRITES]
            sent = [_essence(request) for request in writes]
            outcomes.append(Outcome(sent, sorted(lines), failed))
        return Played(outcomes, _objects(web))


def _change(web: httpx.Client, step: dict[str, Any]) -> None:
    """Change an object as another client does."""
    method = "patch" if "patch" in step else "post"
    kind = "strategic-merge-patch+json" if method == "patch" else "json"
    answer = web.request(
        method,
        step[method]["path"],
        params={"fieldManager": "others"},
        content=json.dumps(step[method]["body"]),
        headers={"Content-Type": f"application/{kind}"},
    )
    answer.raise_for_status()


def _essence(request: Request) -> JSON:
    return [
        request.method,
        request.path,
        {**request.query},
        request.headers.get("content-type", ""),
        _comparable(request.body),
    ]


def _objects(web: httpx.Client) -> list[JSONObject]:
    return [
        as_object(_comparable(item))
        for path in _KINDS
        for item in web.get(path).json().get("items", [])
    ]


def _comparable(value: JSON) -> JSON:
    """Leave out what differs between two servers."""
    if isinstance(value, dict):
        return {
            name: _comparable(member)
            for name, member in value.items()
            if name not in _OF_THE_SERVER
        }
    if isinstance(value, list):
        elements = [
            _comparable(element)
            for element in value
            if as_object(element).get("path") != "/metadata/resourceVersion"
        ]
        # The entries of managedFields are in the order of their times.
        if any("fieldsV1" in as_object(element) for element in elements):
            elements.sort(key=repr)
        return elements
    return value


def kubectl_apply(api: KubernetesApi, folder: Path) -> Apply:
    """Return what applies with the real kubectl, whose files are in a folder."""

    def apply(step: dict[str, Any]) -> tuple[list[str], bool]:
        files = []
        for number, manifest in enumerate(step["apply"]):
            path = folder / f"{number}.json"
            path.write_text(json.dumps(manifest), encoding="utf-8")
            files += ["-f", str(path)]
        done = subprocess.run(
            [
                str(kubectl_path()),
                f"--kubeconfig={api.kubeconfig}",
                f"--cache-dir={folder}/cache",
                "apply",
                *files,
                *step.get("flags", []),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "HOME": str(folder), "KUBECTL_APPLYSET": "true"},
        )
        printed = done.stdout.replace(" (server dry run)", "").replace(" (dry run)", "")
        return printed.splitlines(), done.returncode != 0

    return apply
