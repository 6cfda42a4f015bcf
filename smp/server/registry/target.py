"""What the path of a request names: a collection, an object or a subresource; and where
the store has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from smp.server.errors import UnknownResourceError
from smp.server.objects.resources import SUBRESOURCE_VERBS, Resource, Resources

CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Final = ("", "namespaces")
_PARENTS: Final = frozenset({CRDS, NAMESPACES})

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_VERBS: Final = {
    ("GET", True): "get",
    ("GET", False): "list",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names; without a ``name`` a collection, without a ``namespace`` too
    that of all namespaces.
    """

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def prefix(self) -> str:
        """What the keys of the collection begin with: GROUP/RESOURCE/[NAMESPACE/]; the
        core group is ``core``.
        """
        collection = f"{self.resource.group or 'core'}/{self.resource.plural}/"
        return f"{collection}{self.namespace}/" if self.namespace else collection

    @property
    def key(self) -> str:
        """The key of the object."""
        return self.prefix + self.name

    @property
    def is_parent(self) -> bool:
        """Whether other objects belong to such an object, and go with it."""
        return self.resource.key in _PARENTS

    def named(self, name: str) -> Target:
        """Return the target of an object in this collection."""
        return replace(self, name=name)

    def at(self, key: str) -> Target:
        """Return the target of the object that has a key in this collection."""
        namespace, _, name = key[len(self.prefix) :].rpartition("/")
        return replace(self, namespace=self.namespace or namespace, name=name)

    def verb(self, method: str) -> str | None:
        """Return the verb that a method is here, or None where it is not allowed."""
        verb = _VERBS.get((method, bool(self.name)))
        if self.subresource:
            return verb if verb in SUBRESOURCE_VERBS else None
        everywhere = self.resource.namespaced and not self.namespace
        return (
            None
            if verb not in self.resource.verbs or (verb == "create" and everywhere)
            else verb
        )


def locate(resources: Resources, group: str, version: str, path: str) -> Target:
    """Return what a path below a group and version names. Raises UnknownResourceError."""
    match path.split("/"):
        case ["namespaces", namespace, plural, *rest] if (
            group,
            plural,
        ) not in _OF_NAMESPACES:
            pass
        case [plural, *rest]:
            namespace = ""
    resource = resources.find(group, version, plural)
    name, subresource, *more = [*rest, "", ""][: max(len(rest), 2)]
    unknown = more or (subresource and subresource not in resource.subresources)
    misplaced = bool(namespace) != resource.namespaced and bool(namespace or name)
    if unknown or misplaced or not all(path.split("/")):
        raise UnknownResourceError("the server could not find the requested resource")
    return Target(resource, namespace, name, subresource)


_OF_NAMESPACES: Final = (("", "status"), ("", "finalize"))
