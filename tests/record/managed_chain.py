"""Record sequences of writes by field managers, with the answers of Kubernetes.

``python -m tests.record.managed_chain`` writes tests/data/managed_fields/chain.jsonl.xz
again. The Go program in tests/managed_fields/oracle answers. A line is a sequence: the
object before it, or null, and its steps, each with its answer.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.values import as_object, same
from tests.record.field_sets import DIRECTORY, read
from tests.support.managed_chain import Step, answered

CHAIN: Final = DIRECTORY / "chain.jsonl.xz"
SEQUENCES: Final = 1500
SEED: Final = "recorded"


def recorded() -> Iterator[list[Step]]:
    """Yield the steps of each recorded sequence."""
    for line in read(CHAIN):
        live = line["initial"]
        steps: list[Step] = []
        for written in line["steps"]:
            request = {**written}
            answer = request.pop("answer")
            live = request.pop("live", live)
            steps.append(Step(line["resource"], live, request, answer))
            if "object" in answer:
                live = answer["object"]
        yield steps


def _lines() -> Iterator[bytes]:
    for sequence in answered(SEED, SEQUENCES):
        steps = []
        live = sequence[0].live
        for step in sequence:
            written = {**step.request, "answer": step.answer}
            # What is not the answer of the step before.
            if not same(step.live, live):
                written["live"] = step.live
            steps.append(written)
            live = step.live
            if "object" in step.answer:
                live = as_object(step.answer["object"])
        first = sequence[0]
        line = {"resource": first.resource, "initial": first.live, "steps": steps}
        yield msgspec.json.encode(line) + b"\n"


if __name__ == "__main__":
    CHAIN.write_bytes(lzma.compress(b"".join(_lines()), preset=9 | lzma.PRESET_EXTREME))
