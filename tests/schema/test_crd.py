from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

import smp
from smp._values.values import JSON, JSONObject
from smp.errors import DepthError, SchemaError, SmpError
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.model import ListType, ObjectType, ScalarType, Schema
from smp.schema.sources.crd import to_openapi
from smp.schema.sources.openapi import compile_documents
from tests.support.schema_documents import nested, schema_documents

CONDITIONS: JSON = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
V1: JSONObject = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "format": "int32", "minimum": 0},
                "maxSurge": {
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "x-kubernetes-int-or-string": True,
                },
                "strategy": {"type": "string", "enum": ["Canary", "BlueGreen"]},
                "values": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "selector": {
                    "type": "object",
                    "properties": {
                        "matchLabels": {
                            "type": "object",
                            "additionalProperties": {"type": "string"},
                        }
                    },
                    "x-kubernetes-map-type": "atomic",
                },
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "hooks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"url": {"type": "string"}},
                            }
                        },
                    },
                },
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}},
                    },
                    "x-kubernetes-patch-strategy": "merge,retainKeys",
                    "x-kubernetes-patch-merge-key": "name",
                },
                "oneMember": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [
                        {"required": ["a"]},
                        {"required": ["b"], "properties": {"b": {"minLength": 1}}},
                    ],
                },
            },
        },
        "status": {"type": "object", "properties": {"conditions": CONDITIONS}},
    },
}
ALPHA: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ROLLOUT: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "rollouts.shop.example.com"},
    "spec": {
        "group": "shop.example.com",
        "names": {"kind": "Rollout", "plural": "rollouts"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": V1},
            },
            {
                "name": "v1alpha1",
                "served": True,
                "storage": False,
                "schema": {"openAPIV3Schema": ALPHA},
            },
            {
                "name": "v0",
                "served": False,
                "storage": False,
                "schema": {"openAPIV3Schema": ALPHA},
            },
        ],
    },
}
LEGACY: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "kind": "CustomResourceDefinition",
    "spec": {
        "group": "old.example.com",
        "version": "v1",
        "names": {"kind": "Relic"},
        "validation": {
            "openAPIV3Schema": {
                "properties": {"spec": {"properties": {"size": {"type": "integer"}}}}
            }
        },
    },
}


def crd(**spec: JSON) -> JSONObject:
    return {**ROLLOUT, "spec": {"group": "example.com", "names": {"kind": "A"}, **spec}}


def served(schema: JSON) -> JSON:
    return [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}]


@pytest.fixture(scope="module")
def rollout() -> Schema:
    return Catalog.from_crd(ROLLOUT).schema("shop.example.com/v1", "Rollout")


def test_every_served_version_is_a_kind() -> None:
    assert Catalog.from_crd([ROLLOUT, LEGACY]).kinds() == (
        ("old.example.com/v1", "Relic"),
        ("shop.example.com/v1", "Rollout"),
        ("shop.example.com/v1alpha1", "Rollout"),
    )


def test_types_are_named_as_a_server_publishes_them(rollout: Schema) -> None:
    assert rollout.document == "#com.example.shop.v1.Rollout"


def test_the_items_of_a_list_object_are_read() -> None:
    listed: JSONObject = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [ROLLOUT, LEGACY],
    }
    assert (
        Catalog.from_crd(listed).kinds() == Catalog.from_crd([ROLLOUT, LEGACY]).kinds()
    )


def test_a_v1beta1_definition_may_have_one_schema_for_all_versions() -> None:
    schema = Catalog.from_crd(LEGACY).schema("old.example.com/v1", "Relic")
    assert isinstance(schema.descend("spec", "size").type, ScalarType)
    assert schema.descend("metadata", "finalizers").merges


def test_objects_of_a_v1beta1_definition_without_a_schema_are_free_form() -> None:
    names: JSON = {"kind": "Relic"}
    spec: JSON = {"group": "old.example.com", "version": "v1", "names": names}
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "spec": spec,
    }
    schema = Catalog.from_crd(definition).schema("old.example.com/v1", "Relic")
    assert schema.descend("spec", "anything").merge_key == ""
    assert schema.descend("metadata", "finalizers").merges
    # The API of v1 requires a schema.
    with pytest.raises(SchemaError, match="needs a schema of type object"):
        Catalog.from_crd({**definition, "apiVersion": "apiextensions.k8s.io/v1"})


