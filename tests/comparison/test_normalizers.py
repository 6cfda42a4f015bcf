"""Each normalizer takes for equal what Go takes for equal, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any, Final

import pytest

from smp.comparison import NORMALIZERS, key_of_value
from tests.record.comparison import classes

RECORDED: Final = classes()
# Each normalizer that compares values, and the comparison of Go that it follows.
FOLLOWED: Final = {
    "quantity": "quantity",
    "duration": "duration",
    "time": "time",
    "int-or-string": "int-or-string",
    "base64": "base64",
    "label-selector": "label-selector",
    "set-order": "set",
}
# These tell nothing apart that Go takes for equal. A text that is no number, and what a
# server refuses, are equal to nothing else.
WHOLE: Final = ("quantity", "duration", "time", "base64", "set-order")


def keys_of(normalizer: str) -> list[tuple[Any, Hashable, int]]:
    """Return each recorded value, its key, and its class in Go."""
    values, numbers = RECORDED[FOLLOWED[normalizer]]
    keys = [key_of_value(normalizer, value) for value in values]
    return list(zip(values, keys, numbers, strict=True))


@pytest.mark.parametrize("normalizer", FOLLOWED)
def test_values_of_one_key_are_equal_to_go(normalizer: str) -> None:
    found: dict[Hashable, set[int]] = defaultdict(set)
    for value, key, number in keys_of(normalizer):
        if key is not None:
            assert number >= 0, f"Go cannot read {value!r}"
            found[key].add(number)
    assert [key for key, numbers in found.items() if len(numbers) > 1] == []
    # The record does have values that are written differently and are equal.
    assert len(found) < sum(key is not None for _, key, _ in keys_of(normalizer))


@pytest.mark.parametrize("normalizer", WHOLE)
def test_values_that_are_equal_to_go_have_one_key(normalizer: str) -> None:
    found: dict[int, set[Hashable]] = defaultdict(set)
    for _value, key, number in keys_of(normalizer):
        if number >= 0:
            found[number].add(key)
    assert [number for number, keys in found.items() if len(keys) > 1] == []


@pytest.mark.parametrize("normalizer", ["int-or-string", "label-selector"])
def test_usual_spellings_have_a_key(normalizer: str) -> None:
    values = keys_of(normalizer)
    with_key = sum(key is not None for _value, key, _number in values)
    readable = sum(number >= 0 for _value, _key, number in values)
    assert with_key > readable / 3


def test_all_normalizers_of_single_values_are_proved() -> None:
    # The others are not about a single value, numbers are those of typed storage, and
    # the order of a list is for the author of a rule to judge.
    others = {"default", "empty", "server-field", "string-data", "number"}
    others |= {"list-order"}
    assert set(NORMALIZERS) - others == set(FOLLOWED)
