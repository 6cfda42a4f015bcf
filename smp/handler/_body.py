"""The body of a request: its size, its JSON, and the fields that it has twice."""

from __future__ import annotations

import json
from typing import Final

import msgspec

from smp._values import codec
from smp._values.values import JSON, MAX_LEVELS
from smp.errors import DepthError
from smp.handler._options import Limits
from smp.handler._shape import is_deeper
from smp.handler._status import TooLargeError

# Go: sigs.k8s.io/json, UnmarshalStrict: the strict errors that a decoder collects.
MAX_REPORTED: Final = 100


def decode(body: bytes, limits: Limits) -> JSON:
    """Parse a body.

    Raises TooLargeError, DocumentError for what is not JSON in UTF-8, and DepthError.
    """
    if len(body) > limits.body:
        raise TooLargeError(f"limit is {limits.body}")
    value = codec.decode(body)
    # A document has at least one bracket a level, and counting them costs little.
    if body.count(b"{") + body.count(b"[") > limits.depth:
        check_depth(value, limits)
    return value


def check_depth(value: JSON, limits: Limits, old: JSON = None) -> None:
    """Raise DepthError for a value that is nested too deeply.

    What it shares with the old value, at the same place, was accepted before.
    """
    most = min(limits.depth, MAX_LEVELS)
    if is_deeper(value, old, most):
        raise DepthError(f"the document is nested more than {most} levels deep")


class _Pairs(list[tuple[str, JSON]]):
    """The members of an object as they are written: with those that come twice."""


def duplicate_fields(body: bytes, value: JSON) -> list[str]:
    """Return the paths of the fields that a body has twice; the last one counts.

    ``value`` is what the body decodes to. Go: sigs.k8s.io/json, UnmarshalStrict.
    """
    # If the value, printed, is the body again, then no key was a duplicate. Most bodies
    # are compact, and need not be printed themselves.
    printed = msgspec.json.encode(value)
    if printed == body or printed == msgspec.json.format(body, indent=-1):
        return []
    duplicates: dict[str, None] = {}
    _collect_duplicates(json.loads(body, object_pairs_hook=_Pairs), "", duplicates)
    return list(duplicates)[:MAX_REPORTED]


def _collect_duplicates(value: object, path: str, duplicates: dict[str, None]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, member in value:
            below = f"{path}.{name}" if path else name
            if name in seen:
                duplicates[below] = None
            seen.add(name)
            _collect_duplicates(member, below, duplicates)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            _collect_duplicates(element, f"{path}[{index}]", duplicates)
