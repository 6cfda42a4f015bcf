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
    ran = run("diff", *widgets(), "--crd", "crd.yaml", "--unknown-fields", "merge")
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
    assert (result.exit_code, "kind: Widget" in result.stdout) == (0, True)
    result = run("apply", "-f", "gadget.yaml", *options)
    assert result.exit_code != 0
    assert "a served version needs a schema of type object" in result.stderr
    assert "file:   crds.yaml:" in result.stderr


def test_definitions_among_the_inputs_describe_their_kinds() -> None:
    before, after = widgets()
    for path in (before, after):
        Path(path).write_text(Path(path).read_text() + "---" + DEFINITION)
    ran = run("diff", before, after, "--unknown-fields", "merge")
    assert values(ran.stdout) == [{"spec": {"size": 2, "more": {"a": 2}}}]


def test_an_unknown_field_is_an_error_with_hints() -> None:
    ran = run("diff", *widgets(), "--crd", "crd.yaml")
    assert ran.exit_code == 2
    assert "  path:   spec.more\n" in ran.stderr
    assert ran.stderr.endswith(
        "  hint:   a misspelled name, or a field of another version of the API\n"
        "  hint:   --unknown-fields merge merges it by RFC 7396\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "before.yaml", "after.yaml"),
        ("apply", "-f", "after.yaml", "--live", "before.yaml"),
        ("patch", "before.yaml", "-p", "spec: {more: {a: 2}}"),
    ],
)
def test_a_merged_unknown_field_is_a_warning(command: tuple[str, ...]) -> None:
    widgets()
    options = ("--crd", "crd.yaml", "--unknown-fields", "merge")
    warning = "spec.more: unknown to the schema; merged by RFC 7396\n"
    object_printed = run(*command, *options)
    assert f"smp: warning: example.com/v1 Widget w: {warning}" in object_printed.stderr
    report = run(*command, *options, "-o", "report")
    assert f"  warning: {warning}" in report.stdout


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
    diff = ("diff", "before.yaml", "after.yaml", "--unknown-fields", "merge")
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
        run("diff", "before.yaml", "before.yaml", "--crd", "two.types").exit_code == 0
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
    ran = run("diff", "before.yaml", "before.yaml", "--crd", "crds")
    assert (
        "smp: note: 50 definitions take long to read; smp schema compile" in ran.stderr
    )
    assert run("schema", "compile", "crds", "-o", "crds.types").exit_code == 0
    ran = run("diff", "before.yaml", "before.yaml", "--crd", "crds.types")
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
            "--unknown-fields",
            "merge",
        )
        [stored] = values(ran.stdout)
        assert isinstance(stored, dict)
        assert stored["spec"]["color"] == "red"
