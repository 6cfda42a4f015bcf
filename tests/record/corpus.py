"""Record what the reference answers, to check against where there is no Go.

``python -m tests.record.corpus`` writes tests/data/corpus again. Cases whose difference
is unexplained are printed and left out. A line is one case: ``{"op", "on", "documents",
"options", "answer", "deviation"}``. The answer is the reference's, an error as
``{"error": true}``. Where a deviation explains a difference (docs/deviations.md) the
answer is ours, and the line names the deviation.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from smp._strategic import apply_patch, compose_patches
from smp._values.values import JSON, JSONObject, same
from smp.errors import SmpError
from tests.support import composition
from tests.support.differential import (
    CONFLICT,
    OPERATIONS,
    Case,
    Verdict,
    compare,
    describe,
    prepared,
    random_case,
    stored,
    subjects_by_name,
)
from tests.support.paths import DATA
from tests.support.reference import Reference, as_go_prints, reference

DIRECTORY: Final = DATA / "corpus"
# The longest line in characters: longer cases show nothing that shorter ones do not.
LONGEST: Final = 2200
SHORTEST: Final = 200
# The first seed; those of the random tests are below it.
FIRST: Final = 10**6


def cases(directory: Path = DIRECTORY) -> Iterator[tuple[Case, JSONObject]]:
    """Read the recorded cases, each with the answer that is expected of smp."""
    subjects = subjects_by_name()
    for op in OPERATIONS:
        for line in _read(directory / f"{op}.jsonl.gz"):
            options = tuple(line["options"])
            case = Case(op, subjects[line["on"]], line["documents"], options)
            yield case, line["answer"]


def chains(
    directory: Path = DIRECTORY,
) -> Iterator[tuple[composition.Chain, list[JSON]]]:
    """Read the recorded chains of patches, each with the results for its objects.

    A result is what the reference makes of an object with the patches in turn.
    """
    subjects = subjects_by_name()
    for line in _read(directory / "compose.jsonl.gz"):
        chain = composition.Chain(
            subjects[line["on"]], tuple(line["objects"]), tuple(line["patches"])
        )
        yield chain, line["results"]


def difference(chain: composition.Chain, results: list[JSON]) -> str:
    """Describe how our composed patch differs from recorded results; "" if it does not.

    A result None stands for patches that fail in turn; anything is right there.
    """
    schema = chain.subject.schema
    try:
        composed = compose_patches(chain.patches, schema)
        different = []
        for original, expected in zip(chain.objects, results, strict=True):
            if expected is None:
                continue
            actual = as_go_prints(apply_patch(original, composed, schema))
            if not same(expected, actual):
                different.append((original, expected, actual))
    except SmpError as error:
        return f"{chain.patches}: {error}"
    return f"{chain.patches}: {composed}: {different}" if different else ""


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _write(path: Path, lines: Sequence[JSONObject]) -> None:
    text = "".join(
        json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a time in the file equal records are equal bytes.
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _line(verdict: Verdict) -> JSONObject:
    case = verdict.case
    answer = verdict.ours if verdict.reason else verdict.theirs
    expected: JSONObject
    if "result" in answer:
        expected = {"result": as_go_prints(answer["result"])}
    else:
        is_conflict = CONFLICT in str(answer.get("error"))
        expected = {"error": CONFLICT if is_conflict else True}
    line: JSONObject = {
        "on": case.subject.name,
        "documents": {**case.documents},
        "options": [*case.options],
        "answer": expected,
    }
    if verdict.reason:
        line["deviation"] = verdict.reason
    return line


def record(go: Reference, op: str, count: int) -> list[JSONObject]:
    """Record that many short cases of an operation, two thirds of them valid."""
    lines: list[JSONObject] = []
    for first in range(FIRST, FIRST + 6 * count, 500):
        asked = [
            random_case(op, seed, broken=seed % 3 == 0)
            for seed in range(first, first + 500)
        ]
        for verdict in compare(go, asked):
            if len(lines) == count:
                return lines
            if verdict.reason is None:
                sys.stderr.write(f"unexplained: {describe(verdict)}\n")
                continue
            line = _line(verdict)
            if _is_worth_recording(line) and _has_one_outcome(go, verdict.case):
                lines.append(line)
    return lines


def _has_one_outcome(go: Reference, case: Case) -> bool:
    """Tell whether the reference always answers the same: it walks maps at random."""
    answers = go.run([{**case.request, "repeat": 300}])[0]["results"]
    distinct = set()
    for answer in answers if isinstance(answers, list) else []:
        if isinstance(answer, dict):
            is_conflict = CONFLICT in str(answer)
            distinct.add(json.dumps(answer.get("result", is_conflict)))
    return len(distinct) == 1


def _is_worth_recording(line: JSONObject) -> bool:
    if not SHORTEST < len(json.dumps(line)) < LONGEST:
        return False
    return line["answer"] not in ({"result": {}}, {"result": False})


def record_chains(go: Reference, count: int) -> list[JSONObject]:
    """Record that many chains of patches for which the law of composition holds."""
    lines: list[JSONObject] = []
    for first in range(FIRST, FIRST + 6 * count, 500):
        chains = [composition.random_chain(seed) for seed in range(first, first + 500)]
        for outcome in composition.outcomes(go, chains):
            if len(lines) == count:
                return lines
            if outcome.verdict != composition.KEPT:
                continue
            results = composition.results_in_turn(go, [outcome.chain])[0]
            line: JSONObject = {
                "on": outcome.chain.subject.name,
                "objects": [*outcome.chain.objects],
                "patches": [*outcome.chain.patches],
                "results": [stored(result) for result in results],
            }
            if len(json.dumps(line)) < LONGEST:
                lines.append(line)
    return lines


def main() -> None:
    """Write the corpus again."""
    go = reference()
    if go is None:
        sys.exit("the reference cannot be built here")
    for op in OPERATIONS:
        _write(DIRECTORY / f"{op}.jsonl.gz", record(prepared(go), op, 1700))
    _write(DIRECTORY / "compose.jsonl.gz", record_chains(go, 700))


if __name__ == "__main__":
    main()
