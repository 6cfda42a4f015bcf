"""What a kube-apiserver 1.36.3 refuses in a status because of what it was."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from smp.testing import KubernetesApi
from tests.support.defaulted_manifests import resource_path
from tests.support.mutated_objects import bases

_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_FIRST: Final = "2024-01-01T00:00:00Z"
_LATER: Final = "2024-01-02T00:00:00Z"
_REFUSED: Final[list[tuple[str, str, Any, Any]]] = [
    ("Deployment", "collisionCount", 3, 2),
    ("Deployment", "collisionCount", 3, None),
    ("StatefulSet", "collisionCount", 3, 2),
    ("Job", "failed", 2, 1),
    ("Job", "succeeded", 1, None),
    ("Job", "startTime", _FIRST, _LATER),
    ("Job", "startTime", _FIRST, None),
]


@pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")
@pytest.mark.parametrize(("kind", "field", "before", "after"), _REFUSED)
def test_a_status_goes_one_way(kind: str, field: str, before: Any, after: Any) -> None:
    obj: Any = next(each for each in bases() if each["kind"] == kind)
    status = f"{resource_path(obj)}/x/status"
    with KubernetesApi() as api:
        client = api.client("httpx")
        client.post(resource_path(obj), content=json.dumps(obj))
        for value, code in ((before, 200), (before, 200), (after, 422)):
            body = json.dumps({"status": {field: value}})
            answer = client.patch(status, content=body, headers=_MERGE)
            assert answer.status_code == code, answer.text
        causes = answer.json()["details"]["causes"]
    assert [cause["field"] for cause in causes] == [f"status.{field}"]
