"""What kubectl takes a YAML scalar for, as tables: YAML 1.1 with some of 1.2."""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf, isfinite, nan
from typing import Final

from smp.values import JSON, type_name

TAGS: Final = "tag:yaml.org,2002:"
_WORDS: Final[tuple[tuple[JSON, str], ...]] = (
    (True, "y Y yes Yes YES on On ON true True TRUE"),
    (False, "n N no No NO off Off OFF false False FALSE"),
    (None, "~ null Null NULL"),
    (inf, ".inf .Inf .INF +.inf +.Inf +.INF"),
    (-inf, "-.inf -.Inf -.INF"),
    (nan, ".nan .NaN .NAN"),
)
_RESOLVED: Final[dict[str, JSON]] = {"": None} | {
    word: value for value, words in _WORDS for word in words.split()
}
_FIRST: Final = frozenset("+-.0123456789")
_BASES: Final = (
    (8, re.compile(r"[-+]?0[oO]?[0-7]+")),
    (16, re.compile(r"[-+]?0[xX][0-9a-fA-F]+")),
    (2, re.compile(r"[-+]?0[bB][01]+|0b[-+][01]+")),
)
_BASE_PREFIX: Final = re.compile(r"0[oOxXbB]?")
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAGGED: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "float": (int, float),
    "int": (int,),
    "null": (type(None),),
}


def resolve(text: str) -> JSON:
    """Tell what kubectl takes a plain YAML scalar for; see smp.documents."""
    if text in _RESOLVED:
        return _RESOLVED[text]
    return _number(text) if text[0] in _FIRST else text


def resolve_tagged(tag: str, text: str) -> JSON:
    """Resolve a scalar with a tag: the core ones convert, any other one makes it a
    string. Raises ValueError.
    """
    name = tag.removeprefix(TAGS)
    if name == "binary":
        import base64

        return base64.b64decode("".join(text.split()), validate=True).decode()
    if name not in _TAGGED:
        return text
    value = resolve(text)
    if type(value) not in _TAGGED[name]:
        raise ValueError(f"{text!r} is no !!{name}")
    return value


def is_text(text: str) -> bool:
    """Tell whether a plain scalar is a string, and no number that is too large either
    (1e400).
    """
    return isinstance(resolve(text), str) and not _FLOAT.fullmatch(text)


def key_text(value: JSON) -> str:
    """Return the key of a JSON object that kubectl makes of a YAML key. Raises
    ValueError.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    # Go formats a float key with 32 bits; six digits are what these bits always hold.
    if isinstance(value, float) and float(text := f"{value:g}") == value:
        return text
    raise ValueError(
        f"{value if isinstance(value, float) else type_name(value)} cannot be a key of a JSON object"
    )


def _number(text: str) -> JSON:
    plain = text if text[0] == "." else text.replace("_", "")
    for base, pattern in _BASES:
        if pattern.fullmatch(plain):
            value = int(_BASE_PREFIX.sub("", plain, count=1), base)
            if -(2**63) <= value < 2**64:
                return value
    if _DECIMAL.fullmatch(plain):
        return int(plain)
    if _FLOAT.fullmatch(plain) and isfinite(number := float(plain)):
        return _as_go_prints(number)
    return text


def _as_go_prints(number: float) -> int | float:
    """Go writes an integral float without a fraction, and so it is an integer wherever
    it is read again.
    """
    integral = number.is_integer() and abs(number) < 2**63
    return int(Decimal(repr(number))) if integral else number
