"""A JSON value that was left undecoded: bytes, known to be one value.

To an engine it is a scalar: equal to another of the same bytes, and printed as it is.
Only ``smp.wire`` makes such values; what is decoded as a whole has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

__all__ = ["RawJSON"]

# At run time this is msgspec.Raw, which msgspec makes and prints without a copy. The
# type checker sees an opaque class instead: msgspec.Raw is a buffer of bytes to it, and
# code that took a JSON value for one would pass.
if TYPE_CHECKING:

    class RawJSON:
        """Opaque: it has to be decoded before its content can be read."""

else:
    RawJSON = msgspec.Raw
