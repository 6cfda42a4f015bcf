"""Immutable fields: the table, and what becomes of an update that changes one."""

from __future__ import annotations

import re
from copy import deepcopy
from itertools import chain
from typing import Any

import msgspec
import pytest

import smp
from smp import handler, merge_patch
from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.update import drop_by_strategy, predict_refusals
from smp._values.values import JSON, JSONObject
from smp.schema.model import Schema
from tests.record.immutable_updates import read
from tests.support.paths import ROOT
from tests.support.rows import each_row

TABLE = msgspec.json.decode(
    (ROOT / "smp" / "schema" / "bundled" / "immutable.json").read_bytes()
)


def schema_of(name: str) -> Schema:
    """Return the schema of a group and a kind."""
    group, _, kind = name.rpartition(" ")
    for minor in range(37, 24, -1):
        catalog = smp.kubernetes(f"1.{minor}")
        for api_version, other in catalog.kinds():
            if (api_version.rpartition("/")[0], other) == (group, kind):
                return catalog.schema(api_version, kind)
    raise LookupError(name)


# Members of a rule with paths below its field.
PATHS = ("except", "once", "kept")


@each_row("rule", TABLE["rules"], ids=lambda rule: rule["field"])
def test_a_rule_names_existing_fields_and_its_source(rule: dict[str, Any]) -> None:
    assert re.match(r"Go: k8s\.io/[a-z-]+, pkg/apis/\w+/validation/", rule["source"])
    for kind in rule["kinds"]:
        type_ = schema_of(kind).type
        for step in rule["field"].split("."):
            field = type_.field(step)
            assert field is not None
            type_ = field.type
        for path in chain.from_iterable(rule.get(name, []) for name in PATHS):
            below = type_
            for step in path.split("."):
                if step == "*":
                    below = below.items
                    continue
                field = below.field(step)
                assert field is not None, (kind, path)
                below = field.type


DEPLOYMENT: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}},
    },
}
SCHEMA = smp.kubernetes().schema("apps/v1", "Deployment")
PATCH = b'{"spec": {"selector": {"matchLabels": {"app": "api"}}}}'


def test_a_handler_refuses_a_change_in_the_words_of_a_server() -> None:
    refused = handler.patch(DEPLOYMENT, PATCH, handler.STRATEGIC, SCHEMA)
    assert isinstance(refused, handler.Refused)
    assert refused.code == 422
    details = refused.status["details"]
    assert isinstance(details, dict)
    # As kube-apiserver 1.36 answers it.
    assert details["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "message": 'Invalid value: {"matchLabels":{"app":"api"}}:'
            " field is immutable",
            "field": "spec.selector",
        }
    ]


def test_a_handler_accepts_a_change_where_the_option_is_off() -> None:
    options = handler.Options(immutable_fields=False)
    outcome = handler.patch(DEPLOYMENT, PATCH, handler.STRATEGIC, SCHEMA, options)
    assert isinstance(outcome, handler.Accepted)


def test_an_immutable_field_of_a_long_object_is_refused_from_its_bytes() -> None:
    config: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "immutable": True,
        "data": {f"key-{number}": "x" * 100 for number in range(200)},
    }
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    for stored in (config, msgspec.json.encode(config)):
        body = b'{"data": {"key-7": "y"}}'
        refused = handler.patch(stored, body, handler.STRATEGIC, schema)
        assert isinstance(refused, handler.Refused)
        body = b'{"metadata": {"labels": {"a": "b"}}}'
        accepted = handler.patch(stored, body, handler.STRATEGIC, schema)
        assert isinstance(accepted, handler.Accepted)


def codes(old: JSONObject, new: JSONObject, kind: str) -> list[str]:
    schema = smp.kubernetes().schema(*kind.split())
    found = find_changed_immutable_fields(old, new, schema)
    return [str(violation.path) for violation in found]


def claim(**spec: Any) -> JSONObject:
    return {"spec": {"resources": {"requests": {"storage": "1Gi"}}, **spec}}


