"""From client-side to server-side apply, as client-go upgrades managed fields.

tests/record/upgrades.py recorded the answers of client-go. ``SMP_FUZZ_CASES`` sets the
number of random requests, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from typing import Final

import pytest

from smp import json_patch
from smp._values.values import JSONObject, as_list, as_object
from smp.errors import ObjectError
from smp.managed_fields import owners, upgrade, upgrade_patch
from tests.record.field_sets import read
from tests.record.upgrades import ANSWERED, RECORDED, REQUESTS, cases
from tests.support.upgrades import (
    comparable,
    expected,
    needs_oracle,
    oracle,
    ours,
    request_of,
    requests,
)

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "3000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))


def _text(answer: JSONObject) -> str:
    # Compared as text: 1 is not true.
    return json.dumps(answer, sort_keys=True)


def test_the_cases_of_client_go_have_its_answers() -> None:
    answered = [json.loads(line) for line in ANSWERED.read_text().splitlines()]
    asked = cases()
    assert [case["name"] for case in asked] == [line["name"] for line in answered]
    assert len(asked) == 17
    for case, line in zip(asked, answered, strict=True):
        answer = comparable(line["answer"])
        assert _text(ours(request_of(case))) == _text(answer), case["name"]


def test_random_managed_fields_are_upgraded_as_client_go_did() -> None:
    counts: Counter[str] = Counter()
    for request in read(RECORDED):
        recorded = request.pop("answer")
        assert _text(ours(request)) == _text(recorded), request
        counts["refused" if "error" in recorded else request["op"]] += 1
    assert counts.total() == REQUESTS
    assert counts["refused"] > 3
    assert min(counts["owners"], counts["upgrade"]) > 150


@pytest.mark.exhaustive
@needs_oracle
def test_smp_answers_what_client_go_answers() -> None:
    program = oracle()
    assert program is not None
    asked = requests(SEED, CASES)
    for request, answer in zip(asked, program.run(asked), strict=True):
        assert _text(ours(request)) == _text(expected(request, answer)), request


LIVE: Final[JSONObject] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "a",
        "resourceVersion": "42",
        "managedFields": [
            {
                "manager": "kubectl-client-side-apply",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {".": {}, "f:x": {}}},
            }
        ],
    },
    "data": {"x": "1"},
}


def test_the_patch_makes_the_upgraded_object() -> None:
    before = copy.deepcopy(LIVE)
    arguments = ["kubectl-client-side-apply", "kubectl-create"]
    upgraded = upgrade(LIVE, from_managers=arguments, to_manager="kubectl")
    [owner] = owners(upgraded)
    assert (owner.manager, owner.operation) == ("kubectl", "Apply")
    assert upgraded["data"] is LIVE["data"]
    patch = upgrade_patch(LIVE, from_managers=arguments, to_manager="kubectl")
    assert patch is not None
    assert json_patch.apply(LIVE, patch) == upgraded
    assert patch[1] == {
        "op": "replace",
        "path": "/metadata/resourceVersion",
        "value": "42",
    }
    assert before == LIVE


def test_what_is_upgraded_is_not_changed_again() -> None:
    names = ["kubectl-client-side-apply"]
    upgraded = upgrade(LIVE, from_managers=names, to_manager="kubectl")
    assert upgrade(upgraded, from_managers=names, to_manager="kubectl") is upgraded
    assert upgrade_patch(upgraded, from_managers=names, to_manager="kubectl") is None
    assert upgrade({"kind": "X"}, from_managers=names, to_manager="k") == {"kind": "X"}


def test_only_the_entries_that_are_upgraded_have_to_be_readable() -> None:
    [entry] = as_list(as_object(LIVE["metadata"])["managedFields"])
    broken: JSONObject = {**as_object(entry), "fieldsV1": {"x": {}}}
    other: JSONObject = {**broken, "manager": "robot"}
    names = ["kubectl-client-side-apply"]
    live: JSONObject = {"metadata": {"managedFields": [other, entry]}}
    upgraded = upgrade(live, from_managers=names, to_manager="kubectl")
    assert as_list(as_object(upgraded["metadata"])["managedFields"])[0] is other
    live = {"metadata": {"managedFields": [other, broken]}}
    with pytest.raises(ObjectError) as caught:
        upgrade(live, from_managers=names, to_manager="kubectl")
    assert str(caught.value.path) == "metadata.managedFields[1].fieldsV1"


def test_one_name_is_no_collection_of_names() -> None:
    with pytest.raises(TypeError, match="collection of names"):
        upgrade(LIVE, from_managers="kubectl", to_manager="kubectl")
