"""The strategic merge patch engine: compute, apply, compose and compare patches.

Objects and patches are plain JSON values; arguments are never mutated, and results
share the subtrees that did not change. In an object null means a present null; in a
patch it deletes the field; an absent field leaves it alone. Every error is a SmpError.
"""

from smp.strategic._diff import Diff
from smp.strategic._directives import REPLACE, PatchObject, is_directive, read_object
from smp.strategic._operations import (
    apply_patch,
    compose_patches,
    find_conflicts,
    missing,
    three_way_patch,
    two_way_patch,
)
from smp.strategic._patch_paths import leaf_paths, unknown_paths
from smp.strategic._preconditions import (
    KUBECTL_PRECONDITIONS,
    Precondition,
    unchanged,
)

__all__ = [
    "KUBECTL_PRECONDITIONS",
    "REPLACE",
    "Diff",
    "PatchObject",
    "Precondition",
    "apply_patch",
    "compose_patches",
    "find_conflicts",
    "is_directive",
    "leaf_paths",
    "missing",
    "read_object",
    "three_way_patch",
    "two_way_patch",
    "unchanged",
    "unknown_paths",
]
