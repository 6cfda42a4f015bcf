"""What objects belong to, and do not outlive: namespaces, and the definitions of custom
resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp.handler import ForbiddenError, NotFoundError
from smp.server.objects.metadata import metadata_of
from smp.server.registry.api import API
from smp.server.registry.envelope import unpacked
from smp.server.registry.target import NAMESPACES, Target

PERMANENT: Final = ("default", "kube-system", "kube-public")


class MissingContainerError(NotFoundError):
    """A container that is not there, where an object should be created; ``target`` is
    the container.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(f"{target.resource.qualified} {target.name} is not there")
        self.target = target


async def require_containers(api: API, target: Target) -> None:
    """Refuse to create an object in what is not there, or about to go.

    Raises MissingContainerError and ForbiddenError.
    """
    for container in containers(api, target):
        stored = await api.store.get(container.key)
        if stored is None:
            raise MissingContainerError(container)
        if "deletionTimestamp" in metadata_of(unpacked(stored, container.resource)):
            where = f"{container.resource.singular} {container.name}"
            raise ForbiddenError(
                f"unable to create new content in {where} because it is being terminated"
            )


def containers(api: API, target: Target) -> Iterator[Target]:
    """Yield what an object belongs to."""
    if target.namespace:
        yield Target(
            api.kinds.resources.find("", "v1", "namespaces"), name=target.namespace
        )
    if target.resource.custom:
        yield api.kinds.crds.named(target.resource.qualified)


def contents(api: API, container: Target) -> Iterator[Target]:
    """Yield the collections of what belongs to a container, each in one version."""
    resources = {one.key: one for one in api.kinds.resources}.values()
    if container.resource.key == NAMESPACES:
        yield from (
            Target(one, namespace=container.name) for one in resources if one.namespaced
        )
    else:
        yield from (
            Target(one)
            for one in resources
            if one.custom and one.qualified == container.name
        )