@pytest.mark.parametrize(
    "keyword",
    [
        "additionalProperties",
        "allOf",
        "anyOf",
        "default",
        "enum",
        "format",
        "items",
        "nullable",
        "oneOf",
        "properties",
        "required",
        "type",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-patch-merge-key",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-unions",
    ],
)
def test_a_keyword_that_is_null_is_absent(keyword: str) -> None:
    """Go decodes a null into the zero value of a field, as it does an absent one."""
    string: JSONObject = {"type": "string"}
    nodes: list[JSONObject] = [
        {},
        string,
        {"items": string, "type": "array"},
        {"type": "object", "properties": {"a": string}},
        {"type": "object", "additionalProperties": string},
        {"x-kubernetes-int-or-string": True},
    ]
    for node in nodes:
        if keyword in node:
            continue
        with_null: JSONObject = {**node, keyword: None}
        nested_null: JSONObject = {"properties": {"spec": with_null}}
        nested_plain: JSONObject = {"properties": {"spec": node}}
        for wrapped, plain in ((with_null, node), (nested_null, nested_plain)):
            document = compile_documents({"definitions": {"T": wrapped}})
            assert document == compile_documents({"definitions": {"T": plain}})
        # As a property, and at the root of a custom resource.
        root: JSONObject = {keyword: None}
        for schema in (nested_null, root):
            catalog = Catalog.from_crd(crd(versions=served(schema)))
            found = catalog.schema("example.com/v1", "A")
            assert found.descend("metadata", "finalizers").merges
            assert smp.validate_unions(None, {"spec": {}}, found) == ()
            assert smp.validate_enums({"spec": {}}, found) == ()


def test_the_source_of_many_definitions_has_their_number() -> None:
    catalog = kubernetes("1.37")
    for index in range(3):
        names: JSON = {"kind": f"Kind{index}"}
        catalog |= Catalog.from_crd(crd(names=names, versions=served({})))
    assert catalog.source == "Kubernetes 1.37 + 3 definitions"
    both = Catalog.from_crd([ROLLOUT, LEGACY])
    assert both.source == "2 definitions"
    assert pickle.loads(pickle.dumps(both)).source == both.source  # noqa: S301  # its own
    one = kubernetes("1.37") | Catalog.from_crd(LEGACY)
    assert one.source == "Kubernetes 1.37 + CustomResourceDefinition"


@pytest.mark.parametrize("path", [(), ("spec", "template"), ("spec", "hooks")])
def test_resources_have_the_metadata_of_kubernetes(
    rollout: Schema, path: tuple[str, ...]
) -> None:
    owners = rollout.descend(*path, "metadata", "ownerReferences")
    assert (owners.merges, owners.merge_key) == (True, "uid")
    assert rollout.descend(*path, "metadata", "finalizers").merges
    assert (
        rollout.descend(*path, "apiVersion").strategy
        == rollout.descend(*path, "kind").strategy
    )


def test_a_free_form_version_still_has_metadata() -> None:
    schema = Catalog.from_crd(ROLLOUT).schema("shop.example.com/v1alpha1", "Rollout")
    assert schema.descend("metadata", "ownerReferences").merge_key == "uid"
    assert schema.descend("spec", "anything").merge_key == ""


def test_an_embedded_resource_is_marked(rollout: Schema) -> None:
    template = rollout.descend("spec", "template").type
    assert isinstance(template, ObjectType)
    assert template.embedded
    assert rollout.descend("spec", "template", "spec", "anything").merge_key == ""


def test_lists_are_atomic_as_published_and_keep_their_map_keys(rollout: Schema) -> None:
    assert not rollout.descend("status", "conditions").merges
    conditions = rollout.descend("status", "conditions").type
    assert isinstance(conditions, ListType)
    assert (conditions.list_type, conditions.map_keys) == ("map", ("type",))


def test_patch_extensions_of_a_definition_are_read(rollout: Schema) -> None:
    steps = rollout.descend("spec", "steps")
    assert (steps.merges, steps.retain_keys, steps.merge_key) == (True, True, "name")


def test_scalars_and_free_form_fields(rollout: Schema) -> None:
    surge, strategy = (
        rollout.descend("spec", "maxSurge").type,
        rollout.descend("spec", "strategy").type,
    )
    assert isinstance(surge, ScalarType)
    assert isinstance(strategy, ScalarType)
    assert (surge.name, strategy.enum) == ("int-or-string", ("Canary", "BlueGreen"))
    assert rollout.descend("spec", "values", "a", "b").merge_key == ""
    assert rollout.descend("spec", "selector", "matchLabels", "app").merge_key == ""


