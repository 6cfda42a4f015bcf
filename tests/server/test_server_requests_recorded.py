"""Requests of all kinds: the server decides as a real kube-apiserver decides.

The answers were recorded by tests.record.requests.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.record.applies import read
from tests.support.makers.requests import subjects
from tests.support.recorded_requests import FILE, Comparison
from tests.support.request_differences import documented, replayed, table

pytestmark = pytest.mark.slow

_, LINES = read(FILE)
# Which part of all requests is at least answered alike.
VERDICTS: Final = 0.95
CODES: Final = 0.93
OBJECTS: Final = 0.92


@pytest.fixture(scope="module")
def compared() -> list[Comparison]:
    return replayed()


def test_the_recording_has_requests_of_all_kinds() -> None:
    steps = [step for line in LINES for step in line["steps"]]
    custom = {name for name, subject in subjects().items() if subject.custom}
    assert len(steps) >= 2000
    assert len({line["kind"] for line in LINES} - custom) >= 21
    assert {line["kind"] for line in LINES} == {*subjects()}
    types = {step.get("content_type") for step in steps if step["method"] == "PATCH"}
    assert len(types) >= 4
    assert {step["method"] for step in steps} == {
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
    }


def test_the_server_accepts_and_refuses_the_same(compared: list[Comparison]) -> None:
    same = sum(each.same_verdict for each in compared)
    assert same / len(compared) >= VERDICTS


def test_the_server_answers_the_same_codes(compared: list[Comparison]) -> None:
    same = sum(each.same_code for each in compared)
    assert same / len(compared) >= CODES


def test_the_server_stores_the_same_objects(compared: list[Comparison]) -> None:
    same = sum(each.same_object for each in compared)
    assert same / len(compared) >= OBJECTS


def test_what_differs_is_documented(compared: list[Comparison]) -> None:
    """``python -m tests.support.request_differences`` writes the table again."""
    assert documented().strip() == table(compared).strip()
