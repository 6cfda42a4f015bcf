"""Strategic merge patches for Kubernetes objects, computed and applied offline.

A name is imported when it is first used, so that ``import smp`` costs next to nothing.
"""

__version__ = "0.2.0"
# Another distribution has a package smp as well: by this ours is known.
__distribution__ = "strategic-merge-patch"

# What typing.TYPE_CHECKING is to a type checker. Importing typing itself would take
# 12 ms of processor time, importing smp takes 3 (benchmarks/processes.py).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from smp import comparison, json_patch, managed_fields, merge_patch, wire
    from smp._storage.defaults import with_defaults
    from smp._storage.enums import validate_enums, without_enums
    from smp._strategic import (
        apply_patch,
        compose_patches,
        find_conflicts,
        three_way_patch,
        two_way_patch,
    )
    from smp._values.findings import Finding
    from smp._values.last_applied import last_applied_configuration, with_last_applied
    from smp._values.plain import as_object
    from smp._values.values import ABSENT
    from smp.comparison import Comparison, compare
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
    from smp.explain import Cause, explain_apply
    from smp.hazards import Hazard, HazardError
    from smp.managed_fields import (
        ApplyConflict,
        ApplyConflictError,
        ServerSideApplyResult,
        server_side_apply,
    )
    from smp.paths import Path
    from smp.schema.catalog import Catalog, bundled_overlay, kubernetes, versions
    from smp.schema.model import Schema
    from smp.three_way import ApplyResult, find_hazards, three_way_apply
    from smp.unions import Change, Normalization, normalize_unions, validate_unions
    from smp.violations import Violation

__all__ = [
    "ABSENT",
    "ApplyConflict",
    "ApplyConflictError",
    "ApplyResult",
    "ApplyWarning",
    "Catalog",
    "Cause",
    "Change",
    "Comparison",
    "CompositionError",
    "Conflict",
    "ConflictError",
    "DepthError",
    "DocumentError",
    "Finding",
    "Hazard",
    "HazardError",
    "Normalization",
    "ObjectError",
    "PatchError",
    "Path",
    "PreconditionError",
    "Schema",
    "SchemaError",
    "ServerSideApplyResult",
    "SmpError",
    "UnionConflictError",
    "UnionError",
    "UnknownFieldError",
    "UnknownKindError",
    "Violation",
    "apply_patch",
    "as_object",
    "bundled_overlay",
    "compare",
    "comparison",
    "compose_patches",
    "explain_apply",
    "find_conflicts",
    "find_hazards",
    "json_patch",
    "kubernetes",
    "last_applied_configuration",
    "managed_fields",
    "merge_patch",
    "normalize_unions",
    "server_side_apply",
    "three_way_apply",
    "three_way_patch",
    "two_way_patch",
    "validate_enums",
    "validate_unions",
    "versions",
    "wire",
    "with_defaults",
    "with_last_applied",
    "without_enums",
]

# The module of each name, as above; a module's own name stands for the module. It is
# all that is loaded when the name is first used.
_MODULES = {
    "ABSENT": "_values.values",
    "ApplyConflict": "managed_fields",
    "ApplyConflictError": "managed_fields",
    "ApplyResult": "three_way",
    "ApplyWarning": "errors",
    "Catalog": "schema.catalog",
    "Cause": "explain",
    "Change": "unions",
    "Comparison": "comparison",
    "CompositionError": "errors",
    "Conflict": "errors",
    "ConflictError": "errors",
    "DepthError": "errors",
    "DocumentError": "errors",
    "Finding": "_values.findings",
    "Hazard": "hazards",
    "HazardError": "hazards",
    "Normalization": "unions",
    "ObjectError": "errors",
    "PatchError": "errors",
    "Path": "paths",
    "PreconditionError": "errors",
    "Schema": "schema.model",
    "SchemaError": "errors",
    "ServerSideApplyResult": "managed_fields",
    "SmpError": "errors",
    "UnionConflictError": "errors",
    "UnionError": "errors",
    "UnknownFieldError": "errors",
    "UnknownKindError": "errors",
    "Violation": "violations",
    "apply_patch": "_strategic",
    "as_object": "_values.plain",
    "bundled_overlay": "schema.catalog",
    "compare": "comparison",
    "comparison": "comparison",
    "compose_patches": "_strategic",
    "explain_apply": "explain",
    "find_conflicts": "_strategic",
    "find_hazards": "three_way",
    "json_patch": "json_patch",
    "kubernetes": "schema.catalog",
    "last_applied_configuration": "_values.last_applied",
    "managed_fields": "managed_fields",
    "merge_patch": "merge_patch",
    "normalize_unions": "unions",
    "server_side_apply": "managed_fields",
    "three_way_apply": "three_way",
    "three_way_patch": "_strategic",
    "two_way_patch": "_strategic",
    "validate_enums": "_storage.enums",
    "validate_unions": "unions",
    "versions": "schema.catalog",
    "wire": "wire",
    "with_defaults": "_storage.defaults",
    "with_last_applied": "_values.last_applied",
    "without_enums": "_storage.enums",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  # it loads other modules

    module = import_module(f"smp.{_MODULES[name]}")
    value = module if name == _MODULES[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*__all__, *special])
