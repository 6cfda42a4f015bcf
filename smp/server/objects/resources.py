"""What the server serves: the built-in resources of Kubernetes and those that
CustomResourceDefinitions add.

``resources.json`` is compiled from the discovery documents that Kubernetes publishes
(its source says which). It lists the versions of a resource in the order of version_sort_key.
One of them is served, the first that the catalog knows: an object is stored as it came,
and versions that differ in shape would need conversions that nobody here wrote; for the
same reason the events of ``events.k8s.io`` are not those of the core group.
Subresources are ``status`` and ``scale``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from smp.schema.catalog import Catalog, kubernetes
from smp.server.errors import UnknownResourceError

FieldPath: TypeAlias = tuple[str, ...]

VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
SUBRESOURCE_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a scalable object has its replicas, wanted and there, and the selector of
    its pods if it has one.

    ``default_replicas`` are those that an object wants which does not say; without a
    default it has to.
    """

    spec_replicas: FieldPath = ("spec", "replicas")
    status_replicas: FieldPath = ("status", "replicas")
    selector: FieldPath = ()
    default_replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource in one version; names that are left out are those that a
    CustomResourceDefinition gets.

    ``storage_version`` is the version in which its objects are stored.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    status: bool = False
    scale: ScalePaths | None = None
    storage_version: str = ""
    custom: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "singular", self.singular or self.kind.lower())
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")
        object.__setattr__(
            self, "storage_version", self.storage_version or self.version
        )

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return api_version(self.group, self.version)

    @property
    def storage_api_version(self) -> str:
        """The apiVersion of its objects where they are stored."""
        return api_version(self.group, self.storage_version)

    @property
    def key(self) -> tuple[str, str]:
        """What its versions have in common: the group and the plural name."""
        return self.group, self.plural

    @property
    def subresources(self) -> tuple[str, ...]:
        """The subresources that it has."""
        return ("scale",) * (self.scale is not None) + ("status",) * self.status

    @property
    def qualified(self) -> str:
        """Its name as error messages have it: ``deployments.apps``, ``pods``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def prefix(self) -> str:
        """The path of its group and version: ``/apis/apps/v1``, ``/api/v1``."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


class Resources:
    """The resources that are served, by name and by kind; a table never changes, it
    makes others.
    """

    __slots__ = ("_by_kind", "_by_name")

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_name = {(one.group, one.version, one.plural): one for one in resources}
        self._by_kind = {
            (one.api_version, one.kind): one for one in self._by_name.values()
        }

    @classmethod
    def builtin(cls, catalog: Catalog | None = None) -> Resources:
        """Return the built-in resources that a catalog knows, by default those of the
        newest bundled Kubernetes.
        """
        known = set((catalog or kubernetes()).kinds())
        preferred: dict[tuple[str, str], Resource] = {}
        for one in _published():
            if (one.api_version, one.kind) in known:
                preferred.setdefault(one.key, one)
        return cls(preferred.values())

    def find(self, group: str, version: str, plural: str) -> Resource:
        """Return a resource by its name. Raises UnknownResourceError."""
        found = self._by_name.get((group, version, plural))
        if found is None:
            raise UnknownResourceError(
                f"no resource {plural} in {api_version(group, version)}"
            )
        return found

    def of_kind(self, api_version: str, kind: str) -> Resource:
        """Return the resource whose objects are of a kind. Raises UnknownResourceError."""
        found = self._by_kind.get((api_version, kind))
        if found is None:
            raise UnknownResourceError(f"no resource of kind {kind} in {api_version}")
        return found

    def groups(self) -> tuple[str, ...]:
        """Return the groups, sorted: the core group, whose name is empty, comes first."""
        return tuple(sorted({one.group for one in self}))

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group, the preferred one first."""
        return tuple(
            sorted(
                {one.version for one in self if one.group == group},
                key=version_sort_key,
            )
        )

    def in_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """Return the resources of a group and version, by name."""
        found = (one for one in self if (one.group, one.version) == (group, version))
        return tuple(sorted(found, key=attrgetter("plural")))

    def with_resources(self, resources: Iterable[Resource]) -> Resources:
        """Return a table with these, in the place of those of the same group and plural
        name.
        """
        added = tuple(resources)
        replaced = {one.key for one in added}
        return Resources([*(one for one in self if one.key not in replaced), *added])

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def api_version(group: str, version: str) -> str:
    """Join a group and a version as objects name them; the core group has no name."""
    return f"{group}/{version}" if group else version


def version_sort_key(version: str) -> tuple[int, int, int, str]:
    """Return the key that sorts versions, the preferred one first: stable, beta, alpha,
    the newest of each.

    Other names come last, in alphabetical order (Go: CompareKubeAwareVersionStrings).
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return len(_STABILITY), 0, 0, version
    major, stability, minor = match.groups()
    return _STABILITY.index(stability), -int(major), -int(minor or 0), ""


_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = (None, "beta", "alpha")


@dataclass(frozen=True, slots=True)
class Published:
    """The table of built-in resources: where it is from, and each resource in each of
    its versions.
    """

    source: str
    resources: tuple[Resource, ...]


@cache
def _published() -> tuple[Resource, ...]:
    data = (files("smp.server") / "resources.json").read_bytes()
    return msgspec.json.decode(data, type=Published).resources
