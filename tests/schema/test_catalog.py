from __future__ import annotations

import json
import zlib
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given

from smp._values.values import JSON, JSONObject
from smp.errors import DepthError, ObjectError, SchemaError, UnknownKindError
from smp.schema.catalog import (
    Catalog,
    compile_openapi,
    kubernetes,
    read_compiled,
    versions,
)
from smp.schema.model import (
    ListType,
    ObjectType,
    ScalarType,
    Schema,
    Type,
    TypeDocument,
)
from tests.record.enums import published, with_enums
from tests.support.errors import only_reported_errors
from tests.support.schema_documents import nested, schema_documents

ALL = tuple(f"1.{minor}" for minor in range(25, 38))
JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
CRON_TAB: JSONObject = {
    "definitions": {
        "CronTab": {
            "properties": {
                "kind": {"type": "string"},
                "steps": {"items": {"$ref": "#/definitions/Step"}},
                "target": {"$ref": "#/definitions/Step"},
                "mode": {"type": "string"},
            },
            "x-kubernetes-group-version-kind": [
                {"group": "example.com", "version": "v1", "kind": "CronTab"}
            ],
        },
        "Step": {"properties": {"name": {"type": "string"}}},
    }
}


def members(value: JSON, name: str) -> JSONObject:
    """Return the object of that name, which published data has or leaves out."""
    assert isinstance(value, dict)
    member = value.get(name, {})
    assert isinstance(member, dict)
    return member


def elements(value: JSONObject, name: str) -> list[JSONObject]:
    """Return the objects in a list of that name, which published data has or leaves
    out.
    """
    member = value.get(name, [])
    assert isinstance(member, list)
    return [element for element in member if isinstance(element, dict)]


@cache
def bundled_types(minor: str) -> dict[str, JSONObject]:
    catalog = kubernetes(minor, overlay=None)
    documents = {
        name: catalog.load(name) for name in members(published(minor), "$defs")
    }
    return {
        name: document
        for name, document in documents.items()
        if isinstance(document, dict)
    }


def bundled_fields(minor: str) -> dict[str, TypeDocument]:
    fields: dict[str, TypeDocument] = {}
    for name, document in bundled_types(minor).items():
        declared = members(document, "fields").items()
        fields |= {
            f"{name}.{field}": declaration
            for field, declaration in declared
            if isinstance(declaration, str | dict)
        }
    return fields


def strategies(minor: str) -> Counter[str]:
    fields = bundled_fields(minor).values()
    return Counter(
        str(field["strategy"])
        for field in fields
        if isinstance(field, dict) and "strategy" in field
    )


def cron_tab(overlay: Any) -> Schema:
    return (
        Catalog.from_openapi(CRON_TAB)
        .with_overlay(overlay)
        .schema("example.com/v1", "CronTab")
    )


def test_every_minor_is_bundled() -> None:
    assert versions() == ALL
    assert kubernetes().version == ALL[-1]


def test_catalogs_and_schemas_have_a_useful_repr() -> None:
    assert repr(kubernetes("1.33")) == (
        "<Catalog source='Kubernetes 1.33' version='1.33' kinds=301>"
    )
    catalog = Catalog.from_openapi(CRON_TAB)
    assert repr(catalog) == "<Catalog source='OpenAPI' kinds=1>"
    assert repr(catalog.schema("example.com/v1", "CronTab")) == (
        "<Schema api_version='example.com/v1' kind='CronTab' source='OpenAPI'>"
    )


@pytest.mark.parametrize("minor", ALL)
def test_the_bundle_is_what_the_published_definitions_compile_to(minor: str) -> None:
    """Texts are compared: builds of zlib differ in how they compress one text."""
    source = f"Kubernetes {minor}"
    bundled = (files("smp.schema") / "bundled" / f"{minor}.types").read_bytes()
    document = with_enums(published(minor), minor)
    compiled = compile_openapi(document, source=source)
    assert zlib.decompress(compiled) == zlib.decompress(bundled)
    assert kubernetes(minor).source == source
    assert len(bundled) < 30_000


@pytest.mark.parametrize("minor", ALL)
def test_every_bundled_type_links(minor: str) -> None:
    types = kubernetes(minor).schema("v1", "Pod").types
    for name, document in bundled_types(minor).items():
        linked = types.named(name)
        assert isinstance(linked, ObjectType) == ("fields" in document)
        for field in linked if isinstance(linked, ObjectType) else ():
            assert field.type.items is not None


