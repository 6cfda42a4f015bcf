"""A JSON value that is left undecoded: bytes that were checked to be one value.

The engine treats it as a scalar: equal to another one with the same bytes, and printed
without change. Only ``smp.wire`` creates such values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

__all__ = ["RawJSON"]

# At run time this is msgspec.Raw, which msgspec decodes and encodes without a copy. The
# stubs of msgspec declare it as a subclass of bytes, which it is not. So the type
# checker sees this class instead, with what msgspec.Raw has: a length and a buffer.
if TYPE_CHECKING:

    class RawJSON:
        """Opaque: it has to be decoded before its content can be read."""

        def __len__(self) -> int: ...

        def __buffer__(self, flags: int, /) -> memoryview: ...

else:
    RawJSON = msgspec.Raw
