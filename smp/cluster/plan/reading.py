"""Reading objects, and what an apply would make of them, from a server."""

from __future__ import annotations

import msgspec

from smp import codec
from smp.cluster.plan.client_side import Target, computed, delete_request, until_gone
from smp.cluster.plan.exchange import Plan, Request, pause
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.objects import Applied, Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import JSON_TYPE, send, send_for_object
from smp.cluster.plan.server_side import APPLY
from smp.errors import SmpError
from smp.values import JSON, JSONObject, as_object, as_text

# Go: k8s.io/kubectl/pkg/cmd/diff, maxRetries: the last try is without a lock.
_TRIES = 4


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What an apply would change: the live object, and what it would be.

    ``live`` is None for an object that would be created, and ``merged`` for one that
    would be pruned. ``error`` is there where the server would refuse the apply.
    """

    item: Item
    namespace: str = ""
    live: JSONObject | None = None
    merged: JSONObject | None = None
    error: SmpError | None = None


def difference(target: Target, options: ApplyOptions) -> Plan[Difference]:
    """Ask the server what an apply would make of an object; nothing is written.

    Raises what ``send`` and ``computed`` raise (Go: diff.InfoObject.Merged).
    """
    live: JSONObject | None = None
    for attempt in range(1, _TRIES + 1):
        live = yield from target.read()
        request = _dry_run(target, live, options, locked=attempt < _TRIES)
        if request is None:
            return Difference(
                item=target.item, namespace=target.namespace, live=live, merged=live
            )
        try:
            merged = yield from send_for_object(request)
        except ApiError as error:
            # It was written since it was read.
            if error.reason == "Conflict" and attempt < _TRIES and live is not None:
                yield from pause(0)
                continue
            raise
        return Difference(
            item=target.item, namespace=target.namespace, live=live, merged=merged
        )
    raise AssertionError("the last attempt returns or raises")


def _dry_run(
    target: Target, live: JSONObject | None, options: ApplyOptions, *, locked: bool
) -> Request | None:
    """Make the request of a dry run; None where nothing would be sent."""
    query: tuple[tuple[str, str], ...] = (
        ("dryRun", "All"),
        ("fieldManager", options.manager),
    )
    if options.server_side:
        force = "true" if options.force_conflicts else "false"
        body = codec.encode(target.item.object)
        headers = (("Accept", JSON_TYPE), ("Content-Type", APPLY))
        return Request("PATCH", target.path, (*query, ("force", force)), headers, body)
    # It would be created.
    if live is None:
        headers = (("Accept", JSON_TYPE), ("Content-Type", JSON_TYPE))
        path = target.resource.path(target.namespace)
        return Request("POST", path, query, headers, codec.encode(target.item.object))
    # Go: GetModifiedConfiguration with annotate=false.
    found = computed(target, live, options, with_annotation=False)
    if not found.patch:
        return None
    patch = found.patch
    version = as_object(live.get("metadata")).get("resourceVersion")
    # kubectl locks all tries but the last one.
    if locked and isinstance(patch, list):
        # A JSON Patch of a custom resource.
        path = "/metadata/resourceVersion"
        patch = [{"op": "test", "path": path, "value": version}, *patch]
    elif locked and isinstance(patch, dict):
        metadata = {**as_object(patch.get("metadata")), "resourceVersion": version}
        patch = {**patch, "metadata": metadata}
    headers = (("Accept", JSON_TYPE), ("Content-Type", found.media_type))
    return Request("PATCH", target.path, query, headers, codec.encode(patch))


def delete(target: Target, options: ApplyOptions, *, wait: bool) -> Plan[Applied]:
    """Delete an object, and wait until it is gone where that is wanted.

    An object that does not exist is an error. Raises what ``send`` raises, and
    NotInTimeError.
    """
    # What was there is a part of the result.
    live = yield from target.read()
    yield from send(delete_request(target, options, named=False))
    if wait and options.dry_run == "none":
        yield from until_gone(target, options.timeout)
    return Applied(
        item=target.item, action="deleted", namespace=target.namespace, before=live
    )


def uid_of(obj: JSON) -> str:
    """Return the uid of an object; empty where it has none."""
    return as_text(as_object(as_object(obj).get("metadata")).get("uid"))
