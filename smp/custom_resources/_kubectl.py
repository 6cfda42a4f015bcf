"""The patch that kubectl apply sends for a kind that it has no Go type of.

Go: k8s.io/apimachinery, pkg/util/jsonmergepatch, CreateThreeWayJSONMergePatch, with
gopkg.in/evanphx/json-patch.v4, CreateMergePatch and MergePatch.
"""

from __future__ import annotations

from typing import Final

from smp._values.plain import over_json, require_object
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    check_depth,
    drop_nulls,
    same,
)
from smp.errors import ObjectError

# Go's encoding/json prints a float without an exponent below this number.
_FIRST_WITH_EXPONENT: Final = 1e21
# An integer is a float64 on the way, exact up to here.
_EXACT: Final = 2**53


@over_json("the object", "last_applied", "modified", "live")
def three_way_json_merge_patch(
    last_applied: JSONObject, modified: JSONObject, live: JSONObject
) -> JSONObject:
    """Return what kubectl apply sends as a JSON merge patch (RFC 7396).

    What the modified configuration adds to live or changes in it, and a null for what
    it no longer has of the last-applied one. Lists are sent as a whole.
    """
    last_applied = require_object("last_applied", last_applied)
    modified = require_object("modified", modified)
    live = require_object("live", live)
    for obj in (last_applied, modified, live):
        check_depth(obj)
    wanted = _convert_to_floats(modified)
    _, changes = _split(_diff(_convert_to_floats(live), wanted))
    deletions, _ = _split(_diff(_convert_to_floats(last_applied), wanted))
    return _merge(deletions, changes)


def _convert_to_floats(obj: JSONObject) -> JSONObject:
    """Return an object with each number as Go reads it, and prints it again.

    Go: json.Unmarshal makes float64 values of all numbers, so that 1.0 is 1.
    """
    return {name: _convert_to_float(value) for name, value in obj.items()}


def _convert_to_float(value: JSON) -> JSON:
    if isinstance(value, dict):
        return _convert_to_floats(value)
    if isinstance(value, list):
        return [_convert_to_float(element) for element in value]
    if isinstance(value, float) and abs(value) < _FIRST_WITH_EXPONENT:
        return int(value) if value.is_integer() else value
    # A bool is an int to Python, and is not beyond any number.
    if isinstance(value, int) and abs(value) > _EXACT:
        try:
            rounded = float(value)
        except OverflowError:
            # Go: UnmarshalTypeError, "cannot unmarshal number".
            raise ObjectError("a number is out of range", code="not-json") from None
        return int(rounded) if abs(rounded) < _FIRST_WITH_EXPONENT else rounded
    return value


def _diff(before: JSONObject, after: JSONObject) -> JSONObject:
    """Go: jsonpatch.getDiff."""
    changes: JSONObject = {}
    for name, value in after.items():
        old: JSON | Absent = before.get(name, ABSENT)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = _diff(old, value)
            if inner:
                changes[name] = inner
        # Go compares values of one type only, so that null is never equal to another.
        elif not same(old, value):
            changes[name] = value
    for name in before:
        if name not in after:
            changes[name] = None
    return changes


def _split(changes: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the changes that are deletions, and the others.

    Go: keepOrDeleteNullInObj.
    """
    deletions: JSONObject = {}
    others: JSONObject = {}
    for name, value in changes.items():
        # An empty object is a value, and not a patch without members.
        if isinstance(value, dict) and value:
            deleted, other = _split(value)
            if deleted:
                deletions[name] = deleted
            if other:
                others[name] = other
        elif value is None:
            deletions[name] = None
        else:
            others[name] = value
    return deletions, others


def _merge(deletions: JSONObject, changes: JSONObject) -> JSONObject:
    """Return the patch of both. Go: jsonpatch.MergePatch, mergeDocs."""
    patch = dict(deletions)
    for name, value in changes.items():
        existing = patch.get(name)
        # Only deletions of members stand beside changes of other members.
        if isinstance(existing, dict) and isinstance(value, dict):
            patch[name] = _merge(existing, value)
        else:
            patch[name] = drop_nulls(value)
    return patch
