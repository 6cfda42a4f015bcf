"""The function of compiled loops that has to stay interpreted: see ``smp.steps``."""


def offer_turn() -> None:
    """Let another thread run, if one waits.

    There is nothing to do for that: at the start of a function of Python the
    interpreter looks whether a thread waits for its lock, and whether this one is to
    be ended. Compiled functions begin without such a look.
    """
