"""JSON Merge Patch (RFC 7396): apply, diff and compose.

In a patch null means *remove*, so a merge patch can say neither "set this member to
null" nor "replace this object by another one". Where that would be needed, ``diff`` and
``compose`` raise.
"""

from __future__ import annotations

from smp.errors import CompositionError, DepthError, ObjectError, SmpError
from smp.values import ABSENT, JSON, Absent, JSONObject, same


def apply(target: JSON, patch: JSON) -> JSON:
    """Apply a merge patch (RFC 7396, section 2).

    Members that the patch does not name are shared with the target, nulls among them
    kept. A patch that is no object is the result. Raises DepthError.
    """
    try:
        return _apply(target, patch)
    except RecursionError:
        raise _too_deep() from None


def diff(original: JSON, modified: JSON) -> JSON:
    """Compute the smallest merge patch with ``same(apply(original, patch), modified)``;
    equal objects give ``{}``.

    Raises ObjectError (``null-not-expressible``) where modified has a null member that
    original lacks, and DepthError.
    """
    try:
        return _diff(original, modified)
    except RecursionError:
        raise _too_deep() from None


def compose(first: JSON, second: JSON) -> JSON:
    """Compose two merge patches: applying the result equals applying first and then
    second.

    Raises CompositionError where the first removes or replaces what the second then
    patches as an object: a merge patch would leave the members of the old object there.
    Raises DepthError.
    """
    try:
        return _compose(first, second)
    except RecursionError:
        raise _too_deep() from None


def _apply(target: JSON, patch: JSON) -> JSON:
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    elif not patch:
        return target
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _apply(result.get(name), value)
    return result


def _diff(original: JSON | Absent, modified: JSON) -> JSON:
    if not isinstance(modified, dict):
        return modified
    base: JSONObject = original if isinstance(original, dict) else {}
    patch: JSONObject = {name: None for name in base if name not in modified}
    for name, value in modified.items():
        before = base.get(name, ABSENT)
        if isinstance(before, dict) and isinstance(value, dict):
            if changes := _member(name, before, value):
                patch[name] = changes
        elif not same(before, value):
            patch[name] = _member(name, before, value)
    return patch


def _member(name: str, before: JSON | Absent, value: JSON) -> JSON:
    try:
        if value is None:
            raise ObjectError(
                "a merge patch cannot set a member to null",
                code="null-not-expressible",
                hint="leave the member out, or use a JSON Patch",
            )
        return _diff(before, value)
    except SmpError as error:
        raise error.within(name) from None


def _compose(first: JSON, second: JSON) -> JSON:
    if not isinstance(second, dict):
        return second
    if not isinstance(first, dict):
        raise CompositionError(
            "the second patch changes an object that the first one removed or replaced",
            hint="apply the patches one after the other",
        )
    result = dict(first)
    for name, value in second.items():
        result[name] = (
            _composed_member(name, first[name], value) if name in first else value
        )
    return result


def _composed_member(name: str, first: JSON, second: JSON) -> JSON:
    try:
        return _compose(first, second)
    except SmpError as error:
        raise error.within(name) from None


def _too_deep() -> DepthError:
    return DepthError("the value is nested deeper than the stack allows")
