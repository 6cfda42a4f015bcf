from __future__ import annotations

import json
from pathlib import Path

import pytest

import smp
from smp import Catalog
from smp.errors import DocumentError
from smp.schema.sources.golang import generate
from tests.support.golang import (
    MODE,
    problem,
    properties,
    schemas,
)

# A field that may be a member, and a discriminator.
A = '// +optional\nA *int `json:"a,omitempty"`\n'
DISCRIMINATOR = '// +unionDiscriminator\nD string `json:"d"`\n'

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


def test_a_union_member_names_a_field_in_the_draft_and_a_value_in_the_end() -> None:
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
        ("mode", "kep1027", "'mode' is not a value of the discriminator"),
        ("mode", "validate-only", "'mode' is not a value of the discriminator"),
        ("B", "kep1027-draft", "B is not a discriminator of this struct"),
        ("B", "kep2019", "the profile does not know this marker"),
        ("B", "smd", "the profile does not know this marker"),
    ],
)
def test_a_union_member_of_another_generation_is_misused(
    name: str, profile: str, text: str
) -> None:
    error = problem(MODE + BOTH.replace("NAME", name), profile)
    assert error.code == "marker-misuse"
    assert text in str(error)


DEFAULTED = """package p

// +enum
type Mode string

const (
	ModeA Mode = "A"
	ModeB Mode = "B"
)

type T struct {
	// +unionDiscriminator
	// +optional
	// +default="A"
	Mode Mode `json:"mode,omitempty"`
	// +unionMember=A
	// +optional
	A *int `json:"a,omitempty"`
	// +unionMember=B
	// +optional
	B *int `json:"b,omitempty"`
}
"""


def test_the_default_of_a_discriminator_is_its_value_where_it_is_absent(
    tmp_path: Path,
) -> None:
    """KEP-1027, Go Markers: "optional .. if a default value is specified"."""
    (tmp_path / "types.go").write_text(DEFAULTED)
    catalog = Catalog.from_go([tmp_path]).with_overlay({"kinds": {"v1": {"T": "p.T"}}})
    schema = catalog.schema("v1", "T")
    assert smp.validate_unions(None, {"a": 1}, schema) == ()
    result = smp.normalize_unions({"mode": "B", "b": 1}, {"a": 1, "b": 1}, schema)
    assert result.object == {"a": 1}


def test_without_a_profile_there_are_no_unions() -> None:
    found = schemas(MODE + BOTH.replace("NAME", "unknown"), "off")["p.T"]
    assert "x-kubernetes-unions" not in json.dumps(found)


def test_an_older_union_is_left_to_bespoke_validation() -> None:
    """KEP-1027, "Migrating existing unions": such a union has none of its markers."""
    legacy = f"// +union\ntype T struct {{\n{A}}}"
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


def test_a_declarative_union_of_an_enum_is_on_its_discriminator() -> None:
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


def test_a_union_with_markers_of_two_kinds_is_published_once() -> None:
    source = f"// +union\ntype T struct {{\n// +k8s:unionMember\n{A}}}"
    assert schemas(source, "kep2019")["p.T"]["x-kubernetes-unions"] == [
        {"fields-to-discriminateBy": {"a": "A"}}
    ]


PROFILES = ["kep2019", "smd", "kep1027-draft", "kep1027", "validate-only"]


@pytest.mark.parametrize("profile", PROFILES)
def test_slices_maps_and_primitives_are_members_of_a_declarative_union(
    profile: str,
) -> None:
    """As in resource/v1, DeviceAttribute and ResourceSliceSpec."""
    source = """
type T struct {
	// +k8s:alpha(since: "1.37")=+k8s:ifEnabled(Gate)=+k8s:unionMember
	Bools []bool `json:"bools,omitempty"`
	// +k8s:ifEnabled("Gate")=+k8s:beta(since: "1.37")=+k8s:unionMember
	Labels map[string]string `json:"labels,omitempty"`
	// +k8s:unionMember
	Int *int64 `json:"int,omitempty"`
	// +k8s:zeroOrOneOfMember(union: "other")
	Name string `json:"name,omitempty"`
	// +k8s:zeroOrOneOfMember(union: "other", memberName: "Id")
	UID string `json:"uid,omitempty"`
}"""
    by_field = {"bools": "Bools", "int": "Int", "labels": "Labels"}
    assert schemas(source, profile)["p.T"]["x-kubernetes-unions"] == [
        {"fields-to-discriminateBy": by_field},
        {"fields-to-discriminateBy": {"name": "Name", "uid": "Id"}},
    ]


