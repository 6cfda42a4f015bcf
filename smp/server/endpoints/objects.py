"""Getting and creating objects, and what their subresources show of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from starlette.responses import Response

from smp import codec, handler
from smp.errors import SmpError
from smp.handler import AlreadyExistsError, NotFoundError, Refused, to_status
from smp.server.endpoints.answers import answer, refuse, refused
from smp.server.endpoints.call import Call
from smp.server.errors import InvalidError
from smp.server.objects import subresources
from smp.server.objects.crds import Definition
from smp.server.objects.metadata import metadata_of
from smp.server.registry.admission import admit_new
from smp.server.registry.envelope import served, unpacked
from smp.server.registry.parents import require_parents
from smp.server.registry.removal import remove
from smp.server.registry.storing import find, insert, sized
from smp.server.registry.target import CRDS, Target
from smp.server.registry.turns import apart
from smp.server.store import Stored
from smp.values import JSONObject

_CREATED: Final = 201
_GENERATED: Final = 8  # names that are tried before a generateName is said to be taken


async def get(call: Call) -> Response:
    """Answer an object, or a subresource of it."""
    return answer(call, shown(call, await find(call.api, call.target)))


def shown(call: Call, stored: Stored) -> bytes:
    """Return what a path shows of a stored object, as JSON."""
    resource = call.target.resource
    if call.target.subresource == "scale":
        return codec.encode(subresources.scale_of(unpacked(stored, resource), resource))
    return served(stored, resource)


def told(call: Call, stored: Stored, warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the warnings about what was written; a definition has its own."""
    if call.target.resource.key != CRDS:
        return warnings
    return (
        *warnings,
        *Definition.read(unpacked(stored, call.target.resource)).warnings,
    )


async def create(call: Call) -> Response:
    """Create an object; one whose name is generated gets another where it is taken."""
    body = await call.whole()
    await require_parents(call.api, call.target)
    for _ in range(_GENERATED):
        draft = await apart(len(body), _new, call, body)
        if isinstance(draft, Refused):
            return refuse(draft)
        target = call.target.named(_name(draft.obj))
        stored = await (_try if call.options.dry_run else _insert)(
            call, target, draft.obj
        )
        if stored:
            return answer(
                call,
                served(stored, target.resource),
                code=_CREATED,
                warnings=told(call, stored, draft.warnings),
            )
        if not draft.is_generated:
            break
    return refused(AlreadyExistsError("it is there already"), target)


class _New(NamedTuple):
    """A new object, and whether its name is generated."""

    obj: JSONObject
    is_generated: bool
    warnings: tuple[str, ...]


def _new(call: Call, body: bytes) -> _New | Refused:
    outcome = handler.create(body, call.kind.schema, call.options)
    if isinstance(outcome, Refused):
        return outcome
    given, resource = outcome.object, call.target.resource
    try:
        obj = admit_new(
            given, call.kind, call.target.namespace, call.api.circumstances()
        )
    except InvalidError as error:
        return to_status(
            error, name=_name(given), group=resource.group, kind=resource.kind
        )
    return _New(obj, not _name(given), outcome.warnings)


async def _try(call: Call, target: Target, obj: JSONObject) -> Stored | None:
    """Return what would be stored, as of no revision; None where there is an object."""
    taken = await call.api.store.get(target.key)
    return None if taken else Stored(target.key, sized(call.api, target, obj), 0)


async def _insert(call: Call, target: Target, obj: JSONObject) -> Stored | None:
    """Store a new object; but not where its namespace, or its definition, began to go
    meanwhile.
    """
    stored = await insert(call.api, target, obj)
    try:
        await require_parents(call.api, target)
    except SmpError:
        if stored:
            with suppress(NotFoundError):
                await remove(call.api, target)
        raise
    return stored


def _name(obj: JSONObject) -> str:
    return str(metadata_of(obj).get("name") or "")
