"""Webhooks and policies do what they do with a kube-apiserver.

tests/data/apiserver/admission.jsonl has what one answered to the cases of
admission.yaml, and what their webhooks were asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import httpx
import pytest

from smp.testing import KubernetesApi
from tests.support import admission

Play: TypeAlias = Callable[[admission.Document], admission.Document]

# In-tree plugins of a kube-apiserver set the first three; a typed one shows a status
# that is empty, and the grace period of a Pod that is gone.
_LEFT_OUT: Final = frozenset(
    {
        "deletionGracePeriodSeconds",
        "preemptionPolicy",
        "priority",
        "tolerations",
    }
)
# Messages have Go's words for what is no JSON, no patch, or of a wrong type; the
# evaluator names no field of null.
_OWN_WORDS: Final = frozenset(
    {
        "a mutation that fails",
        "a patch that does not apply",
        "a patch that is none",
        "a patch with a wrong type",
        "a webhook that answers no JSON",
        "an unknown certificate",
        "another uid",
        "conditions of a webhook",
    }
)
CASES: Final = [case for case in admission.cases() if "requests" in case]
# Of so many cases one is played in each run.
_SAMPLE: Final = 12
pytestmark = pytest.mark.filterwarnings("ignore::smp.testing.KubernetesApiWarning")


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Give a function that plays a case."""
    directory = tmp_path_factory.mktemp("certificates")
    with admission.serving(directory) as webhooks, KubernetesApi() as api:
        api.apply([*admission.world()])
        client: httpx.Client = api.client("httpx")

        def play(case: admission.Document) -> admission.Document:
            with api.unchanged():
                return admission.play(client, case, webhooks)

        yield play


def _answers(line: admission.Document) -> Iterator[admission.Document]:
    """Yield what can be compared."""
    for answer in line["answers"]:
        body = {**answer["body"]}
        if line["case"] in _OWN_WORDS:
            body.pop("message", None)
            body.pop("details", None)
        # Validating webhooks are called at the same time.
        reviews = sorted(
            answer["reviews"],
            key=lambda review: (
                review["path"] if review["path"].startswith("/v") else ""
            ),
        )
        yield {**answer, "body": _trim(body), "reviews": _trim(reviews)}


def _trim(value: Any) -> Any:
    if isinstance(value, list):
        return [_trim(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _trim(member)
        for name, member in value.items()
        if name not in _LEFT_OUT and not (name == "status" and value.get("spec"))
    }


def _differences(play: Play, cases: list[admission.Document]) -> Iterator[str]:
    for case in cases:
        recorded = _answers(admission.recorded()[case["name"]])
        for theirs, ours in zip(recorded, _answers(play(case)), strict=True):
            for field, value in theirs.items():
                if ours[field] != value:
                    yield f"{case['name']}: {field}\n  {ours[field]}\n  {value}"


def test_requests_are_answered_as_by_a_kube_apiserver(play: Play) -> None:
    assert "\n".join(_differences(play, CASES[::_SAMPLE])) == ""


@pytest.mark.exhaustive
def test_all_requests_are_answered_as_by_a_kube_apiserver(play: Play) -> None:
    rest = [case for at, case in enumerate(CASES) if at % _SAMPLE]
    assert "\n".join(_differences(play, rest)) == ""


@pytest.mark.slow
def test_what_is_malformed_is_refused_as_by_a_kube_apiserver(play: Play) -> None:
    for case in admission.cases():
        if "asks" in case:
            theirs = admission.recorded()[case["name"]]["objects"]
            for mine, other in zip(play(case)["objects"], theirs, strict=True):
                assert mine["code"] == other["code"]
                # Expressions are judged where all else is right.
                assert _fields(mine) <= _fields(other)


def _fields(answer: admission.Document) -> set[str]:
    causes = answer["body"].get("details", {}).get("causes", [])
    return {cause["field"] for cause in causes}
