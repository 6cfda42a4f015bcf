"""What is wrong with a body in protobuf."""

from __future__ import annotations

from typing import Final

from smp.errors import SmpError

# What a Status shows of a body at most (Go: handlers/rest.go, summarizeData).
_SHOWN: Final = 30


class ProtobufError(SmpError):
    """Bytes that are not the message that they should be."""

    default_code = "invalid-protobuf"


class ProtobufTooLargeError(SmpError):
    """A message that is longer in JSON than the limit."""

    default_code = "too-large"
    status = 413


def make_truncation_error() -> ProtobufError:
    """Make the error about a message that ends too early (Go: io.ErrUnexpectedEOF)."""
    return ProtobufError("unexpected EOF")


def summarize(body: bytes) -> str:
    """Return how a Status shows a body that is no object (Go: summarizeData)."""
    if not body:
        return "<empty>"
    begin = body[:_SHOWN]
    text = begin.decode(errors="replace") if body.startswith(b"{") else begin.hex()
    return text if len(body) <= _SHOWN else f"{text} ..."
