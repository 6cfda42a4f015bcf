"""Objects that are odd in one place, as lint, the server and Kubernetes take them.

tests.record.probes asked a kube-apiserver 1.36.3.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from smp.lint import lint
from smp.schema.catalog import kubernetes
from smp.testing import KubernetesApi
from tests.record.probes import address_of, fields_of, probes

# What depends on other objects, on the request, or on a name that is generated.
_OF_REQUESTS: Final = frozenset(
    {
        "SSRR none",
        "TokenReview {'token': ''}",
        "TokenReview {}",
        "cron genname",
        "pod overhead={'cpu': '1'}",
        "pod priorityClassName=nope",
    }
)
# Requirements of fields in reviews, metadata of a review, and three lists.
_MISSED: Final = frozenset(
    {
        "SAR name",
        "hpa behavior={'scaleDown': {'policies': []}}",
        "ns finalizers",
        "svc clusterIPs dup",
    }
)
# Causes in other words: of the list, and not of its element.
_OTHER_FIELDS: Final = 40
_MISSED_REVIEW: Final = "'fieldSelector': {'requirements'"


def is_known(about: str) -> bool:
    return about in _MISSED or _MISSED_REVIEW in about


def is_taken(probe: dict[str, Any]) -> bool:
    return probe["code"] in (200, 201)


def test_lint_has_an_error_where_a_server_refuses() -> None:
    catalog = kubernetes("1.36")
    wrong = []
    for probe in probes():
        obj = probe["object"]
        schema = catalog.schema(obj["apiVersion"], obj["kind"])
        found = lint(obj, schema, "manifest")
        errors = [str(each) for each in found if each.severity == "error"]
        if bool(errors) != (not is_taken(probe)):
            about = probe["about"]
            if errors or not (is_known(about) or about in _OF_REQUESTS):
                wrong.append((about, probe["code"], errors))
    assert not wrong


@pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")
def test_the_server_refuses_what_a_server_refuses() -> None:
    wrong, other_fields = [], []
    with KubernetesApi() as api:
        client = api.client("httpx")
        for probe in probes():
            obj, about = probe["object"], probe["about"]
            answer = client.post(address_of(obj), content=json.dumps(obj))
            body = answer.json()
            if (answer.status_code < 300) != is_taken(probe):
                if not is_known(about) and about not in _OF_REQUESTS:
                    wrong.append((about, probe["code"], body.get("message")))
            elif fields_of(body) != probe["fields"]:
                other_fields.append((about, fields_of(body), probe["fields"]))
    assert not wrong
    assert len(other_fields) <= _OTHER_FIELDS, other_fields
