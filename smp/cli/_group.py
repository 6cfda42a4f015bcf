"""The group of commands, and the exit code for each way in which a command can end."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, Final

import click

from smp.cli._errors import Failure, printable
from smp.cli._suggestions import SuggestingGroup
from smp.cli._version import version_line
from smp.errors import DepthError, SmpError

# Each is a module that is imported when the command is run, so that no command waits
# for what the others import.
_COMMANDS: Final = (
    "apply",
    "diff",
    "explain",
    "openapi",
    "patch",
    "schema",
    "serve",
    "test",
)

# Where a signal ends a command, a shell reports 128 and the number of the signal.
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_ERROR: Final = 2

_STDOUT: Final = 1
_STDERR: Final = 2


class Commands(SuggestingGroup):
    """The commands, each in the module of its name.

    Here errors of the library become errors of click.
    """

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
        command: click.Command = import_module(f"smp.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would exit with 1, which for diff means that objects differ.
            ctx.exit(_closed_pipe())
        except RecursionError:
            raise Failure(DepthError("a document is nested too deeply")) from None
        except SmpError as error:
            raise Failure(error) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    """Run the command line and return its exit code; see smp.cli.main."""
    try:
        return _run(argv)
    except BrokenPipeError:
        return _closed_pipe()


def _run(argv: list[str] | None) -> int:
    try:
        code = cli.main(args=argv, prog_name="smp", standalone_mode=False)
        # It is None where the caller closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.Abort:
        return _INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename is not None:
            reason = f"{error.filename}: {reason}"
        click.echo(f"smp: error: {printable(reason)}", err=True)
        return _ERROR
    # A defect of this program: its user can report it, and nothing else.
    except Exception as error:
        if os.environ.get("SMP_TRACEBACK"):
            raise
        reason = printable(f"{type(error).__name__}: {error}")
        click.echo(
            f"smp: error: this should not have happened: {reason}\n"
            "  hint:   with SMP_TRACEBACK=1 in the environment it shows where; please"
            " report that",
            err=True,
        )
        return _ERROR
    return code if isinstance(code, int) else 0


def _closed_pipe() -> int:
    """Send the rest of the output nowhere, and return the exit code.

    The interpreter flushes its streams when it ends, and reports what fails then.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (_STDOUT, _STDERR):
        os.dup2(nowhere, stream)
    return _BROKEN_PIPE
