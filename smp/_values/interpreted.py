"""What the compiled modules need that has to stay interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_attributes: bool) -> Any:
        """Return a decorator that mypyc reads, and that does nothing.

        mypyc knows it by its name in mypy_extensions, which no user needs to install.
        """
        return lambda decorated: decorated


__all__ = ["mypyc_attr", "offer_turn"]


def offer_turn() -> None:
    """Let another thread run, if one waits: see ``smp._values.steps``.

    There is nothing to do for that: at the start of a function of Python the
    interpreter looks whether a thread waits for its lock, and whether this one is to
    be ended. Compiled functions begin without such a look.
    """
