"""The outputs for a reader: unified, a summary, or nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from smp import documents
from smp._values.values import JSON
from tests.support.command import config_map, run


def test_the_unified_diff_is_one_that_patch_applies() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "-o", "unified", "--show-secrets")
    assert ran.exit_code == 1
    assert ran.stdout.startswith(
        "--- apps/v1 Deployment shop/web\n+++ apps/v1 Deployment shop/web\n@@ -1,"
    )
    assert "\n-  replicas: 2\n" in ran.stdout
    assert "\n+  replicas: 3\n" in ran.stdout
    # patch(1) makes the new object of the old one.
    program = shutil.which("patch")
    if program is None:
        pytest.skip("patch(1) is not installed")
    old, new = (
        documents.read(Path(name).read_bytes()) for name in ("old.yaml", "new.yaml")
    )
    Path("target").write_text(documents.dump_yaml([sorted_(old[0].value)]))
    deployment = ran.stdout[: ran.stdout.index("--- v1 Secret")]
    subprocess.run(
        [program, "target"],
        input=deployment,
        text=True,
        check=True,
        capture_output=True,
    )
    assert documents.read(Path("target").read_bytes())[0].value == new[0].value


def sorted_(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: sorted_(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [sorted_(element) for element in value]
    return value


def test_the_order_of_members_is_no_difference_of_texts() -> None:
    Path("a.yaml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
    Path("b.yaml").write_text(
        "apiVersion: v1\nmetadata: {name: a}\nkind: ConfigMap\ndata: {x: z}\n"
    )
    ran = run("diff", "a.yaml", "b.yaml", "-o", "unified")
    assert [line for line in ran.stdout.splitlines()[2:] if line[0] in "+-"] == [
        "+data:",
        "+  x: z",
    ]


def test_new_and_removed_objects_are_compared_with_no_file() -> None:
    Path("a.yaml").write_text(config_map("a"))
    Path("b.yaml").write_text(config_map("b"))
    lines = run("diff", "a.yaml", "b.yaml", "-o", "unified").stdout.splitlines()
    assert [line for line in lines if line.startswith(("---", "+++"))] == [
        "--- /dev/null",
        "+++ v1 ConfigMap b",
        "--- v1 ConfigMap a",
        "+++ /dev/null",
    ]


def test_unchanged_objects_have_no_text() -> None:
    ran = run("diff", "old.yaml", "old.yaml", "-o", "unified")
    assert ran.exit_code == 0
    assert "Deployment" not in ran.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "old.yaml", "new.yaml"),
        ("apply", "-f", "new.yaml", "--live", "live.yaml"),
        ("patch", "secret.yaml", "-p", "{stringData: {password: third-word}}"),
    ],
)
def test_a_reader_sees_colours_and_no_secrets(command: tuple[str, ...]) -> None:
    secret = Path("new.yaml").read_text().partition("---\n")[2]
    Path("secret.yaml").write_text(secret)
    printed = run(*command, "-o", "unified", "--color", "always").stdout
    assert "\x1b[3" in printed
    assert "-word" not in printed


def test_stat_has_a_line_for_each_object_that_changes() -> None:
    Path("a.yaml").write_text(
        config_map("a", x="1", y="1") + config_map("b") + config_map("c")
    )
    Path("b.yaml").write_text(
        config_map("a", x="2", z="1") + config_map("b") + config_map("d")
    )
    ran = run("diff", "a.yaml", "b.yaml", "--stat")
    assert ran.exit_code == 1
    assert (
        ran.stdout
        == """\
v1 ConfigMap a: changed (3 differences)
v1 ConfigMap d: to be created
v1 ConfigMap c: to be removed
4 objects: 1 changed, 1 unchanged, 1 new, 1 removed
"""
    )
    assert not ran.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("diff", "old.yaml", "new.yaml"), 1),
        (("diff", "old.yaml", "old.yaml"), 0),
        (("apply", "-f", "new.yaml", "--live", "live.yaml"), 0),
    ],
)
def test_quiet_leaves_the_exit_code(command: tuple[str, ...], code: int) -> None:
    assert run(*command).output
    ran = run(*command, "-q")
    assert (ran.exit_code, ran.output) == (code, "")


def test_quiet_prints_errors_and_no_warnings() -> None:
    Path("bad.yaml").write_text(
        config_map("a") + '{"apiVersion": "v1", "kind": "Podd"}\n{}\n'
    )
    ran = run("apply", "-f", "bad.yaml", "-q")
    assert ran.exit_code == 3
    assert ran.stdout == ""
    assert ran.stderr.startswith("smp: error: ")
    assert ran.stderr.count("smp: ") == 1
