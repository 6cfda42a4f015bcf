"""The command ``smp``, a layer over the library: parse, run one operation, print."""

from smp.cli._entry import main, main_diff

__all__ = ["main", "main_diff"]
