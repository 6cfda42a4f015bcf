"""The public operations of the engine, over values that are already decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from smp._strategic._apply import apply_object
from smp._strategic._compose import compose_all, compose_objects, drop_overwritten
from smp._strategic._conflicts import conflicts
from smp._strategic._diff import Diff, Known
from smp._strategic._directives import check_retained
from smp._strategic._leftovers import Leftovers
from smp._strategic._patch_paths import leaf_paths, unknown_paths
from smp._values.last_applied import INPUTS, ApplyInputs
from smp._values.plain import as_plain_object, over_json, require_object
from smp._values.stack import require_stack
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    check_depth,
    scalar_key,
    type_name,
)
from smp.errors import (
    ApplyWarning,
    CompositionError,
    Conflict,
    ConflictError,
    ObjectError,
    PatchError,
    PreconditionError,
    bounded,
)
from smp.paths import Element, Path
from smp.schema.model import Schema

Precondition: TypeAlias = Callable[[JSONObject], bool]


def unchanged(*path: str) -> Precondition:
    """Make the precondition that a patch leaves the field at a path of names alone.

    Its docstring, such as ``metadata.name must not change``, becomes the message of
    the PreconditionError.
    """

    def holds(patch: JSONObject) -> bool:
        value: JSON | Absent = patch
        for name in path:
            value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
        return value is ABSENT

    holds.__doc__ = f"{'.'.join(path)} must not change"
    return holds


# The three that kubectl apply passes to CreateThreeWayMergePatch.
KUBECTL_PRECONDITIONS: Final = (
    unchanged("apiVersion"),
    unchanged("kind"),
    unchanged("metadata", "name"),
)


def check_preconditions(
    patch: JSONObject, preconditions: Iterable[Precondition]
) -> None:
    """Raise PreconditionError for the first precondition that the patch breaks."""
    for holds in preconditions:
        if not holds(patch):
            message = getattr(holds, "__doc__", None)
            raise PreconditionError(message or "precondition failed for the patch")


# The elements of lists by the identity of the list, the merge key and its value.
ElementsByKey: TypeAlias = "dict[tuple[int, str], dict[ScalarKey, JSON | Absent]]"


class ComputedPatch(msgspec.Struct, frozen=True):
    """A three-way patch, and what is known of it.

    ``deletes`` tells whether there may be anything to delete, ``deletes_in_new``
    whether it may be in a value that is new to live, ``ambiguous`` whether the patch
    changes elements of a merge key that may stand for several elements. ``equal`` has
    by their ids the objects and lists in the last-applied configuration and in live
    that are the same as those of the modified configuration at their place, ``met`` the
    others in live that lack nothing of it. ``exact`` tells whether the object with the
    patch certainly has all of it (see Diff).
    """

    patch: JSONObject
    deletes: bool
    deletes_in_new: bool
    ambiguous: bool
    equal: Known
    met: Known
    exact: bool


@over_json("the object", "original", "modified", deciding=("original", "modified"))
def two_way_patch(
    original: Mapping[str, Any], modified: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """Compute the patch that turns the original object into the modified one.

    Returns ``{}`` for equal objects. Raises ObjectError for lists that cannot be
    compared and for a field that is named as a directive, such as ``$patch``, where it
    differs; UnknownFieldError where unknown fields differ. Go:
    strategicpatch.CreateTwoWayMergePatch.
    """
    original = require_object("original", original)
    modified = require_object("modified", modified)
    return Diff(two_way=True).objects(original, original, modified, schema.type)


@over_json("the object", *INPUTS, deciding=INPUTS)
def three_way_patch(
    last_applied: Mapping[str, Any] | None,
    modified: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
    *,
    overwrite: bool = True,
    preconditions: Iterable[Precondition] = (),
) -> dict[str, Any]:
    """Compute the patch that brings the live object to the modified configuration.

    What the last-applied configuration had and the modified one no longer has is
    deleted; fields that neither mentions are left alone. ``last_applied=None`` says
    that there is no last-applied configuration, so that nothing is deleted. Raises what
    two_way_patch raises; ConflictError with every path where, under
    ``overwrite=False``, the patch would undo a change made to live since;
    PreconditionError where a precondition does not hold for the patch. Go:
    strategicpatch.CreateThreeWayMergePatch.
    """
    inputs = ApplyInputs.of(last_applied, modified, live)
    return compute_patch(
        inputs, schema, overwrite=overwrite, preconditions=preconditions
    ).patch


def compute_patch(
    inputs: ApplyInputs,
    schema: Schema,
    *,
    overwrite: bool = True,
    preconditions: Iterable[Precondition] = (),
    notes_met: bool = False,
) -> ComputedPatch:
    """Compute the three-way patch; see three_way_patch.

    With ``notes_met`` the result has what unmet_paths need not look at again: nothing
    of an object to which an ``exact`` patch was applied.
    """
    base = {} if inputs.last_applied is None else inputs.last_applied
    live = inputs.live
    diff = Diff(notes_met=notes_met)
    patch = diff.objects(base, live, inputs.manifest, schema.type)
    computed = ComputedPatch(
        patch,
        deletes=diff.deletes,
        deletes_in_new=diff.deletes_in_new,
        ambiguous=diff.ambiguous,
        equal=diff.equal,
        met=diff.met,
        exact=diff.exact,
    )
    check_preconditions(patch, preconditions)
    if overwrite:
        return computed
    # Go: "a conflict occurs if modified changes any key in a way that is different
    # from how it is changed in current": the patch against the changes made to live.
    changed = Diff(orders=False, two_way=True).objects(base, base, live, schema.type)
    elements: ElementsByKey = {}
    in_conflict = [
        _add_base(conflict, base, elements)
        for conflict in conflicts(patch, changed, schema, retained=False)
    ]
    if in_conflict:
        raise ConflictError(_sort_conflicts(in_conflict))
    return computed


@over_json("the object", "original", "patch", deciding=("patch",))
def apply_patch(
    original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """Apply a strategic merge patch to an object, as an API server stores the result.

    Raises PatchError for a malformed patch, ObjectError for an object that cannot be
    merged into, UnknownFieldError where an unknown object or list would have to be
    merged. Go: strategicpatch.StrategicMergePatch.
    """
    original = require_object("original", original)
    patch = require_object("patch", patch)
    check_depth(patch)
    return apply_object(original, patch, schema.type)


@bounded("the patch")
def compose_patches(
    patches: Iterable[Mapping[str, Any]], schema: Schema
) -> dict[str, Any]:
    """Compose patches into one that has the effect of all of them applied in order.

    Elements of merge lists are matched by key. Raises CompositionError where no single
    patch has that effect. Go:
    strategicpatch.MergeStrategicMergeMapPatchUsingLookupPatchMeta, less its losses.
    """
    if not isinstance(patches, Iterable):
        raise ObjectError(
            f"patches are objects, not {type_name(patches)}", code="not-an-object"
        )
    plain: list[JSONObject] = []
    for index, given in enumerate(patches):
        require_stack(given)
        # Composing looks at all of a patch, so all of it is converted at once.
        patch = as_plain_object(f"patches[{index}]", given)
        check_depth(patch)
        plain.append(patch)
    return _compose(plain, schema)


@over_json("the patch", "plain", deciding=("plain",))
def _compose(plain: list[JSONObject], schema: Schema) -> JSONObject:
    for patch in plain:
        # Composing does not look into all parts of a patch, such as what a later patch
        # replaces.
        check_retained(patch, schema.type)
        # A patch that is malformed by itself raises its own error here.
        compose_objects({}, patch, schema.type)
    try:
        try:
            return compose_all({}, plain, schema.type)
        except CompositionError:
            return compose_all({}, drop_overwritten(plain), schema.type)
    except CompositionError:
        raise
    except (ObjectError, PatchError) as error:
        raise CompositionError(
            "the result of the patches before this one cannot be patched: "
            f"{error.problem}",
            path=error.path,
            hint="apply the patches one after the other",
        ) from None


@over_json("the patch", "left", "right", deciding=("left", "right"))
def find_conflicts(
    left: Mapping[str, Any], right: Mapping[str, Any], schema: Schema
) -> tuple[Conflict, ...]:
    """Find the paths at which two patches disagree, sorted by path.

    They set different values there, or one clears what the other sets (ABSENT), as its
    ``$retainKeys`` does not list it (docs/deviations.md, 25).

    The order of application matters there. It looks for all conflicts. So, also where
    there is one, it raises ObjectError for lists that cannot be compared, and
    UnknownFieldError for an object or a list in a field without a schema
    (docs/deviations.md, 24). Go: strategicpatch.MergingMapsHaveConflicts, which only
    answers yes or no.
    """
    left = require_object("left", left)
    right = require_object("right", right)
    return _sort_conflicts(conflicts(left, right, schema, retained=True))


@bounded("the patch")
@over_json("the patch", "patch")
def unknown_field_warnings(
    patch: JSONObject, schema: Schema
) -> tuple[ApplyWarning, ...]:
    """Return a warning for each place where a patch is merged without a schema."""
    text = "unknown to the schema; merged by RFC 7396"
    paths = unknown_paths(patch, schema)
    return tuple([ApplyWarning("unknown-field", path, text) for path in paths])


def leftover_directives(
    live: JSONObject, patch: JSONObject, result: JSONObject, schema: Schema
) -> list[Path]:
    """Return where an API server finds directives of an applied patch in the result.

    They are in values that are new to the live object (docs/deviations.md, 1). The
    paths have the indices of elements.
    """
    leftovers = Leftovers()
    leftovers.strip(live, patch, result, schema.type)
    return leftovers.paths


def drop_leftovers(
    live: JSONObject, patch: JSONObject, schema: Schema
) -> tuple[JSONObject, list[Path]]:
    """Return a patch without the directives that leftover_directives finds.

    It is also without the deletions there, as there is nothing to delete. The paths are
    those of leftover_directives.
    """
    leftovers = Leftovers()
    result = apply_object(live, patch, schema.type)
    stripped = leftovers.strip(live, patch, result, schema.type)
    return stripped, leftovers.paths


@over_json("the object", "last_applied", "modified", "result")
def unmet_paths(
    last_applied: Mapping[str, Any],
    modified: Mapping[str, Any],
    result: Mapping[str, Any],
    schema: Schema,
    computed: ComputedPatch | None = None,
) -> tuple[Path, ...]:
    """Return the paths at which a result is not what the configuration asks for.

    The result lacks what the modified configuration has, or still has what only the
    last-applied configuration has or what the modified one has as null. What it shares
    with the live object of a ``computed`` patch, and what that found to be met, is not
    visited.
    """
    last_applied = require_object("last_applied", last_applied)
    modified = require_object("modified", modified)
    result = require_object("result", result)
    known = () if computed is None else (computed.equal, computed.met)
    diff = Diff(orders=False, only_unmet=True, known=known)
    unmet = diff.objects(last_applied, result, modified, schema.type)
    return tuple(leaf_paths(unmet, result, schema, modified))


def _sort_conflicts(unsorted: Iterable[Conflict]) -> tuple[Conflict, ...]:
    return tuple(sorted(unsorted, key=lambda conflict: conflict.path.pointer))


def _add_base(
    conflict: Conflict, base: JSONObject, elements: ElementsByKey
) -> Conflict:
    """Add the value that the last-applied configuration has at the path.

    ``elements`` keeps the elements of the lists of base for further conflicts.
    """
    value: JSON | Absent = base
    for step in conflict.path.steps:
        if isinstance(value, dict):
            value = value.get(step, ABSENT) if isinstance(step, str) else ABSENT
        elif not isinstance(value, list) or not isinstance(step, (int, Element)):
            value = ABSENT
        elif isinstance(step, int):
            value = value[step] if step < len(value) else ABSENT
        else:
            # An element of a merge list is found by its key, as it may stand elsewhere.
            place = (id(value), step.merge_key)
            if place not in elements:
                elements[place] = _first_by_key(value, step.merge_key)
            value = elements[place].get(scalar_key(step.value), ABSENT)
    return Conflict(conflict.path, conflict.ours, conflict.theirs, value)


def _first_by_key(
    elements: JSONArray, merge_key: str
) -> dict[ScalarKey, JSON | Absent]:
    first: dict[ScalarKey, JSON | Absent] = {}
    for element in elements:
        if isinstance(element, dict) and merge_key in element:
            value = element[merge_key]
            if not isinstance(value, (dict, list)):
                first.setdefault(scalar_key(value), element)
    return first
