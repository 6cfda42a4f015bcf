"""The rules about texts that have a content of their own: JSON, PEM.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import binascii
import re
from types import NoneType
from typing import Final

from smp._values.codec import decode
from smp._values.values import as_object, as_text, type_name
from smp.errors import DocumentError
from smp.paths import Key
from smp.validation._judged import Checks, Judged

_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----\n([A-Za-z0-9+/=\s]*)-----END")


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


def check_pem(judged: Judged) -> None:
    """Require blocks in PEM of the kind ``key`` (Go: ParseCSR, validateCertificate)."""
    text, kind = as_text(judged.value), judged.row.key
    blocks = _BLOCK.findall(_decode(text))
    if not blocks or blocks[0][0] != kind.encode():
        judged.invalid(text, judged.row.message)
    elif not all(_is_sequence(_decode(body.decode())) for _, body in blocks):
        judged.invalid(text, "asn1: structure error")


def _is_sequence(der: bytes) -> bool:
    """Tell whether DER is one sequence that has the length that it says."""
    size = der[1] & 0x7F if len(der) > 1 and der[1] & 0x80 else 0
    length = int.from_bytes(der[2 : 2 + size] if size else der[1:2], "big")
    return der[:1] == b"0" and len(der) == 2 + size + length


CHECKS: Final[Checks] = {"json-secret": json_secret, "pem": check_pem}
