"""Strategic merge patches for Kubernetes objects, computed and applied offline."""

from importlib import import_module
from types import ModuleType

from smp import merge_patch, wire
from smp.apply import ApplyResult, last_applied_configuration, three_way_apply, with_last_applied
from smp.enums import validate_enums
from smp.errors import (
    CompositionError,
    Conflict,
    ConflictError,
    DepthError,
    DocumentError,
    ObjectError,
    PatchError,
    PreconditionError,
    SchemaError,
    SmpError,
    UnionConflictError,
    UnionError,
    UnknownFieldError,
    UnknownKindError,
    Warning,  # noqa: A004
)
from smp.paths import Path
from smp.schema.catalog import Catalog, bundled_overlay, kubernetes, versions
from smp.schema.model import Schema
from smp.strategic import apply_patch, compose_patches, find_conflicts, three_way_patch, two_way_patch
from smp.unions import Change, Normalization, normalize_unions, validate_unions
from smp.values import ABSENT
from smp.violations import Violation

__all__ = [
    "ABSENT",
    "ApplyResult",
    "Catalog",
    "Change",
    "CompositionError",
    "Conflict",
    "ConflictError",
    "DepthError",
    "DocumentError",
    "Normalization",
    "ObjectError",
    "PatchError",
    "Path",
    "PreconditionError",
    "Schema",
    "SchemaError",
    "SmpError",
    "UnionConflictError",
    "UnionError",
    "UnknownFieldError",
    "UnknownKindError",
    "Violation",
    "Warning",
    "apply_patch",
    "bundled_overlay",
    "compose_patches",
    "find_conflicts",
    "json_patch",
    "kubernetes",
    "last_applied_configuration",
    "merge_patch",
    "normalize_unions",
    "three_way_apply",
    "three_way_patch",
    "two_way_patch",
    "validate_enums",
    "validate_unions",
    "versions",
    "wire",
    "with_last_applied",
]


def __getattr__(name: str) -> ModuleType:
    """Import ``smp.json_patch`` when somebody names it: its library takes as long to import as all the rest."""
    if name == "json_patch":
        return import_module("smp.json_patch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
