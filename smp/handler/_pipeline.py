"""From a request to the object to store, or to the reason why nothing is stored.

The order is that of a Kubernetes API server, see ``smp.update``: the body makes a new
object, which is decoded, defaulted, prepared, tracked, admitted, normalized and
validated (k8s.io/apiserver, endpoints/handlers/patch.go; KEP-1027, Normalization and
Validation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from smp.conformance import Misfit
from smp.errors import SmpError, bounded
from smp.handler._apply import applied, read_configuration
from smp.handler._body import MAX_REPORTED
from smp.handler._identity import (
    managed_fields_violations,
    metadata_of,
    of_kind,
    patched_of_kind,
    status_details,
    undecodable,
    with_server_metadata,
)
from smp.handler._options import Admission, Operation, Options
from smp.handler._request import Draft, ObjectRequest, patched, stored_object, whole
from smp.handler._shape import with_whole_numbers
from smp.handler._status import (
    Accepted,
    InvalidError,
    Outcome,
    StatusError,
    to_status,
)
from smp.immutable import changed_immutable_fields
from smp.managed_fields import track, with_former_times
from smp.plain import as_plain_object
from smp.schema.model import Schema
from smp.sharing import share_object
from smp.unions import Change, acts_unasked, without_unchosen_defaults
from smp.update import as_requested, decode_object, updated
from smp.validation import in_order, violations_of
from smp.values import (
    ABSENT,
    JSONObject,
    NotPlainError,
    as_object,
    as_text,
    same,
)
from smp.violations import Violation
from smp.wire.partial import decoded

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
    old = None if stored is None else stored_object(stored)
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
            subject = old or _with_kind(configuration, schema)
            draft = applied(request, old, configuration, duplicates)
        elif request.is_patch:
            draft = patched(request, stored)
        else:
            draft = whole(request, old)
        subject = draft.old or _with_kind(draft.new, schema)
        warnings.extend(draft.remarks)
        new = _decoded(draft, request, warnings)
        # Hooks are called here, where a RecursionError of theirs is their own.
        new = _defaulted(draft, new, request)
        new = _prepared(draft, new, options)
        # Go: before admission, so that no manager owns what a hook changes. An apply
        # has noted its manager already, and what changes nothing owns nothing.
        is_tracked = draft.is_apply or new is draft.old
        if options.manager is not None and not is_tracked:
            new = _noted(draft.old, new, request)
        new = _admitted(draft, new, options)
        try:
            return _judged(draft, new, request, warnings)
        except (NotPlainError, TypeError):
            # What a hook returned has an OrderedDict, or a name that is not a string.
            converted = as_plain_object("the new object", new)
            if converted is new:
                raise
            return _judged(draft, converted, request, warnings)
    except SmpError as error:
        details = status_details(subject, options.resource)
        return to_status(error, **details, warnings=warnings)


def _with_kind(obj: JSONObject, schema: Schema) -> JSONObject:
    """Return a new object of the kind of its schema, if that has one."""
    if not schema.kind:
        return obj
    return {**obj, "apiVersion": schema.api_version, "kind": schema.kind}


@bounded("the object")
def _decoded(draft: Draft, request: ObjectRequest, warnings: list[str]) -> JSONObject:
    """Return the new object without what a server drops.

    What to warn of is added to the warnings. Raises StatusError, InvalidError and
    ModifiedError. Go: k8s.io/apiserver, endpoints/handlers, applyPatchToObject and
    transformDecodeError. A wrong field is a BadRequest in a whole object, and Invalid
    in a patched one.
    """
    old, options = draft.old, request.options
    is_patched = old is not None and draft.partial and not draft.is_apply
    new = draft.new
    if options.custom:
        new = as_object(with_whole_numbers(new))
    new = _of_its_kind(draft, new, request, is_patched=is_patched)
    found = decode_object(
        new,
        old,
        request.schema,
        typed=options.typed,
        custom=options.custom,
        prunes=options.prune,
    )
    new = found.object
    if found.misfits:
        # A decoder fails at wrong types with every field validation.
        misfits = found.misfits[:MAX_REPORTED]
        raise _wrong_types(misfits, new, options, is_patched=is_patched)
    if found.problem and is_patched:
        raise undecodable(found.problem)
    if found.problem:
        raise StatusError(f"{_cannot_be_handled(new)}{found.problem}")
    faults = [*draft.faults]
    unknown_fields = found.unknown_fields[:MAX_REPORTED]
    faults += [f'unknown field "{path.decoded}"' for path in unknown_fields]
    # KEP-2885, server-side field validation: Ignore, Warn, Strict.
    if faults and options.field_validation == "Strict":
        problem = f"strict decoding error: {', '.join(faults)}"
        if is_patched:
            raise undecodable(problem, "strict-decoding")
        prefix = "" if draft.partial else _cannot_be_handled(new)
        raise StatusError(f"{prefix}{problem}", code="strict-decoding")
    if options.field_validation == "Warn":
        warnings.extend(faults)
    if old is None:
        return new
    return with_server_metadata(
        new,
        old,
        partial=draft.partial,
        is_apply=draft.is_apply,
        unconditional=options.unconditional,
    )


def _of_its_kind(
    draft: Draft, new: JSONObject, request: ObjectRequest, *, is_patched: bool
) -> JSONObject:
    """Return the new object with its apiVersion and kind, and with shared parts.

    Raises StatusError and InvalidError for those of another kind.
    """
    old, schema, options = draft.old, request.schema, request.options
    if old is None:
        return of_kind(new, schema.api_version, schema.kind) if schema.kind else new
    if is_patched:
        new = patched_of_kind(
            new,
            old,
            strategic=draft.patch is not None,
            custom=options.custom,
            strict=options.field_validation == "Strict",
        )
    else:
        # A whole object that leaves out apiVersion or kind means the stored ones.
        new = of_kind(new, old.get("apiVersion", ABSENT), old.get("kind", ABSENT))
    return share_object(new, old)


def _defaulted(draft: Draft, new: JSONObject, request: ObjectRequest) -> JSONObject:
    """Return the new object as a typed server has it, with the defaults of its kind."""
    schema, options = request.schema, request.options
    if options.typed:
        new = as_requested(new, draft.old, schema, profile=options.profile)
    if not options.default:
        return new
    defaulted = _call_hook(options.default, new)
    return without_unchosen_defaults(new, defaulted, schema, profile=options.profile)


def _prepared(draft: Draft, new: JSONObject, options: Options) -> JSONObject:
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
    metadata = {**metadata_of(prepared)}
    metadata.pop("managedFields", None)
    if "managedFields" in metadata_of(new):
        metadata["managedFields"] = metadata_of(new)["managedFields"]
    return {**prepared, "metadata": metadata}


def _noted(
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


def _admitted(draft: Draft, new: JSONObject, options: Options) -> JSONObject:
    """Return the object that the hook for admission makes of the new one."""
    if not options.admit:
        return new
    operation: Operation = "CREATE" if draft.old is None else "UPDATE"
    admission = Admission(operation, draft.old, new, options.dry_run)
    return _call_hook(options.admit, admission)


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
            violations.append(
                Violation("wrong-type", misfit.path, "FieldValueTypeInvalid", message)
            )
        return InvalidError(violations)
    # Go: json.UnmarshalTypeError, for built-in types.
    texts = ", ".join([str(misfit) for misfit in decoding])
    if is_patched:
        return undecodable(f"json: {texts}", "wrong-type")
    problem = f"{_cannot_be_handled(obj)}json: {texts}"
    return StatusError(problem, code="wrong-type")


@bounded("the object")
def _judged(
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
        update = updated(
            draft.old,
            new,
            request.schema,
            profile=options.profile,
            ratchet=options.ratchet,
            patch=draft.patch,
            on_conflict=options.on_conflict,
        )
        if update.object is not new and options.manager is not None:
            # No manager owns what the normalization clears, and what it writes belongs
            # to the manager whose request was the reason.
            operation: Literal["Apply", "Update"] = "Update"
            if draft.is_apply:
                operation = "Apply"
            new = _noted(new, update.object, request, operation)
        else:
            new = update.object
        changes = (*changes, *update.changes)
        _require_valid(draft.old, new, request, update.violations)
        # They are about a normalization, so a refused request has none of them.
        warnings.extend([str(warning) for warning in update.warnings])
    return _accepted(draft, new, request, changes, tuple(warnings))


def _require_valid(
    old: JSONObject | None,
    new: JSONObject,
    request: ObjectRequest,
    violations: tuple[Violation, ...],
) -> None:
    """Raise InvalidError for these violations, and for what else is judged."""
    schema, options = request.schema, request.options
    if options.validation:
        found = violations_of(old, new, schema, ratchet=options.ratchet)
        violations = in_order((*violations, *found), schema.type)
    if old is not None and options.immutable_fields:
        violations = (*violations, *changed_immutable_fields(old, new, schema))
    violations = (*violations, *managed_fields_violations(new, old))
    if violations:
        raise InvalidError(violations)


def _accepted(
    draft: Draft,
    new: JSONObject,
    request: ObjectRequest,
    changes: tuple[Change, ...],
    warnings: tuple[str, ...],
) -> Accepted:
    """Return the answer to an accepted request."""
    old, dry_run = draft.old, request.options.dry_run
    if old is None:
        return Accepted(
            new,
            changed=True,
            warnings=warnings,
            changes=changes,
            dry_run=dry_run,
            code=201,
        )
    if request.options.manager is not None:
        new = with_former_times(old, new)
    if draft.undecoded:
        # Those who read a change need its values decoded.
        changes = tuple(
            [
                replace(change, old=decoded(change.old), new=decoded(change.new))
                for change in changes
            ]
        )
    changed = not same(new, old)
    accepted = Accepted.undecoded if draft.undecoded else Accepted
    return accepted(
        new if changed else old,
        changed=changed,
        warnings=warnings,
        changes=changes,
        dry_run=dry_run,
    )
