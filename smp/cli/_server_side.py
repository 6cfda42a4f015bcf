"""The outcome of a server-side apply: the object, its owners, and conflicts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NoReturn

import msgspec

from smp._storage.update import predict_refusals
from smp._values.api_objects import annotations_of, drop_managed_fields
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSON, JSONObject, as_object, as_text
from smp.cli._errors import CommandFailure
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import Object
from smp.cli._options import CommandSettings
from smp.cli._outcomes import ObjectOperation, change_notes
from smp.cli._ownership import OwnerChanges
from smp.cli._secrets import Masks
from smp.errors import ApplyWarning, ObjectError, SmpError
from smp.explain import Cause
from smp.hazards import input_hazards
from smp.managed_fields import (
    ApplyConflictError,
    Owner,
    PatchRequest,
    Remark,
    ServerSideApplyResult,
    Step,
    WayOut,
    apply_request,
    owners,
    predict_refusal,
    server_side_apply,
    simulate,
    ways_out,
)
from smp.paths import Path, value_at
from smp.schema.model import Schema
from smp.violations import refusal_of

# Go: k8s.io/kubectl, pkg/cmd/apply, fieldManagerServerSideApply.
_DEFAULT_MANAGER: Final = "kubectl"
_NO_ENTRIES: Final = (
    "the live object has no managedFields, so all of it belongs to before-first-apply; "
    "kubectl get prints them with --show-managed-fields"
)
_UPGRADED: Final = "what client-side apply owned belongs to this manager now"


def server_side_outcome(
    operation: ObjectOperation, new: Object, live: Object | None, path: str
) -> ObjectOutcome:
    """Apply a configuration as a field manager, as kubectl and a server do.

    ``path`` is that of the object on a server. An object with conflicts is an outcome
    that failed; so is one whose unions a server refuses, unless it is asked for the
    requests that make it pass. Raises ObjectError and UnionError, without the values of
    a Secret.
    """
    before = None if live is None else live.value
    _require_applicable(new.value, before)
    settings = operation.settings
    attempt = _begin_attempt(operation, new, before, path)
    try:
        result = attempt.apply(before, new.value, force=settings.force_conflicts)
    except ApplyConflictError as error:
        return attempt.fail_with_conflicts(error)
    except SmpError:
        _raise_for_secret(attempt.apply, before, new.value, settings)

    # No server refuses a custom resource for a union: none knows the extension.
    judges_unions = result.remark is not None or settings.profile == "off"
    if judges_unions and not operation.schema.is_custom:
        # What a server answers that normalizes no unions; None: it accepts.
        refusal = predict_refusal(
            before,
            new.value,
            attempt.schema,
            manager=attempt.manager,
            force=settings.force_conflicts,
            now=attempt.now,
        )
        if refusal is not None:
            return attempt.refuse(refusal)
    outcome = attempt.succeed(result)
    after = as_object(outcome.after)
    refused = predict_refusals(
        before,
        after,
        operation.schema,
        profile=settings.profile,
        found=result.violations,
    )
    return msgspec.structs.replace(
        outcome,
        after=operation.with_defaults(after),
        warned=(*outcome.warned, *(refusal_of(violation) for violation in refused)),
    )


def _begin_attempt(
    operation: ObjectOperation, new: Object, before: JSONObject | None, path: str
) -> _Attempt:
    settings = operation.settings
    manager = settings.field_manager or _DEFAULT_MANAGER
    force = settings.force_conflicts
    return _Attempt(
        new=new,
        before=before,
        schema=operation.lenient,
        settings=settings,
        manager=manager,
        path=path,
        now=datetime.now(UTC),
        outcome=ObjectOutcome(
            identity=operation.entry.identity,
            place=operation.entry.place,
            before=before,
            after=before,
            type_=operation.lenient.type,
            patch=new.value,
            notes=(f"applied by {manager}",),
            requests=(apply_request(path, new.value, manager, force=force),),
        ),
    )


class _Attempt(msgspec.Struct, frozen=True):
    """One configuration that a field manager applies, and what is known before that."""

    new: Object
    before: JSONObject | None
    schema: Schema
    settings: CommandSettings
    manager: str
    path: str
    now: datetime
    outcome: ObjectOutcome

    def apply(
        self, live: JSONObject | None, configuration: JSONObject, *, force: bool
    ) -> ServerSideApplyResult:
        return server_side_apply(
            live,
            configuration,
            self.schema,
            manager=self.manager,
            force=force,
            profile=self.settings.profile,
            now=self.now,
        )

    def fail_with_conflicts(self, error: ApplyConflictError) -> ObjectOutcome:
        """Return the outcome of conflicts, with the ways out of them."""
        failure = CommandFailure(error, self.new.document, self.new.label)
        ways: tuple[WayOut, ...] = ()
        former: tuple[Owner, ...] = ()
        # A new object has no conflicts; each way is an apply of its own.
        if self.before is not None:
            former = owners(self.before)
            if not self.settings.quiet:
                ways = ways_out(
                    self.before,
                    self.new.value,
                    self.schema,
                    error.conflicts,
                    manager=self.manager,
                    now=self.now,
                )
        return msgspec.structs.replace(
            self.outcome,
            problem=failure.block,
            ownership=OwnerChanges(former, former, error.conflicts, ways),
        )

    def refuse(self, refusal: Remark) -> ObjectOutcome:
        """Return the outcome of an apply that a server refuses for its unions.

        Where the requests that make it pass are the output, it is what they lead to.
        """
        remedy = refusal.remedy
        requests: tuple[PatchRequest, ...] = ()
        advice = ""
        if remedy is not None and remedy.force and not self.settings.force_conflicts:
            advice = f"{remedy}: --force-conflicts takes it"
        elif remedy is not None:
            advice = f"{remedy}: -o requests prints both requests"
            requests = remedy.requests(self.path)
            if self.settings.output == "requests":
                return msgspec.structs.replace(
                    self.outcome, after=remedy.object, requests=requests
                )
        error = ObjectError(
            f"the API server {refusal.answer}",
            code="invalid",
            path=refusal.path,
            hint=advice,
        )
        failure = CommandFailure(error, self.new.document, self.new.label)
        notes = [f"request: {request}" for request in requests]
        return msgspec.structs.replace(
            self.outcome,
            problem=failure.block,
            requests=requests,
            notes=(*self.outcome.notes, *notes),
        )

    def succeed(self, result: ServerSideApplyResult) -> ObjectOutcome:
        """Return the outcome of an apply that a server takes, with what it warns of."""
        before = self.before
        former = () if before is None else owners(before)
        warned = [*result.warnings]
        for each in input_hazards(None, self.new.value, None, self.schema):
            # The others are of what kubectl computes from a client.
            if each.code == "hot-loop":
                sentence = f"{each.sentence}: {each.remedy}"
                warned.append(ApplyWarning(each.code, each.path, sentence))
        remark = result.remark
        if remark is not None:
            warned.append(ApplyWarning(remark.code, remark.path, str(remark)))
        if before is not None and not former:
            warned.append(ApplyWarning("no-managed-fields", Path(), _NO_ENTRIES))
        after = result.object
        notes = [*self.outcome.notes, *change_notes(result.changes, self.settings)]
        if LAST_APPLIED in annotations_of(after):
            # What else kubectl sends for an object of client-side apply.
            force = self.settings.force_conflicts
            step = Step(self.manager, self.new.value, "kubectl apply", force=force)
            migrated = _migrate(before, step, self.schema, self.settings, self.now)
            if isinstance(migrated, ApplyWarning):
                warned.append(migrated)
            else:
                after = migrated
                notes.append(_UPGRADED)
        return msgspec.structs.replace(
            self.outcome,
            after=after,
            notes=tuple(notes),
            warned=tuple(warned),
            ownership=OwnerChanges(former, owners(after)),
        )


def _migrate(
    before: JSONObject | None,
    step: Step,
    schema: Schema,
    settings: CommandSettings,
    now: datetime,
) -> JSONObject | ApplyWarning:
    """Apply again as kubectl does, which takes over what it owned, or warns."""
    [state] = simulate(before, [step], schema, profile=settings.profile, now=now).states
    if state.error is None:
        return as_object(state.object)
    # kubectl: warningMigrationPatchFailed.
    text = f"failed to migrate the object: {state.error}"
    return ApplyWarning("failed-migration", Path(), text)


def _raise_for_secret(
    apply: Callable[..., object],
    before: JSONObject | None,
    new: JSONObject,
    settings: CommandSettings,
) -> NoReturn:
    """Raise why a server does not apply an object, without the values of a Secret.

    The words of a server have the values of fields. So those of a Secret are the words
    for its masked values, if these are wrong as well.
    """
    masks = Masks({"live": before, "manifest": new}, show_secrets=settings.show_secrets)
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


def for_a_reader(outcome: ObjectOutcome, settings: CommandSettings) -> ObjectOutcome:
    """Return an outcome of server-side apply without secrets and managedFields."""
    configuration = as_object(outcome.patch)
    stored = _show(outcome.before)
    new = _show(outcome.after)
    masks = settings.masks({"live": stored, "manifest": configuration, "result": new})
    before, patch = masks.mask(stored), masks.mask(configuration)
    causes: tuple[Cause, ...] = ()
    ownership = outcome.ownership
    if ownership is not None:
        ways = tuple(_mask_way(way, masks) for way in ownership.ways)
        ownership = msgspec.structs.replace(ownership, ways=ways)
        if settings.explains:
            causes = tuple(ownership.causes(before, patch))
    return msgspec.structs.replace(
        outcome,
        before=before,
        after=masks.mask(new),
        patch=patch,
        causes=causes,
        ownership=ownership,
        # What takes a union back has no value of a Secret.
        requests=tuple(
            msgspec.structs.replace(each, body=masks.mask(each.body))
            if isinstance(each.body, dict)
            else each
            for each in outcome.requests
        ),
    )


def _mask_way(way: WayOut, masks: Masks) -> WayOut:
    obj = as_object(masks.mask(way.object))
    return msgspec.structs.replace(
        way,
        configuration=as_object(masks.mask(way.configuration)),
        object=obj,
        value=value_at(obj, way.path),
    )


def _show(obj: JSON) -> JSONObject | None:
    if not isinstance(obj, dict):
        return None
    return drop_managed_fields(obj)
