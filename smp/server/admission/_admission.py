"""All that is asked about one request, in the order of a server."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from msgspec.structs import replace

from smp._values.values import JSONObject, as_list, as_object, as_text
from smp.handler import Admission as Change
from smp.handler import AnsweredError, StatusError
from smp.handler.admission import (
    Evaluation,
    MutatingPolicies,
    Mutator,
    ReviewedResource,
    ReviewRequest,
    UnknownInputError,
    Verdict,
    deny,
    find_condition_problem,
    find_match,
    judge,
    mutate,
)
from smp.server.admission._configurations import (
    Configurations,
    Parameters,
    Webhook,
    describe_request,
    find_configurations,
    find_parameters,
    name_of,
)
from smp.server.admission._webhooks import (
    CallError,
    WebhookError,
    apply_patch,
    ask,
    describe_denial,
    read_patch,
)
from smp.server.objects import metadata, subresources
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target

_LOG: Final = logging.getLogger("smp.server")
_WITHOUT_SIDE_EFFECTS: Final = frozenset({"None", "NoneOnDryRun"})
_FORBIDDEN: Final = 403


class AdmissionReviewer:
    """What is asked about a request; warnings and audit annotations are kept.

    ``change`` and ``validate`` wait for webhooks, and raise DeniedError, AnsweredError
    and WebhookError.
    """

    def __init__(
        self,
        configurations: Configurations,
        request: ReviewRequest,
        target: Target,
        parameters: Parameters,
        state: ServerState,
    ) -> None:
        self._configurations = configurations
        self._request = request
        self._target = target
        self._parameters = parameters
        self._schema = state.kinds.of(target.resource).schema
        self._urls = state.webhook_urls
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}

    def change(self, asked: Change) -> JSONObject:
        """Return the object of a write as mutating policies and webhooks change it."""
        new = asked.new
        if asked.old is None and not self._target.subresource:
            new = metadata.in_namespace(
                new, self._target.resource, self._target.namespace
            )
        changed = self._mutate(self._describe(asked.old, new))
        return new if changed is None else changed

    def validate(self, old: JSONObject | None, new: JSONObject | None) -> None:
        """Ask validating policies and webhooks; ``new`` is None for a deletion."""
        if self._target.subresource == "scale":
            resource = self._target.resource
            old = subresources.scale_of(old, resource) if old else None
            new = subresources.scale_of(new, resource) if new else None
        request = self._describe(old, new)
        verdict = judge(self._configurations.policies, request, self._find_objects)
        self._keep(verdict)
        verdict.require_allowed(request)
        if request.is_exempt:
            return
        # Go calls them at the same time, and answers the first error.
        for webhook in self._configurations.validating:
            self._call(webhook, request)

    def review(self, old: JSONObject | None, new: JSONObject | None) -> None:
        """Ask all about what is not stored as it is: a deletion, a binding."""
        self._mutate(self._describe(old, new))
        self.validate(old, new)

    def _mutate(self, request: ReviewRequest) -> JSONObject | None:
        verdict = Verdict()
        mutating = MutatingPolicies(request, self._schema, verdict)
        policies = mutating.find(self._configurations.policies, self._find_objects)
        called = () if request.is_exempt else self._configurations.mutating
        if request.object is None:
            # There is nothing that a policy could change.
            for webhook in called:
                self._call(webhook, request)
            return None
        webhooks = [
            Mutator(
                partial(self._change, webhook, request),
                webhook.fields.get("reinvocationPolicy") == "IfNeeded",
            )
            for webhook in called
        ]
        changed = mutate([policies, webhooks], request.object, mutating.finish)
        self._keep(verdict)
        return changed

    def _change(
        self, webhook: Webhook, request: ReviewRequest, obj: JSONObject
    ) -> JSONObject | None:
        """Return an object as a webhook changes it; None where it is not called."""
        return self._call(webhook, replace(request, object=obj))

    def _call(self, webhook: Webhook, request: ReviewRequest) -> JSONObject | None:
        """Call a webhook if the request concerns it, and return the object then.

        Raises AnsweredError where it denies, and WebhookError where it fails, unless
        that is to be ignored.
        """
        matched = self._find_match(webhook, request)
        if matched is None:
            return None
        if request.dry_run and (
            webhook.fields.get("sideEffects") not in _WITHOUT_SIDE_EFFECTS
        ):
            raise StatusError(
                f'admission webhook "{webhook.name}" does not support dry run'
            )
        try:
            response = ask(webhook, request, matched, self._urls)
            patch = read_patch(response)
        except CallError as error:
            problem = f'failed calling webhook "{webhook.name}": {error}'
            if not webhook.is_ignored_on_failure:
                raise WebhookError(problem) from None
            _LOG.warning("failing open", extra={"fields": {"error": problem}})
            return request.object
        for key, value in as_object(response.get("auditAnnotations")).items():
            self.annotations[f"{webhook.name}/{key}"] = as_text(value)
        self.warnings.extend(map(as_text, as_list(response.get("warnings"))))
        if response.get("allowed") is not True:
            denial = describe_denial(webhook.name, response.get("status"))
            raise AnsweredError(denial)
        return (
            apply_patch(webhook, request, matched, patch) if patch else request.object
        )

    def _find_match(
        self, webhook: Webhook, request: ReviewRequest
    ) -> ReviewedResource | None:
        """Return the version in which a webhook is to be called; None: it is not."""
        try:
            matched = find_match(webhook.criteria, request)
        except UnknownInputError:
            # The namespace was deleted meanwhile.
            return None
        if matched is None or not webhook.fields.get("matchConditions"):
            return matched
        try:
            evaluation = Evaluation({}, request, matched)
            problem = find_condition_problem(webhook.fields, evaluation)
        except UnknownInputError as error:
            # To call it is what is left where nobody knows.
            self.warnings.append(
                f"the conditions of webhook {webhook.name} were not evaluated, which"
                f" needs {error.problem}: it is called"
            )
            return matched
        if problem and not webhook.is_ignored_on_failure:
            raise deny(
                request,
                [problem],
                reason="Forbidden",
                code=_FORBIDDEN,
                has_causes=False,
            )
        return matched if problem is None else None

    def _describe(
        self, old: JSONObject | None, new: JSONObject | None
    ) -> ReviewRequest:
        request = self._request
        operation = request.operation
        if operation != "DELETE":
            is_new = old is None
            operation = "CREATE" if is_new else "UPDATE"
        name = request.name or name_of(new)
        options = request.options or {}
        kind = f"{operation.capitalize()}Options"
        return replace(
            request,
            operation=operation,
            name=name,
            # A namespace that is made is in itself.
            namespace=request.namespace or (name if request.is_of_namespace else ""),
            object=new,
            old=old,
            options={"kind": kind, "apiVersion": "meta.k8s.io/v1", **options},
        )

    def _find_objects(
        self, api_version: str, kind: str, namespace: str
    ) -> list[JSONObject] | None:
        return self._parameters.get((api_version, kind, namespace))

    def _keep(self, verdict: Verdict) -> None:
        self.warnings.extend([*verdict.warnings, *verdict.unknown])
        self.annotations.update(verdict.annotations)


async def find_admission(
    state: ServerState, target: Target, operation: str, options: JSONObject
) -> AdmissionReviewer | None:
    """Return what is to be asked about a request; None where nothing is stored."""
    configurations = await find_configurations(state)
    if configurations is None:
        return None
    request = await describe_request(state, target, operation, options)
    parameters = await find_parameters(
        state, configurations.policies, request.namespace
    )
    return AdmissionReviewer(configurations, request, target, parameters, state)
