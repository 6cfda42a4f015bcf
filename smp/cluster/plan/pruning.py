"""Pruning by a label selector: deleting what a former apply made and this one has not.

Go: k8s.io/kubectl/pkg/cmd/apply/prune.go and pkg/util/prune.
"""

from __future__ import annotations

from typing import Final

from smp._values.api_objects import annotations_of, metadata_of
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSONObject
from smp.cluster.plan.client_side import ApplyTarget, delete_request
from smp.cluster.plan.discovery import DiscoveredResource, Discovery
from smp.cluster.plan.exchange import Plan
from smp.cluster.plan.listing import listed
from smp.cluster.plan.objects import Applied, Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.schemas import FREE_FORM, KindSchema
from smp.cluster.plan.sending import send
from smp.errors import SmpError

# What is pruned without an allowlist. Go: defaultNamespacedPruneResources and
# defaultNonNamespacedPruneResources.
DEFAULT_KINDS: Final = (
    ("v1", "ConfigMap"),
    ("v1", "Endpoints"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolume"),
)


def list_left_over(
    resource: DiscoveredResource,
    namespace: str,
    selector: str,
    visited: frozenset[str],
    *,
    only_applied: bool,
) -> Plan[list[JSONObject]]:
    """Return the objects with labels that were not visited, and may be pruned.

    ``visited`` are the uids of the objects that were applied. With ``only_applied`` an
    object without the last-applied annotation stays.
    """
    found = []
    for obj in (yield from listed(resource, namespace, selector)):
        # It was not made by an apply (Go: pruner.prune).
        is_ours = not only_applied or LAST_APPLIED in annotations_of(obj)
        if is_ours and metadata_of(obj).get("uid") not in visited:
            found.append(obj)
    return found


def prune(
    resources: list[tuple[DiscoveredResource, str]],
    selector: str,
    visited: frozenset[str],
    options: ApplyOptions,
    *,
    only_applied: bool = True,
) -> Plan[list[Applied]]:
    """Delete the objects of resources, each in a namespace, that were not visited.

    An object that cannot be deleted does not end it; see left_over for the rest.
    """
    pruned: list[Applied] = []
    for resource, namespace in resources:
        found = yield from list_left_over(
            resource, namespace, selector, visited, only_applied=only_applied
        )
        for obj in found:
            pruned.append((yield from _delete(resource, obj, options)))  # noqa: PERF401  # no list has a yield
    return pruned


def prune_places(
    discovery: Discovery, targets: list[ApplyTarget], options: ApplyOptions
) -> Plan[list[tuple[DiscoveredResource, str]]]:
    """Return the resources that are pruned, each with the namespaces of the objects.

    Go: pruner.pruneAll, prune.GetRESTMappings.
    """
    # Namespaces without an object of this run are left alone, as kubectl does.
    namespaces = sorted({target.namespace for target in targets if target.namespace})
    found = []
    for api_version, kind in options.prune_allowlist or DEFAULT_KINDS:
        resource = yield from discovery.resource(api_version, kind)
        within = namespaces if resource.namespaced else [""]
        found += [(resource, namespace) for namespace in within]
    return found


def _delete(
    resource: DiscoveredResource, obj: JSONObject, options: ApplyOptions
) -> Plan[Applied]:
    item = Item(obj)
    target = ApplyTarget(item, resource, KindSchema(FREE_FORM), item.namespace)
    if options.dry_run != "client":
        try:
            yield from send(delete_request(target, options))
        except SmpError as error:
            return target.became("failed", before=obj, error=error)
    return target.became("pruned", before=obj)