def test_the_newest_strategies_are_those_published() -> None:
    assert strategies("1.37") == {
        "merge": 81,
        "merge,retainKeys": 9,
        "retainKeys": 1,
        "replace": 1,
    }


@pytest.mark.parametrize(
    ("minor", "unions", "retain_keys"),
    [
        ("1.25", 7, 2),
        ("1.26", 7, 3),
        ("1.27", 7, 3),
        ("1.28", 7, 4),
        ("1.29", 7, 4),
        ("1.30", 8, 4),
        ("1.31", 8, 4),
        ("1.32", 5, 4),
        ("1.33", 5, 4),
        ("1.34", 5, 4),
        ("1.35", 5, 4),
        ("1.36", 8, 7),
        ("1.37", 18, 10),
    ],
)
def test_unions_and_retained_keys_are_those_published(
    minor: str, unions: int, retain_keys: int
) -> None:
    # The enum contradicts those of SeccompProfile and, since 1.30, of AppArmorProfile.
    left_out = 1 if ALL.index(minor) < ALL.index("1.30") else 2
    assert (
        sum("unions" in document for document in bundled_types(minor).values())
        == unions - left_out
    )
    assert (
        sum(
            count
            for strategy, count in strategies(minor).items()
            if "retainKeys" in strategy
        )
        == retain_keys
    )


def test_a_published_union_is_required_where_its_discriminator_is() -> None:
    unions = [
        union
        for document in bundled_types("1.37").values()
        for union in elements(document, "unions")
    ]
    assert len(unions) == 16
    assert all(
        ("discriminator" in union) == (union.get("required") is True)
        for union in unions
    )
    assert sum("required" in union for union in unions) == 3


def test_the_newest_merge_and_map_keys_are_those_published() -> None:
    fields = [
        field for field in bundled_fields("1.37").values() if isinstance(field, dict)
    ]
    assert sum("key" in field for field in fields) == 88
    types = [field.get("is", field) for field in fields]
    keys = Counter(
        json.dumps(type_["map_keys"])
        for type_ in types
        if isinstance(type_, dict) and "map_keys" in type_
    )
    assert [keys[f'["{name}"]'] for name in ("name", "type", "uid", "mountPath")] == [
        46,
        38,
        4,
        3,
    ]


def test_every_published_fact_is_kept() -> None:
    """Each field that says a strategy or a merge key upstream says it in the bundle."""
    upstream = {
        f"{name}.{field}": (
            property_.get("x-kubernetes-patch-strategy"),
            property_.get("x-kubernetes-patch-merge-key"),
        )
        for name, node in members(published("1.37"), "$defs").items()
        for field, property_ in members(node, "properties").items()
        if isinstance(property_, dict)
    }
    bundled = bundled_fields("1.37")
    assert bundled.keys() == upstream.keys()
    for path, (strategy, key) in upstream.items():
        field = bundled[path]
        facets = field if isinstance(field, dict) else {}
        assert (facets.get("strategy"), facets.get("key")) == (strategy, key)


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "strategy", "key", "list_type"),
    [
        ("apps/v1", "Deployment", "spec.strategy", "retainKeys", "", ""),
        ("apps/v1", "Deployment", "spec.template", "", "", ""),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.containers",
            "merge",
            "name",
            "map",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.containers.ports",
            "merge",
            "containerPort",
            "map",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.containers.env",
            "merge",
            "name",
            "map",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.containers.volumeMounts",
            "merge",
            "mountPath",
            "map",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.containers.args",
            "",
            "",
            "atomic",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec.template.spec.volumes",
            "merge,retainKeys",
            "name",
            "map",
        ),
        ("apps/v1", "Deployment", "spec.template.spec.tolerations", "", "", "atomic"),
        ("apps/v1", "Deployment", "status.conditions", "merge", "type", "map"),
        ("apps/v1", "Deployment", "metadata.finalizers", "merge", "", "set"),
        ("apps/v1", "Deployment", "metadata.ownerReferences", "merge", "uid", "map"),
        ("v1", "Pod", "spec.imagePullSecrets", "merge", "name", "map"),
        ("v1", "Pod", "spec.topologySpreadConstraints", "merge", "topologyKey", "map"),
        ("v1", "Pod", "status.hostIPs", "merge", "ip", "atomic"),
        ("v1", "Pod", "spec.containers.volumeDevices", "merge", "devicePath", "map"),
        ("v1", "Service", "spec.ports", "merge", "port", "map"),
        ("v1", "Service", "spec.externalIPs", "", "", "atomic"),
        ("v1", "Node", "spec.podCIDRs", "merge", "", "set"),
        ("v1", "ServiceAccount", "secrets", "merge", "name", "map"),
        ("batch/v1", "Job", "status.conditions", "merge", "type", "atomic"),
        ("policy/v1", "PodDisruptionBudget", "spec.selector", "replace", "", ""),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "spec.versions",
            "",
            "",
            "atomic",
        ),
    ],
)
def test_a_field_of_kubernetes(
    api_version: str, kind: str, path: str, strategy: str, key: str, list_type: str
) -> None:
    field = kubernetes().schema(api_version, kind).descend(*path.split("."))
    assert (str(field.strategy), field.merge_key) == (strategy, key)
    assert (
        field.type.list_type if isinstance(field.type, ListType) else ""
    ) == list_type


