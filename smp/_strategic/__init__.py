"""The strategic merge patch engine: compute, apply, compose and compare patches.

Objects and patches are plain JSON values; arguments are never mutated, and results
share the subtrees that did not change. In an object null means a present null; in a
patch it deletes the field; an absent field leaves it alone. Every error is a SmpError.
"""

from smp._strategic._amend import amend_patch
from smp._strategic._diff import Diff, Known
from smp._strategic._directives import (
    DELETE,
    DELETIONS,
    ELEMENT_ORDER,
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    PatchObject,
    check_order,
    is_directive,
    read_object,
)
from smp._strategic._operations import (
    KUBECTL_PRECONDITIONS,
    ComputedPatch,
    Precondition,
    apply_patch,
    check_preconditions,
    compose_patches,
    compute_patch,
    drop_leftovers,
    find_conflicts,
    leftover_directives,
    three_way_patch,
    two_way_patch,
    unchanged,
    unknown_field_warnings,
    unmet_paths,
)
from smp._strategic._ordering import elements_by_identity, identity_of
from smp._strategic._patch_paths import leaf_paths
from smp._strategic._whole_lists import add_whole_lists
from smp._strategic._whole_objects import add_whole_objects

__all__ = [
    "DELETE",
    "DELETIONS",
    "ELEMENT_ORDER",
    "KUBECTL_PRECONDITIONS",
    "MARKER",
    "REPLACE",
    "RETAIN_KEYS",
    "ComputedPatch",
    "Diff",
    "Known",
    "PatchObject",
    "Precondition",
    "add_whole_lists",
    "add_whole_objects",
    "amend_patch",
    "apply_patch",
    "check_order",
    "check_preconditions",
    "compose_patches",
    "compute_patch",
    "drop_leftovers",
    "elements_by_identity",
    "find_conflicts",
    "identity_of",
    "is_directive",
    "leaf_paths",
    "leftover_directives",
    "read_object",
    "three_way_patch",
    "two_way_patch",
    "unchanged",
    "unknown_field_warnings",
    "unmet_paths",
]
