from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smp
from smp.errors import DepthError, DocumentError, SchemaError, SmpError
from smp.schema.model import TypeDocument
from smp.schema.sources.golang import generate
from smp.schema.sources.golang._markers import markers, struct_tag
from smp.schema.sources.golang._syntax import Line
from smp.schema.sources.golang.files import read_sources
from smp.schema.sources.openapi import compile_documents
from smp.schema.union_groups import read_unions
from smp.values import JSON, JSONObject, same
from tests.support.paths import DATA

GOLANG = DATA / "golang"
CASES = sorted(path.name for path in GOLANG.glob("*.json"))
PROFILES = ["kep2019", "smd", "kep1027-draft", "kep1027", "validate-only", "off"]
META = 'import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"\n'
MODE = """
// +enum
type Mode string
const (
	ModeA Mode = "A"
	ModeB Mode = "B"
	ModeNone Mode = ""
)
"""


def schemas(
    source: str, profile: str = "kep1027", version: int = 3
) -> dict[str, JSONObject]:
    """Generate from one file of package p."""
    return several({"p.go": f"package p\n{source}"}, profile, version)


def several(
    sources: dict[str, str], profile: str = "kep1027", version: int = 3
) -> dict[str, JSONObject]:
    document = generate(sources, profile=profile, version=version)
    components = (
        document["components"] if version == 3 else {"schemas": document["definitions"]}
    )
    assert isinstance(components, dict)
    found = components["schemas"]
    assert isinstance(found, dict)
    return {name: schema for name, schema in found.items() if isinstance(schema, dict)}


def properties(source: str, profile: str = "kep1027", version: int = 3) -> JSONObject:
    """Generate from the fields of one struct."""
    found = schemas(source, profile, version)["p.T"].get("properties", {})
    assert isinstance(found, dict)
    return found


def problem(source: str, profile: str = "kep1027") -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        schemas(source, profile)
    return caught.value


# --- the documents' examples ---


@pytest.mark.parametrize("case", CASES)
def test_an_example_of_the_documents_becomes(case: str) -> None:
    """Each expected schema states what its document says of the example, in the shape
    of the profile.
    """
    name, profile, _ = case.split(".")
    source = f"{name}.go"
    expected = json.loads((GOLANG / case).read_text())
    assert same(
        generate({source: (GOLANG / source).read_text()}, profile=profile), expected
    )


def test_the_examples_of_the_documents_are_all_there() -> None:
    expected = {f"{name.split('.')[0]}.go" for name in CASES} | {
        "kep-1027-untyped-constant.go"
    }
    assert {path.name for path in GOLANG.glob("*.go")} == expected


def test_structured_merge_diff_reads_what_2019_reads() -> None:
    sources = {"a.go": (GOLANG / "kep-1027-2019-unions.go").read_text()}
    assert same(generate(sources, profile="smd"), generate(sources, profile="kep2019"))


def test_an_untyped_constant_is_no_value_of_an_enum() -> None:
    """KEP-1027 prints one in its own example; KEP-2887 counts constants of the type
    only.
    """
    source = (GOLANG / "kep-1027-untyped-constant.go").read_text()
    with pytest.raises(
        DocumentError, match="'BETA' is no value of the discriminator"
    ) as caught:
        generate({"api/types.go": source})
    line = source.split("\n").index("\t// +unionMember=BETA,optional") + 1
    assert (caught.value.code, caught.value.source, caught.value.line) == (
        "marker-misuse",
        "api/types.go",
        line,
    )


@pytest.mark.parametrize("case", CASES)
def test_what_is_generated_compiles_and_its_unions_can_be_read(case: str) -> None:
    for document in compile_documents(
        json.loads((GOLANG / case).read_text())
    ).types.values():
        if isinstance(document, dict) and "unions" in document:
            assert all(group.members for group in read_unions(document["unions"], {}))


# --- the same marker in two generations ---

BOTH = """
type T struct {
	// +unionDiscriminator
	// +required
	Mode Mode `json:"mode"`
	// +unionMember=NAME
	// +optional
	A *int `json:"a,omitempty"`
}
"""


def test_a_union_member_names_the_field_in_the_draft_and_the_value_in_the_final_text() -> (
    None
):
    by_field = schemas(MODE + BOTH.replace("NAME", "mode"), "kep1027-draft")["p.T"]
    assert by_field["x-kubernetes-unions"] == [
        {"discriminator": "mode", "fields-to-discriminateBy": {"a": "A"}}
    ]
    by_value = properties(MODE + BOTH.replace("NAME", "B"))["mode"]
    assert isinstance(by_value, dict)
    assert by_value["x-kubernetes-unions"] == {
        "fieldMembers": {"": None, "A": None, "B": {"name": "a", "optional": False}}
    }


