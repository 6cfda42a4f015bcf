"""The messages of kinds: the table in smp/schema/bundled, linked where it is needed."""

from __future__ import annotations

import re
from functools import cache
from threading import RLock
from typing import Final

import msgspec

from smp._storage.protobuf._errors import ProtobufError
from smp._storage.protobuf._messages import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    EITHER,
    INLINE,
    INT_32,
    INT_64,
    INT_OR_STRING,
    ITEMS,
    LIST,
    MAP,
    MESSAGE,
    MICRO_TIME,
    QUANTITY,
    RAW,
    SINGLE,
    STRING,
    TIME,
    Message,
    MessageField,
)
from smp._values.values import JSONObject
from smp.schema.bundle import read_bundled_table

_META: Final = "meta.k8s.io/v1"
_FIELD: Final = re.compile(r"([0-9]+)([:?!~&-])([^:]*):(\[\]|\{\})?(.+)")
_SCALARS: Final = {
    "bool": BOOLEAN,
    "int32": INT_32,
    "int64": INT_64,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
}
_COUNTS: Final = {"": SINGLE, "[]": LIST, "{}": MAP}
_WIRE_TYPES: Final = 8
# How a message is printed that is no object.
_PRINTED: Final = {"either": EITHER, "items": ITEMS}


class _Messages(msgspec.Struct, frozen=True):
    """The document: see the docstring of the package."""

    source: str
    kinds: dict[str, dict[str, str]]
    messages: dict[str, dict[str, str]]


def _table() -> _Messages:
    return read_bundled_table("protobuf.json", _Messages)


@cache
def names() -> dict[str, dict[str, str]]:
    """Return the names of the messages by apiVersion and kind."""
    found: dict[str, dict[str, str]] = {}
    for api_version, packages in _table().kinds.items():
        kinds: dict[str, str] = {}
        for package, short_names in packages.items():
            for kind in short_names.split(" "):
                kinds[kind] = f"{package}.{kind}"
        found[api_version] = kinds
    return found


@cache
def is_32_bit(type_name: str, name: str) -> bool:
    """Tell whether a field of a type of Kubernetes is an int32 in Go."""
    package, _, short_name = type_name.rpartition(".")
    tokens = _table().messages.get(package, {}).get(short_name, "").split()
    matches = [_FIELD.fullmatch(token) for token in tokens]
    found = [each for each in matches if each is not None and each[3] == name]
    return any(each[5] == "int32" for each in found)


def require_message(api_version: str, kind: str) -> Message:
    """Return the message of a kind. Raises ProtobufError for an unknown one."""
    message = message_of(api_version, kind)
    if message is None:
        # Go: runtime.notRegisteredErr.
        raise ProtobufError(
            f'no kind "{kind}" is registered for version "{api_version}"'
        )
    return message


def message_of(api_version: str, kind: str) -> Message | None:
    """Return the message of a kind, or None."""
    kinds = names().get(api_version)
    if kinds is None:
        return None
    # DeleteOptions are in every version of every group.
    name = kinds.get(kind) or names()[_META].get(kind)
    return _message(name) if name else None


def _special(message: Message, *fields: MessageField) -> Message:
    for number, field in enumerate(fields, start=1):
        message.add(number, field)
    return message


# The messages, by package and name, and those that are not printed as objects.
_messages: dict[str, Message] = {
    "quantity": _special(Message(QUANTITY, "0"), MessageField("string", STRING)),
    "intOrString": _special(
        Message(INT_OR_STRING, 0),
        MessageField("type", INT_64),
        MessageField("intVal", INT_32),
        MessageField("strVal", STRING),
    ),
    "time": _special(
        Message(TIME), MessageField("seconds", INT_64), MessageField("nanos", INT_32)
    ),
    "microTime": _special(
        Message(MICRO_TIME),
        MessageField("seconds", INT_64),
        MessageField("nanos", INT_32),
    ),
    "raw": _special(Message(RAW), MessageField("raw", STRING)),
}


# Those that are not complete yet. Only what holds the lock sees them.
_begun: dict[str, Message] = {}
_lock: Final = RLock()


def _message(name: str) -> Message:
    if name in _messages:
        return _messages[name]
    with _lock:
        known = _messages.get(name) or _begun.get(name)
        if known is not None:
            return known
        is_outermost = not _begun
        try:
            found = _read_message(name)
            if is_outermost:
                _messages.update(_begun)
            return found
        finally:
            # Also where the thread is ended: no message is ever kept in part.
            if is_outermost:
                _begun.clear()


def _read_message(name: str) -> Message:
    found = Message()
    # Known before it is complete, because it may have a list of itself.
    _begun[name] = found
    package, _, short_name = name.rpartition(".")
    zeros: JSONObject = {}
    for token in _table().messages[package][short_name].split():
        if token in _PRINTED:
            found.form = _PRINTED[token]
            continue
        match = _FIELD.fullmatch(token)
        assert match is not None, token  # noqa: S101  # a test reads the whole table
        number, mark, field_name, count, type_ = match.groups()
        # Names without a package are those of the package of the message.
        is_in_package = "." not in type_ and type_ not in _SCALARS
        if is_in_package and type_ not in _messages:
            type_ = f"{package}.{type_}"
        field = _field(field_name, type_, _COUNTS[count or ""])
        # The tags omitempty and omitzero.
        field.drops_zero = mark in ":-"
        # Go: an embedded struct without a name in JSON is part of the outer one.
        if mark == "&":
            field.count = INLINE
            zeros.update(_message(type_).zeros)
        elif mark == "!":
            zeros[field_name] = field.zero()
        elif mark == "~":
            zeros[field_name] = None
        if found.form == EITHER:
            found.either.append(field_name)
        found.add(int(number), field)
    found.always_print(zeros)
    return found


def _field(name: str, type_: str, count: int) -> MessageField:
    if count != MAP:
        form = _SCALARS.get(type_, MESSAGE)
        return MessageField(
            name, form, count, _message(type_) if form == MESSAGE else None
        )
    # The message of the entries of a map: a key and a value.
    entry = Message()
    key, value = MessageField("key", STRING), _field("value", type_, SINGLE)
    # Go reads them whatever wire type they claim to have.
    for wire_type in range(_WIRE_TYPES):
        entry.tags[1 << 3 | wire_type] = key
        entry.tags[2 << 3 | wire_type] = value
    entry.numbers = {1: key, 2: value}
    entry.always_print({"key": ""})
    return MessageField(name, MESSAGE, MAP, entry)
