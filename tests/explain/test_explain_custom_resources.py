"""Causes and remedies for custom resources."""

from __future__ import annotations

from typing import Final

import smp
from smp._values.values import JSON, JSONObject, as_object
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from tests.support.makers.custom_resources import SHAPES, definition

CATALOG: Final = Catalog.from_crd([definition(kind) for kind in SHAPES])


def resource(kind: str, spec: JSONObject) -> JSONObject:
    return {
        "apiVersion": "crs.example.com/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }


def causes(
    kind: str,
    last_applied: JSONObject,
    manifest: JSONObject,
    live: JSONObject,
    schema: Schema | None = None,
) -> dict[str, smp.Cause]:
    found = smp.explain_apply(
        resource(kind, last_applied),
        resource(kind, manifest),
        resource(kind, live),
        schema or CATALOG.schema("crs.example.com/v1", kind),
    )
    return {f"{cause.path} {cause.code}": cause for cause in found}


def test_elements_are_named_by_all_list_map_keys_with_their_defaults() -> None:
    """The element without a protocol is the one of TCP, its default."""
    live: JSONObject = {
        "ports": [
            {"port": 1, "protocol": "UDP", "name": "u"},
            {"port": 1, "protocol": "TCP", "name": "t"},
        ]
    }
    manifest: JSONObject = {"ports": [{"port": 1, "name": "new"}]}
    found = causes("Ports", {"ports": [{"port": 1, "name": "t"}]}, manifest, live)
    changed = found["spec.ports[port=1,protocol=TCP].name set"]
    assert (changed.before, changed.after) == ("t", "new")
    assert changed.rule.startswith("CustomResourceDefinition: x-kubernetes-list-type")
    kept = found["spec.ports[port=1,protocol=UDP] live-only"]
    assert kept.before == kept.after
    matched = found["spec.ports[port=1,protocol=TCP] matched-by-key"]
    assert "the same list-map keys port=1,protocol=TCP" in matched.sentence


def test_what_others_put_into_a_dropped_list_stays() -> None:
    live: JSONObject = {"items": [{"name": "a"}, {"name": "b"}]}
    found = causes("Named", {"items": [{"name": "a"}]}, {"size": 1}, live)
    assert found["spec.items[name=a] pruned"].after is smp.ABSENT
    assert found["spec.items[name=b] live-only"].after == {"name": "b"}


def test_a_set_keeps_what_is_only_in_live() -> None:
    found = causes("Sets", {"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["z", "a"]})
    assert found["spec.tags[=a] pruned"].after is smp.ABSENT
    assert found["spec.tags[=z] live-only"].after == "z"
    assert found["spec.tags[=b] set"].after == "b"


def test_an_atomic_list_loses_the_elements_of_others() -> None:
    live: JSONObject = {"atomic": [{"a": "1"}, {"a": "2"}]}
    found = causes("Lists", {"atomic": [{"a": "1"}]}, {"atomic": [{"a": "3"}]}, live)
    lost = found["spec.atomic lost-in-list"]
    assert lost.before == {"a": "2"}
    assert "its list type is atomic, or the definition states none" in lost.sentence


def test_an_atomic_map_has_one_cause() -> None:
    live: JSONObject = {"atomic": {"a": "1", "b": "1"}}
    found = causes("Maps", {"atomic": {"a": "1"}}, {"atomic": {"a": "2"}}, live)
    assert found["spec.atomic overwritten"].after == {"a": "2"}


def test_a_remedy_is_proved_with_the_merge_of_custom_resources() -> None:
    live: JSONObject = {"items": [{"name": "a"}, {"name": "b", "size": 1}]}
    last: JSONObject = {"items": [{"name": "a"}]}
    remedy = causes("Named", last, last, live)["spec.items[name=b] live-only"].remedy
    assert remedy is not None
    (edit,) = remedy.edits
    assert (edit.input, str(edit.path)) == ("last-applied", "spec.items[name=b]")
    known = as_object(as_object(resource("Named", last))["spec"])
    elements: list[JSON] = [{"name": "a"}, {"name": "b", "size": 1}]
    result = smp.three_way_apply(
        resource("Named", {**known, "items": elements}),
        resource("Named", last),
        resource("Named", live),
        CATALOG.schema("crs.example.com/v1", "Named"),
    )
    assert result.object["spec"] == last


def test_without_a_definition_the_rule_is_rfc_7396() -> None:
    live: JSONObject = {"items": [{"name": "a"}, {"name": "b"}]}
    manifest: JSONObject = {"items": [{"name": "a", "size": 1}]}
    last: JSONObject = {"items": [{"name": "a"}]}
    found = causes("Named", last, manifest, live, Schema.inline("any"))
    lost = found["spec.items lost-in-list"]
    assert lost.before == {"name": "b"}
    assert lost.rule.startswith("RFC 7396")
    assert "the kind has no schema" in lost.sentence
