"""The form of a patch that leads a server from one object to another.

Three things decide it.

1. A JSON merge patch (RFC 7396) sets and removes members of objects one by one: what
   others write into other members meanwhile stays. It sends a list as a whole, and
   cannot say null.
2. A JSON Patch (RFC 6902) can say null, and ``test`` that a list is still what it was
   when the patch was computed. It cannot add an object without replacing one that was
   created meanwhile, and cannot test that there is none.
3. Either can have the resourceVersion of the object, so that a server refuses the patch
   if anything in the object changed meanwhile.

So the form is the first of these that loses nothing:

- the merge patch alone, where no list is sent, no null, and no object goes as a whole;
- a JSON Patch with tests of all lists, atomic maps and other objects that it replaces
  or removes;
- the merge patch with the resourceVersion;
- a JSON Patch that tests the resourceVersion.

A kube-apiserver compares strings and numbers of a ``test`` as they are printed (Go:
gopkg.in/evanphx/json-patch.v4, lazyNode.equal). Its own text has ``<`` as an escape,
and floats as Go prints them, so a value with such texts is not tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, Final, Literal, TypeAlias

import msgspec

from smp import merge_patch
from smp._values.plain import over_json, require_object
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_object,
    check_depth,
    same,
)
from smp.paths import Path
from smp.schema.model import ANY_FIELD, Field, ObjectType, Schema, Type

STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

# An object (the merge patches), or a list of operations.
Patch: TypeAlias = "JSONObject | JSONArray"
Guard: TypeAlias = Literal["none", "test", "resourceVersion"]

_VERSION: Final = Path(("metadata", "resourceVersion"))
# Of a JSON Patch that a kube-apiserver takes (Go: handlers.maxJSONPatchOperations).
_MAX_OPERATIONS: Final = 10_000
# Go's encoding/json writes these as \u003c and the like.
_ESCAPED: Final = frozenset("<>&")


class PatchForm(msgspec.Struct, frozen=True):
    """A patch in the form that its media type names, and why it has that form.

    ``guard`` is what makes a server refuse the patch after a concurrent change:
    ``test`` operations (422), the ``resourceVersion`` (409, and 422 in a ``test``).
    """

    patch: Any
    media_type: str
    reason: str
    guard: Guard = "none"


class _Change(msgspec.Struct, frozen=True):
    """A member of an object that differs; ABSENT where one side does not have it."""

    path: Path
    old: JSON | Absent
    new: JSON | Absent

    @property
    def is_whole(self) -> bool:
        """Whether it replaces or removes an object or a list with all it has."""
        return isinstance(self.old, (dict, list))

    @property
    def creates_object(self) -> bool:
        """Whether it adds an object, which others may have added meanwhile."""
        return isinstance(self.new, dict) and not self.is_whole

    @property
    def creates_list(self) -> bool:
        """Whether it adds a list, or an object with one."""
        return _has(self.new, list) and not self.is_whole

    @property
    def has_null(self) -> bool:
        """Whether its new value is or has null."""
        return _has(self.new, NoneType)


@over_json("the object", "live", "obj")
def form_of(live: JSONObject, obj: JSONObject, schema: Schema) -> PatchForm:
    """Return the patch that leads a server from the live object to another one.

    Applied to the live object, it leads to the other one exactly. An atomic map is
    replaced as a whole. Raises DepthError.
    """
    live = require_object("live", live)
    obj = require_object("obj", obj)
    check_depth(live)
    check_depth(obj)
    changes = [*_changes(live, obj, schema.type, Path())]
    if not changes:
        return PatchForm({}, MERGE_PATCH, "nothing changes")
    nulls = [change.path for change in changes if change.has_null]
    whole = [change for change in changes if change.is_whole]
    lists = [change.path for change in changes if change.creates_list]
    objects = [change.path for change in changes if change.creates_object]
    # RFC 7396, section 1: a list is replaced as a whole, and null means removal.
    if not nulls and not whole and not lists:
        reason = "every change is a member of an object, which is set or removed alone"
        return PatchForm(_merge_patch(changes), MERGE_PATCH, reason)

    reasons = []
    if nulls:
        reasons.append(
            f"a JSON merge patch cannot set null, as in {_list_paths(nulls)}"
        )
    if whole:
        paths = _list_paths([change.path for change in whole])
        reasons.append(f"replaced or removed as a whole: {paths}")
    is_testable = all(_is_compared_exactly(change.old) for change in whole)
    is_testable = is_testable and len(changes) + len(whole) <= _MAX_OPERATIONS
    # "add" replaces a member that exists by now (RFC 6902, section 4.1).
    if is_testable and not lists and not objects:
        return _tested_form(changes, reasons)
    if lists or (nulls and objects):
        reasons.append(
            f"new, and may have come meanwhile: {_list_paths(lists or objects)}"
        )
    return _guarded_form(live, changes, reasons, is_testable=is_testable)


def _tested_form(changes: list[_Change], reasons: list[str]) -> PatchForm:
    """Return a JSON Patch that tests what it replaces or removes as a whole.

    RFC 6902, section 4.6: a failed test fails the whole patch.
    """
    tests = [
        _operation("test", change.path, change.old)
        for change in changes
        if change.is_whole
    ]
    guard: Guard = "test" if tests else "none"
    operations = [*tests, *(_operation_of(change) for change in changes)]
    return PatchForm(operations, JSON_PATCH, "; ".join(reasons), guard)


def _guarded_form(
    live: JSONObject, changes: list[_Change], reasons: list[str], *, is_testable: bool
) -> PatchForm:
    """Return a patch with the resourceVersion of live, or the best without one."""
    has_null = any(change.has_null for change in changes)
    operations = [_operation_of(change) for change in changes]
    version = as_object(live.get("metadata")).get("resourceVersion")
    if not isinstance(version, str):
        # Objects of a file often have none.
        reasons.append(f"the live object has no {_VERSION} to guard them")
        if is_testable:
            return _tested_form(changes, reasons)
        if has_null:
            return PatchForm(operations, JSON_PATCH, "; ".join(reasons))
        return PatchForm(_merge_patch(changes), MERGE_PATCH, "; ".join(reasons))

    # API conventions, Concurrency Control: a write with another resourceVersion is a
    # conflict. A JSON Patch has no such member, so it tests the one of the object.
    reason = "; ".join(reasons)
    if has_null:
        test = _operation("test", _VERSION, version)
        return PatchForm([test, *operations], JSON_PATCH, reason, "resourceVersion")
    patch = _merge_patch(changes)
    # A configuration may have a resourceVersion of its own.
    metadata = {"resourceVersion": version, **as_object(patch.get("metadata"))}
    patch["metadata"] = metadata
    return PatchForm(patch, MERGE_PATCH, reason, "resourceVersion")


def _changes(
    old: JSONObject, new: JSONObject, type_: Type, path: Path
) -> Iterator[_Change]:
    """Yield the members that differ, of objects at any depth that are not atomic."""
    for name in {**old, **new}:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if before is after or same(before, after):
            continue
        field = type_.field(name) or ANY_FIELD
        is_merged = isinstance(before, dict) and isinstance(after, dict)
        # What a schema does not know is merged by RFC 7396.
        if is_merged and not _is_atomic(field):
            yield from _changes(
                as_object(before), as_object(after), field.type, path / name
            )
        else:
            yield _Change(path / name, before, after)


def _is_atomic(field: Field) -> bool:
    """Tell whether the object in a field is an atomic map."""
    type_ = field.type
    own = type_.map_type if isinstance(type_, ObjectType) else ""
    return (field.map_type or own) == "atomic"


def _merge_patch(changes: list[_Change]) -> JSONObject:
    patch: JSONObject = {}
    for change in changes:
        *above, name = change.path.steps
        place = patch
        for step in above:
            inner = place.setdefault(str(step), {})
            place = as_object(inner)
        value: JSON = None if isinstance(change.new, Absent) else change.new
        if isinstance(value, dict) and isinstance(change.old, dict):
            # An atomic map. A merge patch merges all objects, so it needs a null for
            # each member that goes.
            value = merge_patch.diff(change.old, value)
        place[str(name)] = value
    return patch


def _operation_of(change: _Change) -> JSON:
    if isinstance(change.new, Absent):
        return {"op": "remove", "path": change.path.pointer}
    name = "add" if isinstance(change.old, Absent) else "replace"
    return _operation(name, change.path, change.new)


def _operation(name: str, path: Path, value: Any) -> JSON:
    return {"op": name, "path": path.pointer, "value": value}


def _has(value: JSON | Absent, type_: type) -> bool:
    """Tell whether a value, or one that is in it at any depth, is of a type."""
    if isinstance(value, type_):
        return True
    if isinstance(value, dict):
        return any(_has(content, type_) for content in value.values())
    if isinstance(value, list):
        return any(_has(element, type_) for element in value)
    return False


def _is_compared_exactly(value: JSON | Absent) -> bool:
    """Tell whether a ``test`` finds a value equal to itself on a kube-apiserver."""
    if isinstance(value, dict):
        return all(_is_compared_exactly(content) for content in value.values())
    if isinstance(value, list):
        # A null element is a nil pointer, which is not checked for.
        return None not in value and all(map(_is_compared_exactly, value))
    if isinstance(value, str):
        # Clients may write other characters as escapes, and Go does not.
        return value.isascii() and value.isprintable() and not _ESCAPED & {*value}
    return not isinstance(value, float)


def _list_paths(paths: list[Path]) -> str:
    """Name one path, and how many more there are."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}"
