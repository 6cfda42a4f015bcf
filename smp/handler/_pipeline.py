"""From a request to the object to store, or to the reason why nothing is stored.

The order is that of a Kubernetes API server: decode, patch, check types and fields,
default, admit, normalize unions, validate (k8s.io/apiserver,
endpoints/handlers/patch.go; KEP-1027, Normalization and Validation).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec.structs import replace

from smp.conformance import ConformanceRule, Misfit, conforming
from smp.errors import SmpError, bounded
from smp.handler._apply import applied
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
from smp.handler._options import APPLY, Admission, Operation, Options
from smp.handler._request import COMMON, Draft, patched, stored_object, whole
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
from smp.typed_storage import decoding_problem
from smp.unions import acts_unasked, without_unchosen_defaults
from smp.update import as_stored, updated
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


def patch_outcome(
    stored: object,
    body: bytes,
    media_type: str,
    schema: Schema | None,
    options: Options,
) -> Outcome:
    """Return what a PATCH leads to; ``stored`` is None where there is no object."""
    schema = COMMON if schema is None else schema
    if media_type.partition(";")[0] == APPLY:
        live = None if stored is None else stored_object(stored)

        def draft() -> Draft:
            return applied(live, body, schema, options)

        return _outcome(draft, live, schema, options)
    long = isinstance(stored, bytes) and len(stored) >= _MIN_STORED
    if long and _may_stay_undecoded(schema, options):
        outcome = _patched(stored, body, media_type, schema, options, undecoded=True)
        if isinstance(outcome, Accepted):
            return outcome
        # The reason is worded from the whole object.
    old = None if stored is None else stored_object(stored)
    return _patched(old, body, media_type, schema, options, undecoded=False)


def replace_outcome(
    stored: object, body: bytes, schema: Schema | None, options: Options
) -> Outcome:
    """Return what a PUT of a stored object leads to."""
    old = stored_object(stored)

    def draft() -> Draft:
        return whole(old, body, options)

    return _outcome(draft, old, COMMON if schema is None else schema, options)


def create_outcome(body: bytes, schema: Schema | None, options: Options) -> Outcome:
    """Return what a POST leads to."""

    def draft() -> Draft:
        return whole(None, body, options)

    return _outcome(draft, None, COMMON if schema is None else schema, options)


def _may_stay_undecoded(schema: Schema, options: Options) -> bool:
    """Tell whether only what the patch touches has to be looked at.

    Hooks get whole objects, without ratcheting all of the object is judged, and some
    unions are normalized though nothing in their object changed.
    """
    if options.default or options.admit or options.custom or not options.ratchet:
        return False
    # Managed fields are compared with the whole object, and what is validated refers to
    # other parts of it.
    if (
        options.validation
        or options.typed
        or options.prepare
        or options.manager is not None
    ):
        return False
    return not acts_unasked(schema, options.profile)


def _patched(
    stored: object,
    body: bytes,
    media_type: str,
    schema: Schema,
    options: Options,
    *,
    undecoded: bool,
) -> Outcome:
    def draft() -> Draft:
        return patched(stored, body, media_type, schema, options, undecoded=undecoded)

    old = stored if isinstance(stored, dict) else None
    return _outcome(draft, old, schema, options)


def _outcome(
    make: Callable[[], Draft],
    stored: JSONObject | None,
    schema: Schema,
    options: Options,
) -> Outcome:
    """Return what a request leads to; ``stored`` is the stored object, if any."""
    warnings: list[str] = []
    subject = stored or {"apiVersion": schema.api_version, "kind": schema.kind}
    try:
        draft = make()
        old = draft.old
        # A new object may leave out what the path says.
        if old is not None:
            subject = old
        else:
            subject = {**draft.new, **subject} if schema.kind else draft.new
        warnings.extend(draft.remarks)
        new = _decoded(draft, schema, options, warnings)
        if options.typed:
            new = _typed(new, old, schema, options)
        # Hooks are called here, where a RecursionError of theirs is their own.
        if options.default:
            defaulted = _object_of(options.default, new)
            new = without_unchosen_defaults(
                new, defaulted, schema, profile=options.profile
            )
        # An apply of a stored object has been prepared, and has its managedFields.
        if options.prepare and not (draft.is_apply and old is not None):
            new = _object_of(partial(options.prepare, old), new)
        # Go: before admission, so that no manager owns what a hook changes.
        new = _tracked(draft, new, schema, options)
        if options.admit:
            operation: Operation = "CREATE" if old is None else "UPDATE"
            admission = Admission(operation, old, new, options.dry_run)
            new = _object_of(options.admit, admission)
        try:
            return _judged(draft, new, schema, options, warnings)
        except (NotPlainError, TypeError):
            # What a hook returned has an OrderedDict, or a name that is not a string.
            converted = as_plain_object("the new object", new)
            if converted is new:
                raise
            return _judged(draft, converted, schema, options, warnings)
    except SmpError as error:
        details = status_details(subject, options.resource)
        return to_status(error, **details, warnings=warnings)


def _typed(
    new: JSONObject, old: JSONObject | None, schema: Schema, options: Options
) -> JSONObject:
    """Return the new object as a typed server has it, with the defaults of its kind."""
    typed = as_stored(new, old, schema, profile=options.profile)
    # An empty list is not stored; as managedFields it means to reset them.
    if metadata_of(new).get("managedFields") == []:
        return {**typed, "metadata": {**metadata_of(typed), "managedFields": []}}
    return typed


def _tracked(
    draft: Draft, new: JSONObject, schema: Schema, options: Options
) -> JSONObject:
    """Return the new object with what the manager of the request owns now.

    An apply has noted it already, and what changes nothing owns nothing.
    """
    if options.manager is None or draft.is_apply or new is draft.old:
        return new
    return _noted(draft.old, new, schema, options)


def _noted(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    options: Options,
    operation: Literal["Apply", "Update"] = "Update",
) -> JSONObject:
    return track(
        old,
        new,
        schema,
        manager=options.manager or "",
        operation=operation,
        subresource=options.subresource,
        serving=options.serving,
    )


def _object_of(hook: Callable[..., object], argument: object) -> JSONObject:
    """Return the object that a hook returns, which may be another mapping."""
    new = hook(argument)
    return new if isinstance(new, dict) else as_plain_object("the new object", new)


@bounded("the object")
def _decoded(
    draft: Draft, schema: Schema, options: Options, warnings: list[str]
) -> JSONObject:
    """Return the new object without what a server drops.

    What to warn of is added to the warnings. Raises StatusError, InvalidError and
    ModifiedError. Go: k8s.io/apiserver, endpoints/handlers, applyPatchToObject and
    transformDecodeError. A wrong field is a BadRequest in a whole object, and Invalid
    in a patched one.
    """
    old, new = draft.old, draft.new
    is_strict = options.field_validation == "Strict"
    is_patched = old is not None and draft.partial and not draft.is_apply
    if options.custom:
        new = as_object(with_whole_numbers(new))
    if old is None:
        if schema.kind:
            new = of_kind(new, schema.api_version, schema.kind)
    else:
        if is_patched:
            new = patched_of_kind(
                new,
                old,
                strategic=draft.patch is not None,
                custom=options.custom,
                strict=is_strict,
            )
        else:
            # A whole object that leaves out apiVersion or kind means the stored ones.
            new = of_kind(new, old.get("apiVersion", ABSENT), old.get("kind", ABSENT))
        new = share_object(new, old)
    # Typed storage makes zero values of nulls.
    rule = ConformanceRule(
        prunes=options.prune,
        keeps_nulls=options.custom or options.typed,
        null_elements=options.typed and not options.custom,
    )
    if new is not old:
        new = conforming(new, old, schema, rule)
    if rule.misfits:
        # A decoder fails at wrong types with every field validation.
        misfits = rule.misfits[:MAX_REPORTED]
        raise _wrong_types(misfits, new, options, is_patched=is_patched)
    if options.typed and new is not old:
        problem = decoding_problem(new, schema, old)
        if problem and is_patched:
            raise undecodable(problem)
        if problem:
            raise StatusError(f"{_cannot_be_handled(new)}{problem}")
    faults = [*draft.faults]
    unknown_fields = rule.unknown_fields[:MAX_REPORTED]
    faults += [f'unknown field "{path.decoded}"' for path in unknown_fields]
    # KEP-2885, server-side field validation: Ignore, Warn, Strict.
    if faults and is_strict:
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


def _cannot_be_handled(obj: JSONObject) -> str:
    kind = as_text(obj.get("kind"))
    version = as_text(obj.get("apiVersion")).rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}: '


def _wrong_types(
    misfits: list[Misfit], obj: JSONObject, options: Options, *, is_patched: bool
) -> SmpError:
    """Word values of a wrong type as the server does for the kind of schema."""
    # The metadata of a custom resource is decoded as that of all objects.
    decoding = misfits
    if options.custom:
        decoding = [misfit for misfit in misfits if misfit.path.steps[0] in _DECODED]
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
    draft: Draft,
    new: JSONObject,
    schema: Schema,
    options: Options,
    warnings: list[str],
) -> Accepted:
    """Normalize and validate an object; what was wrong in the old one may stay.

    Raises InvalidError, and UnionError for what a profile refuses. KEP-1027,
    Normalization and Validation: after admission. Go: k8s.io/apimachinery,
    api/validate (ratcheting).
    """
    old = draft.old
    changes = draft.changes
    # A request that changes nothing is not judged: what is stored was accepted. The
    # naive rule of KEP-1027 fails "all modifying requests" while it is invalid.
    if new is not old or not options.ratchet:
        update = updated(
            old,
            new,
            schema,
            profile=options.profile,
            ratchet=options.ratchet,
            patch=draft.patch,
            on_conflict=options.on_conflict,
        )
        if update.object is not new and options.manager is not None:
            # No manager owns what the normalization clears, and what it writes belongs
            # to the manager whose request was the reason.
            new = _noted(
                new,
                update.object,
                schema,
                options,
                "Apply" if draft.is_apply else "Update",
            )
        else:
            new = update.object
        changes = (*changes, *update.changes)
        if draft.undecoded:
            # Those who read a change need its values decoded.
            changes = tuple(
                [
                    replace(change, old=decoded(change.old), new=decoded(change.new))
                    for change in changes
                ]
            )
        violations = update.violations
        if options.validation:
            found = violations_of(old, new, schema, ratchet=options.ratchet)
            violations = in_order((*violations, *found), schema.type)
        if old is not None and options.immutable_fields:
            violations = (*violations, *changed_immutable_fields(old, new, schema))
        violations = (*violations, *managed_fields_violations(new, old))
        if violations:
            raise InvalidError(violations)
        # They are about a normalization, so a refused request has none of them.
        warnings.extend([str(warning) for warning in update.warnings])
    if old is None:
        return Accepted(
            new,
            changed=True,
            warnings=tuple(warnings),
            changes=changes,
            dry_run=options.dry_run,
            code=201,
        )
    if options.manager is not None:
        new = with_former_times(old, new)
    changed = not same(new, old)
    accepted = Accepted.undecoded if draft.undecoded else Accepted
    return accepted(
        new if changed else old,
        changed=changed,
        warnings=tuple(warnings),
        changes=changes,
        dry_run=options.dry_run,
    )
