"""The expressions of policies and webhooks, judged when they are stored.

Go: k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go,
validateCELCondition and the like. What an authorizer is asked is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.extras import extra_hint
from smp._values.values import JSON, JSONObject, as_object
from smp.custom_resources import (
    ExpressionError,
    compile_policy_expression,
    find_names,
    is_installed,
)
from smp.paths import Path
from smp.violations import Violation, invalid

# By the names of the list and of the field: what an expression has to be.
_FIELDS: Final = {
    ("matchConditions", "expression"): "bool",
    ("validations", "expression"): "bool",
    ("validations", "messageExpression"): "string",
    ("auditAnnotations", "valueExpression"): "string",
    ("variables", "expression"): "",
    ("jsonPatch", "expression"): "",
    ("applyConfiguration", "expression"): "",
}
_ROOT: Final = Path()


def find_expressions(
    value: JSON, path: Path = _ROOT, parent: str = ""
) -> Iterator[tuple[Path, str, str]]:
    """Yield the expressions in a policy or configuration: path, text and type."""
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from find_expressions(element, path / index, parent)
        return
    for name, member in as_object(value).items():
        if (parent, name) in _FIELDS and isinstance(member, str):
            yield path / name, member, _FIELDS[parent, name]
        else:
            yield from find_expressions(member, path / name, name)


def find_expression_violations(obj: JSONObject) -> Iterator[Violation]:
    """Yield the expressions of an object that a server does not compile."""
    if not is_installed():
        return
    for path, text, type_ in find_expressions(obj):
        if "authorizer" in find_names(text):
            continue
        try:
            found = compile_policy_expression(text).type_name
        except ExpressionError as error:
            yield invalid(path, text, str(error))
            continue
        # A value of any type may be right.
        if type_ and found not in {type_, "dyn", "null_type"}:
            yield invalid(path, text, f"compilation failed: must evaluate to {type_}")


def describe_unevaluated(obj: JSONObject) -> Iterator[str]:
    """Yield what of a policy or a configuration has no effect here, in words."""
    texts = [text for _, text, _ in find_expressions(obj)]
    if texts and not is_installed():
        yield f"its expressions are not evaluated: {extra_hint('cel')}"
    elif any("authorizer" in find_names(text) for text in texts):
        yield "what it asks the authorizer is not evaluated"
