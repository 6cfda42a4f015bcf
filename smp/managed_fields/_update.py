"""What a server stores after a write that is no apply: a POST, a PUT, another PATCH."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from smp.errors import ObjectError
from smp.managed_fields._reset_fields import (
    reset_fields,
    with_reset,
    with_system_metadata,
)
from smp.managed_fields._track import track, with_former_times
from smp.managed_fields._versions import Serving
from smp.paths import Path
from smp.schema.model import Schema
from smp.sharing import share_object
from smp.typed_storage import is_typed
from smp.update import Update, as_requested, decode_object, put_at_rest, updated
from smp.values import JSONObject, as_text


def update_object(  # what a request says
    live: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    manager: str,
    subresource: str,
    profile: str,
    serving: Serving,
    now: datetime,
) -> Update:
    """Return what a server stores where a request asks for the new object.

    ``live`` is the stored object, None on create. All steps of ``smp.update`` are taken
    but admission; violations are found and do not refuse anything. The object is the
    live one where nothing but times would change. Raises ObjectError (codes other-kind,
    wrong-type, not-decodable) for what a server cannot decode, UnionError and
    DepthError.
    """
    is_custom = not is_typed(schema)
    before = live or {}
    if schema.kind:
        # Go: endpoints/handlers, the decoders. What has no kind is of the path's.
        for name, own in (("apiVersion", schema.api_version), ("kind", schema.kind)):
            sent = new.get(name) or own
            if sent != own:
                problem = f"the {name} is {own}, not {as_text(sent)}"
                raise ObjectError(problem, code="other-kind", path=Path((name,)))
            new = {**new, name: own}
    new = share_object(new, before)
    if new is live:
        # Nothing is asked for; a stored object is not decoded anew.
        return Update(new)
    decoded = decode_object(new, live, schema, typed=True, custom=is_custom)
    for misfit in decoded.misfits:
        raise ObjectError(str(misfit), code="wrong-type", path=misfit.path)
    if decoded.problem:
        raise ObjectError(decoded.problem, code="not-decodable")
    # Unions are normalized before fields are tracked (KEP "Union types" of 2019,
    # Normalizing on updates).
    reset = reset_fields(schema, subresource, has_status=serving.has_status)
    writable = with_reset(with_system_metadata(decoded.object, before), before, reset)
    update = updated(
        live,
        as_requested(writable, live, schema, profile=profile),
        schema,
        profile=profile,
        ratchet=True,
    )
    tracked = track(
        live,
        update.object,
        schema,
        manager=manager,
        subresource=subresource,
        serving=serving,
        now=now,
    )
    at_rest = tracked if is_custom else put_at_rest(tracked, schema, live)
    if live is None:
        return replace(update, object=at_rest)
    return replace(update, object=with_former_times(live, at_rest))