def test_map_keys_may_be_more_than_the_merge_key() -> None:
    ports = kubernetes().schema("v1", "Service").descend("spec", "ports").type
    assert isinstance(ports, ListType)
    assert ports.map_keys == ("port", "protocol")


def test_a_recursive_type_can_be_descended_without_end() -> None:
    crd = kubernetes().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    path = ("spec", "versions", "schema", "openAPIV3Schema")
    assert crd.descend(*path).reference == JSON_SCHEMA
    assert crd.descend(*path, *["properties", "x"] * 50).type is crd.descend(*path).type
    assert crd.descend(*path, "allOf", "not", "oneOf").name == "oneOf"


def test_fields_of_opaque_types_are_unknown_and_quantities_are_scalars() -> None:
    revision = kubernetes().schema("apps/v1", "ControllerRevision")
    assert revision.descend("data").type.field("spec") is None
    service = (
        kubernetes().schema("v1", "Service").descend("spec", "ports", "targetPort").type
    )
    limits = (
        kubernetes()
        .schema("v1", "Pod")
        .descend("spec", "containers", "resources", "limits", "cpu")
        .type
    )
    assert isinstance(service, ScalarType)
    assert isinstance(limits, ScalarType)
    assert service.name == limits.name == "int-or-string"


def test_converted_enums_of_api_version_and_kind_are_dropped() -> None:
    assert not [
        path
        for path, field in bundled_fields("1.37").items()
        if path.endswith((".apiVersion", ".kind"))
        and field != "string"
        # The kind of a disk is no kind of object.
        and path != "io.k8s.api.core.v1.AzureDiskVolumeSource.kind"
    ]


def test_a_type_of_many_groups_has_all_its_kinds() -> None:
    groups = {
        api_version
        for api_version, kind in kubernetes().kinds()
        if kind == "DeleteOptions"
    }
    assert {"v1", "apps/v1", "batch/v1", "policy/v1"} < groups
    assert len(groups) == 62


@pytest.mark.parametrize("minor", ALL)
def test_metadata_has_the_same_strategies_in_every_version(minor: str) -> None:
    """So the metadata of custom resources can be that of the newest version."""
    bundled, newest = (
        kubernetes(version).schema("v1", "Pod").descend("metadata").type
        for version in (minor, None)
    )
    assert isinstance(bundled, ObjectType)
    assert isinstance(newest, ObjectType)
    assert [(field.name, field.strategy, field.merge_key) for field in bundled] == [
        (field.name, field.strategy, field.merge_key) for field in newest
    ]


@pytest.mark.parametrize(
    "version",
    ["1.33", "v1.33", "1.33.4", "v1.33.4", "v1.33.4+k3s1", "v1.33.4-eks-113cf36"],
)
def test_a_version_may_be_written_as_clusters_do(version: str) -> None:
    assert kubernetes(version).version == "1.33"
    assert kubernetes(version) is kubernetes("1.33")


@pytest.mark.parametrize(
    "version",
    [
        "1.24",
        "1",
        "",
        "latest",
        "1.333",
        "2.33",
        "vv1.33",
        "1.33x",
        "../1.33",
        "1.33\n",
    ],
)
def test_an_unknown_version_lists_the_bundled_versions(version: str) -> None:
    with pytest.raises(UnknownKindError) as caught:
        kubernetes(version)
    assert caught.value.code == "unknown-version"
    assert "1.25, 1.26" in caught.value.hint


