"""The headers of requests, as ASGI has them: names in lower case, and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def read_header(scope: Mapping[str, Any], name: bytes) -> str:
    """Return the first value of a header; empty where the request has none.

    This is for the headers that every request is asked for: starlette's Headers, which
    encode the name and compare it without regard to case, take ten times as long.
    """
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""
