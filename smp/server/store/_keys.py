"""Keys as bytes, in UTF-8: the order of its bytes is the order of code points."""

from __future__ import annotations


def encode(key: str) -> bytes:
    """Encode any text, even one with lone surrogates, which JSON can escape."""
    return key.encode("utf-8", "surrogatepass")


def decode(key: bytes) -> str:
    """Decode what ``encode`` returned."""
    return key.decode("utf-8", "surrogatepass")


def following(key: bytes) -> bytes:
    """Return the smallest key that is greater than a key."""
    return key + b"\0"


def key_range(prefix: str, after: str = "") -> tuple[bytes, bytes]:
    """Return the range of the keys with a prefix that come after a key.

    The range includes its start and excludes its end.
    """
    start = encode(prefix)
    end = start + b"\xff"  # greater than any key with the prefix: no UTF-8 has 0xff
    if after:
        start = max(start, following(encode(after)))
    return start, end
