"""The rules about label selectors, and about expressions of other selectors.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._values.label_selectors import EXPRESSION_OPERATORS, Requirement
from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.validation._formats import FORMATS
from smp.validation._judged import Checks, Judged, at


def _requirements(selector: JSON) -> list[Requirement] | None:
    """Read a LabelSelector (Go: metav1.LabelSelectorAsSelector).

    None for one that is not valid.
    """
    members = as_object(selector)
    requirements: list[Requirement] = []
    for key, value in as_object(members.get("matchLabels")).items():
        if FORMATS["label-key"](key) or FORMATS["label-value"](as_text(value)):
            return None
        requirements.append(Requirement(key, "in", (as_text(value),)))
    for listed in as_list(members.get("matchExpressions")):
        expression = as_object(listed)
        operator = EXPRESSION_OPERATORS.get(as_text(expression.get("operator")))
        key = as_text(expression.get("key"))
        values = tuple([as_text(value) for value in as_list(expression.get("values"))])
        if operator is None or FORMATS["label-key"](key):
            return None
        # Go: labels.NewRequirement: these two have values, and the others none.
        if (operator in ("in", "notin")) != bool(values):
            return None
        for value in values:
            if FORMATS["label-value"](value):
                return None
        requirements.append(Requirement(key, operator, values))
    return requirements


def print_selector(selector: JSONObject) -> JSONObject:
    """Return a LabelSelector as Go prints it: without what is empty."""
    result: JSONObject = {}
    if selector.get("matchLabels"):
        result["matchLabels"] = selector["matchLabels"]
    expressions: list[JSON] = []
    for listed in as_list(selector.get("matchExpressions")):
        expression = as_object(listed)
        fields: JSONObject = {}
        for name in ("key", "operator", "values"):
            if name in expression:
                fields[name] = expression[name]
        expressions.append(fields)
    if expressions:
        result["matchExpressions"] = expressions
    return result


def valid_selector(judged: Judged) -> None:
    """Refuse a LabelSelector that cannot be read, beside what is wrong in it."""
    selector = judged.value
    if isinstance(selector, dict) and _requirements(selector) is None:
        judged.invalid(print_selector(selector), judged.row.message)


def not_empty_selector(judged: Judged) -> None:
    """Refuse a LabelSelector that selects everything."""
    selector = judged.value
    if isinstance(selector, dict):
        for name in ("matchLabels", "matchExpressions"):
            if selector.get(name):
                return
        judged.invalid({}, judged.row.message)


def select_labels(judged: Judged) -> None:
    """Require that the selector in ``key`` matches the labels, the value.

    ``zero`` "judged" says that an empty selector is asked, too, and without a selector
    none matches. Go: labels.Selector.Matches.
    """
    selector = at(judged.obj, (judged.row.key,))
    labels = as_object(judged.value)
    requirements: list[Requirement] | None = []
    if judged.row.format == "labels":
        requirements = [
            Requirement(key, "in", (as_text(value),))
            for key, value in as_object(selector).items()
        ]
    elif isinstance(selector, dict):
        requirements = _requirements(selector)
    elif judged.row.zero == "judged":
        # Go: a selector that is nil selects nothing.
        judged.invalid(labels or None, judged.row.message)
        return
    if requirements is None:
        return
    for requirement in requirements:
        if not requirement.matches(labels):
            judged.invalid(labels or None, judged.row.message)
            return


def expression_values(judged: Judged) -> None:
    """Compare the values of an expression with its operator.

    Go: metav1 ValidateLabelSelectorRequirement, core ValidateNodeSelectorRequirement.
    """
    operator = judged.obj.get("operator")
    values = as_list(judged.value)
    if operator in ("In", "NotIn"):
        if not values:
            judged.required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            judged.add(
                "FieldValueForbidden",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
    # Only the requirements of Nodes have these operators.
    elif operator in ("Gt", "Lt") and "Gt" in judged.row.values and len(values) != 1:
        judged.required(
            "must be specified single value when `operator` is 'Lt' or 'Gt'"
        )


def check_known_operator(judged: Judged) -> None:
    """Refuse other operators of an expression than ``values``."""
    value = as_text(judged.value)
    if value not in judged.row.values:
        judged.invalid(value, judged.row.message)


CHECKS: Final[Checks] = {
    "expression-values": expression_values,
    "not-empty-selector": not_empty_selector,
    "operator": check_known_operator,
    "selects": select_labels,
    "valid-selector": valid_selector,
}
