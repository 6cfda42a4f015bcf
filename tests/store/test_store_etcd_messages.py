"""The messages of etcd, encoded as protobuf has them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.server.store import _messages as messages
from smp.server.store._messages import (
    Compare,
    Header,
    KeyValue,
    PutRequest,
    RangeResponse,
    RequestOp,
    TxnRequest,
    WatchEvent,
    WatchResponse,
    decode,
    encode,
)

# The encodings are those of protobuf's encoding guide: tag, length, content.
EXAMPLES: Final[Sequence[tuple[msgspec.Struct, str]]] = (
    (Header(150), "18 9601"),
    (PutRequest(b"k", b"v"), "0a 01 6b 12 01 76"),
    # What is compared is sent even where it is 0, and the comparison EQUAL is not.
    (Compare(messages.MOD, b"k", mod_revision=0), "10 02 1a 01 6b 30 00"),
    (
        TxnRequest(
            compare=[Compare(messages.VERSION, b"k", version=3)],
            success=[RequestOp(request_put=PutRequest(b"k"))],
        ),
        "0a 05 1a 01 6b 20 03  12 05 12 03 0a 01 6b",
    ),
    (WatchResponse(created=True, cancel_reason="x"), "0a 00 18 01 32 01 78"),
)


@pytest.mark.parametrize(("message", "expected"), EXAMPLES)
def test_a_message_is_encoded_as_protobuf_has_it(
    message: msgspec.Struct, expected: str
) -> None:
    assert encode(message) == bytes.fromhex(expected)


numbers = st.integers(0, 2**63 - 1)
key_values = st.builds(KeyValue, st.binary(), numbers, numbers, st.binary())
events = st.builds(WatchEvent, st.integers(0, 1), key_values, st.none() | key_values)


@given(st.builds(Header, numbers), st.lists(key_values), numbers)
def test_a_decoded_range_is_the_encoded_one(
    header: Header, kvs: list[KeyValue], count: int
) -> None:
    message = RangeResponse(header, kvs, count)
    # An empty list is not sent, and is the default.
    assert decode(RangeResponse, encode(message)) == RangeResponse(
        header, kvs or (), count
    )


@given(st.lists(events, min_size=1))
def test_decoded_events_are_the_encoded_ones(changes: list[WatchEvent]) -> None:
    message = WatchResponse(events=changes)
    assert decode(WatchResponse, encode(message)) == message


def test_unknown_fields_are_skipped() -> None:
    # A varint, 8 bytes, 4 bytes and a text, with numbers that a Header does not have.
    unknown = "78 01  79 0000000000000000  7d 00000000  7a 02 6162"
    assert decode(Header, bytes.fromhex(unknown + "18 07")) == Header(7)


@given(st.binary())
def test_what_is_no_message_raises_no_other_error(data: bytes) -> None:
    with suppress(ValueError):
        decode(WatchResponse, data)


@pytest.mark.parametrize(
    "data", ["18", "18ff", "1a0100", "0a05", "0801", "0b", "18" + "ff" * 10 + "01"]
)
def test_a_broken_message_is_a_value_error(data: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(RangeResponse if data == "0801" else Header, bytes.fromhex(data))
