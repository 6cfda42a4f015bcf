"""Reading documents, and the errors of documents."""

from __future__ import annotations

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.command import config_map, run, values


def test_directories_are_read_at_any_depth(directory: Path) -> None:
    (directory / "d" / "deeper").mkdir(parents=True)
    (directory / "d" / "one.yml").write_text(config_map("one"))
    (directory / "d" / "deeper" / "two.json").write_text(config_map("two"))
    (directory / "d" / "README.md").write_text("no document")
    (directory / "d" / "void.yaml").write_text("# nothing\n")
    Path("three.yaml").write_text(config_map("three"))
    ran = run("apply", "-f", "d", "-f", "three.yaml")
    assert re.findall(r"  name: (\w+)\n", ran.stdout) == ["two", "one", "three"]
    assert ran.stderr == "smp: 3 objects: 3 new\n"


def test_skipped_documents_are_counted_and_named() -> None:
    Path("mixed.yaml").write_text("a: 1\n---\n" + config_map("a", x="1") + "---\n- 1\n")
    Path("live.yaml").write_text(config_map("a") + "---\n" + config_map("b", "shop"))
    skipped = """\
smp: skipped 3 documents:
  mixed.yaml:1: not a Kubernetes object: no apiVersion, no kind
  mixed.yaml:5: not a Kubernetes object: no apiVersion, no kind
  live.yaml:3: v1 ConfigMap shop/b: live, but in no manifest
"""
    summary = "1 object: 1 changed, 3 skipped\n"
    command = ("apply", "-f", "mixed.yaml", "--live", "live.yaml", "-o")
    for output in ("yaml", "json", "jsonpatch"):
        assert run(*command, output).stderr.endswith(f"{skipped}smp: {summary}")
    report = run(*command, "report")
    assert report.stderr == skipped
    assert report.stdout.endswith(summary)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            ("diff", "none.yaml", "new.yaml"),
            "cannot read the file: No such file or directory\n  file:   none.yaml\n",
        ),
        (
            ("diff", "empty", "new.yaml"),
            "no document found in the directory\n  file:   empty\n",
        ),
        (
            ("diff", "empty.yaml", "new.yaml"),
            "no document found\n  file:   empty.yaml\n",
        ),
        (
            ("diff", "plain.yaml", "new.yaml"),
            "no Kubernetes object found\n  file:   plain.yaml\n",
        ),
        (("diff", "bad.yaml", "new.yaml"), "  file:   bad.yaml:2:8\n"),
        (
            ("diff", "-", "-"),
            "standard input can be read only once\n  file:   <stdin>\n",
        ),
        (
            ("diff", "half.yaml", "half.yaml", "-q"),
            "kind is missing\n  path:   kind\n  file:   half.yaml:1\n",
        ),
        (("diff", "deep.json", "new.yaml"), "smp: error: the document is nested"),
        (("apply", "-f", "unknown.yaml"), "did you mean apps/v1 Deployment"),
        (
            ("apply", "-f", "unknown.yaml"),
            "--crd FILE or --openapi FILE describes more kinds\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--kubernetes", "0.9"),
            "Kubernetes 0.9 is not bundled\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--crd", "new.yaml"),
            "the document is not a CustomResourceDefinition\n  file:   new.yaml:1\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--openapi", "broken.types"),
            "not a compiled catalog\n  file:   broken.types:1\n",
        ),
    ],
)
def test_an_error_is_one_readable_block(arguments: tuple[str, ...], shown: str) -> None:
    Path("empty").mkdir()
    Path("empty.yaml").write_text("---\n")
    Path("plain.yaml").write_text("a: 1\n")
    Path("bad.yaml").write_text("apiVersion: v1\nkind: [}\n")
    Path("half.yaml").write_text("apiVersion: v1\n")
    Path("twice.yaml").write_text(config_map() * 2)
    Path("deep.json").write_text("[" * 100_000 + "]" * 100_000)
    Path("unknown.yaml").write_text("apiVersion: apps/v1\nkind: Deploymint\n")
    Path("broken.types").write_bytes(b"\x78\xda no")
    ran = run(*arguments, stdin=config_map())
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("smp: error: ")
    assert shown in ran.stderr


def test_an_object_with_an_error_leaves_the_others_alone() -> None:
    Path("some.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deploymint\n---\n"
        + config_map()
        + "---\nkind: [}\n---\n"
        + config_map("b")
    )
    ran = run("apply", "-f", "some.yaml")
    assert ran.exit_code == 3
    assert re.findall(r"  name: (\w+)\n", ran.stdout) == ["a", "b"]
    assert ran.stderr.count("smp: error: ") == 2
    assert "file:   some.yaml:1\n" in ran.stderr
    assert "file:   some.yaml:6:8\n" in ran.stderr
    assert ran.stderr.endswith("smp: 4 objects: 2 failed, 2 new\n")


def test_a_kind_without_a_schema_is_patched_as_json() -> None:
    live = "apiVersion: a/v1\nkind: B\nspec: {list: [{name: x, a: 1}], old: 1}\n"
    new = live.replace("a: 1", "b: 2").replace(", old: 1", "")
    Path("live.yaml").write_text(live)
    Path("custom.yaml").write_text(new)
    ran = run("diff", "live.yaml", "custom.yaml", "--live", "live.yaml", "-o", "patch")
    assert values(ran.stdout) == [
        [
            {"op": "test", "path": "/spec/list", "value": [{"name": "x", "a": 1}]},
            {"op": "replace", "path": "/spec/list", "value": [{"name": "x", "b": 2}]},
            {"op": "remove", "path": "/spec/old"},
        ]
    ]
    form = "(application/json-patch+json: merged by RFC 7396, as the kind has no schema"
    assert form in ran.stdout
    command = (
        "diff",
        "live.yaml",
        "custom.yaml",
        "--live",
        "live.yaml",
        "--format",
        "json",
    )
    [record] = json.loads(run(*command).stdout)
    assert record["mediaType"] == "application/json-patch+json"
    assert record["kubectlPatch"] == {
        "spec": {"list": [{"name": "x", "b": 2}], "old": None}
    }
    note = 'no matches for kind "B" in version "a/v1"; patched as JSON (RFC 7396)\n'
    assert note in ran.stderr
    assert note in run("diff", "live.yaml", "custom.yaml", "-o", "report").stdout
    ran = run("diff", "live.yaml", "custom.yaml", "--strict", "-o", "patch")
    assert ran.exit_code == 2
    assert "--crd FILE or --openapi FILE describes more kinds\n" in ran.stderr


