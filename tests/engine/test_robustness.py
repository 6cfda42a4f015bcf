"""Whatever comes in, nothing but a SmpError comes out; and large inputs come through."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smp.errors import CompositionError, DepthError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.strategic import (
    KUBECTL_PRECONDITIONS,
    apply_patch,
    compose_patches,
    find_conflicts,
    read_object,
    three_way_patch,
    two_way_patch,
)
from smp.values import JSON, JSONObject, same
from tests.support.makers import Maker, subjects
from tests.support.strategies import json_values, makers

# Any: that nobody checks what comes in is the point
Operation = Callable[[Any, Any, Schema], object]


def three_ways(one: Any, other: Any, schema: Schema) -> object:
    return three_way_patch(one, other, one, schema)


def strict_three_ways(one: Any, other: Any, schema: Schema) -> object:
    return three_way_patch(
        other, one, other, schema, overwrite=False, preconditions=KUBECTL_PRECONDITIONS
    )


def composition(one: Any, other: Any, schema: Schema) -> object:
    return compose_patches([one, other, one], schema)


OPERATIONS: dict[str, Operation] = {
    "apply": apply_patch,
    "two-way": two_way_patch,
    "three-way": three_ways,
    "strict three-way": strict_three_ways,
    "compose": composition,
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


@pytest.mark.slow
@every_operation
@settings(max_examples=150, deadline=None)
@given(
    one=json_values(),
    other=json_values(),
    schema=st.sampled_from([subject.schema for subject in subjects()]),
)
def test_any_json_gives_a_result_or_an_error_of_ours(
    operation: Operation, one: JSON, other: JSON, schema: Schema
) -> None:
    with suppress(SmpError):
        operation(one, other, schema)


@pytest.mark.slow
@every_operation
@settings(max_examples=400, deadline=None)
@given(maker=makers())
def test_broken_objects_give_a_result_or_an_error_of_ours(
    operation: Operation, maker: Maker
) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    one = maker.spoiled(maker.patch(live, schema), schema, patch=True)
    other = maker.spoiled(maker.extended(live, schema), schema, patch=True)
    for pair in ((one, other), (other, one), (maker.arbitrary(), one)):
        with suppress(SmpError):
            operation(*pair, schema)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(document=json_values(), one=json_values(), other=json_values())
def test_any_schema_gives_a_schema_or_an_error_of_ours(
    document: JSON, one: JSON, other: JSON
) -> None:
    with suppress(SmpError):
        schema = inline(document)
        for operation in OPERATIONS.values():
            with suppress(SmpError):
                operation(one, other, schema)


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


@every_operation
@pytest.mark.parametrize("step", [an_object, a_list])
def test_bottomless_values_are_refused(
    operation: Operation, step: Callable[[JSON], JSON]
) -> None:
    schema = (
        kubernetes()
        .schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        .with_unknown_fields("merge")
    )
    deep, other = nested(step, 1), nested(step, 2)
    with suppress(SmpError):
        operation(deep, other, schema)
    dismantle(deep, other)


def chained(*containers: JSONObject) -> list[JSONObject]:
    return [{"spec": {"containers": [container]}} for container in containers]


def test_what_is_made_of_a_deleted_element_is_composed_whole() -> None:
    replaced: JSONObject = {"name": "a", "env": [{"name": "A"}, {"$patch": "replace"}]}
    patches = chained(
        {"name": "a", "$patch": "delete"},
        {"name": "a", "image": "2", "tty": None},
        replaced,
    )
    whole: JSONObject = {"name": "a", "image": "2", "env": [{"name": "A"}]}
    assert compose_patches(patches, kubernetes().schema("v1", "Pod")) == {
        "spec": {"containers": [whole, {"$patch": "delete", "name": "a"}]}
    }


def test_what_a_directive_makes_of_a_deleted_element_is_not_composed() -> None:
    again: JSONObject = {"name": "a", "env": [{"name": "A", "$patch": "delete"}]}
    with pytest.raises(CompositionError):
        compose_patches(
            chained({"name": "a", "$patch": "delete"}, again, {"name": "a"}),
            kubernetes().schema("v1", "Pod"),
        )


def test_patches_that_may_fail_on_what_those_before_lead_to_are_not_composed() -> None:
    # a replace drops the word, and leaves {}
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
    """Take a deep value apart from the outside: its own deallocation is the
    interpreter's business.
    """
    for value in values:
        inner: JSON = value
        while isinstance(inner, dict | list) and inner:
            inner = inner.popitem()[1] if isinstance(inner, dict) else inner.pop()


@contextmanager
def guarded(seconds: int = 60) -> Iterator[None]:
    """Print every stack and exit where something linear has become quadratic, instead
    of hanging for hours.
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


@pytest.mark.slow
def test_a_hundred_thousand_elements_come_through() -> None:
    live, modified = wide(1), wide(2)
    backwards: JSONObject = {
        name: elements[::-1]
        for name, elements in live.items()
        if isinstance(elements, list)
    }
    with guarded():
        one = apply_patch(
            live,
            {"named": [{"name": f"n{SIZE // 2}", "value": 9}], "tags": ["new"]},
            WIDE,
        )
        assert isinstance(one["named"], list)
        assert one["named"][SIZE // 2] == {"name": f"n{SIZE // 2}", "value": 9}
        for target in (modified, backwards, {}):
            patch = two_way_patch(live, target, WIDE)
            assert same(apply_patch(live, patch, WIDE), target)
            assert same(three_way_patch(live, target, live, WIDE), patch)
        assert three_way_patch(live, modified, backwards, WIDE, overwrite=True)
        assert find_conflicts(two_way_patch(live, modified, WIDE), live, WIDE)


def test_a_hundred_thousand_directives_come_through() -> None:
    directives: JSONObject = {
        f"${word}/n{at}": []
        for word in ("setElementOrder", "deleteFromPrimitiveList")
        for at in range(SIZE)
    }
    with guarded(20):
        read = read_object({"$retainKeys": ["a"], **directives, "a": 1})
    assert (len(read.orders), len(read.deletions), read.retained, read.fields) == (
        SIZE,
        SIZE,
        ["a"],
        {"a": 1},
    )


@pytest.mark.slow
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
    with guarded():
        assert same(apply_patch(live, compose_patches(patches, WIDE), WIDE), backwards)
