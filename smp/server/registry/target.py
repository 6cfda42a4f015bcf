"""What the path of a request names, and the keys under which the store has it."""

from __future__ import annotations

from typing import Final

import msgspec

from smp.schema.resources import Resource, Resources
from smp.server.errors import UnknownResourceError

CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Final = ("", "namespaces")
_PARENTS: Final = frozenset({CRDS, NAMESPACES})
# /api/v1/namespaces/NAME/status is the status of a namespace, not a list of resources
# called "status" in it.
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_OBJECT_VERBS: Final = {
    "GET": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS: Final = {
    "GET": "list",
    "POST": "create",
    "DELETE": "deletecollection",
}


class Target(msgspec.Struct, frozen=True):
    """A collection, an object or a subresource of an object.

    Without a ``name`` it is a collection; without a ``namespace`` that of a
    cluster-scoped resource, or of all namespaces.
    """

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def prefix(self) -> str:
        """The prefix of the keys of the collection: GROUP/RESOURCE/[NAMESPACE/].

        The group without a name is ``core``.
        """
        collection = f"{self.resource.storage_group or 'core'}/{self.resource.plural}/"
        return f"{collection}{self.namespace}/" if self.namespace else collection

    @property
    def key(self) -> str:
        """The key of the object."""
        return self.prefix + self.name

    @property
    def is_parent(self) -> bool:
        """Whether other objects belong to the object, and are deleted with it."""
        return self.resource.key in _PARENTS

    def named(self, name: str) -> Target:
        """Return the target of an object in this collection."""
        return msgspec.structs.replace(self, name=name)

    def at(self, key: str) -> Target:
        """Return the target of the object that has a key in this collection."""
        # Of all namespaces the rest of the key is NAMESPACE/NAME, else NAME.
        namespace, _, name = key.removeprefix(self.prefix).rpartition("/")
        return msgspec.structs.replace(
            self, namespace=self.namespace or namespace, name=name
        )

    def verb(self, method: str) -> str | None:
        """Return the verb of an HTTP method here, or None where it is not allowed."""
        if self.subresource:
            verb = {**_OBJECT_VERBS, "POST": "create"}.get(method)
            subresource = self.resource.subresources[self.subresource]
            return verb if verb in subresource.verbs else None
        verbs = _OBJECT_VERBS if self.name else _COLLECTION_VERBS
        verb = verbs.get(method)
        if verb not in self.resource.verbs:
            return None
        # Of all namespaces there are only lists (Go: k8s.io/apiserver,
        # endpoints/installer.go, registerResourceHandlers).
        if verb != "list" and self.resource.namespaced and not self.namespace:
            return None
        return verb


def locate(resources: Resources, group: str, version: str, path: str) -> Target:
    """Return what a path below a group and version names.

    The path is ``[namespaces/NAMESPACE/]PLURAL[/NAME[/SUBRESOURCE]]``. Raises
    UnknownResourceError.
    """
    segments = path.split("/")
    rest, namespace = segments, ""
    if len(segments) > 2 and segments[0] == "namespaces":  # noqa: PLR2004 - see the path
        is_subresource = not group and segments[2] in _NAMESPACE_SUBRESOURCES
        if not is_subresource:
            namespace, rest = segments[1], segments[2:]
    # An unknown PLURAL is reported first: the error names it.
    plural, *rest = rest
    resource = resources.find(group, version, plural)
    name = rest[0] if rest else ""
    subresource = rest[1] if len(rest) > 1 else ""
    # What follows a proxy is for what is behind it.
    is_longer = len(rest) > 2 and subresource != "proxy"  # noqa: PLR2004 - see the path
    is_unknown = is_longer or (subresource and subresource not in resource.subresources)
    if resource.namespaced:
        # Without a namespace there is only the collection of all namespaces.
        is_misplaced = bool(name) and not namespace
    else:
        is_misplaced = bool(namespace)
    if resource.custom and subresource == "status" and is_unknown:
        # Go: k8s.io/apiextensions-apiserver, crdHandler.serveStatus.
        raise UnknownResourceError(f'{resource.qualified} "{name}" not found')
    if is_unknown or is_misplaced or "" in segments:
        raise UnknownResourceError("the server could not find the requested resource")
    return Target(resource, namespace, name, subresource)
