"""Laws that hold for all objects, also where the reference deviates."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given

from smp import wire
from smp._strategic import compose_patches, find_conflicts
from smp._values.values import JSON, JSONObject, same
from smp.errors import CompositionError, ObjectError, PatchError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from tests.support.differential import stored
from tests.support.engines import (
    apply_patch,
    outcome,
    three_way_patch,
    two_way_patch,
)
from tests.support.makers import Maker
from tests.support.paths import ROOT
from tests.support.strategies import makers

DEPLOYMENT = kubernetes().schema("apps/v1", "Deployment")


@given(makers(keyless=0))
def test_applying_the_patch_of_two_objects_gives_the_second(maker: Maker) -> None:
    schema = maker.subject().schema
    original = maker.object(schema)
    modified = maker.changed(original, schema)
    assert same(
        apply_patch(original, two_way_patch(original, modified, schema), schema),
        modified,
    )


@given(makers(keyless=0))
def test_the_patch_of_an_object_and_itself_is_empty(maker: Maker) -> None:
    schema = maker.subject().schema
    original = maker.object(schema)
    assert two_way_patch(original, copy.deepcopy(original), schema) == {}
    assert (
        three_way_patch(
            original, copy.deepcopy(original), copy.deepcopy(original), schema
        )
        == {}
    )


@given(makers(keyless=0))
def test_a_patch_applied_twice_changes_nothing_more(maker: Maker) -> None:
    schema = maker.subject().schema
    original = maker.object(schema)
    modified = maker.changed(original, schema)
    patch = two_way_patch(original, modified, schema)
    assert same(apply_patch(modified, patch, schema), modified)


FOREIGN_CONTAINER: JSONObject = {"name": "foreign", "image": "x"}
FOREIGN: JSONObject = {
    "metadata": {"annotations": {"foreign": "x"}, "finalizers": ["foreign"]},
    "spec": {"template": {"spec": {"containers": [FOREIGN_CONTAINER]}}},
}
PARENTS_OF_FOREIGN = (
    ("metadata",),
    ("metadata", "annotations"),
    ("metadata", "finalizers"),
    ("spec",),
    ("spec", "template"),
    ("spec", "template", "spec"),
    ("spec", "template", "spec", "containers"),
)


@given(makers(keyless=0))
def test_fields_and_elements_that_others_added_are_left_alone(maker: Maker) -> None:
    base = maker.object(DEPLOYMENT)
    modified = maker.changed(base, DEPLOYMENT)
    # Dropping an object or a list drops what others added to it, too.
    for path in PARENTS_OF_FOREIGN:
        assume(value_at(base, path) is None or value_at(modified, path) is not None)
    live = with_additions(base, FOREIGN)
    patch = three_way_patch(base, modified, live, DEPLOYMENT)
    result = apply_patch(live, patch, DEPLOYMENT)
    assert value_at(result, ("metadata", "annotations", "foreign")) == "x"
    finalizers = value_at(result, ("metadata", "finalizers"))
    assert isinstance(finalizers, list)
    assert "foreign" in finalizers
    containers = value_at(result, ("spec", "template", "spec", "containers"))
    assert isinstance(containers, list)
    assert FOREIGN_CONTAINER in containers


def with_additions(value: JSONObject, extra: JSONObject) -> JSONObject:
    """Add the members and elements of another object; additions to lists come first."""
    result: JSONObject = {**extra, **value}
    for name in value.keys() & extra.keys():
        mine, added = value[name], extra[name]
        if isinstance(mine, dict) and isinstance(added, dict):
            result[name] = with_additions(mine, added)
        elif isinstance(mine, list) and isinstance(added, list):
            result[name] = [*added, *mine]
    return result


def value_at(value: JSON, path: tuple[str, ...]) -> JSON:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


@given(makers(keyless=0))
def test_without_drift_a_three_way_patch_does_what_a_two_way_patch_does(
    maker: Maker,
) -> None:
    schema = maker.subject().schema
    base = maker.object(schema)
    modified = maker.changed(base, schema)
    patch = three_way_patch(base, modified, base, schema)
    assert same(
        apply_patch(base, patch, schema),
        apply_patch(base, two_way_patch(base, modified, schema), schema),
    )
    assert same(patch, three_way_patch(base, modified, base, schema, overwrite=False))


@given(makers(keyless=0))
def test_a_second_apply_of_the_same_configuration_changes_nothing(
    maker: Maker,
) -> None:
    schema = maker.subject().schema
    last_applied, modified, live = maker.triple(schema)
    result = apply_patch(
        live, three_way_patch(last_applied, modified, live, schema), schema
    )
    again = three_way_patch(modified, modified, result, schema)
    assert same(apply_patch(result, again, schema), result)


@given(makers(keyless=0))
def test_a_composition_of_two_diffs_does_what_they_do_in_turn(maker: Maker) -> None:
    schema = maker.subject().schema
    original = maker.object(schema)
    between = maker.changed(original, schema)
    modified = maker.changed(between, schema)
    patches = (
        two_way_patch(original, between, schema),
        two_way_patch(between, modified, schema),
    )
    try:
        composed = compose_patches(patches, schema)
    except CompositionError:
        assume(condition=False)
    assert same(apply_patch(original, composed, schema), modified)


@given(makers(keyless=0))
def test_no_operation_changes_its_arguments(maker: Maker) -> None:
    schema = maker.subject().schema
    last_applied, modified, live = maker.triple(schema)
    patch, other = (
        maker.patch(live, schema),
        maker.spoiled(maker.patch(live, schema), schema, patch=True),
    )
    arguments: JSON = [last_applied, modified, live, patch, other]
    before = copy.deepcopy(arguments)
    for operation in (
        lambda: apply_patch(live, patch, schema),
        lambda: apply_patch(live, other, schema),
        lambda: two_way_patch(live, modified, schema),
        lambda: three_way_patch(last_applied, modified, live, schema, overwrite=False),
        lambda: compose_patches([patch, other], schema),
        lambda: find_conflicts(patch, other, schema),
    ):
        try:
            operation()
        except SmpError:
            continue
        finally:
            assert same(arguments, before)


def test_a_result_shares_what_did_not_change() -> None:
    environment: JSON = [{"name": "A"}]
    proxy: JSON = {"name": "proxy", "args": ["-v"]}
    labels: JSON = {"a": "b"}
    containers: JSON = [{"name": "app", "image": "a", "env": environment}, proxy]
    live: JSONObject = {
        "metadata": {"labels": labels},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    patch: JSONObject = {
        "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "b"}]}}}
    }
    result = apply_patch(live, patch, DEPLOYMENT)
    assert value_at(result, ("metadata", "labels")) is labels
    merged = value_at(result, ("spec", "template", "spec", "containers"))
    assert isinstance(merged, list)
    assert merged[1] is proxy
    assert value_at(merged[0], ("image",)) == "b"
    assert value_at(merged[0], ("env",)) is environment


@given(makers(keyless=0))
def test_an_empty_patch_shares_everything(maker: Maker) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    result = apply_patch(live, {}, schema)
    assert same(result, live)
    assert all(result[name] is live[name] for name in live)


@given(makers(keyless=0))
def test_no_directive_and_no_null_of_a_patch_is_left_in_a_result(maker: Maker) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    patch = maker.patch(live, schema)
    try:
        result = apply_patch(live, patch, schema)
    except SmpError:
        assume(condition=False)
    assert same(result, stored(result))


@given(makers(keyless=0))
def test_a_key_outside_its_retained_keys_is_rejected_for_any_live_object(
    maker: Maker,
) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    patch = maker.patch(live, schema)
    originals: list[JSONObject] = [live, {}, maker.object(schema)]
    for original in originals:
        # The patch has no other fault.
        assume("result" in outcome(partial(apply_patch, original, patch, schema)))
    places = [place for place in objects_of_patch(patch) if sets_a_field(place)]
    assume(places)
    maker.random.choice(places)["$retainKeys"] = ["none"]
    for original in originals:
        with pytest.raises(PatchError) as caught:
            apply_patch(original, patch, schema)
        assert caught.value.code == "retain-keys-mismatch"
    with pytest.raises(PatchError) as caught:
        compose_patches([{}, patch, dict.fromkeys(patch)], schema)
    assert caught.value.code == "retain-keys-mismatch"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"tolerations": [{"$retainKeys": [], "key": "a"}]}, "tolerations[0].key"),
        (
            {"volumes": [{"name": "b", "$retainKeys": ["name"], "emptyDir": {}}]},
            "volumes[name=b].emptyDir",
        ),
        (
            {"volumes": [{"$patch": "replace"}, {"name": "b", "$retainKeys": []}]},
            "volumes[name=b].name",
        ),
        (
            {"volumes": [{"name": "a", "$patch": "delete", "$retainKeys": []}]},
            "volumes[0].name",
        ),
        (
            {"affinity": {"nodeAffinity": {"$retainKeys": "a", "$patch": "delete"}}},
            "affinity.nodeAffinity.$retainKeys",
        ),
    ],
    ids=str,
)
def test_the_error_names_the_key_that_is_not_retained(
    spec: JSONObject, path: str
) -> None:
    live: JSONObject = {
        "spec": {"volumes": [{"name": "a"}], "tolerations": [{"key": "a"}]}
    }
    with pytest.raises(PatchError) as caught:
        apply_patch(live, {"spec": spec}, kubernetes().schema("v1", "Pod"))
    assert str(caught.value.path) == f"spec.{path}"


DIRECTIVES = (
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
)


@given(makers(keyless=0))
def test_a_field_named_as_a_directive_is_a_field_or_an_error(maker: Maker) -> None:
    schema = maker.subject().schema
    last_applied, modified, live = copy.deepcopy([*maker.triple(schema)])
    assert modified is not None
    assert live is not None
    name = maker.random.choice(DIRECTIVES)
    documents = (last_applied, modified, live)
    for document in documents:
        for place in objects_of_patch(document):
            if maker.random.random() < 0.1:
                place[name] = maker.random.choice(("replace", "replace", "x"))
    # Under another name the field is an ordinary one.
    renamed = [with_name(document, name, "other") for document in documents]
    expected = patched(renamed[0], renamed[1], renamed[2], schema)
    assume(expected is not None)
    answer = outcome(lambda: three_way_patch(last_applied, modified, live, schema))
    if "result" in answer:
        result = apply_patch(live, answer["result"], schema)
        assert same(with_name(result, name, "other"), expected)
    else:
        assert answer["code"] == "directive-as-field"
        assert answer["path"].endswith(name.replace("/", "~1"))


@pytest.mark.parametrize(
    "name", ["$patch", "\\u0024patch", "\\u0024\\u0070atch", "$\\u0070atch"]
)
def test_a_field_named_as_a_directive_is_found_in_a_long_document(name: str) -> None:
    padding = "x" * 200_000
    modified = f'{{"metadata":{{"labels":{{"{name}":"a","pad":"{padding}"}}}}}}'
    schema = kubernetes().schema("v1", "Pod")
    with pytest.raises(ObjectError) as caught:
        wire.two_way_patch(b"{}", modified.encode(), schema)
    assert str(caught.value.path) == "metadata.labels.$patch"


def patched(
    last_applied: JSONObject, modified: JSONObject, live: JSONObject, schema: Schema
) -> JSONObject | None:
    """Return the live object after a three-way patch, None if there is no patch."""
    try:
        patch = three_way_patch(last_applied, modified, live, schema)
    except SmpError:
        return None
    return apply_patch(live, patch, schema)


def with_name(value: JSON, name: str, other: str) -> Any:
    """Return a value with another name for the fields of a name."""
    if isinstance(value, dict):
        return {
            other if key == name else key: with_name(member, name, other)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [with_name(element, name, other) for element in value]
    return value


def objects_of_patch(value: JSON) -> Iterator[JSONObject]:
    """Yield every object of a patch but those inside directives."""
    if isinstance(value, dict):
        yield value
        for name, member in value.items():
            if not name.startswith("$"):
                yield from objects_of_patch(member)
    elif isinstance(value, list):
        for element in value:
            yield from objects_of_patch(element)


def sets_a_field(patch: JSONObject) -> bool:
    """Tell whether an object of a patch sets a field."""
    return any(
        value is not None and not name.startswith("$") for name, value in patch.items()
    )


def answers(maker: Maker) -> Iterator[JSON]:
    schema = maker.subject().schema
    last_applied, modified, live = maker.triple(schema)
    left, right = maker.patch(live, schema), maker.patch(live, schema)
    operations: tuple[Callable[[], JSON], ...] = (
        lambda: apply_patch(live, left, schema),
        lambda: three_way_patch(last_applied, modified, live, schema),
        lambda: compose_patches([left, right], schema),
        lambda: [str(conflict) for conflict in find_conflicts(left, right, schema)],
    )
    for operation in operations:
        try:
            yield operation()
        except SmpError as error:
            yield str(error)


def digest() -> str:
    """Return a digest of what all operations make of random objects.

    The order of keys is part of it.
    """
    results = [[*answers(Maker(seed))] for seed in range(60)]
    return hashlib.sha256(json.dumps(results).encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_equal_inputs_give_equal_outputs_in_every_process(seed: str) -> None:
    command = [
        sys.executable,
        "-c",
        "from tests.engine.test_laws import digest; print(digest())",
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()
