"""Cluster.apply sends what the real kubectl sends, and leaves the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smp.cluster import Cluster
from smp.testing import KubernetesApi
from tests.support.cluster_sides import Apply, kubectl_apply, played, recorded
from tests.support.cluster_situations import Situation, situations
from tests.support.kubectl import needs_kubectl

# The compiled schemas of the server, for all tests.
_DOCUMENTS: dict[str, bytes] = {}
# Asked again of the kubectl that is installed.
_ASKED = ("an image changes", "from client-side to server-side", "an ApplySet")


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server


def _cluster_apply(api: KubernetesApi) -> Apply:
    cluster = Cluster(api.client("httpx"), documents=_DOCUMENTS)

    def apply(step: dict[str, Any]) -> tuple[list[str], bool]:
        # kubectl knows no unions, and takes the objects as they are given.
        options = {"order": "given", "unions": "kubectl", **step.get("options", {})}
        run = cluster.apply(step["apply"], **options)
        lines = [str(result) for result in run.results if result.error is None]
        return lines, bool(run.errors)

    return apply


@pytest.mark.parametrize("situation", situations(), ids=lambda each: each.name)
def test_the_requests_and_the_objects_are_those_of_kubectl(
    situation: Situation, api: KubernetesApi
) -> None:
    ours = played(situation, api, _cluster_apply(api))
    theirs = recorded().played[situation.name]
    assert ours.outcomes == theirs.outcomes
    assert ours.objects == theirs.objects


@needs_kubectl
@pytest.mark.slow
@pytest.mark.parametrize("name", _ASKED)
def test_what_is_recorded_is_what_kubectl_does(
    name: str, api: KubernetesApi, tmp_path: Path
) -> None:
    situation = next(each for each in situations() if each.name == name)
    found = played(situation, api, kubectl_apply(api, tmp_path))
    assert found == recorded().played[name]
