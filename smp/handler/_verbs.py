"""The verbs of the handler: PATCH, PUT and POST.

These functions are not compiled, so that an argument of a wrong type is an error of
this library and not a TypeError; what they call is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from smp._values.codec import Text, as_bytes
from smp._values.plain import as_plain_object, not_an_object
from smp._values.stack import require_stack
from smp._values.values import NotPlainError
from smp.errors import not_a_schema, too_deep
from smp.handler._options import DEFAULT, Options
from smp.handler._pipeline import respond
from smp.handler._request import COMMON, ObjectRequest
from smp.handler._status import Outcome
from smp.schema.model import Schema

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
    request = ObjectRequest(
        as_bytes(body),
        _require_schema(schema),
        options,
        is_patch=True,
        media_type="" if media_type is None else media_type,
    )
    return _respond(request, stored)


def replace(
    stored: Stored, body: Text, schema: Schema | None, options: Options = DEFAULT
) -> Outcome:
    """Replace a stored object (PUT). Raises as ``patch`` does."""
    if stored is None:
        raise not_an_object("the stored object", stored)
    request = ObjectRequest(as_bytes(body), _require_schema(schema), options)
    return _respond(request, stored)


def create(body: Text, schema: Schema | None, options: Options = DEFAULT) -> Outcome:
    """Create an object (POST). Raises as ``patch`` does.

    Its name, and what a server adds to it, are the caller's.
    """
    request = ObjectRequest(as_bytes(body), _require_schema(schema), options)
    return respond(request, None)


def _require_schema(schema: Schema | None) -> Schema:
    """Return the schema of a request; without one, that of what all objects share."""
    if schema is None:
        return COMMON
    if not isinstance(schema, Schema):
        raise not_a_schema(schema)
    return schema


def _respond(request: ObjectRequest, stored: Stored | None) -> Outcome:
    """Respond to a request about a stored object that may not be plain JSON."""
    if stored is None:
        return respond(request, None)
    if isinstance(stored, bytes | bytearray | memoryview):
        return respond(request, as_bytes(stored))
    try:
        require_stack(stored)
    except RecursionError:
        raise too_deep("the stored object") from None
    try:
        return respond(request, stored)
    except (NotPlainError, TypeError):
        # Compiled code raises TypeError for a name that is not a string.
        old = as_plain_object("the stored object", stored)
        if old is stored:
            raise
        return respond(request, old)
