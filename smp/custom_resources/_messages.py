"""What the expressions of policies have beside those of rules.

Go: k8s.io/apiserver, pkg/cel/mutation. An expression that mutates makes an ``Object``
or a ``JSONPatch``, which are messages to the language. The evaluator has no such
types: here they are written as maps, with the same members.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, Final

from smp.custom_resources._libraries import Function
from smp.paths import escape_pointer

# A string of an expression.
STRING: Final = (
    r"""[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
)
# A string or a comment, the begin of a message, a field of it, and what nests.
_TOKEN: Final = re.compile(
    rf"(?P<other>{STRING}|//[^\n]*|\s+)"
    r"|(?<![\w.])(?:Object(?:\.\w+)*|JSONPatch)\s*(?P<message>\{)"
    r"|(?P<optional>\??)\s*(?P<field>[A-Za-z_]\w*)(?=\s*:)"
    r"|(?P<open>[{\[(])|(?P<close>[}\])])|\w+|.",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"__(\w+?)__")
_CHARACTERS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}


def write_messages(text: str) -> str:
    """Return an expression with its messages as maps."""
    written: list[str] = []
    # For each bracket that is open, whether it is that of a message.
    is_message = [False]
    may_begin = False
    for match in _TOKEN.finditer(text):
        if match["other"]:
            written.append(match[0])
            continue
        if match["message"]:
            written.append("{")
            is_message.append(True)
        elif match["field"] and may_begin and is_message[-1]:
            name = _ESCAPED.sub(_unescape, match["field"])
            written.append(f'{match["optional"]}"{name}"')
        else:
            written.append(match[0])
        if match["open"]:
            is_message.append(False)
        elif match["close"] and len(is_message) > 1:
            is_message.pop()
        may_begin = bool(match["message"]) or match[0] == ","
    return "".join(written)


def _unescape(match: re.Match[str]) -> str:
    """Go: apiserver/pkg/cel/escaping.go, Unescape."""
    return _CHARACTERS.get(match[1], match[1])


def convert_to_variable(value: Any) -> Any:
    """Return what an expression returned as another one takes it."""
    if isinstance(value, dict):
        return {name: convert_to_variable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [convert_to_variable(element) for element in value]
    if isinstance(value, datetime):
        from google.protobuf.timestamp_pb2 import Timestamp  # noqa: PLC0415  # extra

        instant = Timestamp()
        instant.FromDatetime(value)
        return instant
    if isinstance(value, timedelta):
        from google.protobuf.duration_pb2 import Duration  # noqa: PLC0415  # extra

        duration = Duration()
        duration.FromTimedelta(value)
        return duration
    return bytes(value) if isinstance(value, bytearray) else value


POLICY_FUNCTIONS: Final[tuple[Function, ...]] = (
    ("jsonpatch.escapeKey", False, ("STRING",), "STRING", escape_pointer),
)
