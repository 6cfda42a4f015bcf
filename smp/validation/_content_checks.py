"""The rules about texts that have a content of their own: JSON, PEM.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import binascii
from types import NoneType
from typing import Final

from smp._values.codec import decode
from smp._values.values import as_object, as_text, type_name
from smp.errors import DocumentError
from smp.paths import Key
from smp.validation._judged import Judged

_REQUEST: Final = b"-----BEGIN CERTIFICATE REQUEST-----"


def _decode(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError):
        return b""


def json_secret(judged: Judged) -> None:
    """Require an object in JSON under ``key`` of the data (Go: core ValidateSecret)."""
    key = judged.row.key
    data = as_object(judged.value)
    if key not in data:
        return
    # Go reads what is not UTF-8 as replacement characters.
    text = _decode(as_text(data[key])).decode(errors="replace")
    problem = ""
    try:
        value = decode(text)
    except DocumentError as error:
        problem = str(error) if text.strip() else "unexpected end of JSON input"
    else:
        if not isinstance(value, dict | NoneType):
            problem = f"an object is expected, not {type_name(value)}"
    if problem:
        judged.invalid("<secret contents redacted>", problem, Key(key))


def certificate_request(judged: Judged) -> None:
    """Require a request in PEM (Go: certificates ParseCSR)."""
    text = as_text(judged.value)
    if _REQUEST not in _decode(text):
        judged.invalid(text, judged.row.message)
