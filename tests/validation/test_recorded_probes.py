"""New objects that are odd in one place, as lint, the server and Kubernetes take them.

tests.record.probes asked a kube-apiserver 1.36.3. What is judged otherwise is listed
with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

import pytest

from smp.lint import lint
from smp.schema.catalog import kubernetes
from smp.testing import KubernetesApi
from smp.validation import validate_object
from tests.record.probes import address_of, causes_of, probes
from tests.support.shuffling import shuffled

# What depends on other objects, on the request, or on a name that is generated.
_OF_REQUESTS: Final = frozenset(
    {
        "SSRR none",
        "TokenReview {'token': ''}",
        "TokenReview {}",
        "cron genname",
        "kinds Pod p10",
        "kinds Pod p8",
        "kinds Pod p9",
        "kinds Service v11",
        "meta m328",
        "pod overhead={'cpu': '1'}",
        "pod priorityClassName=nope",
        "podspec p202",
        "podspec p203",
        "podspec p206",
        "review (10)",
        "review (12)",
        "review (8)",
    }
)
_MISSED: Final = {
    "dra o886": "expressions of devices",
    "kinds ResourceClaim c8": "expressions of devices",
    "kinds ResourceClaim c19": "a label of the namespace",
    "kinds DeviceClass d1": "expressions of devices",
    "hpa behavior={'scaleDown': {'policies': []}}": "an empty list is filled in first",
    "hpa o359": "an empty list is filled in first",
    "limits o485": "a ratio beside the quotient of two quantities",
    "node n780": "an annotation that is JSON",
    "volume p101": "the ServiceAccount that a cluster adds is not missed here",
}
_MISSED_REVIEW: Final = "'fieldSelector': {'requirements'"
# Refusals with other causes, or reasons, of 3,329: of the list, and not of its
# element, or fewer of them.
_OTHER_CAUSES: Final = 300


def is_known(about: str) -> bool:
    return about in _MISSED or _MISSED_REVIEW in about


def is_taken(probe: dict[str, Any]) -> bool:
    return probe["code"] in (200, 201)


def test_lint_has_an_error_where_a_server_refuses() -> None:
    catalog = kubernetes("1.36")
    wrong, missed = [], set()
    for probe in probes():
        obj = probe["object"]
        schema = catalog.schema(obj["apiVersion"], obj["kind"])
        found = lint(obj, schema, "manifest")
        errors = [str(each) for each in found if each.severity == "error"]
        if bool(errors) != (not is_taken(probe)):
            about = probe["about"]
            missed.add(about)
            if errors or not (is_known(about) or about in _OF_REQUESTS):
                wrong.append((about, probe["code"], errors))
    assert not wrong
    assert missed >= _MISSED.keys() | _OF_REQUESTS


def test_what_is_said_depends_on_no_order_of_keys() -> None:
    catalog = kubernetes("1.36")
    differing = []
    for number, probe in enumerate(probes()):
        obj = probe["object"]
        schema = catalog.schema(obj["apiVersion"], obj["kind"])
        found = validate_object(obj, schema)
        if found:
            other = validate_object(shuffled(obj, Random(number)), schema)
            if [*map(str, found)] != [*map(str, other)]:
                differing.append((probe["about"], found, other))
    assert not differing


_ODD: Final[tuple[Any, ...]] = (
    *("", "/", "-", "\ud800", "\u0663", "1" * 5_000, f"0-{'1' * 5_000}"),
    *(f"::/{'1' * 5_000}", f"{'9' * 5_000}%", "QQ==", "*/1 * * * *"),
    *(None, True, -1, 2**63, 10**400, 1.5, [], {}, [None], [{}], {"": ""}),
)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value with each key or index of it."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places_in(value[key])


def test_values_of_any_type_are_judged_at_any_place() -> None:
    catalog = kubernetes("1.36")
    failed = []
    for number, probe in enumerate(probes()):
        random = Random(number)
        obj = deepcopy(probe["object"])
        schema = catalog.schema(obj["apiVersion"], obj["kind"])
        container, key = random.choice([*places_in(obj)])
        container[key] = deepcopy(random.choice(_ODD))
        try:
            validate_object(obj, schema)
        except Exception as error:  # noqa: BLE001  # that none is raised is the test
            failed.append((probe["about"], key, container[key], error))
    assert not failed


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")
def test_the_server_refuses_what_a_server_refuses(every: int) -> None:
    wrong, other_causes, missed = [], [], set()
    with KubernetesApi() as api:
        client = api.client("httpx")
        for probe in [*probes()][::every]:
            obj, about = probe["object"], probe["about"]
            answer = client.post(address_of(obj), content=json.dumps(obj))
            body = answer.json()
            if (answer.status_code < 300) != is_taken(probe):
                missed.add(about)
                if not is_known(about) and about not in _OF_REQUESTS:
                    wrong.append((about, probe["code"], body.get("message")))
            elif causes_of(body) != probe["causes"]:
                other_causes.append((about, causes_of(body), probe["causes"]))
    assert not wrong
    assert every > 1 or missed >= _MISSED.keys()
    assert len(other_causes) <= _OTHER_CAUSES / every, other_causes