def test_kinds_are_sorted_and_each_has_a_schema() -> None:
    kinds = kubernetes().kinds()
    assert list(kinds) == sorted(set(kinds))
    assert len(kinds) == 325
    for api_version, kind in kinds:
        schema = kubernetes().schema(api_version, kind)
        assert (schema.api_version, schema.kind, schema.source) == (
            api_version,
            kind,
            "Kubernetes 1.37",
        )


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "Deploymnt", "apps/v1 Deployment"),
        ("apps/v1", "deployment", "apps/v1 Deployment"),
        ("extensions/v1beta1", "Deployment", "apps/v1 Deployment"),
        ("v2", "Pod", "v1 Pod"),
    ],
)
def test_an_unknown_kind_suggests_similar_kinds(
    api_version: str, kind: str, hint: str
) -> None:
    with pytest.raises(UnknownKindError) as caught:
        kubernetes().schema(api_version, kind)
    assert hint in caught.value.hint
    assert (caught.value.code, caught.value.status) == ("unknown-kind", 404)


def test_a_schema_is_found_by_an_object() -> None:
    schema = kubernetes().schema_of(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    )
    assert (schema.api_version, schema.kind) == ("apps/v1", "Deployment")


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (None, ""),
        ([], ""),
        ({}, "apiVersion"),
        ({"apiVersion": 1, "kind": "Pod"}, "apiVersion"),
        ({"apiVersion": "v1"}, "kind"),
        ({"apiVersion": "v1", "kind": None}, "kind"),
        ({"apiVersion": "v1", "kind": ""}, "kind"),
        ({"apiVersion": "v1", "kind": ["Pod"]}, "kind"),
    ],
)
def test_an_object_without_a_kind_has_no_schema(obj: Any, path: str) -> None:
    with pytest.raises(ObjectError) as caught:
        kubernetes().schema_of(obj)
    assert str(caught.value.path) == path


def test_the_other_catalog_wins_in_a_merge() -> None:
    other = Catalog.from_openapi(
        {"definitions": {"Step": {"properties": {"id": {"type": "string"}}}}}
    )
    catalog = Catalog.from_openapi(CRON_TAB)
    assert (catalog | other).schema("example.com/v1", "CronTab").descend(
        "target", "id"
    ).name == "id"
    assert (other | catalog).schema("example.com/v1", "CronTab").descend(
        "target", "name"
    ).name == "name"
    assert (
        catalog.schema("example.com/v1", "CronTab").descend("target", "name").name
        == "name"
    )


@pytest.mark.parametrize(
    ("overlay", "path", "strategy", "key"),
    [
        ({}, ("target",), "", ""),
        (
            {"types": {"CronTab": {"fields": {"target": {"strategy": "retainKeys"}}}}},
            ("target",),
            "retainKeys",
            "",
        ),
        (
            {
                "types": {
                    "CronTab": {
                        "fields": {"steps": {"strategy": "merge", "key": "name"}}
                    }
                }
            },
            ("steps",),
            "merge",
            "name",
        ),
        (
            {
                "types": {
                    "CronTab": {
                        "fields": {"new": {"is": "#Step", "strategy": "replace"}}
                    }
                }
            },
            ("new",),
            "replace",
            "",
        ),
        (
            {"types": {"CronTab": {"fields": {"mode": None}, "any": True}}},
            ("mode", "free"),
            "",
            "",
        ),
        (
            {
                "types": {
                    "CronTab": {"fields": {"steps": {"items": "#New"}}},
                    "New": {"any": True},
                }
            },
            ("steps", "x"),
            "",
            "",
        ),
    ],
)
def test_an_overlay_corrects_fields(
    overlay: JSON, path: tuple[str, ...], strategy: str, key: str
) -> None:
    field = cron_tab(overlay).descend(*path)
    assert (str(field.strategy), field.merge_key) == (strategy, key)
    assert cron_tab(overlay).descend("kind").name == "kind"


def test_overlays_add_up() -> None:
    catalog = Catalog.from_openapi(CRON_TAB)
    catalog = catalog.with_overlay(
        {
            "types": {
                "CronTab": {"fields": {"steps": {"strategy": "merge", "key": "id"}}}
            }
        }
    )
    catalog = catalog.with_overlay(
        {"types": {"CronTab": {"fields": {"steps": {"key": "name", "strategy": None}}}}}
    )
    catalog = catalog.with_overlay(
        {"types": {"CronTab": {"fields": {"steps": {"list_type": "set"}}}}}
    )
    steps = catalog.schema("example.com/v1", "CronTab").descend("steps")
    assert isinstance(steps.type, ListType)
    assert (str(steps.strategy), steps.merge_key, steps.type.list_type) == (
        "",
        "name",
        "set",
    )


