"""What is remembered of pairs: answers by all that they depend on.

A fleet has the same objects in many clusters, under other names and with other times.
So what was found out of one pair holds for all with the same content: all of both
objects and of the last-applied configuration but for what tells them from the others
(name, namespace, uid) and what a server counts (resourceVersion, generation).

Many objects have their name in labels, too, and in what selects by them. Values of
labels are compared with each other and with names, and nothing else is made of them. So
a label that is the name of its object counts as the same label under any name, if the
name is nowhere but in labels. Where an answer repeats the name, it holds for no other
name.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec
from msgspec import UNSET

from smp.fleet._objects import decode
from smp.fleet._usual import (
    LiveMetadata,
    LiveObject,
    Manifest,
    Metadata,
    Part,
    label_values,
    label_values_of_spec,
    live_object_of,
    manifest_of,
)
from smp.last_applied import LAST_APPLIED
from smp.raw import RawJSON

Answer = TypeVar("Answer")

_NULL: Final = b"null"
# An escape with which a text can have a name in another spelling.
_SPELLED_OUT: Final = b"\\u"
# It stands for a name. No JSON value begins like this.
_A_NAME: Final = b"*"
# To keep longer ones takes more memory than they are worth.
_LONGEST: Final = 1 << 16
_encode: Final = msgspec.json.Encoder().encode


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


class Content(msgspec.Struct, frozen=True):
    """All that an answer about a pair depends on, as a text that has one reading.

    ``name`` is that of the object, as JSON, where the text has it; ``nameless`` is the
    text without it, which counts where has_only_labels of ``objects`` says so. No
    answer depends on ``managed_fields``, those of live; they are not in the text.
    """

    text: bytes
    name: bytes
    nameless: bytes | None
    managed_fields: Part
    objects: list[Manifest | LiveObject]


def content_of(
    desired: bytes, live: bytes, last_applied: bytes | None
) -> Content | None:
    """Return all that an answer about a pair depends on.

    Without a last-applied configuration that of live's annotation counts. None where
    an answer may depend on more: objects of different names, a manifest that sets what
    servers set, objects of another form than the usual one. Raises RecursionError.
    """
    try:
        there, wanted = live_object_of(live), manifest_of(desired)
        applied: bytes | str | None = _without_last_applied(there.metadata)
        if last_applied is not None:
            applied = last_applied
        manifests = [wanted]
        if applied is not None:
            manifests.append(manifest_of(applied))
    except (msgspec.MsgspecError, UnicodeError):
        return None
    name, namespace = there.metadata.name, there.metadata.namespace
    is_named = wanted.metadata.namespace is not UNSET
    if is_named and wanted.metadata.namespace != namespace:
        return None
    has_status = False
    for manifest in manifests:
        if manifest.metadata.name != name:
            return None
        _without_last_applied(manifest.metadata)
        _without_identity(manifest.metadata)
        has_status = has_status or manifest.status is not UNSET
    is_stored = _is_stored(there.metadata)
    managed_fields = there.metadata.managedFields
    _without_identity(there.metadata)
    _without_counts(there.metadata)
    if not has_status:
        there.status = UNSET
    objects: list[Manifest | LiveObject] = [*manifests, there]
    text = _encode((is_named, namespace is UNSET, is_stored, objects))
    nameless: bytes | None = None
    quoted = bytes(name) if isinstance(name, RawJSON) else b""
    if quoted and quoted in text and _SPELLED_OUT not in text:
        nameless = text.replace(quoted, _A_NAME)
    return Content(text, quoted, nameless, managed_fields, objects)


def has_only_labels(content: Content) -> bool:
    """Tell whether the name is nothing but the value of labels wherever it is."""
    values: list[str] = []
    try:
        for obj in content.objects:
            labels, spec = obj.metadata.labels, obj.spec
            if isinstance(labels, RawJSON):
                values += label_values(labels)
            if isinstance(spec, RawJSON):
                values += label_values_of_spec(spec, obj.apiVersion)
    except (msgspec.MsgspecError, UnicodeError):
        return False
    return values.count(decode(content.name)) == content.text.count(content.name)


def _without_last_applied(metadata: Metadata) -> str | None:
    """Take the annotation of kubectl away, and return it."""
    if isinstance(metadata.annotations, dict):
        return metadata.annotations.pop(LAST_APPLIED, None)
    return None


def _without_identity(metadata: Metadata) -> None:
    metadata.name = UNSET
    metadata.namespace = UNSET


def _without_counts(metadata: LiveMetadata) -> None:
    """Take away what a server sets, and no answer depends on.

    An object that is being deleted is told from one that is not.
    """
    metadata.creationTimestamp = UNSET
    metadata.generation = UNSET
    metadata.managedFields = UNSET
    metadata.resourceVersion = UNSET
    metadata.selfLink = UNSET
    metadata.uid = UNSET


def _is_stored(metadata: LiveMetadata) -> bool:
    for value in (metadata.uid, metadata.resourceVersion, metadata.creationTimestamp):
        if isinstance(value, RawJSON) and bytes(value) != _NULL:
            return True
    return False
