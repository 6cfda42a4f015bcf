"""Running a command line, and the exit code for each way in which it can end."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Final, cast

from smp.cli._command_line import CommandLine, find_options_file, parse
from smp.cli._commands import ERROR, NO_PAGER
from smp.cli._errors import CommandFailure, OutputError, UsageError, printable, report
from smp.errors import DocumentError

# Where a signal ends a command, a shell reports 128 and the number of the signal.
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141

_STDOUT: Final = 1
_STDERR: Final = 2
# The commands that print what is read on a screen, and ask or follow nothing.
_PAGED: Final = frozenset(
    {"apply", "blame", "diff", "drift", "explain", "lint", "openapi", "patch"}
)


def run(argv: list[str] | None) -> int:
    """Run the command line and return its exit code; see smp.cli.main."""
    try:
        code = _run_line(argv)
        # It is None where the caller closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _send_nowhere(_STDOUT, _STDERR)
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename is not None:
            reason = f"{error.filename}: {reason}"
        report(f"smp: error: {printable(reason)}")
        return ERROR
    # A defect of this program: its user can report it, and nothing else.
    except Exception as error:
        if os.environ.get("SMP_TRACEBACK"):
            raise
        reason = printable(f"{type(error).__name__}: {error}")
        report(
            f"smp: error: this should not have happened: {reason}\n"
            "  hint:   with SMP_TRACEBACK=1 in the environment it shows where; please"
            " report that"
        )
        return ERROR
    return code


def _run_line(argv: list[str] | None) -> int:
    try:
        line = parse(sys.argv[1:] if argv is None else argv)
        # Loading click takes as long as a small command.
        if line is None:
            read = import_module("smp.cli._click").read_with_click(argv)
            if isinstance(read, int):
                return read
            line = cast("CommandLine", read)
        _name_options_file(line)
    except DocumentError as error:
        # Of the options file: no other document was read yet.
        CommandFailure(error).show()
        return ERROR
    try:
        with _pager_of(line, argv):
            return line.command.call(line.values)
    except UsageError as error:
        import_module("smp.cli._click").show_usage_error(line, str(error))
        return line.command.error
    except OutputError as error:
        report(f"smp: error: {printable(str(error))}")
        # The interpreter would write what is left when it ends, and fail once more. It
        # does not end where a caller gave the arguments.
        if argv is None:
            _send_nowhere(_STDOUT)
    return ERROR


def _pager_of(
    line: CommandLine, argv: list[str] | None
) -> AbstractContextManager[None]:
    """Return a pager for a command that prints on a terminal; for others nothing."""
    # A caller of the function has the streams; -q prints nothing.
    is_shown = argv is None and sys.stdout is not None and sys.stdout.isatty()
    if (
        not is_shown
        or line.names[0] not in _PAGED
        or line.values.get("quiet")
        or NO_PAGER in sys.argv[1:2]
        or os.name == "nt"
        or os.environ.get("TERM") == "dumb"
    ):
        return nullcontext()
    pager: AbstractContextManager[None] = import_module("smp.cli._pager").paging()
    return pager


def _name_options_file(line: CommandLine) -> None:
    """Say which options file was read, and what this command has of it."""
    path = find_options_file()
    if path is None or line.values.get("quiet"):
        return
    options_file = import_module("smp.cli._options_file").read_options_file(path)
    if names := options_file.options_of(line.command):
        report(f"smp: note: {options_file.path} has: {', '.join(names)}")


def _send_nowhere(*streams: int) -> None:
    """Drop what is left in streams: the interpreter flushes them when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
