"""An object of one side of ``smp drift``, and what is known of where it was read."""

from __future__ import annotations

import zlib
from typing import Final, TypeAlias

import msgspec

from smp._values.codec import decode
from smp._values.values import JSON, as_object
from smp.cli._identity import ObjectIdentity
from smp.cli._objects import TextPart

# The granules of a cluster, and the first parts of a pairing on disk.
PARTS: Final = 256
# A version has less, and Python reads no more than 4,300 at once.
_MOST_DIGITS: Final = 40
DELETED: Final = "DELETED"

# A cluster, and the part of its objects: see granule_of.
Granule: TypeAlias = tuple[str, int]


def granule_of(cluster: str, group: str, kind: str, name: str) -> Granule:
    """Return the granule of all objects with these, in whatever namespace."""
    return cluster, hash_of_key((cluster, group, kind, name)) % PARTS


def hash_of_key(key: tuple[str, str, str, str]) -> int:
    """Return 32 bits of what two sides have in common."""
    return zlib.crc32("\0".join(key).encode(errors="replace"))


class Record(msgspec.Struct, frozen=True, array_like=True):
    """An object of one side: what identifies it, its JSON, and where it was read."""

    cluster: str
    api_version: str
    kind: str
    namespace: str
    name: str
    text: bytes
    place: str
    last_applied: bytes | None = None
    part: TextPart | None = None
    # Why it is not known what the object is.
    error: str = ""
    # What became of the object, in the stream of a watch.
    event: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What two sides have in common, but for the namespace."""
        group, slash, _ = self.api_version.partition("/")
        return self.cluster, group if slash else "", self.kind, self.name

    @property
    def head(self) -> tuple[str, str, str, str]:
        """The apiVersion, the kind, the namespace and the name."""
        return self.api_version, self.kind, self.namespace, self.name

    @property
    def granule(self) -> Granule:
        """The objects among which all that may be this one are."""
        return granule_of(*self.key)

    @property
    def version(self) -> int:
        """The resource version, as a number that grows with each write (KEP-5504)."""
        metadata = as_object(as_object(decode(self.text)).get("metadata"))
        return number_of(metadata.get("resourceVersion")) or 0

    @property
    def label(self) -> str:
        """The object for a reader."""
        own = ObjectIdentity(*self.head).label
        return f"{self.cluster}: {own}" if self.cluster else own


class SideFile(msgspec.Struct, frozen=True):
    """A file of a side, and the cluster of objects in it that name none.

    ``is_side`` says that it was named, and is not one of a directory.
    """

    path: str
    cluster: str
    is_desired: bool
    is_side: bool = True

    @property
    def key(self) -> tuple[bool, str]:
        """What the file is known by from run to run."""
        return self.is_desired, self.path


class FilePart(msgspec.Struct, frozen=True):
    """Some lines of a file, by offset; all of it where ``end`` is 0.

    ``line`` is the number of the first one. ``table`` is the run that has kept what the
    file has, 0 for none; ``is_current`` says that the file is still what it was then.
    """

    file: SideFile
    start: int = 0
    end: int = 0
    line: int = 1
    table: int = 0
    is_current: bool = False


def number_of(value: JSON) -> int | None:
    """Return a count or version, which is a number or its digits; None for others."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    return None
