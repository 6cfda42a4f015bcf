from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smp
from smp._values.values import JSON, JSONObject, same
from smp.errors import DepthError, DocumentError, SchemaError, SmpError
from smp.schema.model import TypeDocument
from smp.schema.sources.golang import generate, read_sources
from smp.schema.sources.openapi import compile_documents
from smp.schema.union_groups import read_unions
from tests.support.golang import (
    META,
    PROFILES,
    schemas,
)
from tests.support.paths import DATA

GOLANG = DATA / "golang"
CASES = sorted(path.name for path in GOLANG.glob("*.json"))

# --- the documents' examples ---


@pytest.mark.parametrize("case", CASES)
def test_an_example_of_the_documents_becomes_its_expected_schema(case: str) -> None:
    """The expected schema states what the document says, in the form of the profile."""
    name, profile, _ = case.split(".")
    source = f"{name}.go"
    expected = json.loads((GOLANG / case).read_text())
    assert same(
        generate({source: (GOLANG / source).read_text()}, profile=profile), expected
    )


def test_every_example_of_the_documents_has_an_expected_schema() -> None:
    expected = {f"{name.split('.')[0]}.go" for name in CASES} | {
        "kep-1027-untyped-constant.go"
    }
    assert {path.name for path in GOLANG.glob("*.go")} == expected


def test_the_profile_smd_reads_the_markers_of_2019() -> None:
    sources = {"a.go": (GOLANG / "kep-1027-2019-unions.go").read_text()}
    assert same(generate(sources, profile="smd"), generate(sources, profile="kep2019"))


def test_an_untyped_constant_is_not_a_value_of_an_enum() -> None:
    """KEP-1027 prints one in its own example; KEP-2887 counts constants of the type
    only.
    """
    source = (GOLANG / "kep-1027-untyped-constant.go").read_text()
    with pytest.raises(
        DocumentError, match="'BETA' is not a value of the discriminator"
    ) as caught:
        generate({"api/types.go": source})
    line = source.split("\n").index("\t// +unionMember=BETA,optional") + 1
    assert (caught.value.code, caught.value.source, caught.value.line) == (
        "marker-misuse",
        "api/types.go",
        line,
    )


@pytest.mark.parametrize("case", CASES)
def test_generated_schemas_compile_and_their_unions_can_be_read(case: str) -> None:
    for document in compile_documents(
        json.loads((GOLANG / case).read_text())
    ).types.values():
        if isinstance(document, dict) and "unions" in document:
            assert all(group.members for group in read_unions(document["unions"]))


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


def test_a_method_without_a_receiver_type_is_ignored() -> None:
    assert schemas("func () UnmarshalJSON() {}\ntype T struct{}").keys() == {"p.T"}


def test_nesting_beyond_the_stack_is_a_depth_error() -> None:
    with pytest.raises(DepthError):
        schemas(f"type T struct {{\nA {'[]' * 5000}string\n}}")


def test_a_list_of_itself_is_a_depth_error() -> None:
    with pytest.raises(DepthError):
        schemas("type Endless []Endless\ntype T struct {\nA Endless\n}")


WORDS = st.sampled_from([
    "type ", "T ", "U ", "struct {", "}", "\n", "string", "int ", "[]", "map[", "]",
    "*", "const ", "= ", "(", '`json:"a"`', '`json:",inline"`', "// +union\n",
    "// +unionMember=a\n", "// +unionDiscriminator\n", "// +enum\n", "// +default=1\n",
    "// +optional\n", "A ", "B ", "any", "iota", '"x"', "p.", "import ", '"p"',
    "// +listType=map\n", '// +k8s:unionMember(union: "u")\n', "func ", "interface{}",
    "/*", "*/", "[n]", ";",
])  # fmt: skip


@given(st.text(), st.lists(WORDS, max_size=30).map("".join), st.sampled_from(PROFILES))
def test_any_text_raises_only_errors_of_this_library(
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


def test_a_catalog_warns_of_markers_that_are_not_published(tmp_path: Path) -> None:
    marker = "\t// +k8s:minimum=1\n\tA *int\n\t// +k8s:maximum=9\n\tB *int\n"
    (tmp_path / "p.go").write_text(f"package p\ntype T struct {{\n{marker}}}\n")
    place = re.escape(f"{tmp_path / 'p.go'}:3: +k8s:minimum=1")
    with pytest.warns(UserWarning, match=f"^2 markers are not published: {place}$"):
        smp.Catalog.from_go([tmp_path])


def test_no_sources_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("package p\n")
    with pytest.raises(DocumentError, match="there is no Go file") as in_directory:
        smp.Catalog.from_go([tmp_path])
    assert in_directory.value.source == str(tmp_path)
    with pytest.raises(SchemaError, match="there are no Go sources") as without_paths:
        smp.Catalog.from_go([])
    with pytest.raises(SchemaError, match="there are no Go sources"):
        generate({})
    for error in (in_directory.value, without_paths.value):
        assert (error.code, bool(error.hint)) == ("missing-source", True)


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


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(each, marks=[] if each == "kep1027" else pytest.mark.exhaustive)
        for each in PROFILES
    ],
)
def test_the_whole_of_the_kubernetes_api_is_generated(profile: str) -> None:
    document = generate(read_sources([module("k8s.io/api")]), profile=profile)
    types = compile_documents(document).types
    assert len(types) > 1200
    limited = types["io.k8s.api.flowcontrol.v1.LimitResponse"]
    assert isinstance(limited, dict)
    assert ("unions" in limited) == (profile != "off")


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


# Kinds of v1 that other packages than core declare.
OF_OTHER_PACKAGES = (
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "Status",
)


def test_the_types_of_kubernetes_generate_their_published_schemas() -> None:
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
    } | {("v1", kind) for kind in OF_OTHER_PACKAGES}
