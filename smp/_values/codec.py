"""JSON text to values and back, as an API server reads and writes it.

The text is UTF-8; the last of two equal keys wins; integers of any size stay integers;
NaN, Infinity and numbers beyond a double are errors.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from smp._values.stack import require_stack, require_stack_to_parse
from smp._values.values import JSON, JSONObject, type_name
from smp.errors import DocumentError, ObjectError, too_deep

# Within these, Go prints a double without an exponent.
_SMALL: Final = 1e-6
_LARGE: Final = 1e21

Text: TypeAlias = bytes | bytearray | memoryview | str


def as_bytes(data: Text) -> bytes:
    """Return the bytes of a JSON text.

    Raises DocumentError (``invalid-json``) for another argument, DepthError for nesting
    beyond the stack of this thread.
    """
    if isinstance(data, str):
        try:
            text = data.encode()
        except UnicodeEncodeError as error:
            raise _not_json(error) from None
    elif isinstance(data, bytes | bytearray | memoryview):
        text = bytes(data)
    else:
        raise _not_json(f"a text or bytes are expected, not {type_name(data)}")
    try:
        require_stack_to_parse(text)
    except RecursionError:
        raise too_deep("the document") from None
    return text


def decode(data: Text) -> JSON:
    """Parse JSON.

    Raises DocumentError (``invalid-json``) for anything else, DepthError for nesting
    beyond the interpreter's stack.
    """
    try:
        value: JSON = msgspec.json.decode(as_bytes(data))
    except RecursionError:
        raise too_deep("the document") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise _not_json(error) from None
    return value


def _not_json(reason: object) -> DocumentError:
    return DocumentError(f"not JSON: {reason}", code="invalid-json")


def decode_object(data: Text) -> JSONObject:
    """Parse the JSON of an object.

    Raises ObjectError for another value, and what ``decode`` raises.
    """
    value = decode(data)
    if isinstance(value, dict):
        return value
    raise ObjectError(
        f"an object is expected, not {type_name(value)}", code="not-an-object"
    )


def encode(value: object) -> bytes:
    """Print a value as compact JSON, keys in their order.

    Raises DocumentError (``not-json``) for a value that is not JSON, DepthError for
    nesting beyond the interpreter's stack.
    """
    try:
        require_stack(value)
        return msgspec.json.encode(value)
    except RecursionError:
        raise too_deep("the value") from None
    except (TypeError, ValueError) as error:
        raise DocumentError(
            f"not expressible in JSON: {error}", code="not-json"
        ) from None


def print_double(value: float) -> str:
    """Print a finite double: 1.0 as 1 (Go: encoding/json, floatEncoder)."""
    text = repr(value)
    if value and not _SMALL <= abs(value) < _LARGE:
        # An exponent has no leading zeros, but for one that is positive a sign.
        return text.replace("e-0", "e-")
    return f"{Decimal(text):f}".removesuffix(".0")
