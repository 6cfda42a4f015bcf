"""The strategic merge patch engine: compute, apply, compose and compare patches.

Objects and patches are plain JSON values; arguments are never mutated, and results
share the subtrees that did not change. In an object null means a present null; in a
patch it deletes the field; an absent field says nothing. Every error is a SmpError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Final, ParamSpec, TypeAlias, TypeVar

from smp.errors import (
    CompositionError,
    Conflict,
    ConflictError,
    DepthError,
    ObjectError,
    PatchError,
    PreconditionError,
)
from smp.paths import Path, Step
from smp.schema.model import Schema
from smp.strategic._apply import apply_object
from smp.strategic._compose import compose_objects
from smp.strategic._conflicts import conflicts
from smp.strategic._diff import Diff
from smp.strategic._directives import REPLACE, PatchObject, is_directive, read_object
from smp.values import ABSENT, JSON, Absent, JSONObject, check_depth, same, type_name

__all__ = [
    "KUBECTL_PRECONDITIONS",
    "REPLACE",
    "PatchObject",
    "Precondition",
    "apply_patch",
    "compose_patches",
    "find_conflicts",
    "is_directive",
    "missing",
    "read_object",
    "three_way_patch",
    "two_way_patch",
    "unchanged",
]

Precondition: TypeAlias = Callable[[JSONObject], bool]
P = ParamSpec("P")
R = TypeVar("R")


def _guarded(operation: Callable[P, R]) -> Callable[P, R]:
    """Turn the interpreter's stack limit into an error of ours."""

    @wraps(operation)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return operation(*args, **kwargs)
        except RecursionError:
            raise DepthError(
                "the value is nested too deeply",
                hint="real objects nest some tens of levels",
            ) from None

    return guarded


@_guarded
def two_way_patch(
    original: JSONObject, modified: JSONObject, schema: Schema
) -> JSONObject:
    """Compute the patch that turns the original object into the modified one.

    Returns ``{}`` for equal objects. Raises ObjectError for lists that cannot be
    compared and UnknownFieldError where unknown fields differ. Go:
    strategicpatch.CreateTwoWayMergePatch.
    """
    _require_objects(original=original, modified=modified)
    return Diff().objects(original, original, modified, schema.type)


@_guarded
def three_way_patch(
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    overwrite: bool = True,
    preconditions: Iterable[Precondition] = (),
) -> JSONObject:
    """Compute the patch that brings the live object to the modified configuration.

    What the last-applied configuration had and the modified one has no longer is
    deleted; fields that neither mentions are left alone. ``last_applied=None`` says
    that there is none, so that nothing can be pruned. Raises ConflictError with every
    path where, under ``overwrite=False``, the patch would undo a change made to live
    since; PreconditionError where a precondition does not hold for the patch. Go:
    strategicpatch.CreateThreeWayMergePatch.
    """
    base = {} if last_applied is None else last_applied
    _require_objects(last_applied=base, modified=modified, live=live)
    patch = Diff().objects(base, live, modified, schema.type)
    for holds in preconditions:
        if not holds(patch):
            raise PreconditionError(
                getattr(holds, "__doc__", None)
                or "a precondition does not hold for the patch"
            )
    if not overwrite:
        changed = Diff(orders=False).objects(base, base, live, schema.type)
        found = _sorted(
            _with_base(conflict, base)
            for conflict in conflicts(patch, changed, schema.type, Path())
        )
        if found:
            raise ConflictError(found)
    return patch


@_guarded
def apply_patch(original: JSONObject, patch: JSONObject, schema: Schema) -> JSONObject:
    """Apply a strategic merge patch to an object, as an API server stores the result.

    Raises PatchError for a malformed patch, ObjectError for an object that cannot be
    merged into, UnknownFieldError where an unknown object or list would have to be
    merged. Go: strategicpatch.StrategicMergePatch.
    """
    _require_objects(original=original, patch=patch)
    check_depth(patch)
    return apply_object(original, patch, schema.type)


@_guarded
def compose_patches(patches: Iterable[JSONObject], schema: Schema) -> JSONObject:
    """Compose patches into one that has the effect of all of them applied in order.

    Elements of merge lists meet by key. Raises CompositionError where no single patch
    has that effect. Go: strategicpatch.MergeStrategicMergeMapPatchUsingLookupPatchMeta,
    less its losses.
    """
    composed: JSONObject = {}
    for index, patch in enumerate(patches):
        _require_objects(**{f"patches[{index}]": patch})
        check_depth(patch)
        composed = _composed(composed, patch, schema)
    return composed


def _composed(before: JSONObject, patch: JSONObject, schema: Schema) -> JSONObject:
    try:
        return compose_objects(before, patch, schema.type)
    except CompositionError:
        raise
    except (ObjectError, PatchError) as error:
        # where the patch itself is at fault it fails alone, too
        compose_objects({}, patch, schema.type)
        raise CompositionError(
            f"what the patches before it may lead to cannot be patched: {error.problem}",
            path=error.path,
            hint="apply the patches one after the other",
        ) from None


@_guarded
def find_conflicts(
    left: JSONObject, right: JSONObject, schema: Schema
) -> tuple[Conflict, ...]:
    """Find the paths at which two patches set different values, sorted; the order of
    application matters there.

    Go: strategicpatch.MergingMapsHaveConflicts, which only answers yes or no.
    """
    _require_objects(left=left, right=right)
    return _sorted(conflicts(left, right, schema.type, Path()))


def _sorted(found: Iterable[Conflict]) -> tuple[Conflict, ...]:
    return tuple(sorted(found, key=lambda conflict: conflict.path.pointer))


@_guarded
def missing(modified: JSONObject, live: JSONObject, schema: Schema) -> JSONObject:
    """Return what of the modified configuration does not hold in the live object: a
    patch of additions only.
    """
    _require_objects(modified=modified, live=live)
    return Diff(orders=False).objects({}, live, modified, schema.type)


def unchanged(*path: str) -> Precondition:
    """Make the precondition that a patch leaves the field at a path alone."""

    def holds(patch: JSONObject) -> bool:
        found: JSON | Absent = patch
        for name in path:
            found = found.get(name, ABSENT) if isinstance(found, dict) else ABSENT
        return found is ABSENT

    holds.__doc__ = f"{'.'.join(path)} must not change"
    return holds


KUBECTL_PRECONDITIONS: Final = (
    unchanged("apiVersion"),
    unchanged("kind"),
    unchanged("metadata", "name"),
)


def _require_objects(**values: object) -> None:
    for name, value in values.items():
        if type(value) is not dict:
            raise ObjectError(
                f"{name} is an object, not {type_name(value)}", code="not-an-object"
            )


def _with_base(conflict: Conflict, base: JSONObject) -> Conflict:
    found: JSON | Absent = base
    for step in conflict.path.steps:
        found = _step(found, step)
    return Conflict(conflict.path, conflict.ours, conflict.theirs, found)


def _step(value: JSON | Absent, step: Step) -> JSON | Absent:
    if isinstance(step, str):
        return value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    if not isinstance(value, list):
        return ABSENT
    if isinstance(step, int):
        return value[step] if step < len(value) else ABSENT
    matching = (
        e
        for e in value
        if isinstance(e, dict) and same(e.get(step.merge_key, ABSENT), step.value)
    )
    return next(matching, ABSENT)
