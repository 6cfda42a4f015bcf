"""Record which values Kubernetes takes for equal, where they are written differently.

``python -m tests.record.comparison`` asks tests/data/comparison/compare.go and writes
classes.jsonl.xz beside it: for each normalizer the values, and for each value the
number of its class, -1 where Go cannot read it. Values of one class are equal to
resource.Quantity.Cmp, time.ParseDuration, time.Time.Equal, intstr.Parse, the matching
of labels, the decoding of base64, or the comparison of sets in structured-merge-diff.
"""

from __future__ import annotations

import json
import lzma
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from tests.support.paths import DATA, GO_MODULE

DIRECTORY: Final = DATA / "comparison"
RECORD: Final = DIRECTORY / "classes.jsonl.xz"
_SEED: Final = 16
_RANDOM: Final = 1500

_NUMBERS: Final = (
    "0",
    "00",
    "1",
    "01",
    "+1",
    "-1",
    "-0",
    "1.0",
    "1.",
    ".5",
    "0.1",
    "0.10",
    "0.5",
    "1.5",
    "2",
    "8",
    "10",
    "100",
    "500",
    "999",
    "1000",
    "1024",
    "1500",
    "2048",
    "1000000",
    "1048576",
    "0.000000001",
    "0.0000000001",
    "0.0000000011",
    "-0.0000000001",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1234567890123456789",
    "12345678901234567890123",
    "0.123456789123",
)
_SUFFIXES: Final = (
    "",
    *("n", "u", "m", "k", "M", "G", "T", "P", "E"),
    *("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"),
    *("e0", "e3", "E3", "e-3", "e+3", "e1", "e6", "e-9", "e-10", "e18", "e30"),
    *("K", "mi", "ki", "B", "e", "e1.5", " ", "%"),
)
_QUANTITY_ODDITIES: Final[tuple[Any, ...]] = (
    *(
        "",
        " 1",
        "1 ",
        "one",
        ".",
        "-",
        "+",
        "+-1",
        "1,5",
        "0x10",
        "1_000",
        "NaN",
        "\u0661",
    ),
    *(0, 1, -1, 2, 1000, 1024, 0.1, 0.5, 1.5, 1e3, 1e-3, 100, 2**53, 2**62),
    *(True, None, [], {}),
)