@pytest.mark.parametrize(
    ("name", "profile", "text"),
    [
        ("mode", "kep1027", "'mode' is no value of the discriminator"),
        ("mode", "validate-only", "'mode' is no value of the discriminator"),
        ("B", "kep1027-draft", "B is no discriminator of this struct"),
        ("B", "kep2019", "not a marker of this profile"),
        ("B", "smd", "not a marker of this profile"),
    ],
)
def test_a_union_member_of_another_generation_is_misused(
    name: str, profile: str, text: str
) -> None:
    error = problem(MODE + BOTH.replace("NAME", name), profile)
    assert error.code == "marker-misuse"
    assert text in str(error)


def test_without_a_profile_there_are_no_unions() -> None:
    found = schemas(MODE + BOTH.replace("NAME", "whatever"), "off")["p.T"]
    assert "x-kubernetes-unions" not in json.dumps(found)


def test_an_older_union_stays_with_bespoke_validation() -> None:
    """KEP-1027, "Migrating existing unions": a union without the new markers is none in
    its sense.
    """
    legacy = '// +union\ntype T struct {\n// +optional\nA *int `json:"a,omitempty"`\n}'
    assert "x-kubernetes-unions" not in schemas(legacy)["p.T"]
    assert "x-kubernetes-unions" not in schemas(legacy, "kep1027-draft")["p.T"]
    expected = [{"fields-to-discriminateBy": {"a": "A"}}]
    assert schemas(legacy, "validate-only")["p.T"]["x-kubernetes-unions"] == expected


# --- declarative validation ---


@pytest.mark.parametrize(
    "profile", ["kep2019", "smd", "kep1027-draft", "kep1027", "validate-only"]
)
def test_declarative_unions_are_read_in_every_generation(profile: str) -> None:
    source = """
type T struct {
	// +k8s:unionMember(union: "one")
	A *int `json:"a,omitempty"`
	// +k8s:beta(since: "1.37")=+k8s:unionMember(union: "one", memberName: "Bee")
	B *int `json:"b,omitempty"`
	// +k8s:unionDiscriminator(union: "two")
	D string `json:"d"`
	// +k8s:unionMember(union: "two")
	C *int `json:"c,omitempty"`
}"""
    assert schemas(source, profile)["p.T"]["x-kubernetes-unions"] == [
        {"discriminator": "d", "fields-to-discriminateBy": {"c": "C"}},
        {"fields-to-discriminateBy": {"a": "A", "b": "Bee"}},
    ]


def test_a_declarative_union_of_an_enum_is_on_its_discriminator_in_the_final_text() -> (
    None
):
    source = (
        MODE
        + """
type T struct {
	// +k8s:unionDiscriminator
	Mode Mode `json:"mode"`
	// +k8s:unionMember(memberName: "A")
	A *int `json:"a,omitempty"`
}"""
    )
    mode = properties(source)["mode"]
    assert isinstance(mode, dict)
    assert mode["x-kubernetes-unions"] == {
        "fieldMembers": {"": None, "A": {"name": "a", "optional": False}, "B": None}
    }
    assert schemas(source, "smd")["p.T"]["x-kubernetes-unions"] == [
        {"discriminator": "mode", "fields-to-discriminateBy": {"a": "A"}}
    ]


def test_a_union_marked_twice_over_is_one() -> None:
    source = '// +union\ntype T struct {\n// +k8s:unionMember\n// +optional\nA *int `json:"a,omitempty"`\n}'
    assert schemas(source, "kep2019")["p.T"]["x-kubernetes-unions"] == [
        {"fields-to-discriminateBy": {"a": "A"}}
    ]


# --- misuse: what kube-openapi's generator logs, or does not check, is an error here ---

A = '// +optional\nA *int `json:"a,omitempty"`\n'
DISCRIMINATOR = '// +unionDiscriminator\nD string `json:"d"`\n'