def test_a_union_of_list_elements_is_not_published() -> None:
    """As in certificates/v1, CertificateSigningRequestStatus: OpenAPI has no form."""
    source = """
type C struct {
	Type string `json:"type"`
}
type T struct {
	// +listType=map
	// +listMapKey=type
	// +k8s:beta(since: "1.37")=+k8s:item(type: "Approved")=+k8s:zeroOrOneOfMember
	// +k8s:beta(since: "1.37")=+k8s:item(type: "Denied")=+k8s:zeroOrOneOfMember
	Conditions []C `json:"conditions,omitempty"`
}"""
    assert "x-kubernetes-unions" not in json.dumps(schemas(source))
    unpublished: list[str] = []
    generate({"p.go": f"package p\n{source}"}, unpublished=unpublished)
    assert unpublished == [
        f'p.go:{line}: +k8s:item(type: "{value}")=+k8s:zeroOrOneOfMember'
        for line, value in ((9, "Approved"), (10, "Denied"))
    ]


@pytest.mark.parametrize(
    "markers",
    [
        "",
        "\t// +listType=map\n\t// +listMapKey=name\n",
        "\t// +listType=map\n\t// +listMapKey=type\n\t// +listMapKey=name\n",
    ],
)
def test_an_element_is_named_by_all_keys_of_its_list(markers: str) -> None:
    item = '\t// +k8s:item(type: "A")=+k8s:unionMember\n'
    source = f'{markers}{item}\tConditions []C `json:"conditions,omitempty"`'
    text = f"package p\ntype C struct{{}}\ntype T struct {{\n{source}\n}}"
    with pytest.raises(DocumentError) as caught:
        generate({"p.go": text})
    error = caught.value
    line = 4 + markers.count("\n")
    assert (error.source, error.line, error.code) == ("p.go", line, "marker-misuse")


# The spellings of 1.37 and of 1.36, as in flowcontrol/v1, PriorityLevelConfiguration.
MODES_OF_1_37 = """
type T struct {
	// +k8s:beta(since: "1.37")=+k8s:modeDiscriminator
	Mode Mode `json:"mode"`
	// +k8s:beta(since: "1.37")=+k8s:ifMode("A")=+k8s:required
	Alpha *int `json:"alpha,omitempty"`
	// +k8s:ifMode(mode: "B")=+k8s:optional
	Beta []int `json:"beta,omitempty"`
}"""
MODES_OF_1_36 = """
type T struct {
	// +k8s:alpha(since: "1.36")=+k8s:discriminator
	Mode Mode `json:"mode"`
	// +k8s:alpha(since: "1.36")=+k8s:member("A")=+k8s:required
	// +k8s:alpha(since: "1.36")=+k8s:member("B")=+k8s:forbidden
	Alpha *int `json:"alpha,omitempty"`
	// +k8s:member(value: "B")=+k8s:optional
	Beta []int `json:"beta,omitempty"`
}"""


@pytest.mark.parametrize("source", [MODES_OF_1_37, MODES_OF_1_36])
def test_a_field_of_one_mode_is_the_member_that_the_mode_selects(source: str) -> None:
    mode = properties(MODE + source)["mode"]
    assert isinstance(mode, dict)
    assert mode["x-kubernetes-unions"] == {
        "fieldMembers": {
            "": None,
            "A": {"name": "alpha", "optional": False},
            "B": {"name": "beta", "optional": True},
        }
    }
    plain = source.replace("Mode Mode", "Mode string")
    for profile in PROFILES:
        assert schemas(plain, profile)["p.T"]["x-kubernetes-unions"] == [
            {
                "discriminator": "mode",
                "fields-to-discriminateBy": {"alpha": "A", "beta": "B"},
            }
        ]


def test_a_field_that_a_mode_does_not_select_alone_is_no_member() -> None:
    source = """
type T struct {
	// +k8s:modeDiscriminator(modality: "m")
	Mode string `json:"mode"`
	// +k8s:modeDiscriminator(modality: "n")
	On bool `json:"on"`
	// +k8s:ifMode("A", modality: "m")=+k8s:required
	Alone *int `json:"alone,omitempty"`
	// +k8s:ifMode("A", modality: "m")=+k8s:optional
	// +k8s:ifMode("B", modality: "m")=+k8s:required
	Twice *int `json:"twice,omitempty"`
	// +k8s:ifMode("C", modality: "m")=+k8s:required
	First *int `json:"first,omitempty"`
	// +k8s:ifMode("C", modality: "m")=+k8s:required
	Second *int `json:"second,omitempty"`
	// +k8s:ifMode("D", modality: "m")=+k8s:minimum=1
	Always int `json:"always"`
	// +k8s:ifMode("true", modality: "n")=+k8s:required
	Switched *int `json:"switched,omitempty"`
}"""
    assert schemas(source)["p.T"]["x-kubernetes-unions"] == [
        {"discriminator": "mode", "fields-to-discriminateBy": {"alone": "A"}}
    ]


