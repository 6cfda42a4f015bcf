"""A JSON value that nobody has decoded: bytes that are known to be one value, and are
printed as they are.

To an engine it is a scalar, equal to one of the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

__all__ = ["RawJSON"]

if TYPE_CHECKING:

    class RawJSON:
        """Opaque to the type checker: whoever wants to look into it has to decode it."""

else:
    RawJSON = msgspec.Raw
