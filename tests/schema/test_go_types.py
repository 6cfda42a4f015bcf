from __future__ import annotations

import pytest

from smp._values.values import JSON, same
from smp.errors import SchemaError
from smp.schema.sources.golang import generate
from smp.schema.sources.openapi import compile_documents
from tests.support.golang import (
    META,
    problem,
    properties,
    schemas,
    schemas_of_files,
)

# --- types ---

INTS: JSON = {"type": "array", "items": {"type": "integer", "format": "int32"}}
INT_OR_STRING: JSON = {
    "format": "int-or-string",
    "oneOf": [{"type": "integer"}, {"type": "string"}],
}
ENV_VAR: JSON = {"$ref": "#/components/schemas/io.k8s.api.core.v1.EnvVar"}
QUANTITY: JSON = {"oneOf": [{"type": "string"}, {"type": "number"}]}


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("string", {"type": "string", "default": ""}),
        ("bool", {"type": "boolean", "default": False}),
        ("int", {"type": "integer", "format": "int32", "default": 0}),
        ("int64", {"type": "integer", "format": "int64", "default": 0}),
        ("uint32", {"type": "integer", "format": "int64", "default": 0}),
        ("float64", {"type": "number", "format": "double", "default": 0}),
        ("*string", {"type": "string"}),
        ("[]byte", {"type": "string", "format": "byte"}),
        ("[4]byte", {"type": "array", "items": {"type": "integer", "format": "byte"}}),
        ("[]*string", {"type": "array", "items": {"type": "string"}}),
        ("map[Key][]int", {"type": "object", "additionalProperties": INTS}),
        ("Key", {"type": "string", "default": ""}),
        ("Keys", {"type": "array", "items": {"type": "string"}}),
        ("interface{}", {"type": "object"}),
        ("any", {"type": "object"}),
        ("U", {"allOf": [{"$ref": "#/components/schemas/p.U"}], "default": {}}),
        ("*U", {"$ref": "#/components/schemas/p.U"}),
        ("Same", {"allOf": [{"$ref": "#/components/schemas/p.U"}], "default": {}}),
        ("*[]U", {"type": "array", "items": {"$ref": "#/components/schemas/p.U"}}),
        ("struct {\nA string\n}", {
            "type": "object", "properties": {"A": {"type": "string", "default": ""}},
            "required": ["A"], "default": {},
        }),
        ("time.Time", {"type": "string", "format": "date-time"}),
        ("*metav1.Time", {"type": "string", "format": "date-time"}),
        ("metav1.Duration", {"type": "string"}),
        ("types.UID", {"type": "string", "default": ""}),
        ("intstr.IntOrString", INT_OR_STRING),
        ("resource.Quantity", QUANTITY),
        ("runtime.RawExtension", {"type": "object"}),
        ("core.Protocol", {"type": "string", "default": ""}),
        ("core.ResourceList", {"type": "object", "additionalProperties": QUANTITY}),
        ("[]core.EnvVar", {"type": "array", "items": ENV_VAR}),
    ],
)  # fmt: skip
def test_a_go_type_has_a_schema(written: str, schema: JSON) -> None:
    imports = "".join(
        f"import {name}\n"
        for name in (
            *(
                '"time"',
                'metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"',
                '"k8s.io/apimachinery/pkg/types"',
            ),
            *(
                '"k8s.io/apimachinery/pkg/util/intstr"',
                '"k8s.io/apimachinery/pkg/api/resource"',
            ),
            *('"k8s.io/apimachinery/pkg/runtime"', 'core "k8s.io/api/core/v1"'),
        )
    )
    declared = "type Key string\ntype Keys []Key\ntype U struct{}\ntype Same = U\n"
    assert same(
        properties(f"{imports}{declared}type T struct {{\nA {written}\n}}")["A"], schema
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("func()", "a function cannot be encoded as JSON"),
        ("chan int", "a channel cannot be encoded as JSON"),
        ("G[int]", "a generic type cannot be encoded as JSON"),
        ("Missing", "unknown type Missing: the package does not declare it"),
        ("pkg.Missing", "unknown type pkg.Missing: the file does not import pkg"),
        (
            "far.Type",
            "the source of example.com/far is missing (give the source of that package",
        ),
        ("map[int]string", "the keys of a map are strings"),
        ("Circle", "its declaration refers to itself"),
        ("Pointed", "it is a pointer to itself"),
    ],
)
def test_a_go_type_that_json_cannot_encode_is_an_error(written: str, text: str) -> None:
    declared = """import "example.com/far"
type G[X any] struct{}
type Circle Circular
type Circular Circle
"""
    error = problem(
        f"{declared}type Pointed *Pointed\ntype T struct {{\nA {written}\n}}"
    )
    assert (error.code, error.line) == (
        "unresolvable-type",
        8 if "itself" not in text else error.line,
    )
    assert text in str(error)


