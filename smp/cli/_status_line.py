"""A line on a terminal that says how far a command is, and is replaced or removed."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Final

from smp.cli._errors import printable, report

# ECMA-48, EL: erase the line.
_ERASED: Final = "\r\x1b[K"
# After so many seconds a terminal shows how far a run is, and then so often.
_PATIENCE: Final = 2.0
_INTERVAL: Final = 0.2
_MINUTE: Final = 60
_HOUR: Final = 3600


class StatusLine:
    """A line on standard error; it is shown where that is a terminal only."""

    def __init__(self) -> None:
        # It is None where the caller closed it.
        self.is_terminal: bool = sys.stderr is not None and sys.stderr.isatty()
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


class RunProgress(StatusLine):
    """How far a run is, only where it takes long: objects, their rate, what remains."""

    def __init__(self, *, is_wanted: bool) -> None:
        super().__init__()
        self._is_wanted = is_wanted and self.is_terminal
        self._start = monotonic()
        self._next = self._start + _PATIENCE

    def count(self, done: int, total: int | None = None, what: str = "") -> None:
        """Show a number of objects, if it is time for that."""
        if not self._is_wanted or monotonic() < self._next:
            return
        now = monotonic()
        self._next = now + _INTERVAL
        # What is listed while it is computed has no total yet.
        of_total = "" if total is None else f" of {total:,}"
        rate = done / (now - self._start)
        text = f"smp: {what} {done:,}{of_total} objects, {rate:,.0f} a second"
        if total is not None and rate:
            text += f", {_duration((total - done) / rate)} left"
        self.show(" ".join(text.split()))

    def restart(self) -> None:
        """Begin another part of the run, with a rate of its own."""
        self.clear()
        self._start = monotonic()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
