"""The real Helm 4 on this machine, and the story of a chart that it cannot upgrade.

Helm is built from the Go module in tests/helm; the environment variable ``SMP_HELM`` is
that of tests.support.built.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import httpx
import pytest

from smp._values.values import JSON, JSONObject, as_object
from tests.support.built import GoProgram
from tests.support.cluster_proxy import Exchange, RecordingProxy, as_json
from tests.support.cluster_sides import comparable, kubeconfig
from tests.support.command import run
from tests.support.paths import DATA, ROOT

CHART: Final = DATA / "cluster" / "chart"
FILE: Final = DATA / "cluster" / "helm.jsonl.xz"
WEB: Final = "/apis/apps/v1/namespaces/default/deployments/web"
_PROGRAM: Final = GoProgram(
    ROOT / "tests" / "helm", "helm.sh/helm/v4", "cmd/helm", "SMP_HELM"
)
_RECREATE: Final = ("--set", "strategy.type=Recreate")

needs_helm: Final = pytest.mark.skipif(
    _PROGRAM.binary() is None, reason="no Helm 4 was built (SMP_HELM=build)"
)


class Step(NamedTuple):
    """A step of the story: the arguments of helm, or who else writes, and its name."""

    name: str
    does: tuple[str, ...]
    by: str = "helm"


_UPGRADE: Final = ("upgrade", "web", str(CHART), "--reset-values")
# What Helm's users meet: the strategy that a chart changes, and a field that another
# manager has. "web" is the release.
STORY: Final = (
    Step("install", ("install", "web", str(CHART), "--set", "replicas=2")),
    Step("a strategy is refused", (*_UPGRADE, *_RECREATE)),
    Step("the first request", ("1",), "requests"),
    Step("accepted after the first request", (*_UPGRADE, *_RECREATE)),
    Step("back to the default", _UPGRADE),
    Step("refused again", (*_UPGRADE, *_RECREATE)),
    Step("both requests", ("2",), "requests"),
    Step("accepted after both requests", (*_UPGRADE, *_RECREATE)),
    Step("rolled back", ("rollback", "web", "1")),
    Step("refused a third time", (*_UPGRADE, *_RECREATE)),
    Step("smp cluster apply", (), "smp"),
    Step("accepted after smp cluster apply", (*_UPGRADE, *_RECREATE)),
    Step("replicas", (*_UPGRADE, "--set", "replicas=2")),
    Step("another scales", ("5",), "scale"),
    Step("a conflict", (*_UPGRADE, "--set", "replicas=3")),
    Step("given up", _UPGRADE),
)


class Played(NamedTuple):
    """What a step did: its exit code, what was printed, the writes of the Deployment
    with the answers to those that were refused, and the Deployment after it.
    """

    name: str
    exit: int
    printed: str
    writes: list[JSONObject]
    stored: JSON


# What carries out a step: its exit code, and what was printed.
Helm: TypeAlias = Callable[[Step, Path], tuple[int, str]]
Act: TypeAlias = Callable[[httpx.Client, Step, Path], tuple[int, str]]


def helm_version() -> str:
    """Return the version of Helm that the Go module pins."""
    return _PROGRAM.version()


def helm_path() -> str:
    """Return the path of helm, where it was built."""
    return str(_PROGRAM.binary())


def played(proxy: RecordingProxy, helm: Helm) -> Iterator[Played]:
    """Play the story on the server of a proxy, and yield what each step did."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "kubeconfig").write_text(json.dumps(kubeconfig(proxy.url)))
        with httpx.Client(base_url=proxy.url, trust_env=False, timeout=60) as client:
            acting: dict[str, Helm] = {"helm": helm}
            for by, act in _ACTS.items():
                acting[by] = partial(act, client)
            for step in STORY:
                proxy.taken()
                code, printed = acting[step.by](step, home)
                writes = [_write(each) for each in proxy.taken() if _is_of_web(each)]
                stored = comparable(proxy.client.get(WEB).json())
                yield Played(step.name, code, printed, writes, stored)


