"""Getting and creating objects, and the bodies of their subresources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.responses import Response

from smp import handler
from smp._values import codec
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import (
    AlreadyExistsError,
    InternalFailureError,
    Outcome,
    Refused,
    to_status,
)
from smp.server.endpoints.answers import error_response, status_response
from smp.server.endpoints.bodies import read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import number
from smp.server.endpoints.rendering import object_response
from smp.server.errors import InvalidError
from smp.server.objects import subresources
from smp.server.objects.metadata import metadata_of
from smp.server.registry.admission import admit_new
from smp.server.registry.allocation import completed
from smp.server.registry.envelope import served, unpack
from smp.server.registry.objects import (
    find,
    insert,
    pack_within_limit,
    require_parents,
)
from smp.server.registry.target import Target
from smp.server.store import Stored, check_reached

_CREATED: Final = 201
# Go: maxNameGenerationCreateAttempts in k8s.io/apiserver/pkg/registry/generic/registry.
_MAX_ATTEMPTS: Final = 8


async def get(call: Call) -> Response:
    """Answer an object, or a subresource of it."""
    # Any version of the object is answered with the newest, but it is a number.
    least = number(call.query, "resourceVersion")
    if least:
        check_reached(least, await call.state.store.revision())
    stored = await find(call.state, call.target)
    return await object_response(call, subresource_body(call, stored))


def subresource_body(call: Call, stored: Stored) -> bytes:
    """Return the object, or the subresource of it, that the path names, as JSON.

    The ``status`` subresource shows the whole object.
    """
    resource = call.target.resource
    if call.target.subresource == "scale":
        obj = unpack(stored, resource)
        return codec.encode(subresources.readable_scale_of(obj, resource))
    return served(stored, resource)


class NewObject(msgspec.Struct, frozen=True):
    """A new object that is admitted."""

    object: JSONObject
    has_generated_name: bool
    warnings: tuple[str, ...]


async def create(call: Call) -> Response:
    """Create an object.

    A generateName gets another suffix where the name exists already.
    """
    body = await read_object(call)
    await call.begin_admission("CREATE")
    options = call.options
    # An API server checks this in admission, before it validates: a missing namespace
    # is reported rather than what is invalid in the object.
    parents = await require_parents(call.state, call.target)

    def new_object() -> NewObject | Refused:
        outcome = handler.create(body, call.kind.schema, options)
        if not isinstance(outcome, Refused):
            version = metadata_of(outcome.object).get("resourceVersion")
            if isinstance(version, str) and version.strip("0"):
                # Go: storage.ErrResourceVersionSetOnCreate, which is 500.
                raise InternalFailureError(
                    "resourceVersion should not be set on objects to be created"
                )
        return admit(call, outcome)

    seconds = call.seconds_to_write(len(body))
    for _ in range(_MAX_ATTEMPTS):
        new = await call.work(seconds, new_object)
        if isinstance(new, Refused):
            return status_response(new)
        new = await complete(call, new)
        if isinstance(new, Refused):
            return status_response(new)
        target = call.target.named(_name(new.object))
        stored = await insert_new(call, target, new, parents, seconds)
        if stored:
            return await created(call, stored, new)
        # A name that the client chose exists already; only a generated one is tried
        # again, with another suffix.
        if not new.has_generated_name:
            break
    return error_response(AlreadyExistsError("object already exists"), target)


async def created(call: Call, stored: Stored, new: NewObject) -> Response:
    """Answer an object that was created."""
    body = served(stored, call.target.resource)
    return await object_response(call, body, code=_CREATED, warnings=new.warnings)


def admit(call: Call, outcome: Outcome) -> NewObject | Refused:
    """Return the new object to store from what the handler says about it."""
    if isinstance(outcome, Refused):
        return outcome
    name, resource = _name(outcome.object), call.target.resource
    context = call.state.admission_context(outcome.object)
    try:
        new = admit_new(outcome.object, call.kind, call.target.namespace, context)
        if call.admission is not None:
            call.admission.validate(None, new.object)
    except InvalidError as error:
        # The path of a create has no name: the Status names the object of the body.
        # It is validated in the group in which it is stored.
        group = resource.storage_group
        return to_status(error, name=name, group=group, kind=resource.kind)
    return NewObject(
        new.object,
        has_generated_name=not name,
        warnings=(*outcome.warnings, *new.warnings),
    )


async def complete(call: Call, new: NewObject) -> NewObject | Refused:
    """Return a new object with what only the server knows."""
    try:
        obj = await completed(call.state, call.target, new.object, is_new=True)
    except SmpError as error:
        resource = call.target.resource
        return to_status(
            error,
            name=_name(new.object),
            group=resource.group,
            kind=resource.kind,
            resource=resource.plural,
        )
    return msgspec.structs.replace(new, object=obj)


async def insert_new(
    call: Call,
    target: Target,
    new: NewObject,
    parents: Sequence[Stored],
    seconds: float,
) -> Stored | None:
    """Store a new object that took so long to make; None where it exists already.

    A dry run stores nothing. Raises RelatedNotFoundError and ForbiddenError where one
    of its parents began to be deleted meanwhile: the sweep of the parent may have
    passed, and would not delete it.
    """
    if call.options.dry_run:
        if await call.state.store.get(target.key) is not None:
            return None
        # The answer has no resourceVersion (revision 0).
        value = await pack_within_limit(call.state, target, new.object, seconds=seconds)
        return Stored(target.key, value, 0)
    return await insert(call.state, target, new.object, parents, seconds=seconds)


def _name(obj: JSONObject) -> str:
    return str(metadata_of(obj).get("name") or "")
