"""Running a command line, and the exit code for each way in which it can end."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Final

from smp.cli._commands import parse
from smp.cli._errors import Failure, OutputError, UsageError, printable, report
from smp.errors import DepthError, SmpError

# Where a signal ends a command, a shell reports 128 and the number of the signal.
INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_ERROR: Final = 2

_STDOUT: Final = 1
_STDERR: Final = 2


def run(argv: list[str] | None) -> int:
    """Run the command line and return its exit code; see smp.cli.main."""
    try:
        code = _checked(argv)
        # It is None where the caller closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        return closed_pipe()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename is not None:
            reason = f"{error.filename}: {reason}"
        report(f"smp: error: {printable(reason)}")
        return _ERROR
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
        return _ERROR
    return code


def _checked(argv: list[str] | None) -> int:
    """Run the command line, and report the errors that users can correct."""
    try:
        return _called(argv)
    except Failure as failure:
        failure.show()
    except OutputError as error:
        report(f"smp: error: {printable(str(error))}")
        # The interpreter would write what is left when it ends, and fail once more. It
        # does not end where a caller gave the arguments.
        if argv is None:
            _send_nowhere(_STDOUT)
    except RecursionError:
        Failure(DepthError("a document is nested too deeply")).show()
    except SmpError as error:
        Failure(error).show()
    return _ERROR


def _called(argv: list[str] | None) -> int:
    parsed = parse(sys.argv[1:] if argv is None else argv)
    # Loading click takes as long as a small command.
    if parsed is None:
        code: int = import_module("smp.cli._group").run(argv)
        return code
    try:
        return parsed.command.call(parsed.values)
    except UsageError as error:
        import_module("smp.cli._group").show_usage_error(parsed.name, str(error))
        return _ERROR


def closed_pipe() -> int:
    """Send the rest of the output nowhere, and return the exit code."""
    _send_nowhere(_STDOUT, _STDERR)
    return _BROKEN_PIPE


def _send_nowhere(*streams: int) -> None:
    """Drop what is left in streams.

    The interpreter flushes its streams when it ends, and reports what fails then.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream)
