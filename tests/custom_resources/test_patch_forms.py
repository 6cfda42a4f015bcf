"""The form of a patch for a custom resource, and what it is guarded by."""

from __future__ import annotations

import os
from typing import Final

import pytest

import smp
from smp import json_patch, merge_patch
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.custom_resources import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    form_of,
)
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from tests.support.makers.custom_resources import SHAPES, definition, triple

CASES: Final = int(os.environ.get("SMP_CUSTOM_RESOURCES", "150"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
CATALOG: Final = Catalog.from_crd([definition(kind) for kind in SHAPES])


def resource(kind: str, spec: JSONObject, version: str = "7") -> JSONObject:
    metadata: JSONObject = {"name": "a"}
    if version:
        metadata["resourceVersion"] = version
    return {
        "apiVersion": "crs.example.com/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def applied(
    kind: str,
    last_applied: JSONObject,
    modified: JSONObject,
    live: JSONObject,
    version: str = "7",
) -> smp.ApplyResult:
    return smp.three_way_apply(
        resource(kind, last_applied, ""),
        resource(kind, modified, ""),
        resource(kind, live, version),
        CATALOG.schema("crs.example.com/v1", kind),
    )


def operations(result: smp.ApplyResult) -> list[tuple[JSON, JSON]]:
    found = [as_object(operation) for operation in as_list(result.patch)]
    return [(operation["op"], operation["path"]) for operation in found]


def test_members_of_objects_go_as_a_merge_patch_without_a_guard() -> None:
    live: JSONObject = {"size": 1, "text": "a", "inner": {"a": "x"}}
    result = applied("Plain", {"size": 1, "text": "a"}, {"size": 2}, live)
    assert result.media_type == MERGE_PATCH
    assert result.patch == {"spec": {"size": 2, "text": None}}
    assert result.guard == "none"
    assert "member of an object" in result.reason


def test_a_list_that_changes_is_tested() -> None:
    live: JSONObject = {"tags": ["z", "a"], "size": 1}
    result = applied("Sets", {"tags": ["a"]}, {"tags": ["a", "b"]}, live)
    assert result.media_type == JSON_PATCH
    assert operations(result) == [("test", "/spec/tags"), ("replace", "/spec/tags")]
    assert as_object(result.object["spec"])["tags"] == ["z", "a", "b"]
    assert result.guard == "test"
    assert result.reason == "replaced or removed as a whole: spec.tags"


def test_an_atomic_map_is_replaced_as_a_whole() -> None:
    result = applied(
        "Maps", {"atomic": {"a": "1"}}, {"atomic": {"b": "1"}}, {"atomic": {"a": "1"}}
    )
    assert operations(result) == [
        ("test", "/spec/atomic"),
        ("replace", "/spec/atomic"),
    ]


def test_a_new_list_is_guarded_by_the_resource_version() -> None:
    result = applied("Sets", {}, {"tags": ["a"]}, {"size": 1})
    assert result.media_type == MERGE_PATCH
    assert result.guard == "resourceVersion"
    assert result.patch == {
        "spec": {"tags": ["a"]},
        "metadata": {"resourceVersion": "7"},
    }


def test_nothing_guards_a_new_list_where_live_has_no_version() -> None:
    result = applied("Sets", {}, {"tags": ["a"]}, {"size": 1}, version="")
    assert (result.media_type, result.guard) == (JSON_PATCH, "none")
    assert operations(result) == [("add", "/spec/tags")]
    assert "the live object has no metadata.resourceVersion" in result.reason


def test_a_null_that_is_a_value_goes_as_a_json_patch() -> None:
    result = applied("Nullable", {}, {"text": None}, {"text": "x"})
    assert operations(result) == [("replace", "/spec/text")]
    assert as_object(result.object["spec"]) == {"text": None}
    assert "cannot set null, as in spec.text" in result.reason


def test_a_null_that_is_no_value_removes_the_field() -> None:
    result = applied("Nullable", {}, {"plain": None}, {"plain": "x", "text": "y"})
    assert result.patch == {"spec": {"plain": None}}
    assert result.object["spec"] == {"text": "y"}


def test_a_null_with_a_new_object_is_guarded_by_the_resource_version() -> None:
    result = applied("Nullable", {}, {"inner": {"a": None}}, {"text": "y"})
    assert operations(result) == [
        ("test", "/metadata/resourceVersion"),
        ("add", "/spec/inner"),
    ]


@pytest.mark.parametrize("value", ["<b>", "a&b", 0.0000001, None, "é"])
def test_what_a_server_would_find_unequal_to_itself_is_not_tested(value: JSON) -> None:
    """Asked of kube-apiserver 1.36.3: it answers 422, and to a null not at all.

    A client may escape what is not ASCII, so that is not tested either.
    """
    live = resource("Lists", {"unstated": [value]})
    new = resource("Lists", {"unstated": [value, "x"]})
    form = form_of(live, new, CATALOG.schema_of(live))
    assert form.guard == "resourceVersion"


def test_too_many_operations_for_a_server_are_a_merge_patch() -> None:
    before: JSONObject = {f"k{number}": "1" for number in range(10_000)}
    after: JSONObject = dict.fromkeys(before, "2")
    live: JSONObject = {"labels": before, "structures": {"a": {"tags": ["a"]}}}
    new: JSONObject = {"labels": after, "structures": {"a": {"tags": ["b"]}}}
    form = form_of(
        resource("Maps", live),
        resource("Maps", new),
        CATALOG.schema_of(resource("Maps", {})),
    )
    assert (form.media_type, form.guard) == (MERGE_PATCH, "resourceVersion")


def test_a_kind_without_a_definition_is_merged_by_rfc_7396() -> None:
    elements: list[JSON] = [{"name": "a"}, {"name": "b"}]
    live = resource("Any", {"list": elements, "old": {"x": 1}})
    last = resource("Any", {"list": elements[:1], "old": {}}, "")
    new = resource("Any", {"list": [{"name": "a", "x": 1}]}, "")
    result = smp.three_way_apply(last, new, live, Schema.inline("any"))
    assert result.object["spec"] == {"list": [{"name": "a", "x": 1}]}
    assert result.kubectl_patch == {
        "spec": {"list": [{"name": "a", "x": 1}], "old": None}
    }
    assert result.reason.startswith("merged by RFC 7396, as the kind has no schema")
    assert result.guard == "test"


def test_built_in_kinds_take_strategic_merge_patches() -> None:
    metadata: JSON = {"name": "a"}
    config: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
    }
    schema = smp.kubernetes().schema_of(config)
    result = smp.three_way_apply(None, config, config, schema)
    assert result.media_type == STRATEGIC_MERGE_PATCH


def test_a_list_with_repeated_keys_is_set_as_a_whole_with_a_warning() -> None:
    repeated: list[JSON] = [{"name": "a", "size": 1}, {"name": "a", "size": 2}]
    result = applied("Named", {}, {"items": repeated}, {"items": [{"name": "b"}]})
    assert as_object(result.object["spec"])["items"] == repeated
    (warning,) = [w for w in result.warnings if w.code == "list-as-a-whole"]
    assert str(warning.path) == "spec.items"


def test_with_overwrite_false_a_change_of_another_is_a_conflict() -> None:
    schema = CATALOG.schema("crs.example.com/v1", "Named")
    last = resource("Named", {"items": [{"name": "a", "size": 1}]}, "")
    new = resource("Named", {"items": [{"name": "a", "size": 2}]}, "")
    live = resource("Named", {"items": [{"name": "a", "size": 3}, {"name": "b"}]})
    with pytest.raises(smp.ConflictError) as caught:
        smp.three_way_apply(last, new, live, schema, overwrite=False)
    (conflict,) = caught.value.conflicts
    assert str(conflict.path) == "spec.items[name=a].size"
    assert (conflict.base, conflict.ours, conflict.theirs) == (1, 2, 3)
    others = resource("Named", {"items": [{"name": "b"}, {"name": "a", "size": 1}]})
    smp.three_way_apply(last, new, others, schema, overwrite=False)


def test_a_patch_leads_to_its_object_and_a_second_apply_changes_nothing() -> None:
    for number in range(CASES):
        made = triple(SEED, number)
        schema = CATALOG.schema_of(made.modified)
        metadata = as_object(made.changed["metadata"])
        live: JSONObject = {
            **made.changed,
            "metadata": {**metadata, "resourceVersion": "1"},
        }
        result = smp.three_way_apply(made.last_applied, made.modified, live, schema)
        apply = json_patch if isinstance(result.patch, list) else merge_patch
        assert same(apply.apply(live, result.patch), result.object)
        again = smp.three_way_apply(made.modified, made.modified, result.object, schema)
        assert again.patch == {}


def test_an_element_without_its_keys_is_an_error() -> None:
    with pytest.raises(smp.ObjectError) as caught:
        applied("Named", {}, {"items": [{"size": 1}]}, {"items": [{"name": "b"}]})
    assert caught.value.code == "no-path-element"
    assert str(caught.value.path) == "spec.items[0]"
