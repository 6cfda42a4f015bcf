"""Kinds by the names that users write: ``deploy``, ``pods``, ``deployments.apps``.

A resource has a plural and a singular name, and short names; kubectl takes each of them
for the kind, and the kind itself. Those of built-in resources are published in the
discovery documents, those of custom resources in ``spec.names`` of their
CustomResourceDefinitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from smp._values.values import JSON, as_list, as_object, as_text
from smp.errors import UnknownKindError, did_you_mean, listing
from smp.schema.bundle import read_bundled_table
from smp.schema.catalog import Catalog
from smp.schema.sources import crd

# Stability levels in the order in which clients prefer them; None is "stable".
_STABILITY: Final = (None, "beta", "alpha")
_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")


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
        return f"{self.group}/{self.version}" if self.group else self.version

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


class Named(msgspec.Struct, frozen=True):
    """The kind that a text names, and the rest of the text: the path of a field."""

    api_version: str
    kind: str
    path: str


def _hint_for(name: str, known: list[ResourceName]) -> str:
    """Return similar names, or the types that there are."""
    names: set[str] = set()
    for resource in known:
        names |= resource.names
    # Every group has kinds such as DeleteOptions, and a list for each kind.
    kinds = {resource.kind for resource in known}
    plurals = [resource.plural for resource in known if f"{resource.kind}List" in kinds]
    similar = did_you_mean(name.lower(), sorted(names))
    return similar or listing("resource types", plurals)


def find_kind(
    text: str,
    catalog: Catalog,
    custom: Iterable[ResourceName] = (),
    *,
    api_version: str = "",
) -> Named:
    """Find the kind that a text such as ``deploy.apps.spec.replicas`` begins with.

    ``custom`` are the names of custom resources in the catalog. Without an apiVersion
    the preferred version is found, and of several groups the first in the order of the
    API server. Raises UnknownKindError.
    Go: kubectl, explain.SplitAndParseResourceRequestWithMatchingPrefix.
    """
    described = set(catalog.kinds())
    known = [
        resource
        for resource in (*read_published_resources(), *custom)
        if (resource.api_version, resource.kind) in described
    ]
    # Kinds that no table has the names of: those of older versions of Kubernetes and of
    # OpenAPI documents, and those that are not stored.
    tabled = {(resource.api_version, resource.kind) for resource in known}
    others = sorted(described - tabled, key=_preference)
    known += [guess(*kind) for kind in others]
    if api_version:
        known = [resource for resource in known if resource.api_version == api_version]

    name, _, rest = text.partition(".")
    found = [resource for resource in known if name.lower() in resource.names]
    if not found and api_version:
        # The catalog raises an error that names other versions with the kind.
        catalog.schema(api_version, name)
    if not found:
        raise UnknownKindError(
            f'{catalog.source} has no resource type "{name}"',
            hint=_hint_for(name, known),
        )
    for resource in found:
        for qualifier in (
            f"{resource.version}.{resource.group}",
            resource.group,
        ):
            # deployments.v1.apps and deployments.apps, with or without a path behind.
            if resource.group and f"{rest}.".startswith(f"{qualifier}."):
                path = rest[len(qualifier) + 1 :]
                return Named(resource.api_version, resource.kind, path)
    return Named(found[0].api_version, found[0].kind, rest)


def _preference(kind: tuple[str, str]) -> tuple[bool, str, tuple[int, int, int, str]]:
    api_version, name = kind
    group, _, version = api_version.rpartition("/")
    # The core group comes first. Groups with a domain come after those without one,
    # as in the discovery documents.
    return "." in group, f"{group}/{name}", version_sort_key(version)


def guess(api_version: str, kind: str) -> ResourceName:
    """Guess the plural of a kind (Go: meta.UnsafeGuessKindToResource)."""
    group, _, version = api_version.rpartition("/")
    singular = kind.lower()
    if singular.endswith(("s", "x", "ch", "sh")):
        plural = f"{singular}es"
    elif singular.endswith("y"):
        plural = f"{singular[:-1]}ies"
    else:
        plural = f"{singular}s"
    return ResourceName(group, version, kind, plural)


def names_of_definitions(documents: JSON) -> Iterator[ResourceName]:
    """Yield the names that CustomResourceDefinitions give their resources.

    There is one for each version, the preferred one first. Raises SchemaError for what
    is not a CustomResourceDefinition, or a list of them.
    """
    for definition in crd.definitions(documents):
        spec = as_object(definition.get("spec"))
        names = as_object(spec.get("names"))
        # v1beta1 may have one version instead of a list.
        versions = [as_text(spec.get("version"))]
        if "versions" in spec:
            listed = as_list(spec["versions"])
            versions = [as_text(as_object(version).get("name")) for version in listed]
        for version in sorted(versions, key=version_sort_key):
            short_names = [as_text(name) for name in as_list(names.get("shortNames"))]
            yield ResourceName(
                group=as_text(spec.get("group")),
                version=version,
                kind=as_text(names.get("kind")),
                plural=as_text(names.get("plural")),
                singular=as_text(names.get("singular")),
                short_names=tuple(short_names),
                namespaced=spec.get("scope") != "Cluster",
            )


def read_published_resources() -> tuple[ResourceName, ...]:
    """Return the built-in resources in each version, in order of preference."""
    return read_bundled_table("resources.json", _NameTable).resources


class _NameTable(msgspec.Struct, frozen=True):
    """The part of resources.json that is read here."""

    resources: tuple[ResourceName, ...]


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
