"""The expressions of policies and webhooks, judged when they are stored.

Go: k8s.io/kubernetes, pkg/apis/admissionregistration/validation/validation.go,
validateCELCondition and the like. What an authorizer is asked is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from smp._values.extras import extra_hint
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.custom_resources._declared_types import describe_failure, find_problem
from smp.custom_resources._expressions import (
    BudgetError,
    ExpressionError,
    compile_policy_expression,
    find_names,
    is_installed,
)
from smp.paths import Path, Step
from smp.violations import Violation, invalid

# By the names of the list and of the field: what an expression has to be.
_FIELDS: Final = {
    ("matchConditions", "expression"): "bool",
    ("validations", "expression"): "bool",
    ("validations", "messageExpression"): "string",
    ("auditAnnotations", "valueExpression"): "string",
    ("variables", "expression"): "",
    ("jsonPatch", "expression"): "list",
    ("applyConfiguration", "expression"): "map",
}
# An annotation may be left out, and messages are said in another way then.
_MAY_BE_NULL: Final = ("messageExpression", "valueExpression")
# What has no declared type: a member of an object.
_PLAIN: Final = re.compile(r"(?:object|oldObject|params)(?:\.\w+)+")
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
        names = find_names(text)
        if "authorizer" in names:
            continue
        problem = _find_undeclared(names, path, obj)
        if problem:
            problem = f"compilation failed: {problem}"
        else:
            # What a server may take, and is not known here, is no refusal.
            with suppress(BudgetError):
                problem = _find_problem(text, type_, path.steps[-1])
        if problem:
            yield invalid(path, text, problem)


def _find_problem(text: str, type_: str, field: Step) -> str:
    """Return why an expression does not compile to a type; empty where it does.

    Raises BudgetError where that is not known here.
    """
    if problem := find_problem(text):
        return f"compilation failed: {problem}"
    try:
        found = compile_policy_expression(text).type_name.partition("<")[0]
    except ExpressionError as error:
        return str(error) if describe_failure(error) else ""
    # A value of any type may be right, but for one that is read as it is.
    is_of_any_type = found in {"any", "dyn"} and not _PLAIN.fullmatch(text.strip())
    is_right = not type_ or found == type_ or is_of_any_type
    if is_right or (found == "null" and field in _MAY_BE_NULL):
        return ""
    return f"must evaluate to {type_} but got {found}"


def _find_undeclared(names: frozenset[str], path: Path, obj: JSONObject) -> str:
    """Say which variable an expression does not have (Go: hasParams, hasVariables).

    A variable has those before it, a condition none of them, and a webhook has no
    parameters.
    """
    spec = as_object(obj.get("spec"))
    field = path.steps[1] if spec and len(path.steps) > 1 else "webhooks"
    missing = {"params"} if spec.get("paramKind") is None else set()
    if field in ("matchConditions", "webhooks"):
        missing.add("variables")
    for name in sorted(missing & names):
        return f"undeclared reference to '{name}' (in container '')"
    declared = [as_object(each) for each in as_list(spec.get("variables"))]
    if field == "variables" and isinstance(index := path.steps[2], int):
        declared = declared[:index]
    known = {f"variables.{each.get('name')}" for each in declared}
    for name in sorted(names - known):
        if name.startswith("variables."):
            return f"undefined field '{name.removeprefix('variables.')}'"
    return ""


def describe_unevaluated(obj: JSONObject) -> Iterator[str]:
    """Yield what of a policy or a configuration has no effect here, in words."""
    texts = [text for _, text, _ in find_expressions(obj)]
    if texts and not is_installed():
        yield f"its expressions are not evaluated: {extra_hint('cel')}"
    elif any("authorizer" in find_names(text) for text in texts):
        yield "what it asks the authorizer is not evaluated"
