"""Getting, creating and deleting objects, and the bodies of their subresources."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from starlette.responses import Response

from smp import handler
from smp._values import codec
from smp._values.api_objects import make_status, metadata_of
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import (
    AlreadyExistsError,
    NotFoundError,
    Outcome,
    Refused,
    UnclassifiedError,
    to_status,
)
from smp.server.endpoints.answers import error_response, respond, status_response
from smp.server.endpoints.bodies import read_delete_options, read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.list_options import number
from smp.server.endpoints.lists import Selected, object_response, select, store_list
from smp.server.errors import InvalidError
from smp.server.objects import subresources
from smp.server.objects.deletion import DeleteOptions
from smp.server.registry.admission import Admitted, admit_new
from smp.server.registry.allocation import completed
from smp.server.registry.deletion import remove
from smp.server.registry.envelope import served, unpack
from smp.server.registry.objects import find, insert, pack_within_limit, require_parents
from smp.server.registry.target import Target
from smp.server.store import Stored, check_reached

# Go: maxNameGenerationCreateAttempts in k8s.io/apiserver/pkg/registry/generic/registry.
_MAX_ATTEMPTS: Final = 8
_REVISION: Final = re.compile("0*([0-9]{1,20})")


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


async def create(call: Call) -> Response:
    """Create an object.

    A generateName gets another suffix where the name exists already.
    """
    body = await read_object(call)
    await call.begin_admission("CREATE")
    # An API server checks this in admission, before it validates: a missing namespace
    # is reported rather than what is invalid in the object.
    parents = await require_parents(call.state, call.target)
    attempts = _MAX_ATTEMPTS

    def make() -> Outcome:
        nonlocal attempts
        outcome = handler.create(body, call.kind.schema, call.options)
        if isinstance(outcome, Refused):
            return outcome
        metadata = metadata_of(outcome.object)
        # Go: storage.ErrResourceVersionSetOnCreate, which is 500, for what ParseUint
        # reads; another text is not looked at, and a dry run does not come so far.
        revision = _REVISION.fullmatch(str(metadata.get("resourceVersion", "")))
        if revision and 0 < int(revision[1]) < 1 << 64 and not call.options.dry_run:
            raise UnclassifiedError(
                "resourceVersion should not be set on objects to be created"
            )
        # Only a generated name is tried again, with another suffix.
        attempts = attempts - 1 if not metadata.get("name") else 0
        return outcome

    seconds = call.seconds_to_write(len(body))
    while True:
        response, exists = await store_new(call, make, parents, seconds)
        if not exists or not attempts:
            return response


async def store_new(
    call: Call, make: Callable[[], Outcome], parents: Sequence[Stored], seconds: float
) -> tuple[Response, bool]:
    """Store and answer what a request makes; tell whether it exists already.

    To make it takes so long. A dry run stores nothing. Raises RelatedNotFoundError and
    ForbiddenError where one of its parents began to be deleted meanwhile: the sweep of
    the parent may have passed, and would not delete it.
    """
    state, resource = call.state, call.target.resource
    new = await call.work(seconds, _admit, call, make)
    if isinstance(new, Refused):
        return status_response(new), False
    target = call.target.named(_name(new.object))
    try:
        obj = await completed(
            state, call.target, new.object, is_new=True, is_dry_run=call.options.dry_run
        )
    except SmpError as error:
        return error_response(error, target), False
    stored: Stored | None = None
    if not call.options.dry_run:
        stored = await insert(state, target, obj, parents)
    elif await state.store.get(target.key) is None:
        # The answer has no resourceVersion (revision 0).
        stored = Stored(target.key, pack_within_limit(state, target, obj), 0)
    if stored is None:
        return error_response(AlreadyExistsError("object already exists"), target), True
    response = await object_response(
        call, served(stored, resource), code=201, warnings=new.warnings
    )
    return response, False


def _admit(call: Call, make: Callable[[], Outcome]) -> Admitted | Refused:
    """Return the new object to store from what the handler says about it."""
    outcome = make()
    if isinstance(outcome, Refused):
        return outcome
    resource = call.target.resource
    context = call.state.admission_context(outcome.object)
    try:
        new = admit_new(outcome.object, call.kind, call.target.namespace, context)
        if call.admission is not None:
            call.admission.validate(None, new.object)
    except InvalidError as error:
        # The path of a create has no name: the Status names the object of the body.
        # It is validated in the group in which it is stored.
        name, group = _name(outcome.object), resource.storage_group
        return to_status(error, name=name, group=group, kind=resource.kind)
    return Admitted(new.object, (*outcome.warnings, *new.warnings))


def _name(obj: JSONObject) -> str:
    return str(metadata_of(obj).get("name") or "")


async def delete(call: Call) -> Response:
    """Delete an object.

    The answer is a Status; while finalizers or contents remain, it is the object.
    """
    options = await _delete_options(call)
    await call.begin_admission("DELETE", options.stated)
    await _review(call, call.target)
    resource = call.target.resource
    removal = await remove(call.state, call.target, options=options)
    warnings = options.warnings(resource)
    if not removal.is_deleted or resource.strategy.answers_deleted:
        body = served(removal.stored, resource)
        return await object_response(call, body, warnings=warnings)
    # The object is gone: the answer is a Status with its uid, as of an API server.
    details: JSONObject = {"name": call.target.name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    uid = metadata_of(unpack(removal.stored, resource)).get("uid")
    if uid:
        details["uid"] = uid
    status = make_status("Success", details=details)
    return respond(codec.encode(status), warnings=warnings)


async def delete_collection(call: Call) -> Response:
    """Delete the objects that are selected, and answer them as a list."""
    options = await _delete_options(call)
    await call.begin_admission("DELETE", options.stated)
    # limit and continue hold here, too: clients may delete page by page.
    selected = await select(call)
    removed: list[Stored] = []
    for item in selected.items:
        # One that was deleted meanwhile is left out.
        with suppress(NotFoundError):
            target = call.target.at(item.key)
            await _review(call, target)
            removal = await remove(call.state, target, options=options)
            removed.append(removal.stored)
        # Other requests are answered, even if the store never waits.
        await asyncio.sleep(0)
    return await store_list(call, Selected(tuple(removed), selected.metadata))


async def _review(call: Call, target: Target) -> None:
    """Ask webhooks and policies about the deletion of an object."""
    if call.admission is not None:
        stored = await find(call.state, target)
        old = unpack(stored, target.resource)
        await call.work(0, call.admission.review, old, None)


async def _delete_options(call: Call) -> DeleteOptions:
    return DeleteOptions.read(await read_delete_options(call), call.query)
