"""Interrupts while output is written: it ends after an object, as it ends otherwise.

So it does where the process is told to end (SIGTERM), as the kubelet does with Pods.
The processes that compute with this one end with it, for whatever reason it does.
"""

from __future__ import annotations

# The module signal would first load enum.
import _signal  # type: ignore[import-not-found]  # without stubs
import os
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import Final, Self

_SIGNALS: Final = (_signal.SIGINT, _signal.SIGTERM)
# The kubelet sends SIGKILL after 30 seconds.
_PATIENCE: Final = 10
# Linux, linux/prctl.h.
_PR_SET_PDEATHSIG: Final = 1


class _Handled:
    """A part of the run in which an interrupt is handled by ``_handle``.

    That is where an interrupt would end the process at once; a program that calls the
    command keeps its own handler.
    """

    def __init__(self) -> None:
        self._handled: list[int] = []

    def __enter__(self) -> Self:
        # Python lets no other thread handle signals.
        is_main = current_thread() is main_thread()
        for number in _SIGNALS if is_main else ():
            if _signal.getsignal(number) == _signal.SIG_DFL:
                _signal.signal(number, self._handle)
                self._handled.append(number)
        return self

    def __exit__(self, *_error: object) -> None:
        for number in self._handled:
            _signal.signal(number, _signal.SIG_DFL)

    def _handle(self, number: int, _frame: object) -> None:
        raise NotImplementedError


class Interruption(_Handled):
    """A part of the run that an interrupt ends at a place that the part chooses.

    ``is_requested`` tells whether there was one. A second one ends the process at once,
    and the first one does at the end of the part. What waits for input comes to none:
    SIGTERM, of which there is one only, ends it after ``_PATIENCE`` seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self._requested = 0

    @property
    def is_requested(self) -> bool:
        """Whether the part is to end."""
        return self._requested != 0

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self.is_requested:
            _signal.raise_signal(self._requested)

    def _handle(self, number: int, _frame: object) -> None:
        if self.is_requested:
            _signal.signal(self._requested, _signal.SIG_DFL)
            _signal.raise_signal(self._requested)
        self._requested = number
        # Windows has no alarms.
        if number == _signal.SIGTERM and hasattr(_signal, "alarm"):
            _signal.signal(_signal.SIGALRM, self._handle)
            _signal.alarm(_PATIENCE)


class InterruptNotice(_Handled):
    """A part of the run in which an interrupt is answered before it ends the process.

    ``say`` tells what was done so far.
    """

    def __init__(self, say: Callable[[], None]) -> None:
        super().__init__()
        self._say = say

    def _handle(self, number: int, _frame: object) -> None:
        _signal.signal(number, _signal.SIG_DFL)
        self._say()
        _signal.raise_signal(number)


def follow_parent(parent: int) -> None:
    """Leave interrupts to the process that forked this one, and end where it ends.

    ``parent`` is the number of that process.
    """
    import ctypes  # noqa: PLC0415  # 2 ms; only large inputs need processes

    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    # A pool ends the others by it where one of them has ended.
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    # It would wait for more work for ever. Processes are forked on Linux alone.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
    if os.getppid() != parent:
        # It has ended before this process asked for the signal.
        _signal.raise_signal(_signal.SIGKILL)
