"""Whether live has all that a manifest asks for, with as little decoded as possible."""

from __future__ import annotations

from typing import Final

import msgspec

from smp.fleet._coverage import covers, keeps
from smp.fleet._objects import SPLIT, annotations_of, bare, decode, without_annotation
from smp.last_applied import LAST_APPLIED
from smp.raw import RawJSON
from smp.schema.model import Schema
from smp.update import as_stored
from smp.values import JSON, JSONObject

_PROFILE: Final = "kep1027"
# Answers that are remembered, and the bytes of the longest member of one.
_MOST: Final = 4096
_LONGEST: Final = 1 << 15

_Parts = dict[str, RawJSON]


class Equality:
    """The fast comparison of many pairs.

    A fleet has the same spec in many clusters, under other names. So what is found out
    of two members of objects is remembered by their bytes; metadata is compared each
    time.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str, str, bytes, bytes], bool] = {}

    def is_equal(
        self,
        manifest: _Parts,
        live: _Parts,
        last_applied: bytes | None,
        schema: Schema,
    ) -> bool:
        """Tell whether live has all that the manifest asks for; see covers.

        What cannot be decoded is not equal. Raises RecursionError.
        """
        try:
            return self._is_equal(manifest, live, last_applied, schema)
        except (msgspec.MsgspecError, UnicodeError):
            return False

    def _is_equal(
        self,
        manifest: _Parts,
        live: _Parts,
        last_applied: bytes | None,
        schema: Schema,
    ) -> bool:
        for name in manifest:
            # Live lacks all of what the manifest has there.
            if name not in live:
                return False
            if name == "metadata":
                continue
            if not self._answer("covers", name, manifest[name], live[name], schema):
                return False
        wanted: JSONObject = {}
        there: JSONObject = {}
        if "metadata" in manifest:
            metadata = decode(manifest["metadata"])
            if not isinstance(metadata, dict):
                return False
            found: JSONObject = {}
            # managedFields are often most of the metadata, and no manifest has them.
            for name, part in SPLIT.decode(live["metadata"]).items():
                if name in metadata or name == "annotations":
                    found[name] = decode(part)
            wanted = without_annotation({"metadata": metadata})
            there = {"metadata": found}
            if not covers(there, wanted, schema.type):
                return False
        text: JSON | bytes = last_applied
        if text is None:
            text = annotations_of(there).get(LAST_APPLIED)
        if not isinstance(text, (str, bytes)):
            return True
        return self._keeps_all(manifest, wanted, text, schema)

    def _keeps_all(
        self, manifest: _Parts, wanted: JSONObject, text: str | bytes, schema: Schema
    ) -> bool:
        """Tell whether the manifest has all of a last-applied configuration."""
        # What was applied last and is no longer in the manifest is pruned.
        for name, part in SPLIT.decode(text).items():
            if name == "metadata":
                base = bare({"metadata": decode(part)})
                if not keeps(wanted, base, in_order=False):
                    return False
                continue
            if name not in manifest:
                return False
            if not self._answer("keeps", name, manifest[name], part, schema):
                return False
        return True

    def _answer(
        self, asked: str, name: str, part: RawJSON, other: RawJSON, schema: Schema
    ) -> bool:
        """Compare a member of the manifest with one of another object."""
        desired, value = bytes(part), bytes(other)
        # A null deletes what live has.
        if desired == value:
            return desired != b"null"
        key = (asked, schema.api_version, schema.kind, name, desired, value)
        known = self._known.get(key)
        if known is not None:
            return known
        if asked == "covers":
            answer = _covers_member(name, decode(desired), decode(value), schema)
        else:
            answer = keeps(decode(desired), decode(value), in_order=False)
        if max(len(desired), len(value)) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = answer
        return answer


def _covers_member(name: str, desired: JSON, live: JSON, schema: Schema) -> bool:
    wanted: JSONObject = {name: desired}
    there: JSONObject = {name: live}
    if covers(there, wanted, schema.type):
        return True
    # In lists that are replaced as a whole, a server adds defaults as well. A null or a
    # zero value that it drops removes what live has.
    stored = as_stored(wanted, None, schema, profile=_PROFILE)
    if stored is wanted or not keeps(stored, wanted, in_order=True):
        return False
    # Defaults beside the member were not asked for.
    return covers(there, {name: stored[name]}, schema.type)
