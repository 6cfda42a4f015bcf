"""The commands ``smp``, ``smp-diff`` and ``kubectl-smp``, as their scripts call them.

The library is imported as ``smp``. Another distribution has a package of that name as
well, so the commands begin in this one, whose name is that of our distribution alone,
and look which ``smp`` there is before they run it.
"""

from strategic_merge_patch._command import main, main_diff

__all__ = ["main", "main_diff"]
