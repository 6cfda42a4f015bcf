"""A pager for what a command prints on a terminal, as git has it.

Go through what is printed screen by screen: the pager reads it from a pipe that takes
the place of standard output, and of standard error where that is the terminal too. So
no command has to know of it. The pager of the environment (PAGER) is started by a
shell; none is where it is empty or ``cat``.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size, which
from typing import Final

from smp.cli._outputs import PAGER_IN_USE

_DEFAULT: Final = "less"
# What less and lv do, unless the environment says it: end where all is on one screen,
# show colours, and leave the screen as it is.
_ENVIRONMENT: Final = {"LESS": "FRX", "LV": "-c"}
_STDOUT: Final = 1
_STDERR: Final = 2


@contextmanager
def paging() -> Iterator[None]:
    """Have a pager show what is written meanwhile, where there is one.

    Raises BrokenPipeError where its user left it before the end.
    """
    command = os.environ.get("PAGER", _DEFAULT).strip()
    program = shlex.split(command)[:1]
    if program in ([], ["cat"]) or which(program[0]) is None:
        yield
        return
    # Below it, the terminal has no size, and shows no colours.
    os.environ.setdefault("COLUMNS", str(get_terminal_size().columns))
    os.environ[PAGER_IN_USE] = "1"
    end, beginning = os.pipe()
    pager = subprocess.Popen(  # noqa: S602  # the user's own, as git starts it
        command, shell=True, stdin=end, env=_ENVIRONMENT | os.environ
    )
    os.close(end)
    replaced = [each for each in (_STDOUT, _STDERR) if os.isatty(each)]
    terminals = [os.dup(each) for each in replaced]
    for each in replaced:
        os.dup2(beginning, each)
    os.close(beginning)
    # An interrupt ends the command, and the pager shows what there is until it is left.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
        sys.stdout.flush()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # The end of what the pager reads.
        for each, terminal in zip(replaced, terminals, strict=True):
            os.dup2(terminal, each)
        pager.wait()
