"""Quantities, times and durations are what Go reads, and long ones take no longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from smp._values.quantities import quantity_problem, read_quantity
from smp._values.times import (
    canonical_micro_time,
    canonical_time,
    micro_time_problem,
    parse_duration,
    read_micro_time,
    read_time,
    time_problem,
)
from tests.record.scalars import answers_of, questions, recorded
from tests.support.reference import needs_go, reference

RECORDED: Final = recorded()
SHOWN: Final = 10


def quantity(text: str) -> Any:
    found = read_quantity(text)
    if found is None:
        return quantity_problem(text)
    return [found.text, found.sign, found.round_up_to_milli().text]


def pair(left: str, right: str) -> Any:
    first, second = read_quantity(left), read_quantity(right)
    if first is None or second is None:
        return None
    return [first.compare(second), first.add(second).text]


def time(text: str) -> Any:
    answer: dict[str, Any] = {}
    found = read_time(text)
    if found is None:
        answer["time_error"] = time_problem(text)
    else:
        answer |= {"time": canonical_time(text), "at": [*found]}
    if read_micro_time(text) is None:
        answer["micro_error"] = micro_time_problem(text)
    else:
        answer["micro"] = canonical_micro_time(text)
    return answer


OURS: Final[dict[str, Callable[..., Any]]] = {
    "quantities": quantity,
    "quantity_pairs": pair,
    "times": time,
    "durations": parse_duration,
}


def differences(op: str, texts: list[str], answers: list[Any]) -> list[str]:
    """Describe where an answer of ours is another than Go's."""
    step = 2 if op == "quantity_pairs" else 1
    asked = [texts[at : at + step] for at in range(0, len(texts), step)]
    return [
        f"{texts_!r:.80}: {OURS[op](*texts_)!r:.200} is {answer!r:.200} in Go"
        for texts_, answer in zip(asked, answers, strict=True)
        if OURS[op](*texts_) != answer
    ]


@pytest.mark.parametrize("op", OURS)
def test_recorded_texts_are_what_go_reads(op: str) -> None:
    assert differences(op, *RECORDED[op])[:SHOWN] == []


@pytest.mark.exhaustive
@needs_go
def test_random_texts_are_what_go_reads() -> None:
    go = reference()
    assert go is not None
    found = [
        difference
        for op, texts in questions(seed=1, count=200_000)
        for difference in differences(op, texts, answers_of(go, op, texts))
    ]
    assert found[:SHOWN] == []


# Without a bound, each of these takes minutes or gigabytes.
LONG: Final = 1 << 20


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        *(("9" * LONG, 1), (f"-{'9' * LONG}Ei", -1), (f"0.{'1' * LONG}", 1)),
        *((f"0.{'0' * LONG}1Ki", 1), ("0" * LONG, 0), ("1e2147483647", 1)),
        *((f"1e{'0' * LONG}1", 1), ("-1.5e-2147483648", -1)),
    ],
    ids=lambda value: f"{value:.9}" if isinstance(value, str) else "",
)
def test_a_long_quantity_takes_no_longer_than_its_text(text: str, sign: int) -> None:
    found, one = read_quantity(text), read_quantity("1")
    assert found is not None
    assert one is not None
    assert found.sign == sign
    found.compare(one)
    assert len(found.add(one).text) <= max(len(found.text), 4100)


@pytest.mark.parametrize(
    "text",
    [
        *("0" * LONG + "x", "0" * LONG + "1" * LONG + ".1.", f"{'1' * LONG}e+-"),
        *("E" * LONG, f"1e{'9' * LONG}"),
    ],
    ids=lambda value: f"{value[-3:]}",
)
def test_long_texts_that_are_no_quantities(text: str) -> None:
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    "text", ["1" * LONG, "1" * LONG + "s", "1s" * 9 + "." * LONG, f".{'0' * LONG}"]
)
def test_long_texts_that_are_no_durations(text: str) -> None:
    assert parse_duration(text) is None


def test_control_characters_are_no_space_around_a_quantity() -> None:
    # JSON has them escaped only, and Quantity.UnmarshalJSON does not decode escapes.
    found = [read_quantity(f"1{chr(code)}") for code in range(32)]
    assert found == [None] * 32
