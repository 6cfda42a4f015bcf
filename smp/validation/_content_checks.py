"""The rules about texts that have a content of their own: JSON, PEM.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import binascii
from typing import Final

from smp._values.codec import decode
from smp._values.values import as_object, as_text
from smp.errors import SmpError
from smp.paths import Key
from smp.validation._judged import Judged

_REQUEST: Final = b"-----BEGIN CERTIFICATE REQUEST-----"


def _decode(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError):
        return b""


def json_secret(judged: Judged) -> None:
    """Require JSON under ``key`` of the data (Go: core ValidateSecret)."""
    key = judged.row.key
    data = as_object(judged.value)
    if key not in data:
        return
    text = _decode(as_text(data[key]))
    try:
        decode(text)
    except SmpError:
        message = "unexpected end of JSON input"
        if text.strip():
            first = text.strip().decode(errors="replace")[0]
            message = f"invalid character '{first}' looking for beginning of value"
        judged.invalid("<secret contents redacted>", message, Key(key))


def certificate_request(judged: Judged) -> None:
    """Require a request in PEM (Go: certificates ParseCSR)."""
    text = as_text(judged.value)
    if _REQUEST not in _decode(text):
        judged.invalid(text, judged.row.message)