def test_fields_have_their_json_names_and_inlined_structs_their_fields() -> None:
    source = """
type U struct {
	Below string `json:"below"`
}
type hidden struct {
	Inner string `json:"inner,omitempty"`
}
type Names []string
type T struct {
	U `json:",inline"`
	*hidden
	Names
	Named U `json:"named"`
	Plain string
	Left string `json:"-"`
	Dash string `json:"-,"`
	private string
	A, B int `json:",omitempty"`
}"""
    found = schemas(source)["p.T"]
    assert isinstance(found["properties"], dict)
    assert [*found["properties"]] == [
        "below",
        "inner",
        "Names",
        "named",
        "Plain",
        "-",
        "A",
        "B",
    ]
    assert found["required"] == ["below", "Names", "named", "Plain", "-"]


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        (
            'type U struct {}\ntype T struct {\nA U `json:",inline"`\n}',
            "invalid-tag",
            "only an embedded field",
        ),
        (
            'type T struct {\nA int `json:"x"`\nB int `json:"x"`\n}',
            "duplicate-field",
            "two fields have the JSON name 'x'",
        ),
        (
            "type T struct {\nU\n}\ntype U struct {\nT\n}",
            "circular-reference",
            "inlines itself",
        ),
        (
            META + "type T struct {\nmetav1.ObjectMeta\n}",
            "unresolvable-type",
            "cannot be inlined without its source",
        ),
        (
            META + "type T struct {\nmetav1.Time\n}",
            "unresolvable-type",
            "Time encodes itself as JSON, and so a struct that embeds it",
        ),
    ],
)
def test_an_invalid_json_field_is_an_error(source: str, code: str, text: str) -> None:
    error = problem(source)
    assert error.code == code
    assert text in str(error)


def test_a_struct_may_refer_to_itself() -> None:
    assert schemas("type T struct {\nA []T\n}")["p.T"]["properties"] == {
        "A": {"type": "array", "items": {"$ref": "#/components/schemas/p.T"}}
    }


def test_a_struct_that_is_left_out_is_generated_where_another_refers_to_it() -> None:
    source = """
// +kubebuilder:object:generate=false
type Webhook struct {
	Client chan int
}
// +k8s:openapi-gen=false
type Shared struct{}
type private struct{}
type T struct {
	A *Shared
	B *private
}"""
    assert schemas(source).keys() == {"p.T", "p.Shared", "p.private"}


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ('// +default="x"\nA *string', "x"),
        ("// +default=0\nA int", 0),
        ("// +default=ref(Name)\nA *string", "n"),
        ("// +default=ref(example.com/m/far.Far)\nA *string", "f"),
        ("A *Level", 3),
        ('// +default={"a": [1.5]}\nA map[string][]float64', {"a": [1.5]}),
        ("A Wrapped", ""),
        ("A Custom", None),
    ],
)
def test_a_default_is_marked_or_the_zero_value(field: str, default: JSON) -> None:
    declared = """
const Name = "n"
// +default=3
type Level int
type Wrapped struct {
	Name2
}
type Name2 string
type Custom struct {
	A, B int
}
func (c *Custom) UnmarshalJSON(b []byte) error { return nil }
"""
    sources = {
        "example.com/m/p/p.go": f"package p\n{declared}type T struct {{\n{field}\n}}",
        "example.com/m/far/far.go": 'package far\nconst Far = "f"',
    }
    found = schemas_of_files(sources)["p.T"]["properties"]
    assert isinstance(found, dict)
    assert isinstance(found["A"], dict)
    assert same(found["A"].get("default"), default)


