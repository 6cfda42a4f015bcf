"""A line on a terminal that says how far a command is, and is replaced or removed."""

from __future__ import annotations

import sys
from typing import Final

from smp.cli._errors import printable, report

# ECMA-48, EL: erase the line.
_ERASED: Final = "\r\x1b[K"


class StatusLine:
    """A line on standard error; it is shown where that is a terminal only."""

    def __init__(self) -> None:
        # It is None where the caller closed it.
        self.is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = False

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self.is_terminal:
            report(f"{_ERASED}{printable(text)}", end="")
            self._is_shown = True

    def clear(self) -> None:
        """Remove the line, so that other lines can be printed."""
        if self._is_shown:
            report(_ERASED, end="")
            self._is_shown = False
