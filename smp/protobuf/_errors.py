"""What is wrong with a body in protobuf."""

from __future__ import annotations

from smp.errors import SmpError


class ProtobufError(SmpError):
    """Bytes that are not the message that they should be."""

    default_code = "invalid-protobuf"


class ProtobufTooLargeError(SmpError):
    """A message that is longer in JSON than the limit."""

    default_code = "too-large"
    status = 413


def truncated() -> ProtobufError:
    """Make the error about a message that ends too early (Go: io.ErrUnexpectedEOF)."""
    return ProtobufError("unexpected EOF")
