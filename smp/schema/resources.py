"""The resources of a server: built-in ones of Kubernetes and custom ones.

``resources.json`` is compiled from the discovery documents that Kubernetes publishes;
its member ``source`` names them. It lists the versions of a resource in order of
preference, and the server serves the first version that the catalog describes: an
object is stored as it was sent, and to serve a version of another shape the server
has to convert it. It does so for autoscaling/v1, the only other version that is stable,
and for events, each of which is in the core group and in ``events.k8s.io``.

Reviews, bindings and component statuses are resources whose objects are not stored:
what can be done with them is among their verbs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import force_setattr, replace

from smp.errors import UnknownResourceError
from smp.schema.bundle import read_bundled_table
from smp.schema.catalog import Catalog, kubernetes

FieldPath: TypeAlias = tuple[str, ...]

# What a client can do with a resource and with a subresource, in the order of the
# discovery documents.
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
# Stability levels in the order in which clients prefer them; None is "stable".
_STABILITY: Final = (None, "beta", "alpha")
_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")


# Resources whose objects are stored in another version, which is served as well
# (smp._storage.typed_storage.convert).
_CONVERTED: Final = {
    ("autoscaling/v1", "horizontalpodautoscalers"): "autoscaling/v2",
    ("events.k8s.io/v1", "events"): "v1",
}


class ResourceName(msgspec.Struct, frozen=True):
    """The names of one resource in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return api_version(self.group, self.version)

    def path(self, namespace: str, name: str) -> str:
        """Return the path of one of its objects; no namespace is ``default``."""
        steps = ["apis", self.group] if self.group else ["api"]
        steps.append(self.version)
        if self.namespaced:
            steps += ["namespaces", namespace or "default"]
        return "/".join(["", *steps, self.plural, name])

    @property
    def names(self) -> set[str]:
        """All its names, as kubectl takes them: in lower case."""
        kind = self.kind.lower()
        return {kind, self.plural, self.singular or kind, *self.short_names}

    def is_called(self, text: str) -> bool:
        """Tell whether ``deploy``, ``deployments.apps`` or the like means it."""
        name, _, qualifier = text.partition(".")
        qualifiers = {"", self.group, f"{self.version}.{self.group}"}
        return name.lower() in self.names and qualifier in qualifiers


class Strategy(msgspec.Struct, frozen=True, rename="camel"):
    """How a server treats a resource (Go: the strategies in pkg/registry).

    An update of a ``conditional`` one needs a resourceVersion. ``answers_deleted``
    answers a deletion with the object, and not with a Status. ``creates_on_update``
    creates an object that does not exist. Objects have a ``generation``, which counts
    ``counted``, a part of the metadata, as well; ``counted_later`` begins with the
    first change, and ``never_counted`` stays. ``status_keeps`` are the metadata that a
    write of the status keeps, ``status_keeps_all`` is all of it; one that is
    ``created_with_status`` has it from a create, others the ``initial_status``. A field
    selector may name the ``selectable`` fields; ``unselectable`` is what is said of
    others.
    """

    conditional: bool = False
    answers_deleted: bool = False
    creates_on_update: bool = False
    generation: bool = False
    counted: str = ""
    counted_later: bool = False
    never_counted: bool = False
    status_keeps: tuple[str, ...] = ()
    status_keeps_all: bool = False
    created_with_status: bool = False
    initial_status: dict[str, Any] = {}
    selectable: tuple[str, ...] = ("metadata.name", "metadata.namespace")
    unselectable: str = ""


class _StrategyTable(msgspec.Struct, frozen=True):
    """The content of strategies.json: its source, and what is not the default."""

    source: str
    strategies: dict[str, Strategy]


_USUAL: Final = Strategy()
_CUSTOM: Final = Strategy(conditional=True, generation=True, status_keeps_all=True)


