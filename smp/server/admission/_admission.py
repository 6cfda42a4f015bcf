"""All that is asked about one request, in the order of a server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from smp._values.api_objects import metadata_of
from smp._values.codec import decode
from smp._values.values import JSONObject, as_list, as_object, as_text, objects_in
from smp.handler import Admission as Change
from smp.handler import AnsweredError, StatusError
from smp.handler.admission import (
    Criteria,
    Evaluation,
    MutatingPolicies,
    Mutator,
    Policies,
    ReviewedResource,
    ReviewRequest,
    UnknownInputError,
    Verdict,
    deny,
    find_condition_problem,
    find_match,
    judge,
    mutate,
    read_policies,
)
from smp.schema.resources import Resource
from smp.server.admission._webhooks import (
    CallError,
    Webhook,
    WebhookError,
    apply_patch,
    ask,
    describe_denial,
    read_patch,
)
from smp.server.errors import UnknownResourceError
from smp.server.objects import metadata, subresources
from smp.server.registry.envelope import unpack
from smp.server.registry.state import ServerState
from smp.server.registry.target import NAMESPACES, Target
from smp.server.store import Stored

# As a token file of a kube-apiserver gives it to an administrator.
USER: Final[JSONObject] = {
    "username": "admin",
    "uid": "1",
    "groups": ["system:masters", "system:authenticated"],
}
_PREFIX: Final = "admissionregistration.k8s.io/"
_LOG: Final = logging.getLogger("smp.server")
_WITHOUT_SIDE_EFFECTS: Final = frozenset({"None", "NoneOnDryRun"})
_FORBIDDEN: Final = 403


# By apiVersion, kind and namespace: the objects that may be parameters.
Parameters = dict[tuple[str, str, str], list[JSONObject]]


class Configurations(msgspec.Struct, frozen=True):
    """All webhooks in the order of their calls, and all policies.

    ``parameters`` are those of the policies for the namespace of a request.
    """

    mutating: tuple[Webhook, ...]
    validating: tuple[Webhook, ...]
    policies: Policies
    parameters: Parameters = {}


def read_configurations(items: Sequence[Stored]) -> Configurations:
    """Read what is stored, which was valid when it was written."""
    objects = [as_object(decode(item.value)) for item in items]
    # The items of the store are in the order of their names (Go: webhook sorters).
    webhooks = [
        Webhook(
            as_text(fields.get("name")),
            fields,
            Criteria.of_webhook(fields),
            is_mutating=obj.get("kind") == "MutatingWebhookConfiguration",
        )
        for obj in objects
        for fields in objects_in(obj.get("webhooks"))
    ]
    return Configurations(
        tuple(webhook for webhook in webhooks if webhook.is_mutating),
        tuple(webhook for webhook in webhooks if not webhook.is_mutating),
        read_policies(objects),
    )


async def find_configurations(state: ServerState) -> Configurations | None:
    """Return what is stored about admission; None where nothing is."""
    page = await state.store.list(_PREFIX)
    if not page.items:
        return None
    revisions = tuple((item.key, item.revision) for item in page.items)
    known: tuple[object, Configurations] | None = state.configurations
    if known is None or known[0] != revisions:
        known = revisions, read_configurations(page.items)
        state.configurations = known
    return known[1]


async def describe_request(
    state: ServerState, target: Target, operation: str, options: JSONObject
) -> ReviewRequest:
    """Return a request about a target, without its objects."""
    resource = target.resource
    # What Go takes for the namespace of a request about a namespace.
    namespace = target.name if resource.key == NAMESPACES else target.namespace
    namespace_object = None
    if namespace:
        namespaces = state.kinds.resources.find("", "v1", "namespaces")
        stored = await state.store.get(Target(namespaces, name=namespace).key)
        if stored is not None:
            namespace_object = unpack(stored, namespaces)
    return ReviewRequest(
        operation,
        _reviewed(resource, target.subresource),
        subresource=target.subresource,
        name=target.name,
        namespace=namespace,
        namespace_object=namespace_object,
        user=USER,
        dry_run="dryRun" in options,
        options=options,
        equivalents=tuple(
            _reviewed(other, target.subresource)
            for other in state.kinds.resources
            if other.key == resource.key and other.version != resource.version
        ),
    )


def _reviewed(resource: Resource, subresource: str) -> ReviewedResource:
    # A Scale and an Eviction are of kinds of their own.
    sent = resource.subresources.get(subresource, resource)
    return ReviewedResource(
        resource.group, resource.version, resource.plural, sent.kind, sent.api_version
    )


async def find_parameters(
    state: ServerState, policies: Policies, namespace: str
) -> Parameters:
    """Read all objects that may be parameters of policies, for a namespace."""
    found: Parameters = {}
    for policy in (*policies.validating, *policies.mutating):
        kind = as_object(policy.spec.get("paramKind"))
        names = as_text(kind.get("apiVersion")), as_text(kind.get("kind"))
        for binding in policy.bindings if kind else ():
            reference = as_object(as_object(binding.get("spec")).get("paramRef"))
            place = as_text(reference.get("namespace")) or namespace
            if (*names, place) in found:
                continue
            try:
                resource = state.kinds.resources.of_kind(*names)
            except UnknownResourceError:
                continue
            collection = Target(resource, place if resource.namespaced else "")
            page = await state.store.list(collection.prefix)
            found[(*names, place)] = [unpack(item, resource) for item in page.items]
    return found


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
        state: ServerState,
    ) -> None:
        self._configurations = configurations
        self._request = request
        self._target = target
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
            raise AnsweredError(describe_denial(webhook.name, response.get("status")))
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
            operation = "CREATE" if old is None else "UPDATE"
        name = request.name or as_text(metadata_of(new or {}).get("name"))
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
        return self._configurations.parameters.get((api_version, kind, namespace))

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
    configurations = replace(configurations, parameters=parameters)
    return AdmissionReviewer(configurations, request, target, state)
