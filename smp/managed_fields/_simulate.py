"""What a sequence of writes by several managers leads to, before any of them is sent.

Every step starts from the object that the step before left. A step that a server would
refuse changes nothing, and the sequence goes on, as it does in a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from smp import _strategic as strategic
from smp import json_patch, merge_patch
from smp._storage.typed_storage import form_in, is_typed, rewriting_paths
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
from smp._values.api_objects import (
    annotations_of,
    drop_managed_fields,
    keep_names,
    metadata_of,
    set_metadata,
)
from smp._values.last_applied import (
    LAST_APPLIED,
    last_applied_configuration,
    with_last_applied,
)
from smp._values.plain import as_plain_object, over_json, plain, require_object_or_none
from smp._values.sharing import share_object
from smp._values.values import ABSENT, Absent, JSONObject, as_object, as_text, type_name
from smp.errors import ApplyWarning, ObjectError, SmpError
from smp.managed_fields._compare import compare
from smp.managed_fields._conflicts import ApplyConflictError
from smp.managed_fields._elements import field_element, step_of
from smp.managed_fields._entries import APPLY, UPDATE, Owner, Writer
from smp.managed_fields._field_set import EMPTY, FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._items import extracted
from smp.managed_fields._migrate import migrate, release, upgrade
from smp.managed_fields._owners import owners, owners_of_fields
from smp.managed_fields._ownership import NEVER_OWNED
from smp.managed_fields._reset_fields import (
    add_reset,
    add_system_metadata,
    reset_fields,
)
from smp.managed_fields._scale import SCALE, set_replicas
from smp.managed_fields._server_side import server_side_apply
from smp.managed_fields._shapes import MAP, Shape, root_shape
from smp.managed_fields._track import track, with_former_times
from smp.managed_fields._versions import SERVING, Serving, convert_to_version
from smp.paths import Path, value_at
from smp.schema.model import ObjectType, Schema
from smp.unions import profile_named
from smp.violations import quote_json


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


Verb: TypeAlias = Literal[
    "apply",
    "client-side apply",
    "kubectl apply",
    "update",
    "strategic merge patch",
    "merge patch",
    "JSON patch",
    "scale",
    "release",
    "migrate",
]

_VERBS: Final[tuple[str, ...]] = get_args(Verb)
_ANNOTATION = FieldSet.of(Path(("metadata", "annotations", LAST_APPLIED)))
# Go: k8s.io/kubectl, pkg/cmd/apply.
_ANNOTATION_MANAGER = "kubectl-last-applied"
_ALWAYS_STORED = ("creationTimestamp", "generation", "resourceVersion", "uid")


class Step(msgspec.Struct, frozen=True):
    """A write by a manager.

    ``verb`` says what ``body`` is: of ``apply`` and both applies of kubectl a
    configuration, of ``update`` the new object, of the three patches a patch, of
    ``scale`` the number of replicas, of ``release`` nothing, of ``migrate`` the
    apiVersion that all entries are to be of. ``kubectl apply`` is what ``kubectl apply
    --server-side`` sends, with the requests that change an object from client-side
    apply to server-side apply. ``api_version`` is the version that is written to, where
    it is not that of the schema.
    """

    manager: str
    body: Any = None
    verb: Verb = "apply"
    force: bool = False
    subresource: str = ""
    api_version: str = ""


class State(msgspec.Struct, frozen=True):
    """The object after a step, and how the step ended.

    ``error`` is what a server would refuse it with: the object is as it was then.
    """

    step: Step
    object: dict[str, Any] | None
    changed: bool = False
    warnings: tuple[ApplyWarning, ...] = ()
    error: SmpError | None = None


class Fight(msgspec.Struct, frozen=True):
    """Two managers who have a conflict with each other again and again.

    Their configurations can never both hold, so that each apply of one undoes that of
    the other, if they are forced; or they apply an equal value that a server stores
    otherwise, so that each apply takes it over. ``path`` is the one of the first
    manager, ``other_path`` that of the second: the same field, or another member of the
    same union. ``remedy`` says what each of them could leave out.
    """

    manager: str
    other: str
    path: Path
    other_path: Path
    reason: str
    remedy: str


class Orphan(msgspec.Struct, frozen=True):
    """A field that no applier will ever remove: updates own it, and no apply."""

    path: Path
    owners: tuple[Owner, ...]


class Simulation(msgspec.Struct, frozen=True):
    """The states of an object in a sequence of writes, and what is left in the end."""

    states: tuple[State, ...]
    object: dict[str, Any] | None
    fights: tuple[Fight, ...]
    orphans: tuple[Orphan, ...]


@over_json("the object", "live")
def simulate(
    live: Mapping[str, Any] | None,
    steps: Iterable[Step],
    schema: Schema,
    *,
    profile: str = "kep1027",
    serving: Serving = SERVING,
    now: datetime | None = None,
) -> Simulation:
    """Run a sequence of writes on an object, each from what the one before left.

    ``live`` is the stored object with its managedFields, or None. ``serving`` says how
    the kind is served, ``now`` is the time of the first step; each takes a second. No
    step raises: what a server would refuse it with is in the state after it. Raises
    UnionError for an unknown profile, and ObjectError for an unknown verb (code
    unknown-verb) and where the last object has broken managedFields (code
    invalid-managed-fields), and UnknownFieldError where it has fields that the schema
    does not know.
    """
    profile_named(profile)
    live = require_object_or_none("live", live)
    moment = datetime.now(UTC) if now is None else now
    run = _Run(schema, profile, serving)
    current = live
    states: list[State] = []
    applied: dict[str, JSONObject] = {}
    for step in steps:
        if step.verb not in _VERBS:
            verbs = ", ".join(_VERBS)
            raise ObjectError(
                f"the verb of a step is one of {verbs}, not {step.verb!r}",
                code="unknown-verb",
            )
        try:
            state = run.state_after(current, step, moment)
        except SmpError as error:
            state = State(step, current, error=error)
        states.append(state)
        current = state.object
        _note_configuration(applied, state)
        try:
            moment += timedelta(seconds=1)
        except OverflowError:
            raise ObjectError(
                f"no step can follow {moment}", code="invalid-time"
            ) from None
    return Simulation(
        tuple(states),
        current,
        tuple(_fights(applied, schema, serving)),
        _orphans(current or {}, schema),
    )


def _note_configuration(applied: dict[str, JSONObject], state: State) -> None:
    """Note what the manager of a step applies from then on."""
    step = state.step
    # A conflict can be forced.
    is_refused = state.error and not isinstance(state.error, ApplyConflictError)
    if step.verb in ("apply", "kubectl apply") and not is_refused:
        # Of what is no JSON nothing is said.
        with suppress(SmpError):
            applied[step.manager] = as_object(plain(step.body))
    elif step.verb == "release":
        applied.pop(step.manager, None)


class _Run(msgspec.Struct, frozen=True):
    """What each step of a sequence is run with."""

    schema: Schema
    profile: str
    serving: Serving

    def state_after(
        self, current: JSONObject | None, step: Step, now: datetime
    ) -> State:
        """Return the state after a step. Raises SmpError where a server refuses it."""
        if step.api_version in ("", self.schema.api_version):
            return self._state_after(current, step, now)
        schema = form_in(self.schema, step.api_version)
        if schema is None:
            schema = self.serving.schema_of(step.api_version, self.schema)
        if schema is None or schema is self.schema:
            problem = f"no schema of {step.api_version} is known"
            raise ObjectError(problem, code="version-not-served")
        other = _Run(schema, self.profile, self.serving.seen_from(self.schema))
        before = current and convert_to_version(current, schema)
        state = other._state_after(before, step, now)
        after = current
        if state.object is not None and state.object is not before:
            after = convert_to_version(state.object, self.schema)
        return replace(state, object=after)

    def _state_after(
        self, current: JSONObject | None, step: Step, now: datetime
    ) -> State:
        if step.verb == "migrate":
            found = migrate(
                _prepare_existing(current), step.body, self.schema, serving=self.serving
            )
            return State(step, found, found is not current)
        if step.verb == "kubectl apply":
            return self._kubectl_apply(current, step, now)
        if step.verb == "apply":
            return self._apply(current, step, now)
        if step.verb == "release":
            found = release(
                _prepare_existing(current),
                self.schema,
                step.manager,
                serving=self.serving,
                now=now,
            )
            return State(step, found, found is not current)
        subresource = SCALE if step.verb == "scale" else step.subresource
        writer = Writer(step.manager, UPDATE, subresource, self.serving, now)
        new = self._write(current, step)
        update = update_object(current, new, self.schema, writer, profile=self.profile)
        return State(step, update.object, update.object is not current, update.warnings)

    def _apply(self, current: JSONObject | None, step: Step, now: datetime) -> State:
        result = server_side_apply(
            current,
            as_plain_object("the body", step.body),
            self.schema,
            manager=step.manager,
            force=step.force,
            subresource=step.subresource,
            profile=self.profile,
            serving=self.serving,
            now=now,
        )
        for violation in result.violations:
            if violation.code == "wrong-type":
                # What the apply has emptied.
                problem = str(violation)
                raise ObjectError(problem, code="wrong-type", path=violation.path)
        return State(step, result.object, result.changed, result.warnings)

    def _write(self, current: JSONObject | None, step: Step) -> JSONObject:
        """Return what an update or a patch makes of the object."""
        if step.verb == "update":
            return as_plain_object("the body", step.body)
        if step.verb == "client-side apply":
            modified = with_last_applied(as_plain_object("the body", step.body))
            if current is None:
                return modified
            patch = strategic.three_way_patch(
                last_applied_configuration(current), modified, current, self.schema
            )
            return strategic.apply_patch(current, patch, self.schema)
        old = _prepare_existing(current)
        if step.verb == "scale":
            if type(step.body) is not int:
                raise ObjectError(
                    f"replicas are an integer, not {type_name(step.body)}",
                    code="invalid-replicas",
                )
            return set_replicas(old, step.body)
        if step.verb == "merge patch":
            return as_plain_object("the new object", merge_patch.apply(old, step.body))
        if step.verb == "JSON patch":
            # A stored object has all of these: an operation may remove them, which
            # changes nothing.
            lacking = [name for name in _ALWAYS_STORED if name not in metadata_of(old)]
            document = set_metadata(old, **dict.fromkeys(lacking))
            patched = as_plain_object(
                "the new object", json_patch.apply_as_server(document, step.body)
            )
            left = metadata_of(patched)
            removed = [name for name in _ALWAYS_STORED if left.get(name) is None]
            return set_metadata(patched, **dict.fromkeys(removed, ABSENT))
        patch = as_plain_object("the body", step.body)
        # A server writes what is patched into the type that is stored.
        kept: JSONObject = {
            name: old[name] for name in ("apiVersion", "kind") if name in old
        }
        return {**strategic.apply_patch(old, patch, self.schema), **kept}

    def _kubectl_apply(
        self, current: JSONObject | None, step: Step, now: datetime
    ) -> State:
        """Run the requests of ``kubectl apply --server-side``.

        Go: k8s.io/kubectl, pkg/cmd/apply, applyOneObject,
        saveLastApplyAnnotationIfNecessary and migrateToSSAIfNecessary.
        """
        first = self._apply(current, step, now)
        found = _prepare_existing(first.object)
        if LAST_APPLIED not in annotations_of(found):
            return first
        if step.manager == "kubectl" and not owners_of_fields(
            found, _ANNOTATION, operation=APPLY
        ):
            # The annotation would go with the fields of client-side apply.
            kept = extracted(found, self.schema, _ANNOTATION)
            annotation = metadata_of(as_object(kept))
            body = set_metadata(keep_names(found), **annotation)
            saving = Step(_ANNOTATION_MANAGER, body)
            found = _prepare_existing(self._apply(found, saving, now).object)
        managers = owners_of_fields(found, _ANNOTATION, operation=UPDATE)
        upgraded = upgrade(
            found,
            from_managers=[owner.manager for owner in managers],
            to_manager=step.manager,
        )
        if upgraded is found:
            return State(step, found, found is not current, first.warnings)
        last = self._apply(upgraded, step, now)
        return State(step, last.object, changed=True, warnings=first.warnings)


def _prepare_existing(obj: JSONObject | None) -> JSONObject:
    if obj is None:
        raise ObjectError("the object is not found", code="not-found")
    return obj


class _Applied:
    """The last configuration of an applier, and what its manager owns by it.

    ``restless`` are the fields that a server stores otherwise than they are applied:
    each apply changes them (Go: zero values that are not printed, quantities, defaults
    within what is atomic).
    """

    __slots__ = ("at_rest", "configuration", "fields", "restless")

    def __init__(
        self, configuration: JSONObject, schema: Schema, serving: Serving
    ) -> None:
        self.configuration = configuration
        fields = fieldset_of(configuration, schema).difference(NEVER_OWNED)
        self.fields = fields.leaves()
        self.at_rest: JSONObject = configuration
        self.restless = EMPTY
        with suppress(SmpError):
            created = server_side_apply(
                None,
                configuration,
                schema,
                manager="manager",
                profile="off",
                serving=serving,
            )
            self.at_rest = created.object
            self.restless = compare(self.at_rest, configuration, schema).changed


def _fights(
    applied: dict[str, JSONObject], schema: Schema, serving: Serving
) -> Iterable[Fight]:
    """Yield the fights between the last configurations of the appliers."""
    appliers: dict[str, _Applied] = {}
    for manager, configuration in applied.items():
        # One that was refused fights with no other.
        with suppress(SmpError):
            appliers[manager] = _Applied(configuration, schema, serving)
    for manager, other in combinations(appliers, 2):
        ours, theirs = appliers[manager], appliers[other]
        both = ours.fields.intersection(theirs.fields)
        comparison = compare(ours.configuration, theirs.configuration, schema)
        different = both.intersection(comparison.modified)
        either = f'in the configuration of "{manager}" or of "{other}"'
        for path in different.paths():
            reason = "both apply this field, with different values"
            remedy = f"leave out {path} {either}"
            yield Fight(manager, other, path, path, reason, remedy)
        restless = ours.restless.intersection(theirs.restless)
        for path in both.difference(different).intersection(restless).paths():
            reason = "both apply this field, and a server stores it otherwise"
            remedy = f"leave out {path} {either}"
            at_rest = value_at(ours.at_rest, path)
            if not isinstance(at_rest, Absent):
                remedy += f", or apply {quote_json(at_rest)} in both"
            yield Fight(manager, other, path, path, reason, remedy)
        shape = root_shape(schema, ours.configuration)
        members = _other_members(ours.fields, theirs.fields, shape, Path())
        for first, second in members:
            reason = "they apply different members of one union"
            remedy = (
                f'leave out {first} in the configuration of "{manager}", or {second} '
                f'in that of "{other}"'
            )
            yield Fight(manager, other, first, second, reason, remedy)


def _other_members(
    ours: FieldSet, theirs: FieldSet, shape: Shape, path: Path
) -> Iterable[tuple[Path, Path]]:
    """Yield members of one union of which one set has the first, the other the second.

    The sets are those below a value of that shape.
    """
    type_ = shape.type
    if shape.form == MAP and isinstance(type_, ObjectType):
        for union in type_.unions:
            mine = [name for name in union.names if _has_field(ours, name)]
            others = [name for name in union.names if _has_field(theirs, name)]
            if not union.at_least_one and mine and others and not {*mine} & {*others}:
                yield path / mine[0], path / others[0]
    for element, below in ours.children.items():
        if element in theirs.children:
            inner = shape.of_path_element(element)
            if inner is not None:
                step = path / step_of(element)
                yield from _other_members(below, theirs.children[element], inner, step)


def _has_field(fields: FieldSet, name: str) -> bool:
    element = field_element(name)
    return element in fields.members or element in fields.children


def _orphans(obj: JSONObject, schema: Schema) -> tuple[Orphan, ...]:
    """Return the fields that updates through the main resource own, and no apply."""
    found = owners(obj)
    updated = EMPTY
    for owner in found:
        if owner.operation == UPDATE and not owner.subresource:
            updated = updated.union(owner.fields)
    for owner in found:
        if owner.operation == APPLY:
            updated = updated.difference(owner.fields)
    orphaned = updated.leaves()
    try:
        present = fieldset_of(drop_managed_fields(obj), schema)
        orphaned = orphaned.intersection(present)
    except ObjectError:
        # An element without its keys has no path. A server stores it in a custom
        # resource, and does not track the write.
        pass
    orphans: list[Orphan] = []
    for path in orphaned.paths():
        by = tuple(owner for owner in found if owner.fields.has(path))
        orphans.append(Orphan(path, by))
    return tuple(orphans)
