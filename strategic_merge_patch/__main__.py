"""``python -m strategic_merge_patch`` is the command ``smp``."""

import sys

from strategic_merge_patch import main

if __name__ == "__main__":
    sys.exit(main())
