"""Whether live has all that a manifest asks for, with as little decoded as possible.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._storage.update import as_stored
from smp._values.raw import RawJSON
from smp._values.values import JSON, JSONObject
from smp.fleet._coverage import covers, keeps
from smp.fleet._memory import Memory
from smp.fleet._objects import ObjectText, decode
from smp.schema.model import Schema

_PROFILE: Final = "kep1027"
_NULL: Final = b"null"
# The bytes of the members whose comparison is remembered.
_MOST: Final = 8 << 20


class Equality:
    """The fast comparison of many pairs.

    Objects of other names have the same spec, and objects with the same labels another
    one. So what is found out of two members of objects is remembered by their bytes.
    """

    def __init__(self) -> None:
        self._known: Memory[bool] = Memory(_MOST)
        # What was decoded last, as the same member is compared twice.
        self._last: tuple[bytes, JSON] = (b"", None)

    def is_equal(
        self,
        manifest: ObjectText,
        live: ObjectText,
        base: ObjectText | None,
        schema: Schema,
    ) -> bool:
        """Tell whether live has all that the manifest asks for; see covers.

        What cannot be decoded is not equal. Raises RecursionError.
        """
        try:
            return self._is_equal(manifest, live, base, schema)
        except (msgspec.MsgspecError, UnicodeError):
            return False

    def _is_equal(
        self,
        manifest: ObjectText,
        live: ObjectText,
        base: ObjectText | None,
        schema: Schema,
    ) -> bool:
        if not manifest.is_usual or not live.is_usual:
            return False
        for name, part in manifest.members.items():
            other = live.members.get(name)
            # Live lacks all of what the manifest has there.
            if other is None:
                return False
            if name != "metadata" and not self._covers((name,), part, other, schema):
                return False
        theirs = live.metadata or {}
        for name, part in (manifest.metadata or {}).items():
            other = theirs.get(name)
            if other is None:
                return False
            if name == "annotations":
                if not _has_annotations(manifest, live):
                    return False
            elif not self._covers(("metadata", name), part, other, schema):
                return False
        return base is None or self._keeps_all(manifest, base)

    def _keeps_all(self, manifest: ObjectText, base: ObjectText) -> bool:
        """Tell whether the manifest has all of a last-applied configuration."""
        if not base.is_usual:
            return False
        # What was applied last and is no longer in the manifest is pruned.
        for name, part in base.members.items():
            other = manifest.members.get(name)
            if name == "metadata":
                continue
            if other is None or not self._keeps(other, part):
                return False
        for name, part in (base.metadata or {}).items():
            # kubectl adds the namespace of the context, and empty annotations.
            if name == "namespace":
                continue
            if name == "annotations" and not _annotations_of(base):
                continue
            other = (manifest.metadata or {}).get(name)
            if other is None:
                return False
            if name == "annotations":
                kept = _annotations_of(manifest)
                if not keeps(kept, _annotations_of(base), in_order=False):
                    return False
            elif not self._keeps(other, part):
                return False
        return True

    def _covers(
        self, names: tuple[str, ...], part: RawJSON, other: RawJSON, schema: Schema
    ) -> bool:
        """Tell whether an apply leaves a member of live as it is.

        ``names`` lead to it: it is one of the object, or of its metadata.
        """
        # A null deletes what live has.
        if part == other:
            return bytes(part) != _NULL
        desired, value = bytes(part), bytes(other)
        key = (schema.api_version, schema.kind, names, desired, value)
        size = len(desired) + len(value)
        known = self._known.get(key, size)
        if known is not None:
            return known
        decoded: JSON = decode(desired)
        self._last = (desired, decoded)
        wanted: JSONObject = {names[-1]: decoded}
        there: JSONObject = {names[-1]: decode(value)}
        if len(names) > 1:
            wanted, there = {names[0]: wanted}, {names[0]: there}
            answer = covers(there, wanted, schema.type)
        else:
            answer = _covers_member(names[0], wanted, there, schema)
        self._known.keep(key, answer, size)
        return answer

    def _keeps(self, part: RawJSON, former: RawJSON) -> bool:
        """Tell whether a member of the manifest has all that was applied last."""
        if part == former:
            return True
        desired, value = bytes(part), bytes(former)
        key = (desired, value)
        size = len(desired) + len(value)
        known = self._known.get(key, size)
        if known is not None:
            return known
        # Another thread may replace it meanwhile.
        text, kept = self._last
        if text != desired:
            kept = decode(desired)
        answer = keeps(kept, decode(value), in_order=False)
        self._known.keep(key, answer, size)
        return answer


def _annotations_of(text: ObjectText) -> JSON:
    """Return the annotations of an object, but for the one of kubectl."""
    annotations = text.annotations
    if annotations is None:
        return None
    if isinstance(annotations, dict):
        return {**annotations}
    decoded: JSON = decode(annotations)
    return decoded


def _has_annotations(manifest: ObjectText, live: ObjectText) -> bool:
    wanted, there = _annotations_of(manifest), _annotations_of(live)
    if not isinstance(wanted, dict) or not isinstance(there, dict):
        return False
    for name, value in wanted.items():
        # A null deletes what live has; all others are texts.
        if not isinstance(value, str) or there.get(name) != value:
            return False
    return True


def _covers_member(
    name: str, wanted: JSONObject, there: JSONObject, schema: Schema
) -> bool:
    if covers(there, wanted, schema.type):
        return True
    # In lists that are replaced as a whole, a server adds defaults as well. A null or a
    # zero value that it drops removes what live has.
    stored = as_stored(wanted, None, schema, profile=_PROFILE)
    if stored is wanted or not keeps(stored, wanted, in_order=True):
        return False
    # Defaults beside the member were not asked for.
    return covers(there, {name: stored[name]}, schema.type)
