"""Policies with their bindings, and the values that their expressions see.

Go: k8s.io/apiserver, pkg/admission/plugin/policy/generic (CollectParams) and
pkg/admission/plugin/cel (the variables, CreateNamespaceObject, composition.go).
Webhooks have conditions as well: pkg/admission/plugin/webhook/matchconditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.extras import extra_hint
from smp._values.values import JSONObject, as_list, as_object, as_text, objects_in
from smp.custom_resources import (
    BudgetError,
    Expression,
    ExpressionError,
    bind_variables,
    compile_policy_expression,
    find_names,
    is_installed,
)
from smp.handler.admission._matching import (
    Criteria,
    ReviewedResource,
    ReviewRequest,
    UnknownInputError,
    find_match,
    read_selector,
)

# All objects of an apiVersion and kind in a namespace; None where the kind is not
# known, and for a kind that is in no namespace the namespace is not looked at.
FindObjects: TypeAlias = Callable[[str, str, str], list[JSONObject] | None]

_GROUP: Final = "admissionregistration.k8s.io/"


class PolicyConfigurationError(Exception):
    """A binding whose parameters cannot be found."""


class Policy(msgspec.Struct, frozen=True):
    """A policy, and the bindings that put it in force."""

    name: str
    spec: JSONObject
    bindings: tuple[JSONObject, ...]

    @property
    def is_ignored_on_failure(self) -> bool:
        """Whether what cannot be evaluated is as if the policy was not there."""
        return self.spec.get("failurePolicy") == "Ignore"


class Policies(msgspec.Struct, frozen=True):
    """All policies, in the order of their names."""

    validating: tuple[Policy, ...] = ()
    mutating: tuple[Policy, ...] = ()


def read_policies(objects: Iterable[JSONObject]) -> Policies:
    """Read the policies and bindings among objects; one without the other is idle."""
    specs: dict[str, dict[str, JSONObject]] = {}
    bindings: dict[str, list[JSONObject]] = {}
    for obj in objects:
        kind = as_text(obj.get("kind"))
        if not as_text(obj.get("apiVersion")).startswith(_GROUP):
            continue
        spec = as_object(obj.get("spec"))
        if kind.endswith("AdmissionPolicy"):
            specs.setdefault(kind, {})[_name(obj)] = spec
        elif kind.endswith("AdmissionPolicyBinding"):
            bindings.setdefault(kind.removesuffix("Binding"), []).append(obj)

    def of_kind(kind: str) -> Iterator[Policy]:
        for name, spec in sorted(specs.get(kind, {}).items()):
            bound = [
                binding
                for binding in sorted(bindings.get(kind, ()), key=_name)
                if as_object(binding.get("spec")).get("policyName") == name
            ]
            if bound:
                yield Policy(name, spec, tuple(bound))

    return Policies(
        tuple(of_kind("ValidatingAdmissionPolicy")),
        tuple(of_kind("MutatingAdmissionPolicy")),
    )


def _name(obj: JSONObject) -> str:
    return as_text(as_object(obj.get("metadata")).get("name"))


def find_parameters(
    policy: Policy, binding: JSONObject, namespace: str, find_objects: FindObjects
) -> list[JSONObject | None]:
    """Return the parameters of a binding; one of None where it has none.

    Raises PolicyConfigurationError. Go: CollectParams.
    """
    kind = as_object(policy.spec.get("paramKind"))
    reference = as_object(as_object(binding.get("spec")).get("paramRef"))
    if not kind or not reference:
        return [None]
    api_version, name = as_text(kind.get("apiVersion")), as_text(kind.get("kind"))
    place = as_text(reference.get("namespace")) or namespace
    objects = find_objects(api_version, name, place)
    if objects is None:
        group, _, version = api_version.rpartition("/")
        text = f"{group}/{version}, Kind={name}"
        raise PolicyConfigurationError(f"paramKind kind `{text}` not known")
    if wanted := as_text(reference.get("name")):
        found = [obj for obj in objects if _name(obj) == wanted]
    else:
        selector = read_selector(reference.get("selector"))
        found = [obj for obj in objects if selector.matches(obj)]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise PolicyConfigurationError(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return [*found]


class Invocation(msgspec.Struct, frozen=True):
    """A policy that is in force for a request by a binding, with a parameter."""

    policy: Policy
    binding: JSONObject
    matched: ReviewedResource
    parameter: JSONObject | None

    @property
    def label(self) -> str:
        """What messages call it."""
        return label_of(self.policy, self.binding)


def label_of(policy: Policy, binding: JSONObject) -> str:
    """Return what messages call a policy with a binding."""
    return f"'{policy.name}' with binding '{_name(binding)}'"


def find_invocations(
    policies: Iterable[Policy],
    request: ReviewRequest,
    find_objects: FindObjects,
    report: Callable[[Policy, str, Exception], None],
) -> Iterator[Invocation]:
    """Yield what is to be evaluated about a request, in the order of the names.

    ``report`` gets the policy and the label of what cannot be:
    PolicyConfigurationError, or UnknownInputError. Go: policy_dispatcher.go, Dispatch.
    """
    if request.is_exempt:
        return
    for policy in policies:
        constraints = as_object(policy.spec.get("matchConstraints"))
        for binding in policy.bindings:
            resources = as_object(binding.get("spec")).get("matchResources")
            try:
                matched = find_match(Criteria.of_policy(constraints), request)
                bound = Criteria.of_policy(as_object(resources))
                if matched is None or find_match(bound, request) is None:
                    continue
                found = find_parameters(
                    policy, binding, request.namespace, find_objects
                )
            except (PolicyConfigurationError, UnknownInputError) as error:
                report(policy, label_of(policy, binding), error)
                continue
            for parameter in found:
                yield Invocation(policy, binding, matched, parameter)


class Evaluation:
    """The values for the expressions of one policy, about one request."""

    def __init__(
        self,
        spec: JSONObject,
        request: ReviewRequest,
        matched: ReviewedResource,
        parameter: JSONObject | None = None,
    ) -> None:
        self._spec = spec
        self._request = request
        self._matched = matched
        self._parameter = parameter
        # Of variables without a value: why there is none.
        self._failures: dict[str, Exception] = {}

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The variables by name. Those of the policy are computed in their order."""
        request, matched = self._request, self._matched
        computed: dict[str, Any] = {}
        # The special case of Go: a namespace is in none.
        namespace = None if request.is_of_namespace else request.namespace_object
        values: dict[str, Any] = {
            "object": request.convert(request.object, matched),
            "oldObject": request.convert(request.old, matched),
            "request": request.describe(matched),
            "params": self._parameter,
            "namespaceObject": namespace,
            "variables": computed,
        }
        for field in as_list(self._spec.get("variables")):
            variable = as_object(field)
            name = as_text(variable.get("name"))
            try:
                computed[name] = self._compute(
                    as_text(variable.get("expression")), values
                )
            except (BudgetError, ExpressionError, UnknownInputError) as error:
                self._failures[name] = error
        return values

    def evaluate(self, text: str) -> Any:
        """Return the value of an expression.

        Raises ExpressionError, worded as a server does, and UnknownInputError where it
        needs what is not known.
        """
        try:
            return self._compute(text, self.values)
        except BudgetError:
            raise UnknownInputError("more steps than the evaluator takes") from None
        except ExpressionError as error:
            if str(error).startswith("compilation failed"):
                raise ExpressionError(f"compilation error: {error}") from None
            raise ExpressionError(
                f"expression '{text}' resulted in error: {error}"
            ) from None

    def _compute(self, text: str, values: Mapping[str, Any]) -> Any:
        """Compute an expression with these values. Raises what ``evaluate`` does."""
        if not is_installed():
            raise UnknownInputError(f"expressions ({extra_hint('cel')})")
        names = find_names(text)
        request = self._request
        if "authorizer" in names:
            raise UnknownInputError("the authorizer")
        if "request.userInfo" in names and request.user is None:
            raise UnknownInputError("the user")
        is_unknown = request.namespace and request.namespace_object is None
        if "namespaceObject" in names and is_unknown and not request.is_of_namespace:
            raise UnknownInputError(f"namespace {request.namespace}")
        for name, failure in self._failures.items():
            if f"variables.{name}" in names and not isinstance(
                failure, ExpressionError
            ):
                raise failure
        expression: Expression = compile_policy_expression(text)
        try:
            return expression.evaluate(bind_variables(values))
        except ExpressionError as error:
            # A variable without a value is not among them: it may not be needed.
            name = str(error).removeprefix("no such key: ")
            reason = self._failures.get(name)
            if reason is None or f"variables.{name}" not in names:
                raise
            raise ExpressionError(
                f'composited variable "{name}" fails to evaluate: {reason}'
            ) from None


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
