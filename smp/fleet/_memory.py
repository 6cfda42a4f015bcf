"""What is remembered of pairs: answers by all that they depend on.

A fleet has the same objects in many clusters, under other names and with other times.
So what was found out of one pair holds for all with the same content: all of both
objects and of the last-applied configuration but for what tells them from the others
(name, namespace, uid) and what a server counts (resourceVersion, generation).

Many objects have their name in labels, too, and in what selects by them; others have
that of their cluster, in labels, variables or a ConfigMap. Such values are compared
with each other and with names, and nothing else is made of them. So they count as the
same under any name, if the name is nowhere else. Where an answer repeats the name, it
holds for no other name.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import UNSET

from smp._values.last_applied import LAST_APPLIED
from smp._values.raw import RawJSON
from smp._values.values import JSONObject
from smp.fleet._objects import decode
from smp.fleet._usual import (
    LiveMetadata,
    LiveObject,
    Manifest,
    Part,
    UsualMetadata,
    live_object_of,
    manifest_of,
    opaque_values_of_spec,
    strings_of,
)

Answer = TypeVar("Answer")

_NULL: Final = b"null"
# An escape with which a text can have a name in another spelling.
_SPELLED_OUT: Final = b"\\u"
# They stand for the name of an object, and for that of a cluster in a string. No JSON
# value begins like the one, and no string has the other.
_A_NAME: Final = b"*"
_A_CLUSTER: Final = b"\0"
# Names that JSON writes as they are.
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:-]+")
_CONFIG_MAP: Final = b'"ConfigMap"'
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

    ``keys`` are that text without some names, which are in ``hidden`` as far as the
    text has them: the one of the object as JSON, and that of the cluster. Each counts
    where is_hidden says so; the last one has all names. No answer depends on
    ``managed_fields``, those of live, unless a rule does; they are not in the text.
    ``identity`` has the name, and the namespaces of both sides.
    """

    text: bytes
    keys: list[bytes]
    hidden: list[tuple[bytes, bytes]]
    managed_fields: Part
    identity: tuple[Part, Part, Part]
    objects: list[Manifest | LiveObject]


def content_of(
    desired: bytes, live: bytes, last_applied: bytes | None, cluster: str = ""
) -> Content | None:
    """Return all that an answer about a pair in a cluster depends on.

    Without a last-applied configuration that of live's annotation counts. None where
    an answer may depend on more: objects of different names, a manifest that sets what
    servers set, objects of another form than the usual one. Raises RecursionError.
    """
    try:
        there, wanted = live_object_of(live), manifest_of(desired)
        applied: bytes | str | None = _drop_last_applied(there.metadata)
        if last_applied is not None:
            applied = last_applied
        manifests = [wanted]
        if applied is not None:
            manifests.append(manifest_of(applied))
    except (msgspec.MsgspecError, UnicodeError):
        return None
    name, namespace = there.metadata.name, there.metadata.namespace
    identity = name, wanted.metadata.namespace, namespace
    is_named = wanted.metadata.namespace is not UNSET
    if is_named and wanted.metadata.namespace != namespace:
        return None
    has_status = False
    for manifest in manifests:
        if manifest.metadata.name != name:
            return None
        _drop_last_applied(manifest.metadata)
        _drop_identity(manifest.metadata)
        manifest.metadata.creationTimestamp = UNSET
        has_status = has_status or manifest.status is not UNSET
    is_stored = _is_stored(there.metadata)
    managed_fields = there.metadata.managedFields
    _drop_identity(there.metadata)
    _drop_counts(there.metadata)
    if not has_status:
        there.status = UNSET
    objects: list[Manifest | LiveObject] = [*manifests, there]
    text = _encode((is_named, namespace is UNSET, is_stored, objects))
    quoted = bytes(name) if isinstance(name, RawJSON) else b""
    hidden = _names_in(text, quoted, cluster)
    keys = [_hide(text, names) for names in hidden]
    return Content(text, keys, hidden, managed_fields, identity, objects)


def _names_in(text: bytes, quoted: bytes, cluster: str) -> list[tuple[bytes, bytes]]:
    """Return which names a text may be without: most of them, some, none."""
    if _SPELLED_OUT in text:
        return [(b"", b"")]
    inner = cluster.encode() if _PLAIN.fullmatch(cluster) else b""
    if inner not in text:
        inner = b""
    found = [(quoted, inner)] if quoted and quoted in text else []
    return [*found, (b"", inner), (b"", b"")] if inner else [*found, (b"", b"")]


def _hide(text: bytes, names: tuple[bytes, bytes]) -> bytes:
    quoted, cluster = names
    if quoted:
        text = text.replace(quoted, _A_NAME)
    return text.replace(cluster, _A_CLUSTER) if cluster else text


def is_hidden(content: Content, names: tuple[bytes, bytes]) -> bool:
    """Tell whether names are only in values of which nothing is made but comparisons.

    All places at which the text has them are counted.
    """
    quoted, cluster = names
    text, values = content.text, []
    try:
        for obj in content.objects:
            labels, spec = obj.metadata.labels, obj.spec
            if isinstance(labels, RawJSON):
                values += strings_of(labels)
            if isinstance(spec, RawJSON):
                values += opaque_values_of_spec(spec, obj.apiVersion)
            if isinstance(obj.data, RawJSON) and bytes(obj.kind) == _CONFIG_MAP:
                values += strings_of(obj.data)
    except (msgspec.MsgspecError, UnicodeError):
        return False
    if quoted:
        name = decode(quoted)
        if values.count(name) != text.count(quoted):
            return False
        text = text.replace(quoted, _A_NAME)
        values = [value for value in values if value != name]
    inner = cluster.decode()
    # A string has it at most as often as its JSON, in which escapes may be before it.
    return not inner or text.count(cluster) == sum(
        [value.count(inner) for value in values]
    )


def heads_of(content: Content) -> list[JSONObject]:
    """Return what rules choose objects by, of each object of a content.

    Raises MsgspecError for labels that are no strings.
    """
    name, wanted, there = content.identity
    # What was applied last has its namespace taken away.
    namespaces = [wanted, *[UNSET] * (len(content.objects) - 2), there]
    found: list[JSONObject] = []
    for obj, namespace in zip(content.objects, namespaces, strict=True):
        metadata: JSONObject = {}
        parts = {"name": name, "namespace": namespace, "labels": obj.metadata.labels}
        for member, part in parts.items():
            if isinstance(part, RawJSON):
                metadata[member] = decode(part)
        head: JSONObject = {"metadata": metadata}
        head["apiVersion"], head["kind"] = decode(obj.apiVersion), decode(obj.kind)
        found.append(head)
    return found


def _drop_last_applied(metadata: UsualMetadata) -> str | None:
    """Take the annotation of kubectl away, and return it."""
    if isinstance(metadata.annotations, dict):
        return metadata.annotations.pop(LAST_APPLIED, None)
    return None


def _drop_identity(metadata: UsualMetadata) -> None:
    metadata.name = UNSET
    metadata.namespace = UNSET


def _drop_counts(metadata: LiveMetadata) -> None:
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
