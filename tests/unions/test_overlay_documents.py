"""Overlays as documents: turned off, replaced, extended, and malformed."""

from __future__ import annotations

import pytest
from hypothesis import given

from smp._values.values import JSON, JSONObject
from smp.errors import DepthError, SchemaError, SmpError
from smp.schema.catalog import Catalog, bundled_overlay, kubernetes
from smp.schema.model import ObjectType
from smp.schema.union_groups import UnionGroup
from tests.support.errors import assert_reported
from tests.support.overlay_rows import CORE
from tests.support.schema_documents import schema_documents

SHAPE: JSONObject = {
    "definitions": {
        "Shape": {
            "properties": {
                name: {"type": "string"}
                for name in ("type", "circle", "square", "color")
            },
            "required": ["type"],
            "x-kubernetes-unions": [
                {
                    "discriminator": "type",
                    "fields-to-discriminateBy": {
                        "circle": "Circle",
                        "square": "Square",
                    },
                }
            ],
            "x-kubernetes-group-version-kind": [
                {"group": "example.com", "version": "v1", "kind": "Shape"}
            ],
        },
        "Words": {"type": "array", "items": {"type": "string"}},
    }
}


def unions_of_shape(
    *rows: JSON, catalog: Catalog | None = None
) -> tuple[UnionGroup, ...]:
    """Return the unions of Shape with an overlay of these rows."""
    catalog = catalog or Catalog.from_openapi(SHAPE)
    overlaid = catalog.with_overlay({"unions": [*rows]})
    type_ = overlaid.schema("example.com/v1", "Shape").type
    assert isinstance(type_, ObjectType)
    return type_.unions


def catalog_of_version(version: str) -> Catalog:
    return Catalog(
        {("example.com/v1", "Shape"): "Shape"},
        Catalog.from_openapi(SHAPE).load,
        source="tests",
        version=version,
    )


def test_the_overlay_can_be_turned_off_and_replaced() -> None:
    row: JSONObject = {
        "types": {f"{CORE}Probe": ""},
        "members": ["exec", "httpGet"],
        "source": "ours",
    }

    def sources(catalog: Catalog, name: str) -> list[str]:
        type_ = catalog.schema("v1", "Pod").types.named(CORE + name)
        assert isinstance(type_, ObjectType)
        return [union.source for union in type_.unions]

    assert sources(kubernetes(overlay=None), "Probe") == []
    replaced = kubernetes("1.30", overlay={"unions": [row]})
    assert (sources(replaced, "Probe"), sources(replaced, "EnvVar")) == (["ours"], [])
    extended = kubernetes("1.30").with_overlay({"unions": [row]})
    assert sources(extended, "Probe") == ["ours"]
    assert sources(extended, "EnvVar") == [
        "API: EnvVar.valueFrom (not while value is not empty)"
    ]
    assert (
        kubernetes("1.30").source
        == kubernetes("1.30", overlay=None).source
        == "Kubernetes 1.30"
    )
    assert replaced.source == "Kubernetes 1.30 + overlay"


def test_the_bundled_overlay_serves_the_schemas_of_a_cluster() -> None:
    """They have no version: of the rows that differ by version the newest counts."""
    cluster = Catalog(
        {("v1", "Pod"): f"{CORE}Pod"},
        kubernetes("1.29", overlay=None).load,
        source="cluster",
    )
    types = cluster.with_overlay(bundled_overlay()).schema("v1", "Pod").types
    strategy, claim = (
        types.named(name)
        for name in (
            "io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
            f"{CORE}PodResourceClaim",
        )
    )
    assert isinstance(strategy, ObjectType)
    assert isinstance(claim, ObjectType)
    assert [union.empty for union in strategy.unions] == [
        frozenset({"OnDelete", "Recreate"})
    ]
    assert claim.unions == ()


def test_changing_the_returned_overlay_changes_no_later_one() -> None:
    document = bundled_overlay()
    assert isinstance(document, dict)
    document.clear()
    assert bundled_overlay() != {}


def test_a_union_replaces_those_that_share_a_field_and_leaves_the_others() -> None:
    published, own = (
        unions_of_shape(),
        unions_of_shape(
            {
                "types": {"Shape": ""},
                "members": {"square": "Square"},
                "discriminator": "type",
            }
        ),
    )
    assert [union.names for union in published] == [("circle", "square")]
    assert [(union.names, union.source) for union in own] == [
        (("square",), "x-kubernetes-unions")
    ]
    plain: JSONObject = {"types": {"Shape": ""}, "members": ["color"]}
    assert [union.names for union in unions_of_shape(plain)] == [
        ("circle", "square"),
        ("color",),
    ]
    both = Catalog.from_openapi(SHAPE).with_overlay(
        {"types": {"Shape": {"unions": None}}, "unions": [plain]}
    )
    assert [union.names for union in unions_of_shape(catalog=both)] == [("color",)]


