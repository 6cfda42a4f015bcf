"""The outcome of a server-side apply: the object, its owners, and conflicts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final, NoReturn

import msgspec

from smp.api_objects import without_managed_fields
from smp.cli._errors import Failure
from smp.cli._object_outcomes import Notice, ObjectOutcome, notices_of
from smp.cli._objects import Entry, Object, annotations_of
from smp.cli._options import Settings
from smp.cli._outcomes import change_notes, rejections
from smp.cli._ownership import OwnerChanges
from smp.cli._secrets import Masks
from smp.errors import ObjectError, SmpError
from smp.last_applied import LAST_APPLIED
from smp.managed_fields import (
    ApplyConflictError,
    Step,
    owners,
    server_side_apply,
    simulate,
)
from smp.schema.model import Schema
from smp.values import JSON, JSONObject, as_object, as_text

# Go: k8s.io/kubectl, pkg/cmd/apply, fieldManagerServerSideApply.
_DEFAULT_MANAGER: Final = "kubectl"
_NO_ENTRIES: Final = (
    "the live object has no managedFields, so all of it belongs to before-first-apply; "
    "kubectl get prints them with --show-managed-fields"
)
_UPGRADED: Final = "what client-side apply owned belongs to this manager now"


def server_side_outcome(
    entry: Entry,
    new: Object,
    live: Object | None,
    schema: Schema,
    settings: Settings,
    with_defaults: Callable[[JSONObject], JSONObject],
) -> ObjectOutcome:
    """Apply a configuration as a field manager, as kubectl and a server do.

    ``with_defaults`` fills in the defaults of a custom resource. An object with
    conflicts is an outcome that failed. Raises ObjectError and UnionError, without the
    values of a Secret.
    """
    before = None if live is None else live.value
    _require_applicable(new.value, before)
    manager = settings.field_manager or _DEFAULT_MANAGER
    force = settings.force_conflicts
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    now = datetime.now(UTC)
    apply = partial(
        server_side_apply,
        schema=lenient,
        manager=manager,
        force=force,
        profile=settings.profile,
        now=now,
    )
    former = () if before is None else owners(before)
    outcome = ObjectOutcome(
        identity=entry.identity,
        place=entry.place,
        before=before,
        after=before,
        type_=lenient.type,
        patch=new.value,
        notes=(f"applied by {manager}",),
    )
    try:
        result = apply(before, new.value)
    except ApplyConflictError as error:
        failure = Failure(error, new.document, new.label)
        return msgspec.structs.replace(
            outcome,
            problems=tuple(failure.blocks),
            ownership=OwnerChanges(former, former, error.conflicts),
        )
    except SmpError:
        _raise_for_secret(apply, before, new.value, settings)

    notices = notices_of(result.warnings)
    remark = result.remark
    if remark is not None:
        notices.append(Notice(str(remark), "union-remark", remark.path, is_fault=True))
    if before is not None and not former:
        notices.append(Notice(_NO_ENTRIES, "no-managed-fields"))
    after = result.object
    notes = [*outcome.notes, *change_notes(result.changes, settings)]
    if LAST_APPLIED in annotations_of(after):
        # What else kubectl sends for an object that client-side apply has written.
        step = Step(manager, new.value, "kubectl apply", force=force)
        migrated = _migrate(before, step, lenient, settings, now)
        if isinstance(migrated, Notice):
            notices.append(migrated)
        else:
            after = migrated
            notes.append(_UPGRADED)
    notices += rejections(result.violations)
    return msgspec.structs.replace(
        outcome,
        after=with_defaults(after),
        notes=tuple(notes),
        notices=tuple(notices),
        ownership=OwnerChanges(former, owners(after)),
    )


def _migrate(
    before: JSONObject | None,
    step: Step,
    schema: Schema,
    settings: Settings,
    now: datetime,
) -> JSONObject | Notice:
    """Apply an object again as kubectl does, which takes over what it owned.

    Returns the object, or what kubectl warns of: the object was applied all the same.
    """
    [state] = simulate(before, [step], schema, profile=settings.profile, now=now).states
    if state.error is None:
        return as_object(state.object)
    # kubectl: warningMigrationPatchFailed.
    text = f"failed to migrate the object: {state.error}"
    return Notice(text, "failed-migration")


def _raise_for_secret(
    apply: Callable[..., object],
    before: JSONObject | None,
    new: JSONObject,
    settings: Settings,
) -> NoReturn:
    """Raise why a server does not apply an object, without the values of a Secret.

    The words of a server have the values of fields. So those of a Secret are the words
    for its masked values, if these are wrong as well.
    """
    masks = Masks({"live": before, "new": new}, show_secrets=settings.show_secrets)
    masked = [_in_base64(masks.mask(obj)) for obj in (before, new)]
    apply(masked[0], as_object(masked[1]), force=True)
    raise ObjectError(
        "a server cannot apply this Secret", code="invalid-applied"
    ) from None


def _in_base64(secret: JSONObject | None) -> JSONObject | None:
    """Return a masked Secret whose masks a server can decode, as it does its data."""
    data = as_object((secret or {}).get("data"))
    if secret is None or not data:
        return secret
    encoded: JSONObject = {
        name: b64encode(value.encode()).decode() if isinstance(value, str) else value
        for name, value in data.items()
    }
    return {**secret, "data": encoded}


def _require_applicable(new: JSONObject, live: JSONObject | None) -> None:
    """Raise ObjectError for what kubectl does not apply."""
    metadata = as_object(new.get("metadata"))
    name = as_text(metadata.get("generateName"))
    if not metadata.get("name"):
        # Go: k8s.io/kubectl, pkg/cmd/apply, applyOneObject.
        problem = "resource name may not be empty"
        if name:
            problem = f"from {name}: cannot use generate name with apply"
        raise ObjectError(problem, code="unnamed-object")
    if live is not None and live.get("apiVersion") != new.get("apiVersion"):
        # A server converts the live object, which needs the conversion of the kind.
        raise ObjectError(
            f"the live object has apiVersion {as_text(live.get('apiVersion'))}",
            code="other-version",
            hint="server-side apply compares both in the version of the configuration: "
            "get the live object in that version",
        )


def for_a_reader(outcome: ObjectOutcome, settings: Settings) -> ObjectOutcome:
    """Return an outcome of server-side apply without secrets and managedFields."""
    configuration = as_object(outcome.patch)
    stored = _shown(outcome.before)
    new = _shown(outcome.after)
    masks = settings.masks({"live": stored, "new": new, "applied": configuration})
    return msgspec.structs.replace(
        outcome,
        before=masks.mask(stored),
        after=masks.mask(new),
        patch=masks.mask(configuration),
    )


def _shown(obj: JSON) -> JSONObject | None:
    if not isinstance(obj, dict):
        return None
    return without_managed_fields(obj)
