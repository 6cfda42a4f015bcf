"""Which object a document is, found without parsing all of it where that is possible.

Pairing the objects of two inputs takes their kinds and names alone. Parsing YAML takes
longer than all the rest together, and holding the values of a large input takes several
times its size. So one pass over an input looks at how its documents begin, and only
what is printed next is parsed.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TypeAlias

import msgspec

from smp._values.values import JSONObject, as_object, as_text
from smp.documents import head_of

# The API group and the kind, and the name: what identifies an object in a namespace.
Key: TypeAlias = tuple[tuple[str, str], str]


class ObjectIdentity(msgspec.Struct, frozen=True):
    """What identifies an object; each part may be empty."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    generate_name: str = ""

    @property
    def head(self) -> tuple[str, str, str, str]:
        """The apiVersion, the kind, the namespace and the name."""
        return self.api_version, self.kind, self.namespace, self.name

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


def identity_of(value: JSONObject) -> ObjectIdentity:
    """Return what identifies an object."""
    metadata = as_object(value.get("metadata"))
    return ObjectIdentity(
        # Many objects share these.
        sys.intern(as_text(value.get("apiVersion"))),
        sys.intern(as_text(value.get("kind"))),
        sys.intern(as_text(metadata.get("namespace"))),
        as_text(metadata.get("name")),
        as_text(metadata.get("generateName")),
    )


def identity_at_a_glance(data: bytes) -> ObjectIdentity | None:
    """Return what identifies the object in a document that is not parsed.

    None for a document that has to be parsed for it: a list of objects, no object, or
    YAML that is written in an unusual way.
    """
    if data.lstrip()[:1] == b"{":
        return _of_json(data)
    # An item of a list that was cut into its items.
    if data.startswith(b"- "):
        head = head_of(b"  " + data[2:], indent=2)
    else:
        head = head_of(data)
    if head is None:
        return None
    return ObjectIdentity(
        sys.intern(head["apiVersion"]),
        sys.intern(head["kind"]),
        sys.intern(head.get("namespace", "")),
        head.get("name", ""),
        head.get("generateName", ""),
    )


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


def _of_json(data: bytes) -> ObjectIdentity | None:
    try:
        obj = msgspec.json.decode(data, type=_JSONObject)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if obj.items is not msgspec.UNSET:
        return None
    metadata = obj.metadata
    return ObjectIdentity(
        sys.intern(obj.api_version),
        sys.intern(obj.kind),
        sys.intern(metadata.namespace),
        metadata.name,
        metadata.generate_name,
    )
