"""Record what the reference answers, so that its answers are checked where there is no
Go.

``python -m tests.record.corpus`` writes tests/data/corpus anew; it prints, and leaves
out, what nothing explains. A line is one case: ``{"op", "on", "documents", "options",
"answer", "deviation"}``. The answer is the reference's, an error as ``{"error":
true}``; where a deviation explains a difference (docs/deviations.md), it is ours, and
the line names the deviation."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from smp.errors import SmpError
from smp.strategic import apply_patch, compose_patches
from smp.values import JSON, JSONObject, same
from tests.support import composition
from tests.support.differential import (
    CONFLICT,
    OPERATIONS,
    Case,
    Verdict,
    by_name,
    compare,
    made,
    prepared,
    shown,
    stored,
)
from tests.support.paths import DATA
from tests.support.reference import Reference, as_go_prints, reference

DIRECTORY: Final = DATA / "corpus"
# characters a line; longer cases show nothing that shorter ones do not
LONGEST: Final = 2200
FIRST: Final = 10**6


def cases(directory: Path = DIRECTORY) -> Iterator[tuple[Case, JSONObject]]:
    """Read the recorded cases, each with the answer that is expected of us."""
    subjects = by_name()
    for op in OPERATIONS:
        for line in _read(directory / f"{op}.jsonl.gz"):
            yield (
                Case(
                    op, subjects[line["on"]], line["documents"], tuple(line["options"])
                ),
                line["answer"],
            )


def chains(
    directory: Path = DIRECTORY,
) -> Iterator[tuple[composition.Chain, list[JSON]]]:
    """Read the recorded chains of patches, each with what the reference makes of its
    objects in turn.
    """
    subjects = by_name()
    for line in _read(directory / "compose.jsonl.gz"):
        chain = composition.Chain(
            subjects[line["on"]], tuple(line["objects"]), tuple(line["patches"])
        )
        yield chain, line["results"]


def broken_law(recorded: tuple[composition.Chain, list[JSON]]) -> str:
    """Say how our composed patch, applied, differs from the recorded results; "" where
    it does not.
    """
    chain, results = recorded
    wanted = [
        (one, result)
        for one, result in zip(chain.objects, results, strict=True)
        if result is not None
    ]
    try:
        composed = compose_patches(chain.patches, chain.subject.schema)
        found = [
            as_go_prints(apply_patch(one, composed, chain.subject.schema))
            for one, _ in wanted
        ]
    except SmpError as error:
        return f"{chain.patches}: {error}"
    differ = [
        pair for pair, own in zip(wanted, found, strict=True) if not same(pair[1], own)
    ]
    return f"{chain.patches}: {composed}: {differ}" if differ else ""


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _write(path: Path, lines: Sequence[JSONObject]) -> None:
    text = "".join(
        json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _recorded(verdict: Verdict) -> JSONObject:
    case, own, theirs = verdict.case, verdict.ours, verdict.theirs
    answer = own if verdict.reason else theirs
    error: JSON = CONFLICT if CONFLICT in str(answer.get("error")) else True
    return {
        "on": case.subject.name,
        "documents": {**case.documents},
        "options": [*case.options],
        "answer": {"result": as_go_prints(answer["result"])}
        if "result" in answer
        else {"error": error},
        **({"deviation": verdict.reason} if verdict.reason else {}),
    }


def record(go: Reference, op: str, count: int) -> list[JSONObject]:
    """Record that many short cases of an operation, two thirds of them valid."""
    lines: list[JSONObject] = []
    for seed in range(FIRST, FIRST + 6 * count, 500):
        if len(lines) == count:
            break
        asked = [made(op, one, broken=one % 3 == 0) for one in range(seed, seed + 500)]
        for verdict in compare(go, asked):
            if verdict.reason is None:
                sys.stderr.write(f"unexplained: {shown(verdict)}\n")
                continue
            line = _recorded(verdict)
            if len(lines) < count and _telling(line) and _certain(go, verdict.case):
                lines.append(line)
    return lines


def _certain(go: Reference, case: Case) -> bool:
    """Tell whether the reference has one outcome only: it walks maps at random."""
    outcomes = go.run([{**case.request, "repeat": 300}])[0]["results"]
    found = (
        [one for one in outcomes if isinstance(one, dict)]
        if isinstance(outcomes, list)
        else []
    )
    return (
        len({json.dumps(one.get("result", CONFLICT in str(one))) for one in found}) == 1
    )


def _telling(line: JSONObject) -> bool:
    return 200 < len(json.dumps(line)) < LONGEST and line["answer"] not in (
        {"result": {}},
        {"result": False},
    )


def record_chains(go: Reference, count: int) -> list[JSONObject]:
    """Record that many chains for which the law holds to the letter."""
    lines: list[JSONObject] = []
    for seed in range(FIRST, FIRST + 6 * count, 500):
        if len(lines) == count:
            break
        made_chains = [composition.made(one) for one in range(seed, seed + 500)]
        for outcome in composition.outcomes(go, made_chains):
            line: JSONObject = {
                "on": outcome.chain.subject.name,
                "objects": [*outcome.chain.objects],
                "patches": [*outcome.chain.patches],
                "results": [
                    stored(result)
                    for result in composition.in_turn(go, [outcome.chain])[0]
                ],
            }
            if (
                len(lines) < count
                and outcome.word == composition.KEPT
                and len(json.dumps(line)) < LONGEST
            ):
                lines.append(line)
    return lines


def main() -> None:
    """Write the corpus anew."""
    go = reference()
    if go is None:
        sys.exit("the reference cannot be built here")
    for op in OPERATIONS:
        _write(DIRECTORY / f"{op}.jsonl.gz", record(prepared(go), op, 1700))
    _write(DIRECTORY / "compose.jsonl.gz", record_chains(go, 700))


if __name__ == "__main__":
    main()
