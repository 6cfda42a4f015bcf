"""Laws of comparisons, and what a real server stored beside what it was sent.

``SMP_COMPARISONS`` sets the number of random pairs, and of recorded objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random
from typing import Any, Final

import pytest

import smp
from smp._storage.update import as_stored
from smp._values.values import JSON, JSONObject, as_object, same
from smp.comparison import Rules, compared, key_of_value
from smp.paths import value_at
from smp.schema.model import Schema
from tests.record.default_answers import SERVED
from tests.record.field_sets import read
from tests.record.typed_storage import CREATED
from tests.support.defaulted_manifests import compared as without_allocated
from tests.support.makers.manifests import KINDS, ManifestMaker
from tests.support.typed_objects import VERSION, objects, with_zero_values

CASES: Final = int(os.environ.get("SMP_COMPARISONS", "250"))
CATALOG: Final = smp.kubernetes(VERSION)
# A server drops them for reasons of its own: feature gates that are off, fields that
# only it sets, objects that it takes for none. These are real differences.
NOT_STORED: Final = frozenset(
    {
        "deletionGracePeriodSeconds",
        "schedulingGroup",
        "dataSource",
        "configSource",
        "preferredHolder",
        "strategy",
        "preventPodSchedulingIfMissing",
        "maxUnavailable",
        "clusterTrustBundle",
    }
)

Pair = tuple[JSONObject, JSONObject, Schema]


@cache
def pairs() -> tuple[Pair, ...]:
    """Return random objects of many kinds, each beside one that is like it."""
    found: list[Pair] = []
    random = Random(16)
    for obj in objects(16, CASES):
        schema = CATALOG.schema_of(obj)
        found.append((obj, with_zero_values(random, obj, schema), schema))
        found.append((obj, as_stored(obj, None, schema, profile="off"), schema))
    for seed in range(CASES):
        kind = random.choice(sorted(KINDS))
        maker = ManifestMaker(f"compare {seed}", kind, "web")
        manifest = maker.manifest()
        schema = CATALOG.schema_of(manifest)
        changed = maker.changed(manifest)
        found.append((manifest, changed, schema))
        stored = as_stored(changed, None, schema, profile="kep1027")
        found.append((manifest, stored, schema))
    return tuple(found)


def test_an_object_is_equal_to_itself() -> None:
    for obj, other, schema in pairs():
        for one in (obj, other):
            comparison = smp.compare(one, one, schema)
            assert comparison.is_equal
            assert comparison.set_aside == ()


def test_a_comparison_is_symmetric() -> None:
    for obj, other, schema in pairs():
        forth = smp.compare(obj, other, schema)
        back = smp.compare(other, obj, schema)
        assert forth.is_equal == back.is_equal
        assert forth.counts == back.counts
        # Elements have the place of the desired list in a path, but for those that only
        # the other has; so texts are compared.
        assert {str(d.path) for d in forth.differences} == {
            str(d.path) for d in back.differences
        }


def test_what_a_comparison_sets_aside_is_what_it_aligns() -> None:
    for desired, live, schema in pairs():
        comparison = smp.compare(desired, live, schema)
        if comparison.is_equal:
            assert same(comparison.aligned, live)
        else:
            assert not same(comparison.aligned, live)
        if not comparison.set_aside:
            assert same(comparison.aligned, desired)
        # Both sides are where the path says.
        for entry in comparison.set_aside:
            assert same(value_at(desired, entry.path), entry.desired)
            assert same(value_at(live, entry.path), entry.live)
        for difference in comparison.differences:
            if difference.is_order:
                continue
            assert same(value_at(desired, difference.path), difference.desired)
            assert same(value_at(live, difference.path), difference.live)


def test_objects_are_equal_only_if_a_server_stores_the_same() -> None:
    equal = 0
    for desired, live, schema in pairs():
        comparison = compared(
            desired, live, schema, normalizes=False, leaves_out_server_fields=False
        )
        stored = [
            as_stored(obj, None, schema, profile="kep1027") for obj in (desired, live)
        ]
        assert comparison.is_equal == same(stored[0], stored[1])
        equal += comparison.is_equal
    # The law is about equal objects, so there are many.
    assert len(pairs()) / 5 < equal < len(pairs()) * 0.95


def test_a_value_that_is_changed_is_a_difference() -> None:
    random = Random(16)
    for row in islice(read(CREATED), CASES):
        manifest, stored = row["object"], row["stored"]
        schema = CATALOG.schema_of(manifest)
        leaves = [*texts(manifest, ())]
        *above, name = random.choice(leaves)
        changed = with_other_text(manifest, above, name)
        before = smp.compare(manifest, stored, schema)
        after = smp.compare(changed, stored, schema)
        assert len(after.differences) > len(before.differences) or not after.is_equal


def texts(value: JSON, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of texts that mean nothing but themselves."""
    if isinstance(value, dict):
        for name, content in value.items():
            if name not in {"status", "stringData", "data", "resourceVersion"}:
                yield from texts(content, (*path, name))
    elif isinstance(value, list):
        for index, content in enumerate(value):
            yield from texts(content, (*path, index))
    elif isinstance(value, str) and value and path[-1] != "namespace":
        yield path


