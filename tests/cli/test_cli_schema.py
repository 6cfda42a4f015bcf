"""``smp schema``, and the options that select schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import run, values


def test_versions_lists_the_bundled_versions() -> None:
    assert "1.37\n" in run("schema", "versions").stdout


def test_a_compiled_document_is_read_like_the_document() -> None:
    compile_ = ("schema", "compile", "openapi.json", "--source", "a test", "-o")
    assert run(*compile_, "gadget.types").exit_code == 0
    explain = ("explain", "example.com/v1", "Gadget", "parts", "-o", "json")
    for path in ("gadget.types", "openapi.json"):
        facts = json.loads(run(*explain, "--openapi", path).stdout)
        assert (facts["strategy"], facts["merge_key"]) == ("merge", "id")
    assert run(*compile_, "-").stdout_bytes == Path("gadget.types").read_bytes()


def test_compile_errors_name_the_document() -> None:
    ran = run("schema", "compile", "new.yaml", "-o", "x", "--source", "x")
    assert ran.exit_code == 2
    assert "the document describes no schemas" in ran.stderr
    assert "  file:   new.yaml:1\n" in ran.stderr
    ran = run("schema", "compile", "openapi.json", "-o", "no/such", "--source", "x")
    assert "cannot write the file" in ran.stderr


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""
WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: %d, more: {a: %d, b: 1}}
"""


def widgets() -> tuple[str, str]:
    Path("before.yaml").write_text(WIDGET % (1, 1))
    Path("after.yaml").write_text(WIDGET % (2, 2))
    Path("crd.yaml").write_text(DEFINITION)
    return "before.yaml", "after.yaml"


def test_crd_describes_custom_kinds() -> None:
    assert run("diff", *widgets(), "--strict").exit_code == 2
    options = ("--crd", "crd.yaml", "--validate", "keep", "-o", "patch")
    ran = run("diff", *widgets(), *options)
    assert values(ran.stdout) == [{"spec": {"size": 2, "more": {"a": 2}}}]


@pytest.mark.parametrize("is_option", [False, True])
def test_a_definition_that_cannot_be_read_matters_to_its_kind_alone(
    *, is_option: bool
) -> None:
    broken = DEFINITION.replace("Widget", "Gadget").replace("widgets", "gadgets")
    broken = broken.replace("        type: object", "        type: array")
    Path("crds.yaml").write_text(f"{broken}---\n{DEFINITION}")
    options = ("--crd", "crds.yaml") if is_option else ("-f", "crds.yaml")
    Path("widget.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
    )
    Path("gadget.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\n"
    )
    result = run("apply", "-f", "widget.yaml", *options)
    assert "kind: Widget" in result.stdout
    # Where it is one of the objects, a server refuses it.
    assert result.exit_code == (0 if is_option else 2)
    result = run("apply", "-f", "gadget.yaml", *options)
    assert result.exit_code != 0
    assert "a served version needs a schema of type object" in result.stderr
    assert "file:   crds.yaml:" in result.stderr


def test_definitions_among_the_inputs_describe_their_kinds() -> None:
    before, after = widgets()
    for path in (before, after):
        Path(path).write_text(Path(path).read_text() + "---" + DEFINITION)
    ran = run("diff", before, after, "--validate", "keep", "-o", "patch")
    assert values(ran.stdout) == [{"spec": {"size": 2, "more": {"a": 2}}}]


def test_an_unknown_field_is_an_error_with_hints() -> None:
    ran = run("diff", *widgets(), "--crd", "crd.yaml")
    assert ran.exit_code == 2
    assert "  path:   spec.more\n" in ran.stderr
    assert ran.stderr.endswith(
        "  hint:   a misspelled name, or a field of another version of the API\n"
        "  hint:   --validate keep merges it by RFC 7396\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "before.yaml", "after.yaml", "-o", "patch"),
        ("apply", "-f", "after.yaml", "--live", "before.yaml"),
    ],
)
def test_a_merged_unknown_field_is_a_warning(command: tuple[str, ...]) -> None:
    widgets()
    options = ("--crd", "crd.yaml", "--validate", "keep")
    warning = "spec.more: unknown to the schema; merged by RFC 7396\n"
    object_printed = run(*command, *options)
    assert f"smp: warning: example.com/v1 Widget w: {warning}" in object_printed.stderr
    words = [word for word in command if word not in ("-o", "patch")]
    report = run(*words, *options, "-o", "report")
    assert f"  warning: {warning}" in report.stdout


def test_one_option_says_what_becomes_of_unknown_fields() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    Path("a.yaml").write_text(text)
    Path("b.yaml").write_text(f"{text}datta: 1\n")
    for command in ("diff a.yaml b.yaml", "diff --live a.yaml b.yaml"):
        told = {
            value: run(*command.split(), "--validate", value)
            for value in ("strict", "warn", "ignore", "keep")
        }
        assert 'strict decoding error: unknown field "datta"' in told["strict"].stderr
        assert 'unknown field "datta" (a server drops it)' in told["warn"].stdout
        assert [ran.exit_code for ran in told.values()][::3] == [2, 1], command
        assert "unknown field" not in told["ignore"].output + told["keep"].output
    # What a server drops is not set by the manifest.
    explain = ("explain", "-f", "b.yaml", "--live", "a.yaml", "--validate")
    for value in ("warn", "ignore", "keep"):
        said = run(*explain, value).stdout
        assert ("the manifest sets it" in said) is (value == "keep"), value
    widgets()
    ran = run("patch", "before.yaml", "-p", "spec: {more: {a: 2}}", "--crd", "crd.yaml")
    assert "--type merge needs no schema" in ran.stderr


