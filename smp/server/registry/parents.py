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


class ParentNotFoundError(NotFoundError):
    """A parent that is not there, where an object should be created; ``target`` is
    the parent.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(f"{target.resource.qualified} {target.name} is not there")
        self.target = target


async def require_parents(api: API, target: Target) -> None:
    """Refuse to create an object in what is not there, or about to go.

    Raises ParentNotFoundError and ForbiddenError.
    """
    for parent in parents(api, target):
        stored = await api.store.get(parent.key)
        if stored is None:
            raise ParentNotFoundError(parent)
        if "deletionTimestamp" in metadata_of(unpacked(stored, parent.resource)):
            where = f"{parent.resource.singular} {parent.name}"
            raise ForbiddenError(
                f"unable to create new content in {where} because it is being terminated"
            )


def parents(api: API, target: Target) -> Iterator[Target]:
    """Yield what an object belongs to."""
    if target.namespace:
        yield Target(
            api.kinds.resources.find("", "v1", "namespaces"), name=target.namespace
        )
    if target.resource.custom:
        yield api.kinds.crds.named(target.resource.qualified)


def contents(api: API, parent: Target) -> Iterator[Target]:
    """Yield the collections of what belongs to a parent, each in one version."""
    resources = {one.key: one for one in api.kinds.resources}.values()
    if parent.resource.key == NAMESPACES:
        yield from (
            Target(one, namespace=parent.name) for one in resources if one.namespaced
        )
    else:
        yield from (
            Target(one)
            for one in resources
            if one.custom and one.qualified == parent.name
        )
