"""The value that kubectl reads from a YAML scalar, as tables.

kubectl reads YAML with sigs.k8s.io/yaml, which is go-yaml v2 and then a conversion to
JSON. go-yaml resolves plain scalars by YAML 1.1 (``yes`` is true, ``0777`` is octal),
with some of YAML 1.2 (``0o17``) and without base 60 (``12:30`` is a string) and
timestamps, which become strings in JSON (Go: go-yaml's resolve).
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf, isfinite, nan
from typing import Final

from smp._values.values import JSON, type_name

TAGS: Final = "tag:yaml.org,2002:"
# Go: resolveMapList in go-yaml's resolve.go.
_CONSTANTS: Final[tuple[tuple[JSON, str], ...]] = (
    (True, "y Y yes Yes YES on On ON true True TRUE"),
    (False, "n N no No NO off Off OFF false False FALSE"),
    (None, "~ null Null NULL"),
    (inf, ".inf .Inf .INF +.inf +.Inf +.INF"),
    (-inf, "-.inf -.Inf -.INF"),
    (nan, ".nan .NaN .NAN"),
)
_RESOLVED: Final[dict[str, JSON]] = {"": None} | {
    spelling: value for value, spellings in _CONSTANTS for spelling in spellings.split()
}
_STARTS_OF_NUMBERS: Final = frozenset("+-.0123456789")
# All characters that numbers of both versions of YAML consist of, those of base 60 and
# base 16 included.
_OF_NUMBERS: Final = "0123456789+-._:abcdefABCDEFoOxX"
# Where a timestamp, which may contain any character, has its first dash.
_DASH_OF_TIMESTAMP: Final = 4
# The patterns below are compiled when they are first needed: most texts have no such
# number, and to compile them takes longer than to read a small text.
# Integers as Go's strconv.ParseInt reads them with base 0. Binary ones may also have
# their sign after the prefix: go-yaml cuts 0b off and parses the rest.
_BASES: Final = (
    (8, r"[-+]?0[oO]?[0-7]+"),
    (16, r"[-+]?0[xX][0-9a-fA-F]+"),
    (2, r"[-+]?0[bB][01]+|0b[-+][01]+"),
)
_BASE_PREFIX: Final = r"0[oOxXbB]?"
_DECIMAL: Final = r"[-+]?(?:0|[1-9][0-9]*)"
# Go: go-yaml's yamlStyleFloat.
_FLOAT: Final = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
# Go: encoding/json, floatEncoder.
_FIRST_WITH_EXPONENT: Final = 1e21
# What only readers of YAML 1.1 resolve: base 60, timestamps, numbers with underscores
# at any place, the value "=" and the merge key (https://yaml.org/type/).
_YAML_1_1: Final = (
    r"=|<<"
    r"|[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?"
)
# The types that a scalar with one of these tags may resolve to.
_TAGGED: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "float": (int, float),
    "int": (int,),
    "null": (type(None),),
}


def resolve(text: str) -> JSON:
    """Return the value that kubectl reads from a plain (unquoted) YAML scalar.

    The rules are those of YAML 1.1 with some of 1.2 (``y``, ``0777``, ``0o17``,
    ``1e3``). ``.inf`` and ``.nan`` resolve to the floats that JSON does not have.
    Raises ValueError for an integer with more digits than Python converts.
    """
    if text in _RESOLVED:
        return _RESOLVED[text]
    if text[0] not in _STARTS_OF_NUMBERS:
        return text
    # Most numbers: an integer without a sign, and not octal.
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        return int(text)
    # A quantity, an address, a time.
    if _has_other_characters(text):
        return text
    # YAML 1.1 allows underscores between digits. go-yaml looks at what starts with a
    # point before it removes them.
    plain = text if text[0] == "." else text.replace("_", "")
    for base, pattern in _BASES:
        if re.fullmatch(pattern, plain):
            integer = int(re.sub(_BASE_PREFIX, "", plain, count=1), base)
            # Beyond 64 bits go-yaml reads a float or a string instead.
            if -(2**63) <= integer < 2**64:
                return integer
    # Integers of any size are kept; kubectl turns those beyond 64 bits into floats.
    if re.fullmatch(_DECIMAL, plain):
        return int(plain)
    if not re.fullmatch(_FLOAT, plain):
        return text
    number = float(plain)
    # Out of range (1e400) is an error of Go's strconv.ParseFloat: it stays a string.
    return as_go_prints(number) if isfinite(number) else text


def as_go_prints(number: float) -> int | float:
    """Return what later readers see of a float that Go has read.

    Go's encoding/json writes an integral float without a fraction, and below 1e21
    without an exponent. So it becomes the integer of its shortest decimal text.
    """
    if number.is_integer() and abs(number) < _FIRST_WITH_EXPONENT:
        return int(Decimal(repr(number)))
    return number


def resolve_tagged(tag: str, text: str) -> JSON:
    """Return the value of a scalar with a tag. Raises ValueError.

    The tags of the YAML core schema convert the scalar; with any other tag it is a
    string.
    """
    name = tag.removeprefix(TAGS)
    if name == "binary":
        # Few documents have the tag.
        import base64  # noqa: PLC0415  # see above

        # A JSON string is text: other bytes have no place in an object.
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode()
        except UnicodeDecodeError:
            raise ValueError(
                "the bytes of a !!binary are not UTF-8, which a JSON string has to be"
            ) from None
        except ValueError as error:
            raise ValueError(f"a !!binary is not base64: {error}") from None
    if name not in _TAGGED:
        return text
    value = resolve(text)
    if type(value) not in _TAGGED[name]:
        raise ValueError(f"cannot decode {text!r} as a !!{name}")
    return value


def is_string_everywhere(text: str) -> bool:
    """Tell whether all readers take a plain scalar for a string.

    A number out of range, which go-yaml takes for a string, is a number elsewhere.
    """
    if not isinstance(resolve(text), str):
        return False
    if text[0] not in _STARTS_OF_NUMBERS and text[0] not in "=<":
        return True
    may_be_timestamp = text[_DASH_OF_TIMESTAMP : _DASH_OF_TIMESTAMP + 1] == "-"
    if text[0] not in "=<" and _has_other_characters(text) and not may_be_timestamp:
        return True
    return not re.fullmatch(_FLOAT, text) and not re.fullmatch(_YAML_1_1, text)


def _has_other_characters(text: str) -> bool:
    return text.strip(_OF_NUMBERS) != ""


def key_text(value: JSON) -> str:
    """Return the key of a JSON object that kubectl makes of a YAML key.

    Raises ValueError. Go: convertToJSONableObject of sigs.k8s.io/yaml.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    # Go formats a float key with the precision of 32 bits. Six digits are what 32 bits
    # always hold; a key with more of them would become another number.
    if isinstance(value, float):
        text = f"{value:g}"
        if float(text) == value:
            return text
    key = value if isinstance(value, float) else type_name(value)
    raise ValueError(f"{key} cannot be a key of a JSON object")