@pytest.mark.parametrize(
    ("struct", "line", "text"),
    [
        (
            "// +union\ntype T struct {\n"
            + DISCRIMINATOR
            + '// +unionDiscriminator\nE string `json:"e"`\n'
            + A,
            6,
            "second",
        ),
        ("// +union\ntype T struct {\n" + 'A *int `json:"a"`\n', 4, "must be optional"),
        (
            '// +union\ntype T struct {\n// +required\nA *int `json:"a,omitempty"`\n',
            5,
            "must be optional",
        ),
        ("// +union\ntype T struct {\n// +required\n" + A, 4, "optional or required"),
        (
            'type I struct {}\n// +union\ntype T struct {\nI `json:",inline"`\n' + A,
            5,
            "inlines no other",
        ),
        (
            "// +union\ntype T struct {\n// +unionDeprecated\n" + A,
            4,
            "a member already",
        ),
        ("type T struct {\n// +union\n// +unionDeprecated\n" + A, 3, "marks a struct"),
        ("// +union\ntype T struct {\n" + DISCRIMINATOR, 4, "without members"),
        ("// +union\ntype T struct {\n", 2, "without members"),
        (
            '// +union\ntype T struct {\n// +unionDiscriminator\nD int `json:"d"`\n'
            + A,
            4,
            "is a string",
        ),
        (
            "type T struct {\n"
            + DISCRIMINATOR
            + DISCRIMINATOR.replace("D s", "E s").replace('"d"', '"e"')
            + "// +unionDeprecated\n"
            + A,
            5,
            "second",
        ),
        (
            'type T struct {\n// +unionDeprecated\nA *int `json:"a"`\n',
            3,
            "must be optional",
        ),
        (
            'type T struct {\n// +unionDeprecated\n// +unionDiscriminator\n// +optional\nA *string `json:"a"`\n',
            4,
            "both",
        ),
        ("type T struct {\n" + DISCRIMINATOR, 3, "without members"),
        ("// +unionDeprecated\ntype T struct {\n", 2, "marks a field"),
        ("// +union\ntype U []string\ntype T struct {\n", 2, "a union is a struct"),
    ],
)
def test_a_marker_of_2019_is_misused(struct: str, line: int, text: str) -> None:
    error = problem(struct + "}", "kep2019")
    assert (error.code, error.source, error.line) == ("marker-misuse", "p.go", line), (
        str(error)
    )
    assert text in str(error)
    assert str(error).startswith(f"p.go:{line}")


def test_what_json_leaves_out_is_no_member() -> None:
    source = f'// +union\ntype T struct {{\n{A}\nB int `json:"-"`\nc int\n}}'
    assert schemas(source, "kep2019")["p.T"]["x-kubernetes-unions"] == [
        {"fields-to-discriminateBy": {"a": "A"}}
    ]


FINAL = (
    MODE
    + """
type T struct {
	// +unionDiscriminator
	// +required
	Mode Mode `json:"mode"`
	// +unionMember=A
	// +optional
	A *int `json:"a,omitempty"`
}
"""
)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("unionMember=A", "unionMember=C", "'C' is no value of the discriminator"),
        ("unionMember=A", "unionMember=A,sometimes", "'sometimes' is no option"),
        ("unionMember=A", "unionMember=A\n// +unionMember=B", "twice"),
        (
            "unionMember=A",
            "unionMember=A\n// +unionDiscriminatedBy=mode",
            "mode is no discriminator",
        ),
        ("unionMember=A", "unionMember=A\n// +unionDeprecated", "two generations"),
        (
            "unionMember=A",
            "unionDiscriminatedBy=Mode\n// +optional",
            "only a +unionMember",
        ),
        ("unionMember=A", "optional", "without members"),
        ("// +optional\n\tA *int", "A int", "'A' selects"),
        ("// +unionDiscriminator", "", "has a discriminator"),
        ("Mode Mode", "Mode string", "an enum of strings"),
        ("// +required", '// +default="A"', "optional and omitempty"),
        (
            "// +unionDiscriminator",
            "// +unionDiscriminator\n// +unionMember=B",
            "both the discriminator and a member",
        ),
        (
            '// +optional\n\tA *int `json:"a,omitempty"`',
            'A *int `json:"a"`',
            "must be optional",
        ),
        ("type T", "// +union\ntype T", "two generations"),
    ],
)
def test_a_marker_of_the_final_text_is_misused(old: str, new: str, text: str) -> None:
    source = FINAL.replace(old, new)
    if "selects" in text:
        source = FINAL.replace(
            '"a,omitempty"`',
            '"a,omitempty"`\n// +unionMember=A\n// +optional\nB *int `json:"b"`',
        )
    error = problem(source)
    assert error.code == "marker-misuse"
    assert text in str(error)


def test_an_optional_discriminator_without_default_needs_the_empty_value() -> None:
    optional = FINAL.replace("// +required", "// +optional").replace(
        '"mode"', '"mode,omitempty"'
    )
    assert "mode" in properties(optional)
    assert "it is required" in str(problem(optional.replace('ModeNone Mode = ""', "")))
    assert "mode" in properties(
        optional.replace('ModeNone Mode = ""', "").replace(
            "// +optional", '// +default="A"', 1
        )
    )


