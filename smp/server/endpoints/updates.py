"""Changing objects: update and patch, of an object or of a subresource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace as changed
from typing import NamedTuple, TypeAlias

from starlette.responses import Response

from smp import handler
from smp.handler import (
    APPLY,
    Options,
    Outcome,
    Refused,
    UnsupportedMediaTypeError,
    aretry,
)
from smp.schema.model import Schema
from smp.server.endpoints.answers import answer, refuse
from smp.server.endpoints.call import Call
from smp.server.endpoints.objects import shown, told
from smp.server.objects import metadata, subresources
from smp.server.registry.admission import admit_change
from smp.server.registry.envelope import unpacked
from smp.server.registry.storing import find, replace, sized
from smp.server.registry.turns import apart
from smp.server.store import Stored
from smp.values import JSONObject, same

# From an object as clients see it, its schema and the options to what a client makes of
# it.
Change: TypeAlias = Callable[[JSONObject, Schema | None, Options], Outcome]


async def update(call: Call) -> Response:
    """Replace an object."""
    body = await call.whole()
    return await _change(
        call,
        lambda old, schema, options: handler.replace(old, body, schema, options),
        len(body),
    )


async def patch(call: Call) -> Response:
    """Patch an object."""
    media_type = call.content_type
    if media_type == APPLY:  # which would create what is not there
        raise UnsupportedMediaTypeError(
            "this server has no server-side apply; use apply without --server-side"
        )
    body = await call.body()
    return await _change(
        call,
        lambda old, schema, options: handler.patch(
            old, body, media_type, schema, options
        ),
        len(body),
    )


class _Draft(NamedTuple):
    """What is to be stored; None where that is what is stored."""

    obj: JSONObject | None
    warnings: tuple[str, ...]


async def _change(call: Call, change: Change, size: int) -> Response:
    """Change an object by a body of a size; where others are faster, again, from what
    they wrote.
    """
    if call.target.subresource == "scale":
        change = _through_scale(call, change)

    async def read() -> Stored:
        return await find(call.api, call.target)

    def compute(stored: Stored) -> Awaitable[_Draft | Refused]:
        return apart(size + len(stored.value), _draft, call, stored, change)

    async def write(
        stored: Stored, computed: Awaitable[_Draft | Refused]
    ) -> Response | None:
        draft = await computed
        if isinstance(draft, Refused):
            return refuse(draft)
        written = await _write(call, stored, draft.obj)
        return (
            answer(
                call, shown(call, written), warnings=told(call, written, draft.warnings)
            )
            if written
            else None
        )

    async with call.api.turns.of(call.target.key):
        return await aretry(read, compute, write)


def _through_scale(call: Call, change: Change) -> Change:
    """Turn a change of a Scale into one of its object."""
    resource = call.target.resource
    scale = call.api.settings.catalog.schema(subresources.SCALE_API_VERSION, "Scale")

    def through_scale(
        old: JSONObject, _schema: Schema | None, options: Options
    ) -> Outcome:
        plain = changed(options, default=None, custom=False)
        outcome = change(subresources.scale_of(old, resource), scale, plain)
        if isinstance(outcome, Refused):
            return outcome
        return changed(
            outcome, object=subresources.with_scale(old, outcome.object, resource)
        )

    return through_scale


def _draft(call: Call, stored: Stored, change: Change) -> _Draft | Refused:
    old = unpacked(stored, call.target.resource)
    outcome = change(old, call.kind.schema, call.options)
    if isinstance(outcome, Refused):
        return outcome
    new = admit_change(
        old,
        outcome.object,
        call.kind,
        call.target.subresource,
        call.api.circumstances(),
    )
    return _Draft(
        None if same(new, metadata.without_resource_version(old)) else new,
        outcome.warnings,
    )


async def _write(call: Call, stored: Stored, obj: JSONObject | None) -> Stored | None:
    if obj is None:
        return stored
    if call.options.dry_run:
        return Stored(
            stored.key, sized(call.api, call.target, obj, stored.value), stored.revision
        )
    return await replace(call.api, call.target, stored, obj)
