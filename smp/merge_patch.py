"""JSON Merge Patch (RFC 7396): apply and diff.

A merge patch is shaped like the document that it changes. A member with a value sets
that member, a member with null removes it, and a member with an object is merged into
the object of the same name. Any other value, a list included, replaces the old value.

Because null means *remove*, no merge patch can set a member to null. Where that would
be needed, ``diff`` raises.
"""

from __future__ import annotations

from typing import Any

from smp._values.plain import over_json
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_object,
    require_plain,
    same,
)
from smp.errors import ObjectError, SmpError

__all__ = ["apply", "diff"]


@over_json("the value", "target", "patch")
def apply(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7396, section 2).

    Members that the patch does not name are shared with the target, nulls among them
    kept. A patch that is not an object is itself the result. Raises DepthError.
    """
    return _apply(target, patch)


@over_json("the value", "original", "modified")
def diff(original: Any, modified: Any) -> Any:
    """Compute the smallest merge patch that turns original into modified.

    ``same(apply(original, patch), modified)`` holds; equal objects give ``{}``. Raises
    ObjectError (``null-not-expressible``) where modified has a null member that
    original lacks, and DepthError.
    """
    return _diff(original, modified)


def _apply(target: JSON, patch: JSON) -> JSON:
    """Apply a patch as the pseudocode MergePatch of RFC 7396, section 2, does."""
    # "If the patch is anything other than an object, the result will always be to
    # replace the entire target with the entire patch."
    if not isinstance(patch, dict):
        require_plain(patch)
        return patch
    if not isinstance(target, dict):
        require_plain(target)
        # An object patch ignores a target of another type: it starts from nothing.
        target = {}
    elif not patch:
        # Nothing changes, so the target itself can be shared.
        return target
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            # "Null values in the merge patch are given special meaning to indicate the
            # removal of existing values in the target" (section 1).
            result.pop(name, None)
        else:
            result[name] = _apply(result.get(name), value)
    return result


def _diff(original: JSON | Absent, modified: JSON) -> JSON:
    # A patch that is not an object replaces the whole target, so it can be the value.
    if not isinstance(modified, dict):
        require_plain(modified)
        return modified
    if not isinstance(original, dict):
        require_plain(original)
    base = as_object(original)
    # A member that only the original has is removed with null.
    patch: JSONObject = {name: None for name in base if name not in modified}
    for name, value in modified.items():
        before = base.get(name, ABSENT)
        if isinstance(before, dict) and isinstance(value, dict):
            # Objects are merged; a patch without members for them would do nothing.
            if changes := _diff_member(name, before, value):
                patch[name] = changes
        elif not same(before, value):
            patch[name] = _diff_member(name, before, value)
    return patch


def _diff_member(name: str, before: JSON | Absent, value: JSON) -> JSON:
    """Compute the patch of one member; errors below it get its name in their path."""
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