def test_kubernetes_selects_a_bundled_version() -> None:
    kind = ("resource.k8s.io/v1", "DeviceClass")
    assert run("explain", *kind).exit_code == 0
    assert run("explain", *kind, "--kubernetes", "1.25").exit_code == 2


def test_compiled_definitions_are_read_like_the_definitions() -> None:
    widgets()
    Path("crds").mkdir()
    Path("crds/widget.yaml").write_text(DEFINITION)
    Path("crds/gadget.yaml").write_text(DEFINITION.replace("idget", "adget"))
    Path("crds/namespace.yaml").write_text("{apiVersion: v1, kind: Namespace}")
    ran = run("schema", "compile", "crds", "-o", "crds.types")
    assert ran.exit_code == 0
    assert ran.stderr == (
        "smp: note: left out, as no CustomResourceDefinition: 1 document\n"
    )
    diff = ("diff", "before.yaml", "after.yaml", "--validate", "keep")
    expected = run(*diff, "--crd", "crd.yaml")
    for option in ("--crd", "--openapi"):
        ran = run(*diff, option, "crds.types")
        assert (ran.exit_code, ran.output) == (1, expected.output)
    # The metadata that a server supplies is that of Kubernetes.
    explain = ("explain", "example.com/v1", "Widget", "metadata.finalizers")
    for path in ("crd.yaml", "crds.types"):
        facts = json.loads(run(*explain, "-o", "json", "--crd", path).stdout)
        assert facts["strategy"] == "merge"
    ran = run("explain", "example.com/v1", "Nothing", "--crd", "crds.types")
    assert "+ 2 definitions" in ran.stderr


def test_equal_definitions_compile_to_equal_bytes() -> None:
    widgets()
    assert (
        run("schema", "compile", "crd.yaml", "-o", "-").stdout_bytes
        == run("schema", "compile", "crd.yaml", "crd.yaml", "-o", "-").stdout_bytes
    )


def test_a_definition_that_cannot_be_read_leaves_the_others_alone() -> None:
    widgets()
    broken = DEFINITION.replace("group: example.com", "group: 5").replace(
        "widgets.example", "broken.example"
    )
    Path("two.yaml").write_text(f"{DEFINITION}---{broken}")
    ran = run("schema", "compile", "two.yaml", "-o", "two.types")
    assert ran.exit_code == 3
    assert "group is missing" in ran.stderr
    assert "broken.example.com" in ran.stderr
    assert (
        run(
            "diff", "before.yaml", "before.yaml", "--crd", "two.types", "-o", "patch"
        ).exit_code
        == 0
    )
    Path("one.yaml").write_text(broken)
    assert run("schema", "compile", "one.yaml", "-o", "one.types").exit_code == 2
    assert not Path("one.types").exists()


def test_many_definitions_are_better_compiled() -> None:
    widgets()
    Path("crds").mkdir()
    for number in range(50):
        text = DEFINITION.replace("Widget", f"Widget{number}")
        Path(f"crds/{number}.yaml").write_text(text)
    ran = run("diff", "before.yaml", "before.yaml", "--crd", "crds", "-o", "patch")
    assert (
        "smp: note: 50 definitions take long to read; smp schema compile" in ran.stderr
    )
    assert run("schema", "compile", "crds", "-o", "crds.types").exit_code == 0
    ran = run(
        "diff", "before.yaml", "before.yaml", "--crd", "crds.types", "-o", "patch"
    )
    assert "take long" not in ran.stderr


def test_the_defaults_of_a_definition_are_filled_in() -> None:
    text = DEFINITION.replace(
        "size: {type: integer",
        "color: {type: string, default: red}, size: {type: integer",
    )
    assert text != DEFINITION
    before, after = widgets()
    Path("crd.yaml").write_text(text)
    for live in ((), ("--live", before)):
        ran = run(
            "apply",
            "-f",
            after,
            *live,
            "--crd",
            "crd.yaml",
            "--validate",
            "keep",
        )
        [stored] = values(ran.stdout)
        assert isinstance(stored, dict)
        assert stored["spec"]["color"] == "red"


