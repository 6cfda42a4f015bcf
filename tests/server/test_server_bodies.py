"""What the bodies of requests may have that other readers of JSON refuse."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values import codec
from smp.server.endpoints.bodies import drop_lone_surrogates


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"x\udc00y"', "x\ufffdy"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\\ud800"', "\\ud800"),
        (rb'"\\\ud800"', "\\\ufffd"),
    ],
)
def test_a_surrogate_without_its_pair_is_replaced(text: bytes, read: str) -> None:
    assert codec.decode(drop_lone_surrogates(text)) == read


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_of_python_is_read(text: str) -> None:
    sent = json.dumps(text).encode()
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert codec.decode(drop_lone_surrogates(sent)) == whole
