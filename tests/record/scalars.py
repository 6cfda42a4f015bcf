"""Record what Go reads from the texts of quantities, times and durations.

``python -m tests.record.scalars`` asks benchmarks/reference, which reads them with
k8s.io/apimachinery and package time, and writes tests/data/scalars/answers.jsonl.xz:
the versions, then a line for each operation with its texts and their answers. The texts
come from a seed (tests/support/makers/scalars.py), and from the list here.
"""

from __future__ import annotations

import json
import lzma
import subprocess
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from smp._values.values import JSON, JSONArray
from tests.support.makers import scalars
from tests.support.paths import DATA, GO_MODULE
from tests.support.reference import Reference

FILE: Final = DATA / "scalars" / "answers.jsonl.xz"
_SEED: Final = 28
_TEXTS: Final = 2000
_BATCH: Final = 5000
# Also in pairs, of which Go computes no long power.
_QUANTITIES: Final = (
    *("1e999", "1", "1e1000", "1", "-1e1000", "1", "1e-1000", "1n", "0", "-0"),
    *("", "1", "+", "-", ".", "-.", "Pi", ".Ti", "0Pi", "e3", "e-10", "1.", ".5"),
    *("1 ", "\u00a01\u2003", "1\u200b", "\u0661", "0x1", "1_000", "1e3.5", "1Ki5"),
    *("9223372036854775807", "9223372036854775808", "8Ei", "-8Ei", "7.9999999999Ei"),
    *("1" * 3000, "0." + "1" * 5000, "1" * 5000 + "Ki", "0" * 5000, "0." + "9" * 99),
    *(f"0.{'0' * 200}1Ei", f"1.{'0' * 100}1Ki", f"{'9' * 40}e5", "1000E", "1e21"),
)
_LONE_QUANTITIES: Final = (
    *("1e2147483647", "10e2147483647", "1.5e-2147483648", "1e4294967299", "100e-1"),
    *("1" * 5000, "1e9223372036854775808", f"1e{'0' * 5000}3", f"1e{'9' * 5000}"),
)
_TIMES: Final = (
    *("", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00z", "now"),
    *(
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000000Z",
        "0001-01-01T01:00:00+01:00",
    ),
    *("0001-01-01T00:00:00.5Z", "0001-01-01T00:00:00.0000000001Z"),
    *("0000-01-01T00:00:00+24:60", "9999-12-31T23:59:59-24:60", "0000-02-30T00:00:00Z"),
    *("0000-02-29T00:00:00Z", "2024-12-31T23:59:60Z", "2024-01-01T24:00:00Z"),
    *("2024-01-01T5:00:00Z", "2024-01-01T05:00:00,5Z", "2024-01-01T05:00:00.+12345Z"),
    *("2024-01-01T05:00:00.-00000Z", "2024-01-01T05:00:00,-00001Z"),
    *("2024-01-01T05:00:00+25:61", "2024-01-01T05:00:00+25:x1", '2024-"\\\u00e4Z'),
)
_DURATIONS: Final = (
    *("", "0", "-0", "00", "1", ".s", "1.s", ".5s", "1h1h", "9223372036854775808ns"),
    *("-9223372036854775808ns", "9223372036854775808ns9223372036854775808ns", "1µs"),
    *(f"0.{'0' * 400}1h", f"{'0' * 5000}1s", f"1.{'3' * 5000}h", "1" * 5000 + "s"),
)


def questions(seed: int, count: int) -> Iterator[tuple[str, list[str]]]:
    """Yield operations with texts; those of pairs have two for each pair."""
    random = Random(seed)
    yield "quantities", [scalars.quantity_text(random) for _ in range(count)]
    pairs = [scalars.quantity_pair(random) for _ in range(count)]
    yield "quantity_pairs", [text for pair in pairs for text in pair]
    yield "times", [scalars.time_text(random) for _ in range(count)]
    yield "durations", [scalars.duration_text(random) for _ in range(count)]


def _recorded_questions() -> Iterator[tuple[str, list[str]]]:
    listed = {
        "quantities": (*_LONE_QUANTITIES, *_QUANTITIES),
        "quantity_pairs": _QUANTITIES,
        "times": _TIMES,
        "durations": _DURATIONS,
    }
    for op, texts in questions(_SEED, _TEXTS):
        yield op, [*listed[op], *texts]


def answers_of(go: Reference, op: str, texts: list[str]) -> list[Any]:
    """Return Go's answers, one for each text or pair."""
    answers: list[Any] = []
    for start in range(0, len(texts), _BATCH):
        batch: JSONArray = [*texts[start : start + _BATCH]]
        found = go.ask(op, texts=batch)["result"]
        assert isinstance(found, list)
        answers += found
    return answers


def _version(*command: str) -> str:
    done = subprocess.run(
        ["go", *command],  # noqa: S607
        cwd=GO_MODULE,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def record() -> None:
    """Write the record again."""
    rows: list[JSON] = [
        {
            "go": _version("env", "GOVERSION"),
            "module": _version("list", "-m", "k8s.io/apimachinery"),
        }
    ]
    with Reference() as go:
        for op, texts in _recorded_questions():
            answers = answers_of(go, op, texts)
            rows.append({"op": op, "texts": [*texts], "answers": answers})
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))


def recorded() -> dict[str, tuple[list[str], list[Any]]]:
    """Read the texts of each operation, and the answers."""
    lines = lzma.decompress(FILE.read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    return {row["op"]: (row["texts"], row["answers"]) for row in rows}


if __name__ == "__main__":
    record()