DEFAULTING = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets, shortNames: [gg]}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: A gadget.
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              color: {type: string, default: red}
              note: {type: string, nullable: true}
              ports:
                type: array
                items:
                  type: object
                  properties:
                    protocol: {type: string, default: TCP}
                    port: {type: integer}
              labels:
                type: object
                additionalProperties:
                  type: object
                  properties: {weight: {type: integer, default: 1}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
"""
GADGETS = """\
apiVersion: example.com/v1
kind: Gadget
metadata: {name: one}
spec: {note: null, ports: [{port: 1}], labels: {a: {}}}
---
apiVersion: example.com/v2
kind: Gadget
metadata: {name: two}
spec: {}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "-f", "gadgets.yaml"),
        ("apply", "-f", "gadgets.yaml", "--live", "gadgets.yaml"),
        ("apply", "-f", "gadgets.yaml", "-n", "shop"),
        ("apply", "-f", "gadgets.yaml", "--include-kind", "gg"),
        ("diff", "gadgets.yaml", "gadgets.yaml", "--format", "json"),
        ("explain", "gg.spec", "-o", "table"),
        ("explain", "gadgets", "-o", "table"),
    ],
)
def test_commands_say_the_same_with_definitions_compiled_or_not(
    command: tuple[str, ...],
) -> None:
    widgets()
    Path("gadget.yaml").write_text(DEFAULTING)
    Path("gadgets.yaml").write_text(GADGETS)
    compiling = run("schema", "compile", "crd.yaml", "gadget.yaml", "-o", "both.types")
    assert compiling.exit_code == 0
    expected = run(*command, "--crd", "crd.yaml", "--crd", "gadget.yaml")
    assert expected.exit_code == 0
    ran = run(*command, "--crd", "both.types")
    assert (ran.exit_code, ran.output) == (0, expected.output)


def test_text_wins_over_what_is_compiled() -> None:
    Path("gadget.yaml").write_text(DEFAULTING)
    Path("gadgets.yaml").write_text(GADGETS)
    assert run("schema", "compile", "gadget.yaml", "-o", "gadget.types").exit_code == 0
    Path("gadget.yaml").write_text(DEFAULTING.replace("default: red", "default: blue"))
    apply = ("apply", "-f", "gadgets.yaml", "--crd", "gadget.yaml")
    expected = run(*apply)
    assert "color: blue" in expected.stdout
    assert run(*apply, "--crd", "gadget.types").stdout == expected.stdout


BROKEN = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nx: [\n"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("broken.yaml", BROKEN, "crds/broken.yaml:4:1"),
        ("two.yaml", f"{{kind: Namespace}}\n---\n{BROKEN}", "crds/two.yaml:6:1"),
        ("group.yaml", DEFINITION.replace("group: example.com", "group: 5"), ":2\n"),
        ("text.yaml", "kind: CustomResourceDefinition\nx: \ud800", "crds/text.yaml"),
    ],
)
def test_a_definition_that_cannot_be_parsed_is_reported_once(
    name: str, text: str, place: str
) -> None:
    before, after = widgets()
    Path("crds").mkdir()
    Path("crds/widget.yaml").write_text(DEFINITION)
    Path("crds", name).write_bytes(text.encode(errors="surrogatepass"))
    for command, code in (
        (("diff", before, before, "-o", "patch"), 3),
        (("apply", "-f", after, "-f", before, "--validate", "keep"), 3),
        (("patch", before, "-p", "spec: {size: 3}"), 3),
        (("explain", "example.com/v1", "Widget"), 3),
    ):
        expected = run(*command, "--crd", "crd.yaml")
        ran = run(*command, "--crd", "crds")
        assert (ran.exit_code, ran.stdout) == (code, expected.stdout), command
        assert ran.stderr.count("smp: error:") == 1
        assert place in ran.stderr
    ran = run("schema", "compile", "crds", "-o", "crds.types")
    assert (ran.exit_code, ran.stderr.count("smp: error:")) == (3, 1)
    assert (
        run("diff", before, before, "--crd", "crds.types", "-o", "patch").exit_code == 0
    )
    # A path without any definition is of no use.
    assert (
        run("diff", before, before, "--crd", f"crds/{name}", "-o", "patch").exit_code
        == 2
    )


def test_a_directory_of_definitions_may_have_other_files() -> None:
    before, _after = widgets()
    Path("crds").mkdir()
    Path("crds/widget.yaml").write_text(DEFINITION)
    Path("crds/kustomization.yaml").write_text("kind: Kustomization\nresources: []\n")
    Path("crds/namespace.yaml").write_text("{apiVersion: v1, kind: Namespace}")
    Path("crds/empty.yaml").write_text("")
    ran = run("diff", before, before, "--crd", "crds", "-o", "patch")
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert "smp: error:" not in ran.stderr
    ran = run("diff", before, before, "--crd", "crds/namespace.yaml", "-o", "patch")
    assert ran.exit_code == 2
    assert "the document is not a CustomResourceDefinition" in ran.stderr


def test_a_definition_among_the_objects_that_cannot_be_read_leaves_names_alone() -> (
    None
):
    before, _after = widgets()
    invalid = DEFINITION.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v9")
    for text in (BROKEN.replace("x: [", "metadata: {name: x}\nx: ["), invalid):
        Path("all.yaml").write_text(f"{text}---\n{Path(before).read_text()}")
        ran = run("apply", "-f", "all.yaml", "-n", "shop", "--crd", "crd.yaml")
        assert "namespace: shop" in ran.stdout
        assert ran.exit_code == 3
