"""From a request to the object to store, or to the reason why nothing is stored.

The order is that of a Kubernetes API server, see ``smp._storage.update``: the body
makes a new object, which is decoded, defaulted, prepared, tracked, admitted, normalized
and validated (k8s.io/apiserver, endpoints/handlers/patch.go; KEP-1027, Normalization
and Validation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from smp import custom_resources
from smp._storage.typed_storage import rewriting_paths
from smp._storage.update import (
    Decoded,
    UpdateRequest,
    decode_object,
    default_request,
    drop_by_strategy,
    find_violations,
    normalize_before_defaults,
    normalize_update,
)
from smp._values.api_objects import metadata_of, set_metadata
from smp._values.last_applied import last_applied_configuration
from smp._values.plain import as_plain_object
from smp._values.sharing import share_object
from smp._values.values import ABSENT, JSONObject, NotPlainError, as_text, same
from smp.errors import SmpError, bounded
from smp.handler._apply import apply, read_configuration
from smp.handler._body import MAX_REPORTED
from smp.handler._identity import (
    add_server_metadata,
    find_managed_fields_violations,
    of_kind,
    patch_of_kind,
    status_details,
    undecodable,
)
from smp.handler._options import Admission, Operation, Options
from smp.handler._request import Draft, ObjectRequest, patch, store_object, whole
from smp.handler._status import (
    Accepted,
    InternalFailureError,
    InvalidError,
    Outcome,
    StatusError,
    to_status,
)
from smp.managed_fields import track, with_former_times
from smp.schema.model import Schema
from smp.unions import Change, acts_unasked, drop_unchosen_defaults
from smp.violations import Misfit, Violation
from smp.wire.partial import decode

# Bytes of a stored object, from which on it may pay to decode only a part of it.
_MIN_STORED: int = 1 << 12
# The members of a custom resource that have a Go type.
_DECODED = ("apiVersion", "kind", "metadata")


def respond(request: ObjectRequest, stored: object) -> Outcome:
    """Return what a request leads to; ``stored`` is None where there is no object.

    Raises DocumentError and ObjectError for a stored object that is none.
    """
    long = isinstance(stored, bytes) and len(stored) >= _MIN_STORED
    if long and request.is_patch and _may_stay_undecoded(request):
        outcome = _outcome(request, stored, None)
        if isinstance(outcome, Accepted):
            return outcome
        # The reason is worded from the whole object.
    old = None if stored is None else store_object(stored)
    return _outcome(request, old, old)


def _may_stay_undecoded(request: ObjectRequest) -> bool:
    """Tell whether only what the patch touches has to be looked at.

    Hooks get whole objects, without ratcheting all of the object is judged, and some
    unions are normalized though nothing in their object changed.
    """
    options = request.options
    if options.default or options.admit or options.custom or not options.ratchet:
        return False
    # Managed fields are compared with the whole object, and what is validated refers to
    # other parts of it.
    if (
        options.validation
        or options.typed
        or options.prepare
        or options.manager is not None
        or request.is_apply
    ):
        return False
    return not acts_unasked(request.schema, options.profile)


def _outcome(request: ObjectRequest, stored: object, old: JSONObject | None) -> Outcome:
    """Take all steps; ``old`` is the stored object, if it is one and is decoded."""
    schema, options = request.schema, request.options
    warnings: list[str] = []
    subject = old or {"apiVersion": schema.api_version, "kind": schema.kind}
    try:
        if request.is_apply:
            configuration, duplicates = read_configuration(request)
            # A new object may leave out what the path says.
            subject = old or _set_kind(configuration, schema)
            draft = apply(request, old, configuration, duplicates)
        elif request.is_patch:
            draft = patch(request, stored)
        else:
            draft = whole(request, old)
        if not draft.is_apply and options.typed:
            draft = replace(draft, rewrites=bool(rewriting_paths(draft.new, schema)))
        subject = draft.old or _set_kind(draft.new, schema)
        warnings.extend(draft.remarks)
        new = _decode(draft, request, warnings)
        # Hooks are called here, where a RecursionError of theirs is their own.
        draft, new = _drop_unchosen(draft, new, request, warnings)
        new = _fill_defaults(draft, new, request)
        new = _prepare(draft, new, options)
        # Go: before admission, so that no manager owns what a hook changes. An apply
        # has noted its manager already, and what changes nothing owns nothing.
        if options.manager is not None and not (draft.is_apply or new is draft.old):
            new = _note(draft.old, new, request)
        is_finalized = options.subresource == "finalize"  # a strategy of its own
        if options.typed and not (options.custom or is_finalized):
            new = drop_by_strategy(new, schema, draft.old)
        new = _admit(draft, new, request)
        try:
            return _judge(draft, new, request, warnings)
        except (NotPlainError, TypeError):
            # What a hook returned has an OrderedDict, or a name that is not a string.
            converted = as_plain_object("the new object", new)
            if converted is new:
                raise
            return _judge(draft, converted, request, warnings)
    except SmpError as error:
        details = status_details(subject, options.resource)
        return to_status(error, **details, warnings=warnings)


def _set_kind(obj: JSONObject, schema: Schema) -> JSONObject:
    """Return a new object of the kind of its schema, if that has one."""
    if not schema.kind:
        return obj
    return {**obj, "apiVersion": schema.api_version, "kind": schema.kind}


def _require_types(found: Decoded, request: ObjectRequest, *, is_patched: bool) -> None:
    """Raise for what a decoder fails at with every field validation."""
    if found.misfits:
        misfits = found.misfits[:MAX_REPORTED]
        decoding = [misfit for misfit in misfits if misfit.path.steps[0] in _DECODED]
        if request.schema.structural is None or decoding:
            options = request.options
            raise _wrong_types(misfits, found.object, options, is_patched=is_patched)
    if found.problem:
        if is_patched:
            raise undecodable(found.problem)
        raise StatusError(f"{_cannot_be_handled(found.object)}{found.problem}")


def _strict_decoding(
    faults: list[str], draft: Draft, new: JSONObject, *, is_patched: bool
) -> SmpError:
    problem = f"strict decoding error: {', '.join(faults)}"
    if is_patched:
        return undecodable(problem, "strict-decoding")
    prefix = "" if draft.partial else _cannot_be_handled(new)
    return StatusError(f"{prefix}{problem}", code="strict-decoding")


@bounded("the object")
def _decode(draft: Draft, request: ObjectRequest, warnings: list[str]) -> JSONObject:
    """Return the new object without what a server drops.

    What to warn of is added to the warnings. Raises StatusError, InvalidError and
    ModifiedError. Go: k8s.io/apiserver, endpoints/handlers, applyPatchToObject and
    transformDecodeError. A wrong field is a BadRequest in a whole object, and Invalid
    in a patched one.
    """
    old, options = draft.old, request.options
    is_patched = old is not None and draft.partial and not draft.is_apply
    new = _identify(draft, draft.new, request, is_patched=is_patched)
    found = decode_object(
        new,
        old,
        request.schema,
        typed=options.typed,
        custom=options.custom,
        prunes=options.prune,
    )
    new = found.object
    _require_types(found, request, is_patched=is_patched)
    faults = [*draft.faults]
    unknown_fields = found.unknown_fields[:MAX_REPORTED]
    faults += [f'unknown field "{path.decoded}"' for path in unknown_fields]
    # KEP-2885, server-side field validation: Ignore, Warn, Strict.
    if faults and options.field_validation == "Strict":
        raise _strict_decoding(faults, draft, new, is_patched=is_patched)
    if options.field_validation == "Warn":
        warnings.extend(faults)
    if found.misfits:
        _check_definition(new, old, request)
    if old is None:
        return new
    return add_server_metadata(
        new,
        old,
        partial=draft.partial,
        is_apply=draft.is_apply,
        unconditional=options.unconditional,
    )


def _check_definition(
    new: JSONObject, old: JSONObject | None, request: ObjectRequest
) -> None:
    """Raise InvalidError for what is refused of a custom resource.

    Values of a wrong type are decoded: its schema judges them, with all else.
    """
    schema, subresource = request.schema, request.options.subresource
    found = custom_resources.validate(new, schema, old, subresource=subresource)
    refused = [violation for violation in found if not violation.warning]
    if refused:
        raise InvalidError([*find_violations(old, new, schema), *refused])


def _identify(
    draft: Draft, new: JSONObject, request: ObjectRequest, *, is_patched: bool
) -> JSONObject:
    """Return the new object with its apiVersion and kind, and with shared parts.

    Raises StatusError and InvalidError for those of another kind.
    """
    old, schema, options = draft.old, request.schema, request.options
    if old is None:
        return of_kind(new, schema.api_version, schema.kind) if schema.kind else new
    if is_patched:
        new = patch_of_kind(
            new,
            old,
            strategic=draft.strategic,
            custom=options.custom,
            strict=options.field_validation == "Strict",
        )
    else:
        # A whole object that leaves out apiVersion or kind means the stored ones.
        new = of_kind(new, old.get("apiVersion", ABSENT), old.get("kind", ABSENT))
    return share_object(new, old)


@bounded("the object")
def _drop_unchosen(
    draft: Draft, new: JSONObject, request: ObjectRequest, warnings: list[str]
) -> tuple[Draft, JSONObject]:
    """Normalize unions where the profile does so before defaults are filled in."""
    if draft.is_apply:
        return draft, new
    update = normalize_before_defaults(
        draft.old,
        new,
        request.schema,
        UpdateRequest(
            profile=request.options.profile,
            patch=draft.patch,
            on_conflict=request.options.on_conflict,
            configuration=_configuration(draft),
            reports=True,
        ),
    )
    if update.violations:
        raise InvalidError(update.violations)
    warnings.extend([str(warning) for warning in update.warnings])
    draft = replace(draft, changes=(*draft.changes, *update.changes))
    return draft, update.object


def _fill_defaults(draft: Draft, new: JSONObject, request: ObjectRequest) -> JSONObject:
    """Return the new object as a typed server has it, with the defaults of its kind."""
    schema, options = request.schema, request.options
    if options.typed:
        new = default_request(new, draft.old, schema, profile=options.profile)
    if not options.default:
        return new
    defaulted = _call_hook(options.default, new)
    return drop_unchosen_defaults(new, defaulted, schema, profile=options.profile)


def _prepare(draft: Draft, new: JSONObject, options: Options) -> JSONObject:
    """Return the new object with what its endpoint does not write as it was.

    An update is tracked afterwards, in which its manager owns what it writes only (Go:
    the ResetFields of a strategy). An apply has been tracked, with the fields that
    ``smp.managed_fields.reset_fields`` names: no hook changes its configuration.
    """
    if options.prepare is None or (draft.is_apply and new is draft.old):
        return new
    prepared = _call_hook(options.prepare, draft.old, new)
    if not draft.is_apply:
        return prepared
    # Go: ResetObjectMetaForStatus keeps the managedFields of the new object.
    entries = metadata_of(new).get("managedFields", ABSENT)
    return set_metadata(prepared, managedFields=entries)


def _note(
    old: JSONObject | None,
    new: JSONObject,
    request: ObjectRequest,
    operation: Literal["Apply", "Update"] = "Update",
) -> JSONObject:
    options = request.options
    return track(
        old,
        new,
        request.schema,
        manager=options.manager or "",
        operation=operation,
        subresource=options.subresource,
        serving=options.serving,
    )


def _admit(draft: Draft, new: JSONObject, request: ObjectRequest) -> JSONObject:
    """Return the object that the hook for admission makes of the new one.

    It is decoded and gets its defaults as what a client sends. Go: k8s.io/apiserver,
    pkg/admission/plugin/webhook/mutating/dispatcher.go, callAttrMutatingHook.
    """
    options = request.options
    if not options.admit:
        return new
    operation: Operation = "CREATE" if draft.old is None else "UPDATE"
    admission = Admission(operation, draft.old, new, options.dry_run)
    admitted = _call_hook(options.admit, admission)
    if admitted is new or not options.typed:
        return admitted
    found = decode_object(
        admitted,
        draft.old,
        request.schema,
        typed=True,
        custom=options.custom,
        prunes=options.prune,
    )
    if found.misfits and not options.custom:
        raise InternalFailureError(f"json: {found.misfits[0]}")
    return _fill_defaults(draft, found.object, request)


def _call_hook(hook: Callable[..., object], *arguments: object) -> JSONObject:
    """Return the object that a hook returns, which may be another mapping."""
    # Compiled, the call of a hook by its own type would refuse one that is no dict.
    new = hook(*arguments)
    return new if isinstance(new, dict) else as_plain_object("the new object", new)


def _cannot_be_handled(obj: JSONObject) -> str:
    kind = as_text(obj.get("kind"))
    version = as_text(obj.get("apiVersion")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: '


def _wrong_types(
    misfits: tuple[Misfit, ...], obj: JSONObject, options: Options, *, is_patched: bool
) -> SmpError:
    """Word values of a wrong type as the server does for the kind of schema."""
    # The metadata of a custom resource is decoded as that of all objects.
    decoding = [
        misfit
        for misfit in misfits
        if not options.custom or misfit.path.steps[0] in _DECODED
    ]
    if not decoding:
        # Go: kube-openapi, validation/errors.InvalidType, for custom resources.
        violations = []
        for misfit in misfits:
            expected = misfit.expected.replace("int-or-string", "integer,string")
            actual = misfit.json_type
            message = (
                f'Invalid value: "{actual}": {misfit.path.by_index} in body must be of'
                f' type {expected}: "{actual}"'
            )
            violations.append(replace(misfit, message=message))
        return InvalidError(violations)
    # Go: json.UnmarshalTypeError, for built-in types.
    texts = ", ".join([misfit.message for misfit in decoding])
    if is_patched:
        return undecodable(f"json: {texts}", "wrong-type")
    problem = f"{_cannot_be_handled(obj)}json: {texts}"
    return StatusError(problem, code="wrong-type")


@bounded("the object")
def _judge(
    draft: Draft, new: JSONObject, request: ObjectRequest, warnings: list[str]
) -> Accepted:
    """Normalize and validate an object; what was wrong in the old one may stay.

    Raises InvalidError, and UnionError for what a profile refuses. KEP-1027,
    Normalization and Validation: after admission. Go: k8s.io/apimachinery,
    api/validate (ratcheting).
    """
    options = request.options
    changes = draft.changes
    # A request that changes nothing is not judged: what is stored was accepted. The
    # naive rule of KEP-1027 fails "all modifying requests" while it is invalid.
    if new is not draft.old or not options.ratchet:
        update = normalize_update(
            draft.old,
            new,
            request.schema,
            UpdateRequest(
                profile=options.profile,
                ratchet=options.ratchet,
                patch=draft.patch,
                on_conflict=options.on_conflict,
                configuration=_configuration(draft),
                whole=not draft.is_apply,
                defaulted=not draft.is_apply,
                reports=True,
            ),
        )
        if update.object is not new and options.manager is not None:
            # No manager owns what the normalization clears, and what it writes belongs
            # to the manager whose request was the reason.
            operation: Literal["Apply", "Update"] = "Update"
            if draft.is_apply:
                operation = "Apply"
            new = _note(new, update.object, request, operation)
        else:
            new = update.object
        changes = (*changes, *update.changes)
        _require_valid(draft.old, new, request, update.violations)
        # They are about a normalization, so a refused request has none of them.
        warnings.extend([str(warning) for warning in update.warnings])
    return _accept(draft, new, request, changes, tuple(warnings))


def _configuration(draft: Draft) -> JSONObject | None:
    """Return the configuration of kubectl apply that a patch notes, if it does.

    The patch itself does not have all of it: where the configuration sets two members
    of a union, and the object had one, it sets the other one only. A server merges them
    and refuses the object.
    """
    if draft.patch is None:
        return None
    try:
        return last_applied_configuration(draft.patch)
    except SmpError:
        # The annotation is text, and to a server any text will do.
        return None


def _require_valid(
    old: JSONObject | None,
    new: JSONObject,
    request: ObjectRequest,
    violations: tuple[Violation, ...],
) -> None:
    """Raise InvalidError for these violations, and for what else is judged."""
    options = request.options
    violations = find_violations(
        old,
        new,
        request.schema,
        ratchet=options.ratchet,
        found=violations,
        values=options.validation,
        immutable=options.immutable_fields,
    )
    violations = (*violations, *find_managed_fields_violations(new, old))
    if violations:
        raise InvalidError(violations)


def _accept(
    draft: Draft,
    new: JSONObject,
    request: ObjectRequest,
    changes: tuple[Change, ...],
    warnings: tuple[str, ...],
) -> Accepted:
    old, options, dry_run = draft.old, request.options, request.options.dry_run
    if options.custom:
        new = options.serving.put_at_rest(new, request.schema, profile=options.profile)
    if old is None:
        return Accepted(
            new,
            changed=True,
            warnings=warnings,
            changes=changes,
            dry_run=dry_run,
            code=201,
        )
    if options.manager is not None and not draft.rewrites:
        new = with_former_times(old, new)
    if draft.undecoded:
        # Those who read a change need its values decoded.
        changes = tuple(
            [
                replace(change, old=decode(change.old), new=decode(change.new))
                for change in changes
            ]
        )
    changed = draft.rewrites or not same(new, old)
    accepted = Accepted(
        new if changed else old,
        changed=changed,
        warnings=warnings,
        changes=changes,
        dry_run=dry_run,
    )
    accepted.rewrites = draft.rewrites
    if draft.undecoded:
        accepted.leave_undecoded()
    return accepted
