"""The outcomes of applying, creating and removing an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from smp.cli._object_outcomes import Notice, ObjectOutcome, notices_of
from smp.cli._objects import Entry
from smp.cli._options import Settings
from smp.cli._secrets import Masks
from smp.conformance import Misfit
from smp.errors import DocumentError
from smp.hazards import Hazard, HazardError, Policy, is_serious
from smp.paths import Path
from smp.schema.model import Schema
from smp.three_way import find_hazards, three_way_apply
from smp.unions import Change
from smp.update import as_stored, decode_object, updated
from smp.values import JSONObject, as_object, same, without_nulls
from smp.violations import Violation

if TYPE_CHECKING:
    from smp.explain import Cause

# The codes of notices that say of a path what its cause says too.
UNMET: Final = "unmet"
UNKNOWN_FIELD: Final = "unknown-field"
_UNMET: Final = "the result is not what the new configuration asks for"
_REJECTED: Final = "a server would reject this"
_REFUSED: Final = "kubectl apply would refuse this"

# Returns an object with the defaults that a server fills in.
Defaulting: TypeAlias = Callable[[JSONObject], JSONObject]


class Versions(msgspec.Struct, frozen=True):
    """The versions of one object that a three-way apply merges."""

    last_applied: JSONObject | None
    modified: JSONObject
    # None where the object is to be created.
    live: JSONObject | None

    def masked(self, masks: Masks) -> Versions:
        """Return the versions with masks in place of what is confidential."""
        return Versions(
            masks.mask(self.last_applied),
            masks.mask(self.modified),
            masks.mask(self.live),
        )


def created_outcome(
    entry: Entry,
    new: JSONObject,
    schema: Schema,
    settings: Settings,
    masks: Masks,
    with_defaults: Defaulting,
) -> ObjectOutcome:
    """Create an object: a server stores all of it but its nulls, and checks it.

    ``with_defaults`` fills in what the server does before it normalizes unions. Raises
    what normalize_unions raises.
    """
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    created = updated(
        None,
        with_defaults(as_object(without_nulls(new))),
        lenient,
        profile=settings.profile,
        ratchet=True,
        configuration=new,
    )
    after, faults = _decode(created.object, None, schema, settings, masks)
    notices = [*notices_of(created.warnings), *faults]
    metadata = as_object(new.get("metadata"))
    # The words are those of kubectl, which looks for the live object by its name.
    if not metadata.get("name") and not metadata.get("generateName"):
        text = f"resource name may not be empty ({_REFUSED})"
        notices.append(Notice(text, "unnamed-object", is_fault=True))
    notices += rejections(created.violations)
    return ObjectOutcome(
        identity=entry.identity,
        place=entry.place,
        before=None,
        after=after,
        type_=lenient.type,
        patch=new,
        notes=tuple(change_notes(created.changes, settings)),
        notices=tuple(notices),
        configuration=new,
    )


def applied_outcome(  # noqa: PLR0913  # keyword arguments are options
    entry: Entry,
    versions: Versions,
    schema: Schema,
    settings: Settings,
    masks: Masks,
    with_defaults: Defaulting,
    *,
    overwrite: bool = True,
    notes: Iterable[str] = (),
    shows: Callable[[Path, str], bool] | None = None,
) -> ObjectOutcome:
    """Apply a new configuration to a live object, which there is.

    ``with_defaults`` fills in what a server does, and ``shows`` tells which causes are
    wanted. Raises what three_way_apply raises.
    """
    policy: Policy = settings.hazards
    # The annotation of a Secret is masked as a whole, so hazards are looked for in the
    # values; their sentences show none.
    is_secret = schema.kind == "Secret"
    if is_secret and policy != "repair":
        policy = "ignore"
    result = three_way_apply(
        versions.last_applied,
        versions.modified,
        as_object(versions.live),
        schema,
        profile=settings.profile,
        overwrite=overwrite,
        unknown_fields=settings.unknown_fields,
        hazards=policy,
    )
    hazards = result.hazards
    if is_secret:
        hazards = _hazards_of_secret(versions, schema, settings, masks)
    # None of these is an error: kubectl would send the patch, and a server may differ
    # in version or configuration from the bundled schema.
    lenient = schema.with_unknown_fields(settings.unknown_fields)
    stored = with_defaults(result.object)
    if not same(stored, result.object):
        # A server fills in defaults before it normalizes.
        stored = updated(
            versions.live, stored, lenient, profile=settings.profile, ratchet=True
        ).object
    after, faults = _decode(stored, versions.live, schema, settings, masks)
    notices = [*notices_of(result.warnings), *faults]
    notices += rejections(result.violations)
    notices += [
        Notice(f"{path}: {_UNMET}", UNMET, path, is_fault=True) for path in result.unmet
    ]
    return ObjectOutcome(
        identity=entry.identity,
        place=entry.place,
        before=versions.live,
        after=after,
        type_=lenient.type,
        patch=result.patch,
        media_type=result.media_type,
        reason=result.reason,
        kubectl_patch=result.kubectl_patch,
        notes=(*notes, *change_notes(result.changes, settings)),
        notices=tuple(notices),
        causes=_causes(versions, schema, settings, shows, overwrite=overwrite),
        hazards=hazards,
        last_applied=versions.last_applied,
        configuration=versions.modified,
    )


def _hazards_of_secret(
    versions: Versions, schema: Schema, settings: Settings, masks: Masks
) -> tuple[Hazard, ...]:
    """Find the hazards in the values of a Secret. Raises HazardError."""
    last_applied, modified, live = (
        masks.unmask(version)
        for version in (versions.last_applied, versions.modified, versions.live)
    )
    hazards = find_hazards(
        as_object(last_applied) if last_applied else None,
        as_object(modified),
        as_object(live),
        schema.with_unknown_fields(settings.unknown_fields),
    )
    if settings.hazards == "error" and is_serious(hazards):
        raise HazardError(hazards)
    return hazards


def _causes(
    versions: Versions,
    schema: Schema,
    settings: Settings,
    shows: Callable[[Path, str], bool] | None,
    *,
    overwrite: bool,
) -> tuple[Cause, ...]:
    """Return why each field changes or does not, where the output has that."""
    if not settings.explains:
        return ()
    from smp.explain import explain_apply  # noqa: PLC0415  # 70 ms; few runs ask

    return explain_apply(
        versions.last_applied,
        versions.modified,
        as_object(versions.live),
        schema,
        profile=settings.profile,
        overwrite=overwrite,
        unknown_fields=settings.unknown_fields,
        defaults=settings.defaults,
        hazards="repair" if settings.hazards == "repair" else "warn",
        shows=shows,
    )


def _decode(
    new: JSONObject,
    old: JSONObject | None,
    schema: Schema,
    settings: Settings,
    masks: Masks,
) -> tuple[JSONObject, list[Notice]]:
    """Return an object as a server decodes it, and what that warns of.

    The types are those of the values that ``masks`` cover. Raises DocumentError where
    validation is strict. KEP-2885, server-side field validation.
    """
    # A server that knows more fields is not known here.
    keeps_unknown = settings.unknown_fields == "merge"
    # Nulls are left to typed storage, which knows their zero values.
    decode = partial(decode_object, schema=schema, typed=False, custom=True)
    found = decode(new, old, prunes=not keeps_unknown)
    obj = found.object
    if settings.defaults:
        obj = as_stored(obj, old, schema, profile=settings.profile)
    if settings.validate == "ignore":
        return obj, []
    unknown_paths = () if keeps_unknown else found.unknown_fields
    unknown = [f'unknown field "{path}"' for path in unknown_paths]
    misfits = [*found.misfits]
    if schema.kind == "Secret":
        before = None if old is None else as_object(masks.unmask(old))
        unmasked = decode(as_object(masks.unmask(new)), before)
        # A number is quoted by a server; here that would show a secret.
        misfits = [
            Misfit(misfit.path, misfit.actual.split()[0], misfit.expected)
            for misfit in unmasked.misfits
        ]
    wrong = [str(misfit) for misfit in misfits]
    if settings.validate == "strict" and (unknown or wrong):
        raise DocumentError(
            f"strict decoding error: {', '.join([*unknown, *wrong])}",
            code="strict-decoding",
        )
    # A server decodes no value of a wrong type, whatever the validation.
    faults = [
        Notice(f"{problem} (a server drops it)", UNKNOWN_FIELD, path, is_fault=True)
        for problem, path in zip(unknown, unknown_paths, strict=True)
    ]
    faults += [
        Notice(f"{misfit} ({_REJECTED})", "wrong-type", misfit.path, is_fault=True)
        for misfit in misfits
    ]
    return obj, faults


def rejections(violations: Iterable[Violation]) -> list[Notice]:
    """Return violations as notices."""
    return [
        Notice(
            f"{violation} ({_REJECTED})", violation.code, violation.path, is_fault=True
        )
        for violation in violations
    ]


def removed_outcome(entry: Entry, old: JSONObject, schema: Schema) -> ObjectOutcome:
    """Remove an object, as a directive to delete it would."""
    return ObjectOutcome(
        identity=entry.identity,
        place=entry.place,
        before=old,
        after=None,
        type_=schema.type,
        patch={"$patch": "delete"},
    )


def change_notes(changes: Iterable[Change], settings: Settings) -> list[str]:
    """Word what the normalization of unions did to an object, rule by rule."""
    return [
        f"{change.path}: {change.why} ({settings.profile} {change.rule})"
        for change in changes
    ]
