"""Kinds by the names that users write: ``deploy``, ``pods``, ``deployments.apps``.

A resource has a plural and a singular name, and short names; kubectl takes each of them
for the kind, and the kind itself. Those of built-in resources are published in the
discovery documents, those of custom resources in ``spec.names`` of their
CustomResourceDefinitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from smp._values.values import JSON, as_list, as_object, as_text
from smp.errors import UnknownKindError, did_you_mean, listing
from smp.schema.catalog import Catalog
from smp.schema.resources import (
    ResourceName,
    read_published_resources,
    version_sort_key,
)
from smp.schema.sources import crd


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
        for qualifier in (f"{resource.version}.{resource.group}", resource.group):
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
