"""The outcomes of applying, creating and removing an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from smp._storage.typed_storage import find_decoding_problem
from smp._storage.update import (
    Decoded,
    UpdateRequest,
    as_stored,
    decode_object,
    drop_status,
    normalize_before_defaults,
    normalize_update,
    predict_refusals,
    wrong_text,
)
from smp._values.findings import Finding
from smp._values.sharing import share_object
from smp._values.values import JSONObject, as_object, as_text, drop_nulls, same
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import Entry
from smp.cli._options import CommandSettings
from smp.cli._secrets import Masks
from smp.comparison import is_stored
from smp.errors import ApplyWarning, DocumentError
from smp.hazards import Hazard, HazardError, Policy, is_serious
from smp.paths import Path, sort_by_path
from smp.schema.model import Schema
from smp.three_way import ApplyResult, find_hazards, three_way_apply
from smp.unions import Change
from smp.violations import Misfit, Violation, refusal_of

if TYPE_CHECKING:
    from smp.explain import Cause

# The codes of notices that say of a path what its cause says too.
UNMET: Final = "unmet"
UNKNOWN_FIELD: Final = "unknown-field"
_UNMET: Final = "the result is not what the manifest asks for"

# Returns an object with the defaults that a server fills in.
Defaulting: TypeAlias = Callable[[JSONObject], JSONObject]


class Versions(msgspec.Struct, frozen=True):
    """The versions of one object that a three-way apply merges.

    Of two states that are compared, the first one is in the place of what was applied.
    """

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


class ObjectOperation(msgspec.Struct, frozen=True):
    """What all operations on an object go by, beside its versions.

    ``masks`` cover what is confidential in the versions, and ``with_defaults`` fills in
    what a server does before it normalizes unions.
    """

    entry: Entry
    schema: Schema
    settings: CommandSettings
    masks: Masks
    with_defaults: Defaulting

    @property
    def lenient(self) -> Schema:
        """The schema, which takes unknown fields as the settings say."""
        return self.schema.with_unknown_fields(self.settings.unknown_fields)

    def create(self, new: JSONObject) -> ObjectOutcome:
        """Create an object: a server stores all of it but its nulls, and checks it.

        Raises what normalize_unions raises.
        """
        lenient, settings = self.lenient, self.settings
        asked = UpdateRequest(
            profile=settings.profile, configuration=new, on_conflict="clear"
        )
        whole = as_object(drop_nulls(new))
        chosen = normalize_before_defaults(None, whole, lenient, asked)
        created = normalize_update(
            None,
            self.with_defaults(chosen.object),
            lenient,
            msgspec.structs.replace(asked, whole=True, defaulted=True),
        )
        kept = drop_status(created.object, new, lenient)
        after, found, _ = self._receive(kept, None, created.violations)
        if kept is not created.object:
            found.append(ApplyWarning(UNMET, Path(("status",)), _UNMET))
        return ObjectOutcome(
            identity=self.entry.identity,
            place=self.entry.place,
            before=None,
            after=after,
            type_=lenient.type,
            patch=new,
            notes=tuple(change_notes((*chosen.changes, *created.changes), settings)),
            warned=sort_by_path((*chosen.warnings, *created.warnings, *found)),
            configuration=new,
        )

    def apply(
        self,
        versions: Versions,
        *,
        overwrite: bool = True,
        notes: Iterable[str] = (),
        shows: Callable[[Path, str], bool] | None = None,
    ) -> ObjectOutcome:
        """Apply a manifest to a live object, which there is.

        ``shows`` tells which causes are wanted. Raises what three_way_apply raises.
        """
        result = self._merge(versions, overwrite=overwrite)
        hazards = result.hazards
        if self.schema.kind == "Secret":
            hazards = self._hazards_of_secret(versions)
        # None of these is an error: kubectl would send the patch, and a server may
        # differ in version or configuration from the bundled schema.
        stored = self._fill_in(result.object, versions.live)
        after, found, dropped = self._receive(stored, versions.live, result.violations)
        unmet = [ApplyWarning(UNMET, path, _UNMET) for path in result.unmet]
        return ObjectOutcome(
            identity=self.entry.identity,
            place=self.entry.place,
            before=versions.live,
            after=after,
            type_=self.lenient.type,
            patch=result.patch,
            media_type=result.media_type,
            reason=result.reason,
            kubectl_patch=result.kubectl_patch,
            notes=(*notes, *change_notes(result.changes, self.settings)),
            warned=sort_by_path((*result.warnings, *found, *unmet)),
            causes=tuple(
                cause
                for cause in self._causes(versions, shows, overwrite=overwrite)
                if not _is_below(cause.path, dropped)
            ),
            hazards=hazards,
            last_applied=versions.last_applied,
            configuration=versions.modified,
        )

    def _merge(self, versions: Versions, *, overwrite: bool) -> ApplyResult:
        policy: Policy = self.settings.hazards
        # The annotation of a Secret is masked as a whole, so hazards are looked for in
        # the values; their sentences show none.
        if self.schema.kind == "Secret" and policy != "repair":
            policy = "ignore"
        return three_way_apply(
            versions.last_applied,
            versions.modified,
            as_object(versions.live),
            self.schema,
            profile=self.settings.profile,
            overwrite=overwrite,
            unknown_fields=self.settings.unknown_fields,
            hazards=policy,
        )

    def _fill_in(self, obj: JSONObject, live: JSONObject | None) -> JSONObject:
        """Fill in defaults; a server does so before it normalizes."""
        stored = self.with_defaults(obj)
        if same(stored, obj):
            return stored
        return normalize_update(
            live,
            stored,
            self.lenient,
            UpdateRequest(profile=self.settings.profile, defaulted=True),
        ).object

    def _hazards_of_secret(self, versions: Versions) -> tuple[Hazard, ...]:
        last_applied, modified, live = (
            self.masks.unmask(version)
            for version in (versions.last_applied, versions.modified, versions.live)
        )
        hazards = find_hazards(
            as_object(last_applied) if last_applied else None,
            as_object(modified),
            as_object(live),
            self.lenient,
        )
        if self.settings.hazards == "error" and is_serious(hazards):
            raise HazardError(hazards)
        return hazards

    def _causes(
        self,
        versions: Versions,
        shows: Callable[[Path, str], bool] | None,
        *,
        overwrite: bool,
    ) -> tuple[Cause, ...]:
        """Return why each field changes or does not, where the output has that."""
        if not self.settings.explains:
            return ()
        from smp.explain import explain_apply  # noqa: PLC0415  # 70 ms; few runs ask

        return explain_apply(
            versions.last_applied,
            versions.modified,
            as_object(versions.live),
            self.schema,
            profile=self.settings.profile,
            overwrite=overwrite,
            unknown_fields=self.settings.unknown_fields,
            defaults=self.settings.defaults,
            hazards="repair" if self.settings.hazards == "repair" else "warn",
            shows=shows,
        )

    def _receive(
        self, new: JSONObject, old: JSONObject | None, violations: tuple[Violation, ...]
    ) -> tuple[JSONObject, list[Finding], tuple[Path, ...]]:
        """Return an object as a server decodes it, what it says, and what it drops.

        ``violations`` are known already. Raises DocumentError where validation is
        strict. KEP-2885, server-side field validation.
        """
        schema, settings = self.schema, self.settings
        found, wrong = self._decode(new, old)
        obj = found.object
        # A server validates nothing of an object that it cannot decode.
        if not wrong:
            violations = predict_refusals(
                old, obj, schema, profile=settings.profile, found=violations
            )
        if settings.defaults:
            obj = as_stored(obj, old, schema, profile=settings.profile)
        told = _findings_of_decoding(found, wrong, settings)
        dropped = () if settings.keeps_unknown else found.unknown_fields
        return obj, [*told, *map(refusal_of, violations)], dropped

    def _decode(
        self, new: JSONObject, old: JSONObject | None
    ) -> tuple[Decoded, list[Violation]]:
        """Decode an object, by the types of the values that the masks cover."""
        # Nulls are left to typed storage, which knows their zero values.
        decode = partial(decode_object, schema=self.schema, typed=False, custom=True)
        found = decode(new, old, prunes=not self.settings.keeps_unknown)
        wrong: list[Violation] = [*found.misfits]
        covered, covered_before = found.object, old
        if self.schema.kind == "Secret":
            uncovered = as_object(self.masks.unmask(new))
            covered_before = None if old is None else as_object(self.masks.unmask(old))
            if covered_before is not None:
                uncovered = share_object(uncovered, covered_before)
            unmasked = decode(uncovered, covered_before)
            covered = unmasked.object
            # A number is quoted by a server; here that would show a secret.
            wrong = [
                Misfit.of(misfit.path, misfit.actual.split()[0], misfit.expected)
                for misfit in unmasked.misfits
            ]
        is_custom = self.schema.is_custom
        if not wrong and not is_custom and not _is_masked_by_kubectl(covered):
            # Go: Quantity.UnmarshalJSON, Time.UnmarshalJSON, []byte.
            problem = find_decoding_problem(covered, self.schema, covered_before)
            wrong += [wrong_text(problem)] if problem else []
        return found, wrong


def _is_masked_by_kubectl(obj: JSONObject) -> bool:
    # Go: k8s.io/kubectl, pkg/cmd/diff, Masker.
    data = as_object(obj.get("data"))
    return any(as_text(value).startswith("***") for value in data.values())


def _is_below(path: Path, above: tuple[Path, ...]) -> bool:
    """Tell whether a path is one of some others, or goes on from one."""
    steps = path.by_index.steps
    return any(steps[: len(each.steps)] == each.steps for each in above)


def _findings_of_decoding(
    found: Decoded, wrong: list[Violation], settings: CommandSettings
) -> list[Finding]:
    """Say which fields a server drops, or cannot decode (KEP-2885)."""
    if settings.validate == "ignore":
        return []
    # A server that knows more fields is not known here.
    paths = () if settings.keeps_unknown else found.unknown_fields
    unknown = [f'unknown field "{path}"' for path in paths]
    texts = unknown + [each.message for each in wrong if isinstance(each, Misfit)]
    if settings.validate == "strict" and texts:
        raise DocumentError(
            f"strict decoding error: {', '.join(texts)}", code="strict-decoding"
        )
    dropped = [
        ApplyWarning(UNKNOWN_FIELD, path, f"{problem} (a server drops it)")
        for problem, path in zip(unknown, paths, strict=True)
    ]
    return [*dropped, *map(refusal_of, wrong)]


def findings_of_update(
    old: JSONObject, new: JSONObject, schema: Schema, settings: CommandSettings
) -> list[Finding]:
    """Return what a server would say of an update from one state to another.

    States that a server has are none that somebody asks for. The objects may have
    masks, which are not the base64 of a Secret.
    """
    if is_stored(new):
        return []
    shared = share_object(new, old)
    is_typed = not schema.is_custom and schema.kind != "Secret"
    decoded = decode_object(shared, old, schema, typed=is_typed, custom=True)
    wrong = [*decoded.violations]
    told = _findings_of_decoding(decoded, wrong, settings)
    if wrong:
        return [*sort_by_path(told)]
    # Nobody has looked at the unions and enums of the two.
    found = predict_refusals(old, decoded.object, schema, profile="off")
    return [*sort_by_path((*told, *map(refusal_of, found)))]


def change_notes(changes: Iterable[Change], settings: CommandSettings) -> list[str]:
    """Word what the normalization of unions did to an object, rule by rule."""
    return [
        f"{change.path}: {change.why} ({settings.profile} {change.rule})"
        for change in changes
    ]