def test_quantities_and_defaults_are_equal_as_for_a_server() -> None:
    # Go: apiequality.Semantic.DeepEqual, and pkg/apis/core/v1/defaults.go.
    kind = "v1 PersistentVolumeClaim"
    same_amount: JSONObject = {"requests": {"storage": "1024Mi"}}
    assert codes(claim(), claim(resources=same_amount), kind) == []
    assert codes(claim(volumeMode="Filesystem"), claim(), kind) == []
    assert codes(claim(volumeMode="Block"), claim(), kind) == [
        "volumeMode",
        "spec",
    ]
    more: JSONObject = {"requests": {"storage": "2Gi"}}
    assert codes(claim(), claim(resources=more), kind) == ["spec"]
    bound: JSONObject = {**claim(), "status": {"phase": "Bound"}}
    assert codes(bound, {**bound, **claim(resources=more)}, kind) == []


def test_a_volume_name_may_be_set_once() -> None:
    kind = "v1 PersistentVolumeClaim"
    assert codes(claim(), claim(volumeName="disk"), kind) == []
    assert codes(claim(volumeName="disk"), claim(volumeName="b"), kind) == ["spec"]


def test_the_address_of_a_service_may_be_left_out_and_not_changed() -> None:
    kind = "v1 Service"
    live: JSONObject = {
        "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": []}
    }
    assert codes(live, {"spec": {"ports": [{"port": 80}]}}, kind) == []
    assert codes(live, {"spec": {"clusterIP": "None"}}, kind) == ["spec.clusterIPs[0]"]
    external: JSONObject = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
    assert codes(live, external, kind) == []


def test_arguments_are_not_changed() -> None:
    old = deepcopy(DEPLOYMENT)
    new: JSONObject = {**deepcopy(DEPLOYMENT), "spec": {}}
    before = deepcopy(new)
    assert codes(old, new, "apps/v1 Deployment") == ["spec.selector"]
    assert (old, new) == (DEPLOYMENT, before)


def test_tolerations_with_keys_of_any_type_are_compared() -> None:
    schema = smp.kubernetes().schema("v1", "Pod")
    live: JSONObject = {"spec": {"tolerations": [{"key": ["a"]}]}}
    new: JSONObject = {"spec": {"tolerations": [{"key": "a"}]}}
    (violation,) = find_changed_immutable_fields(live, new, schema)
    assert str(violation.path) == "spec.tolerations"


def test_text_that_is_no_unicode_changes_a_secret() -> None:
    schema = smp.kubernetes().schema("v1", "Secret")
    live: JSONObject = {"immutable": True}
    new: JSONObject = {"immutable": True, "stringData": {"a": "\ud800"}}
    (violation,) = find_changed_immutable_fields(live, new, schema)
    assert str(violation.path) == "data"


@pytest.mark.parametrize(
    "text", ["9" * 2_000_000 + "e999", 10**5_000], ids=["text", "integer"]
)
def test_quantities_of_any_length_are_compared(text: JSON) -> None:
    schema = smp.kubernetes().schema("v1", "Pod")
    live: JSONObject = {"spec": {"overhead": {"cpu": text}}}
    assert find_changed_immutable_fields(live, deepcopy(live), schema) == ()
    assert find_changed_immutable_fields(live, {"spec": {"overhead": {}}}, schema)
    others: JSONObject = {"spec": {"overhead": {"cpu": "9" * 2_000_000 + "e998"}}}
    assert find_changed_immutable_fields(live, others, schema)


def plain(path: str) -> str:
    """Return a path without brackets: Go writes one annotation without them."""
    return re.sub(r"[\[\]]", ".", path).strip(".")


def test_updates_are_refused_where_a_server_refuses_them() -> None:
    version, lines = read()
    catalog = smp.kubernetes(version)
    kinds, differing, refused = set(), [], 0
    for line in lines:
        live, schema = line["live"], catalog.schema_of(line["live"])
        kinds.add(live["kind"])
        for patch, code, causes in line["updates"]:
            new = drop_by_strategy(merge_patch.apply(live, patch), schema, live)
            found = find_changed_immutable_fields(live, new, schema)
            ours = {(each.reason, plain(str(each.path))) for each in found}
            theirs = {(reason, plain(field)) for reason, field, _ in causes}
            refused += bool(theirs)
            # Admission may refuse the creation before a server looks at such values.
            judged = predict_refusals(live, new, schema, profile="validate-only")
            known = ours | {
                (each.reason, plain(str(each.path.by_index))) for each in judged
            }
            # A server may look no further behind one cause, or not decode the object.
            if not theirs <= known or (code == 200 and known):
                differing.append((live["kind"], patch, theirs, ours))
    assert not differing
    assert len(kinds) >= 50
    assert refused >= 450