def test_an_overlay_adds_unions_and_enums() -> None:
    union: JSON = {
        "discriminator": "mode",
        "members": {"steps": "On"},
        "source": "tests",
    }
    mode: JSON = {"type": "string", "enum": ["On"]}
    schema = cron_tab(
        {"types": {"CronTab": {"unions": [union], "fields": {"mode": mode}}}}
    )
    enumerated = schema.descend("mode").type
    assert isinstance(schema.type, ObjectType)
    assert isinstance(enumerated, ScalarType)
    assert [(union_.names, union_.source) for union_ in schema.type.unions] == [
        (("steps",), "tests")
    ]
    assert enumerated.enum == ("On",)


def test_an_overlay_adds_kinds_and_does_not_change_the_catalog() -> None:
    catalog = Catalog.from_openapi(CRON_TAB)
    extended = catalog.with_overlay(
        {"kinds": {"example.com/v2": {"CronTab": "CronTab"}}}
    )
    assert extended.kinds() == (
        ("example.com/v1", "CronTab"),
        ("example.com/v2", "CronTab"),
    )
    assert catalog.kinds() == (("example.com/v1", "CronTab"),)


@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        (None, ""),
        ([], ""),
        ({"union": []}, "union"),
        ({"types": []}, "types"),
        ({"types": {"CronTab": None}}, "types.CronTab"),
        (
            {"types": {"CronTab": {"fields": {"lost": {"key": "name"}}}}},
            "types.CronTab.fields.lost",
        ),
        ({"kinds": {"example.com/v1": "CronTab"}}, "kinds[example.com/v1]"),
        ({"kinds": {"v1": {"CronTab": None}}}, "kinds.v1.CronTab"),
    ],
)
def test_an_unusable_overlay_is_an_error_with_its_path(
    overlay: JSON, path: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        _ = cron_tab(overlay).type
    assert (caught.value.code, str(caught.value.path)) == ("invalid-overlay", path)


def test_types_of_an_overlay_that_refer_to_each_other_are_an_error() -> None:
    with pytest.raises(SchemaError) as caught:
        _ = cron_tab({"types": {"CronTab": "#Step", "Step": "#CronTab"}}).type
    assert caught.value.code == "circular-reference"


@given(schema_documents)
def test_any_json_is_an_overlay_or_an_error(document: JSON) -> None:
    overlays: list[JSON] = [
        document,
        {"types": {"CronTab": document}},
        {"types": {"CronTab": {"fields": document}}},
    ]
    for overlay in overlays:
        with only_reported_errors():
            for field in ("a", "steps", "kind"):
                assert isinstance(cron_tab(overlay).descend(field).type.items, Type)


def test_compiled_bytes_are_equal_for_equal_input() -> None:
    reordered: JSON = {
        "definitions": dict(reversed(members(CRON_TAB, "definitions").items()))
    }
    data = compile_openapi(CRON_TAB, source="tests")
    assert compile_openapi(reordered, source="tests") == data
    catalog = read_compiled(data, version="1.0")
    assert (catalog.source, catalog.version) == ("tests", "1.0")
    assert (
        catalog.schema("example.com/v1", "CronTab").descend("steps", "name").name
        == "name"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"kinds": [1], "source": ""}',
        '{"kinds": []}',
        "{}\nno tab",
    ],
)
def test_other_bytes_are_an_error(text: str) -> None:
    for data in (text.encode(), zlib.compress(text.encode()), zlib.compress(b"\xff")):
        with pytest.raises(SchemaError):
            read_compiled(data)


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "\ud800"])
def test_a_name_that_would_break_the_format_is_an_error(name: str) -> None:
    with pytest.raises(SchemaError):
        compile_openapi({"definitions": {name: {"type": "string"}}}, source="tests")


@pytest.mark.slow
def test_deep_nesting_is_an_error_of_its_own() -> None:
    with pytest.raises(DepthError):
        compile_openapi({"definitions": {"a": nested(100_000)}}, source="tests")
    with pytest.raises(DepthError):
        compile_openapi(
            {"definitions": {"a": {"enum": ["a", nested(100_000)], "type": "string"}}},
            source="tests",
        )
    deep: JSON = {}
    for _ in range(100_000):
        deep = {"items": deep}
    with pytest.raises(DepthError):
        Catalog.from_openapi(CRON_TAB).with_overlay({"types": {"Step": deep}})
