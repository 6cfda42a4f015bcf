"""Record what client-go makes of managed fields on the way to server-side apply.

``python -m tests.record.upgrades`` writes tests/data/managed_fields/ again, with the
answers of the Go program in tests/managed_fields/upgrades:

- ``upgrade_cases.jsonl``: to the cases of ``upgrade_cases.yaml``.
- ``upgrades.jsonl.xz``: to random requests (tests.support.upgrades).
"""

from __future__ import annotations

import json
from typing import Final

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.documents import read_one
from tests.record.field_sets import DIRECTORY, write
from tests.support.reference import Reference
from tests.support.upgrades import CASES, expected, oracle, request_of, requests

ANSWERED: Final = DIRECTORY / "upgrade_cases.jsonl"
RECORDED: Final = DIRECTORY / "upgrades.jsonl.xz"
SEED: Final = 10**6
REQUESTS: Final = 800


def cases() -> list[JSONObject]:
    """Return the cases of the file."""
    document = read_one(CASES.read_bytes(), source=str(CASES))
    return [as_object(case) for case in as_list(document.value)]


def _record_cases(program: Reference) -> None:
    lines = []
    for case in cases():
        [answer] = program.run([request_of(case)])
        lines.append(json.dumps({"name": case["name"], "answer": answer}) + "\n")
    ANSWERED.write_text("".join(lines))


def _record_random(program: Reference) -> None:
    asked = requests(SEED, REQUESTS)
    answers = program.run(asked)
    lines: list[JSON] = []
    for request, answer in zip(asked, answers, strict=True):
        lines.append({**request, "answer": expected(request, answer)})
    write(RECORDED, lines)


if __name__ == "__main__":
    go = oracle()
    assert go is not None
    _record_cases(go)
    _record_random(go)
