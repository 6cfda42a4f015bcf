"""What is remembered of pairs: answers by all that they depend on.

A fleet has the same objects in many clusters, under other names and with other times.
So what was found out of one pair holds for all with the same content: all of both
objects and of the last-applied configuration but for what tells them from the others
(name, namespace, uid) and what a server counts (resourceVersion, generation).

Many objects have their name in labels, too, and in what selects by them. Values of
labels are compared with each other and with names, and nothing else is made of them. So
a label that is the name of its object counts as the same label under any name. Where an
answer repeats the name, it holds for no other object.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from smp.api_objects import METADATA_OF_CREATION, SERVER_METADATA
from smp.fleet._objects import Members, Text, decode, split
from smp.raw import RawJSON

Answer = TypeVar("Answer")

# What a server sets, and what no answer depends on.
_SERVER: Final = frozenset(SERVER_METADATA) - {
    # An object that is being deleted is told from one that is not.
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
}
_NOT_COUNTED: Final = (*_SERVER, "name", "namespace")
_NULL: Final = b"null"
_ESCAPE: Final = b"\\"
# It stands for a name. No JSON value begins like this.
_A_NAME: Final = msgspec.Raw(b"*")
# To keep longer ones takes more memory than they are worth.
_LONGEST: Final = 1 << 16
_encode: Final = msgspec.json.Encoder().encode


class _Place(msgspec.Struct, frozen=True):
    """A place in an object: whether its members are labels, and where others are."""

    are_labels: bool = False
    members: dict[str, _Place] = {}


_LABELS: Final = _Place(are_labels=True)
_SELECTOR: Final = _Place(members={"matchLabels": _LABELS})
# The selector of a Service is one of labels as well.
_SELECTORS: Final = _Place(are_labels=True, members={"matchLabels": _LABELS})
_SPEC: Final = _Place(
    members={
        "selector": _SELECTORS,
        "podSelector": _SELECTOR,
        "template": _Place(members={"metadata": _Place(members={"labels": _LABELS})}),
    }
)
# The versions whose specs have no other members of these names.
_WITH_SELECTORS: Final = frozenset(
    (b'"v1"', b'"apps/v1"', b'"batch/v1"', b'"networking.k8s.io/v1"', b'"policy/v1"')
)


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

    ``name`` is that of the object, as JSON, where its labels have it; else it is None.
    """

    text: bytes
    name: str | None


def content_of(desired: Text, live: Text, base: Text | None) -> Content | None:
    """Return all that an answer about a pair depends on.

    None where it may depend on more: objects of different names, a manifest that sets
    what servers set.
    """
    ours, theirs = desired.metadata, live.metadata
    if ours is None or theirs is None or not live.is_usual:
        return None
    name, namespace = theirs.get("name"), theirs.get("namespace")
    is_named = "namespace" in ours
    if is_named and ours["namespace"] != namespace:
        return None
    if name is None or _ESCAPE in bytes(name):
        return None
    names = _Names(bytes(name))
    parts: list[object] = [is_named, namespace is None, _is_stored(theirs)]
    has_status = False
    try:
        for side in [desired] if base is None else [desired, base]:
            metadata = side.metadata
            if metadata is None or not side.is_usual or metadata.get("name") != name:
                return None
            if not _SERVER.isdisjoint(metadata):
                return None
            has_status = has_status or "status" in side.members
            parts.append(_content_of_one(side, names))
        of_live = _content_of_one(live, names)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    if not has_status:
        of_live.pop("status", None)
    if names.are_in_expressions:
        return None
    parts.append(of_live)
    return Content(_encode(parts), bytes(name).decode() if names.are_found else None)


def _content_of_one(text: Text, names: _Names) -> dict[str, object]:
    """Return the members of an object, but for what tells it from others."""
    found: dict[str, object] = {**text.members}
    metadata: dict[str, object] = {**(text.metadata or {})}
    found["metadata"] = metadata
    for name in _NOT_COUNTED:
        metadata.pop(name, None)
    if text.annotations is not None:
        metadata["annotations"] = text.annotations
    labels = (text.metadata or {}).get("labels")
    if labels is not None:
        metadata["labels"] = names.replaced(labels, _LABELS)
    spec = text.members.get("spec")
    if spec is not None and text.member("apiVersion") in _WITH_SELECTORS:
        found["spec"] = names.replaced(spec, _SPEC)
    return found


class _Names:
    """Replaces the name of an object where it is the value of a label.

    Where it is in a selector that has expressions, it is not replaced.
    """

    __slots__ = ("_name", "are_found", "are_in_expressions")

    def __init__(self, name: bytes) -> None:
        self._name = name
        self.are_found = False
        self.are_in_expressions = False

    def replaced(self, value: RawJSON, place: _Place) -> object:
        """Return a value, or its members where the name may be one of its labels.

        Raises MsgspecError and UnicodeError.
        """
        text = bytes(value)
        if self._name not in text and _ESCAPE not in text:
            return value
        if not text.startswith(b"{"):
            return value
        found: dict[str, object] = {}
        for member, part in split(text).items():
            below = place.members.get(member)
            if place.are_labels and self._is_name(bytes(part)):
                found[member] = _A_NAME
                self.are_found = True
            elif below is not None:
                found[member] = self.replaced(part, below)
            else:
                found[member] = part
                # An expression can be another spelling of a label.
                if member == "matchExpressions":
                    self.are_in_expressions = True
        return found

    def _is_name(self, value: bytes) -> bool:
        if value == self._name:
            return True
        # A text with escapes may be the same one.
        return _ESCAPE in value and bool(decode(value) == decode(self._name))


def _is_stored(metadata: Members) -> bool:
    for name in METADATA_OF_CREATION:
        value: RawJSON | None = metadata.get(name)
        if value is not None and bytes(value) != _NULL:
            return True
    return False
