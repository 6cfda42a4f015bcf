"""Custom resources: whether a server takes them, and patches for them.

``definition_violations`` returns what a server refuses of a definition: ``_definition``
is the order of the rules, ``_definition_rules`` and ``_schema_rules`` have them, and
``_declared_types`` compiles the rules in it against its schema.

``validate`` returns what a server refuses of an object by its definition: ``_validate``
is the order of the checks, ``_structure`` has the keywords of schemas, ``_invariants``
what schemas do not say, and ``_rules`` the rules in the Common Expression Language.

No server takes a strategic merge patch for them; it answers 415 (Unsupported Media
Type). So the configuration is merged into the live object here, and the patch leads
from the one to the other:

1. With the schema of a CustomResourceDefinition, ``smp.managed_fields.local_merge``
   merges by the list types and map types that the definition states. Without one, the
   object is what kubectl's own patch makes of it (RFC 7396): ``_kubectl``.
2. ``form_of`` (``_forms``) writes the difference in a form that a server takes, and
   guards what goes as a whole against writes of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from smp.custom_resources._forms import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Guard,
    Patch,
    PatchForm,
    form_of,
)
from smp.custom_resources._kubectl import three_way_json_merge_patch

if TYPE_CHECKING:
    from smp.custom_resources._definition import definition_violations
    from smp.custom_resources._expressions import (
        BudgetError,
        ExpressionError,
        is_installed,
    )
    from smp.custom_resources._expressions import Expression as Expression
    from smp.custom_resources._expressions import bind_variables as bind_variables
    from smp.custom_resources._expressions import (
        compile_policy_expression as compile_policy_expression,
    )
    from smp.custom_resources._expressions import find_names as find_names
    from smp.custom_resources._patterns import compile_pattern as compile_pattern
    from smp.custom_resources._policy_expressions import (
        describe_unevaluated as describe_unevaluated,
    )
    from smp.custom_resources._policy_expressions import (
        find_expression_violations as find_expression_violations,
    )
    from smp.custom_resources._table import SchemaPlace as SchemaPlace
    from smp.custom_resources._validate import Unchecked, unchecked, validate
    from smp.custom_resources._validate import (
        find_prepared_violations as find_prepared_violations,
    )
    from smp.custom_resources._validate import value_violations as value_violations

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "BudgetError",
    "ExpressionError",
    "Guard",
    "Patch",
    "PatchForm",
    "Unchecked",
    "definition_violations",
    "form_of",
    "is_installed",
    "three_way_json_merge_patch",
    "unchecked",
    "validate",
]

# What judges objects is loaded when it is first used: patches do without.
_MODULES: Final = {
    "SchemaPlace": "_table",
    "BudgetError": "_expressions",
    "Expression": "_expressions",
    "ExpressionError": "_expressions",
    "Unchecked": "_validate",
    "bind_variables": "_expressions",
    "compile_policy_expression": "_expressions",
    "compile_pattern": "_patterns",
    "definition_violations": "_definition",
    "describe_unevaluated": "_policy_expressions",
    "find_expression_violations": "_policy_expressions",
    "find_names": "_expressions",
    "is_installed": "_expressions",
    "find_prepared_violations": "_validate",
    "unchecked": "_validate",
    "validate": "_validate",
    "value_violations": "_validate",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  # it loads other modules

    module = import_module(f"{__name__}.{_MODULES[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value