def test_the_value_of_a_mode_comes_before_the_name_of_the_field() -> None:
    """As in flowcontrol/v1, LimitResponse: kube-openapi publishes Queuing, the server
    knows Queue.
    """
    source = """
// +union
type T struct {
	// +unionDiscriminator
	// +k8s:modeDiscriminator
	Type string `json:"type"`
	// +optional
	// +k8s:ifMode("Queue")=+k8s:required
	Queuing *int `json:"queuing,omitempty"`
}"""
    for profile, value in (("kep1027", "Queue"), ("kep2019", "Queuing")):
        assert schemas(source, profile)["p.T"]["x-kubernetes-unions"] == [
            {"discriminator": "type", "fields-to-discriminateBy": {"queuing": value}}
        ]


@pytest.mark.parametrize(
    ("fields", "line", "text"),
    [
        (
            '// +k8s:ifMode("A")=+k8s:required\n' + A,
            3,
            "the struct has no discriminator of these modes",
        ),
        (
            "// +k8s:unionMember\nB struct{}\n",
            3,
            "B cannot be unset, so it is no member",
        ),
        (
            '// +k8s:modeDiscriminator\nD Mode `json:"d"`\n'
            '// +k8s:ifMode("Z")=+k8s:required\n' + A,
            5,
            "'Z' is not a value of the discriminator",
        ),
        ("// +k8s:unionDiscriminator\nD int\n", 3, "a discriminator is a string"),
        ("// +unionDiscriminator\nD int\n", 3, "a discriminator is a string"),
    ],
)
def test_a_marker_of_declarative_validation_is_misused(
    fields: str, line: int, text: str
) -> None:
    error = problem(f"type T struct {{\n{fields}}}\n{MODE}")
    assert (error.line, error.code) == (line, "marker-misuse")
    assert text in str(error)


def test_a_discriminator_without_members_is_no_union() -> None:
    """As in admissionregistration/v1, Mutation (Go: parseUnionMembers)."""
    for profile in PROFILES:
        found = schemas(f"type T struct {{\n{DISCRIMINATOR}{A}}}", profile)
        assert "x-kubernetes-unions" not in json.dumps(found)


# --- misuse: kube-openapi's generator logs it, or does not check it ---


@pytest.mark.parametrize(
    ("struct", "line", "text"),
    [
        (
            "// +union\ntype T struct {\n"
            + DISCRIMINATOR
            + '// +unionDiscriminator\nE string `json:"e"`\n'
            + A,
            6,
            "more than one discriminator",
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
            "more than one discriminator",
        ),
        (
            'type T struct {\n// +unionDeprecated\nA *int `json:"a"`\n',
            3,
            "must be optional",
        ),
        (
            "type T struct {\n// +unionDeprecated\n// +unionDiscriminator\n"
            + A.replace("int", "string"),
            4,
            "both",
        ),
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


def test_a_field_that_json_leaves_out_is_not_a_member() -> None:
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
        ("unionMember=A", "unionMember=C", "'C' is not a value of the discriminator"),
        ("unionMember=A", "unionMember=A,sometimes", "'sometimes' is not an option"),
        ("unionMember=A", "unionMember=A\n// +unionMember=B", "twice"),
        (
            "unionMember=A",
            "unionMember=A\n// +unionDiscriminatedBy=mode",
            "mode is not a discriminator",
        ),
        ("unionMember=A", "unionMember=A\n// +unionDeprecated", "two generations"),
        (
            "unionMember=A",
            "unionDiscriminatedBy=Mode\n// +optional",
            "only a +unionMember",
        ),
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


def test_members_of_two_unions_name_their_discriminator() -> None:
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
    assert "U cannot be inlined next to another union" in str(
        problem(source, "kep1027-draft")
    )
    labelled = source.replace("// +unionMember\n", "// +unionMember=kind\n")
    unions = schemas(labelled, "kep1027-draft")["p.T"]["x-kubernetes-unions"]
    assert isinstance(unions, list)
    discriminators = [
        union["discriminator"] for union in unions if isinstance(union, dict)
    ]
    assert discriminators == ["kind", "type"]
