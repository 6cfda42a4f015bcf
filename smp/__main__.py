"""``python -m smp`` is the command ``smp``."""

import sys

from smp.cli import main

if __name__ == "__main__":
    sys.exit(main())
