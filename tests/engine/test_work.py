"""How much work an operation does, in calls, comparisons and bytes, never in seconds.

The numbers are bounds with some room: a change of the order of growth fails, little
else does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from unittest import mock

import msgspec
import pytest

import smp
from benchmarks.growth import calls
from benchmarks.inputs import Row, rows
from smp import wire
from smp._values import values
from smp._values.values import JSON, JSONObject
from smp.managed_fields import Step, owners, simulate, upgrade
from smp.wire import _lazy as lazy

POD = smp.kubernetes().schema("v1", "Pod")
WIRE: Final[dict[str, Callable[..., bytes]]] = {
    "apply": wire.apply_patch,
    "two_way": wire.two_way_patch,
    "three_way": wire.three_way_patch,
}


def pod(count: int, tag: str = "1", **more: JSON) -> JSONObject:
    containers: JSON = [
        {"name": f"c-{at}", "image": f"i:{tag}", "env": [{"name": "A", "value": "b"}]}
        for at in range(count)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"containers": containers, **more},
    }


def row(name: str) -> Row:
    (found,) = [candidate for candidate in rows() if str(candidate) == name]
    return found


@pytest.mark.parametrize(
    "change", [{"metadata": {"labels": {"a": "b"}}}, {"spec": {"nodeName": "one"}}]
)
def test_applying_one_field_is_independent_of_the_size_of_the_object(
    change: JSONObject,
) -> None:
    small, large = pod(10), pod(10_000)
    assert calls(lambda: smp.apply_patch(small, change, POD)) == calls(
        lambda: smp.apply_patch(large, change, POD)
    )


@pytest.mark.parametrize(
    "operation",
    [
        lambda count: smp.apply_patch(
            pod(count), {"spec": {"containers": [{"name": "c-1", "image": "z"}]}}, POD
        ),
        lambda count: smp.apply_patch(
            pod(count), {"spec": pod(count, "2")["spec"]}, POD
        ),
        lambda count: smp.two_way_patch(pod(count), pod(count, "2"), POD),
        lambda count: smp.two_way_patch(pod(count), pod(count // 2), POD),
        lambda count: smp.three_way_patch(
            pod(count), pod(count, "2"), pod(count, nodeName="x"), POD
        ),
        lambda count: smp.three_way_patch(None, pod(count), pod(count // 2, "3"), POD),
    ],
    ids=[
        "apply one",
        "apply all",
        "two-way",
        "two-way deleting",
        "three-way",
        "three-way adding",
    ],
)
def test_work_grows_with_the_number_of_elements(
    operation: Callable[[int], object],
) -> None:
    assert calls(lambda: operation(2_000)) <= 10.5 * calls(lambda: operation(200))


def reversed_tolerations(count: int) -> None:
    tolerations: list[JSON] = [{"key": f"k{at}"} for at in range(count)]
    before: JSONObject = {"spec": {"tolerations": tolerations}}
    after: JSONObject = {"spec": {"tolerations": tolerations[::-1]}}
    smp.three_way_apply(before, after, before, POD)


def renamed_variables(count: int) -> None:
    before, after = [
        containers({"name": "a", "env": [{"name": f"{n}{at}"} for at in range(count)]})
        for n in "AB"
    ]
    smp.explain_apply(before, after, before, POD)


@pytest.mark.parametrize("operation", [reversed_tolerations, renamed_variables])
def test_work_of_an_apply_grows_with_the_number_of_elements(
    operation: Callable[[int], None],
) -> None:
    # What is loaded and linked when it is first used is not counted.
    operation(1)
    assert calls(lambda: operation(200)) <= 4.2 * calls(lambda: operation(50))


def labels(count: int) -> list[JSONObject]:
    return [{"metadata": {"labels": {f"l-{at}": "x"}}} for at in range(count)]


def containers(*elements: JSONObject) -> JSONObject:
    return {"spec": {"containers": [*elements]}}


def one_container(count: int, value: str) -> list[JSONObject]:
    """Return elements of one merge key, each with another variable."""
    return [
        {"name": "c", "image": value, "env": [{"name": f"E-{at}", "value": value}]}
        for at in range(count)
    ]


def conflicting(count: int) -> None:
    with pytest.raises(smp.ConflictError) as caught:
        smp.three_way_patch(
            pod(count), pod(count, "2"), pod(count, "3"), POD, overwrite=False
        )
    assert len(caught.value.conflicts) == count


def composed_with_an_error(count: int) -> None:
    removed: JSONObject = {"metadata": {"finalizers": None}}
    set_again: JSONObject = {"metadata": {"finalizers": ["a"]}}
    with pytest.raises(smp.CompositionError):
        smp.compose_patches([*labels(count), removed, set_again], POD)


# Patches are composed by halves, so the logarithm of their number is a factor.
@pytest.mark.parametrize(
    ("operation", "most"),
    [
        (
            lambda count: smp.find_conflicts(
                containers(*one_container(count, "a")),
                containers(*one_container(count, "b")),
                POD,
            ),
            10.5,
        ),
        (conflicting, 10.5),
        (lambda count: smp.compose_patches(labels(count), POD), 15),
        (
            lambda count: smp.compose_patches(
                [containers({"name": f"c-{at}"}) for at in range(count)], POD
            ),
            15,
        ),
        (
            lambda count: smp.compose_patches(
                [containers(element) for element in one_container(count, "a")], POD
            ),
            15,
        ),
        (
            lambda count: smp.compose_patches(
                [
                    containers(*one_container(1, "b")),
                    containers(*one_container(count, "a")),
                ],
                POD,
            ),
            15,
        ),
        (
            lambda count: smp.compose_patches(
                [
                    {"metadata": {"$setElementOrder/finalizers": [f"f-{at}"]}}
                    for at in range(count)
                ],
                POD,
            ),
            15,
        ),
        (
            lambda count: smp.compose_patches(
                [{"metadata": {"$patch": "replace"}}, *labels(count)], POD
            ),
            15,
        ),
        (composed_with_an_error, 25),
    ],
    ids=[
        "find conflicts of elements with one key",
        "conflicts of a three-way patch",
        "compose labels",
        "compose elements",
        "compose changes of one element",
        "compose elements with one key",
        "compose order directives",
        "compose after a replacement",
        "compose with an error at the end",
    ],
)
@pytest.mark.slow
def test_work_grows_with_the_number_of_conflicts_and_of_patches(
    operation: Callable[[int], object], most: float
) -> None:
    assert calls(lambda: operation(500)) <= most * calls(lambda: operation(50))


SHARED: Final = smp.Schema.inline(
    {
        "fields": {
            "apiVersion": "string",
            "metadata": "any",
            "data": {"values": "string"},
        }
    }
)


def fights(count: int) -> None:
    """Simulate two managers that apply many fields with different values."""
    steps: list[Step] = []
    for manager in ("a", "b"):
        data: JSONObject = {str(number): manager for number in range(count)}
        steps.append(Step(manager, {"apiVersion": "v1", "data": data}, force=True))
    run = simulate(None, steps, SHARED)
    assert len(run.fights) == count


def upgraded(count: int) -> None:
    """Hand over what many managers own."""
    names = [f"manager-{number}" for number in range(count)]
    entries: list[JSON] = [
        {
            "manager": name,
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {}},
        }
        for name in names
    ]
    obj: JSONObject = {"metadata": {"managedFields": entries}}
    [owner] = owners(upgrade(obj, from_managers=names, to_manager="b"))
    assert owner.operation == "Apply"


@pytest.mark.parametrize("operation", [fights, upgraded])
def test_work_grows_with_the_number_of_fights_and_of_managers(
    operation: Callable[[int], None],
) -> None:
    assert calls(lambda: operation(1_000)) <= 10.5 * calls(lambda: operation(100))


def test_equal_objects_are_compared_once() -> None:
    base, live = pod(500), pod(500)
    with (
        mock.patch.object(values, "same", wraps=values.same) as same,
        mock.patch("smp._strategic._diff.same", same),
    ):
        assert smp.three_way_patch(base, pod(500), live, POD) == {}
    assert same.call_count <= 10


def test_an_object_that_differs_by_defaults_is_walked_once() -> None:
    modified = pod(300)
    live = pod(300)
    spec = live["spec"]
    assert isinstance(spec, dict)
    spec["containers"] = [
        {**c, "imagePullPolicy": "Always"} for c in as_list(spec["containers"])
    ]
    assert calls(lambda: smp.three_way_patch(pod(300), modified, live, POD)) <= 300 * 40


def as_list(value: JSON) -> list[JSONObject]:
    assert isinstance(value, list)
    return [element for element in value if isinstance(element, dict)]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("Pod, 100 containers, 200 env: apply", 0.02),
        ("Pod, 100 containers x 200 env: apply", 0.02),
        ("Pod, 100 containers, 200 env: two-way", 0.02),
        ("Pod, 100 containers x 200 env: three-way", 0.05),
        ("ConfigMap, 500 KB: apply", 0.01),
    ],
)
def test_an_operation_decodes_little_of_a_long_document(name: str, most: float) -> None:
    measured = row(name)
    schema = smp.kubernetes().schema(measured.api_version, measured.kind)
    with (
        mock.patch.object(lazy, "_decode", wraps=decode) as values_decoded,
        mock.patch("smp._values.codec.decode", wraps=decode) as objects_decoded,
    ):
        WIRE[measured.operation](*measured.texts, schema)
    calls_of_both = [*values_decoded.call_args_list, *objects_decoded.call_args_list]
    total = sum(len(call.args[0]) for call in calls_of_both)
    # A patch that is applied is decoded whole.
    patch = len(measured.texts[1]) if measured.operation == "apply" else 0
    assert total - patch <= most * sum(len(text) for text in measured.texts)


def decode(data: bytes) -> JSON:
    decoded: JSON = msgspec.json.decode(data)
    return decoded
