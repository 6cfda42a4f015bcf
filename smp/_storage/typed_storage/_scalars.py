"""How Go types with a JSON form of their own print what they have read.

Each function returns a value that cannot be read as it is: an API server refuses it.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from typing import Final

from smp._values.values import JSON

# From here on, Go prints a double with an exponent.
_LARGE: Final = 1e21


def octets(value: JSON) -> bytes | None:
    """Return the bytes of a base64 text; None for what is none.

    Line breaks are passed over (Go: encoding/json, []byte).
    """
    if not isinstance(value, str):
        return None
    text = value
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        return None


def base64(value: JSON) -> JSON:
    """Return the base64 of bytes without line breaks (Go: encoding/json, []byte)."""
    content = octets(value)
    if content is None:
        return value
    text = b2a_base64(content, newline=False).decode()
    return value if text == value else text


def double(value: JSON) -> JSON:
    """Return a number as Go prints a double: without a fraction that is zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    try:
        read = float(value)
    except OverflowError:
        return value
    if read.is_integer() and abs(read) < _LARGE:
        whole = int(read)
        return value if type(value) is int and value == whole else whole
    return value if type(value) is float else read
