"""Subresources of Pods and CertificateSigningRequests that act on the object.

No kubelet runs here: a Pod that is on no node has no logs yet, and what needs one that
is on a node fails as where the kubelet cannot be reached.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import ClassVar, Final

from msgspec.structs import replace as replace_fields
from starlette.responses import PlainTextResponse, Response

from smp._values import codec
from smp._values.label_selectors import parse_label_selector
from smp._values.values import JSON, JSONObject, as_object, as_text
from smp.handler import ModifiedError, StatusError, aretry
from smp.server.endpoints.bodies import read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.responses import respond
from smp.server.objects.deletion import DeleteOptions
from smp.server.objects.fields import objects_in, value_at
from smp.server.objects.metadata import metadata_of, set_metadata, timestamp
from smp.server.objects.selectors import selector_text
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import ATTEMPTS, find, replace
from smp.server.registry.snapshots import snapshot
from smp.server.registry.target import Target
from smp.server.store import Stored

_CREATED: Final = 201
_DONE: Final[JSONObject] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": _CREATED,
}


class DisruptionBudgetError(StatusError):
    """An eviction that a disruption budget does not allow now."""

    default_code = "disruption-budget"
    status = 429
    reason: ClassVar[str] = "TooManyRequests"


class NoKubeletError(StatusError):
    """Something that only the kubelet of a node can answer."""

    default_code = "no-kubelet"
    status = 500
    reason: ClassVar[str] = "InternalError"


async def evict(call: Call) -> Response:
    """Delete a Pod, unless a disruption budget forbids it.

    Go: pkg/registry/core/pod/storage/eviction.go.
    """
    eviction = await _body(call)
    if metadata_of(eviction).get("name") != call.target.name:
        # The Pod is looked for first.
        await find(call.state, call.target)
        raise StatusError("name in URL does not match name in Eviction object")
    stored = await find(call.state, call.target)
    pod = unpack(stored, call.target.resource)
    # A Pod that does not run disrupts nothing.
    if value_at(pod, ("status", "phase")) == "Running":
        await _check_budgets(call, pod)
    # An Eviction has the options of the deletion in it.
    document = as_object(eviction.get("deleteOptions"))
    options = DeleteOptions.read(document, call.query)
    await _review(call, call.target, eviction)
    if call.options.dry_run:
        options = replace_fields(options, dry_run=("All",))
    await remove(call.state, call.target, options=options)
    return respond(codec.encode(_DONE), code=_CREATED)


async def _check_budgets(call: Call, pod: JSONObject) -> None:
    resource = call.state.kinds.resources.find("policy", "v1", "poddisruptionbudgets")
    collection = Target(resource, namespace=call.target.namespace)
    pages = snapshot(call.state.store, collection.prefix)
    async with aclosing(pages):
        async for page in pages:
            for stored in page.items:
                budget = unpack(stored, resource)
                selector = value_at(budget, ("spec", "selector"))
                # An empty selector selects all Pods, an absent one none.
                if selector is None:
                    continue
                allowed = value_at(budget, ("status", "disruptionsAllowed"))
                is_allowed = isinstance(allowed, int) and allowed > 0
                selects = parse_label_selector(selector_text(selector)).matches
                if not is_allowed and selects(pod):
                    raise DisruptionBudgetError(
                        "Cannot evict pod as it would violate the pod's disruption"
                        " budget."
                    )


async def bind(call: Call) -> Response:
    """Assign a Pod to a node. Go: pkg/registry/core/pod/storage, BindingREST."""
    binding = await _body(call)
    node = as_text(value_at(binding, ("target", "name")))
    target = call.target
    if not target.subresource:
        # POST of a Binding to its own collection: it names the Pod.
        pods = call.state.kinds.resources.find("", "v1", "pods")
        name = as_text(metadata_of(binding).get("name"))
        target = Target(pods, target.namespace, name)
    await _review(call, target, binding)
    now = timestamp(call.state.admission_context().now)

    async def read() -> Stored:
        return await find(call.state, target)

    def bound(stored: Stored) -> JSONObject:
        pod = unpack(stored, target.resource)
        spec, status = as_object(pod.get("spec")), as_object(pod.get("status"))
        # The first scheduler wins.
        if spec.get("nodeName"):
            raise ModifiedError(
                f"pod {target.name} is already assigned to node"
                f' "{as_text(spec["nodeName"])}"'
            )
        condition: JSONObject = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        conditions: list[JSON] = [
            other
            for other in objects_in(status.get("conditions"))
            if other.get("type") != "PodScheduled"
        ]
        return {
            **pod,
            "spec": {**spec, "nodeName": node},
            "status": {**status, "conditions": [*conditions, condition]},
        }

    async def write(stored: Stored, pod: JSONObject) -> Stored | None:
        if call.options.dry_run:
            return stored
        return await replace(call.state, target, stored, pod)

    async with call.state.key_locks.lock(target.key):
        await aretry(read, bound, write, attempts=ATTEMPTS)
    return respond(codec.encode(_DONE), code=_CREATED)


async def log(call: Call) -> Response:
    """Answer the logs of a Pod; one that is on no node has none yet."""
    node = await _node(call)
    if node:
        raise NoKubeletError(f"node {node} has no kubelet that has logs")
    return PlainTextResponse("")


async def connect(call: Call) -> Response:
    """Refuse a connection to a container."""
    node = await _node(call)
    if not node:
        # Go: pkg/registry/core/pod, streamLocation.
        raise StatusError(f"pod {call.target.name} does not have a host assigned")
    raise NoKubeletError(f"node {node} has no kubelet to connect to")


async def proxy(_call: Call) -> Response:
    """Refuse a request to what runs on a node or behind a Service."""
    raise NoKubeletError("there is no node to connect to")


async def _node(call: Call) -> str:
    pod = unpack(await find(call.state, call.target), call.target.resource)
    return as_text(value_at(pod, ("spec", "nodeName")))


async def _review(call: Call, target: Target, obj: JSONObject) -> None:
    """Ask webhooks and policies about what is done with a Pod."""
    await call.begin_admission("CREATE")
    if call.admission is not None:
        obj = set_metadata(obj, namespace=target.namespace)
        await call.work(0, call.admission.review, None, obj)


async def _body(call: Call) -> JSONObject:
    body = await read_object(call)
    return as_object(codec.decode(body))
