"""Which object a document is, found without parsing all of it where that is possible.

Pairing the objects of two inputs takes their kinds and names alone. Parsing YAML takes
longer than all the rest together, and holding the values of a large input takes several
times its size. So one pass over an input looks at how its documents begin, and only
what is printed next is parsed.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Final, TypeAlias

import msgspec

from smp.documents import resolve
from smp.values import JSONObject, as_object, as_text

# The API group and the kind, and the name: what identifies an object in a namespace.
Key: TypeAlias = tuple[tuple[str, str], str]


class Identity(msgspec.Struct, frozen=True):
    """What identifies an object; each part may be empty."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    generate_name: str = ""

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind, which all versions of an object share."""
        return _group_kind(self.api_version, self.kind)

    @property
    def is_generated(self) -> bool:
        """Whether a server generates the name, and so a new object each time."""
        # API conventions: a server generates a name from generateName only where name
        # is missing.
        return not self.name and bool(self.generate_name)

    @property
    def key(self) -> Key:
        """What identifies the object in its namespace."""
        name = f"{self.generate_name}*" if self.is_generated else self.name
        return self.group_kind, name

    @property
    def label(self) -> str:
        """The object for a reader: ``apps/v1 Deployment shop/web``."""
        _group_kind, name = self.key
        if self.namespace and name:
            name = f"{self.namespace}/{name}"
        parts = [self.api_version, self.kind, name or self.namespace]
        return " ".join(part for part in parts if part)


@cache
def _group_kind(api_version: str, kind: str) -> tuple[str, str]:
    # A server converts an object between the versions of its group. The apiVersion of
    # the core group is a version alone.
    group, slash, _version = api_version.partition("/")
    return group if slash else "", kind


def identity_of(value: JSONObject) -> Identity:
    """Return what identifies an object."""
    metadata = as_object(value.get("metadata"))
    return Identity(
        # Many objects share these.
        sys.intern(as_text(value.get("apiVersion"))),
        sys.intern(as_text(value.get("kind"))),
        sys.intern(as_text(metadata.get("namespace"))),
        as_text(metadata.get("name")),
        as_text(metadata.get("generateName")),
    )


def identity_at_a_glance(data: bytes) -> Identity | None:
    """Return what identifies the object in a document that is not parsed.

    None for a document that has to be parsed for it: a list of objects, no object, or
    YAML that is written in an unusual way.
    """
    if data.lstrip()[:1] == b"{":
        return _of_json(data)
    # An item of a list that was cut into its items.
    if data.startswith(b"- "):
        return _of_yaml(b"  " + data[2:], _layout(b"  "))
    return _of_yaml(data, _layout(b""))


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    generate_name: str = msgspec.field(default="", name="generateName")


class _JSONObject(msgspec.Struct):
    api_version: str = msgspec.field(name="apiVersion")
    kind: str
    metadata: _Metadata
    # A list of objects has these, and is no object itself.
    items: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _of_json(data: bytes) -> Identity | None:
    try:
        obj = msgspec.json.decode(data, type=_JSONObject)
    except (msgspec.DecodeError, RecursionError):
        return None
    if obj.items is not msgspec.UNSET:
        return None
    metadata = obj.metadata
    return Identity(
        sys.intern(obj.api_version),
        sys.intern(obj.kind),
        sys.intern(metadata.namespace),
        metadata.name,
        metadata.generate_name,
    )


# What is looked for at the start of a line: a key, and the rest of its line. A line
# that starts with one of the other characters may be a key in an unusual form.
_KEYS: Final = rb"^%s(?:(%s)[ \t]*:(?:[ \t]+([^\n]*))?$|[\"'?&*!{\[<|>@`])"
# The lines below a key that are indented, blank or comments.
_BLOCK: Final = rb"^%smetadata:[ \t]*\r?\n((?:%s[ ]+[^\n]*\n|[ \t]*(?:#[^\n]*)?\r?\n)+)"
_INDENT: Final = re.compile(rb"^( *)[^ #\r\n]", re.MULTILINE)
_SCALAR: Final = re.compile(rb"""(["']?)([\w./:-]+)\1(?:[ \t]+#.*)?\s*""")
# The words that are no strings in YAML 1.1, unless they are quoted.
_NO_STRINGS: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
)


class _Layout(msgspec.Struct, frozen=True):
    """The patterns for an object whose fields are indented by so many spaces."""

    fields: re.Pattern[bytes]
    metadata: re.Pattern[bytes]


# Compiling a pattern takes longer than searching a document with it.
@cache
def _keys(indent: bytes, names: bytes) -> re.Pattern[bytes]:
    return re.compile(_KEYS % (indent, names), re.MULTILINE)


@cache
def _layout(indent: bytes) -> _Layout:
    return _Layout(
        _keys(indent, b"apiVersion|kind|metadata|items"),
        re.compile(_BLOCK % (indent, indent), re.MULTILINE),
    )


def _of_yaml(data: bytes, layout: _Layout) -> Identity | None:
    top = _strings(layout.fields.findall(data))
    block = layout.metadata.search(data)
    if top is None or block is None or "items" in top:
        return None
    lines = block[1]
    indent = _INDENT.search(lines)
    if indent is None or "apiVersion" not in top or "kind" not in top:
        return None
    fields = _keys(indent[1], b"name|namespace|generateName")
    metadata = _strings(fields.findall(lines))
    if metadata is None:
        return None
    return Identity(
        sys.intern(top["apiVersion"]),
        sys.intern(top["kind"]),
        sys.intern(metadata.get("namespace", "")),
        metadata.get("name", ""),
        metadata.get("generateName", ""),
    )


def _strings(fields: list[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """Return the values of fields; None where one is no plain or quoted string."""
    values: dict[str, str] = {}
    for key, rest in fields:
        name = key.decode()
        # A key in an unusual form, or a key twice.
        if not name or name in values:
            return None
        # The value of these is no scalar.
        if name in ("metadata", "items"):
            values[name] = ""
            continue
        scalar = _SCALAR.fullmatch(rest)
        if scalar is None or not rest.isascii():
            return None
        text = scalar[2].decode()
        if not scalar[1]:
            is_word = text[0].isalpha() and text.lower() not in _NO_STRINGS
            if not is_word and not isinstance(resolve(text), str):
                return None
        values[name] = text
    return values
