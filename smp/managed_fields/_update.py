"""What a server stores after a write that is no apply: a POST, a PUT, another PATCH."""

from __future__ import annotations

from msgspec.structs import replace

from smp._storage.typed_storage import is_typed, rewriting_paths
from smp._storage.update import (
    Decoded,
    Update,
    UpdateRequest,
    decode_object,
    default_request,
    normalize_before_defaults,
    normalize_update,
    put_at_rest,
)
from smp._values.sharing import share_object
from smp._values.values import JSONObject, as_text
from smp.errors import ObjectError
from smp.managed_fields._entries import Writer
from smp.managed_fields._reset_fields import (
    add_reset,
    add_system_metadata,
    reset_fields,
)
from smp.managed_fields._track import track, with_former_times
from smp.paths import Path
from smp.schema.model import Schema


def update_object(
    live: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    writer: Writer,
    *,
    profile: str,
) -> Update:
    """Return what a server stores where a request asks for the new object.

    ``live`` is the stored object, None on create. All steps of ``smp._storage.update``
    are taken but admission; violations are found and do not refuse anything. The object
    is the live one where nothing but times would change. Raises ObjectError (codes
    other-kind, wrong-type, not-decodable) for what a server cannot decode, UnionError
    and DepthError.
    """
    is_custom = not is_typed(schema)
    before = live or {}
    new = share_object(_set_kind(new, schema), before)
    if new is live:
        # Nothing is asked for; a stored object is not decoded anew.
        return Update(new)
    decoded = decode_object(new, live, schema, typed=True, custom=is_custom)
    _require_decoded(decoded)
    # Unions are normalized before fields are tracked (KEP "Union types" of 2019,
    # Normalizing on updates).
    serving = writer.serving
    reset = reset_fields(schema, writer.subresource, has_status=serving.has_status)
    writable = add_reset(add_system_metadata(decoded.object, before), before, reset)
    update = _normalize(live, writable, schema, profile)
    tracked = track(
        live,
        update.object,
        schema,
        manager=writer.manager,
        subresource=writer.subresource,
        serving=serving,
        now=writer.now,
    )
    if is_custom:
        at_rest = serving.put_at_rest(tracked, schema, profile=profile)
    else:
        at_rest = put_at_rest(tracked, schema, live)
    if live is None or rewriting_paths(new, schema):
        # It is not the live object, even if nothing of it differs.
        return replace(update, object={**at_rest})
    return replace(update, object=with_former_times(live, at_rest))


def _normalize(
    live: JSONObject | None, writable: JSONObject, schema: Schema, profile: str
) -> Update:
    """Normalize unions, fill in defaults, and normalize those that these changed."""
    chosen = normalize_before_defaults(
        live, writable, schema, UpdateRequest(profile=profile, on_conflict="clear")
    )
    update = normalize_update(
        live,
        default_request(chosen.object, live, schema, profile=profile),
        schema,
        UpdateRequest(profile=profile, defaulted=True),
    )
    return replace(
        update,
        changes=(*chosen.changes, *update.changes),
        warnings=(*chosen.warnings, *update.warnings),
    )


def _set_kind(new: JSONObject, schema: Schema) -> JSONObject:
    """Return an object of the kind of the path, which one without a kind is of.

    Go: endpoints/handlers, the decoders. Raises ObjectError.
    """
    if not schema.kind:
        return new
    for name, own in (("apiVersion", schema.api_version), ("kind", schema.kind)):
        sent = new.get(name) or own
        if sent != own:
            problem = f"the {name} is {own}, not {as_text(sent)}"
            raise ObjectError(problem, code="other-kind", path=Path((name,)))
    return {**new, "apiVersion": schema.api_version, "kind": schema.kind}


def _require_decoded(decoded: Decoded) -> None:
    for misfit in decoded.misfits:
        raise ObjectError(misfit.message, code="wrong-type", path=misfit.path)
    if decoded.problem:
        raise ObjectError(decoded.problem, code="not-decodable")
