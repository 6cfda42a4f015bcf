"""Keys as bytes: UTF-8, in which the order of the bytes is the order of the code
points.
"""

from __future__ import annotations


def encoded(key: str) -> bytes:
    """Write any text, even one with lone surrogates."""
    return key.encode("utf-8", "surrogatepass")


def decoded(key: bytes) -> str:
    """Read what ``encoded`` wrote."""
    return key.decode("utf-8", "surrogatepass")


def following(key: bytes) -> bytes:
    """Return the very next key."""
    return key + b"\0"


def key_range(prefix: str, after: str = "") -> tuple[bytes, bytes]:
    """Return the first key with a prefix that comes after a key, and the end: no UTF-8
    has the byte 0xff.
    """
    start = encoded(prefix)
    return max(start, following(encoded(after))) if after else start, start + b"\xff"
