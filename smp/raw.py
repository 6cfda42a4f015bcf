"""A JSON value that was left undecoded: bytes, known to be one value.

To an engine it is a scalar: equal to another of the same bytes, and printed as it is.
Only ``smp.wire`` makes such values; what is decoded as a whole has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

__all__ = ["RawJSON"]

# At run time this is msgspec.Raw, which msgspec makes, and prints, without a copy. To
# the type checker that is a subclass of bytes, which it is not. So it sees this class
# instead, with what msgspec.Raw really offers: a length and its bytes.
if TYPE_CHECKING:

    class RawJSON:
        """Opaque: it has to be decoded before its content can be read."""

        def __len__(self) -> int: ...

        def __buffer__(self, flags: int, /) -> memoryview: ...

else:
    RawJSON = msgspec.Raw
