"""Values of an object as rules see them, by its schema.

Go: k8s.io/apiserver, pkg/cel/common/values.go (UnstructuredToVal) and schemas.go
(SchemaDeclType). What a value becomes depends on its schema alone: an integer of a
number is a double, texts of some formats are times, durations and bytes, a name that is
none of the language is escaped, and fields that are not declared are not seen.
"""

from __future__ import annotations

import re
from base64 import b64decode
from contextlib import suppress
from datetime import date
from functools import lru_cache
from typing import Any, Final

from smp._values.times import parse_duration, read_time
from smp._values.values import JSON, Absent, JSONArray, JSONObject, same, value_key
from smp.custom_resources._schema_node import SchemaNode
from smp.custom_resources._structure import go_number
from smp.schema.walk import key_of

# Go: apiserver/pkg/cel/escaping.go, celReservedSymbols.
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else"),
        *("for", "function", "if", "import", "let", "loop", "package", "namespace"),
        *("return", "var", "void", "while"),
    }
)
_ESCAPES: Final = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
_ESCAPED: Final = re.compile(r"__|[./-]")
_NAME: Final = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_NANO: Final = 1_000_000_000


@lru_cache(maxsize=4096)
def escape_name(name: str) -> str:
    """Return the name of a field in an expression; empty for one that has none."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return ""
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def convert_for_cel(value: JSON, node: SchemaNode) -> Any:
    """Return a value as an expression sees it; itself where nothing differs.

    A value of a wrong type or format, which an update may leave as it was, is seen as
    it is: on a server it is an error of what reads it, and here mostly one without an
    overload.
    """
    if value is None or node.is_int_or_string:
        return value
    if isinstance(value, dict):
        return _object_as_seen(value, node)
    if isinstance(value, list):
        items = node.items
        if items is None:
            return value
        seen = [convert_for_cel(element, items) for element in value]
        is_changed = any(
            after is not before for after, before in zip(seen, value, strict=True)
        )
        return seen if is_changed else value
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text_as_seen(value, node.format) if node.type == "string" else value
    if node.type == "number":
        return float(go_number(value)) if isinstance(value, int) else value
    if node.type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _object_as_seen(value: JSONObject, node: SchemaNode) -> JSONObject:
    others = node.others
    if others is not None:
        return {name: convert_for_cel(member, others) for name, member in value.items()}
    seen: JSONObject = {}
    is_changed = False
    for name, member in value.items():
        inner = node.visible_member(name)
        if inner is None:
            is_changed = True
            continue
        escaped = escape_name(name)
        after = convert_for_cel(member, inner)
        is_changed = is_changed or escaped != name or after is not member
        if escaped:
            seen[escaped] = after
    return seen if is_changed else value


def _text_as_seen(text: str, format_: str) -> Any:
    with suppress(ValueError):
        match format_:
            case "byte":
                return b64decode(text)
            case "duration":
                return _duration(text)
            case "date":
                days = date.fromisoformat(text).toordinal()
                epoch = date(1970, 1, 1).toordinal()
                return _timestamp((days - epoch) * 86_400, 0)
            case "date-time" if instant := read_time(text.upper()):
                return _timestamp(*instant)
    return text


def _timestamp(seconds: int, nanoseconds: int) -> Any:
    # The package takes a time in an object only as a message.
    from google.protobuf.timestamp_pb2 import Timestamp  # noqa: PLC0415  # of an extra

    return Timestamp(seconds=seconds, nanos=nanoseconds)


def _duration(text: str) -> Any:
    from google.protobuf.duration_pb2 import Duration  # noqa: PLC0415  # of an extra

    nanoseconds = parse_duration(text)
    if nanoseconds is None:
        raise ValueError(f"invalid duration {text}")
    seconds = abs(nanoseconds) // _NANO
    rest = abs(nanoseconds) % _NANO
    sign = -1 if nanoseconds < 0 else 1
    return Duration(seconds=sign * seconds, nanos=sign * rest)


def align(old: JSON, new: JSON | Absent, node: SchemaNode) -> JSON:
    """Return an old value with the elements of its sets and maps in the new order.

    Lists of these types are equal in any order (Go: unstructuredSetList.Equal,
    unstructuredMapList.Equal); to the evaluator they are lists.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        changed: JSONObject = {}
        for name, member in old.items():
            inner = node.member(name)
            changed[name] = (
                member
                if inner is None or name not in new
                else align(member, new[name], inner)
            )
        return changed
    if isinstance(old, list) and isinstance(new, list) and node.items is not None:
        if node.list_type == "set":
            return _set_aligned(old, new)
        if node.list_type == "map":
            return _map_aligned(old, new, node, node.items)
    return old


def _set_aligned(old: JSONArray, new: JSONArray) -> JSON:
    places = {value_key(element): index for index, element in enumerate(new)}
    return sorted(old, key=lambda element: places.get(value_key(element), len(new)))


def _map_aligned(
    old: JSONArray, new: JSONArray, node: SchemaNode, items: SchemaNode
) -> JSON:
    places = {key_of(element, node.map_keys): at for at, element in enumerate(new)}
    # An element that is no longer there keeps its place behind the others.
    known = [(places.get(key_of(element, node.map_keys)), element) for element in old]
    in_order = sorted(known, key=lambda each: len(new) if each[0] is None else each[0])
    return [
        element
        if at is None or same(element, new[at])
        else align(element, new[at], items)
        for at, element in in_order
    ]
