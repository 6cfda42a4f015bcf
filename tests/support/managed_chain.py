"""Sequences of writes by field managers, and what Kubernetes makes of each of them.

The Go program in tests/managed_fields/oracle runs the whole chain of
k8s.io/apimachinery/pkg/util/managedfields. ``answered`` makes random sequences and asks
it.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence as Many
from functools import cache
from typing import Any, Final

import msgspec
import pytest

from smp.values import JSON, JSONObject, as_object
from tests.support.chain_resources import resources
from tests.support.field_sets import GO_MODULE
from tests.support.makers.managed_sequences import Sequence
from tests.support.reference import Reference, UnavailableError

# How often a resource is chosen: those with all types of lists and maps more often.
_WEIGHTS: Final = {"Every": 6, "App": 4, "Defaulted": 1}


class Step(msgspec.Struct, frozen=True):
    """One write: the object before it, the request, and the answer."""

    resource: str
    live: JSONObject | None
    request: JSONObject
    answer: JSONObject


@cache
def oracle() -> Reference | None:
    """Return the Go program with all resources, or None where it cannot be built."""
    try:
        # Not the shared program: tests.support.field_sets defines other schemas with
        # the same names in that.
        program = Reference(GO_MODULE)
    except UnavailableError:
        return None
    atexit.register(program.close)
    definitions = [resource.definition for resource in resources().values()]
    assert program.run(definitions) == [{}] * len(definitions)
    return program


needs_oracle: Final = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].oracle() is None",
    reason="tests/managed_fields/oracle cannot be built: no go, or no modules",
)


def answered(seed: str, count: int, names: Many[str] = ()) -> list[list[Step]]:
    """Make that many sequences and have each step answered.

    All sequences go on together, so that the program is asked for many steps at once.
    """
    program = oracle()
    assert program is not None
    chosen = names or [
        name for name in resources() for _ in range(_WEIGHTS.get(name, 1))
    ]
    sequences = [
        Sequence(f"{seed} {number}", resources()[chosen[number % len(chosen)]])
        for number in range(count)
    ]
    lives = [sequence.initial() for sequence in sequences]
    done: list[list[Step]] = [[] for _ in sequences]
    for turn in range(max(sequence.length for sequence in sequences)):
        going = [number for number in range(count) if sequences[number].length > turn]
        steps = [sequences[number].step(lives[number]) for number in going]
        asked = [
            _request(sequences[number], lives[number], step)
            for number, step in zip(going, steps, strict=True)
        ]
        for number, step, reply in zip(going, steps, program.run(asked), strict=True):
            assert "error" not in reply, reply
            answers: Any = reply["answers"]
            answer = answers[0]
            name = sequences[number].resource.name
            done[number].append(Step(name, lives[number], step, answer))
            if "error" in answer and not sequences[number].keeps_what_failed():
                continue
            if "object" in answer:
                lives[number] = _stored(answer["object"])
    return done


def _request(sequence: Sequence, live: JSON, step: JSONObject) -> JSONObject:
    resource = sequence.resource
    return {
        "op": "sequence",
        "schema": resource.name,
        "kind": resource.kind,
        "object": live,
        "steps": [step],
    }


def _stored(written: JSONObject) -> JSONObject:
    """Return an object as a server stores it: it has a UID."""
    metadata = as_object(written.get("metadata"))
    return {**written, "metadata": {"uid": "1", **metadata}}
