"""Any input gives a result or a SmpError, and large inputs are processed in time."""

from __future__ import annotations

import copy
import faulthandler
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._strategic import (
    KUBECTL_PRECONDITIONS,
    apply_patch,
    compose_patches,
    find_conflicts,
    read_object,
    three_way_patch,
    two_way_patch,
)
from smp._values.values import JSON, JSONObject, same
from smp.errors import CompositionError, DepthError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from tests.support.errors import assert_reported
from tests.support.makers import Maker, subjects
from tests.support.strategies import json_values, makers

# Any: the operations are to survive arguments of any JSON type.
Operation = Callable[[Any, Any, Schema], object]


def three_way(first: Any, second: Any, schema: Schema) -> object:
    return three_way_patch(first, second, first, schema)


def strict_three_way(first: Any, second: Any, schema: Schema) -> object:
    return three_way_patch(
        second,
        first,
        second,
        schema,
        overwrite=False,
        preconditions=KUBECTL_PRECONDITIONS,
    )


def compose(first: Any, second: Any, schema: Schema) -> object:
    return compose_patches([first, second, first], schema)


OPERATIONS: dict[str, Operation] = {
    "apply": apply_patch,
    "two-way": two_way_patch,
    "three-way": three_way,
    "strict three-way": strict_three_way,
    "compose": compose,
    "conflicts": find_conflicts,
}
every_operation = pytest.mark.parametrize(
    "operation", OPERATIONS.values(), ids=OPERATIONS.keys()
)
DEPTH = 50_000
SIZE = 100_000
WIDE = inline(
    {
        "type": "object",
        "properties": {
            "named": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "value": {"type": "integer"},
                    },
                },
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "tags": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-patch-strategy": "merge",
            },
        },
    }
)


def assert_result_or_error(
    operation: Operation, first: JSON, second: JSON, schema: Schema
) -> None:
    before = copy.deepcopy([first, second])
    try:
        result = operation(first, second, schema)
    except SmpError as error:
        # A composition has steps that stand in neither patch.
        documents = () if operation is compose else (first, second)
        assert_reported(error, *documents)
    else:
        expected = tuple if operation is find_conflicts else dict
        assert isinstance(result, expected)
    assert same([first, second], before)


@pytest.mark.exhaustive
@every_operation
@given(
    first=json_values(),
    second=json_values(),
    schema=st.sampled_from([subject.schema for subject in subjects()]),
)
def test_any_json_gives_a_result_or_an_error_of_this_library(
    operation: Operation, first: JSON, second: JSON, schema: Schema
) -> None:
    assert_result_or_error(operation, first, second, schema)


@pytest.mark.exhaustive
@every_operation
@given(maker=makers())
def test_broken_objects_give_a_result_or_an_error_of_this_library(
    operation: Operation, maker: Maker
) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    first = maker.spoiled(maker.patch(live, schema), schema, patch=True)
    second = maker.spoiled(maker.extended(live, schema), schema, patch=True)
    for pair in ((first, second), (second, first), (maker.arbitrary(), first)):
        assert_result_or_error(operation, *pair, schema)


@pytest.mark.slow
@given(document=json_values(), first=json_values(), second=json_values())
def test_any_schema_document_gives_a_schema_or_an_error_of_this_library(
    document: JSON, first: JSON, second: JSON
) -> None:
    try:
        schema = inline(document)
    except SmpError as error:
        assert_reported(error)
        return
    for operation in OPERATIONS.values():
        assert_result_or_error(operation, first, second, schema)


def nested(step: Callable[[JSON], JSON], innermost: JSON) -> JSONObject:
    value = innermost
    for _ in range(DEPTH):
        value = step(value)
    return {"spec": value}


def an_object(value: JSON) -> JSON:
    return {"not": value}


def a_list(value: JSON) -> JSON:
    return [value]


def test_an_error_names_its_path_and_its_code() -> None:
    with pytest.raises(SmpError) as caught:
        apply_patch(
            {"spec": {"containers": [{"name": "app"}]}},
            {"spec": {"containers": [{"image": "x"}]}},
            kubernetes().schema("v1", "Pod"),
        )
    assert (caught.value.code, str(caught.value.path)) == (
        "missing-merge-key",
        "spec.containers[0]",
    )


# Everything else is a DepthError. A composition may take the later list as it is, which
# the compiled engine does not; and a list in a list has no merge key, so that looking
# for conflicts stops at the first one.
OUTCOMES_OF_DEEP_LISTS = {
    "compose": {"a result", "too-deep"},
    "conflicts": {"nested-list"},
}


@pytest.mark.parametrize("step", [an_object, a_list])
@pytest.mark.parametrize("name", OPERATIONS)
def test_bottomless_values_are_an_error_or_a_result(
    name: str, step: Callable[[JSON], JSON]
) -> None:
    schema = (
        kubernetes()
        .schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        .with_unknown_fields("merge")
    )
    deep, second = nested(step, 1), nested(step, 2)
    try:
        OPERATIONS[name](deep, second, schema)
        outcome = "a result"
    except SmpError as error:
        outcome = error.code
    finally:
        dismantle(deep, second)
    expected = {"too-deep"}
    if step is a_list and name in OUTCOMES_OF_DEEP_LISTS:
        expected = OUTCOMES_OF_DEEP_LISTS[name]
    assert outcome in expected


def patches_of_containers(*containers: JSONObject) -> list[JSONObject]:
    return [{"spec": {"containers": [container]}} for container in containers]


