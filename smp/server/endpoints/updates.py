"""Changing objects: update and patch, of an object or of a subresource."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeAlias

from msgspec import structs
from starlette.responses import Response

from smp import handler
from smp._storage.service_addresses import find_outside
from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import JSONObject, as_object, as_text, same
from smp.errors import SmpError
from smp.handler import (
    APPLY,
    Accepted,
    Admission,
    ModifiedError,
    NotFoundError,
    NotTypedError,
    Options,
    Outcome,
    Refused,
    StatusError,
    word_wrong_name,
)
from smp.managed_fields import (
    unconvertible_scale,
    with_former_times,
    with_managers_of_scale,
    with_scale_managers,
)
from smp.paths import Path
from smp.schema.model import Schema
from smp.schema.structural import add_schema_defaults
from smp.server.endpoints.answers import status_response
from smp.server.endpoints.bodies import (
    content_type_of,
    drop_lone_surrogates,
    read_body,
    read_object,
)
from smp.server.endpoints.call import Call
from smp.server.endpoints.lists import object_response
from smp.server.endpoints.objects import store_new, subresource_body
from smp.server.errors import raise_invalid
from smp.server.objects import metadata, subresources
from smp.server.registry.admission import Admitted, admit_change
from smp.server.registry.allocation import completed
from smp.server.registry.envelope import unpack, unpack_whole
from smp.server.registry.objects import pack_within_limit, replace, require_parents
from smp.server.registry.target import Target
from smp.server.store import Stored, StoreError

# What a request makes of a stored object, given the schema and the handler's options.
# The object is None where it does not exist, and the request may create it.
Transform: TypeAlias = Callable[[JSONObject | None, Schema | None, Options], Outcome]


async def update(call: Call) -> Response:
    """Replace an object; of some kinds it is created where it does not exist."""
    body = await read_object(call)

    def transform(
        old: JSONObject | None, schema: Schema | None, options: Options
    ) -> Outcome:
        if old is None:
            return handler.create(body, schema, options)
        return handler.replace(old, body, schema, options)

    return await _change(call, transform, len(body))


async def patch(call: Call) -> Response:
    """Patch an object; an apply creates it where it does not exist."""
    media_type = call.request.headers.get("content-type", "")
    body = drop_lone_surrogates(await read_body(call))

    def transform(
        old: JSONObject | None, schema: Schema | None, options: Options
    ) -> Outcome:
        return handler.patch(old, body, media_type, schema, options)

    return await _change(call, transform, len(body))


def _is_apply(call: Call) -> bool:
    return content_type_of(call.request) == APPLY


async def _change(call: Call, transform: Transform, size: int) -> Response:
    """Change an object by a request whose body has so many bytes.

    Where another writer is faster, the change is computed again from what that one
    wrote.
    """
    target, is_patch = call.target, call.verb == "patch"
    creates = target.resource.creates_through(
        target.subresource, is_patch=is_patch, by_apply=is_patch and _is_apply(call)
    )
    # What is wrong in the query is said before the object is looked for.
    _ = call.options
    await call.begin_admission("UPDATE")
    if call.target.subresource == "scale":
        transform = _through_scale(call, transform)

    # The writers of one object wait for each other here, so that within this process
    # none has to compute again; but a webhook may write the object itself.
    lock = nullcontext() if call.admission else call.state.lock(target.key)
    response: Response | None = None
    async with lock:
        while response is None:
            stored = await call.state.store.get(target.key)
            if stored is not None:
                response = await _replace(call, transform, size, stored)
            elif creates:
                response = await _create(call, transform, size)
            else:
                raise NotFoundError("object not found")
    return response


async def _replace(
    call: Call, transform: Transform, size: int, stored: Stored
) -> Response | None:
    """Replace an object, and answer; None where another writer was faster."""
    seconds = call.seconds_to_write(size + len(stored.value))
    try:
        pending = await call.work(seconds, _find_pending_write, call, stored, transform)
        written = await _write(call, stored, pending)
    except StoreError:
        raise
    except SmpError:
        if await _is_replaced(call, stored):
            return None
        raise
    if written is None:
        return None
    if isinstance(pending, Refused):
        return status_response(pending)
    body = subresource_body(call, written)
    return await object_response(call, body, warnings=pending.warnings)


async def _write(
    call: Call, stored: Stored, pending: Admitted | Refused
) -> Stored | None:
    """Return the object after the request; None where another writer was faster."""
    if isinstance(pending, Admitted) and pending.object:
        obj = pending.object
        if not call.target.subresource:
            obj = await completed(call.state, call.target, obj, is_new=False)
        if not call.options.dry_run:
            return await replace(call.state, call.target, stored, obj)
        value = pack_within_limit(call.state, call.target, obj, stored.value)
        written = Stored(stored.key, value, stored.revision)
    else:
        # Nothing changes: it is not written, and the resourceVersion stays.
        written = stored
    # Without a write nothing has shown yet that the object is the newest.
    return None if await _is_replaced(call, stored) else written


async def _is_replaced(call: Call, stored: Stored) -> bool:
    newest = await call.state.store.get(call.target.key)
    return newest is None or newest.revision != stored.revision


async def _create(call: Call, transform: Transform, size: int) -> Response | None:
    """Create the object that the path names; None where another writer was faster.

    Go: k8s.io/apiserver, endpoints/handlers/patch.go, applyPatch, says in which order
    it is refused.
    """
    seconds = call.seconds_to_write(size)
    admit = call.options.admit

    def admit_identical(admission: Admission) -> JSONObject:
        _require_identity(admission.new, call.target)
        return admit(admission) if admit else admission.new

    options = structs.replace(call.options, admit=admit_identical)
    outcome = await call.work(seconds, transform, None, call.kind.schema, options)
    if isinstance(outcome, Refused):
        return status_response(outcome)
    parents = await require_parents(call.state, call.target)
    response, exists = await store_new(call, lambda: outcome, parents, seconds)
    return None if exists else response


def _require_identity(obj: JSONObject, target: Target) -> None:
    """Raise StatusError or ModifiedError for a new object of another identity."""
    uid = metadata_of(obj).get("uid")
    if uid:
        raise ModifiedError(
            f"uid mismatch: the provided object specified uid {as_text(uid)}, and no"
            " existing object was found"
        )
    metadata.in_namespace(obj, target.resource, target.namespace)
    name = as_text(metadata_of(obj).get("name"))
    # Go: endpoints/handlers/rest.go, checkName.
    if name != target.name:
        raise StatusError(word_wrong_name(name, target.name))


def _through_scale(call: Call, transform: Transform) -> Transform:
    """Turn a change of a Scale into a change of the object that it belongs to."""
    resource = call.target.resource
    schema = call.state.kinds.catalog.schema(subresources.SCALE_API_VERSION, "Scale")

    paths: dict[str, Path | None] = {}
    for version in call.state.kinds.resources:
        if version.key == resource.key:
            scale = version.scale
            paths[version.api_version] = Path(scale.spec_replicas) if scale else None

    def transform_object(
        stored: JSONObject | None, _schema: Schema | None, options: Options
    ) -> Outcome:
        old = as_object(stored)
        # A Scale is of a built-in kind, also that of a custom resource.
        scale_options = Options(
            profile=options.profile,
            field_validation=options.field_validation,
            dry_run=options.dry_run,
            limits=options.limits,
            manager=options.manager,
            force=options.force,
            subresource=options.subresource,
            strategic=not resource.custom,
            resource=options.resource,
            admit=options.admit,
        )
        scale = with_scale_managers(subresources.scale_of(old, resource), old, paths)
        # The patch is of the Scale, and then the replicas are copied to the object.
        is_custom_apply = resource.custom and _is_apply(call)
        if is_custom_apply and "managedFields" not in metadata_of(scale):
            raise NotTypedError(unconvertible_scale(None).problem)
        outcome = transform(scale, schema, scale_options)
        if isinstance(outcome, Refused):
            return outcome
        obj = subresources.set_scale(old, outcome.object, resource)
        if is_custom_apply and not same(obj, old):
            raise NotTypedError(unconvertible_scale(old).problem)
        if call.kind.defined:
            obj = add_schema_defaults(obj, schema=call.kind.defined.schema)
        obj = with_managers_of_scale(obj, outcome.object, paths)
        is_changed = with_former_times(old, obj) is not old
        return Accepted(obj, changed=is_changed, warnings=outcome.warnings)

    return transform_object


def _find_pending_write(
    call: Call, stored: Stored, transform: Transform
) -> Admitted | Refused:
    old = unpack(stored, call.target.resource)
    outcome = transform(old, call.kind.schema, call.options)
    if isinstance(outcome, Refused):
        return outcome
    change = admit_change(
        old,
        outcome.object,
        call.kind,
        call.target.subresource,
        call.state.admission_context(),
    )
    if call.admission is not None:
        call.admission.validate(old, change.object)
    if call.target.resource.key == ("", "services") and not call.target.subresource:
        raise_invalid(find_outside(change.object, old, dry_run=call.options.dry_run))
    # An update loses what the version, or the definition as it is now, does not know.
    whole = old
    if call.target.resource.reading_schemas:
        whole = unpack_whole(stored, call.target.resource)
    former = metadata.drop_resource_version(whole)
    # What admission reverts may have been the only change.
    new = with_former_times(former, change.object)
    if outcome.rewrites:
        # What its strategy takes for a change: see rewriting_paths.
        new = set_metadata(change.object, generation=metadata.next_generation(old))
    warnings = (*outcome.warnings, *change.warnings)
    # Nothing is to be stored where the object does not change.
    return Admitted({} if new is former else new, warnings)
