"""All commands as a group of click: help, completion, unusual command lines."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from smp.cli._click import as_click_command
from smp.cli._commands import DECLARED
from smp.cli._endings import INTERRUPTED, closed_pipe
from smp.cli._suggestions import SuggestingGroup
from smp.cli._version import version_line

# Each is a module that is imported when the command is run, so that no command waits
# for what the others import.
_COMMANDS: Final = (
    "apply",
    "blame",
    "cluster",
    "diff",
    "doctor",
    "drift",
    "explain",
    "lint",
    "openapi",
    "patch",
    "schema",
    "serve",
    "test",
)


class Commands(SuggestingGroup):
    """The commands, each in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Name the commands."""
        return list(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"smp.cli.{cmd_name}")
        if cmd_name in DECLARED:
            return as_click_command(cmd_name, module.COMMAND)
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would exit with 1, which for diff means that objects differ.
            ctx.exit(closed_pipe())


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="\b\nShell completion:\n"
    '  bash  eval "$(_SMP_COMPLETE=bash_source smp)" in ~/.bashrc\n'
    '  zsh   eval "$(_SMP_COMPLETE=zsh_source smp)" in ~/.zshrc\n'
    "  fish  _SMP_COMPLETE=fish_source smp | source, in ~/.config/fish/config.fish\n"
    "\n\b\nExample:\n  smp apply -f new.yaml --live live.yaml -o report",
)
@click.version_option("", message=version_line())
def cli() -> None:
    """Strategic merge patches for Kubernetes objects, computed and applied offline.

    Each path of objects is a YAML or JSON file with any number of
    documents, a directory of such files (*.yaml, *.yml, *.json, at any depth), or - for
    standard input. Errors and notes go to standard error.
    """


def run(argv: list[str] | None) -> int:
    """Read and run a command line, and return its exit code."""
    try:
        code = cli.main(args=argv, prog_name=_program(), standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0


def _program() -> str:
    """Return what the user calls this program: as a plugin of kubectl, by its name."""
    is_plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    return "kubectl smp" if is_plugin else "smp"


def show_usage_error(name: str, reason: str) -> None:
    """Show why a command line of a command cannot be run, and its usage."""
    group = click.Context(cli, info_name=_program(), **cli.context_settings)
    command = cli.get_command(group, name)
    if command is not None:
        group = click.Context(command, info_name=name, parent=group)
    click.UsageError(reason, group).show()
