"""Composing: the effect of the patches in turn, and the places of errors."""

from __future__ import annotations

import pytest
from hypothesis import given

from smp import kubernetes
from smp._strategic import compose_patches, find_conflicts
from smp._values.values import JSON, JSONObject, same
from smp.errors import CompositionError, SmpError
from tests.support import composition
from tests.support.chains import WideChain, is_granted, wide_chain
from tests.support.engines import apply_patch
from tests.support.strategies import seeds

POD = kubernetes().schema("v1", "Pod")
APP: JSONObject = {"name": "app"}
DELETE: JSONObject = {"$patch": "delete"}


@given(seeds)
def test_a_composition_does_what_its_patches_do_in_turn(seed: int) -> None:
    chain = wide_chain(seed)
    try:
        composed = compose_patches(chain.patches, chain.schema)
    except SmpError:
        # A patch is malformed, or no single patch has the effect.
        return
    for live in chain.objects:
        expected = run_in_turn(chain, live)
        if expected is None:
            continue
        actual = apply_patch(live, composed, chain.schema)
        type_ = chain.schema.type
        orders: composition.Orders = {}
        assert same(
            composition.with_sorted_others(expected, type_, orders),
            composition.with_sorted_others(actual, type_, orders),
        ), (chain.patches, live)


def run_in_turn(chain: WideChain, live: JSONObject) -> JSONObject | None:
    """Return what the patches make of an object; None where that is not determined.

    A patch fails, the result lacks merge keys, or what composing takes for granted does
    not hold.
    """
    for patch in chain.patches:
        if not is_granted(patch, live, chain.schema.type):
            return None
        try:
            live = apply_patch(live, patch, chain.schema)
        except SmpError:
            return None
    return live if composition.has_merge_keys(live, chain.schema.type) else None


def containers(*elements: JSONObject) -> JSONObject:
    return {"spec": {"containers": [*elements]}}


def app(**fields: JSON) -> JSONObject:
    return containers({**APP, **fields})


@pytest.mark.parametrize(
    ("patches", "path", "pointer"),
    [
        (
            [containers(APP), containers(APP, {"image": "i:1"})],
            "spec.containers[1]",
            "/spec/containers/1",
        ),
        (
            [
                app(ports=[{"containerPort": 1}]),
                containers(
                    {"name": "old", "$patch": "delete"},
                    {**APP, "ports": [{"containerPort": 1}, {"name": "http"}]},
                ),
            ],
            "spec.containers[name=app].ports[1]",
            "/spec/containers/1/ports/1",
        ),
        (
            [
                containers({"$patch": "replace"}, APP),
                app(ports=[{"containerPort": 1}, {"name": "http"}]),
                app(ports=[{"containerPort": 1}]),
            ],
            "spec.containers[name=app].ports[1]",
            "/spec/containers/0/ports/1",
        ),
        (
            [
                containers({**APP, "$patch": "delete"}, APP),
                app(ports=[{"containerPort": 1}]),
                app(ports=[{"name": "http"}]),
            ],
            "spec.containers[name=app].ports[0]",
            "/spec/containers/0/ports/0",
        ),
        (
            [app(env=[{"name": "A"}]), app(env=[{"name": "A", "$patch": "delete"}])],
            "spec.containers[name=app].env[name=A]",
            "/spec/containers/0/env/0",
        ),
        (
            [app(unknown={"a": 1}), containers({"name": "x"}, {**APP, "unknown": {}})],
            "spec.containers[name=app].unknown",
            "/spec/containers/1/unknown",
        ),
        (
            [{"metadata": None}, {"metadata": {"finalizers": ["a"]}}],
            "metadata.finalizers",
            "/metadata/finalizers",
        ),
        (
            [{"spec": {"containers": None}}, containers({"image": "i:1"})],
            "spec.containers[0]",
            "/spec/containers/0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_is_at_its_place_in_the_patch(
    patches: list[JSONObject], path: str, pointer: str
) -> None:
    with pytest.raises(SmpError) as caught:
        compose_patches(patches, POD)
    assert (str(caught.value.path), caught.value.path.pointer) == (path, pointer)


def test_an_error_among_many_patches_is_that_of_the_first_one_that_fails() -> None:
    fine = [app(env=[{"name": f"A-{index}"}]) for index in range(50)]
    late = app(ports=[{"name": "http"}])
    early = containers({"name": "x"}, {**APP, "env": [{"name": "A-7", **DELETE}]})
    with pytest.raises(CompositionError) as caught:
        compose_patches([app(ports=[]), *fine, early, *fine, late], POD)
    assert caught.value.path.pointer == "/spec/containers/1/env/0"


def test_patches_that_compose_only_after_those_before_them_compose() -> None:
    # The second and third patch alone depend on whether live has labels.
    known: JSONObject = {"$patch": "replace"}
    replaced: JSONObject = {"metadata": {"labels": {"$patch": "replace", "b": "2"}}}
    changed: JSONObject = {"metadata": {"labels": {"a": "1"}}}
    unchanged: JSONObject = {"metadata": {}}
    patches = [known, unchanged, replaced, changed]
    live: JSONObject = {"metadata": {"labels": {"b": "2"}}}
    composed = compose_patches(patches, POD)
    assert apply_patch(live, composed, POD) == {"metadata": {"labels": {"a": "1"}}}
    with pytest.raises(CompositionError):
        compose_patches(patches[2:], POD)


def test_elements_of_one_key_conflict_in_what_they_do_together() -> None:
    left = containers({**APP, "image": "i:1"}, {**APP, "env": [{"name": "A"}]})
    right = containers({**APP, "env": [{"name": "A", "value": "1"}]}, APP)
    assert find_conflicts(left, right, POD) == ()
    other = containers(APP, {**APP, "image": "i:2"})
    (conflict,) = find_conflicts(left, other, POD)
    assert str(conflict.path) == "spec.containers[name=app].image"
    retained = containers({**APP, "$retainKeys": ["name"]}, APP)
    (conflict,) = find_conflicts(retained, other, POD)
    assert str(conflict.path) == "spec.containers[name=app].image"
    nulls = containers({**APP, "resources": None}, {**APP, "resources": {"limits": {}}})
    (conflict,) = find_conflicts(nulls, app(resources={"requests": {}}), POD)
    assert str(conflict.path) == "spec.containers[name=app].resources"


def test_a_deletion_beside_an_atomic_list_applies_in_an_object_that_is_created() -> (
    None
):
    deletion: JSONObject = {"$deleteFromPrimitiveList/args": ["a"]}
    patches = [app(**deletion), app(**deletion, args=["a", "b"])]
    live: JSONObject = {"spec": {}}
    composed = compose_patches(patches, POD)
    assert apply_patch(live, composed, POD) == app(args=["b"])
