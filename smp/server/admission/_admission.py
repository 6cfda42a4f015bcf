"""All that is asked about one request, in the order of a server."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from smp._values.values import JSONObject
from smp.handler import Admission as Change
from smp.handler.admission import (
    MutatingPolicies,
    Mutator,
    ReviewRequest,
    Verdict,
    judge,
    mutate,
)
from smp.schema.model import Schema
from smp.server.admission._configurations import (
    Configurations,
    Parameters,
    describe_request,
    find_configurations,
    find_parameters,
    name_of,
)
from smp.server.admission._webhooks import Caller
from smp.server.objects import metadata, subresources
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target


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
        caller: Caller,
        parameters: Parameters,
        schema: Schema | None,
    ) -> None:
        self._configurations = configurations
        self._request = request
        self._target = target
        self._caller = caller
        self._parameters = parameters
        self._schema = schema

    @property
    def warnings(self) -> list[str]:
        """The warnings for the client."""
        return self._caller.warnings

    @property
    def annotations(self) -> dict[str, str]:
        """The audit annotations."""
        return self._caller.annotations

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
            self._caller.call(webhook, request)

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
                self._caller.call(webhook, request)
            return None
        webhooks = [
            Mutator(
                partial(self._caller.change, webhook, request),
                webhook.fields.get("reinvocationPolicy") == "IfNeeded",
            )
            for webhook in called
        ]
        changed = mutate([policies, webhooks], request.object, mutating.finish)
        self._keep(verdict)
        return changed

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
    state: ServerState,
    target: Target,
    operation: str,
    options: JSONObject,
    schema: Schema | None = None,
) -> AdmissionReviewer | None:
    """Return what is to be asked about a request; None where nothing is stored."""
    configurations = await find_configurations(state)
    if configurations is None:
        return None
    request = await describe_request(state, target, operation, options)
    parameters = await find_parameters(
        state, configurations.policies, request.namespace
    )
    caller = Caller(state.webhook_urls)
    return AdmissionReviewer(
        configurations, request, target, caller, parameters, schema
    )
