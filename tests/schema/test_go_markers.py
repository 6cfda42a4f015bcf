from __future__ import annotations

import pytest

from smp._values.values import JSON, as_object
from smp.schema.sources.golang import generate
from smp.schema.sources.golang._markers import markers, struct_tag
from smp.schema.sources.golang._syntax import CommentLine
from tests.support.golang import (
    problem,
    properties,
    schemas,
    schemas_of_files,
)


def test_several_problems_are_one_error_that_lists_them_in_order() -> None:
    source = """type T struct {
// +listType=heap
A []string `json:"a"`
B chan int `json:"b"`
C Missing `json:"c"`
}"""
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
        (
            'A []string `json:"a" patchStrategy:"merge,replace"`',
            "is not a patch strategy",
        ),
        ('A string `json:"a" patchMergeKey:"name"`', "a merge key is for a list"),
        (
            '// +patchStrategy=merge\nA []string `json:"a" patchStrategy:"replace"`',
            "the marker says merge",
        ),
        ('// +default=word\nA *string `json:"a"`', "is not JSON"),
        ('// +default=NaN\nA *string `json:"a"`', "is not JSON"),
        (
            '// +default="a"\n// +default="b"\nA *string `json:"a"`',
            "more than one default",
        ),
        ('// +default="a"\nA string `json:"a"`', 'the default is ""'),
        (
            '// +default=ref(Missing)\nA *string `json:"a"`',
            "cannot evaluate ref(Missing)",
        ),
        ('// +enum\nA string `json:"a"`', "+enum marks a type"),
        ('// +k8s:enumExclude\nA string `json:"a"`', "marks a constant"),
        (
            'A []T `json:"a" patchStrategy:"merge,retainKeys"`',
            "the elements of a list are merged by a key",
        ),
        (
            '// +patchStrategy=merge\nA []*T `json:"a"`',
            "p.go:3: the elements of a list are merged by a key",
        ),
        (
            'A []string `json:"a" patchStrategy:"retainKeys"`',
            "retainKeys is for elements with a key",
        ),
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
def test_a_marker_has_a_name_and_a_value(text: str, name: str, value: str) -> None:
    found = markers((CommentLine(7, text),))
    assert [(marker.line, marker.value) for marker in found[name]] == [(7, value)]


def test_lines_that_are_not_markers() -> None:
    assert (
        markers(
            (
                CommentLine(1, "optional"),
                CommentLine(2, "a +optional"),
                CommentLine(3, ""),
            )
        )
        == {}
    )


def test_repeated_markers_gather_and_arguments_are_read() -> None:
    found = markers(
        (
            CommentLine(1, "+listMapKey=a"),
            CommentLine(2, "+listMapKey=b"),
            CommentLine(3, "+k8s:unionMember(union: 'u=v')"),
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


def test_only_the_comment_right_above_a_field_has_its_markers() -> None:
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
    listing = """Possible enum values:
 - `"A"` The same, in more words.
 - `"B"` comes second.
 - `"CD"`"""
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
    ("comments", "description"),
    [
        (("", "Longer."), "Longer."),
        (("Longer.", "Short"), "Longer."),
        (("bb", "aa"), "aa"),
        (("aa", "bb"), "aa"),
    ],
)
def test_of_two_constants_with_one_value_the_longer_comment_describes_it(
    comments: tuple[str, str], description: str
) -> None:
    constants = "".join(
        f'// {text}\nconst C{index} Mode = "x"\n' for index, text in enumerate(comments)
    )
    field = properties(
        f"// +enum\ntype Mode string\n{constants}type T struct {{\nA Mode\n}}"
    )["A"]
    assert isinstance(field, dict)
    assert field["description"] == f'Possible enum values:\n - `"x"` {description}'


def test_the_constants_of_an_enum_may_be_in_another_package() -> None:
    sources = {
        "example.com/m/a/v1/a.go": """package v1
// +enum
type Mode string
type Alias = Mode
type T struct {
A Alias
}""",
        "example.com/m/b/b.go": """package b
import v1 "example.com/m/a/v1"
const Far v1.Mode = "x"
const Same = Far""",
    }
    field = schemas_of_files(sources)["v1.T"]["properties"]
    assert isinstance(field, dict)
    assert isinstance(field["A"], dict)
    assert field["A"]["enum"] == ["x"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("// +enum\ntype Mode int", "which is not a string type"),
        ("// +enum\ntype Mode string", "+enum on Mode, which has no constants"),
        (
            '// +enum\ntype Mode string\nconst A = "a"',
            "p.go:2: +enum on Mode, which has no constants",
        ),
        (
            (
                "// +enum\n// +kubebuilder:validation:Enum=a;b\n"
                'type Mode string\nconst A Mode = "a"'
            ),
            "p.go:3: the values are not those of the constants of Mode",
        ),
        (
            (
                '// +enum\ntype Mode string\nconst A Mode = "a"\n'
                "type T struct {\n// +kubebuilder:validation:Enum=a;b\nA Mode\n}"
            ),
            "p.go:6: b is not a constant of the type",
        ),
        (
            (
                '// +enum\ntype Mode string\nconst A Mode = "a"\n'
                'type T struct {\n// +default="b"\nA *Mode\n}'
            ),
            'p.go:6: the default "b" is not a value of the enum',
        ),
        (
            (
                "// +kubebuilder:validation:Enum=1;2\n// +default=3\ntype Mode int\n"
                'type T struct {\nA Mode `json:"a,omitempty"`\n}'
            ),
            "p.go:3: the default 3 is not a value of the enum",
        ),
        (
            (
                '// +enum\ntype Mode string\nconst A Mode = "a"\n'
                'type T struct {\n// +default=["a", "b"]\nA []Mode\n}'
            ),
            'p.go:6: the default "b" is not a value of the enum',
        ),
        (
            (
                '// +enum\ntype Mode string\nconst A Mode = "a"\n'
                'type T struct {\n// +default={"x": "b"}\nA map[string]Mode\n}'
            ),
            'p.go:6: the default "b" is not a value of the enum',
        ),
        ("type Mode string\n// +enum\ntype Alias = Mode", "+enum on an alias"),
        ("// +k8s:enum\ntype Mode string", "+k8s:enum on Mode, which has no constants"),
        (
            'type Mode string\n// +k8s:enumExclude\nconst A Mode = "a"',
            "p.go:3: +k8s:enumExclude on a constant of no type with +k8s:enum",
        ),
        (
            "type T struct {\n// +kubebuilder:validation:Enum=\nA string\n}",
            "p.go:3: +kubebuilder:validation:Enum lists no values",
        ),
        (
            "// +kubebuilder:validation:Enum=\ntype Mode string",
            "p.go:2: +kubebuilder:validation:Enum lists no values",
        ),
        (
            "type T struct {\n// +kubebuilder:validation:items:Enum=a\nA string\n}",
            "p.go:3: +kubebuilder:validation:items:Enum lists the values of elements",
        ),
        (
            '// +enum\ntype (\nMode string\n)\nconst A Mode = "a"',
            "p.go:2: +enum above a group of types, which marks none of them",
        ),
        (
            (
                "// +k8s:enum\ntype Mode string\n// +k8s:enumExclude\n"
                'const (\nA Mode = "a"\n)'
            ),
            "p.go:4: +k8s:enumExclude above a group of constants, which marks none",
        ),
        (
            "// +enum\ntype Mode string\nconst A Mode = Mode(name())",
            "cannot evaluate the constant A",
        ),
    ],
)
def test_an_invalid_enum_is_an_error(source: str, text: str) -> None:
    assert text in str(problem(source))


