"""Changes of an object before it is judged: their order, and those of policies.

Go: k8s.io/apiserver, pkg/admission (reinvoker), pkg/admission/plugin/policy/mutating
(dispatcher.go, patch) and pkg/admission/plugin/webhook/mutating.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from smp._values.values import JSONObject, as_list, as_object, as_text, objects_in, same
from smp.custom_resources import ExpressionError
from smp.errors import PatchError, SmpError, UnknownFieldError
from smp.handler.admission._matching import ReviewRequest, UnknownInputError
from smp.handler.admission._policies import (
    Evaluation,
    FindObjects,
    Invocation,
    Policies,
    Policy,
    PolicyConfigurationError,
    find_condition_problem,
    find_invocations,
)
from smp.handler.admission._validating import Verdict, deny
from smp.json_patch import OperationError, apply_as_server
from smp.managed_fields import fieldset_of, local_merge
from smp.paths import value_at
from smp.schema.model import Schema

_FORBIDDEN: Final = 403


class Mutator(msgspec.Struct, frozen=True):
    """What may change an object: a webhook, or a policy with a parameter.

    ``change`` returns the new object; None where it is not concerned.
    """

    change: Callable[[JSONObject], JSONObject | None]
    is_reinvoked: bool = False


class _Invoked:
    """Which of one plugin have been called (Go: webhookReinvokeContext)."""

    def __init__(self) -> None:
        self.output: JSONObject | None = None
        self._called: set[int] = set()
        self.again: set[int] = set()

    def add(self, index: int) -> None:
        self._called.add(index)

    def require(self) -> None:
        """Call those again that ask for it."""
        self.again |= self._called
        self._called = set()


def mutate(
    plugins: Sequence[Sequence[Mutator]],
    obj: JSONObject,
    finish: Callable[[], None] = lambda: None,
) -> JSONObject:
    """Call the mutators of each plugin, and again those that ask for it.

    They are called a second time at most, where another one changed the object after
    them. ``finish`` is called after each plugin, and may raise.
    """
    invoked = [_Invoked() for _ in plugins]
    is_changed = False
    for is_again in (False, True):
        if is_again and not is_changed:
            break
        for mutators_, calls in zip(plugins, invoked, strict=True):
            if is_again and not same(obj, calls.output):
                calls.require()
            for index, mutator in enumerate(mutators_):
                if is_again and index not in calls.again:
                    continue
                new = mutator.change(obj)
                if new is None:
                    continue
                if not same(new, obj):
                    calls.require()
                    is_changed = True
                obj = new
                if mutator.is_reinvoked:
                    calls.add(index)
            calls.output = obj
            finish()
    return obj


class MutatingPolicies:
    """The mutators of policies about one request, and what is wrong with them.

    What is unknown is added to the ``verdict``.
    """

    def __init__(
        self, request: ReviewRequest, schema: Schema | None, verdict: Verdict
    ) -> None:
        self._request = request
        self._schema = schema
        self._verdict = verdict
        self._problems: list[str] = []
        # That of the first problem.
        self._reason = "Invalid"

    def find(self, policies: Policies, find_objects: FindObjects) -> list[Mutator]:
        """Return a mutator for each policy, binding and parameter."""
        return [
            Mutator(
                partial(self._change, invocation),
                invocation.policy.spec.get("reinvocationPolicy") == "IfNeeded",
            )
            for invocation in find_invocations(
                policies.mutating, self._request, find_objects, self._report
            )
        ]

    def finish(self) -> None:
        """Raise DeniedError where a policy could not be carried out."""
        if self._problems:
            raise deny(
                self._request,
                self._problems,
                reason=self._reason,
                code=_FORBIDDEN,
                is_worded=True,
            )

    def _report(self, policy: Policy, label: str, error: Exception) -> None:
        if isinstance(error, UnknownInputError):
            self._verdict.unknown.append(
                f"MutatingAdmissionPolicy {label} was not applied: it needs"
                f" {error.problem}"
            )
        elif not policy.is_ignored_on_failure:
            problem = str(error)
            if isinstance(error, PolicyConfigurationError):
                problem = f"failed to configure binding: {error}"
                # Go: no reason of its own, so that of admission.NewForbidden.
                self._reason = self._reason if self._problems else "Forbidden"
            self._problems.append(f"policy {label} denied request: {problem}")

    def _change(self, invocation: Invocation, obj: JSONObject) -> JSONObject | None:
        policy, label = invocation.policy, invocation.label
        try:
            problem = find_condition_problem(
                policy.spec, self._evaluation(invocation, obj)
            )
            if problem is not None:
                if problem:
                    self._report(policy, label, _MutationError(problem))
                return None
            for mutation in objects_in(policy.spec.get("mutations")):
                evaluation = self._evaluation(invocation, obj)
                try:
                    obj = self._mutate(mutation, evaluation, obj)
                except (ExpressionError, _MutationError) as error:
                    self._report(policy, label, error)
        except UnknownInputError as error:
            self._report(policy, label, error)
        return obj

    def _evaluation(self, invocation: Invocation, obj: JSONObject) -> Evaluation:
        request = msgspec.structs.replace(self._request, object=obj)
        spec, parameter = invocation.policy.spec, invocation.parameter
        return Evaluation(spec, request, invocation.matched, parameter)

    def _mutate(
        self, mutation: JSONObject, evaluation: Evaluation, obj: JSONObject
    ) -> JSONObject:
        """Return an object after one mutation. Raises UnknownInputError."""
        if mutation.get("patchType") == "JSONPatch":
            text = as_text(as_object(mutation.get("jsonPatch")).get("expression"))
            return _apply_patch(obj, evaluation.evaluate(text))
        configuration = as_object(mutation.get("applyConfiguration"))
        applied = evaluation.evaluate(as_text(configuration.get("expression")))
        if self._schema is None:
            raise UnknownInputError("the schema of the object")
        return _apply_configuration(obj, as_object(applied), self._schema)


class _MutationError(Exception):
    """A mutation that cannot be carried out."""


def _apply_patch(obj: JSONObject, operations: Any) -> JSONObject:
    """Go: jsonPatcher.Patch."""
    for index, operation in enumerate(as_list(operations)):
        try:
            apply_as_server(obj, [*as_list(operations)[: index + 1]])
        except OperationError as error:
            # One whose test fails is not applied.
            if as_object(operation).get("op") == "test":
                return obj
            raise _MutationError(f"JSON Patch: {error}") from None
        except PatchError as error:
            raise _MutationError(f"JSON Patch: {error}") from None
    return as_object(apply_as_server(obj, operations))


def _apply_configuration(
    obj: JSONObject, configuration: JSONObject, schema: Schema
) -> JSONObject:
    """Go: ApplyStructuredMergeDiff."""
    applied = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        **configuration,
    }
    try:
        # What is owned as a whole and has members (Go: validatePatch).
        atomic = [
            f".{path}"
            for path in fieldset_of(applied, schema).leaves().paths()
            if isinstance(value := value_at(applied, path), dict | list) and value
        ]
        if atomic:
            raise _MutationError(
                "error applying patch: invalid ApplyConfiguration: may not mutate"
                f" atomic arrays, maps or structs: {', '.join(atomic)}"
            )
        return local_merge({}, applied, obj, schema).object
    except UnknownFieldError as error:
        raise _MutationError(
            "error applying patch: failed to convert patch object to typed object:"
            f" .{error.path}: field not declared in schema"
        ) from None
    except SmpError as error:
        raise _MutationError(f"error applying patch: {error}") from None
