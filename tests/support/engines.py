"""The operations over dicts and over bytes, which have to have one answer.

Over bytes each runs twice: with the thresholds that the engine has, and decoding lazily
wherever it can, which is otherwise done for long documents only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Final
from unittest import mock

from smp import _strategic as strategic
from smp import wire
from smp._strategic import Precondition
from smp._values.values import JSON, JSONObject, same
from smp.errors import SmpError
from smp.schema.model import Schema
from smp.wire import _lazy as lazy

THRESHOLDS: Final = (
    "_MIN_RATIO",
    "_MIN_DOCUMENT",
    "_MIN_TWO_LEVELS",
    "_MIN_VALUE",
    "_MIN_MEMBER",
)


def apply_patch(original: JSONObject, patch: JSONObject, schema: Schema) -> JSONObject:
    """Apply a patch, in all ways."""
    return agreed(
        lambda: strategic.apply_patch(original, patch, schema),
        lambda: wire.apply_patch(spaced(original), compact(patch), schema),
    )


def two_way_patch(
    original: JSONObject, modified: JSONObject, schema: Schema
) -> JSONObject:
    """Compute a two-way patch, in all ways."""
    return agreed(
        lambda: strategic.two_way_patch(original, modified, schema),
        lambda: wire.two_way_patch(compact(original), compact(modified), schema),
    )


def three_way_patch(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    overwrite: bool = True,
    preconditions: Iterable[Precondition] = (),
) -> JSONObject:
    """Compute a three-way patch, in all ways.

    With preconditions over dicts only: the functions over bytes take none.
    """

    def over_dicts() -> JSONObject:
        return strategic.three_way_patch(
            last_applied,
            modified,
            live,
            schema,
            overwrite=overwrite,
            preconditions=preconditions,
        )

    if preconditions:
        return over_dicts()
    base = None if last_applied is None else compact(last_applied)
    return agreed(
        over_dicts,
        lambda: wire.three_way_patch(
            base, compact(modified), compact(live), schema, overwrite=overwrite
        ),
    )


def agreed(
    over_dicts: Callable[[], JSONObject], over_bytes: Callable[[], bytes]
) -> JSONObject:
    """Return the answer over dicts, or raise its error.

    Asserts that the answers over bytes are the same.
    """
    expected = outcome(over_dicts)
    with_thresholds = outcome(lambda: json.loads(over_bytes()))
    with ExitStack() as patched:
        for name in THRESHOLDS:
            patched.enter_context(mock.patch.object(lazy, name, 0))
        all_lazy = outcome(lambda: json.loads(over_bytes()))
    assert same(with_thresholds, expected), (with_thresholds, expected)
    assert same(all_lazy, expected), (all_lazy, expected)
    return over_dicts()


def outcome(operation: Callable[[], JSONObject]) -> dict[str, Any]:
    """Return a result, or all of an error."""
    try:
        return {"result": operation()}
    except SmpError as error:
        return {
            "error": type(error).__name__,
            "code": error.code,
            "status": error.status,
            "path": error.path.pointer,
            "message": str(error),
        }


def compact(value: JSON) -> bytes:
    """Print a value without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def spaced(value: JSON) -> bytes:
    """Print a value on several lines, without escapes of characters."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode()
