"""Sequences of writes by field managers, and what Kubernetes makes of each of them.

The Go program in tests/managed_fields/oracle runs the whole chain of
k8s.io/apimachinery/pkg/util/managedfields. ``answered`` makes random sequences and asks
it.
"""

from __future__ import annotations

import atexit
import difflib
import json
import re
from collections.abc import Sequence as Many
from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec
import pytest

import smp
from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.errors import SmpError
from smp.managed_fields import Serving
from tests.support.chain_resources import Resource, resources
from tests.support.field_sets import GO_MODULE
from tests.support.makers.managed_sequences import Sequence
from tests.support.reference import Reference, UnavailableError, as_go_prints

# How often a resource is chosen: those with all types of lists and maps more often.
_WEIGHTS: Final = {"Every": 6, "App": 4, "Defaulted": 2}


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
    reason="tests/managed_fields/oracle was not built (SMP_GO=build), or cannot be",
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
    lives = _decoded(program, sequences, [each.initial() for each in sequences])
    done: list[list[Step]] = [[] for _ in sequences]
    for turn in range(max(sequence.length for sequence in sequences)):
        going = [number for number in range(count) if sequences[number].length > turn]
        steps = [sequences[number].step(lives[number]) for number in going]
        # What is tracked is the object as the server has decoded it.
        updates = [
            step.get("object") if step["op"] == "update" else None for step in steps
        ]
        owners = [sequences[number] for number in going]
        for step, fresh in zip(steps, _decoded(program, owners, updates), strict=True):
            if fresh is not None:
                step["object"] = fresh
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


def _decoded(
    program: Reference, sequences: Many[Sequence], objects: Many[JSON]
) -> list[JSONObject | None]:
    """Return objects as a server decodes them; None where there is none."""
    asked: list[JSONObject] = [
        {"op": "decode", "schema": sequence.resource.name, "object": obj}
        for sequence, obj in zip(sequences, objects, strict=True)
        if obj is not None
    ]
    replies = iter(program.run(asked))
    found: list[JSONObject | None] = []
    for obj in objects:
        # What cannot be decoded is sent as it is.
        reply = {} if obj is None else next(replies)
        found.append(as_object(reply.get("object", obj)) or None)
    return found


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
    if "uid" in metadata:
        return written
    return {**written, "metadata": {"uid": "1", **metadata}}


def ours(step: Step) -> JSONObject:
    """Answer a step with ``smp`` as the Go program does."""
    request = step.request
    resource = resources()[step.resource]
    api_version = str(request["apiVersion"])
    schema = resource.schemas[api_version]
    live = step.live
    if live is not None:
        live = {**live, "apiVersion": api_version}
    manager = str(request["manager"])
    subresource = str(request.get("subresource", ""))
    now = datetime.fromisoformat(str(request["now"]))
    if request["op"] == "apply":
        try:
            applied = smp.server_side_apply(
                live,
                as_object(request["object"]),
                schema,
                manager=manager,
                force=bool(request.get("force")),
                subresource=subresource,
                profile="off",
                serving=_serving(resource),
                now=now,
            )
        except SmpError as error:
            return {"error": _described(error)}
        return {"object": applied.object, "changed": applied.changed}
    if request["op"] == "scale":
        assert live is not None
        spec = {**as_object(live.get("spec")), "replicas": request["replicas"]}
        fresh: JSONObject = {**live, "spec": spec}
        subresource = "scale"
    else:
        fresh = as_object(request["object"])
    written = smp.managed_fields.track(
        live,
        fresh,
        schema,
        manager=manager,
        subresource=subresource,
        serving=_serving(resource),
        now=now,
    )
    return {"object": written, "changed": not same(written, live)}


def _serving(resource: Resource) -> Serving:
    return Serving(
        versions=resource.schemas, custom=resource.is_custom, kubernetes="1.36.3"
    )


def _described(error: SmpError) -> JSONObject:
    described: JSONObject = {"message": _in_order(error.problem)}
    if isinstance(error, smp.ApplyConflictError):
        causes: JSONArray = [conflict.cause for conflict in error.conflicts]
        described["causes"] = sorted(causes, key=str)
    return described


def comparable(answer: JSONObject) -> JSONObject:
    """Return an answer of the Go program without what differs from run to run."""
    error = answer.get("error")
    if not isinstance(error, dict):
        return answer
    if "object" in answer:
        # An update whose fields cannot be tracked succeeds nevertheless.
        return {name: value for name, value in answer.items() if name != "error"}
    described: JSONObject = {"message": _in_order(as_text(error["message"]))}
    causes = as_list(error.get("causes"))
    if causes:
        described["causes"] = sorted(causes, key=str)
    return {"error": described}


def _in_order(message: str) -> str:
    """Return a message without Go's pointers, with its errors in order.

    Go goes through a map in any order.
    """
    first, *others = re.sub(", got .*", "", message).split("\n")
    return "\n".join([first, *sorted(others)])


def difference(expected: JSONObject, found: JSONObject) -> str:
    """Return how an answer differs from the expected one; nothing where it does not."""
    lines = []
    for name in ("error", "changed", "object"):
        left = _printed(expected.get(name))
        right = _printed(as_go_prints(found.get(name)))
        if left != right:
            compared = difflib.unified_diff(left, right, "Go", "smp", lineterm="", n=2)
            lines += [name, *compared]
    return "\n".join(lines)


def _printed(value: JSON) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).split("\n")