def test_members_of_two_unions_say_which_is_theirs() -> None:
    source = (
        MODE
        + """
type T struct {
	// +unionDiscriminator
	// +required
	One Mode `json:"one"`
	// +unionDiscriminator
	// +required
	Two Mode `json:"two"`
	// +unionMember=A
	// +unionDiscriminatedBy=One
	// +optional
	A *int `json:"a"`
	// +unionMember=A
	// +unionDiscriminatedBy=Two
	// +optional
	B *int `json:"b"`
}"""
    )
    unions = {
        name: field
        for name, field in properties(source).items()
        if "x-kubernetes-unions" in json.dumps(field)
    }
    assert unions.keys() == {"one", "two"}
    error = problem(source.replace("+unionDiscriminatedBy=Two", ""))
    assert (
        "this struct has several discriminators (+unionDiscriminatedBy=One or Two)"
        in str(error)
    )


def test_the_draft_cannot_inline_an_unlabelled_union_beside_another() -> None:
    source = """
type U struct {
	// +unionDiscriminator
	Kind string `json:"kind"`
	// +unionMember
	// +optional
	A *int `json:"a"`
}
type T struct {
	U `json:",inline"`
	// +unionDiscriminator
	Type string `json:"type"`
	// +unionMember=type
	// +optional
	B *int `json:"b"`
}"""
    assert "U cannot be inlined beside another union" in str(
        problem(source, "kep1027-draft")
    )
    labelled = source.replace("// +unionMember\n", "// +unionMember=kind\n")
    unions = schemas(labelled, "kep1027-draft")["p.T"]["x-kubernetes-unions"]
    assert isinstance(unions, list)
    discriminators = [
        union["discriminator"] for union in unions if isinstance(union, dict)
    ]
    assert discriminators == ["kind", "type"]


def test_several_problems_are_one_error_that_lists_them_in_order() -> None:
    source = 'type T struct {\n// +listType=heap\nA []string `json:"a"`\nB chan int `json:"b"`\nC Missing `json:"c"`\n}'
    error = problem(source)
    assert (error.source, error.line, error.code) == ("p.go", 3, "marker-misuse")
    assert [line.split(":")[1] for line in str(error).split("\n")[1:]] == [
        "3",
        "5",
        "6",
    ]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('// +listType=set\nA string `json:"a"`', "+listType is for a list"),
        ('// +listType=bag\nA []string `json:"a"`', "one of atomic, set, map"),
        ('// +listType=map\nA []string `json:"a"`', "needs the keys"),
        (
            '// +listMapKey=name\nA []string `json:"a"`',
            "only a list of type map has keys",
        ),
        ('// +mapType=atomic\nA []string `json:"a"`', "+mapType is for a map"),
        (
            '// +structType=atomic\nA map[string]string `json:"a"`',
            "+structType is for a struct",
        ),
        ('A []string `json:"a" patchStrategy:"merge,replace"`', "is not one"),
        ('A string `json:"a" patchMergeKey:"name"`', "a merge key is for a list"),
        (
            '// +patchStrategy=merge\nA []string `json:"a" patchStrategy:"replace"`',
            "the marker says merge",
        ),
        ('// +default=word\nA *string `json:"a"`', "is not JSON"),
        ('// +default=NaN\nA *string `json:"a"`', "is not JSON"),
        ('// +default="a"\n// +default="b"\nA *string `json:"a"`', "a second default"),
        ('// +default="a"\nA string `json:"a"`', 'never left out has ""'),
        ('// +default=ref(Missing)\nA *string `json:"a"`', "no telling the value"),
        ('// +enum\nA string `json:"a"`', "+enum marks a type"),
        (
            '// +kubebuilder:validation:Enum=a;b\nA []string `json:"a"`',
            "lists the values of a scalar",
        ),
    ],
)
def test_a_marker_of_a_field_is_misused(field: str, text: str) -> None:
    error = problem(f"type T struct {{\n{field}\n}}")
    assert error.code == "marker-misuse"
    assert text in str(error)


