"""The objects of an apply, as hazards and causes look at them.

The numbers are those of the values of ``Sides`` (smp.schema.sides).
"""

from __future__ import annotations

from typing import Final

# What a server makes of the manifest without a live object, and what it made of the
# last-applied configuration.
LIVE: Final = 0
MANIFEST: Final = 1
LAST_APPLIED: Final = 2
RESULT: Final = 3
DEFAULT: Final = 4
FORMER: Final = 5
