"""The group of commands, and the entry point that turns whatever ends a command into an
exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from smp import __version__
from smp.cli._errors import Failure, printable
from smp.errors import DepthError, SmpError

# A command is imported when it is run: nobody waits for what the others need.
_COMMANDS: Final = (
    "apply",
    "completion",
    "diff",
    "explain",
    "openapi",
    "patch",
    "schema",
    "serve",
    "test",
)
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_ERROR: Final = 2
_STDOUT: Final = 1
_STDERR: Final = 2


class Commands(click.Group):
    """The commands, each in the module of its name; at this boundary library errors
    become click's.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"smp.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        # click would say 1, which for diff means something else
        except BrokenPipeError:
            ctx.exit(_nobody_reads())
        except RecursionError:
            raise Failure(DepthError("a document is nested too deeply")) from None
        except SmpError as error:
            raise Failure(error) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  smp apply -f new.yaml --live live.yaml -o report",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Strategic merge patches for Kubernetes objects, computed and applied offline.

    Wherever objects are read, a path is a YAML or JSON file with any number of
    documents, a directory of such files (*.yaml, *.yml, *.json, at any depth), or - for
    standard input. Errors and notes go to standard error.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see smp.cli.main."""
    try:
        return _run(argv)
    except BrokenPipeError:
        return _nobody_reads()


def _run(argv: Sequence[str] | None) -> int:
    try:
        code = cli.main(args=argv, prog_name="smp", standalone_mode=False)
        if sys.stdout is not None:  # which it is where the caller closed it
            sys.stdout.flush()
    except click.Abort:
        return _INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        click.echo(f"smp: error: {printable(error.strerror or str(error))}", err=True)
        return _ERROR
    return code if isinstance(code, int) else 0


def _nobody_reads() -> int:
    """Let the interpreter flush what is left into nothing, or it would complain on its
    way out.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (_STDOUT, _STDERR):
        os.dup2(nothing, stream)
    return _BROKEN_PIPE