# --- markers and tags ---


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("+optional", "optional", ""),
        ("  +optional  ", "optional", ""),
        ("+default=a=b", "default", "a=b"),
        ("+union=x", "union", "x"),
        ("+unionMember", "unionMember", ""),
        ("+unionMember=x,optional", "unionMember", "x,optional"),
        ("+unionMember,optional", "unionMember", ""),
        ("+kubebuilder:validation:Enum=a;b", "kubebuilder:validation:Enum", "a;b"),
        ('+k8s:alpha(since: "1.36")=+k8s:unionMember', "k8s:unionMember", ""),
        (
            '+k8s:item(type: "A")=+k8s:zeroOrOneOfMember',
            "k8s:item",
            "+k8s:zeroOrOneOfMember",
        ),
    ],
)
def test_a_line_is_a_marker(text: str, name: str, value: str) -> None:
    found = markers((Line(7, text),))
    assert [(marker.line, marker.value) for marker in found[name]] == [(7, value)]


def test_lines_that_are_no_markers() -> None:
    assert markers((Line(1, "optional"), Line(2, "a +optional"), Line(3, ""))) == {}


def test_repeated_markers_gather_and_arguments_are_read() -> None:
    found = markers(
        (
            Line(1, "+listMapKey=a"),
            Line(2, "+listMapKey=b"),
            Line(3, "+k8s:unionMember(union: 'u=v')"),
        )
    )
    assert [marker.value for marker in found["listMapKey"]] == ["a", "b"]
    assert found["k8s:unionMember"][0].arguments == {"union": "u=v"}


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ('json:"a"', "a"),
        ('protobuf:"bytes,1" json:"a,omitempty"', "a,omitempty"),
        (r'x:"\"json:\"" json:"a"', "a"),
        ('json:""', ""),
        ("json:a", None),
        ('x:"1"', None),
        ("", None),
    ],
)
def test_a_struct_tag_is_looked_up(tag: str, value: str | None) -> None:
    assert struct_tag(tag, "json") == value


def test_only_the_closest_comment_counts() -> None:
    source = """
type T struct {
	// +optional

	A string `json:"a"` // +optional
	B string `json:"b"`
	/* +optional */
	C int `json:"c"`
}"""
    assert schemas(source)["p.T"]["required"] == ["a", "b"]


# --- enums (KEP-2887) ---

ENUM = """
// +enum
type Mode string
type Other string
const (
	Untyped = "untyped"
	Number = iota
	// ModeB comes
	//   second.
	ModeB Mode = "B"
	ModeA Mode = `A`
	// The same, in more words.
	ModeAgain Mode = ModeA
	ModeConverted = Mode("C" + "D")
	ModeOther Other = "other"
)
"""
FIELDS = """
type T struct {
	A Mode `json:"a"`
	// The text.
	B *Mode `json:"b,omitempty"`
	C []Mode `json:"c,omitempty"`
	D map[string]*Mode `json:"d,omitempty"`
	E Mode `json:"e,string"`
	// Cut.
	// ---
	// More.
	F Mode `json:"f,omitempty"`
}
"""


def test_an_enum_is_listed_and_described() -> None:
    values: JSON = ["A", "B", "CD"]
    listing = 'Possible enum values:\n - `"A"` The same, in more words.\n - `"B"` comes second.\n - `"CD"`'
    assert properties(ENUM + FIELDS) == {
        "a": {"type": "string", "enum": values, "description": listing, "default": ""},
        "b": {
            "type": "string",
            "enum": values,
            "description": f"The text.\n\n{listing}",
        },
        "c": {"type": "array", "items": {"type": "string", "enum": values}},
        "d": {
            "type": "object",
            "additionalProperties": {"type": "string", "enum": values},
        },
        "e": {"type": "string", "description": listing},
        "f": {"type": "string", "enum": values, "description": "Cut."},
    }


@pytest.mark.parametrize(
    ("comments", "told"),
    [
        (("", "Longer."), "Longer."),
        (("Longer.", "Short"), "Longer."),
        (("bb", "aa"), "aa"),
        (("aa", "bb"), "aa"),
    ],
)
def test_of_two_constants_with_one_value_the_longer_comment_then_the_smaller_tells(
    comments: tuple[str, str], told: str
) -> None:
    constants = "".join(
        f'// {text}\nconst C{index} Mode = "x"\n' for index, text in enumerate(comments)
    )
    field = properties(
        f"// +enum\ntype Mode string\n{constants}type T struct {{\nA Mode\n}}"
    )["A"]
    assert isinstance(field, dict)
    assert field["description"] == f'Possible enum values:\n - `"x"` {told}'


def test_the_constants_of_an_enum_may_be_in_another_package() -> None:
    sources = {
        "example.com/m/a/v1/a.go": "package v1\n// +enum\ntype Mode string\ntype Alias = Mode\n"
        "type T struct {\nA Alias\n}",
        "example.com/m/b/b.go": 'package b\nimport v1 "example.com/m/a/v1"\nconst Far v1.Mode = "x"\nconst Same = Far',
    }
    field = several(sources)["v1.T"]["properties"]
    assert isinstance(field, dict)
    assert isinstance(field["A"], dict)
    assert field["A"]["enum"] == ["x"]


