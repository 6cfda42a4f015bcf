"""JSON text to values and back, as an API server reads and writes it.

The text is UTF-8; the last of two equal keys wins; integers of any size stay integers;
NaN, Infinity and numbers beyond a double are errors.
"""

from __future__ import annotations

import msgspec

from smp.errors import DepthError, DocumentError, ObjectError
from smp.values import JSON, JSONObject, type_name


def decode(data: bytes | str) -> JSON:
    """Parse JSON.

    Raises DocumentError (``invalid-json``) for anything else, DepthError for nesting
    beyond the interpreter's stack.
    """
    try:
        value: JSON = msgspec.json.decode(data)
    except RecursionError:
        raise DepthError("the document is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DocumentError(f"not JSON: {error}", code="invalid-json") from None
    return value


def decode_object(data: bytes) -> JSONObject:
    """Parse the JSON of an object.

    Raises ObjectError for another value, and what ``decode`` raises.
    """
    value = decode(data)
    if isinstance(value, dict):
        return value
    raise ObjectError(
        f"an object is expected, not {type_name(value)}", code="not-an-object"
    )


def encode(value: JSON) -> bytes:
    """Print a value as compact JSON, keys in their order.

    Raises DocumentError (``not-json``) for a value that is not JSON, DepthError for
    nesting beyond the interpreter's stack.
    """
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        raise DepthError("the value is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise DocumentError(
            f"not expressible in JSON: {error}", code="not-json"
        ) from None