def test_files_of_other_tools_are_skipped_by_name(directory: Path) -> None:
    (directory / "d").mkdir()
    (directory / "d" / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    )
    (directory / "d" / "base.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\n"
    )
    (directory / "d" / "Chart.yaml").write_text("apiVersion: v2\nname: chart\n")
    (directory / "d" / "map.yaml").write_text(config_map())
    ran = run("apply", "-f", "d")
    assert ran.exit_code == 0
    assert len(values(ran.stdout)) == 1
    assert ran.stderr.count("not an object of a cluster: another tool reads it") == 3
    assert ran.stderr.endswith("smp: 1 object: 1 new, 3 skipped\n")
    (directory / "d" / "map.yaml").unlink()
    ran = run("diff", "d", "d", "-o", "patch")
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert ran.stderr.endswith("smp: 0 objects: 6 skipped\n")


def test_a_broken_document_that_is_no_object_is_skipped() -> None:
    Path("mixed.yaml").write_text(config_map() + "---\na: 1\na: 2\n")
    ran = run("apply", "-f", "mixed.yaml")
    assert ran.exit_code == 0
    assert "  mixed.yaml:4: duplicate key 'a'\n" in ran.stderr


def test_two_documents_of_one_object_are_two_objects_with_a_warning() -> None:
    Path("twice.yaml").write_text(config_map(x="1") + config_map(x="2"))
    assert run("diff", "twice.yaml", "twice.yaml", "-o", "patch").exit_code == 0
    ran = run("apply", "-f", "twice.yaml")
    assert (ran.exit_code, len(values(ran.stdout))) == (0, 2)
    assert "the same object is also in twice.yaml:1" in ran.stderr
    assert run("apply", "-f", "twice.yaml", "--strict").exit_code == 1


def test_a_second_document_that_is_removed_has_the_warning_too() -> None:
    Path("twice.yaml").write_text(config_map(x="1") + config_map(x="2"))
    Path("once.yaml").write_text(config_map(x="1"))
    ran = run("diff", "twice.yaml", "once.yaml", "--format", "json")
    _unchanged, removed = json.loads(ran.stdout)
    assert removed["verdict"] == "removed"
    [finding] = removed["findings"]
    assert finding["sentence"] == "the same object is also in twice.yaml:1"


def test_a_template_is_named_as_such() -> None:
    Path("chart.yaml").write_text("apiVersion: v1\nkind: {{ .Kind }}\n")
    ran = run("apply", "-f", "chart.yaml")
    assert ran.exit_code == 2
    assert "it looks like a template; render it first (helm template)" in ran.stderr


def test_the_files_of_kubectl_diff_have_no_extension(directory: Path) -> None:
    for name, x in (("LIVE", "1"), ("MERGED", "2")):
        (directory / name).mkdir()
        (directory / name / "v1.ConfigMap.shop.a").write_text(config_map(x=x))
    assert values(run("diff", "LIVE", "MERGED", "-o", "patch").stdout) == [
        {"data": {"x": "2"}}
    ]


def test_the_limit_of_a_file_can_be_raised() -> None:
    Path("large.yaml").write_text(config_map(x="y" * 2000))
    ran = run("apply", "-f", "large.yaml", "--max-bytes", "1024")
    assert ran.exit_code == 2
    assert "the text is larger than 1 KiB\n" in ran.stderr
    assert "--max-bytes raises the limit" in ran.stderr


def test_control_characters_are_escaped() -> None:
    Path("odd.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\n'
        'data: {a: "1\\n\\e[2J"}\n'
    )
    Path("old.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\n'
    )
    Path("unknown.yaml").write_text('apiVersion: v1\nkind: "\\e[31m"\n')
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml", "-o", "patch").output
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml", "-o", "report").output
    assert "\x1b" not in run("diff", "unknown.yaml", "odd.yaml", "-o", "patch").output
    assert "\x1b" not in run("apply", "-f", "unknown.yaml").output


def test_a_template_among_the_definitions_is_called_one() -> None:
    Path("crd.yaml").write_text("{{- if .Values.install }}\nkind: X\n{{- end }}\n")
    ran = run("apply", "-f", "new.yaml", "--crd", "crd.yaml")
    assert ran.exit_code == 2
    assert "crd.yaml:1:2" in ran.stderr
    assert "render it first" in ran.stderr


def test_a_path_may_be_the_url_of_a_web_server() -> None:
    Path("a.yaml").write_text(config_map(x="1"))
    handler = partial(SimpleHTTPRequestHandler, directory=".")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        ran = run("apply", "-f", f"{url}/a.yaml")
        assert values(ran.stdout) == values(run("apply", "a.yaml").stdout)
        missing = run("lint", f"{url}/none.yaml")
        server.shutdown()
    assert missing.exit_code == 2
    assert f"404: File not found\n  file:   {url}/none.yaml\n" in missing.stderr
