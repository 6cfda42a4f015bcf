"""The ``matchConditions`` of a webhook or a policy.

Go: k8s.io/apiserver, pkg/admission/plugin/webhook/matchconditions/matcher.go.
"""

from __future__ import annotations

from smp._values.fields import objects_in
from smp._values.values import JSONObject, as_text
from smp.custom_resources import ExpressionError
from smp.handler.admission._policies import Evaluation


def find_condition_problem(fields: JSONObject, evaluation: Evaluation) -> str | None:
    """Return why what is under conditions does not apply; None where it does.

    It is empty where one of them is false, and their errors where none is. Raises
    UnknownInputError, unless a condition is false.
    """
    errors: list[str] = []
    for condition in objects_in(fields.get("matchConditions")):
        try:
            if evaluation.evaluate(as_text(condition.get("expression"))) is False:
                return ""
        except ExpressionError as error:
            errors.append(str(error))
    if len(errors) > 1:
        return f"[{', '.join(errors)}]"
    return errors[0] if errors else None
