"""What ValidatingAdmissionPolicies say of a request.

Go: k8s.io/apiserver, pkg/admission/plugin/policy/validating: dispatcher.go and
validator.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.api_objects import make_status
from smp._values.values import JSONObject, as_list, as_object, as_text, objects_in
from smp.custom_resources import ExpressionError
from smp.handler._status import AnsweredError
from smp.handler.admission._matching import ReviewRequest, UnknownInputError
from smp.handler.admission._policies import (
    Evaluation,
    FindObjects,
    Invocation,
    Policies,
    Policy,
    find_condition_problem,
    find_invocations,
)

# Go: celconfig.MaxEvaluatedMessageExpressionSizeBytes, maxAuditAnnotationValueLength.
_LONGEST_MESSAGE: Final = 5 * 1024
_LONGEST_ANNOTATION: Final = 10 * 1024
# Go: reasonToCode.
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_INVALID: Final = 422
_KIND: Final = "ValidatingAdmissionPolicy"
_FAILURE_KEY: Final = "validation.policy.admission.k8s.io/validation_failure"


class DeniedError(AnsweredError):
    """A request that a policy denies."""

    default_code = "denied-by-policy"


class Decision(msgspec.Struct, frozen=True):
    """That a policy denies: why, by which of its validations, and the reason."""

    message: str
    index: int = 0
    reason: str = "Invalid"


class Verdict:
    """What comes of all policies: denials, warnings, audit annotations.

    ``unknown`` are sentences about what was neither passed nor denied.
    """

    def __init__(self) -> None:
        self.denials: list[tuple[str, str]] = []  # messages and reasons
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.unknown: list[str] = []

    def require_allowed(self, request: ReviewRequest) -> None:
        """Raise DeniedError where a policy denies the request."""
        if self.denials:
            message, reason = self.denials[0]
            code = _CODES.get(reason, _INVALID)
            raise deny(request, [message], reason=reason, code=code)


def deny(
    request: ReviewRequest,
    messages: list[str],
    *,
    reason: str,
    code: int,
    is_worded: bool = False,
    has_causes: bool = True,
) -> DeniedError:
    """Return the Status of a denial as an error (Go: admission.NewForbidden).

    With ``is_worded`` the first message is all of its text.
    """
    resource = request.resource
    metadata = as_object(as_object(request.object).get("metadata"))
    name = request.name or metadata.get("name") or metadata.get("generateName")
    plural = f"{resource.plural}.{resource.group}".rstrip(".")
    text = f"{plural} {json.dumps(name or 'Unknown')} is forbidden: {messages[0]}"
    details: JSONObject = {"name": name or "Unknown"}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    if has_causes:
        details["causes"] = [{"message": message} for message in messages]
    message = messages[0] if is_worded else text
    return DeniedError(
        make_status(
            "Failure", message=message, reason=reason, details=details, code=code
        )
    )


def judge(
    policies: Policies, request: ReviewRequest, find_objects: FindObjects
) -> Verdict:
    """Evaluate the validating policies that concern a request.

    ``find_objects`` has the objects that may be parameters.
    """
    verdict = Verdict()
    annotations: dict[str, list[str]] = {}

    def report(policy: Policy, label: str, error: Exception) -> None:
        if isinstance(error, UnknownInputError):
            verdict.unknown.append(
                f"{_KIND} {label} was not evaluated: it needs {error.problem}"
            )
        elif not policy.is_ignored_on_failure:
            problem = f"failed to configure binding: {error}"
            verdict.denials.append(
                (f"{_KIND} {label} denied request: {problem}", "Invalid")
            )

    invocations = find_invocations(policies.validating, request, find_objects, report)
    for invocation in invocations:
        try:
            decisions = [*_decide(invocation, request, annotations)]
        except UnknownInputError as error:
            report(invocation.policy, invocation.label, error)
            continue
        for decision in decisions:
            _carry_out(decision, invocation, verdict)
    for key, values in annotations.items():
        verdict.annotations[key] = ", ".join(dict.fromkeys(values))
    return verdict


def _carry_out(decision: Decision, invocation: Invocation, verdict: Verdict) -> None:
    """Do what a binding says of a denial; a negative index is denied in any case."""
    spec = as_object(invocation.binding.get("spec"))
    actions, label = as_list(spec.get("validationActions")), invocation.label
    if "Deny" in actions or decision.index < 0:
        message = f"{_KIND} {label} denied request: {decision.message}"
        verdict.denials.append((message, decision.reason))
    if decision.index < 0:
        return
    if "Warn" in actions:
        verdict.warnings.append(
            f"Validation failed for {_KIND} {label}: {decision.message}"
        )
    if "Audit" in actions:
        failure = {
            "message": decision.message,
            "policy": invocation.policy.name,
            "binding": as_object(invocation.binding.get("metadata")).get("name"),
            "expressionIndex": decision.index,
            "validationActions": actions,
        }
        text = json.dumps([failure], separators=(",", ":"))
        verdict.annotations.setdefault(_FAILURE_KEY, text)


def _decide(
    invocation: Invocation, request: ReviewRequest, annotations: dict[str, list[str]]
) -> Iterator[Decision]:
    """Yield the denials of a policy. Raises UnknownInputError."""
    policy = invocation.policy
    ignores = policy.is_ignored_on_failure
    evaluation = Evaluation(
        policy.spec, request, invocation.matched, invocation.parameter
    )
    problem = find_condition_problem(policy.spec, evaluation)
    if problem is not None:
        if problem and not ignores:
            yield Decision(problem)
        return
    for index, validation in enumerate(objects_in(policy.spec.get("validations"))):
        try:
            is_met = evaluation.evaluate(as_text(validation.get("expression")))
        except ExpressionError as error:
            if not ignores:
                yield Decision(str(error), index)
            continue
        if is_met is not True:
            reason = as_text(validation.get("reason")) or "Invalid"
            yield Decision(_message(validation, evaluation), index, reason)
    for failure in _annotate(policy, evaluation, annotations):
        if not ignores:
            yield Decision(failure, -1)


def _message(validation: JSONObject, evaluation: Evaluation) -> str:
    """Word a denial: its messageExpression, its message, or its expression."""
    if expression := as_text(validation.get("messageExpression")):
        try:
            worded = evaluation.evaluate(expression)
        except (ExpressionError, UnknownInputError):
            worded = ""
        text = worded.strip() if isinstance(worded, str) else ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    stated = as_text(validation.get("message")).strip()
    return (
        stated or f"failed expression: {as_text(validation.get('expression')).strip()}"
    )


def _annotate(
    policy: Policy, evaluation: Evaluation, annotations: dict[str, list[str]]
) -> Iterator[str]:
    """Add the audit annotations of a policy; yield what is wrong with them."""
    for annotation in objects_in(policy.spec.get("auditAnnotations")):
        text = as_text(annotation.get("valueExpression"))
        try:
            value = evaluation.evaluate(text)
        except ExpressionError as error:
            yield str(error)
            continue
        if isinstance(value, str) and value.strip():
            key = f"{policy.name}/{as_text(annotation.get('key'))}"
            annotations.setdefault(key, []).append(value.strip()[:_LONGEST_ANNOTATION])