def test_an_enum_without_values_is_a_string() -> None:
    assert properties("// +enum\ntype Mode string\ntype T struct {\nA Mode\n}")[
        "A"
    ] == {
        "type": "string",
        "default": "",
    }


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("// +enum\ntype Mode int", "which is no string"),
        ("type Mode string\n// +enum\ntype Alias = Mode", "+enum on an alias"),
        (
            "// +enum\ntype Mode string\nconst A Mode = Mode(name())",
            "no telling the value of A",
        ),
    ],
)
def test_an_enum_that_cannot_be(source: str, text: str) -> None:
    assert text in str(problem(source))


@pytest.mark.parametrize(
    ("marker", "values"),
    [
        ("a;b", ["a", "b"]),
        ('"a b";c', ["a b", "c"]),
        ("{a,b}", ["a", "b"]),
        ("1;2", [1, 2]),
    ],
)
def test_kubebuilder_lists_values_in_the_marker(marker: str, values: JSON) -> None:
    found = properties(
        f"type T struct {{\n// +kubebuilder:validation:Enum={marker}\nA string\n}}"
    )
    assert found["A"] == {"type": "string", "enum": values, "default": ""}


# --- types ---

INT: JSON = {"type": "integer", "format": "int32"}
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
        ("map[Key][]int", {"type": "object", "additionalProperties": {"type": "array", "items": INT}}),
        ("Key", {"type": "string", "default": ""}),
        ("Keys", {"type": "array", "items": {"type": "string"}}),
        ("interface{}", {"type": "object"}),
        ("any", {"type": "object"}),
        ("U", {"allOf": [{"$ref": "#/components/schemas/p.U"}], "default": {}}),
        ("*U", {"$ref": "#/components/schemas/p.U"}),
        ("Same", {"allOf": [{"$ref": "#/components/schemas/p.U"}], "default": {}}),
        ("*[]U", {"type": "array", "items": {"$ref": "#/components/schemas/p.U"}}),
        ("struct {\nA string\n}", {
            "type": "object", "properties": {"A": {"type": "string", "default": ""}}, "required": ["A"], "default": {}
        }),
        ("time.Time", {"type": "string", "format": "date-time"}),
        ("*metav1.Time", {"type": "string", "format": "date-time"}),
        ("metav1.Duration", {"type": "string"}),
        ("types.UID", {"type": "string", "default": ""}),
        ("intstr.IntOrString", {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ("resource.Quantity", QUANTITY),
        ("runtime.RawExtension", {"type": "object"}),
        ("core.Protocol", {"type": "string", "default": ""}),
        ("core.ResourceList", {"type": "object", "additionalProperties": QUANTITY}),
        ("[]core.EnvVar", {"type": "array", "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.EnvVar"}}),
    ],
)  # fmt: skip
def test_a_go_type_is_in_json(written: str, schema: JSON) -> None:
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
        ("func()", "a function has no form in JSON"),
        ("chan int", "a channel has no form in JSON"),
        ("G[int]", "a generic type has no form in JSON"),
        ("Missing", "unknown type Missing: the package does not declare it"),
        ("pkg.Missing", "unknown type pkg.Missing: the file does not import pkg"),
        (
            "far.Type",
            "there is no source of example.com/far (give the source of that package, too)",
        ),
        ("map[int]string", "the keys of a map are strings"),
        ("Circle", "it stands for nothing but itself"),
        ("Pointed", "it points to nothing but itself"),
    ],
)
def test_a_go_type_that_json_does_not_have(written: str, text: str) -> None:
    declared = 'import "example.com/far"\ntype G[X any] struct{}\ntype Circle Circular\ntype Circular Circle\n'
    error = problem(
        f"{declared}type Pointed *Pointed\ntype T struct {{\nA {written}\n}}"
    )
    assert (error.code, error.line) == (
        "unresolvable-type",
        8 if "nothing but" not in text else error.line,
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
            "two fields are called 'x'",
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
    ],
)
def test_a_field_that_json_cannot_have(source: str, code: str, text: str) -> None:
    error = problem(source)
    assert error.code == code
    assert text in str(error)


def test_a_struct_may_refer_to_itself() -> None:
    assert schemas("type T struct {\nA []T\n}")["p.T"]["properties"] == {
        "A": {"type": "array", "items": {"$ref": "#/components/schemas/p.T"}}
    }