@pytest.mark.parametrize(
    ("versions_of_row", "version", "holds"),
    [
        ("1.30+", "1.29", False),
        ("1.30+", "1.30", True),
        ("1.30+", "1.31", True),
        ("1.30+", "", True),
        ("1.9-1.10", "1.8", False),
        ("1.9-1.10", "1.9", True),
        ("1.9-1.10", "1.10", True),
        ("1.9-1.10", "1.11", False),
        ("1.9-1.10", "2.9", False),
        ("1.9-1.10", "", True),
        ("1.30", "1.30", True),
        ("1.30", "1.31", False),
        ("1.30", "mine", True),
        ("", "1.30", True),
    ],
)
def test_a_union_holds_for_its_versions(
    versions_of_row: str, version: str, *, holds: bool
) -> None:
    row: JSONObject = {"types": {"Shape": versions_of_row}, "members": ["color"]}
    published, *added = unions_of_shape(row, catalog=catalog_of_version(version))
    assert published.names == ("circle", "square")
    assert [union.names for union in added] == ([("color",)] if holds else [])


def test_the_last_of_several_rows_for_one_union_counts() -> None:
    rows: list[JSON] = [
        {"types": {"Shape": ""}, "members": ["color"], "source": source}
        for source in ("a", "b")
    ]
    assert [union.source for union in unions_of_shape(*rows)][1:] == ["b"]


def test_members_and_types_that_do_not_exist_are_skipped() -> None:
    some: JSONObject = {
        "types": {"Shape": "", "Lost": ""},
        "members": ["color", "lost"],
    }
    none: JSONObject = {"types": {"Shape": ""}, "members": ["lost"]}
    assert [union.names for union in unions_of_shape(some, none)] == [
        ("circle", "square"),
        ("color",),
    ]


@pytest.mark.parametrize(
    ("unions", "path"),
    [
        ({}, "unions"),
        ([None], "unions[0]"),
        ([{"types": {}}], "unions[0].members"),
        ([{"types": {}, "members": []}], "unions[0].members"),
        (
            [{"types": {}, "members": ["a"], "discriminator": "type"}],
            "unions[0].members",
        ),
        ([{"members": ["a"]}], "unions[0].types"),
        ([{"types": ["Shape"], "members": ["a"]}], "unions[0].types"),
        ([{"types": {"Shape": "newest"}, "members": ["a"]}], "unions[0].types.Shape"),
        ([{"types": {"Shape": 1.3}, "members": ["a"]}], "unions[0].types.Shape"),
        (
            [{"types": {"Shape": "1." + "9" * 5000}, "members": ["a"]}],
            "unions[0].types.Shape",
        ),
        (
            [
                {
                    "types": {"Shape": ""},
                    "members": {"color": "C"},
                    "discriminator": "kind",
                }
            ],
            "unions.Shape.discriminator",
        ),
        (
            [{"types": {"Shape": ""}, "members": {"color": 1}}],
            "unions.Shape.x-kubernetes-unions",
        ),
        (
            [
                {
                    "types": {"Shape": ""},
                    "members": {"type": "T"},
                    "discriminator": "type",
                }
            ],
            "unions.Shape.x-kubernetes-unions",
        ),
        ([{"types": {"Words": ""}, "members": ["a"]}], "unions.Words"),
    ],
)
def test_an_unusable_union_is_an_error_with_its_path(unions: JSON, path: str) -> None:
    def link() -> None:
        types = (
            Catalog.from_openapi(SHAPE)
            .with_overlay({"unions": unions})
            .schema("example.com/v1", "Shape")
            .types
        )
        _ = [types.named(name) for name in ("Shape", "Words")]

    with pytest.raises(SchemaError) as caught:
        link()
    assert str(caught.value.path) == path


@given(schema_documents)
def test_any_json_is_a_row_or_an_error(document: JSON) -> None:
    rows: list[JSON] = [
        document,
        {"types": document, "members": ["color"]},
        {"types": {"Shape": ""}, "members": document},
        {"types": {"Shape": ""}, "members": {"color": document}},
        {"types": {"Shape": ""}, "members": {"color": "C"}, "discriminator": document},
        {"types": {"Shape": ""}, "members": {"color": "C"}, "empty": document},
    ]
    for row in rows:
        try:
            unions = unions_of_shape(row)
        except SmpError as error:
            assert_reported(error)
        else:
            assert all(isinstance(union, UnionGroup) for union in unions)


def test_deep_nesting_is_a_schema_error_or_a_depth_error() -> None:
    deep: JSON = {}
    for _ in range(100_000):
        deep = {"types": deep}
    row: JSONObject = {
        "types": {"Shape": ""},
        "members": {"color": "C"},
        "discriminator": "type",
    }
    changes: list[JSONObject] = [
        {"types": deep},
        {"types": {"Shape": deep}},
        {"discriminator": deep},
        {"empty": deep},
    ]
    for change in changes:
        with pytest.raises((SchemaError, DepthError)):
            unions_of_shape({**row, **change})
