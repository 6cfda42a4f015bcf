"""Server-side apply of one object, and its migration from client-side apply.

Go: k8s.io/kubectl/pkg/cmd/apply, ApplyOptions.applyOneObject,
saveLastApplyAnnotationIfNecessary and migrateToSSAIfNecessary.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.api_objects import annotations_of, metadata_of
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSONObject, as_object, as_text
from smp.cluster.plan.client_side import (
    ApplyTarget,
    warnings_of_answer,
    warnings_of_live,
)
from smp.cluster.plan.exchange import Plan, PlannedRequest
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.given_up import (
    drop_conflicts,
    drop_given_up,
    warnings_of_given_up,
)
from smp.cluster.plan.objects import Action, Applied
from smp.cluster.plan.options import SERVER_SIDE_MANAGER, ApplyOptions
from smp.cluster.plan.sending import (
    body_of,
    object_of,
    send,
    send_for_object,
    write_request,
)
from smp.cluster.plan.union_requests import apply_cleared, is_refusal
from smp.errors import ApplyWarning, SmpError
from smp.managed_fields import PatchRequest, owners, upgrade_patch
from smp.paths import Path

APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"
LAST_APPLIED_MANAGER: Final = "kubectl-last-applied"
_ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))
_RETRIES: Final = 5
_CREATED: Final = 201
_UNSUPPORTED: Final = 415
_CONFLICT_HINT: Final = (
    "these fields have other managers: force_conflicts=True (--force-conflicts) makes"
    " this manager own all of them; a field that is left out of the manifest stays with"
    " its manager (--give-up PATH, and --skip-conflicts for all); a field that the"
    " manifest has with the live value is owned by both"
)
# Go: warningMigrationLastAppliedFailed, warningMigrationPatchFailed and
# warningMigrationReapplyFailed.
_ANNOTATION_FAILED: Final = (
    f"failed to migrate {LAST_APPLIED} for Server-Side Apply. This is non-fatal and"
    " will be retried next time you apply. Error: {error}"
)
_MIGRATION_FAILED: Final = (
    "server rejected managed fields migration to Server-Side Apply. This is non-fatal"
    " and will be retried next time you apply. Error: {error}"
)
_REAPPLY_FAILED: Final = (
    "failed to re-apply configuration after performing Server-Side Apply migration."
    " This is non-fatal and will be retried next time you apply. Error: {error}"
)


class _Sent(msgspec.Struct):
    """What was applied in the end, and what the server made of it.

    ``left_out`` are the paths of the manifest that ``target`` lacks, ``requests`` what
    was sent where the apply alone was refused.
    """

    target: ApplyTarget
    request: PlannedRequest
    left_out: list[Path]
    object: JSONObject = {}
    is_created: bool = False
    requests: tuple[PatchRequest, ...] = ()
    warnings: list[ApplyWarning] = []


def apply_server_side(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions
) -> Plan[Applied]:
    """Apply an object server-side; ``live`` is what is known of it before.

    Raises what ``send`` and ``give_up`` raise.
    """
    sent = yield from _send(target, options)
    warnings = sent.warnings
    # A dry run of a migration is sent as well. Nothing of it is stored, so that it may
    # end with the warning that it has failed (Go: applyOneObject, which does not ask).
    stored = yield from _migrate(sent, options)
    warnings += [
        warning
        for warning in warnings_of_live(stored)
        if warning.code == "being-deleted"
    ]
    warnings += warnings_of_given_up(target, live, stored, sent.left_out)
    before = as_object((live or {}).get("metadata")).get("resourceVersion")
    after = as_object(stored.get("metadata")).get("resourceVersion")
    # A server keeps the resourceVersion of an object that an apply does not change.
    is_same = before == after and not sent.requests
    action: Action = "unchanged" if is_same else "configured"
    if sent.is_created:
        action = "created"
    return target.became(
        action,
        object=stored,
        before=live,
        patch=sent.target.item.object,
        media_type=APPLY,
        schema=target.kind_schema.schema,
        warnings=tuple(warnings),
        requests=sent.requests,
    )


def _send(target: ApplyTarget, options: ApplyOptions) -> Plan[_Sent]:
    """Send an apply, without what is given up, until the server accepts it."""
    target, left_out = drop_given_up(target, options)
    for attempt in range(_RETRIES):
        request = _apply_request(target, target.item.object, options)
        sent = _Sent(target, request, left_out)
        try:
            answer = yield from send(request)
        except ApiError as error:
            # Go: isIncompatibleServerError.
            if error.status == _UNSUPPORTED:
                error.advice = "Server-side apply not available on the server"
            elif error.reason == "Conflict":
                error.advice = _CONFLICT_HINT
                if options.skip_conflicts and attempt < _RETRIES - 1:
                    found = yield from target.read()
                    target, paths = drop_conflicts(target, found, options, error)
                    left_out = [*left_out, *paths]
                    continue
            if not is_refusal(error, options):
                raise
            sent.object, sent.requests, warning = yield from apply_cleared(
                target, options, request, error
            )
            sent.warnings.append(warning)
            return sent
        sent.object = object_of(answer)
        sent.warnings += warnings_of_answer(answer)
        sent.is_created = answer.status == _CREATED
        return sent
    raise AssertionError("the last attempt returns or raises")


def _apply_request(
    target: ApplyTarget, obj: JSONObject, options: ApplyOptions, *, manager: str = ""
) -> PlannedRequest:
    query = options.query(manager=manager)
    # kubectl passes no option to force for the annotation.
    if not manager:
        query = (*query, ("force", "true" if options.force_conflicts else "false"))
    return write_request("PATCH", target.path, query, body_of(obj), APPLY)


def _migrate(sent: _Sent, options: ApplyOptions) -> Plan[JSONObject]:
    """Make what a client-side apply owns owned by this apply, and apply once more.

    What fails is a warning: the object was applied, and the next apply tries again.
    """
    target, stored, warnings = sent.target, sent.object, sent.warnings
    try:
        stored = yield from _annotation_kept(target, stored, options)
    except SmpError as error:
        warnings.append(_warning(_ANNOTATION_FAILED, error))
        return stored
    try:
        upgraded = yield from _upgrade(target, stored, options)
    except SmpError as error:
        warnings.append(_warning(_MIGRATION_FAILED, error))
        return stored
    if upgraded is None:
        return stored
    # This apply removes the fields that the manifest no longer has.
    try:
        return (yield from send_for_object(sent.request))
    except SmpError as error:
        warnings.append(_warning(_REAPPLY_FAILED, error))
        return upgraded


def _warning(text: str, error: SmpError) -> ApplyWarning:
    return ApplyWarning("not-migrated", Path(), text.format(error=error))


def _annotation_kept(
    target: ApplyTarget, stored: JSONObject, options: ApplyOptions
) -> Plan[JSONObject]:
    """Have the last-applied annotation owned by a manager of its own.

    The default manager does not have it in its manifests, so that the migration would
    remove it; a later client-side apply needs it.
    """
    text = annotations_of(stored).get(LAST_APPLIED)
    # A server keeps the annotation up to date for the default manager only.
    if options.manager != SERVER_SIDE_MANAGER or text is None:
        return stored
    # It was done by a former apply.
    if _managers_of_annotation(stored, "Apply"):
        return stored
    only: JSONObject = {
        "apiVersion": target.item.api_version,
        "kind": target.item.kind,
        "metadata": {
            "annotations": {LAST_APPLIED: text},
            "name": as_text(metadata_of(stored).get("name")),
            **({"namespace": target.namespace} if target.namespace else {}),
        },
    }
    request = _apply_request(target, only, options, manager=LAST_APPLIED_MANAGER)
    return (yield from send_for_object(request))


def _managers_of_annotation(obj: JSONObject, operation: str) -> list[str]:
    """Return the managers that own the last-applied annotation by an operation.

    Go: csaupgrade.FindFieldsOwners.
    """
    return sorted(
        {
            owner.manager
            for owner in owners(obj)
            if owner.operation == operation and owner.fields.has(_ANNOTATION)
        }
    )


def _upgrade(
    target: ApplyTarget, stored: JSONObject, options: ApplyOptions
) -> Plan[JSONObject | None]:
    """Hand over what the managers of client-side applies own; None if nothing is."""
    managers = _managers_of_annotation(stored, "Update")
    for attempt in range(_RETRIES):
        patch = upgrade_patch(
            stored, from_managers=managers, to_manager=options.manager
        )
        if patch is None:
            return None
        query = options.query()
        body = body_of([*patch])
        request = write_request("PATCH", target.path, query, body, JSON_PATCH)
        try:
            return (yield from send_for_object(request))
        except ApiError as error:
            # The patch replaces resourceVersion, so a write of another is a conflict.
            if error.reason != "Conflict" or attempt == _RETRIES - 1:
                raise
            again = yield from target.read()
            if again is None:
                raise
            stored = again
    raise AssertionError("the last attempt returns or raises")