def test_a_struct_that_is_left_out_or_private_is_generated_only_where_another_refers_to_it() -> (
    None
):
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
    found = several(sources)["p.T"]["properties"]
    assert isinstance(found, dict)
    assert isinstance(found["A"], dict)
    assert same(found["A"].get("default"), default)


def test_a_description_flows_and_keeps_paragraphs_and_indented_lines() -> None:
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
    found = several({**sources, "api/v1/types.go": f"package v1\n{OBJECT}"})
    for name in ("Widget", "WidgetList"):
        kind = {"group": group, "version": "v1", "kind": name}
        assert found[f"v1.{name}"]["x-kubernetes-group-version-kind"] == [kind]


def test_without_a_group_or_a_version_there_is_no_kind() -> None:
    assert (
        "x-kubernetes-group-version-kind"
        not in several({"api/v1/types.go": f"package v1\n{OBJECT}"})["v1.Widget"]
    )
    sources = {
        "api/doc.go": "// +groupName=example.com\npackage api",
        "api/types.go": f"package api\n{OBJECT}",
    }
    assert "x-kubernetes-group-version-kind" not in several(sources)["api.Widget"]


def test_names_cross_files_and_packages() -> None:
    sources = {
        "/cache/example.com/m@v1.2.3/a/v1/one.go": 'package v1\nimport other "example.com/m/b/v1"\n'
        "type T struct {\nA Near\nB other.Far\n}",
        "/cache/example.com/m@v1.2.3/a/v1/two.go": "package v1\ntype Near = []string",
        "/cache/example.com/m@v1.2.3/b/v1/b.go": "package v1\ntype Far struct{}",
    }
    found = several(sources)
    assert found.keys() == {"a.v1.T", "b.v1.Far"}
    assert found["a.v1.T"]["properties"] == {
        "A": {"type": "array", "items": {"type": "string"}},
        "B": {"allOf": [{"$ref": "#/components/schemas/b.v1.Far"}], "default": {}},
    }


def test_a_package_may_say_how_its_types_are_called() -> None:
    doc = "// +k8s:openapi-model-package=com.example.v1\n\npackage v1"
    assert several(
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


# --- texts that are not Go ---


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("type T struct{}", 1, 1),
        ("package p\ntype T struct {", 2, 1),
        ("package p\n\ntype T struct {\n\tA B C\n}", 4, 6),
        ('package p\nconst A = "\\q"', 2, 11),
    ],
)
def test_a_syntax_error_has_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(DocumentError) as caught:
        generate({"dir/a.go": text})
    error = caught.value
    assert (error.code, error.source, error.line, error.column) == (
        "go-syntax",
        "dir/a.go",
        line,
        column,
    ), str(error)


def test_a_file_without_a_last_newline_is_go() -> None:
    assert schemas("type T struct{}").keys() == {"p.T"}


def test_deep_nesting_is_an_error_of_its_own() -> None:
    with pytest.raises(DepthError):
        schemas(f"type T struct {{\nA {'[]' * 5000}string\n}}")


def test_a_list_of_itself_is_an_error() -> None:
    with pytest.raises(DepthError):
        schemas("type Endless []Endless\ntype T struct {\nA Endless\n}")


WORDS = st.sampled_from(
    [
        *("type ", "T ", "U ", "struct {", "}", "\n", "string", "int ", "[]", "map[", "]", "*", "const ", "= ", "("),
        *('`json:"a"`', '`json:",inline"`', "// +union\n", "// +unionMember=a\n", "// +unionDiscriminator\n"),
        *("// +enum\n", "// +default=1\n", "// +optional\n", "A ", "B ", "any", "iota", '"x"', "p.", "import ", '"p"'),
        *("// +listType=map\n", '// +k8s:unionMember(union: "u")\n', "func ", "interface{}", "/*", "*/", "[n]", ";"),
    ]
)  # fmt: skip


@given(st.text(), st.lists(WORDS, max_size=30).map("".join), st.sampled_from(PROFILES))
def test_any_text_raises_nothing_but_errors_of_ours(
    text: str, words: str, profile: str
) -> None:
    for source in (
        text,
        words,
        f"package p\n{words}",
        f"package p\ntype T struct {{\n{words}\n}}",
    ):
        try:
            compile_documents(
                [generate({"a/p.go": source}, profile=profile), {"$defs": {"x": {}}}]
            )
        except SmpError:
            continue


# --- files ---


