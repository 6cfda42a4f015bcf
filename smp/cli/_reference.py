"""The command line reference, docs/cli.md, made of the commands' own help.

Regenerate it with ``python -m smp.cli._reference > docs/cli.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from smp.cli._click import SHOWS_ALL, cli
from smp.cli._outputs import write

_WIDTH: Final = 80
_HEAD: Final = """# Command line

What `smp --help` and the `--help-all` of each command say.
"""


def reference() -> str:
    """Return the reference as Markdown."""
    context = click.Context(
        cli, info_name="smp", terminal_width=_WIDTH, **cli.context_settings
    )
    context.meta[SHOWS_ALL] = True
    return "\n".join([_HEAD, *_sections(context)])


def _sections(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if child := command.get_command(context, name):
                yield from _sections(
                    click.Context(child, info_name=name, parent=context)
                )


if __name__ == "__main__":
    write(reference())
