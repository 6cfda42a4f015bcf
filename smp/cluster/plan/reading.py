"""Reading objects, and what an apply would make of them, from a server."""

from __future__ import annotations

from typing import Any

import msgspec

from smp._values import codec
from smp._values.api_objects import set_metadata
from smp._values.values import ABSENT, JSON, JSONObject, as_object, as_text, same
from smp.cluster.plan.client_side import ApplyTarget, compute
from smp.cluster.plan.exchange import Plan, PlannedRequest, pause
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.given_up import drop_conflicts, drop_given_up
from smp.cluster.plan.objects import Item, causes_of
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.prediction import predict
from smp.cluster.plan.sending import body_of, send_for_object, write_request
from smp.cluster.plan.server_side import APPLY
from smp.cluster.plan.union_requests import is_refusal, remark_on
from smp.errors import SmpError
from smp.explain import Cause
from smp.hazards import Hazard
from smp.schema.model import Schema

# Go: k8s.io/kubectl/pkg/cmd/diff, maxRetries: the last try is without a lock.
_TRIES = 4


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What an apply would change: the live object, and what it would be.

    ``live`` is None for an object that would be created, and ``merged`` for one that
    would be pruned. ``patch`` is what an apply would send; None where it would send
    none. ``error`` is there where the server would refuse the apply.
    """

    item: Item
    namespace: str = ""
    live: dict[str, Any] | None = None
    merged: dict[str, Any] | None = None
    patch: Any = None
    media_type: str = ""
    schema: Schema | None = None
    hazards: tuple[Hazard, ...] = ()
    error: SmpError | None = None

    @property
    def differs(self) -> bool:
        """Whether the apply would change the object.

        What a server counts, and who owns which field, is no difference.
        """
        return not same(_compare(self.live), _compare(self.merged))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Why each field would, or would not, change; see Applied.causes."""
        return causes_of(self.item, self.live, self.schema)


def _compare(obj: JSONObject | None) -> JSON:
    if obj is None:
        return None
    # Go: k8s.io/kubectl/pkg/cmd/diff omits managedFields; a dry run counts as well.
    counted = ("generation", "managedFields", "resourceVersion")
    return set_metadata(obj, **dict.fromkeys(counted, ABSENT))


def difference(target: ApplyTarget, options: ApplyOptions) -> Plan[Difference]:
    """Ask the server what an apply would make of an object; nothing is written.

    Raises what ``send`` and ``compute`` raise (Go: diff.InfoObject.Merged).
    """
    item = target.item
    if options.server_side:
        target, _ = drop_given_up(target, options)
    for attempt in range(1, _TRIES + 1):
        live = yield from target.read()
        request, hazards = _dry_run(target, live, options, locked=attempt < _TRIES)
        found = Difference(
            item=item,
            namespace=target.namespace,
            live=live,
            merged=live,
            schema=target.kind_schema.schema,
            hazards=hazards,
        )
        if request is None:
            return found
        try:
            merged = yield from send_for_object(request)
        except ApiError as error:
            if options.skip_conflicts and error.reason == "Conflict":
                target, _ = drop_conflicts(target, live, options, error)
                continue
            # It was written since it was read.
            if error.reason == "Conflict" and attempt < _TRIES and live is not None:
                yield from pause(0)
                continue
            if not options.server_side or not is_refusal(error, options):
                raise
            # The apply would send a request first, and a dry run stores none.
            remedy = remark_on(target, live, options, error).remedy
            if remedy is None:
                raise
            merged = remedy.object
        return msgspec.structs.replace(
            found,
            merged=merged,
            patch=codec.decode(request.body),
            media_type=dict(request.headers)["Content-Type"],
        )
    raise AssertionError("the last attempt returns or raises")


def _dry_run(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions, *, locked: bool
) -> tuple[PlannedRequest | None, tuple[Hazard, ...]]:
    """Make the request of a dry run, None where nothing would be sent, and hazards."""
    query: tuple[tuple[str, str], ...] = (
        ("dryRun", "All"),
        ("fieldManager", options.manager),
    )
    if options.server_side:
        force = "true" if options.force_conflicts else "false"
        body = body_of(target.item.object)
        query = (*query, ("force", force))
        return write_request("PATCH", target.path, query, body, APPLY), ()
    # It would be created.
    if live is None:
        path = target.resource.path(target.namespace)
        body = body_of(target.item.object)
        hazards = predict(target, None, options).hazards
        return write_request("POST", path, query, body), hazards
    # Go: GetModifiedConfiguration with annotate=false.
    found = compute(target, live, options, with_annotation=False)
    if not found.patch:
        return None, found.result.hazards
    patch = found.patch
    version = as_object(live.get("metadata")).get("resourceVersion")
    # kubectl locks all tries but the last one.
    if locked and isinstance(patch, list):
        # A JSON Patch of a custom resource.
        path = "/metadata/resourceVersion"
        patch = [{"op": "test", "path": path, "value": version}, *patch]
    elif locked and isinstance(patch, dict):
        patch = set_metadata(patch, resourceVersion=version)
    request = write_request(
        "PATCH", target.path, query, body_of(patch), found.media_type
    )
    return request, found.result.hazards


def uid_of(obj: JSON) -> str:
    """Return the uid of an object; empty where it has none."""
    return as_text(as_object(as_object(obj).get("metadata")).get("uid"))
