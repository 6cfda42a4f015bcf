"""The verbs of the handler: PATCH, PUT and POST.

These functions are not compiled, so that an argument of a wrong type is an error of
this library and not a TypeError; what they call is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from smp.codec import Text, as_bytes
from smp.errors import too_deep
from smp.handler._options import DEFAULT, Options
from smp.handler._pipeline import create_outcome, patch_outcome, replace_outcome
from smp.handler._status import Outcome
from smp.plain import as_plain_object
from smp.schema.model import Schema
from smp.stack import require_stack
from smp.values import NotPlainError

Stored: TypeAlias = bytes | bytearray | memoryview | Mapping[str, Any]


def patch(
    stored: Stored | None,
    body: Text,
    media_type: str | None,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Patch a stored object; an apply creates it where there is none (None).

    ``media_type`` is the Content-Type of the body, None where a request has none;
    ``schema`` is that of the stored object. Without a schema (None: a kind that is not
    described) strategic merge patches are not accepted, and only what all objects share
    is checked. Raises DocumentError and ObjectError where the stored object is not one,
    and what a hook raises other than a SmpError; everything else is an outcome.
    """
    format_ = "" if media_type is None else media_type
    data = as_bytes(body)

    def outcome(old: object) -> Outcome:
        return patch_outcome(old, data, format_, schema, options)

    return _of_plain(outcome, stored)


def replace(
    stored: Stored,
    body: Text,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Replace a stored object (PUT). Raises as ``patch`` does."""
    data = as_bytes(body)

    def outcome(old: object) -> Outcome:
        return replace_outcome(old, data, schema, options)

    return _of_plain(outcome, stored)


def create(body: Text, schema: Schema | None, options: Options = DEFAULT) -> Outcome:
    """Create an object (POST). Raises as ``patch`` does.

    Its name, and what a server adds to it, are the caller's.
    """
    return create_outcome(as_bytes(body), schema, options)


def _of_plain(outcome: Callable[[object], Outcome], stored: Stored | None) -> Outcome:
    """Return an outcome, of a stored object that may not be plain JSON."""
    if stored is None:
        return outcome(None)
    if isinstance(stored, bytes | bytearray | memoryview):
        return outcome(as_bytes(stored))
    try:
        require_stack(stored)
    except RecursionError:
        raise too_deep("the stored object") from None
    try:
        return outcome(stored)
    except (NotPlainError, TypeError):
        # Compiled code raises TypeError for a name that is not a string.
        old = as_plain_object("the stored object", stored)
        if old is stored:
            raise
        return outcome(old)
