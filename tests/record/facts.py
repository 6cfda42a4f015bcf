"""Record what Kubernetes answers about selectors, names and durations.

``python -m tests.record.facts`` asks tests/data/facts/facts.go and writes facts.jsonl
beside it, a question and its answer a line. The answer for a selector is which of the
sets it selects, null if it cannot be read; for a name, whether it is valid; for a
duration and for a LabelSelector, their text.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any, Final

from smp._values.values import JSONObject
from tests.support.paths import DATA, GO_MODULE

DIRECTORY: Final = DATA / "facts"

LABELS: Final = (
    "a=b",
    "a==b",
    "a!=b",
    "a in (b)",
    "a in (b, c)",
    "a in(b)",
    "a notin (b,c)",
    "a",
    "!a",
    "! a",
    " a = b , c ",
    "a=b,c!=d,e in (f,g),h notin (i),j,!k",
    "example.com/a=b",
    "a=",
    "a!=",
    "a in ()",
    "a in (,b)",
    "in in (in)",
    "notin",
    "a>1",
    "a<1",
    "a in (b),c",
    "a =b",
    "a= b",
    "x.y_z-1=A_b.c-d",
    "a  in  (b)",
    "\ta\n=\tb",
    "",
    " ",
    "a,",
    ",a",
    "a,,b",
    "!a=b",
    "a=b=c",
    "a in",
    "a in b",
    "a in (b",
    "a in b)",
    "a b",
    "a notin",
    "(a)",
    "a=(b)",
    "a>x",
    "a<",
    "a>=1",
    "-a=b",
    "a=-b",
    "a=b c",
    "a in (b c)",
    "/a=b",
    "a/b/c=d",
    "A.example/a=b",
    "a!b",
    "=b",
    "a" * 63,
    "a" * 64,
    "a=" + "b" * 63,
    "a=" + "b" * 64,
    "x/" + "a" * 63,
    "a in ((b))",
    "a ! = b",
    "a => b",
    "ä=b",
    "a>-1",
    "a>+1",
    "a>01",
    "a>9223372036854775807",
    "a>9223372036854775808",
    "a=b,a=c",
    "a,a",
    "in",
    "a in,b",
    "!!a",
    "a in (b)c",
    "a in (b) c",
    "!a,b",
    "a notin()",
    "a notin (b),",
    "a=\u00a0b",
    "a!=b,!c",
    "a==",
    "a===b",
    "a!==b",
)
LABEL_SETS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"a": "b"},
    {"a": "c", "c": "d", "e": "f", "h": "j", "j": ""},
    {"a": "", "c": "x", "e": "g", "j": "1", "k": "1"},
    {"a": "2", "in": "in", "notin": "x", "example.com/a": "b"},
    {"a": "-5"},
    {"a": "9223372036854775807", "b": "x"},
    {"a": "02", "x.y_z-1": "A_b.c-d"},
)
FIELDS: Final = (
    "metadata.name=web",
    "metadata.name==web",
    "metadata.name!=web",
    "a=b,c!=d",
    "a=b,",
    ",a=b",
    "",
    "a=",
    "a=b c",
    "a",
    "a=b=c",
    "a=b\\=c",
    "a=b\\,c",
    "a=b\\\\c",
    "a=b\\c",
    "a=b\\",
    "a!b",
    "a===b",
    "a!=",
    "a=b,c",
    ",",
    "a!=b",
    "a=b!c",
    "a=b\\!c",
    "a =b",
    " a=b",
    "a=b,,c=d",
    "a=b,a!=b",
)
FIELD_SETS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"metadata.name": "web"},
    {"a": "b"},
    {"a": "b", "c": "d"},
    {"a": "b=c"},
    {"a": "b,c"},
    {"a": "b\\c"},
    {"a": "b c"},
    {"a": "b!c"},
)
SECONDS: Final = (
    -3,
    -2,
    -1.5,
    -1,
    -0.5,
    0,
    0.9,
    1,
    59,
    60,
    119,
    120,
    121,
    599,
    600,
    601,
    659,
    660,
    10799,
    10800,
    10860,
    12345,
    28799,
    28800,
    32400,
    86399,
    86400,
    172799,
    172800,
    176400,
    690000,
    691199,
    691200,
    774000,
    63071999,
    63072000,
    63158400,
    94608000,
    252287999,
    252288000,
    300000000,
    3153600000,
)
WORDS: Final = (
    "a",
    "a1",
    "a-1",
    "a--b",
    "0",
    "1-a",
    "-",
    "a-",
    "-a",
    "A",
    "a_b",
    "_a",
    "a.b",
    "a..b",
    ".a",
    "a.",
    "a b",
    "",
    "é",
    "a.b.c",
    "1.2",
    "a/b",
    "/a",
    "a/",
    "a/b/c",
    "x.y/A_b.c-1",
    "A.x/b",
    "a%b",
    ".",
    "..",
    "a:b",
    "\n",
    "a\n",
    "a" * 63,
    "a" * 64,
    "a" * 253,
    "a" * 254,
    "a." * 126 + "a",
    "x/" + "b" * 63,
    "x/" + "b" * 64,
    "kubernetes.io/x",
)
RULES: Final = ("label", "subdomain", "rfc1035", "path", "label key", "label value")
SELECTORS: Final[tuple[JSONObject | None, ...]] = (
    None,
    {},
    {"matchLabels": {"b": "c", "a": "d"}},
    {"matchLabels": {"a": ""}},
    {
        "matchExpressions": [
            {"key": "z", "operator": "DoesNotExist"},
            {"key": "e", "operator": "Exists"},
        ]
    },
    {
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}],
        "matchLabels": {"m": "n"},
    },
    {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]},
    {"matchExpressions": [{"key": "a", "operator": "Unlike", "values": ["x"]}]},
)


def questions() -> Iterator[dict[str, Any]]:
    """Yield the questions."""
    yield from (
        {"op": "labels", "text": text, "sets": [*LABEL_SETS]} for text in LABELS
    )
    yield from (
        {"op": "fields", "text": text, "sets": [*FIELD_SETS]} for text in FIELDS
    )
    yield from ({"op": "duration", "seconds": seconds} for seconds in SECONDS)
    yield from ({"op": rule, "text": text} for rule in RULES for text in WORDS)
    yield from ({"op": "selector", "selector": selector} for selector in SELECTORS)


def facts(*ops: str) -> list[tuple[Any, Any]]:
    """Read the questions of some kinds, each with its answer."""
    lines = map(json.loads, (DIRECTORY / "facts.jsonl").read_text().splitlines())
    return [(question, answer) for question, answer in lines if question["op"] in ops]


def record() -> None:
    """Write the record again."""
    asked = [json.dumps(question) for question in questions()]
    with tempfile.TemporaryDirectory() as directory:
        versions = (GO_MODULE / "go.mod", GO_MODULE / "go.sum")
        for file in (*versions, DIRECTORY / "facts.go"):
            shutil.copy(file, directory)
        command = ["go", "run", "-mod=mod", "."]
        done = subprocess.run(
            command,
            cwd=directory,
            input="\n".join(asked),
            capture_output=True,
            text=True,
            check=True,
        )
    rows = zip(asked, done.stdout.splitlines(), strict=True)
    (DIRECTORY / "facts.jsonl").write_text(
        "".join(f"[{question}, {answer}]\n" for question, answer in rows)
    )


if __name__ == "__main__":
    record()