_DURATION_UNITS: Final = ("ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "", "S")
_DURATION_NUMBERS: Final = (
    *("0", "1", "01", "+1", "-1", "1.", ".5", "1.0", "0.1", "0.5", "1.5", "1.50"),
    *("5", "60", "90", "300", "1000", "3600", "1000000", "0.000000001", "0.0000000005"),
    *("9223372036", "9223372037", "2562047", "2562048", "0.3333333333333333333333"),
)
_DURATION_ODDITIES: Final[tuple[Any, ...]] = (
    *("", "0", "+0", "-0", "00", "1", ".", ".s", "-.s", "+.5s", "1h ", " 1h", "1 h"),
    *("5m0s", "5m", "1h0m0s", "60m", "1h30m", "90m", "1.5h", "5400s", "1m30s", "90s"),
    *(
        "30m1h",
        "1s1s",
        "1h-30m",
        "--1s",
        "1e3s",
        "1H",
        "P1D",
        "PT5M",
        "1d",
        "1w",
        "inf",
    ),
    *("9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns"),
    *("-9223372036854775809ns", "2562047h47m16.854775807s", "2562047h47m16.854775808s"),
    *("2540400h10m10.000000000s", "0.1s", "100ms", "100000us", "0.100000000000000000s"),
    *("0.9999999999s", "999999999ns", "1.0000000001s", "0.12345678901234567890s", "٣s"),
    *(0, 1, 1000000000, 1.5, True, None, []),
)

_TIME_ODDITIES: Final[tuple[Any, ...]] = (
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.0Z",
    "2024-01-01T00:00:00.000000000Z",
    "2024-01-01T00:00:00.0000000001Z",
    "2024-01-01T00:00:00.5Z",
    "2024-01-01T00:00:00.50Z",
    "2024-01-01T00:00:00,5Z",
    "2024-01-01T01:00:00+01:00",
    "2023-12-31T19:00:00-05:00",
    "2024-01-01T00:00:00+00:00",
    "2024-01-01T00:00:00-00:00",
    "2024-01-01t00:00:00z",
    "2024-01-01 00:00:00Z",
    "2024-01-01T00:00Z",
    "2024-01-01T0:00:00Z",
    "2024-01-01T00:00:00",
    "2024-01-01",
    "2024-02-30T00:00:00Z",
    "2024-02-29T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-12-31T23:59:60Z",
    "2024-01-01T00:00:00+24:00",
    "2024-01-01T00:00:00+23:59",
    "2024-01-01T00:00:00+00:60",
    "2024-01-01T00:00:00+0100",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+01:00",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-01:00",
    "10000-01-01T00:00:00Z",
    "٢024-01-01T00:00:00Z",
    "",
    0,
    None,
)

_INT_OR_STRING: Final[tuple[Any, ...]] = (
    *("80", 80, "080", "+80", "-80", -80, "80.0", "80%", "http", "", " 80", "80 "),
    *(0, "0", "-0", "00", "1e2", 100, "0x50", "8_0", "٨٠", 80.0, True, None, []),
    *(2**31 - 1, str(2**31 - 1), 2**31, str(2**31), str(2**32 + 80), str(2**63), "-"),
)
_BASE64: Final = (
    *("", "YQ==", "YQ", "YR==", "YWI=", "YWJj", "YW\nJj", "YW Jj", "YQ==\n", "\n", "%"),
    *("YQ=\n=", "Y-_j", "Y+/j", "YWJj\r\n", "YQ==YQ==", "=", "a", None, 1),
)


def _quantities(random_: random.Random) -> Iterator[Any]:
    for number, suffix in product(_NUMBERS, _SUFFIXES):
        yield f"{number}{suffix}"
    yield from _QUANTITY_ODDITIES
    for _ in range(_RANDOM):
        digits = random_.choice((1, 2, 3, 4, 8, 17, 18, 19, 25))
        number = str(random_.randrange(10**digits))
        if random_.random() < 0.5:
            at = random_.randrange(len(number) + 1)
            number = f"{number[:at]}.{number[at:]}"
        number += "0" * random_.choice((0, 0, 0, 1, 3, 6))
        sign = random_.choice(("", "", "", "-", "+"))
        yield f"{sign}{number}{random_.choice(_SUFFIXES[:25])}"
    # The same amount in other notations.
    for _ in range(_RANDOM // 5):
        amount = random_.randrange(1, 5000)
        yield from (f"{amount}", f"{amount * 1000}m", f"{amount}e0", amount)
        yield from (f"{amount}Ki", f"{amount * 1024}", f"{amount * 1024}000m")


def _durations(random_: random.Random) -> Iterator[Any]:
    for number, unit in product(_DURATION_NUMBERS, _DURATION_UNITS):
        yield f"{number}{unit}"
    yield from _DURATION_ODDITIES
    units = {"h": 3600, "m": 60, "s": 1}
    for _ in range(_RANDOM // 3):
        seconds = random_.randrange(200000)
        yield f"{seconds}s"
        yield f"{seconds * 1000}ms"
        rest = seconds
        parts = []
        for unit, size in units.items():
            parts.append(f"{rest // size}{unit}")
            rest %= size
        yield "".join(parts)


def _times(random_: random.Random) -> Iterator[Any]:
    yield from _TIME_ODDITIES
    for _ in range(_RANDOM // 5):
        day, hour = random_.randrange(10, 20), random_.randrange(10, 14)
        minute = random_.choice(("00", "30"))
        yield f"2024-05-{day}T{hour}:{minute}:00Z"
        yield f"2024-05-{day}T{hour + 2}:{minute}:00+02:00"
        yield f"2024-05-{day}T{hour - 5:02}:{minute}:00.{random_.choice('05')}-05:00"


def _selectors(random_: random.Random) -> Iterator[Any]:
    yield from ({}, {"matchLabels": {"a": "b", "c": "d"}}, {"matchLabels": None}, None)
    expressions = [
        {"key": key, "operator": operator, "values": values}
        for key in ("a", "b")
        for operator in ("In", "NotIn")
        for values in (["x"], ["y"], ["x", "y"], ["y", "x"], ["x", "x"], [])
    ]
    expressions += [{"key": "a", "operator": "Exists"}]
    expressions += [{"key": "a", "operator": "DoesNotExist", "values": []}]
    expressions += [{"key": "a", "operator": "exists"}, {"key": "", "operator": "In"}]
    yield from ({"matchExpressions": [expression]} for expression in expressions)
    for _ in range(_RANDOM // 5):
        chosen = random_.sample(expressions, random_.randrange(1, 4))
        yield {"matchExpressions": chosen}
        yield {"matchExpressions": chosen[::-1]}
        yield {"matchExpressions": chosen, "matchLabels": {"a": random_.choice("xy")}}


def _sets(random_: random.Random) -> Iterator[Any]:
    scalars: list[Any] = ["a", "b", "c", "1", 1, 2, True, 1.5, ""]
    yield from ([], ["a"], ["a", "b"], ["b", "a"], ["a", "a"], [1, "1"], ["1", 1])
    for _ in range(_RANDOM // 5):
        chosen = random_.sample(scalars, random_.randrange(4))
        yield chosen
        yield chosen[::-1]


def questions() -> Iterator[tuple[str, list[Any]]]:
    """Yield the values of each normalizer, without those that are there twice."""
    random_ = random.Random(_SEED)
    values = {
        "quantity": _quantities(random_),
        "duration": _durations(random_),
        "time": _times(random_),
        "int-or-string": iter(_INT_OR_STRING),
        "base64": iter(_BASE64),
        "label-selector": _selectors(random_),
        "set": _sets(random_),
    }
    for name, found in values.items():
        texts = dict.fromkeys(json.dumps(value) for value in found)
        yield name, [json.loads(text) for text in texts]


def record() -> None:
    """Write the record again."""
    asked = [*questions()]
    lines = [json.dumps({"op": name, "values": values}) for name, values in asked]
    with tempfile.TemporaryDirectory() as directory:
        versions = (GO_MODULE / "go.mod", GO_MODULE / "go.sum")
        for file in (*versions, DIRECTORY / "compare.go"):
            shutil.copy(file, directory)
        command = ["go", "run", "-mod=mod", "."]
        done = subprocess.run(
            command,
            cwd=directory,
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
        )
    answers = map(json.loads, done.stdout.splitlines())
    rows = [
        json.dumps({"normalizer": name, "values": values, "classes": classes})
        for (name, values), classes in zip(asked, answers, strict=True)
    ]
    RECORD.write_bytes(lzma.compress("".join(f"{row}\n" for row in rows).encode()))


def classes() -> dict[str, tuple[list[Any], list[int]]]:
    """Read the values of each normalizer, and the class of each."""
    rows = map(json.loads, lzma.decompress(RECORD.read_bytes()).decode().splitlines())
    return {row["normalizer"]: (row["values"], row["classes"]) for row in rows}


if __name__ == "__main__":
    record()
