"""The command ``smp``, a layer over the library: parse, run one operation, print."""

from smp.cli._entry import main

__all__ = ["main"]