def test_sources_are_read_from_files_and_directories(tmp_path: Path) -> None:
    left_out = (
        "a_test.go",
        "zz_generated.deepcopy.go",
        "generated.pb.go",
        "vendor/v.go",
        ".git/g.go",
        "notes.txt",
    )
    for name in ("a.go", "sub/b.go", *left_out):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("package p\n")
    assert [*read_sources([tmp_path])] == [
        str(tmp_path / "a.go"),
        str(tmp_path / "sub/b.go"),
    ]
    assert read_sources([str(tmp_path / "a_test.go")]) == {
        str(tmp_path / "a_test.go"): "package p\n"
    }


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.go").write_bytes(b"package p // \xe9\n")
    for path in (tmp_path / "missing.go", tmp_path / "latin.go"):
        with pytest.raises(DocumentError) as caught:
            read_sources([path])
        assert (caught.value.code, caught.value.source) == (
            "unreadable-file",
            str(path),
        )


# --- end to end ---


def test_a_patch_follows_the_tags_of_the_go_types() -> None:
    source = f"""
package v1
{META}
type Gadget struct {{
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec GadgetSpec `json:"spec"`
}}
type GadgetSpec struct {{
	// +listType=map
	// +listMapKey=name
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Words []string `json:"words,omitempty"`
}}
type Part struct {{
	Name string `json:"name"`
	Size int `json:"size,omitempty"`
}}
"""
    document = generate(
        {"v1/doc.go": "// +groupName=example.com\npackage v1", "v1/types.go": source}
    )
    catalog = smp.kubernetes() | smp.Catalog.from_openapi(document)
    schema = catalog.schema("example.com/v1", "Gadget")
    original: JSONObject = {
        "metadata": {"finalizers": ["a"]},
        "spec": {
            "parts": [{"name": "x", "size": 1}, {"name": "y"}],
            "words": ["a", "b"],
        },
    }
    patch: JSONObject = {
        "metadata": {"finalizers": ["b"], "$setElementOrder/finalizers": ["a", "b"]},
        "spec": {
            "parts": [{"name": "x", "size": 2}, {"name": "y", "$patch": "delete"}],
            "words": ["c"],
        },
    }
    assert smp.apply_patch(original, patch, schema) == {
        "metadata": {"finalizers": ["a", "b"]},
        "spec": {"parts": [{"name": "x", "size": 2}], "words": ["c"]},
    }


# --- Kubernetes' own types ---


@cache
def module(path: str) -> Path:
    """Find a module of the Go module cache, the version that is bundled."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    cached = subprocess.run(
        [go, "env", "GOMODCACHE"], check=True, capture_output=True, text=True
    ).stdout.strip()
    minor = smp.kubernetes().version.split(".")[1]
    found = sorted(Path(cached).glob(f"{path}@v0.{minor}.*"))
    if not found:
        pytest.skip(f"{path} v0.{minor} is not in the Go module cache")
    return found[-1]


def patched_fields(document: TypeDocument) -> dict[str, JSON]:
    """Keep what concerns patches: strategy, merge key, list type and map keys, map
    type, by field.
    """
    fields = document.get("fields") if isinstance(document, dict) else None
    found: dict[str, JSON] = {}
    for name, field in fields.items() if isinstance(fields, dict) else ():
        inner = field.get("is", field) if isinstance(field, dict) else field
        facets: list[JSON] = [
            part.get(word) if isinstance(part, dict) else None
            for part, words in (
                (field, ("strategy", "key", "map_type")),
                (inner, ("list_type", "map_keys", "map_type")),
            )
            for word in words
        ]
        found[name] = facets
    return found


# Kinds of v1 that are not of the core's own package.
FROM_ELSEWHERE = (
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "Status",
)


def test_kubernetes_types_generate_what_is_published() -> None:
    """The patch strategies, merge keys, list types and map keys of core/v1 and apps/v1,
    field by field.
    """
    api = module("k8s.io/api")
    compiled = compile_documents(
        generate(read_sources([api / "core/v1", api / "apps/v1"]))
    )
    types, kinds = compiled.types, compiled.kinds
    published = {name: smp.kubernetes().load(name) for name in types}
    compared = {
        name: document for name, document in published.items() if document is not None
    }
    assert len(compared) > 240
    assert {name: patched_fields(types[name]) for name in compared} == {
        name: patched_fields(document) for name, document in compared.items()
    }
    assert {
        kind for kind in smp.kubernetes().kinds() if kind[0] in ("v1", "apps/v1")
    } - set(kinds) == {
        (version, kind)
        for version in ("v1", "apps/v1")
        for kind in ("DeleteOptions", "WatchEvent")
    } | {("v1", kind) for kind in FROM_ELSEWHERE}
