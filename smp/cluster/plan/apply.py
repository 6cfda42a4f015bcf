"""Applying a set of objects: what is read first, in which order, and what is predicted.

Theory of operation. A run has three parts.

1. The kinds of the objects are looked up (discovery, schemas), and all live objects are
   read, together. With them, what each apply will lead to is predicted offline. A kind
   that is defined by a CustomResourceDefinition of the same run is looked up later.
2. Where a strict run has an object that will not converge, or that is a hazard, nothing
   is written.
3. The objects are applied one after the other, as kubectl does: each is read again
   before it is patched, so that a patch is never made for an object as it was before
   the objects ahead of it. What is unchanged needs no request.

An object that fails does not end the run. There is one ``Applied`` for each, in the
order in which they were given.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp._values.values import JSONObject, as_list, as_object
from smp.cluster.plan.applysets import (
    Parent,
    Scope,
    current_scope,
    labelled,
    places,
    scope_of,
    update,
)
from smp.cluster.plan.applysets import parent as parent_of
from smp.cluster.plan.client_side import (
    ApplyTarget,
    apply_client_side,
    no_last_applied,
    unchanged,
)
from smp.cluster.plan.discovery import Discovery
from smp.cluster.plan.exchange import Plan, Progress, pause, together
from smp.cluster.plan.failures import ApiError, NoKindMatchError
from smp.cluster.plan.given_up import require_given_up
from smp.cluster.plan.objects import Action, Applied, Item, require_identity
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.prediction import Prediction, predict
from smp.cluster.plan.pruning import prune, prune_places
from smp.cluster.plan.readiness import readiness
from smp.cluster.plan.reading import uid_of
from smp.cluster.plan.schemas import ClusterSchemas, Documents
from smp.cluster.plan.server_side import apply_server_side
from smp.cluster.plan.undoing import RollbackStep, steps_of
from smp.cluster.plan.waiting import Waited, wait
from smp.errors import ApplyWarning, ObjectError, SmpError
from smp.hazards import HazardError
from smp.violations import warn_of_unchecked_rules

# Objects that others need: they are applied before all others.
_FIRST: Final = ("Namespace", "CustomResourceDefinition")
_POLL: Final = 0.25
# Seconds. kubectl wait --for=condition=established has 30 as well.
_DEFINED_WITHIN: Final = 30


class Session:
    """What is known of a server during a run: its resources and schemas."""

    def __init__(
        self,
        documents: Documents,
        *,
        namespace: str = "default",
        enforce_namespace: bool = False,
    ) -> None:
        self.discovery: Discovery = Discovery()
        self.schemas: ClusterSchemas = ClusterSchemas(documents)
        self.namespace = namespace
        # An object of another namespace is an error then (Go: RequireNamespace).
        self.enforce_namespace = enforce_namespace

    def begin(
        self, items: list[Item], options: ApplyOptions
    ) -> Plan[tuple[list[Item], Parent | None]]:
        """Return objects as members of the ApplySet of a run, if it has one, and that.

        Raises ObjectError for options that exclude each other and for pruning without
        objects, and what ``applysets.parent`` raises.
        """
        options.require_consistent()
        options.require_objects(items)
        require_given_up(items, options)
        if not options.applyset:
            return items, None
        parent = yield from parent_of(
            self.discovery, options.applyset, self.namespace, options.tooling
        )
        return [labelled(item, parent) for item in items], parent

    def target(self, item: Item) -> Plan[ApplyTarget]:
        """Look up the kind of an object, and give it its namespace.

        Raises ObjectError, NoKindMatchError, and what ``send`` raises.
        """
        require_identity(item)
        resource = yield from self.discovery.resource(item.api_version, item.kind)
        kind_schema = yield from self.schemas.of(item.api_version, item.kind)
        if not resource.namespaced:
            # Go: resource.RetrieveLazy, which drops the namespace.
            return ApplyTarget(item.in_namespace(""), resource, kind_schema, "")
        namespace = item.namespace or self.namespace
        if self.enforce_namespace and namespace != self.namespace:
            raise ObjectError(
                f'the namespace from the provided object "{namespace}" does not match'
                f' the namespace "{self.namespace}"',
                code="other-namespace",
                hint=f'pass the namespace "{namespace}", or none',
            )
        # Go: resource.SetNamespace.
        return ApplyTarget(
            item.in_namespace(namespace), resource, kind_schema, namespace
        )


class Prepared:
    """An object of a run as far as it is known before it is applied."""

    __slots__ = ("error", "item", "live", "predicted", "target", "unchecked")

    def __init__(self, item: Item) -> None:
        self.item: Item = item
        self.target: ApplyTarget | None = None
        self.live: JSONObject | None = None
        self.predicted: Prediction = Prediction()
        self.error: SmpError | None = None
        # What of its definition cannot be checked; the first object of a kind has it.
        self.unchecked: str = ""


class Run(msgspec.Struct, frozen=True):
    """What a run did: what became of each object, in their order, then what was pruned.

    ``waited`` has the state of each object where the run waited for them. ``stopped``
    says that nothing was written. ``applyset`` is the parent of the ApplySet, and what
    it named before.
    """

    results: tuple[Applied, ...]
    waited: tuple[Waited, ...] = ()
    stopped: bool = False
    options: ApplyOptions = ApplyOptions()
    applyset: tuple[Parent, Scope] | None = None

    @property
    def errors(self) -> tuple[SmpError, ...]:
        """All errors of the objects."""
        failed = [result.error for result in self.results if result.error is not None]
        unready = [entry.error for entry in self.waited if entry.error is not None]
        return (*failed, *unready)

    def rollback_plan(self) -> tuple[RollbackStep, ...]:
        """Return what restores the objects as they were before the run.

        The steps are in their order, each with the request that it sends where the
        object has not changed since. There are none for a dry run.
        """
        if self.options.dry_run != "none" or self.stopped:
            return ()
        return steps_of(self.results, self.options)

    def raise_for_errors(self) -> None:
        """Raise RunError where an object has an error."""
        if self.errors:
            raise RunError(self)


class RunError(SmpError):
    """A run in which something went wrong; ``run`` has all that is known of it."""

    default_code = "run-failed"
    status = 409

    def __init__(self, run: Run) -> None:
        lines = [str(result) for result in run.results if result.error is not None]
        lines += [str(entry.error) for entry in run.waited if entry.error is not None]
        super().__init__("\n".join(lines))
        self.run = run


def apply(session: Session, items: list[Item], options: ApplyOptions) -> Plan[Run]:
    """Apply objects, prune, and wait.

    Raises ObjectError for options that exclude each other and for pruning without
    objects, and what concerns the ApplySet as a whole; all that concerns one object is
    in what became of it.
    """
    items, parent = yield from session.begin(items, options)
    prepared = [Prepared(item) for item in items]
    yield from _prepare_all(session, prepared, options)
    # Before the first write all that can be known is known.
    stopped = [entry for entry in prepared if _stops(entry, options)]
    if stopped:
        results = [_not_applied(entry) for entry in prepared]
        return Run(tuple(results), stopped=True, options=options)
    before = Scope()
    if parent is not None:
        # Go: ApplySet.BeforeApply. The superset covers a run that is cut.
        before = yield from current_scope(parent)
        targets = [entry.target for entry in prepared if entry.target is not None]
        yield from update(parent, before | scope_of(targets), options)
    results = yield from _apply_all(session, prepared, options)
    applyset = None if parent is None else (parent, before)
    pruned: list[Applied] = []
    # An error keeps what might be pruned (Go: ApplyOptions.Run).
    if options.prunes and all(result.error is None for result in results):
        targets = [entry.target for entry in prepared if entry.target is not None]
        visited = frozenset(uid_of(result.object) for result in results)
        pruned = yield from _prune(session, options, targets, visited, applyset)
        for result in pruned:
            yield Progress(len(prepared), len(prepared), str(result), result)
    waited = yield from _wait_for(prepared, options)
    return Run((*results, *pruned), tuple(waited), options=options, applyset=applyset)


def _apply_all(
    session: Session, prepared: list[Prepared], options: ApplyOptions
) -> Plan[list[Applied]]:
    """Apply the objects one after the other; the results are in their given order."""
    results: dict[int, Applied] = {}
    written: set[str] = set()
    defined = looked_again = False
    indexes = list(range(len(prepared)))
    if options.order == "kind":
        # Objects that others need come first; the order of the others stays.
        ranks = {kind: rank for rank, kind in enumerate(_FIRST)}
        indexes.sort(key=lambda i: ranks.get(prepared[i].item.kind, len(ranks)))
    for index in indexes:
        entry = prepared[index]
        # All definitions of the run are there now: what they define can be looked up. A
        # kind may also have been defined by others since the run began.
        is_defined = defined and entry.item.kind not in _FIRST
        is_missing = isinstance(entry.error, NoKindMatchError)
        if is_defined or (is_missing and written and not looked_again):
            yield from _look_up_missing(session, prepared, options)
            defined = False
            looked_again = True
        applied = yield from _apply_one(
            entry, options, is_current=len(prepared) == 1, written=written
        )
        if options.predicts_refusals:
            undecided = [
                ApplyWarning(each.code, each.path, each.message)
                for each in entry.predicted.undecided
            ]
            # Of what is written the server warns itself.
            unsent = entry.predicted.warnings if options.dry_run == "client" else ()
            told = (*applied.warnings, *undecided, *unsent)
            applied = msgspec.structs.replace(applied, warnings=told)
        results[index] = applied
        yield Progress(len(results), len(prepared), str(applied), applied)
        # Custom resources of the same run need it served.
        if entry.item.kind == "CustomResourceDefinition" and applied.error is None:
            yield from _wait_until_served(session, entry, options)
            defined = True
    return [results[index] for index in range(len(prepared))]


def _prepare_all(
    session: Session, prepared: list[Prepared], options: ApplyOptions
) -> Plan[None]:
    """Look up the kinds one after the other, and read the live objects together."""
    for entry in prepared:
        try:
            target = yield from session.target(entry.item)
            if options.predicts_refusals:
                kind_schema, entry.unchecked = yield from session.schemas.of_definition(
                    target.kind_schema, target.resource
                )
                target = msgspec.structs.replace(target, kind_schema=kind_schema)
            entry.target = target
        except SmpError as error:
            entry.error = error
    known = [entry for entry in prepared if entry.target is not None]
    yield from together([_prepare(entry, options) for entry in known])


def _prepare(entry: Prepared, options: ApplyOptions) -> Plan[None]:
    """Read the live object, and predict what the apply leads to."""
    if entry.target is None:
        raise AssertionError("the kind is looked up before")
    try:
        entry.live = yield from entry.target.read()
        entry.predicted = predict(entry.target, entry.live, options)
    except SmpError as error:
        entry.error = error
    if entry.unchecked:
        item = entry.item
        text = f"{item.api_version} {item.kind}: {entry.unchecked}"
        unchecked = warn_of_unchecked_rules(text)
        entry.predicted = msgspec.structs.replace(
            entry.predicted, violations=(*entry.predicted.violations, unchecked)
        )


def _look_up_missing(
    session: Session, prepared: list[Prepared], options: ApplyOptions
) -> Plan[None]:
    # A definition may have been there, and have another schema now.
    session.discovery.forget_missing()
    session.schemas.forget()
    missing = [entry for entry in prepared if isinstance(entry.error, NoKindMatchError)]
    for entry in missing:
        entry.error = None
    yield from _prepare_all(session, missing, options)


def _stops(entry: Prepared, options: ApplyOptions) -> bool:
    """Tell whether an object stops the run before anything is written."""
    if options.strict and entry.error is None:
        entry.error = entry.predicted.problem()
    # A kind that is not served yet may be defined by this run.
    if isinstance(entry.error, NoKindMatchError):
        return False
    if options.strict:
        return entry.error is not None
    return isinstance(entry.error, HazardError)


def _not_applied(entry: Prepared) -> Applied:
    action: Action = "not-applied" if entry.error is None else "failed"
    return Applied(
        item=entry.item,
        action=action,
        namespace="" if entry.target is None else entry.target.namespace,
        resource=None if entry.target is None else entry.target.resource,
        before=entry.live,
        hazards=entry.predicted.hazards,
        error=entry.error,
    )


def _wait_for(prepared: list[Prepared], options: ApplyOptions) -> Plan[list[Waited]]:
    """Wait until what was applied is ready, where that is wanted."""
    if options.wait is None or options.dry_run != "none":
        return []
    applied = [
        entry.target
        for entry in prepared
        if entry.target is not None and entry.error is None
    ]
    return (yield from wait(applied, timeout=options.wait))


def _prune(
    session: Session,
    options: ApplyOptions,
    targets: list[ApplyTarget],
    visited: frozenset[str],
    applyset: tuple[Parent, Scope] | None,
) -> Plan[list[Applied]]:
    """Delete what was applied before; ``applyset`` is its parent, and what it named."""
    if applyset is None:
        if not options.prune:
            return []
        where = yield from prune_places(session.discovery, targets, options)
        return (yield from prune(where, options.prune, visited, options))
    parent, before = applyset
    where = yield from places(session.discovery, before)
    pruned = yield from prune(
        where, parent.selector, visited, options, only_applied=False
    )
    if all(result.error is None for result in pruned):
        yield from update(parent, scope_of(targets), options)
    return pruned


def _apply_one(
    entry: Prepared, options: ApplyOptions, *, is_current: bool, written: set[str]
) -> Plan[Applied]:
    """Apply one object; what goes wrong is in what became of it.

    ``is_current`` says that nothing was sent since the live object was read;
    ``written`` are the paths of the objects that the run has applied.
    """
    if entry.error is not None or entry.target is None:
        return _not_applied(entry)
    target, live, known = entry.target, entry.live, entry.predicted.computed
    was_written = target.path in written
    written.add(target.path)
    if options.dry_run == "client" and not options.force:
        # No request is sent whose answer would say it. By force an object that is
        # refused is deleted and created again.
        entry.error = entry.predicted.refused()
        if entry.error is not None:
            return _not_applied(entry)
    try:
        if known is not None and not known.patch and not was_written:
            return unchanged(target, known)
        # One object may be in a run twice, and others write as well. A new one is not
        # looked for again: a server does not create it where it exists.
        is_new = live is None and not was_written
        if not is_current and not is_new and (was_written or not options.server_side):
            live = yield from target.read()
        if options.server_side:
            return (yield from apply_server_side(target, live, options))
        # What is as it was read has its patch already.
        if known is not None and _is_same_version(known.live, live):
            live = known.live
        try:
            applied = yield from apply_client_side(target, live, options, known)
        except ApiError as error:
            if is_current or not is_new or error.reason != "AlreadyExists":
                raise
            # Others have made it since the run began, as a controller does for a new
            # namespace.
            live = yield from target.read()
            applied = yield from apply_client_side(target, live, options)
    except SmpError as error:
        entry.error = error
        failed = _not_applied(entry)
        if options.server_side or live is None:
            return failed
        # kubectl warns of it before it sends a patch, which may be refused.
        return msgspec.structs.replace(failed, warnings=no_last_applied(live))
    # Of a new object only the prediction has them.
    if applied.action == "created":
        hazards = entry.predicted.hazards
        applied = msgspec.structs.replace(applied, hazards=hazards)
    return applied


def _is_same_version(former: JSONObject, live: JSONObject | None) -> bool:
    version = as_object(former.get("metadata")).get("resourceVersion")
    found = as_object(as_object(live).get("metadata")).get("resourceVersion")
    return found is not None and found == version


def _wait_until_served(
    session: Session, entry: Prepared, options: ApplyOptions
) -> Plan[None]:
    """Wait until the kind of a CustomResourceDefinition is served.

    Its condition Established says so, and soon after it discovery has the kind. A
    definition that is not served in time is an error of its custom resources.
    """
    if entry.target is None or options.dry_run != "none":
        return
    began = yield from pause(0)
    elapsed = began
    while elapsed - began < _DEFINED_WITHIN:
        definition = yield from entry.target.read()
        if definition is None:
            return
        established = readiness(definition).state == "current"
        if established and (yield from _is_discovered(session, entry)):
            return
        elapsed = yield from pause(_POLL)


def _is_discovered(session: Session, entry: Prepared) -> Plan[bool]:
    spec = as_object(entry.item.object.get("spec"))
    kind = as_object(spec.get("names")).get("kind")
    session.discovery.forget_missing()
    for version in map(as_object, as_list(spec.get("versions"))):
        if version.get("served") is not True:
            continue
        try:
            yield from session.discovery.resource(
                f"{spec.get('group')}/{version.get('name')}", str(kind)
            )
        except NoKindMatchError:
            return False
    return True