def real_helm(proxy: RecordingProxy) -> Helm:
    """Return what runs helm on the server of a proxy."""

    def helm(step: Step, home: Path) -> tuple[int, str]:
        done = subprocess.run(
            [helm_path(), *step.does],
            env={
                "HOME": str(home),
                "PATH": os.defpath,
                "KUBECONFIG": os.devnull,
                "HELM_KUBEAPISERVER": proxy.url,
                "HELM_NAMESPACE": "default",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        # Without the time of the release, and what is logged with one.
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        starts = ("STATUS", "Error", "Rollback")
        kept = [line for line in lines if line.startswith(starts)]
        return done.returncode, "\n".join(kept)

    return helm


def recorded_helm(proxy: RecordingProxy, recorded: list[dict[str, Any]]) -> Helm:
    """Return what sends the requests that helm sent when the story was recorded."""
    lines = {line["name"]: line for line in recorded}

    def helm(step: Step, _home: Path) -> tuple[int, str]:
        line = lines[step.name]
        with httpx.Client(base_url=proxy.url, trust_env=False) as client:
            for write in line["writes"]:
                _sent(client, write)
        return line["exit"], line["printed"]

    return helm


def _sent(client: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    """Send a request as smp prints it."""
    return client.request(
        request["method"],
        request["path"],
        params=request["query"],
        headers={"Content-Type": request["mediaType"]},
        content=json.dumps(request["body"]),
    )


def _scaled(client: httpx.Client, step: Step, _home: Path) -> tuple[int, str]:
    """Scale as kubectl does it."""
    body: JSON = {"spec": {"replicas": int(step.does[0])}}
    request = {
        "method": "PATCH",
        "path": f"{WEB}/scale",
        "query": {"fieldManager": "kubectl"},
        "mediaType": "application/merge-patch+json",
        "body": body,
    }
    return int(_sent(client, request).is_error), ""


def _requested(client: httpx.Client, step: Step, home: Path) -> tuple[int, str]:
    """Send the first of the requests that smp prints."""
    live = home / "live.json"
    live.write_text(client.get(WEB).text)
    ran = run("apply", *_options(home), "--live", str(live), "-o", "requests")
    answers = [
        _sent(client, request)
        for request in json.loads(ran.stdout)[: int(step.does[0])]
    ]
    return int(any(answer.is_error for answer in answers)), ran.stderr


def _ran(_client: httpx.Client, _step: Step, home: Path) -> tuple[int, str]:
    """Apply with smp, which sends both."""
    config = str(home / "kubeconfig")
    ran = run(
        *("cluster", "apply", *_options(home)),
        *("--kubeconfig", config),
    )
    # The version of a guard is another one in each run.
    printed = re.sub(r'"value":"\d+"', '"value":"(version)"', ran.output)
    return ran.exit_code, printed


_ACTS: Final[dict[str, Act]] = {"scale": _scaled, "requests": _requested, "smp": _ran}


def _options(home: Path) -> tuple[str, ...]:
    """Return the options of an apply of what the chart makes of the new values."""
    labels: JSONObject = {"app": "web"}
    pod: JSONObject = {"containers": [{"image": "web:1", "name": "app"}]}
    # What Helm adds to a template belongs to its manager as well.
    metadata: JSONObject = {
        "name": "web",
        "namespace": "default",
        "annotations": {
            "meta.helm.sh/release-name": "web",
            "meta.helm.sh/release-namespace": "default",
        },
        "labels": {**labels, "app.kubernetes.io/managed-by": "Helm"},
    }
    spec: JSONObject = {
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    manifest = home / "new.json"
    manifest.write_text(
        json.dumps(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": metadata,
                "spec": spec,
            }
        )
    )
    return ("--server-side", "--field-manager", "helm", "-f", str(manifest))


def _is_of_web(each: Exchange) -> bool:
    return each.is_write and each.path.startswith(WEB)


def _write(each: Exchange) -> JSONObject:
    body = comparable(as_json(each))
    if isinstance(body, list):
        body = [
            {**as_object(operation), "value": "(version)"}
            if as_object(operation)["path"] == "/metadata/resourceVersion"
            else operation
            for operation in body
        ]
    result: JSONObject = {
        "method": each.method,
        "path": each.path,
        "query": {**dict(each.query)},
        "mediaType": each.content_type,
        "body": body,
        "code": each.status,
    }
    if each.status >= httpx.codes.BAD_REQUEST:
        result["answer"] = comparable(json.loads(each.answer))
    return result
