"""Discovery: what a client asks first, in the aggregated form and in the older one.

Sources: the Kubernetes API concepts page ("Discovery API") and the types of
``apidiscovery.k8s.io/v2`` and ``v1``.
"""

from __future__ import annotations

from typing import Final

from smp.server.errors import UnknownResourceError
from smp.server.objects.resources import (
    SUBRESOURCE_VERBS,
    Resource,
    Resources,
    api_version,
)
from smp.values import JSON, JSONObject

AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)
_SCALE: Final = ("autoscaling", "v1", "Scale")


def wants_aggregated(accept: str) -> bool:
    """Tell whether an Accept header asks for the aggregated form, before or beside any
    other.
    """
    return any(_media_type(one) == _media_type(AGGREGATED) for one in accept.split(","))


def aggregated(resources: Resources, *, core: bool) -> JSONObject:
    """Return the aggregated document of ``/api`` (core) or of ``/apis``; its
    Content-Type is ``AGGREGATED``.
    """
    items: list[JSON] = [
        _group(resources, group) for group in resources.groups() if core == (not group)
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def api_versions(resources: Resources) -> JSONObject:
    """Return the APIVersions document of ``/api``."""
    versions: list[JSON] = [*resources.versions("")]
    return {
        "kind": "APIVersions",
        "apiVersion": "v1",
        "versions": versions,
        "serverAddressByClientCIDRs": [],
    }


def api_groups(resources: Resources) -> JSONObject:
    """Return the APIGroupList document of ``/apis``."""
    groups: list[JSON] = [
        _versions(resources, group) for group in resources.groups() if group
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(resources: Resources, group: str) -> JSONObject:
    """Return the APIGroup document of ``/apis/GROUP``. Raises UnknownResourceError."""
    if not group or group not in resources.groups():
        raise UnknownResourceError(f"no group {group}")
    return {"kind": "APIGroup", "apiVersion": "v1", **_versions(resources, group)}


def api_resources(resources: Resources, group: str, version: str) -> JSONObject:
    """Return the APIResourceList document of ``/api/v1`` or ``/apis/GROUP/VERSION``.
    Raises UnknownResourceError.
    """
    found = resources.in_version(group, version)
    if not found:
        raise UnknownResourceError(f"no version {api_version(group, version)}")
    listed: list[JSON] = [row for one in found for row in _listed(one)]
    about = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version(group, version),
    }
    return {**about, "resources": listed}


def version(kubernetes: str) -> JSONObject:
    """Return the document of ``/version`` for a Kubernetes minor such as ``1.37``."""
    major, _, minor = kubernetes.partition(".")
    unknown = dict.fromkeys(
        ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"),
        "",
    )
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{kubernetes}.0+smp",
        **unknown,
    }


def _media_type(text: str) -> frozenset[str]:
    words = (word.strip() for word in text.split(";"))
    return frozenset(word for word in words if not word.startswith("q="))


def _group(resources: Resources, group: str) -> JSONObject:
    versions: list[JSON] = [
        {
            "version": one,
            "resources": [*map(_discovered, resources.in_version(group, one))],
            "freshness": "Current",
        }
        for one in resources.versions(group)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _discovered(resource: Resource) -> JSONObject:
    subresources: list[JSON] = [
        {
            "subresource": name,
            "responseKind": _kind(resource, name),
            "verbs": [*SUBRESOURCE_VERBS],
        }
        for name in resource.subresources
    ]
    return {
        "resource": resource.plural,
        "responseKind": _kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": [*resource.verbs],
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }


def _kind(resource: Resource, subresource: str = "") -> JSONObject:
    own = (resource.group, resource.version, resource.kind)
    group, version, kind = _SCALE if subresource == "scale" else own
    return {"group": group, "version": version, "kind": kind}


def _names(resource: Resource) -> JSONObject:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {word: [*values] for word, values in names.items() if values}


def _versions(resources: Resources, group: str) -> JSONObject:
    versions: list[JSON] = [
        {"groupVersion": api_version(group, one), "version": one}
        for one in resources.versions(group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _listed(resource: Resource) -> list[JSONObject]:
    own: JSONObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": [*resource.verbs],
        **_names(resource),
    }
    return [
        own,
        *(_listed_subresource(resource, name) for name in resource.subresources),
    ]


def _listed_subresource(resource: Resource, name: str) -> JSONObject:
    kind = _kind(resource, name)
    elsewhere = (
        {"group": kind["group"], "version": kind["version"]} if name == "scale" else {}
    )
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **elsewhere,
        "kind": kind["kind"],
        "verbs": [*SUBRESOURCE_VERBS],
    }
