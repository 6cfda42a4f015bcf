"""The command ``smp``: a thin layer over the library. Parse, run one operation, print."""

import gc
import sys
from importlib import import_module

from smp import __version__

# typing's own costs as much to import as all that `smp --version` needs
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code.

    2 is an error, 130 an interrupt, 141 a reader of the output that went away; the
    commands say what else they answer.
    """
    if list(sys.argv[1:] if argv is None else argv) == ["--version"]:
        try:
            print(f"smp {__version__}", flush=True)
        # nobody reads, which the long way knows to handle
        except (AttributeError, OSError):
            pass
        else:
            return 0
    code: int = import_module("smp.cli._main").main(argv)
    # the process is ours, and at its end: looking for garbage in it would take a tenth
    # of its time
    if argv is None:
        gc.freeze()
    return code
