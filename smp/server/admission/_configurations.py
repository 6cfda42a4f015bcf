"""What is stored about admission, read once, and what a request needs of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from smp._values.codec import decode
from smp._values.values import JSONObject, as_object, as_text
from smp.handler.admission import (
    Criteria,
    Policies,
    ReviewedResource,
    ReviewRequest,
    read_policies,
)
from smp.server.errors import UnknownResourceError
from smp.server.objects.fields import objects_in
from smp.server.objects.metadata import metadata_of
from smp.server.objects.resources import Resource
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


class Webhook(msgspec.Struct, frozen=True):
    """A webhook of a configuration, and what it is about."""

    name: str
    fields: JSONObject
    criteria: Criteria
    is_mutating: bool

    @property
    def is_ignored_on_failure(self) -> bool:
        """Whether the request goes on where the webhook cannot be called."""
        return self.fields.get("failurePolicy") == "Ignore"


class Configurations(msgspec.Struct, frozen=True):
    """All webhooks in the order of their calls, and all policies."""

    mutating: tuple[Webhook, ...]
    validating: tuple[Webhook, ...]
    policies: Policies


def read_configurations(items: Sequence[Stored]) -> Configurations:
    """Read what is stored, which was valid when it was written."""
    objects = [as_object(decode(item.value)) for item in items]
    return Configurations(
        tuple(_webhooks(objects, "MutatingWebhookConfiguration", is_mutating=True)),
        tuple(_webhooks(objects, "ValidatingWebhookConfiguration", is_mutating=False)),
        read_policies(objects),
    )


def _webhooks(
    objects: Sequence[JSONObject], kind: str, *, is_mutating: bool
) -> Iterator[Webhook]:
    # The items of the store are in the order of their names (Go: webhook sorters).
    for obj in objects:
        if obj.get("kind") == kind:
            for fields in objects_in(obj.get("webhooks")):
                criteria = Criteria.of_webhook(fields)
                name = as_text(fields.get("name"))
                yield Webhook(name, fields, criteria, is_mutating)


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
    is_namespace = resource.key == NAMESPACES
    # What Go takes for the namespace of a request about a namespace.
    namespace = target.name if is_namespace else target.namespace
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


# By apiVersion, kind and namespace: the objects that may be parameters.
Parameters = dict[tuple[str, str, str], list[JSONObject]]


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
            objects = [unpack(item, resource) for item in page.items]
            found[(*names, place)] = objects
    return found


def name_of(obj: JSONObject | None) -> str:
    """Return the name of an object; empty where it has none yet."""
    return as_text(metadata_of(obj).get("name")) if obj else ""
