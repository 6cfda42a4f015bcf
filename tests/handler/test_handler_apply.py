"""Server-side apply in the handler: create, change, refuse, and who owns what.

What a real API server answers to the same is in tests/server.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from smp import handler
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Accepted,
    Limits,
    Options,
)
from smp.managed_fields import Serving, owners
from smp.paths import Path
from smp.schema.catalog import Catalog, kubernetes
from tests.support.handler_objects import accepted, causes, message_of, refused

SCHEMA: Final = kubernetes().schema("v1", "ConfigMap")
OPTIONS: Final = Options(manager="a")
OTHER: Final = Options(manager="b")


def config_map(**data: Any) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x"},
        "data": data,
    }


def applied(
    stored: JSONObject | None, obj: object, options: Options = OPTIONS
) -> handler.Outcome:
    body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
    return handler.patch(stored, body, APPLY, SCHEMA, options)


def owned(obj: JSONObject) -> dict[tuple[str, str], list[str]]:
    """Return the paths that each manager owns by each operation."""
    return {
        (owner.manager, owner.operation): sorted(map(str, owner.fields.paths()))
        for owner in owners(obj)
    }


CREATED: Final = accepted(applied(None, config_map(a="1"))).object


def test_an_apply_creates_what_does_not_exist() -> None:
    outcome = accepted(
        applied(None, b"{apiVersion: v1, kind: ConfigMap, data: {a: b}}")
    )
    assert outcome.code == 201
    assert outcome.changed
    assert outcome.object["data"] == {"a": "b"}
    assert owned(outcome.object) == {("a", "Apply"): ["data.a"]}


def test_another_patch_creates_nothing() -> None:
    for media_type in (JSON_PATCH, MERGE, STRATEGIC):
        outcome = refused(handler.patch(None, b"{}", media_type, SCHEMA))
        assert outcome.code == 404
        assert outcome.status["reason"] == "NotFound"


def test_an_apply_that_changes_nothing_returns_the_stored_object() -> None:
    outcome = accepted(applied(CREATED, config_map(a="1")))
    assert not outcome.changed
    assert outcome.object is CREATED


def test_a_conflict_names_the_manager_and_the_field() -> None:
    outcome = refused(applied(CREATED, config_map(a="2"), OTHER))
    assert outcome.code == 409
    assert outcome.status["reason"] == "Conflict"
    text = 'Apply failed with 1 conflict: conflict with "a": .data.a'
    assert message_of(outcome) == text
    assert outcome.status["details"] == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "a"',
                "field": ".data.a",
            }
        ]
    }


def test_force_takes_over() -> None:
    forced = Options(manager="b", force=True)
    outcome = accepted(applied(CREATED, config_map(a="2"), forced))
    assert outcome.object["data"] == {"a": "2"}
    assert owned(outcome.object) == {("b", "Apply"): ["data.a"]}


@pytest.mark.parametrize("manager", [None, ""])
def test_an_apply_needs_a_manager(manager: str | None) -> None:
    outcome = refused(applied(None, config_map(), Options(manager=manager)))
    assert outcome.code == 422
    message = "Required value: is required for apply patch"
    assert causes(outcome) == [("FieldValueRequired", "fieldManager", message)]
    start = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: '
    assert message_of(outcome).startswith(start)


def test_only_an_apply_can_be_forced() -> None:
    for media_type in (JSON_PATCH, MERGE, STRATEGIC):
        body = b"[]" if media_type == JSON_PATCH else b"{}"
        for force in (True, False):
            options = Options(force=force)
            outcome = handler.patch(CREATED, body, media_type, SCHEMA, options)
            message = "Forbidden: may not be specified for non-apply patch"
            assert causes(outcome) == [("FieldValueForbidden", "force", message)]


def test_the_query_of_an_apply_names_its_manager() -> None:
    options = handler.requested(
        Options(), "fieldManager=m&force=true", media_type=APPLY
    )
    assert (options.manager, options.force) == ("m", True)
    with pytest.raises(handler.InvalidOptionsError):
        handler.requested(Options(manager="m"), "", media_type=APPLY)
    with pytest.raises(handler.InvalidOptionsError):
        handler.requested(Options(), "force=false", media_type=MERGE)


def test_a_body_beyond_the_limits_is_refused() -> None:
    options = Options(manager="a", limits=Limits(body=10))
    assert refused(applied(None, config_map(), options)).code == 413
    options = Options(manager="a", limits=Limits(depth=3))
    nested: JSONObject = {**config_map(), "data": {"a": {"b": {}}}}
    assert refused(applied(None, nested, options)).code == 400


def test_a_key_that_comes_twice_is_a_warning_or_refused() -> None:
    body = b'{apiVersion: v1, kind: ConfigMap, data: {a: "1", a: "2"}}'
    text = 'line 1: key "a" already set in map'
    outcome = accepted(applied(None, body))
    assert outcome.object["data"] == {"a": "2"}
    assert outcome.warnings == (text,)
    strict = Options(manager="a", field_validation="Strict")
    message = message_of(applied(None, body, strict))
    assert message.startswith("error strict decoding YAML: ")
    assert message.endswith(text)
    ignored = Options(manager="a", field_validation="Ignore")
    assert accepted(applied(None, body, ignored)).warnings == ()


def test_a_field_that_the_schema_does_not_know_is_an_error() -> None:
    outcome = refused(applied(CREATED, {**config_map(), "foo": 1}))
    assert outcome.code == 500
    assert "reason" not in outcome.status
    assert message_of(outcome).endswith(".foo: field not declared in schema")


def test_other_writes_are_noted_for_their_manager() -> None:
    created = handler.create(json.dumps(config_map(a="1", b="1")), SCHEMA, OTHER)
    obj = accepted(created).object
    assert owned(obj) == {("b", "Update"): ["data", "data.a", "data.b"]}
    options = Options(manager="c")
    patched = handler.patch(obj, b'{"data":{"b":"2"}}', MERGE, SCHEMA, options)
    assert owned(accepted(patched).object) == {
        ("b", "Update"): ["data", "data.a"],
        ("c", "Update"): ["data.b"],
    }
    replaced = handler.replace(obj, json.dumps(config_map(a="2")), SCHEMA, options)
    assert owned(accepted(replaced).object) == {
        ("b", "Update"): ["data"],
        ("c", "Update"): ["data.a"],
    }


def test_without_a_manager_nothing_is_noted() -> None:
    body = b'{"data":{"a":"2"}}'
    patched = accepted(handler.patch(CREATED, body, MERGE, SCHEMA)).object
    assert owned(patched) == owned(CREATED)
    created = handler.create(json.dumps(config_map(a="1")), SCHEMA)
    assert owned(accepted(created).object) == {}


def test_what_a_hook_changes_has_no_owner() -> None:
    def admit(admission: handler.Admission) -> JSONObject:
        return {**admission.new, "immutable": True}

    options = Options(manager="c", admit=admit)
    outcome = handler.patch(CREATED, b'{"data":{"a":"2"}}', MERGE, SCHEMA, options)
    new = accepted(outcome).object
    assert new["immutable"] is True
    assert owned(new) == {("c", "Update"): ["data.a"]}


def test_what_a_default_adds_belongs_to_the_writer_but_not_of_an_apply() -> None:
    def default(obj: JSONObject) -> JSONObject:
        return {"immutable": False, **obj}

    options = Options(manager="c", default=default)
    created = handler.create(json.dumps(config_map(a="1")), SCHEMA, options)
    assert "immutable" in owned(accepted(created).object)["c", "Update"]
    outcome = accepted(applied(None, config_map(a="1"), options))
    assert outcome.object["immutable"] is False
    assert owned(outcome.object) == {("c", "Apply"): ["data.a"]}


def test_prepare_keeps_what_the_endpoint_does_not_write() -> None:
    pod = kubernetes().schema("v1", "Pod")

    def without_status(old: JSONObject | None, new: JSONObject) -> JSONObject:
        kept = {name: value for name, value in new.items() if name != "status"}
        if old is None or "status" not in old:
            return kept
        return {**kept, "status": old["status"]}

    options = Options(manager="a", prepare=without_status)
    configuration = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"l": "1"}},
        "status": {"phase": "Running"},
    }
    body = json.dumps(configuration)
    for outcome in (
        handler.patch(None, body, APPLY, pod, options),
        handler.create(body, pod, options),
    ):
        new = accepted(outcome).object
        ((_, paths),) = owned(new).items()
        assert "metadata.labels.l" in paths
        assert not any(path.startswith("status") for path in paths)


def test_a_status_in_a_configuration_makes_its_apply_a_write() -> None:
    # A manager begins to own what it did not. kube-apiserver 1.36.3 keeps the time of
    # its entry, but not where the configuration has a status: then the merged object
    # is not the stored one, before the status is reset (Go: merge.Updater.Apply).
    schema = kubernetes().schema("apps/v1", "Deployment")

    def without_status(_old: JSONObject | None, new: JSONObject) -> JSONObject:
        return {name: value for name, value in new.items() if name != "status"}

    def applied_by(
        manager: str, stored: JSONObject | None, **members: Any
    ) -> JSONObject:
        configuration = {"apiVersion": "apps/v1", "kind": "Deployment", **members}
        options = Options(manager=manager, prepare=without_status)
        body = json.dumps(configuration)
        return accepted(handler.patch(stored, body, APPLY, schema, options)).object

    labelled = {"name": "d", "labels": {"app": "y"}}
    spec = {"minReadySeconds": 3}
    both = applied_by("flux", None, metadata=labelled)
    both = applied_by("helm", both, metadata={"name": "d"}, spec=spec)
    metadata: Any = both["metadata"]
    former = "2020-01-01T00:00:00Z"
    entries: list[Any] = [
        {**entry, "time": former} for entry in metadata["managedFields"]
    ]
    stored: JSONObject = {**both, "metadata": {**metadata, "managedFields": entries}}
    for members, keeps in (({}, True), ({"status": {"replicas": 2}}, False)):
        new = applied_by("helm", stored, metadata=labelled, spec=spec, **members)
        [time] = [owner.time for owner in owners(new) if owner.manager == "helm"]
        assert (time == former) is keeps, members


def test_what_the_normalization_clears_has_no_owner() -> None:
    schema = kubernetes().schema("apps/v1", "StatefulSet")
    rolling: JSONObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    obj: JSONObject = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s"},
        "spec": {"updateStrategy": rolling},
    }
    created = accepted(handler.create(json.dumps(obj), schema, OTHER)).object
    member = Path(("spec", "updateStrategy", "rollingUpdate", "partition"))
    assert any(owner.fields.has(member) for owner in owners(created))
    body = b'{"spec":{"updateStrategy":{"type":"OnDelete"}}}'
    for media_type in (MERGE, STRATEGIC):
        outcome = handler.patch(created, body, media_type, schema, OPTIONS)
        new = accepted(outcome).object
        assert new["spec"] == {"updateStrategy": {"type": "OnDelete"}}
        for owner in owners(new):
            assert not any(
                "rollingUpdate" in str(path) for path in owner.fields.paths()
            )


def test_managers_that_a_client_writes_have_names_that_can_be_printed() -> None:
    entry = {
        "manager": "a\x01",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    body = json.dumps({"metadata": {"managedFields": [entry]}})
    outcome = refused(handler.patch(CREATED, body, MERGE, SCHEMA, OTHER))
    field = "metadata.managedFields[0].manager"
    text = 'Invalid value: "a\\x01": invalid character U+0001 (at position 1)'
    assert set(causes(outcome)) == {("FieldValueInvalid", field, text)}


@pytest.mark.parametrize(
    ("user_agent", "manager"),
    [
        ("kubectl/v1.36.3 (linux/amd64)", "kubectl"),
        ("Mozilla", "Mozilla"),
        ("", "unknown"),
        ("/1.0", "unknown"),
        ("a\x01b/1", "ab"),
        ("x" * 200, "x" * 128),
        ("é" * 100, "é" * 64),
    ],
)
def test_the_manager_is_the_first_part_of_the_user_agent(
    user_agent: str, manager: str
) -> None:
    # Go: k8s.io/apiserver, endpoints/handlers, prefixFromUserAgent.
    assert handler.manager_of(user_agent) == manager


@pytest.mark.parametrize("option", [{"manager": 1}, {"force": "yes"}, {"prepare": 1}])
def test_options_of_a_wrong_type_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(SmpError) as caught:
        Options(**option)
    assert caught.value.code == "invalid-option"


def test_a_refusal_of_a_new_object_names_it() -> None:
    schema = kubernetes().schema("apps/v1", "StatefulSet")
    obj = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s"},
        "spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}},
    }
    options = Options(manager="a", profile="validate-only")
    outcome = refused(handler.patch(None, json.dumps(obj), APPLY, schema, options))
    assert outcome.code == 422
    # Go: errors.NewInvalid, of what the request names.
    assert message_of(outcome).startswith('StatefulSet.apps "s" is invalid: ')


def test_an_apply_that_empties_a_struct_of_a_custom_resource_is_refused() -> None:
    # What kube-apiserver 1.36.3 answers; 1.36.0 to 1.36.2 keep what is emptied.
    texts: JSONObject = {"type": "object", "additionalProperties": {"type": "string"}}
    fields: JSONObject = {
        "deep": {"type": "object", "properties": {"b": texts}},
        "maybe": {**texts, "nullable": True},
    }
    schema = Catalog.from_crd(definition(fields)).schema("example.org/v1", "Gizmo")

    def apply(stored: JSONObject | None, version: str, **spec: Any) -> handler.Outcome:
        options = Options(
            manager="a",
            custom=True,
            typed=True,
            serving=Serving(custom=True, kubernetes=version),
        )
        body = {
            "apiVersion": "example.org/v1",
            "kind": "Gizmo",
            "metadata": {"name": "g"},
            "spec": spec,
        }
        return handler.patch(stored, json.dumps(body), APPLY, schema, options)

    full: dict[str, Any] = {"deep": {"b": {"c": "1"}}, "maybe": {"c": "1"}}
    emptied = {**full, "deep": {"b": {}}}
    for version in ("1.36.1", "1.36.3"):
        stored = accepted(apply(None, version, **full)).object
        assert accepted(apply(stored, version, **{**full, "maybe": {}})).changed
        outcome = apply(stored, version, **emptied)
        if version == "1.36.1":
            assert accepted(outcome).changed
            continue
        problem = 'spec.deep.b in body must be of type object: "null"'
        message = f'Invalid value: "null": {problem}'
        assert causes(outcome) == [("FieldValueTypeInvalid", "spec.deep.b", message)]
        assert message_of(outcome).startswith('Gizmo.example.org "g" is invalid: ')


# Applies of two managers, and where kube-apiserver 1.36.3 finds a null after the last
# one: "" where it accepts it.
NULLS: Final[dict[str, tuple[list[tuple[str, JSONObject]], str]]] = {
    "a struct that another one applies empty": (
        [("a", {"deep": {"b": {"c": "1"}}}), ("b", {"deep": {"b": {}}}), ("a", {})],
        "spec.deep.b",
    ),
    "the same, below what is kept": (
        [
            ("a", {"deep": {"b": {"c": "1"}}}),
            ("b", {"deep": {"b": {}}}),
            ("a", {"deep": {}}),
        ],
        "spec.deep.b",
    ),
    "a map that another one applies empty": (
        [("a", {"map": {"x": {"c": "1"}}}), ("b", {"map": {}}), ("a", {})],
        "spec.map",
    ),
    "a nullable one": (
        [("a", {"maybe": {"c": "1"}}), ("b", {"maybe": {}}), ("a", {})],
        "",
    ),
    "null for an absent struct": ([("a", {"deep": None})], "spec.deep"),
    "null for a struct of another one": (
        [("a", {"deep": {"b": {"c": "1"}}}), ("b", {"deep": None})],
        "",
    ),
    "null for an absent list": ([("a", {"items": None})], "spec.items"),
    "null for the own list": (
        [("a", {"items": ["x"]}), ("a", {"items": None})],
        "spec.items",
    ),
    "null for the own text": (
        [("a", {"title": "t"}), ("a", {"title": None})],
        "spec.title",
    ),
}


def test_nulls_that_an_apply_leaves_are_refused() -> None:
    texts: JSONObject = {"type": "object", "additionalProperties": {"type": "string"}}
    fields: JSONObject = {
        "deep": {"type": "object", "properties": {"b": texts}},
        "items": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": texts},
        "maybe": {**texts, "nullable": True},
        "title": {"type": "string"},
    }
    schema = Catalog.from_crd(definition(fields)).schema("example.org/v1", "Gizmo")
    found = {}
    for name, (applies, _) in NULLS.items():
        stored, outcome = None, None
        for manager, spec in applies:
            body: JSONObject = {
                "apiVersion": "example.org/v1",
                "kind": "Gizmo",
                "metadata": {"name": "g"},
                "spec": spec,
            }
            options = Options(
                manager=manager,
                custom=True,
                typed=True,
                serving=Serving(custom=True, kubernetes="1.36.3"),
            )
            outcome = handler.patch(stored, json.dumps(body), APPLY, schema, options)
            stored = outcome.object if isinstance(outcome, Accepted) else stored
        assert outcome is not None
        places = []
        if not isinstance(outcome, Accepted):
            places = [place for _, place, _ in causes(outcome)]
        found[name] = ", ".join(places)
    assert found == {name: place for name, (_, place) in NULLS.items()}


def definition(fields: JSONObject) -> JSONObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gizmos.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"kind": "Gizmo", "plural": "gizmos"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": fields}
                            },
                        }
                    },
                }
            ],
        },
    }
