"""Writing to standard output, so that no byte is lost without an error.

A write may take less than all: a raw stream (``python -u``) stops where a disk is full,
and a non-blocking pipe where it is. The interpreter's own streams report the one late
and lose what follows the other, so what is written is counted here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from smp._values.values import JSON
from smp.cli._errors import OutputError, printable
from smp.documents import dump_json, dump_kyaml, dump_yaml


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output, all of them.

    Raises BrokenPipeError where the reader is gone, and OutputError for every other
    reason why not all can be written.
    """
    if not data:
        return
    # It is None where the caller closed it.
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    stream: Any = getattr(sys.stdout, "buffer", None)
    try:
        if stream is None:
            sys.stdout.write(data.decode())
            return
        # What was written as text goes first.
        sys.stdout.flush()
        _write_all(stream, data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"cannot write to standard output: {reason}") from None


def _write_all(stream: Any, data: bytes) -> None:
    remaining = memoryview(data)
    is_flushed = False
    while remaining or not is_flushed:
        try:
            if remaining:
                # A raw stream that does not block returns None where it takes nothing.
                written = stream.write(remaining)
            else:
                stream.flush()
                is_flushed = True
                continue
        except BlockingIOError as error:
            written = error.characters_written if remaining else None
        if not written:
            import select  # noqa: PLC0415  # few streams do not block

            # Wait until the stream can take more.
            select.select([], [stream], [])
        else:
            remaining = remaining[written:]


def write(text: str) -> None:
    """Write text to standard output, as UTF-8 in every locale."""
    # kubectl writes UTF-8, and so do the files that the text may be redirected to.
    write_bytes(text.encode())


# The formats that are YAML, with what stands between two documents: those of KYAML
# begin with it themselves.
YAML_SEPARATORS: Final = {"yaml": "---\n", "kyaml": ""}


def write_document(value: JSON, output: str) -> None:
    """Write a document in one of the formats that are YAML, or as JSON."""
    if output in YAML_SEPARATORS:
        write(yaml_text("", value, output))
    else:
        write_json([value])


def yaml_text(comment: str, value: JSON, output: str) -> str:
    """Return a value as a YAML document under a comment, in one of the formats."""
    heading = f"# {printable(comment)}\n" if comment else ""
    if output == "kyaml":
        start = "---\n"
        return f"{start}{heading}{dump_kyaml([value]).removeprefix(start)}"
    return heading + dump_yaml([value])


def write_json(values: Iterable[JSON]) -> None:
    """Write JSON texts, one after the other."""
    write("".join(f"{dump_json(value)}\n" for value in values))


# A variable of the environment: a pager shows standard output on a terminal.
PAGER_IN_USE: Final = "SMP_PAGER_IN_USE"


def has_colours(color: str) -> bool:
    """Tell whether the option asks for colours, or the terminal shows them."""
    if color != "auto":
        return color == "always"
    is_paged = PAGER_IN_USE in os.environ
    if not is_paged and (sys.stdout is None or not sys.stdout.isatty()):
        return False
    # no-color.org: any content of NO_COLOR switches colours off, unless the command
    # line asks for them.
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# A text and its style, and the texts of a line.
Span: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Span]

# ECMA-48, SGR: select graphic rendition.
_RENDITIONS: Final = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "cyan": 36,
}


def in_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield cells as lines; a column without any text is left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        columns = zip(row, widths, strict=True)
        yield "  ".join([cell.ljust(width) for cell, width in columns if width])


def style_text(lines: Iterable[Line], *, is_coloured: bool) -> str:
    """Return lines of styled text as one text."""
    text: list[str] = []
    for line in lines:
        for span, style in line:
            is_styled = is_coloured and span and style
            text.append(
                f"\x1b[{_RENDITIONS[style]}m{span}\x1b[0m" if is_styled else span
            )
        text.append("\n")
    return "".join(text)
