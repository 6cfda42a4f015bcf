"""The outcome of a server-side apply: the object, who owns which field, conflicts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final, NoReturn

import msgspec

from smp.api_objects import without_managed_fields
from smp.cli._errors import Failure, inline, printable
from smp.cli._object_outcomes import Notice, ObjectOutcome, notices_of
from smp.cli._objects import Entry, Object, annotations_of
from smp.cli._options import Settings
from smp.cli._outcomes import change_notes, rejections
from smp.cli._secrets import Masks
from smp.errors import ObjectError, SmpError
from smp.last_applied import LAST_APPLIED
from smp.managed_fields import (
    ApplyConflict,
    ApplyConflictError,
    FieldSet,
    Owner,
    Step,
    owners,
    server_side_apply,
    simulate,
)
from smp.paths import Path, value_at
from smp.schema.model import Schema
from smp.values import ABSENT, JSON, JSONArray, JSONObject, as_object, as_text

_NO_MANAGER: Final = "no manager"


class OwnerChanges(msgspec.Struct, frozen=True):
    """The owners of the fields of an object before an apply and after it."""

    before: tuple[Owner, ...]
    after: tuple[Owner, ...]
    conflicts: tuple[ApplyConflict, ...] = ()

    def changed_fields(self) -> Iterator[tuple[str, str, str]]:
        """Yield each field that has other owners than before, with both."""
        before, after = _names_by_path(self.before), _names_by_path(self.after)
        for path in {**before, **after}:
            old, new = before.get(path, _NO_MANAGER), after.get(path, _NO_MANAGER)
            if old != new:
                yield path, old, new

    def describe_conflicts(self, live: JSON, new: JSON) -> Iterator[tuple[Path, str]]:
        """Yield the path and a text of each conflict, with the values of both."""
        for conflict in self.conflicts:
            values = [
                f"live {inline(value_at(live, conflict.path))}",
                f"new {inline(value_at(new, conflict.path))}",
            ]
            owner = owner_text(conflict)
            yield conflict.path, f"owned by {owner}; {', '.join(values)}"

    def owner_names(self) -> list[str]:
        """Name the owners after the apply."""
        return [owner_text(owner) for owner in self.after]

    def conflict_records(self, live: JSON, new: JSON) -> JSONArray:
        """Return the conflicts as JSON, with the values of both objects."""
        records: JSONArray = []
        for conflict in self.conflicts:
            record = {"path": str(conflict.path), **_identity(conflict)}
            live_value = value_at(live, conflict.path)
            if live_value is not ABSENT:
                record["live"] = live_value
            new_value = value_at(new, conflict.path)
            if new_value is not ABSENT:
                record["new"] = new_value
            records.append(record)
        return records

    def manager_records(self) -> JSONArray:
        """Return the managers as JSON, with the fields that they gain and lose."""
        before = {owner.identity: owner for owner in self.before}
        after = {owner.identity: owner for owner in self.after}
        records: JSONArray = []
        for identity, owner in {**before, **after}.items():
            old = before[identity].fields if identity in before else FieldSet()
            new = after[identity].fields if identity in after else FieldSet()
            records.append(
                {
                    **_identity(owner),
                    "gained": [str(path) for path in new.difference(old).paths()],
                    "lost": [str(path) for path in old.difference(new).paths()],
                }
            )
        return records


def owner_text(owner: Owner | ApplyConflict) -> str:
    """Name an owner for a reader: ``kubelet (Update status)``."""
    how = f"{owner.operation} {owner.subresource}".rstrip()
    return printable(f"{owner.manager} ({how})")


def _names_by_path(owners: Iterable[Owner]) -> dict[str, str]:
    by_path: dict[str, str] = {}
    for owner in owners:
        for path in owner.fields.paths():
            text = printable(str(path))
            others = f"{by_path[text]}, " if text in by_path else ""
            by_path[text] = others + owner_text(owner)
    return by_path


def _identity(owner: Owner | ApplyConflict) -> dict[str, JSON]:
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "subresource": owner.subresource,
        "time": owner.time,
    }


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
    # What else kubectl sends for an object that client-side apply has written.
    if LAST_APPLIED in annotations_of(after):
        step = Step(manager, new.value, "kubectl apply", force=force)
        [state] = simulate(
            before, [step], lenient, profile=settings.profile, now=now
        ).states
        if state.error is not None:
            # kubectl: warningMigrationPatchFailed. The object was applied all the same.
            text = f"failed to migrate the object: {state.error}"
            notices.append(Notice(text, "failed-migration"))
        else:
            after = as_object(state.object)
            notes.append(_UPGRADED)
    notices += rejections(result.violations)
    return msgspec.structs.replace(
        outcome,
        after=with_defaults(after),
        notes=tuple(notes),
        notices=tuple(notices),
        ownership=OwnerChanges(former, owners(after)),
    )


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