def with_other_text(value: Any, above: list[Any], name: Any) -> Any:
    if above:
        inner = with_other_text(value[above[0]], above[1:], name)
        if isinstance(value, dict):
            return {**value, above[0]: inner}
        return [*value[: above[0]], inner, *value[above[0] + 1 :]]
    if isinstance(value, dict):
        return {**value, name: "other-text"}
    return [*value[:name], "other-text", *value[name + 1 :]]


@pytest.mark.parametrize("record", [CREATED, SERVED], ids=["created", "served"])
def test_what_a_server_stored_is_equal_to_what_it_was_sent(record: Any) -> None:
    aside = 0
    rows = [row for row in islice(read(record), CASES * 2) if "object" in row]
    for row in rows:
        manifest = row["object"]
        stored = as_object(row["stored"])
        schema = CATALOG.schema_of(manifest)
        comparison = smp.compare(
            without_allocated(manifest), without_allocated(stored), schema
        )
        aside += len(comparison.set_aside)
        for difference in comparison.differences:
            texts_of = {str(step) for step in difference.path.steps}
            text = f"{texts_of}{difference.desired}"
            known = any(name in text for name in NOT_STORED)
            empty = difference.desired in ([], {}, "", None)
            assert known or empty, difference
    assert aside > len(rows)


def test_a_text_without_a_type_is_never_normalized() -> None:
    schema = CATALOG.schema("v1", "ConfigMap")
    for one, other in (("1000m", "1"), ("5m", "300s"), ("80", "080"), ("", "0")):
        left: JSONObject = {"data": {"a": one}, "metadata": {"annotations": {"a": one}}}
        right: JSONObject = {
            "data": {"a": other},
            "metadata": {"annotations": {"a": other}},
        }
        comparison = smp.compare(left, right, schema)
        assert [str(d.path) for d in comparison.differences] == [
            "data.a",
            "metadata.annotations.a",
        ]


@pytest.mark.parametrize(
    ("kind", "left", "right", "by"),
    [
        ("limits", {"cpu": "1000m"}, {"cpu": "1"}, "quantity"),
        ("limits", {"cpu": 0.5}, {"cpu": "500m"}, "quantity"),
        ("limits", {"memory": "1Ki"}, {"memory": "1024"}, "quantity"),
        ("limits", {"memory": "1Ki"}, {"memory": "1k"}, ""),
        ("limits", {"cpu": "broken"}, {"cpu": "also"}, ""),
    ],
)
def test_quantities_of_built_in_kinds(
    kind: str, left: JSONObject, right: JSONObject, by: str
) -> None:
    def pod(values: JSONObject) -> JSONObject:
        container: JSONObject = {"name": "a", "resources": {kind: values}}
        return {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [container]}}

    comparison = smp.compare(pod(left), pod(right), CATALOG.schema("v1", "Pod"))
    assert comparison.is_equal == bool(by)
    # A limit is the default of a request.
    assert {entry.by for entry in comparison.set_aside} == ({by} if by else set())


def test_no_key_is_shared_by_values_of_other_types() -> None:
    values: list[JSON] = [None, True, [], {}]
    for value in values:
        for name in ("quantity", "duration", "time", "int-or-string", "base64"):
            assert key_of_value(name, value) is None


def test_the_patch_of_an_apply_knows_no_normalizers() -> None:
    schema = CATALOG.schema("v1", "Pod")

    def pod(cpu: str) -> JSONObject:
        container: JSONObject = {"name": "a", "resources": {"limits": {"cpu": cpu}}}
        return {"spec": {"containers": [container]}}

    result = smp.three_way_apply(pod("1"), pod("1000m"), pod("1"), schema)
    assert "1000m" in str(result.patch)
    assert smp.compare(result.object, pod("1"), schema).is_equal
    rules = Rules.ignoring("spec")
    assert smp.compare(pod("2"), pod("1"), schema, rules=rules).is_equal
