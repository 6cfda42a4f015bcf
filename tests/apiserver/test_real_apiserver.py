"""A real kube-apiserver answers as it was recorded."""

from __future__ import annotations

import pytest

from smp._values.values import JSONObject, as_list, as_object
from tests.record import unions
from tests.record.applies import FILE, read, recorded
from tests.support.apiserver import needs_apiserver, running
from tests.support.kubectl import needs_kubectl

_RECORDED_AGAIN = 100


def causes_in(record: JSONObject) -> set[tuple[str, str]]:
    """Return the reasons and fields of a refusal; the texts print Go values."""
    refused = as_object(record.get("refused"))
    causes = [as_object(cause) for cause in as_list(refused.get("causes"))]
    found = {(str(cause["reason"]), str(cause["field"])) for cause in causes}
    return {(str(refused.get("code")), str(refused.get("reason"))), *found}


@needs_apiserver
@pytest.mark.slow
def test_unions_are_judged_as_recorded() -> None:
    _, lines = read(unions.FILE)
    with running() as server:
        again = [*unions.recorded(server)]
    for record, line in zip(again, lines, strict=True):
        assert (record["type"], record["fields"]) == (line["type"], line["fields"])
        assert causes_in(record) == causes_in(line)


@needs_apiserver
@pytest.mark.slow
def test_patches_of_unions_are_answered_as_recorded() -> None:
    _, lines = read(unions.PATCHES)
    with running() as server:
        again = [*unions.recorded_patches(server)]
    for record, line in zip(again, lines, strict=True):
        assert (record["type"], record["from"]) == (line["type"], line["from"])
        for now, then in zip(
            as_list(record["requests"]), line["requests"], strict=True
        ):
            request = as_object(now)
            assert request["body"] == then["body"]
            assert request.get("stored") == then.get("stored")
            assert causes_in(request) == causes_in(then)


@needs_apiserver
@needs_kubectl
@pytest.mark.slow
def test_applies_have_the_recorded_outcomes() -> None:
    _, lines = read(FILE)
    with running() as server:
        again = [*recorded(server, _RECORDED_AGAIN)]
    for record, line in zip(again, lines, strict=False):
        assert record["sent"] == line["sent"]
        assert record.keys() == line.keys()
        assert causes_in(record) == causes_in(line)
