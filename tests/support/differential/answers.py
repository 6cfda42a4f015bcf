"""What smp answers, and when two answers agree."""

from __future__ import annotations

from typing import Final

from smp._strategic import KUBECTL_PRECONDITIONS, find_conflicts
from smp._values.values import JSON, JSONObject, same
from smp.errors import ConflictError, SmpError
from tests.support.differential.cases import Case
from tests.support.engines import apply_patch, three_way_patch, two_way_patch
from tests.support.reference import as_go_prints

CONFLICT: Final = "conflicts with changes made from original to current"
"""How the reference words the error of a three-way patch without overwriting."""

# The reference stops at the first conflict, smp looks on for others: after a conflict
# it may come to something that cannot be compared, and answer with one of these.
_INCOMPARABLE: Final = (
    "nested-list",
    "mixed-list",
    "null-element",
    "not-an-object",
    "missing-merge-key",
    "invalid-merge-key",
    "no-merge-key",
    "unknown-field",
)
_DIRECTIVES: Final = (
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$deleteFromPrimitiveList",
)


def answer_of(case: Case) -> JSONObject:
    """Return the answer of smp, in the form of the reference's answers."""
    try:
        return {"result": _result_of(case)}
    except ConflictError as error:
        return {"error": CONFLICT, "code": error.code}
    except SmpError as error:
        return {"error": str(error), "code": error.code}


def _result_of(case: Case) -> JSON:
    schema = case.subject.schema
    match case.op:
        case "apply":
            original, patch = case.document("original"), case.document("patch")
            return apply_patch(original, patch, schema)
        case "two_way":
            original, modified = case.document("original"), case.document("modified")
            return two_way_patch(original, modified, schema)
        case "conflicts":
            left, right = case.document("left"), case.document("right")
            return bool(find_conflicts(left, right, schema))
    checks = KUBECTL_PRECONDITIONS if "preconditions" in case.options else ()
    return three_way_patch(
        case.documents["original"],
        case.document("modified"),
        case.document("current"),
        schema,
        overwrite="no-overwrite" not in case.options,
        preconditions=checks,
    )


def agree(case: Case, ours: JSONObject, theirs: JSONObject) -> bool:
    """Tell whether two answers are equal results, or errors on both sides.

    Where the reference reports a conflict ours has to be one, too, or one of the errors
    that smp comes to behind a conflict.
    """
    if "result" in ours and "result" in theirs:
        result = as_go_prints(ours["result"])
        if case.op == "apply":
            return same(result, theirs["result"])
        return same(
            _with_sorted_deletions(result), _with_sorted_deletions(theirs["result"])
        )
    if "result" in ours or "result" in theirs:
        return False
    if CONFLICT in str(theirs.get("error")):
        return ours.get("code") in ("conflict", *_INCOMPARABLE)
    return True


def agree_as_stored(case: Case, ours: JSONObject, theirs: JSONObject) -> bool:
    """Tell whether a typed server would store the same for both results (deviation 1).

    Nulls and directives of the live object itself do not count on our side either.
    """
    if case.op != "apply" or "result" not in ours or "result" not in theirs:
        return False
    live, result = case.documents["original"], as_go_prints(ours["result"])
    if not same(live, stored(live)):
        result = stored(result)
    return same(result, stored(theirs["result"]))


def stored(value: JSON) -> JSON:
    """Return what a typed server decodes: no directives, and no nulls in objects."""
    if isinstance(value, dict):
        kept: JSONObject = {}
        for name, member in value.items():
            if member is not None and not name.startswith(_DIRECTIVES):
                kept[name] = stored(member)
        return kept
    if isinstance(value, list):
        return [stored(element) for element in value]
    return value


def _with_sorted_deletions(patch: JSON) -> JSON:
    """Sort the lists of values to delete: their order has no meaning."""
    if isinstance(patch, list):
        return [_with_sorted_deletions(element) for element in patch]
    if not isinstance(patch, dict):
        return patch
    result: JSONObject = {}
    for name, member in patch.items():
        value = _with_sorted_deletions(member)
        if name.startswith("$deleteFromPrimitiveList") and isinstance(value, list):
            value = sorted(value, key=repr)
        result[name] = value
    return result
