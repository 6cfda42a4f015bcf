"""The command ``smp``: a thin layer over the library. Parse, run one operation, print."""

from smp.cli._main import cli, main

__all__ = ["cli", "main"]
