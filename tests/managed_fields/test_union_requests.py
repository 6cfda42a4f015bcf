"""The requests that change a union, and what a kube-apiserver made of them.

tests/record/union_requests.py recorded it. fields.json describes the recording.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import smp
from smp._values.values import JSON, as_list, as_object, same
from smp.managed_fields import Remark, predict_refusal
from tests.record.applies import read
from tests.record.union_requests import FILE, pinned

HEADING, LINES = read(FILE)
CATALOG = smp.kubernetes(HEADING["kube-apiserver"])
# Its nodes are immutable, which a server says when the union is right.
FIXED = "io.k8s.api.resource.v1.ResourceSliceSpec"


def predicted(line: dict[str, Any]) -> Remark | None:
    schema = CATALOG.schema(*line["kind"].split())
    return predict_refusal(
        line["live"], line["applied"], schema, manager="two", force=line["force"]
    )


def messages(answer: JSON) -> list[str]:
    causes = as_list(as_object(as_object(answer).get("refused")).get("causes"))
    return [str(as_object(cause)["message"]) for cause in causes]


def test_refusals_for_unions_are_predicted() -> None:
    counts: Counter[str] = Counter()
    for line in LINES:
        remark, answer = predicted(line), line["answers"][0]
        if "stored" in answer:
            assert remark is None, line
            counts["accepted"] += 1
        elif remark is None or remark.remedy is None:
            # No request helps there.
            is_told = any("immutable" in text for text in messages(answer))
            assert is_told or line["type"] == FIXED, line
            counts["immutable"] += 1
        else:
            assert remark.remedy.means == "take"
            # The words of the server, but for the values that Go prints.
            for text in messages(answer):
                detail = text.rpartition(": ")[2]
                assert detail in remark.answer, line
            counts["remedied"] += 1
    assert counts == {"accepted": 340, "immutable": 66, "remedied": 146}


def test_two_requests_change_the_member_and_leave_the_owners_right() -> None:
    counts: Counter[str] = Counter()
    for line in LINES:
        remark = predicted(line)
        if remark is None or remark.remedy is None:
            continue
        assert same(remark.remedy.body, line["body"]), line
        _, first, last = line["answers"]
        assert "stored" in first, line
        # The first request changes no value.
        before, after = (
            {**obj, "metadata": {}} for obj in (line["live"], first["stored"])
        )
        assert same(before, after), line
        assert "stored" in last, line
        schema = CATALOG.schema(*line["kind"].split())
        ours = smp.server_side_apply(
            first["stored"],
            remark.remedy.then,
            schema,
            manager="two",
            force=remark.remedy.force,
            profile="off",
        ).object
        if not same(_counted(pinned(ours)), _counted(last["stored"])):
            counts[line["type"]] += 1
    assert not counts


def _counted(obj: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a server counts and allocates."""
    metadata = {**obj["metadata"]}
    metadata.pop("generation", None)
    return {**obj, "metadata": metadata}
