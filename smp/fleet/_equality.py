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


def is_equal(
    manifest: JSONObject,
    live: dict[str, RawJSON],
    last_applied: bytes | None,
    schema: Schema,
) -> bool:
    """Tell whether live has all that the manifest asks for; see covers.

    What cannot be decoded is not equal.
    """
    try:
        members = _members(manifest, live)
        if members is None:
            return False
        text: JSON | bytes = last_applied
        if text is None:
            text = annotations_of(members).get(LAST_APPLIED)
        base: JSON = decode(text) if isinstance(text, (str, bytes)) else {}
    except (msgspec.MsgspecError, UnicodeError):
        return False
    desired = without_annotation(manifest)
    if not covers(members, desired, schema.type):
        # In lists that are replaced as a whole, a server adds defaults as well. A null
        # or a zero value that it drops removes what live has.
        stored = as_stored(desired, None, schema, profile=_PROFILE)
        if stored is desired or not keeps(stored, desired, in_order=True):
            return False
        if not covers(members, stored, schema.type):
            return False
    # What was applied last and is no longer in the manifest is pruned.
    return isinstance(base, dict) and keeps(desired, bare(base), in_order=False)


def _members(manifest: JSONObject, live: dict[str, RawJSON]) -> JSONObject | None:
    """Decode the members of live that the manifest has; None where one is missing.

    Of the metadata it is the same, and the annotations, with what was applied last.
    """
    members: JSONObject = {}
    for name, wanted in manifest.items():
        # Live lacks all of what the manifest has there.
        if name not in live:
            return None
        if name != "metadata" or not isinstance(wanted, dict):
            members[name] = decode(live[name])
            continue
        # managedFields are often most of the metadata, and no manifest has them.
        metadata: JSONObject = {}
        for part, value in SPLIT.decode(live[name]).items():
            if part in wanted or part == "annotations":
                metadata[part] = decode(value)
        members[name] = metadata
    return members
