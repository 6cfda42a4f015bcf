"""The engine over bytes: JSON in, JSON out, as a client and a server exchange it."""

from smp._values.codec import encode
from smp.wire._operations import (
    ApplyResult,
    apply_patch,
    decode,
    three_way_apply,
    three_way_patch,
    two_way_patch,
)

__all__ = [
    "ApplyResult",
    "apply_patch",
    "decode",
    "encode",
    "three_way_apply",
    "three_way_patch",
    "two_way_patch",
]