def test_an_element_that_is_deleted_and_created_again_is_composed_whole() -> None:
    replaced: JSONObject = {"name": "a", "env": [{"name": "A"}, {"$patch": "replace"}]}
    patches = patches_of_containers(
        {"name": "a", "$patch": "delete"},
        {"name": "a", "image": "2", "tty": None},
        replaced,
    )
    whole: JSONObject = {"name": "a", "image": "2", "env": [{"name": "A"}]}
    assert compose_patches(patches, kubernetes().schema("v1", "Pod")) == {
        "spec": {"containers": [whole, {"$patch": "delete", "name": "a"}]}
    }


def test_a_directive_inside_an_element_that_was_deleted_cannot_be_composed() -> None:
    again: JSONObject = {"name": "a", "env": [{"name": "A", "$patch": "delete"}]}
    with pytest.raises(CompositionError):
        compose_patches(
            patches_of_containers(
                {"name": "a", "$patch": "delete"}, again, {"name": "a"}
            ),
            kubernetes().schema("v1", "Pod"),
        )


def test_patches_that_may_fail_on_the_result_of_earlier_ones_cannot_be_composed() -> (
    None
):
    # Replacing drops the marker, and leaves {}: an element without its merge key.
    keyless: list[JSONObject] = [{"name": "a"}, {"$patch": "replace"}]
    patches: list[JSONObject] = [
        {"spec": {"$patch": "replace", "containers": [*keyless]}},
        {"spec": {"containers": []}},
        {"spec": {"$patch": "delete"}},
    ]
    with pytest.raises(CompositionError) as caught:
        compose_patches(patches, kubernetes().schema("v1", "Pod"))
    assert (caught.value.code, str(caught.value.path)) == (
        "not-composable",
        "spec.containers[1]",
    )


def test_a_bottomless_patch_is_too_deep() -> None:
    deep = nested(an_object, 1)
    with pytest.raises(DepthError):
        apply_patch({}, deep, kubernetes().schema("v1", "Pod"))
    dismantle(deep)


def dismantle(*values: JSONObject) -> None:
    """Dismantle deep values from the outside.

    Deallocating 50,000 nested containers at once may overflow the C stack.
    """
    for value in values:
        inner: JSON = value
        while isinstance(inner, dict | list) and inner:
            inner = inner.popitem()[1] if isinstance(inner, dict) else inner.pop()


@contextmanager
def time_limit(seconds: int = 60) -> Iterator[None]:
    """Print every stack and exit if something linear has become quadratic.

    The test would go on for hours otherwise.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def wide(value: int) -> JSONObject:
    return {
        "named": [{"name": f"n{index}", "value": value} for index in range(SIZE)],
        "tags": [f"t{index + value}" for index in range(SIZE)],
    }


@pytest.mark.exhaustive
def test_a_hundred_thousand_elements_are_processed() -> None:
    live, modified = wide(1), wide(2)
    backwards: JSONObject = {
        name: elements[::-1]
        for name, elements in live.items()
        if isinstance(elements, list)
    }
    with time_limit():
        first = apply_patch(
            live,
            {"named": [{"name": f"n{SIZE // 2}", "value": 9}], "tags": ["new"]},
            WIDE,
        )
        assert isinstance(first["named"], list)
        assert first["named"][SIZE // 2] == {"name": f"n{SIZE // 2}", "value": 9}
        for target in (modified, backwards, {}):
            patch = two_way_patch(live, target, WIDE)
            assert same(apply_patch(live, patch, WIDE), target)
            assert same(three_way_patch(live, target, live, WIDE), patch)
        assert three_way_patch(live, modified, backwards, WIDE, overwrite=True)
        assert find_conflicts(two_way_patch(live, modified, WIDE), live, WIDE)


def test_a_hundred_thousand_directives_are_processed() -> None:
    directives: JSONObject = {
        f"${directive}/n{index}": []
        for directive in ("setElementOrder", "deleteFromPrimitiveList")
        for index in range(SIZE)
    }
    with time_limit(20):
        read = read_object({"$retainKeys": ["a"], **directives, "a": 1})
    assert (len(read.orders), len(read.deletions), read.retained, read.fields) == (
        SIZE,
        SIZE,
        ["a"],
        {"a": 1},
    )


@pytest.mark.exhaustive
def test_a_hundred_thousand_elements_compose() -> None:
    live, modified = wide(1), wide(2)
    backwards: JSONObject = {
        name: elements[::-1]
        for name, elements in modified.items()
        if isinstance(elements, list)
    }
    patches = [
        two_way_patch(live, modified, WIDE),
        two_way_patch(modified, backwards, WIDE),
    ]
    with time_limit():
        assert same(apply_patch(live, compose_patches(patches, WIDE), WIDE), backwards)


def test_conflicts_do_not_depend_on_what_patches_share() -> None:
    schema = kubernetes().schema("apps/v1", "Deployment")
    pod: JSONObject = {"containers": [{"image": "x"}], "volumes": [{"emptyDir": {}}]}
    patch: JSONObject = {"spec": {"template": {"spec": pod}}}
    paths: list[str] = []
    for other in (patch, copy.deepcopy(patch)):
        with pytest.raises(SmpError) as caught:
            find_conflicts(patch, other, schema)
        paths.append(str(caught.value.path))
    assert paths == ["spec.template.spec.containers[0]"] * 2
