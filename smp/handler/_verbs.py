"""The verbs of the handler: PATCH, PUT and POST.

These functions are not compiled, so that an argument of a wrong type is an error of
this library and not a TypeError; what they call is.
"""

from __future__ import annotations

from smp.handler._options import DEFAULT, Options
from smp.handler._pipeline import create_outcome, patch_outcome, replace_outcome
from smp.handler._status import Outcome
from smp.schema.model import Schema
from smp.values import JSONObject


def patch(
    stored: bytes | JSONObject,
    body: bytes,
    media_type: str,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Patch a stored object.

    ``media_type`` is the Content-Type of the body, ``schema`` that of the stored
    object. Without a schema (None: a kind that is not described) strategic merge
    patches are not accepted, and only what all objects share is checked. Raises
    DocumentError and ObjectError where the stored object is not one, and what a hook
    raises other than a SmpError; everything else is an outcome.
    """
    return patch_outcome(stored, body, media_type, schema, options)


def replace(
    stored: bytes | JSONObject,
    body: bytes,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Replace a stored object (PUT). Raises as ``patch`` does."""
    return replace_outcome(stored, body, schema, options)


def create(body: bytes, schema: Schema | None, options: Options = DEFAULT) -> Outcome:
    """Create an object (POST). Raises as ``patch`` does.

    Its name, and what a server adds to it, are the caller's.
    """
    return create_outcome(body, schema, options)
