"""Helm 4 and a change to Recreate, end to end.

tests/record/helm.py recorded the story with the real helm and a kube-apiserver. Each
run replays what helm sent on this project's server, and smp acts anew between; where
helm was built it plays the story itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import smp
from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.record.applies import read
from tests.record.cluster_applies import proxy_of
from tests.support.apiserver import needs_apiserver
from tests.support.cluster_proxy import RecordingProxy, recording
from tests.support.command import smp_command
from tests.support.helm import (
    CHART,
    FILE,
    STORY,
    WEB,
    Played,
    helm_path,
    helm_version,
    needs_helm,
    played,
    real_helm,
    recorded_helm,
)
from tests.support.kubectl import needs_kubectl
from tests.support.paths import DOCS

HEADING, STEPS = read(FILE)
REFUSED = "spec.strategy.rollingUpdate: Forbidden: may not be specified when"


@pytest.fixture
def stock_server() -> Iterator[RecordingProxy]:
    """Run this project's server as one of today, of the version of the recording."""
    catalog = smp.kubernetes(HEADING["kube-apiserver"])
    settings = Settings(profile="validate-only", catalog=catalog)
    with KubernetesApi(settings) as api, recording(api.client("httpx")) as proxy:
        yield proxy


def owners(step: dict[str, Any]) -> list[tuple[str, str]]:
    entries = step["stored"]["metadata"]["managedFields"]
    return [(entry["manager"], entry["operation"]) for entry in entries]


def as_recorded(steps: Iterator[Played]) -> list[str]:
    """Return the names of the steps that did something else."""
    found = [each._asdict() for each in steps]
    assert len(found) == len(STEPS)
    return [
        f"{step['name']}: {name}: {ours[name]} not {step[name]}"
        for ours, step in zip(found, STEPS, strict=True)
        for name in step
        if ours[name] != step[name]
    ]


def test_the_recording_has_what_users_of_helm_meet() -> None:
    assert HEADING["helm"] == helm_version()
    assert [step["name"] for step in STEPS] == [step.name for step in STORY]
    by_name = {step["name"]: step for step in STEPS}
    for name, step in by_name.items():
        strategy = step["stored"]["spec"]["strategy"]
        if name.startswith(("a strategy is refused", "refused")):
            assert step["exit"] == 1
            assert REFUSED in step["printed"]
        elif name.startswith("accepted after"):
            # No part of the former strategy, and one owner of the new one.
            assert step["exit"] == 0
            assert strategy == {"type": "Recreate"}
            assert owners(step) == [("helm", "Apply")]
        elif name != "a conflict":
            assert step["exit"] == 0, name
    conflict, given_up = by_name["a conflict"], by_name["given up"]
    assert 'conflict with "kubectl" with subresource "scale"' in conflict["printed"]
    assert given_up["stored"]["spec"]["replicas"] == 5
    assert owners(given_up) == [("helm", "Apply"), ("kubectl", "Update")]


def test_what_helm_sends_is_answered_as_by_a_kube_apiserver(
    stock_server: RecordingProxy,
) -> None:
    helm = recorded_helm(stock_server, STEPS)
    assert as_recorded(played(stock_server, helm)) == []


@needs_helm
@pytest.mark.slow
def test_helm_plays_the_story_on_this_server(stock_server: RecordingProxy) -> None:
    assert as_recorded(played(stock_server, real_helm(stock_server))) == []


@needs_helm
@needs_apiserver
@pytest.mark.slow
def test_helm_plays_the_story_on_a_kube_apiserver() -> None:
    with proxy_of("kube-apiserver") as proxy:
        assert as_recorded(played(proxy, real_helm(proxy))) == []


@needs_helm
@needs_kubectl
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq on PATH")
def test_the_commands_of_the_page_make_the_upgrade_pass(tmp_path: Path) -> None:
    page = (DOCS / "howto" / "server_side_apply.md").read_text()
    _, _, rest = page.partition("```sh\nhelm template")
    script = f"helm template{rest.partition('```')[0]}"
    bin_, home = tmp_path / "bin", {"HOME": str(tmp_path)}
    bin_.mkdir()
    (bin_ / "helm").symlink_to(helm_path())
    scripts = (str(bin_), str(Path(smp_command()).parent), os.environ["PATH"])
    (tmp_path / "chart").symlink_to(CHART)
    with KubernetesApi(Settings(profile="validate-only")) as api:
        environment = {**os.environ, **home, "PATH": os.pathsep.join(scripts)}
        environment["KUBECONFIG"] = str(api.kubeconfig)
        run = partial(subprocess.run, cwd=tmp_path, env=environment, check=True)
        run([helm_path(), "install", "web", "chart"])
        run(["/bin/sh", "-ec", script])
        client = api.client("httpx")
        assert isinstance(client, httpx.Client)
        web = client.get(WEB).json()
    assert web["spec"]["strategy"] == {"type": "Recreate"}
    assert owners({"stored": web}) == [("helm", "Apply")]
