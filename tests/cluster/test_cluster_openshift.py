"""What goes wrong with openshift.dynamic.apply goes right with Cluster.apply.

kubernetes.core, the modules of Ansible, has the same code. Its patches are recorded,
and sent as it sends them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from smp._values.values import as_object
from smp.cluster import Cluster
from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.support.openshift_cases import Case, cases, patches

_DOCUMENTS: dict[str, bytes] = {}


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    # As servers of today are, which refuse two members of a union.
    with KubernetesApi(Settings(seed=0, profile="validate-only")) as server:
        yield server


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_what_is_lost_or_refused_elsewhere_is_applied(
    case: Case, api: KubernetesApi
) -> None:
    web = api.client("httpx")
    cluster = Cluster(web, documents=_DOCUMENTS)
    with api.unchanged():
        case.start(cluster, web)
        answer = case.patch(web, patches()[case.name], "merge")
        assert not answer.is_success or not case.is_as_wanted(answer.json())
    with api.unchanged():
        case.start(cluster, web)
        (result,) = cluster.apply(case.second).results
        assert result.error is None
        assert case.is_as_wanted(as_object(result.object))
