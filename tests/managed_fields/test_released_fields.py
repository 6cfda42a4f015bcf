"""Giving up what a manager owns, beside what kube-apiserver makes of empty applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import smp
from smp._values.values import JSONObject, as_object
from smp.managed_fields import Step, owners, release, simulate
from tests.managed_fields.test_recorded_sequences import recording
from tests.support.recorded_writes import Step as Recorded
from tests.support.recorded_writes import object_problems, steps_of

CONFIG_MAP: Final[JSONObject] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "namespace": "n", "labels": {"a": "b"}},
    "data": {"k": "v"},
}
SCHEMA: Final = smp.kubernetes("1.36").schema("v1", "ConfigMap")
# What a server writes, and no manager owns.
KEPT: Final = (
    "creationTimestamp",
    "generation",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
)


def recorded_steps(count: int) -> Iterator[Recorded]:
    _, sequences = recording()
    for number, sequence in enumerate(sequences[:count]):
        yield from steps_of(number, sequence)


def applies_nothing(step: Recorded) -> bool:
    """Tell whether an accepted apply gives up all that its manager applied."""
    body, manager = step.record["body"], step.record["manager"]
    if step.record["verb"] != "apply" or step.live is None or step.answer is None:
        return False
    if step.record.get("subresource") or set(body) != {
        "apiVersion",
        "kind",
        "metadata",
    }:
        return False
    if not set(body["metadata"]) <= {"name", "namespace"}:
        return False
    entries = [owner for owner in owners(step.live) if owner.manager == manager]
    return [owner.operation for owner in entries] == ["Apply"]


def test_a_release_is_what_a_server_makes_of_an_apply_of_nothing() -> None:
    found = 0
    problems: list[str] = []
    for step in recorded_steps(2000):
        if applies_nothing(step):
            found += 1
            assert step.live is not None
            assert step.after is not None
            manager = step.record["manager"]
            released = release(step.live, step.schema, manager, now=step.now)
            problems += object_problems(released, step.after, step.kind)
    assert found == 10
    assert problems == []


def test_a_release_keeps_what_no_configuration_owns() -> None:
    releases = 0
    problems: list[str] = []
    for step in recorded_steps(120):
        if step.live is None:
            continue
        metadata = as_object(step.live["metadata"])
        for manager in {owner.manager for owner in owners(step.live)}:
            releases += 1
            released = release(step.live, step.schema, manager)
            left = as_object(released["metadata"])
            problems += [
                f"{step.where} {manager}: {name}"
                for name in KEPT
                if left.get(name) != metadata.get(name)
            ]
            assert all(owner.manager != manager for owner in owners(released))
    assert releases > 500
    assert problems == []


def test_later_steps_find_the_released_object_by_its_name() -> None:
    # Measured: kube-apiserver 1.36.3 keeps the name and the namespace.
    applied = smp.server_side_apply(None, CONFIG_MAP, SCHEMA, manager="m").object
    names: JSONObject = {"name": "x", "namespace": "n"}
    empty: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": names}
    assert release(applied, SCHEMA, "m") == empty
    other: JSONObject = {**empty, "data": {"z": "1"}}
    steps = [Step("m", CONFIG_MAP), Step("m", None, "release"), Step("o", other)]
    run = simulate(None, steps, SCHEMA)
    assert run.object is not None
    metadata = as_object(run.object["metadata"])
    assert {name: metadata[name] for name in names} == names
    assert run.object["data"] == {"z": "1"}
