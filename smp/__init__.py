"""Strategic merge patches for Kubernetes objects, computed and applied offline.

Names are imported when somebody uses them, so that ``import smp`` costs next to
nothing.
"""

from importlib import import_module

__version__ = "0.1.0"
TYPE_CHECKING = False  # typing's own costs as much to import as all of this
if TYPE_CHECKING:
    from smp import json_patch, merge_patch, wire
    from smp.enums import validate_enums, without_enums
    from smp.errors import (
        ApplyWarning,
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
    )
    from smp.paths import Path
    from smp.schema.catalog import Catalog, bundled_overlay, kubernetes, versions
    from smp.schema.model import Schema
    from smp.strategic import (
        apply_patch,
        compose_patches,
        find_conflicts,
        three_way_patch,
        two_way_patch,
    )
    from smp.three_way import (
        ApplyResult,
        last_applied_configuration,
        three_way_apply,
        with_last_applied,
    )
    from smp.unions import Change, Normalization, normalize_unions, validate_unions
    from smp.values import ABSENT
    from smp.violations import Violation

__all__ = [
    "ABSENT",
    "ApplyResult",
    "ApplyWarning",
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
    "without_enums",
]

_MODULES = ("json_patch", "merge_patch", "wire")
_NAMES = {
    "smp.three_way": "ApplyResult last_applied_configuration three_way_apply with_last_applied",
    "smp.enums": "validate_enums without_enums",
    "smp.errors": "CompositionError Conflict ConflictError DepthError DocumentError ObjectError PatchError "
    "PreconditionError SchemaError SmpError UnionConflictError UnionError UnknownFieldError UnknownKindError ApplyWarning",
    "smp.paths": "Path",
    "smp.schema.catalog": "Catalog bundled_overlay kubernetes versions",
    "smp.schema.model": "Schema",
    "smp.strategic": "apply_patch compose_patches find_conflicts three_way_patch two_way_patch",
    "smp.unions": "Change Normalization normalize_unions validate_unions",
    "smp.values": "ABSENT",
    "smp.violations": "Violation",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"smp.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