def test_declarative_validation_makes_enums_without_excluded_constants() -> None:
    """Go: validation-gen, enumTagValidator."""
    source = """
// +k8s:enum
type Mode string
const (
	A Mode = "a"
	// +k8s:enumExclude
	B Mode = "b"
	// +k8s:ifEnabled(Gate)=+k8s:enumExclude
	C Mode = "c"
)
type T struct {
	One Mode
	// +kubebuilder:validation:items:Enum=x;"y z"
	Many []string
}"""
    fields = properties(source)
    assert as_object(fields["One"])["enum"] == ["a", "c"]
    assert as_object(as_object(fields["Many"])["items"])["enum"] == ["x", "y z"]


def test_what_is_said_of_values_and_not_published_is_told() -> None:
    source = """package p
// +kubebuilder:validation:MaxLength=9
type Name string
// +k8s:enum
type Mode string
const (
	A Mode = "a"
	// +k8s:ifEnabled(Gate)=+k8s:enumExclude
	B Mode = "b"
)
// +k8s:deepcopy-gen=true
type T struct {
	// +optional
	// +k8s:optional
	// +k8s:alpha(since: "1.37")=+k8s:minimum=1
	A *int `json:"a"`
	// +listType=set
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:enum
	B []string `json:"b"`
	// +kubebuilder:default=b
	// +k8s:listType=atomic
	C []Mode `json:"c"`
}
"""
    unpublished: list[str] = []
    generate({"p.go": source}, unpublished=unpublished)
    assert sorted(unpublished) == [
        "p.go:15: +k8s:minimum=1",
        "p.go:19: +k8s:eachVal=+k8s:enum",
        "p.go:21: +kubebuilder:default=b",
        "p.go:22: +k8s:listType=atomic",
        "p.go:2: +kubebuilder:validation:MaxLength=9",
        "p.go:8: +k8s:enumExclude",
    ]


def test_other_markers_of_optional_fields_are_read() -> None:
    """Go: controller-gen, structToSchema."""
    source = """type T struct {
	// +k8s:required
	A string `json:"a,omitempty"`
	// +kubebuilder:validation:Optional
	B string `json:"b"`
	// +optional
	// +k8s:required
	C string `json:"c"`
	// +kubebuilder:validation:Required
	D string `json:"d,omitempty"`
}"""
    assert schemas(source)["p.T"]["required"] == ["a", "d"]


def test_a_field_may_have_fewer_values_than_its_type() -> None:
    source = """
// +enum
// +kubebuilder:validation:Enum=b;a
type Mode string
const (
	A Mode = "a"
	B Mode = "b"
)
type T struct {
	// +kubebuilder:validation:Enum=b
	// +default="b"
	A *Mode
}"""
    assert properties(source)["A"] == {
        "type": "string",
        "enum": ["b"],
        "description": 'Possible enum values:\n - `"b"`',
        "default": "b",
    }


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
