"""The command line reference, made of the commands' own help: docs/cli.md, docs/smp.1.

Regenerate them with ``python -m smp.cli._reference > docs/cli.md`` and
``python -m smp.cli._reference man > docs/smp.1``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

import click

from smp.cli._click import SHOWS_ALL, cli
from smp.cli._outputs import write

_WIDTH: Final = 80
_HEAD: Final = """# Command line

What `smp --help` and the `--help-all` of each command say.
"""
_MAN_HEAD: Final = """.TH SMP 1 "" "smp" "User Commands"
.SH NAME
smp \\- strategic merge patches for Kubernetes objects
"""


def reference() -> str:
    """Return the reference as Markdown."""
    sections = [
        f"## {each.command_path}\n\n```\n{each.command.get_help(each)}\n```\n"
        for each in _contexts()
    ]
    return "\n".join([_HEAD, *sections])


def man_page() -> str:
    """Return the reference as a page of man."""
    parts = [_MAN_HEAD]
    for context in _contexts():
        formatter = _ManFormatter()
        context.command.format_help(context, formatter)
        title = context.command_path.upper()
        parts.append(f'.SH "{title}"\n{formatter.getvalue()}')
    return "".join(parts)


def _contexts(context: click.Context | None = None) -> Iterator[click.Context]:
    if context is None:
        context = click.Context(
            cli, info_name="smp", terminal_width=_WIDTH, **cli.context_settings
        )
        context.meta[SHOWS_ALL] = True
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if child := command.get_command(context, name):
                inner = click.Context(child, info_name=name, parent=context)
                yield from _contexts(inner)


class _ManFormatter(click.HelpFormatter):
    """Writes help with the macros of man(7), which wrap the lines."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002  # click's
        self.write(f"\\fB{_roff(prog)}\\fR {_roff(args)}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f'.SS "{_roff(heading)}"\n')

    def write_paragraph(self) -> None:
        """Begin no paragraph: each text begins its own."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; lines behind a backspace stay as they are."""
        for paragraph in text.split("\n\n"):
            lines = _roff(paragraph.removeprefix("\b\n"))
            if paragraph.startswith("\b\n"):
                lines = f".nf\n{lines}\n.fi"
            self.write(f".PP\n{lines}\n")

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = 30,  # noqa: ARG002  # click's
        col_spacing: int = 2,  # noqa: ARG002  # click's
    ) -> None:
        for term, meaning in rows:
            self.write(f".TP\n\\fB{_roff(term)}\\fR\n{_roff(meaning)}\n")


def _roff(text: str) -> str:
    """Escape what roff would take for a request, and keep each dash a dash."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    lines = [line.strip() for line in escaped.splitlines()]
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


if __name__ == "__main__":
    write(man_page() if sys.argv[1:] == ["man"] else reference())
