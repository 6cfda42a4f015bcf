"""Steps of compiled loops, which are counted so that other threads get their turns.

The loop of the interpreter gives its lock to another thread that waits for it. Compiled
code has no such loop: walking along an object of a million values, it would keep all
other threads waiting, and with them the event loop of a server. So what is compiled,
and goes through values that a client may make as large as it likes, counts its steps.
After so many of them a function is called that is not compiled, and at its start the
interpreter looks.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.interpreted import offer_turn

# Fewer than a millisecond of any loop, and so many that the look costs nothing.
_TURN: Final = 1000


class _Count:
    """The steps that are left until the next look, of all threads together."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _TURN


_count: Final = _Count()


def count_steps(number: int) -> None:
    """Count steps that are about to be taken, such as the members of an object."""
    _count.left -= number
    if _count.left < 0:
        _count.left = _TURN
        offer_turn()