def test_validation_beside_a_structure_does_not_change_the_type(
    rollout: Schema,
) -> None:
    member = rollout.descend("spec", "oneMember").type
    assert isinstance(member, ObjectType)
    assert [field.name for field in member] == ["a", "b"]


def test_custom_kinds_join_the_bundled_ones() -> None:
    catalog = kubernetes() | Catalog.from_crd(ROLLOUT)
    assert (
        catalog.schema("shop.example.com/v1", "Rollout").descend("spec", "steps").merges
    )
    assert (
        catalog.schema("apps/v1", "Deployment").descend("spec", "strategy").retain_keys
    )
    assert len(catalog.kinds()) == len(kubernetes().kinds()) + 2


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (None, ""),
        ([], ""),
        ([1], ""),
        (
            {
                "kind": "CustomResourceDefinition",
                "apiVersion": "apiextensions.k8s.io/v2",
            },
            "",
        ),
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, ""),
        ({**ROLLOUT, "spec": None}, "spec.group"),
        (crd(names=[]), "spec.names.kind"),
        (crd(), "spec.version"),
        (crd(versions={}), "spec.versions"),
        (crd(versions=[]), ""),
        (crd(versions=[None]), "spec.versions[0].name"),
        (crd(versions=[{"name": "v1", "served": False}]), ""),
        (crd(versions=[{"name": "v1"}]), "spec.versions[0]"),
        (crd(versions=served([])), "spec.versions[0]"),
        (crd(versions=served({"type": "array"})), "spec.versions[0]"),
        (
            crd(versions=served({"properties": 1})),
            "components.schemas[com.example.v1.A]",
        ),
        (
            crd(
                versions=served(
                    {
                        "properties": {
                            "spec": {"items": {"x-kubernetes-list-type": "map"}}
                        }
                    }
                )
            ),
            "components.schemas[com.example.v1.A].properties.spec.items.x-kubernetes-list-type",
        ),
        (
            crd(
                versions=served(
                    {
                        "properties": {
                            "a": {
                                "x-kubernetes-embedded-resource": True,
                                "type": "string",
                            }
                        }
                    }
                )
            ),
            "components.schemas[com.example.v1.A].properties.a.x-kubernetes-embedded-resource",
        ),
    ],
)
def test_an_unusable_definition_is_an_error_with_its_path(
    document: Any, path: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Catalog.from_crd(document)
    assert str(caught.value.path) == path


def test_definitions_are_not_changed() -> None:
    before = copy.deepcopy(ROLLOUT)
    to_openapi(ROLLOUT)
    assert before == ROLLOUT


@pytest.mark.slow
def test_deep_nesting_is_an_error_of_its_own() -> None:
    with pytest.raises(DepthError):
        to_openapi(crd(versions=served({"properties": {"spec": nested(100_000)}})))


@given(schema_documents)
def test_any_json_is_converted_or_an_error(document: Any) -> None:
    spec: JSON = {**ROLLOUT, "spec": document}
    definitions: list[Any] = [
        document,
        [document],
        spec,
        crd(versions=document),
        crd(versions=served(document)),
    ]
    for definition in definitions:
        try:
            catalog = Catalog.from_crd(definition)
        except SmpError:
            continue
        assert catalog.kinds()


def test_the_catalog_of_a_definition_knows_its_defaults() -> None:
    spec: JSONObject = {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "default": "auto"},
            "settings": {
                "type": "object",
                "default": {},
                "properties": {"retries": {"type": "integer", "default": 3}},
            },
            "text": {"type": "string"},
            "other": {"type": "string", "nullable": True},
        },
    }
    schema: JSONObject = {"type": "object", "properties": {"spec": spec}}
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    catalog = smp.kubernetes() | smp.Catalog.from_crd(definition)
    copied = pickle.loads(pickle.dumps(catalog))  # noqa: S301  # its own
    obj: JSONObject = {"spec": {"mode": None, "text": None, "other": None}}
    for each in (catalog, copied):
        found = each.schema("example.com/v1", "Widget")
        assert smp.with_defaults(obj, found) == {
            "spec": {"mode": "auto", "settings": {"retries": 3}, "other": None}
        }
