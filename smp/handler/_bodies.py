"""The body of a request: its size, its JSON, its depth, and the fields that it has
twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import chain, islice, repeat
from typing import Final, ParamSpec, TypeVar

import msgspec

from smp import codec
from smp.errors import DepthError
from smp.handler._options import Limits
from smp.handler._refusals import TooLargeError
from smp.values import JSON, as_list

P = ParamSpec("P")
R = TypeVar("R")

# fields a request is told of, as an API server (sigs.k8s.io/json)
MAX_REPORTED: Final = 100


def decode(body: bytes, limits: Limits) -> JSON:
    """Parse a body. Raises TooLargeError, DocumentError for what is not JSON in UTF-8,
    and DepthError.
    """
    if len(body) > limits.body:
        raise TooLargeError(f"limit is {limits.body}")
    value = codec.decode(body)
    if body.count(b"{") + body.count(b"[") > limits.depth:
        check_depth(value, limits)
    return value


def bounded(step: Callable[P, R]) -> Callable[P, R]:
    """Turn the interpreter's stack limit into a DepthError."""

    @wraps(step)
    def within_bounds(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return step(*args, **kwargs)
        except RecursionError:
            raise DepthError("the object is nested too deeply") from None

    return within_bounds


def check_depth(value: JSON, limits: Limits, old: JSON = None) -> None:
    """Refuse a value that is nested too deeply; what the old value has at the same
    place is taken for granted.

    Raises DepthError.
    """
    level = [(value, old)]
    for _ in range(limits.depth):
        level = [pair for outer, before in level for pair in _parts(outer, before)]
        if not level:
            return
    raise DepthError(f"the document is nested more than {limits.depth} levels deep")


def _parts(value: JSON, old: JSON) -> Iterator[tuple[JSON, JSON]]:
    pairs: Iterable[tuple[JSON, JSON]] = ()
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        pairs = ((part, before.get(name)) for name, part in value.items())
    elif isinstance(value, list):
        pairs = zip(value, chain(as_list(old), repeat(None)), strict=False)
    return (
        (part, was)
        for part, was in pairs
        if isinstance(part, dict | list) and part is not was
    )


class _Members(list[tuple[str, JSON]]):
    """An object as it is written: with what it says twice."""


def duplicate_fields(body: bytes, value: JSON) -> list[str]:
    """Return the paths of the fields that a body, which says this value, has twice; the
    last one counts.

    Go: sigs.k8s.io/json, UnmarshalStrict.
    """
    # What is written back as it was read has lost nothing.
    if msgspec.json.encode(value) == msgspec.json.format(body, indent=-1):
        return []
    found = _repeated(json.loads(body, object_pairs_hook=_Members), "")
    return list(dict.fromkeys(islice(found, MAX_REPORTED)))


def _repeated(value: object, path: str) -> Iterator[str]:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for name, member in value:
            below = f"{path}.{name}" if path else name
            if name in seen:
                yield below
            seen.add(name)
            yield from _repeated(member, below)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _repeated(element, f"{path}[{index}]")
