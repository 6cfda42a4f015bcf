"""Changing objects: update and patch, of an object or of a subresource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from smp import handler
from smp.handler import (
    APPLY,
    Accepted,
    Options,
    Outcome,
    Refused,
    UnsupportedMediaTypeError,
    aretry,
)
from smp.schema.model import Schema
from smp.server.endpoints.bodies import content_type_of, read_body, read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.objects import subresource_body
from smp.server.endpoints.rendering import object_response
from smp.server.endpoints.responses import status_response
from smp.server.objects import metadata, subresources
from smp.server.registry.admission import admit_change
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import find, pack_within_limit, replace
from smp.server.registry.state import offload
from smp.server.store import Stored
from smp.values import JSONObject, same

# What a request makes of a stored object, given the schema and the handler's options.
Transform: TypeAlias = Callable[[JSONObject, Schema | None, Options], Outcome]


async def update(call: Call) -> Response:
    """Replace an object."""
    body = await read_object(call.request, call.state.settings)

    def transform(old: JSONObject, schema: Schema | None, options: Options) -> Outcome:
        return handler.replace(old, body, schema, options)

    return await _change(call, transform, len(body))


async def patch(call: Call) -> Response:
    """Patch an object."""
    media_type = content_type_of(call.request)
    if media_type == APPLY:
        # Server-side apply creates an object that does not exist, so it is refused
        # before the object is looked for.
        raise UnsupportedMediaTypeError(
            "server-side apply is not supported; use apply without --server-side"
        )
    body = await read_body(call.request, call.state.settings)

    def transform(old: JSONObject, schema: Schema | None, options: Options) -> Outcome:
        return handler.patch(old, body, media_type, schema, options)

    return await _change(call, transform, len(body))


class _PendingWrite(msgspec.Struct, frozen=True):
    """What to store; None where the object does not change."""

    object: JSONObject | None
    warnings: tuple[str, ...]


async def _change(call: Call, transform: Transform, size: int) -> Response:
    """Change an object by a request whose body has so many bytes.

    Where another writer is faster, the change is computed again from what that one
    wrote.
    """
    if call.target.subresource == "scale":
        transform = _through_scale(call, transform)

    async def read() -> Stored:
        return await find(call.state, call.target)

    # aretry calls this and gives its result to ``write``, which awaits it.
    def compute(stored: Stored) -> Awaitable[_PendingWrite | Refused]:
        return offload(
            size + len(stored.value), _pending_write, call, stored, transform
        )

    async def write(
        stored: Stored, computed: Awaitable[_PendingWrite | Refused]
    ) -> Response | None:
        pending = await computed
        if isinstance(pending, Refused):
            return status_response(pending)
        written: Stored | None
        if pending.object is None:
            # Nothing changes: it is not written, and the resourceVersion stays.
            written = stored
        elif call.options.dry_run:
            value = pack_within_limit(
                call.state, call.target, pending.object, stored.value
            )
            written = Stored(stored.key, value, stored.revision)
        else:
            written = await replace(call.state, call.target, stored, pending.object)
        if written is None:
            # Another writer was faster: read and compute again.
            return None
        body = subresource_body(call, written)
        return object_response(call, body, warnings=pending.warnings)

    # The writers of one object wait for each other here, so that within this process
    # none has to compute again; ``aretry`` is for those of other processes.
    async with call.state.key_locks.lock(call.target.key):
        return await aretry(read, compute, write)


def _through_scale(call: Call, transform: Transform) -> Transform:
    """Turn a change of a Scale into a change of the object that it belongs to."""
    resource = call.target.resource
    schema = call.state.kinds.catalog.schema(subresources.SCALE_API_VERSION, "Scale")

    def transform_object(
        old: JSONObject, _schema: Schema | None, options: Options
    ) -> Outcome:
        # A Scale is of a built-in kind, also that of a custom resource.
        scale_options = Options(
            profile=options.profile,
            field_validation=options.field_validation,
            dry_run=options.dry_run,
            limits=options.limits,
            resource=options.resource,
        )
        scale = subresources.scale_of(old, resource)
        # The patch is of the Scale, and then the replicas are copied to the object.
        outcome = transform(scale, schema, scale_options)
        if isinstance(outcome, Refused):
            return outcome
        obj = subresources.with_scale(old, outcome.object, resource)
        return Accepted(obj, changed=outcome.changed, warnings=outcome.warnings)

    return transform_object


def _pending_write(
    call: Call, stored: Stored, transform: Transform
) -> _PendingWrite | Refused:
    """Compute the object to store from the stored one."""
    old = unpack(stored, call.target.resource)
    outcome = transform(old, call.kind.schema, call.options)
    if isinstance(outcome, Refused):
        return outcome
    admitted = admit_change(
        old,
        outcome.object,
        call.kind,
        call.target.subresource,
        call.state.admission_context(),
    )
    is_unchanged = same(admitted.object, metadata.without_resource_version(old))
    return _PendingWrite(
        None if is_unchanged else admitted.object,
        warnings=(*outcome.warnings, *admitted.warnings),
    )
