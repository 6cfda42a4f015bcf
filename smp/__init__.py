"""Strategic merge patches for Kubernetes objects, computed and applied offline."""

from smp import json_patch, merge_patch, wire
from smp.apply import ApplyResult, Warning, last_applied_configuration, three_way_apply, with_last_applied  # noqa: A004
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
    UnknownFieldError,
    UnknownKindError,
)
from smp.paths import Path
from smp.schema.catalog import Catalog, kubernetes, versions
from smp.schema.model import Schema
from smp.strategic import apply_patch, compose_patches, find_conflicts, three_way_patch, two_way_patch
from smp.values import ABSENT

__all__ = [
    "ABSENT",
    "ApplyResult",
    "Catalog",
    "CompositionError",
    "Conflict",
    "ConflictError",
    "DepthError",
    "DocumentError",
    "ObjectError",
    "PatchError",
    "Path",
    "PreconditionError",
    "Schema",
    "SchemaError",
    "SmpError",
    "UnknownFieldError",
    "UnknownKindError",
    "Warning",
    "apply_patch",
    "compose_patches",
    "find_conflicts",
    "json_patch",
    "kubernetes",
    "last_applied_configuration",
    "merge_patch",
    "three_way_apply",
    "three_way_patch",
    "two_way_patch",
    "versions",
    "wire",
    "with_last_applied",
]
