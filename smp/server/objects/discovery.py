"""Discovery: the documents by which a client learns what a server serves.

There are two forms: one aggregated document for all groups, and the older one, a
document for each group and each version. Sources: the Kubernetes API concepts page
("Discovery API") and the types of ``apidiscovery.k8s.io/v2`` and ``meta.k8s.io/v1``.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, JSONObject
from smp.schema.resources import Resource, Resources, Subresource, api_version
from smp.server.errors import UnknownResourceError

AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)


def wants_aggregated(accept: str) -> bool:
    """Tell whether an Accept header lists the media type of the aggregated form.

    kubectl lists it first and plain JSON after it; order and quality are ignored.
    """
    wanted = _media_type(AGGREGATED)
    return any(_media_type(listed) == wanted for listed in accept.split(","))


def _media_type(text: str) -> frozenset[str]:
    """Return a media type with its parameters in any order, without the quality."""
    parts = [part.strip() for part in text.split(";")]
    return frozenset(part for part in parts if not part.startswith("q="))


# The aggregated form


def aggregate(resources: Resources, *, core: bool) -> JSONObject:
    """Return the aggregated document of ``/api`` (core) or of ``/apis``.

    Its Content-Type is ``AGGREGATED``.
    """
    items: list[JSON] = [
        {
            # The core group has no name, so its metadata is empty.
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [
                        _aggregate_resource(resource)
                        for resource in resources.in_version(group, version)
                    ],
                    # "Stale" is for an aggregated API server that does not answer.
                    "freshness": "Current",
                }
                for version in resources.versions(group)
            ],
        }
        # The core group is served at /api, all others at /apis.
        for group in resources.groups()
        if core == (group == "")
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregate_resource(resource: Resource) -> JSONObject:
    subresources: list[JSON] = [
        {"subresource": name, "responseKind": _kind(other), "verbs": [*other.verbs]}
        for name, other in resource.subresources.items()
    ]
    return {
        "resource": resource.plural,
        "responseKind": _kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": [*resource.verbs],
        **_alternative_names(resource),
        # A member that would be empty is left out, as Go's "omitempty" does.
        **({"subresources": subresources} if subresources else {}),
    }


# The older form


def api_versions(resources: Resources) -> JSONObject:
    """Return the APIVersions document of ``/api``."""
    return {
        "kind": "APIVersions",
        "apiVersion": "v1",
        "versions": [*resources.versions("")],
        # Required by the type, for addresses by the network of a client.
        "serverAddressByClientCIDRs": [],
    }


def api_groups(resources: Resources) -> JSONObject:
    """Return the APIGroupList document of ``/apis``; the core group is not in it."""
    groups: list[JSON] = [
        _group(resources, group) for group in resources.groups() if group
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(resources: Resources, group: str) -> JSONObject:
    """Return the APIGroup document of ``/apis/GROUP``. Raises UnknownResourceError."""
    if not group or group not in resources.groups():
        raise UnknownResourceError(f"group {group} not found")
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(resources, group)}


def _group(resources: Resources, group: str) -> JSONObject:
    versions: list[JSON] = [
        {"groupVersion": api_version(group, version), "version": version}
        for version in resources.versions(group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def api_resources(resources: Resources, group: str, version: str) -> JSONObject:
    """Return the APIResourceList document of ``/api/v1`` or ``/apis/GROUP/VERSION``.

    Raises UnknownResourceError.
    """
    group_version = api_version(group, version)
    served = resources.in_version(group, version)
    if not served:
        raise UnknownResourceError(f"version {group_version} not found")
    listed: list[JSON] = []
    for resource in served:
        subresources = resource.subresources.values()
        listed.append(_list_resource(resource, resource))
        listed += [_list_resource(resource, each) for each in subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": listed,
    }


def _list_resource(resource: Resource, shown: Resource | Subresource) -> JSONObject:
    document: JSONObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
    }
    if isinstance(shown, Subresource):
        document["name"], document["singularName"] = (
            f"{resource.plural}/{shown.name}",
            "",
        )
    # "Empty implies the group of the containing resource list" (APIResource.Group): a
    # Scale or an Eviction is of another group.
    if (shown.group, shown.version) != (resource.group, resource.version):
        document |= {"group": shown.group, "version": shown.version}
    document |= {"kind": shown.kind, "verbs": [*shown.verbs]}
    return document | (_alternative_names(resource) if shown is resource else {})


# Common to both forms


def _kind(resource: Resource | Subresource) -> JSONObject:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _alternative_names(resource: Resource) -> JSONObject:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {key: [*value] for key, value in names.items() if value}


def version(kubernetes: str) -> JSONObject:
    """Return the document of ``/version`` for a Kubernetes minor such as ``1.37``."""
    # kubectl compares major and minor with its own, and prints gitVersion.
    major, _, minor = kubernetes.partition(".")
    unknown = ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{kubernetes}.0+smp",
        **dict.fromkeys((*unknown, "platform"), ""),
    }
