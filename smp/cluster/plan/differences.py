"""What an apply of several objects would change, and what has drifted from the last.

Neither writes anything. A diff asks the server in a dry run, and lists what would be
pruned; a drift is computed offline from live objects and what was applied to them.
"""

from __future__ import annotations

from itertools import chain

from smp._values.last_applied import last_applied_configuration
from smp._values.values import JSONObject
from smp.cluster.plan.apply import Session
from smp.cluster.plan.applysets import current_scope, places
from smp.cluster.plan.client_side import ApplyTarget, compute
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import Plan, together
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.listing import listed
from smp.cluster.plan.objects import Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.pruning import list_left_over, prune_places
from smp.cluster.plan.reading import Difference, difference, uid_of
from smp.errors import SmpError


def differences(
    session: Session, items: list[Item], options: ApplyOptions
) -> Plan[list[Difference]]:
    """Return what an apply would change in each object, then what it would prune.

    What goes wrong with one object is in its Difference. Raises ObjectError for options
    that exclude each other and for pruning without objects, and what concerns the
    ApplySet as a whole.
    """
    items, owner = yield from session.begin(items, options)
    # Where there may be something to prune: what the ApplySet names, or an allowlist.
    where: list[tuple[DiscoveredResource, str]] = []
    selector = options.prune or ""
    if owner is not None:
        scope = yield from current_scope(owner)
        where = yield from places(session.discovery, scope)
        selector = owner.selector
    # Schemas are looked up by the first object of each kind, so this is in turn.
    found = []
    targets = []
    for item in items:
        try:
            target = yield from session.target(item)
            targets.append(target)
            found.append((yield from difference(target, options)))
        except SmpError as error:
            found.append(Difference(item=item, error=error))
    if options.prune:
        where = yield from prune_places(session.discovery, targets, options)
    # An apply keeps what might be pruned where an object has an error.
    if not options.prunes or any(each.error is not None for each in found):
        return found
    # Go: pruner.prune of k8s.io/kubectl/pkg/cmd/diff, by the uids of live objects.
    visited = frozenset(uid_of(each.live) for each in found)
    for resource, namespace in where:
        left = yield from list_left_over(
            resource, namespace, selector, visited, only_applied=bool(options.prune)
        )
        for obj in left:
            item = Item(obj)
            found.append(Difference(item=item, namespace=item.namespace, live=obj))
    return found


def drifts(session: Session, items: list[Item]) -> Plan[list[Difference]]:
    """Return what an apply of each object would change, computed without the server.

    Only reads are sent. What goes wrong with one object is in its Difference.
    """
    found = []
    for item in items:
        try:
            target = yield from session.target(item)
            live = yield from target.read()
            found.append(_drift(target, live))
        except SmpError as error:
            found.append(Difference(item=item, error=error))
    return found


def drifts_of_applied(
    session: Session, namespace: str, selector: str
) -> Plan[list[Difference]]:
    """Return how the live objects differ from what was applied to them.

    These are all that have a last-applied configuration, of all namespaces where
    ``namespace`` is empty. A resource that may not be listed is left out. Raises what
    ``send`` raises for discovery.
    """
    # Subresources are not among them, and what cannot be listed is left out.
    resources = [
        resource
        for resource in (yield from session.discovery.all())
        if "list" in resource.verbs and (resource.namespaced or not namespace)
    ]
    answers = yield from together(
        [_list_objects(resource, namespace, selector) for resource in resources]
    )
    found: dict[str, Difference] = {}
    for live in chain.from_iterable(answers):
        item = Item(live)
        # One object may be served by several groups: it is taken once.
        if uid_of(live) in found:
            continue
        try:
            configuration = last_applied_configuration(live)
            if configuration is None:
                continue
            item = Item(configuration)
            target = yield from session.target(item)
            drift = _drift(target, live)
        except SmpError as error:
            drift = Difference(item=item, live=live, error=error)
        found[uid_of(live)] = drift
    return list(found.values())


def _drift(target: ApplyTarget, live: JSONObject | None) -> Difference:
    """Compute what an apply would change. Raises what three_way_apply raises."""
    item, namespace = target.item, target.namespace
    # It was deleted since, or never applied.
    if live is None:
        return Difference(item=item, namespace=namespace, merged=item.object)
    # What a server only decodes, as the stringData of a Secret, is no drift.
    found = compute(target, live, ApplyOptions(), defaults=True)
    return Difference(
        item=item,
        namespace=namespace,
        live=live,
        merged=found.result.object if found.patch else live,
        patch=found.patch or None,
        media_type=found.media_type,
        schema=target.kind_schema.schema,
        hazards=found.result.hazards,
    )


def _list_objects(
    resource: DiscoveredResource, namespace: str, selector: str
) -> Plan[list[JSONObject]]:
    try:
        return (yield from listed(resource, namespace, selector))
    except ApiError as error:
        # This user may not list them, or no one can.
        if error.status in (403, 404, 405):
            return []
        raise
