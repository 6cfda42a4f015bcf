"""What is remembered of pairs: answers by all that they depend on.

A fleet has the same objects in many clusters, under other names and with other times.
So what was found out of one pair holds for all with the same content: all of both
objects and of the last-applied configuration but for what tells them from the others
(name, namespace, uid) and what a server counts (resourceVersion, generation).

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from smp.api_objects import METADATA_OF_CREATION, SERVER_METADATA
from smp.fleet._objects import Members, Text
from smp.raw import RawJSON

Answer = TypeVar("Answer")
# A sequence of texts that has no other reading.
Content = tuple[object, ...]

# What a server sets, and what no answer depends on.
_SERVER: Final = frozenset(SERVER_METADATA) - {
    # An object that is being deleted is told from one that is not.
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
}
_METADATA: Final = frozenset({"metadata"})
_OF_METADATA: Final = frozenset({"name", "namespace", "annotations"})
_OF_LIVE: Final = frozenset({"metadata", "status"})
_OF_LIVE_METADATA: Final = _SERVER | _OF_METADATA | {"labels"}
_ZERO: Final = b"\0"
_NAME_LABEL: Final = b"kubernetes.io/metadata.name"
_NULL: Final = b"null"
# To keep longer ones takes more memory than they are worth.
_LONGEST: Final = 1 << 16


class Memory(Generic[Answer]):
    """Answers by keys, as many as fit into some bytes of keys.

    When they are full, a second half of the memory begins, and those of the former
    half that are asked for again are taken over.
    """

    def __init__(self, most: int) -> None:
        self._most = most // 2
        self._size = 0
        self._recent: dict[object, Answer] = {}
        self._former: dict[object, Answer] = {}

    def get(self, key: object, size: int) -> Answer | None:
        """Return the answer for a key of a size, or None."""
        answer = self._recent.get(key)
        if answer is None:
            answer = self._former.get(key)
            if answer is not None:
                self.keep(key, answer, size)
        return answer

    def keep(self, key: object, answer: Answer, size: int) -> None:
        """Remember an answer."""
        if size > _LONGEST:
            return
        if self._size + size > self._most:
            self._former = self._recent
            self._recent = {}
            self._size = 0
        self._recent[key] = answer
        self._size += size


def content_of(desired: Text, live: Text, base: Text | None) -> Content | None:
    """Return all that an answer about a pair depends on.

    None where it may depend on more: objects of different names, a manifest that sets
    what servers set.
    """
    sides = [desired, live] if base is None else [desired, live, base]
    if not all(side.is_usual for side in sides):
        return None
    ours, theirs = desired.metadata, live.metadata
    if ours is None or theirs is None:
        return None
    name, namespace = theirs.get("name"), theirs.get("namespace")
    if ours.get("name") != name:
        return None
    is_named = "namespace" in ours
    if is_named and ours["namespace"] != namespace:
        return None
    content: list[object] = [is_named, namespace is None]
    if not _add_configuration(content, desired):
        return None
    if base is not None:
        of_base = base.metadata
        if of_base is None or of_base.get("name") != name:
            return None
        if not _add_configuration(content, base):
            return None
    has_status = "status" in desired.members
    has_status = has_status or (base is not None and "status" in base.members)
    _add(content, live.members, _METADATA if has_status else _OF_LIVE)
    _add(content, theirs, _OF_LIVE_METADATA)
    labels = theirs.get("labels")
    if labels is not None and not _add_labels(content, bytes(labels), name):
        return None
    _add_annotations(content, live)
    content.append(_is_stored(theirs))
    return tuple(content)


def _add(content: list[object], members: Members, leaves_out: frozenset[str]) -> None:
    """Add the names of members, and their JSON as one text.

    No JSON has a byte that is zero, so the text can be read in one way only.
    """
    names: list[str] = []
    values: list[RawJSON] = []
    for name, value in members.items():
        if name not in leaves_out:
            names.append(name)
            values.append(value)
    content.append(tuple(names))
    content.append(_ZERO.join(values))


def _add_labels(content: list[object], labels: bytes, name: RawJSON | None) -> bool:
    """Add labels, but for the name of a Namespace, which a server sets as a label.

    Return False where that label has another value, or another spelling.
    """
    if _NAME_LABEL not in labels:
        content.append(labels)
        return True
    # Go: SetDefaults_Namespace.
    label = b'"%b":%b' % (_NAME_LABEL, b"" if name is None else bytes(name))
    before, _, after = labels.partition(label)
    content.append((before, after))
    return _NAME_LABEL not in before and _NAME_LABEL not in after


def _add_configuration(content: list[object], text: Text) -> bool:
    """Add a manifest, or a last-applied configuration, if it is a usual one."""
    metadata = text.metadata
    if metadata is None or not _SERVER.isdisjoint(metadata):
        return False
    labels = metadata.get("labels")
    if labels is not None and _NAME_LABEL in bytes(labels):
        return False
    _add(content, text.members, _METADATA)
    _add(content, metadata, _OF_METADATA)
    _add_annotations(content, text)
    return True


def _add_annotations(content: list[object], text: Text) -> None:
    annotations = text.annotations
    if isinstance(annotations, dict):
        for name, value in annotations.items():
            content.append(name)
            # A value of another type than text is not valid, and rare.
            content.append(value if isinstance(value, str) else repr(value).encode())
        # No annotations are not the same as an object without any.
        content.append(True)
    else:
        content.append(None if annotations is None else bytes(annotations))


def _is_stored(metadata: Members) -> bool:
    for name in METADATA_OF_CREATION:
        value: RawJSON | None = metadata.get(name)
        if value is not None and bytes(value) != _NULL:
            return True
    return False


def size_of(content: Content) -> int:
    """Return about how many bytes a key takes."""
    size = 0
    for part in content:
        size += 50
        if isinstance(part, (str, bytes, tuple)):
            size += len(part)
    return size