class ScalePaths(msgspec.Struct, frozen=True):
    """Where a scalable object has its replicas and the label selector of its pods.

    ``default_replicas`` is the number of replicas of an object without
    ``spec_replicas``; where it is None, the object must have them. ``selector`` is
    empty for a resource without one.
    """

    spec_replicas: FieldPath = ("spec", "replicas")
    status_replicas: FieldPath = ("status", "replicas")
    selector: FieldPath = ()
    default_replicas: int | None = None


class Subresource(msgspec.Struct, frozen=True, cache_hash=True):
    """A subresource other than status and scale: its kind, and what can be done."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]

    @property
    def api_version(self) -> str:
        """The apiVersion of what it reads and answers."""
        return api_version(self.group, self.version)


class Resource(ResourceName, frozen=True, cache_hash=True):
    """One resource in one version.

    Names that are left out default as in a CustomResourceDefinition.
    ``storage_api_version`` is the apiVersion in which its objects are stored.
    """

    list_kind: str = ""
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    status: bool = False
    scale: ScalePaths | None = None
    other_subresources: tuple[Subresource, ...] = ()
    storage_api_version: str = ""
    custom: bool = False
    selectable_fields: tuple[str, ...] = ()
    """Fields of custom resources that a field selector may name."""
    reading_schemas: bytes = b""
    """The schemas of the versions of a custom resource, as JSON, by apiVersion.

    Those by which objects that are read may change: where another version is stored,
    or the definition was changed. Without any nothing is dropped from what is read.
    """

    def __post_init__(self) -> None:
        # The struct is frozen, and defaults that depend on other fields are set here.
        if not self.singular:
            force_setattr(self, "singular", self.kind.lower())
        if not self.list_kind:
            force_setattr(self, "list_kind", f"{self.kind}List")
        if not self.storage_api_version:
            force_setattr(self, "storage_api_version", self.api_version)

    @property
    def storage_group(self) -> str:
        """The group in which its objects are stored."""
        return self.storage_api_version.rpartition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        """The group and the plural name, which are the same in all versions."""
        return self.group, self.plural

    @property
    def strategy(self) -> Strategy:
        """How a server treats it."""
        if self.custom:
            return _CUSTOM
        table = read_bundled_table("strategies.json", _StrategyTable)
        return table.strategies.get(self.qualified, _USUAL)

    def creates_through(
        self, subresource: str, *, is_patch: bool, by_apply: bool
    ) -> bool:
        """Whether a write of an object that does not exist creates it.

        Go: registry.Store.Update. Only an apply does so for all kinds; StatusREST takes
        that away, but that of validatingadmissionpolicies.
        """
        if is_patch and not by_apply:
            return False
        allowed = self.strategy.creates_on_update
        if subresource == "status":
            is_policy = self.plural == "validatingadmissionpolicies"
            return allowed or (is_policy and by_apply and not self.custom)
        return not subresource and (allowed or by_apply)

    @property
    def is_stored(self) -> bool:
        """Whether its objects are stored; those of a review are only answered."""
        return "update" in self.verbs

    @property
    def subresources(self) -> dict[str, Subresource]:
        """Its subresources by name, sorted."""
        found = {other.name: other for other in self.other_subresources}
        # A resource with replicas has a scale.
        if self.scale is not None:
            found["scale"] = Subresource(
                "scale", "autoscaling", "v1", "Scale", SUBRESOURCE_VERBS
            )
        # A status shows the whole object.
        if self.status:
            found["status"] = Subresource(
                "status", self.group, self.version, self.kind, SUBRESOURCE_VERBS
            )
        return dict(sorted(found.items()))

    @property
    def qualified(self) -> str:
        """Its name in error messages: ``deployments.apps``, ``pods``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def prefix(self) -> str:
        """The URL path of its group and version: ``/apis/apps/v1``, ``/api/v1``."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


class Resources:
    """The resources that are served, by name and by kind; immutable."""

    __slots__ = ("_by_kind", "_by_name")

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_name: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for resource in resources:
            name = (resource.group, resource.version, resource.plural)
            self._by_name[name] = resource
            self._by_kind[resource.api_version, resource.kind] = resource

    @classmethod
    def builtin(
        cls,
        catalog: Catalog | None = None,
        serves: Callable[[str, str], bool] | None = None,
    ) -> Resources:
        """Return the built-in resources whose kinds a catalog describes.

        The default catalog is the newest bundled Kubernetes. ``serves`` says of a group
        and a version whether it is served, by default those that are stable.
        """
        serves = serves or is_stable
        catalog = catalog or kubernetes()
        described = set(catalog.kinds())
        preferred: dict[tuple[str, str], Resource] = {}
        converted: list[Resource] = []
        served: set[str] = set()
        for resource in read_published_resources():
            if (resource.api_version, resource.kind) not in described:
                continue
            if not serves(resource.group, resource.version):
                continue
            # The table has what any version has: CSINodes have a status since 1.37.
            type_ = catalog.schema(resource.api_version, resource.kind).type
            if resource.status and type_.field("status") is None:
                resource = replace(resource, status=False)  # noqa: PLW2901  # see above
            # Versions come in order of preference: the first one that is described.
            stored_in = _CONVERTED.get((resource.api_version, resource.plural))
            if stored_in in served:
                converted.append(replace(resource, storage_api_version=stored_in))
            else:
                preferred.setdefault(resource.key, resource)
            served.add(resource.api_version)
        return cls([*preferred.values(), *converted])

    def find(self, group: str, version: str, plural: str) -> Resource:
        """Return a resource by its name. Raises UnknownResourceError."""
        resource = self._by_name.get((group, version, plural))
        if resource is None:
            raise UnknownResourceError(
                f"resource {plural} not found in {api_version(group, version)}"
            )
        return resource

    def of_kind(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind of objects. Raises UnknownResourceError."""
        resource = self._by_kind.get((api_version, kind))
        if resource is None:
            raise UnknownResourceError(
                f"no resource of kind {kind} found in {api_version}"
            )
        return resource

    def groups(self) -> tuple[str, ...]:
        """Return the groups, sorted; the core group, named "", comes first."""
        return tuple(sorted({resource.group for resource in self}))

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group, the preferred one first."""
        names = {resource.version for resource in self if resource.group == group}
        return tuple(sorted(names, key=version_sort_key))

    def in_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """Return the resources of a group and version, sorted by name."""
        served = [
            resource
            for resource in self
            if resource.group == group and resource.version == version
        ]
        return tuple(sorted(served, key=attrgetter("plural")))

    def with_resources(self, resources: Iterable[Resource]) -> Resources:
        """Return these resources with others added.

        An added resource replaces all versions of the resource of the same group and
        plural name.
        """
        added = tuple(resources)
        # Its new versions may be others than before, so all old ones go.
        replaced = {resource.key for resource in added}
        kept = [resource for resource in self if resource.key not in replaced]
        return Resources([*kept, *added])

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def api_version(group: str, version: str) -> str:
    """Join a group and a version to an apiVersion; the core group has no name."""
    return f"{group}/{version}" if group else version


class _ResourceTable(msgspec.Struct, frozen=True):
    """The content of resources.json: its source, and each resource in each version."""

    source: str
    resources: tuple[Resource, ...]


def read_published_resources() -> tuple[Resource, ...]:
    """Return the built-in resources in each version, in order of preference."""
    return read_bundled_table("resources.json", _ResourceTable).resources


def version_sort_key(version: str) -> tuple[int, int, int, str]:
    """Return a key that sorts version names, the preferred version first.

    Go: k8s.io/apimachinery/pkg/version.CompareKubeAwareVersionStrings. Stable versions
    come before beta and beta before alpha, the newest of each level first; names that
    are not of this form come last, in alphabetical order.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return len(_STABILITY), 0, 0, version
    major, stability, minor = match.groups()
    return _STABILITY.index(stability), -int(major), -int(minor or 0), ""


def is_stable(_group: str, version: str) -> bool:
    """Tell whether a version is stable, as all are that a server serves by default."""
    return version_sort_key(version)[0] == 0
