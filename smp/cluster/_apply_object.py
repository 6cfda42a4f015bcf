"""Applying one object, in the shape of openshift.dynamic.apply and kubernetes.core."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Unpack

from smp._values.values import JSONObject
from smp.cluster._cluster import ApplyKeywords, Cluster
from smp.documents.objects import objects_of
from smp.errors import ObjectError


def apply_object(
    resource_or_client: Any,
    definition: Mapping[str, Any] | object,
    *,
    namespace: str = "default",
    **options: Unpack[ApplyKeywords],
) -> Any:
    """Apply one object as kubectl does, and return it as the server has it then.

    It takes the place of ``openshift.dynamic.apply.apply(resource, definition)``. With
    a resource of kubernetes.dynamic, ``client.resources.get(...)``, it returns a
    ResourceInstance, and a definition needs neither apiVersion nor kind. With a client
    of Cluster, or a Cluster, it returns a dict. ``namespace`` is that of a definition
    without one; a Cluster has its own. The options are those of Cluster.apply.

    Raises the error of the object (ApiError and other SmpErrors), ObjectError for none
    and for several definitions, and TypeError for other clients.
    """
    client, kind = resource_or_client, {}
    # A resource of kubernetes.dynamic knows its client, and what its objects are.
    is_resource = hasattr(client, "group_version") and hasattr(client, "client")
    if is_resource:
        client = resource_or_client.client
        kind = {
            "apiVersion": resource_or_client.group_version,
            "kind": resource_or_client.kind,
        }
    # What a dynamic client returns is an object as well: ResourceInstance.to_dict.
    if not isinstance(definition, Mapping) and hasattr(definition, "attributes"):
        definition = definition.to_dict()  # type: ignore[attr-defined]  # see above
    if isinstance(definition, Mapping):
        definition = {**kind, **definition}
    found = list(objects_of(definition))  # type: ignore[arg-type]  # it checks that itself
    if len(found) != 1:
        raise ObjectError(
            f"apply_object takes one object, and not {len(found)}",
            code="not-an-object",
            hint="Cluster.apply takes any number of objects",
        )
    [given] = found
    cluster = client
    if not isinstance(cluster, Cluster):
        cluster = Cluster(client, namespace=namespace)
    (result, *_pruned) = cluster.apply(given.object, **options).results
    if result.error is not None:
        raise result.error
    obj: JSONObject | None = result.object
    if not is_resource:
        return obj
    # The class is that of the package of the resource.
    package = import_module("kubernetes.dynamic.resource")
    return package.ResourceInstance(client, obj)
