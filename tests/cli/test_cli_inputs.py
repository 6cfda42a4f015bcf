"""Reading documents, and the errors of documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.command import config_map, run


def test_directories_are_read_at_any_depth(directory: Path) -> None:
    (directory / "d" / "deeper").mkdir(parents=True)
    (directory / "d" / "one.yml").write_text(config_map("one"))
    (directory / "d" / "deeper" / "two.json").write_text(config_map("two"))
    (directory / "d" / "README.md").write_text("no document")
    (directory / "d" / "void.yaml").write_text("# nothing\n")
    Path("three.yaml").write_text(config_map("three"))
    ran = run("apply", "-f", "d", "-f", "three.yaml", "-o", "json")
    assert re.findall(r'"name": "(\w+)"', ran.stdout) == ["two", "one", "three"]
    assert (
        ran.stderr == "smp: skipped 1 document:\n  d/void.yaml:1: no document found\n"
    )


def test_skipped_documents_are_counted_and_named() -> None:
    Path("mixed.yaml").write_text("a: 1\n---\n" + config_map("a", x="1") + "---\n- 1\n")
    Path("live.yaml").write_text(config_map("a") + "---\n" + config_map("b", "shop"))
    for output in ("yaml", "json", "jsonpatch", "report"):
        assert run(
            "apply", "-f", "mixed.yaml", "--live", "live.yaml", "-o", output
        ).stderr.endswith("""\
smp: skipped 3 documents:
  mixed.yaml:1: not a Kubernetes object: no apiVersion, no kind
  mixed.yaml:5: not a Kubernetes object: no apiVersion, no kind
  live.yaml:3: v1 ConfigMap shop/b: live, but not in the new configuration
""")


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
            ("diff", "half.yaml", "half.yaml"),
            "kind is missing\n  path:   kind\n  file:   half.yaml:1\n",
        ),
        (
            ("diff", "twice.yaml", "new.yaml"),
            "the same object is also in twice.yaml:1\n  file:   twice.yaml:2\n",
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
    Path("deep.json").write_text("[" * 3000 + "]" * 3000)
    Path("unknown.yaml").write_text("apiVersion: apps/v1\nkind: Deploymint\n")
    Path("broken.types").write_bytes(b"\x78\xda no")
    ran = run(*arguments, stdin=config_map())
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("smp: error: ")
    assert shown in ran.stderr


def test_all_errors_are_shown_and_no_object() -> None:
    Path("unknown.yaml").write_text(
        config_map()
        + "---\napiVersion: a/v1\nkind: B\n---\napiVersion: c/v1\nkind: D\n"
    )
    ran = run("apply", "-f", "unknown.yaml")
    assert (ran.exit_code, ran.stdout, ran.stderr.count("smp: error: ")) == (2, "", 2)
    assert "file:   unknown.yaml:3\n" in ran.stderr
    assert "file:   unknown.yaml:6\n" in ran.stderr


def test_control_characters_are_escaped() -> None:
    Path("odd.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\n'
        'data: {a: "1\\n\\e[2J"}\n'
    )
    Path("old.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\n'
    )
    Path("unknown.yaml").write_text('apiVersion: v1\nkind: "\\e[31m"\n')
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml").output
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml", "-o", "report").output
    assert "\x1b" not in run("diff", "unknown.yaml", "odd.yaml").output
    assert "\x1b" not in run("apply", "-f", "unknown.yaml").output
