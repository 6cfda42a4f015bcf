"""Whether live has all that a manifest asks for, with as little decoded as possible.

Most pairs of a fleet differ only in what a server adds: status, metadata, defaults. So
before a patch is computed, one walk looks at what the manifest has, along its type, and
at nothing else. What it cannot tell for sure it calls not covered, and the engine
decides: a list in another order, a repeated patch merge key, a null, a quantity in
another spelling.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._storage.update import as_stored
from smp._values.raw import RawJSON
from smp._values.values import JSON, JSONArray, JSONObject, same
from smp.fleet._memory import Memory
from smp.fleet._objects import ObjectText, decode
from smp.schema.model import Field, ListType, ObjectType, Schema, Type


def covers(live: JSONObject, desired: JSONObject, type_: Type) -> bool:
    """Tell whether an apply of the manifest would leave the live object as it is.

    Members that only live has are not looked at. Raises RecursionError.
    """
    for name, value in desired.items():
        # Go: strategicpatch.diffMaps: null in a manifest deletes what live has.
        if name not in live or value is None:
            return False
        other = live[name]
        if type(value) is not type(other):
            return False
        # Scalars first: most values are strings.
        if not isinstance(value, (dict, list)):
            if value != other:
                return False
            continue
        if same(value, other):
            continue
        # An unknown field is merged by RFC 7396, which this does not follow.
        field = type_.field(name)
        if field is None or not covers_value(other, value, field):
            return False
    return True


def covers_value(live: JSON, desired: JSON, field: Field) -> bool:
    """Compare two objects, or two lists, that are not the same."""
    # Go: strategicpatch.handleMapDiff, handleSliceDiff: a field with the strategy
    # replace is one value.
    if field.replaces:
        return False
    if isinstance(desired, dict) and isinstance(live, dict):
        # An atomic map of a custom resource is one value.
        map_type = field.map_type
        if not map_type and isinstance(field.type, ObjectType):
            map_type = field.type.map_type
        return map_type != "atomic" and covers(live, desired, field.type)
    if not isinstance(desired, list) or not isinstance(live, list):
        return False
    keys = keys_of(field)
    return bool(keys) and covers_elements(live, desired, keys, field.type.items)


def keys_of(field: Field) -> tuple[str, ...]:
    """Return the keys by which the elements of a list are merged; none for others."""
    if field.merge_key:
        return (field.merge_key,) if field.merges else ()
    # Custom resources are merged by the list types of their definition.
    type_ = field.type
    if isinstance(type_, ListType) and type_.list_type == "map":
        return type_.map_keys
    return ()


def covers_elements(
    live: JSONArray, desired: JSONArray, keys: tuple[str, ...], type_: Type
) -> bool:
    """Compare the elements of two lists that are in the same places."""
    # Another order, or an element of others, takes the engine to judge.
    if len(live) != len(desired):
        return False
    seen = set()
    for element, other in zip(desired, live, strict=True):
        if not isinstance(element, dict) or not isinstance(other, dict):
            return False
        identity = tuple([element.get(key) for key in keys])
        # Without a key no patch can be computed, which is an error to report.
        for part in identity:
            if not isinstance(part, (str, int)):
                return False
        seen.add(identity)
        if not covers(other, element, type_):
            return False
    # A patch for one of several elements of a key changes another one.
    return len(seen) == len(desired)


def keeps(value: JSON, former: JSON, *, in_order: bool) -> bool:
    """Tell whether a value has all members that a former one has, whatever they are.

    ``in_order`` says that the elements of lists are still in their places; otherwise a
    list that is not equal does not count as kept. Raises RecursionError.
    """
    if isinstance(former, dict):
        if not isinstance(value, dict):
            return False
        for name, member in former.items():
            if name not in value:
                return False
            if not keeps(value[name], member, in_order=in_order):
                return False
    elif isinstance(former, list):
        if not isinstance(value, list):
            return False
        # 1, 1.0 and true need not be told apart: only the members matter.
        if former == value:
            return True
        if not in_order or len(former) != len(value):
            return False
        for element, other in zip(value, former, strict=True):
            if not keeps(element, other, in_order=True):
                return False
    return True


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
        """Tell whether an apply leaves a member of live, at ``names``, as it is."""
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
