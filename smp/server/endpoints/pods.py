"""Subresources of Pods and CertificateSigningRequests that act on the object.

No kubelet runs here: a Pod that is on no node has no logs yet, and what needs one that
is on a node fails as where the node is not registered, or its kubelet not reached.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from msgspec.structs import replace as replace_fields
from starlette.responses import Response

from smp._values import codec
from smp._values.api_objects import make_status, metadata_of, set_metadata
from smp._values.label_selectors import parse_label_selector, selector_text
from smp._values.times import timestamp
from smp._values.values import JSONObject, as_object, as_text, objects_in, value_at
from smp.handler import InternalFailureError, ModifiedError, StatusError, to_status
from smp.paths import Path
from smp.server.endpoints.answers import respond, status_response
from smp.server.endpoints.bodies import read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import number
from smp.server.errors import InvalidError, RefusalError, invalid
from smp.server.objects.deletion import DeleteOptions
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import RelatedNotFoundError, find, replace, snapshot
from smp.server.registry.target import Target

_CREATED: Final = 201
_NO_CONTENT: Final = 204
# The least values of the options of logs (Go: ValidatePodLogOptions).
_LEAST: Final = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}
_DONE: Final = make_status("Success", code=_CREATED)


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
    options = DeleteOptions.read(as_object(eviction.get("deleteOptions")), call.query)
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
                    raise RefusalError(
                        429,
                        "Cannot evict pod as it would violate the pod's disruption"
                        " budget.",
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
    elif metadata_of(binding).get("name") != target.name:
        raise StatusError("name in URL does not match name in Binding object")
    # Go: core validation.ValidatePodBinding, whose errors are answered so.
    kind = value_at(binding, ("target", "kind"))
    if kind not in ("Node", "", None):
        problem = f'Unsupported value: "{kind}": supported values: "Node", "<empty>"'
        raise InternalFailureError(f"target.kind: {problem}")
    if not node:
        raise InternalFailureError("target.name: Required value")
    await _review(call, target, binding)
    condition: JSONObject = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(call.state.admission_context().now),
    }
    written = None
    async with call.state.lock(target.key):
        while written is None:
            stored = await find(call.state, target)
            pod = unpack(stored, target.resource)
            spec, status = as_object(pod.get("spec")), as_object(pod.get("status"))
            problem = "has non-empty .spec.schedulingGates"
            # The first scheduler wins.
            if taken := as_text(spec.get("nodeName")):
                problem = f'is already assigned to node "{taken}"'
            if taken or spec.get("schedulingGates"):
                raise ModifiedError(f"pod {target.name} {problem}")
            others = [
                other
                for other in objects_in(status.get("conditions"))
                if other.get("type") != "PodScheduled"
            ]
            pod = {
                **pod,
                "spec": {**spec, "nodeName": node},
                "status": {**status, "conditions": [*others, condition]},
            }
            written = stored
            if not call.options.dry_run:
                written = await replace(call.state, target, stored, pod)
    return respond(codec.encode(_DONE), code=_CREATED)


async def log(call: Call) -> Response:
    """Answer the logs of a container; a Pod that is on no node has none yet."""
    violations = []
    for name, least in _LEAST.items():
        if call.query.get(name, ""):
            amount = number(call.query, name, signed=True)
            if amount < least:
                bound = "greater than 0" if least else "greater than or equal to 0"
                violations.append(invalid(Path((name,)), amount, f"must be {bound}"))
    if violations:
        error, name = InvalidError(violations), call.target.name
        return status_response(to_status(error, name=name, kind="PodLogOptions"))
    if await _find_node(call, has_container=True):
        raise RefusalError(500, "there is no kubelet that has logs")
    return Response(status_code=_NO_CONTENT)


async def connect(call: Call) -> Response:
    """Refuse a connection to a container, or to a Pod."""
    has_container = call.target.subresource in {"attach", "exec"}
    if not await _find_node(call, has_container=has_container):
        # Go: pkg/registry/core/pod, streamLocation.
        raise StatusError(f"pod {call.target.name} does not have a host assigned")
    raise RefusalError(500, "there is no kubelet to connect to")


async def proxy(call: Call) -> Response:
    """Refuse a request to what runs on a node or behind a Service."""
    await find(call.state, call.target)
    if call.target.resource.plural == "services":
        name = call.target.name
        raise RefusalError(503, f'no endpoints available for service "{name}"')
    raise RefusalError(500, "there is no node to connect to")


async def _find_node(call: Call, *, has_container: bool) -> str:
    """Return the name of the node of a Pod, or the empty string.

    Raises StatusError where the query names no container of it, and
    RelatedNotFoundError. Go: pkg/registry/core/pod/strategy.go, LogLocation.
    """
    pod = unpack(await find(call.state, call.target), call.target.resource)
    names = []
    for member in ("initContainers", "containers", "ephemeralContainers"):
        containers = objects_in(value_at(pod, ("spec", member)))
        names += [as_text(each.get("name")) for each in containers]
    container = call.query.get("container", "")
    if has_container and container and container not in names:
        raise StatusError(
            f"container {container} is not valid for pod {call.target.name}"
        )
    if has_container and not container and len(names) > 1:
        raise StatusError(
            f"a container name must be specified for pod {call.target.name}, choose"
            f" one of: [{' '.join(names)}]"
        )
    node = as_text(value_at(pod, ("spec", "nodeName")))
    nodes = Target(call.state.kinds.resources.find("", "v1", "nodes"), name=node)
    if node and await call.state.store.get(nodes.key) is None:
        # Go takes the name of the node for that of a Pod.
        raise RelatedNotFoundError(call.target.named(node))
    return node


async def _review(call: Call, target: Target, obj: JSONObject) -> None:
    """Ask webhooks and policies about what is done with a Pod."""
    await call.begin_admission("CREATE")
    if call.admission is not None:
        obj = set_metadata(obj, namespace=target.namespace)
        await call.work(0, call.admission.review, None, obj)


async def _body(call: Call) -> JSONObject:
    body = await read_object(call)
    return as_object(codec.decode(body))
