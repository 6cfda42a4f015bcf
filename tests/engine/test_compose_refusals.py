"""Each refusal to compose: live objects for which no single patch exists.

The patches that are tried are all those that can be built from what the two patches
name, with every directive (Go: k8s.io/apimachinery, pkg/util/strategicpatch, mergeMap
and mergeSlice). A patch of other names does something else to what has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple

import smp
from smp._values.values import same

POD: Final = smp.kubernetes().schema("v1", "Pod")
CRON_JOB: Final = smp.kubernetes().schema("batch/v1", "CronJob")
LEFT_OUT: Final[Any] = object()
REPLACE: Final = {"$patch": "replace"}


class Refusal(NamedTuple):
    """Patches that do not compose, and the patches and objects that prove it."""

    problem: str
    schema: smp.Schema
    patches: tuple[Any, Any]
    live: tuple[Any, ...]
    candidates: Iterable[Any]


def objects(choices: dict[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*choices.values()):
        named = zip(choices, values, strict=True)
        yield {name: value for name, value in named if value is not LEFT_OUT}


def lists(elements: Iterable[Any], longest: int) -> list[Any]:
    known = [*elements]
    counts = range(longest + 1)
    return [[*each] for count in counts for each in product(known, repeat=count)]


def within(path: str, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        nested = value
        for name in reversed(path.split(".")):
            nested = {name: nested}
        yield nested


def containers(*elements: Any) -> dict[str, Any]:
    return {"spec": {"containers": [*elements]}}


def ports(*numbers: int) -> list[dict[str, Any]]:
    return [{"containerPort": number} for number in numbers]


def scalar_lists(*values: Any) -> Iterator[Any]:
    """All that a patch can say of metadata.finalizers."""
    some = [LEFT_OUT, *lists(values, 2)]
    choices: dict[str, Iterable[Any]] = {
        "finalizers": [*some, None, *lists([*values, REPLACE], 2)],
        "$setElementOrder/finalizers": some,
        "$deleteFromPrimitiveList/finalizers": some,
        "$retainKeys": [LEFT_OUT, [], ["finalizers"]],
    }
    return within("metadata", objects(choices))


def contexts(*retained: Any) -> list[Any]:
    """All that a patch can say of a securityContext of user 1 and group 2."""
    choices: dict[str, Iterable[Any]] = {
        "runAsUser": (LEFT_OUT, 1),
        "runAsGroup": (LEFT_OUT, 2),
        "$patch": (LEFT_OUT, "replace", "delete"),
        "$retainKeys": (LEFT_OUT, *retained),
    }
    return [None, *objects(choices)]


def container_lists(choices: dict[str, Iterable[Any]]) -> Iterator[Any]:
    """All that a patch can say of containers with one name, of at most two elements."""
    elements = [*objects({"name": ["a"], **choices})]
    for value in [*lists(elements, 1), *([x, y] for x in elements for y in elements)]:
        for order in (LEFT_OUT, [{"name": "a"}]):
            for first in ([], [REPLACE], [{"name": "a", "$patch": "delete"}]):
                spec = {"containers": [*first, *value]}
                if order is not LEFT_OUT:
                    spec["$setElementOrder/containers"] = order
                yield {"spec": spec}


def port_lists() -> dict[str, Iterable[Any]]:
    one = ports(1)[0]
    elements = [one, {**one, "$patch": "delete"}, REPLACE]
    orders = (LEFT_OUT, [one])
    return {
        "ports": [LEFT_OUT, None, *lists(elements, 2)],
        "$setElementOrder/ports": orders,
    }


USER: Final = {"$patch": "replace", "runAsUser": 1}
GROUP: Final = {"runAsGroup": 2}
A: Final = {"name": "a"}
REFUSALS: Final = (
    Refusal(
        "one patch replaces this object",
        POD,
        ({"spec": {"securityContext": USER}}, {"spec": {"securityContext": GROUP}}),
        ({"spec": {}}, {"spec": {"securityContext": {"fsGroup": 3}}}),
        within("spec.securityContext", contexts([], ["runAsUser"], ["runAsGroup"])),
    ),
    Refusal(
        "that the schema does not know",
        CRON_JOB,
        ({"status": {"active": "1e3"}}, {"status": {"active": {"x": {}}}}),
        ({"status": {}}, {"status": {"active": {"x": {"y": 1}}}}),
        within(
            "status.active",
            objects({"x": (LEFT_OUT, None, {}), "$retainKeys": (LEFT_OUT, [], ["x"])}),
        ),
    ),
    Refusal(
        "a merge list of scalars",
        POD,
        ({"metadata": {"finalizers": None}}, {"metadata": {"finalizers": ["f"]}}),
        ({"metadata": {}}, {"metadata": {"finalizers": ["of another"]}}),
        scalar_lists("f"),
    ),
    Refusal(
        "values of different types",
        POD,
        (
            {"metadata": {"$deleteFromPrimitiveList/finalizers": [1]}},
            {"metadata": {"finalizers": ["f"]}},
        ),
        ({"metadata": {}}, {"metadata": {"finalizers": [1]}}),
        scalar_lists("f", 1),
    ),
    Refusal(
        "without its merge key",
        POD,
        ({"spec": {"containers": None}}, containers({"image": "i"})),
        ({"spec": {}}, containers(A)),
        within(
            "spec.containers",
            [None, *lists([{"image": "i"}, REPLACE, {**A, "$patch": "delete"}], 3)],
        ),
    ),
    Refusal(
        "one patch sets this element",
        POD,
        (
            containers({**A, "ports": ports(1)}),
            containers({**A, "ports": [{"containerPort": 1, "$patch": "delete"}]}),
        ),
        # A deletion is stored where the list lacks the element, and an element of its
        # own is stored beside the first where there is no list.
        ({"spec": {}}, containers(), containers({**A, "ports": ports(1, 2)})),
        container_lists(port_lists()),
    ),
    Refusal(
        "whether the live object has this list",
        POD,
        (
            containers(REPLACE, {**A, "securityContext": USER}),
            containers({**A, "securityContext": GROUP}),
        ),
        ({"spec": {}}, containers(A)),
        container_lists({"securityContext": [LEFT_OUT, *contexts()]}),
    ),
)


def results(live: Iterable[Any], patches: Iterable[Any], schema: smp.Schema) -> Any:
    """Return what patches make of objects in turn; None where one cannot be applied."""
    changed = []
    for obj in live:
        try:
            for patch in patches:
                obj = smp.apply_patch(obj, patch, schema)  # noqa: PLW2901  # in turn
        except smp.SmpError:
            return None
        changed.append(obj)
    return changed


def test_what_a_later_patch_overwrites_is_no_reason_to_refuse() -> None:
    patches: list[Any] = [
        {"metadata": {"finalizers": None}},
        {"metadata": {"finalizers": ["f"], "$setElementOrder/finalizers": ["f"]}},
        {"metadata": {"finalizers": None, "labels": {"a": "1"}}},
    ]
    live: tuple[Any, ...] = (
        {},
        {"metadata": {}},
        {"metadata": {"finalizers": ["of another"]}},
    )
    composed = smp.compose_patches(patches, POD)
    assert same(results(live, [composed], POD), results(live, patches, POD))


def test_no_single_patch_does_what_is_refused() -> None:
    wrong: list[tuple[str, object]] = []
    for problem, schema, patches, live, candidates in REFUSALS:
        wanted = results(live, patches, schema)
        if wanted is None:
            wrong.append((problem, "the patches fail"))
            continue
        try:
            wrong.append((problem, smp.compose_patches(patches, schema)))
        except smp.CompositionError as error:
            if problem not in error.problem:
                wrong.append((problem, error))
        wrong.extend(
            (problem, candidate)
            for candidate in candidates
            if same(results(live, [candidate], schema), wanted)
        )
    assert wrong == []
