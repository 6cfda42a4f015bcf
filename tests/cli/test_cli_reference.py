"""The help of the commands, and docs/cli.md."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from smp.cli._click import FOR_EXPERTS, HEADINGS, cli
from smp.cli._reference import man_page, reference
from smp.testing import KubernetesApi
from tests.support.command import run
from tests.support.rows import each_row

ROOT = Path(__file__).parents[2]


def contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            child = context.command.get_command(context, name)
            assert child is not None
            yield from contexts(click.Context(child, info_name=name, parent=context))


COMMANDS = list(contexts(click.Context(cli, info_name="smp", **cli.context_settings)))


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server


@pytest.mark.parametrize("context", COMMANDS, ids=lambda context: context.command_path)
def test_help_ends_with_an_example_that_runs(
    context: click.Context, request: pytest.FixtureRequest
) -> None:
    lines = context.command.get_help(context).splitlines()
    assert lines[-2].strip() == "Example:"
    program, *arguments = shlex.split(lines[-1])
    assert program == "smp"
    if arguments[0] == "serve":  # has no end; tests/server/test_server_cli.py runs it
        return
    if arguments[0] == "cluster":
        if "wait" in arguments:  # nothing becomes ready without a controller
            return
        server: KubernetesApi = request.getfixturevalue("api")
        # A server takes no object as short as those of the other examples.
        Path("new.yaml").write_text(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", encoding="utf-8"
        )
        arguments += ["--kubeconfig", str(server.kubeconfig)]
        with server.unchanged():
            ran = run(*arguments)
        assert ran.exit_code == (1 if "diff" in arguments else 0), ran.output
        return
    # The manifest has no selector.
    has_found = {"diff", "drift", "lint"} & {*arguments}
    assert run(*arguments).exit_code == (1 if has_found else 0)


@each_row("context", COMMANDS, ids=lambda context: context.command_path)
def test_every_option_has_a_help_text(context: click.Context) -> None:
    options = [
        param for param in context.command.params if isinstance(param, click.Option)
    ]
    assert [
        option.name for option in options if not option.help and option.name != "output"
    ] == []


def test_headings_and_hidden_options_name_options_that_exist() -> None:
    names = {
        name
        for context in COMMANDS
        for param in context.command.params
        for name in (param.name, f"{context.info_name}.{param.name}")
    }
    headed = {name for group in HEADINGS.values() for name in group}
    assert (headed | FOR_EXPERTS) - names == set()


def test_the_reference_is_up_to_date() -> None:
    stale = "docs/cli.md is stale: python -m smp.cli._reference > docs/cli.md"
    assert (ROOT / "docs" / "cli.md").read_text() == reference(), stale
    stale = "docs/smp.1 is stale: python -m smp.cli._reference man > docs/smp.1"
    assert (ROOT / "docs" / "smp.1").read_text() == man_page(), stale


MAN = shutil.which("man")


@pytest.mark.skipif(MAN is None, reason="there is no man")
def test_the_man_page_is_shown_without_a_warning() -> None:
    shown = subprocess.run(
        [str(MAN), "--warnings", "-E", "UTF-8", "-l", ROOT / "docs" / "smp.1"],
        capture_output=True,
        text=True,
        check=True,
        env={"MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "PATH": "/usr/bin:/bin"},
    )
    assert shown.stderr == ""
    text = " ".join(shown.stdout.split())
    assert "smp - strategic merge patches for Kubernetes objects" in text
    assert [
        option.opts[-1]
        for context in COMMANDS
        for option in context.command.params
        if isinstance(option, click.Option) and option.opts[0] not in text
    ] == []
