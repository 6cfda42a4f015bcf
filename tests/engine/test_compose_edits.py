"""Composing the patches of ordinary edits of a Pod, one after the other."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from itertools import pairwise
from random import Random
from typing import Any, Final

import smp
from smp._values.values import same

POD: Final = smp.kubernetes().schema("v1", "Pod")
CHAINS: Final = 3_000
LONGEST: Final = 4
MOST_REFUSED: Final = 0.08


def _env(random: Random) -> list[Any]:
    names = random.sample(["A", "B", "C"], random.choice((0, 1, 2, 2)))
    return [{"name": name, "value": random.choice("xyz")} for name in names]


def _ports(random: Random) -> list[Any]:
    numbers = random.sample([80, 443, 8080], random.choice((0, 1, 1, 2)))
    return [{"containerPort": number, "name": f"p{number}"} for number in numbers]


def _container(random: Random, name: str) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "image": random.choice(("i:1", "i:2"))}
    if random.random() < 0.7:
        container["env"] = _env(random)
    if random.random() < 0.6:
        container["ports"] = _ports(random)
    return container


def _labels(random: Random) -> dict[str, str]:
    return {name: random.choice("12") for name in random.sample("lmn", 2)}


def _finalizers(random: Random) -> list[str]:
    return random.sample(["f/a", "f/b", "f/c"], random.choice((0, 1, 2)))


def _pod(random: Random) -> dict[str, Any]:
    names = random.sample("abc", random.choice((1, 2, 2, 3)))
    metadata: dict[str, Any] = {"name": "p"}
    if random.random() < 0.7:
        metadata["labels"] = _labels(random)
    if random.random() < 0.6:
        metadata["finalizers"] = _finalizers(random)
    containers = [_container(random, name) for name in names]
    return {"metadata": metadata, "spec": {"containers": containers}}


def _edited(random: Random, pod: dict[str, Any]) -> dict[str, Any]:
    """Return the Pod with one edit."""
    pod = deepcopy(pod)
    containers, metadata = pod["spec"]["containers"], pod["metadata"]
    edit = random.choice(("containers", "env", "ports", "finalizers", "labels"))
    if edit == "containers":
        names = [each["name"] for each in containers]
        free = [name for name in "abc" if name not in names]
        if free and random.random() < 0.5:
            place = random.randrange(len(containers) + 1)
            containers.insert(place, _container(random, free[0]))
        elif len(containers) > 1:
            containers.pop(random.randrange(len(containers)))
        return pod
    made = {"env": _env, "ports": _ports, "finalizers": _finalizers, "labels": _labels}
    target = random.choice(containers) if edit in ("env", "ports") else metadata
    if edit in target and random.random() < 0.2:
        del target[edit]
    else:
        target[edit] = made[edit](random)
    return pod


def test_ordinary_edits_compose_and_do_what_they_do_in_turn() -> None:
    refused: Counter[str] = Counter()
    differing = []
    for seed in range(CHAINS):
        random = Random(seed)
        states = [_pod(random)]
        for _ in range(random.randint(2, LONGEST)):
            states.append(_edited(random, states[-1]))
        patches = [
            smp.two_way_patch(before, after, POD) for before, after in pairwise(states)
        ]
        live = states[0]
        for patch in patches:
            live = smp.apply_patch(live, patch, POD)
        try:
            composed = smp.compose_patches(patches, POD)
        except smp.CompositionError as error:
            refused[str(error.path)] += 1
            continue
        if not same(smp.apply_patch(states[0], composed, POD), live):
            differing.append((patches, composed))
    assert not differing
    assert refused.total() <= MOST_REFUSED * CHAINS
    # What removes a list of scalars, and what sets it again: no patch deletes values
    # that it does not name.
    assert [*refused] == ["metadata.finalizers"]


def test_a_created_element_is_changed_by_an_element_of_its_own() -> None:
    """Go: mergeSliceWithoutSpecialElements merges into what it appended before."""
    created = {"name": "a", "ports": [{"containerPort": 1}]}
    states: list[dict[str, Any]] = [
        {"spec": {"containers": [{"name": "z"}, *added]}}
        for added in ([], [created], [{"name": "a"}], [{"name": "a", "ports": []}])
    ]
    patches = [smp.two_way_patch(a, b, POD) for a, b in pairwise(states)]
    composed = smp.compose_patches(patches, POD)
    assert same(smp.apply_patch(states[0], composed, POD), states[-1])


def test_a_list_that_is_replaced_in_what_may_be_new_does_not_compose() -> None:
    """One live object has the element, with ports; one lacks it.

    In the first the ports have to be replaced by a directive, which the second stores
    as an element of the ports.
    """
    patches = [
        {"spec": {"containers": [{"name": "a", "ports": value}]}}
        for value in (None, [{"containerPort": 2}])
    ]
    with_element = {"name": "a", "ports": [{"containerPort": 1}]}
    results = []
    for containers in ([], [with_element]):
        live: dict[str, Any] = {"spec": {"containers": containers}}
        for patch in patches:
            live = smp.apply_patch(live, patch, POD)
        results.append(live)
    assert same(results[0], results[1])
    refusal = None
    try:
        smp.compose_patches(patches, POD)
    except smp.CompositionError as error:
        refusal = error
    assert refusal is not None


def test_an_unknown_object_that_is_removed_and_set_does_not_compose() -> None:
    """One live object lacks it, and has to get it; in another it would be merged."""
    schema = smp.kubernetes().schema("batch/v1", "CronJob")
    patches: list[dict[str, Any]] = [
        {"status": {"active": "1e3"}},
        {"status": {"active": {"x": {}}}},
    ]
    refusal = None
    try:
        smp.compose_patches(patches, schema)
    except smp.CompositionError as error:
        refusal = error
    assert refusal is not None
    assert str(refusal.path) == "status.active.x"