def test_a_description_joins_lines_and_keeps_paragraphs_and_indented_lines() -> None:
    source = """
// T is
// one.
//
//
// Example:
//	indented
// TODO: not this
// +optional
//go:build neither
/* and a block */
type T struct{}"""
    assert (
        schemas(source)["p.T"]["description"]
        == "T is one.\n\nExample:\n\tindented\n and a block"
    )


# --- packages, kinds and versions ---

OBJECT = (
    META
    + """
type Widget struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
}
"""
)


@pytest.mark.parametrize(
    ("files", "group"),
    [
        (
            {"doc.go": "// +groupName=example.com\n\n// Package v1 is.\npackage v1"},
            "example.com",
        ),
        ({"register.go": 'package v1\nconst GroupName = "example.com"'}, "example.com"),
        ({"doc.go": "// +groupName=\npackage v1"}, ""),
    ],
)
def test_an_object_has_its_kind(files: dict[str, str], group: str) -> None:
    sources = {f"api/v1/{name}": text for name, text in files.items()}
    found = schemas_of_files({**sources, "api/v1/types.go": f"package v1\n{OBJECT}"})
    for name in ("Widget", "WidgetList"):
        kind = {"group": group, "version": "v1", "kind": name}
        assert found[f"v1.{name}"]["x-kubernetes-group-version-kind"] == [kind]


def test_a_kind_needs_a_group_and_a_version() -> None:
    assert (
        "x-kubernetes-group-version-kind"
        not in schemas_of_files({"api/v1/types.go": f"package v1\n{OBJECT}"})[
            "v1.Widget"
        ]
    )
    sources = {
        "api/doc.go": "// +groupName=example.com\npackage api",
        "api/types.go": f"package api\n{OBJECT}",
    }
    assert (
        "x-kubernetes-group-version-kind" not in schemas_of_files(sources)["api.Widget"]
    )


def test_names_cross_files_and_packages() -> None:
    sources = {
        "/cache/example.com/m@v1.2.3/a/v1/one.go": """package v1
import other "example.com/m/b/v1"
type T struct {
A Near
B other.Far
}""",
        "/cache/example.com/m@v1.2.3/a/v1/two.go": "package v1\ntype Near = []string",
        "/cache/example.com/m@v1.2.3/b/v1/b.go": "package v1\ntype Far struct{}",
    }
    found = schemas_of_files(sources)
    assert found.keys() == {"a.v1.T", "b.v1.Far"}
    assert found["a.v1.T"]["properties"] == {
        "A": {"type": "array", "items": {"type": "string"}},
        "B": {"allOf": [{"$ref": "#/components/schemas/b.v1.Far"}], "default": {}},
    }


def test_packages_of_one_name_are_distinguished_by_their_directories() -> None:
    text = "package v1\ntype T struct{}"
    found = schemas_of_files({"a/b/v1/t.go": text, "x/a/b/v1/t.go": text})
    assert found.keys() == {"a.b.v1.T", "x.a.b.v1.T"}


def test_a_marker_may_name_the_package_in_schemas() -> None:
    doc = "// +k8s:openapi-model-package=com.example.v1\n\npackage v1"
    assert schemas_of_files(
        {"a/doc.go": doc, "a/a.go": "package v1\ntype T struct{}"}
    ).keys() == {"com.example.v1.T"}


def test_version_2_has_definitions_and_neither_defaults_nor_one_of() -> None:
    source = """
import "k8s.io/apimachinery/pkg/util/intstr"
import core "k8s.io/api/core/v1"
type U struct{}
type T struct {
	// Text.
	A U
	B intstr.IntOrString
	C core.ResourceList
}"""
    assert properties(source, version=2) == {
        "A": {"$ref": "#/definitions/p.U", "description": "Text."},
        "B": {"type": "string", "format": "int-or-string"},
        "C": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    assert compile_documents(
        generate({"p.go": f"package p\n{source}"}, version=2)
    ).types == compile_documents(generate({"p.go": f"package p\n{source}"})).types | {
        "p.T": {
            "fields": {
                "A": "#p.U",
                "B": "int-or-string",
                "C": {"fields": {}, "values": "string"},
            }
        }
    }


def test_an_unknown_profile_or_version_is_an_error() -> None:
    with pytest.raises(SchemaError, match="kep1027-draft"):
        generate({}, profile="kep")
    with pytest.raises(SchemaError, match="2 or 3"):
        generate({}, version=1)
