"""Discovery: the resources that an API server serves, by group, version and kind.

A server answers with all of them at once (aggregated discovery, KEP-3352). One that is
too old for that is asked for each group version when a kind of it is needed.
"""

from __future__ import annotations

import itertools
from typing import Final

import msgspec

from smp._values.values import JSON, Absent, JSONObject, as_list, as_object, as_text
from smp.cluster.plan.exchange import Plan, PlannedRequest
from smp.cluster.plan.failures import NoKindMatchError
from smp.cluster.plan.sending import (
    JSON_TYPE,
    exists_after,
    get_request,
    path_of,
    send_for_object,
)
from smp.errors import SmpError

_AGGREGATED: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)
_ACCEPT: Final = ("Accept", f"{_AGGREGATED},{JSON_TYPE}")


class DiscoveredResource(msgspec.Struct, frozen=True):
    """A resource of an API server; ``plural`` is its name in a path."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    singular: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name in messages, such as deployments.apps."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or of a list where there is no name."""
        # The group without a name is served below /api.
        root = ("apis", self.group) if self.group else ("api",)
        within = ("namespaces", namespace) if self.namespaced and namespace else ()
        return path_of(*root, self.version, *within, self.plural, name, subresource)


class Discovery:
    """What a server serves, as far as it was asked for."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str], DiscoveredResource] = {}
        self._aggregated: bool | None = None
        # Whether all group versions of a server without it are known.
        self._is_complete = False
        # The kinds that the server was asked for, and does not serve.
        self._missing: set[tuple[str, str]] = set()
        # Why the server does not say what it serves: it is not asked for each object.
        self._failure: SmpError | None = None

    def resource(self, api_version: str, kind: str) -> Plan[DiscoveredResource]:
        """Return the resource of a kind.

        A kind that is not known may have been defined since, so the server is asked
        once more (Go: restmapper.DeferredDiscoveryRESTMapper). Raises NoKindMatchError,
        and what ``send`` raises.
        """
        wanted = (api_version, kind)
        # A kind that is not served is asked for once in a run, not once an object.
        if wanted not in self._resources and wanted not in self._missing:
            if self._failure is not None:
                raise self._failure
            try:
                if self._aggregated is not False:
                    yield from self._ask_for_all()
                if not self._aggregated:
                    yield from self._ask_for_group_version(api_version)
            except SmpError as error:
                self._failure = error
                raise
        found = self._resources.get(wanted) or self._find_in_lower_case(wanted)
        if found is None:
            self._missing.add(wanted)
            raise NoKindMatchError(api_version, kind)
        return found

    def _find_in_lower_case(self, wanted: tuple[str, str]) -> DiscoveredResource | None:
        # Go: restmapper.NewDiscoveryRESTMapper has each kind in lower case as well. A
        # server then says what is wrong with the object.
        for (api_version, kind), resource in self._resources.items():
            if (api_version, kind.lower()) == wanted:
                return resource
        return None

    def forget_missing(self) -> None:
        """Ask again for kinds that were not served, as some were defined just now."""
        self._missing.clear()
        self._failure = None

    def all(self) -> Plan[tuple[DiscoveredResource, ...]]:
        """Return all resources of a server. Raises what ``send`` raises."""
        if self._aggregated is None:
            yield from self._ask_for_all()
        # A server without aggregated discovery is asked for each group version, once.
        if not self._aggregated and not self._is_complete:
            groups = yield from self._groups()
            for api_version in ["v1", *itertools.chain(*groups.values())]:
                yield from self._ask_for_group_version(api_version)
            self._is_complete = True
        return tuple(self._resources.values())

    def resource_of_kind(self, group: str, kind: str) -> Plan[DiscoveredResource]:
        """Return the resource of a kind in the preferred version of its group.

        Raises NoKindMatchError, and what ``send`` raises.
        """
        found = self._find_preferred(group, kind)
        if found is None and self._aggregated is not False:
            yield from self._ask_for_all()
            found = self._find_preferred(group, kind)
        if found is None and not self._aggregated:
            # The group without a name is not in the list of groups.
            versions = ["v1"]
            if group:
                groups = yield from self._groups()
                versions = groups.get(group, [])
            for api_version in versions:
                yield from self._ask_for_group_version(api_version)
            found = self._find_preferred(group, kind)
        if found is None:
            raise NoKindMatchError(group, kind)
        return found

    def _groups(self) -> Plan[dict[str, list[str]]]:
        """Return the group versions of each group, but of the one without a name."""
        listed = yield from send_for_object(get_request("/apis"))
        return {
            as_text(group.get("name")): [
                as_text(as_object(version).get("groupVersion"))
                for version in as_list(group.get("versions"))
            ]
            for group in map(as_object, as_list(listed.get("groups")))
        }

    def _find_preferred(self, group: str, kind: str) -> DiscoveredResource | None:
        # A server lists the versions of a group in its order of preference.
        for resource in self._resources.values():
            if (resource.group, resource.kind) == (group, kind):
                return resource
        return None

    def _ask_for_all(self) -> Plan[None]:
        found: dict[tuple[str, str], DiscoveredResource] = {}
        for path in ("/api", "/apis"):
            request = PlannedRequest("GET", path, headers=(_ACCEPT,))
            # It is the first request of a run: nothing is begun that must be ended.
            document = yield from exists_after(request, waits=False)
            # A server may serve one of the two paths only.
            if document is None:
                continue
            # A server that does not know the form answers with the older one.
            if document.get("kind") != "APIGroupDiscoveryList":
                self._aggregated = False
                return
            for resource in _aggregate_resources(document):
                found.setdefault((resource.api_version, resource.kind), resource)
        self._aggregated = True
        self._resources = found

    def _ask_for_group_version(self, api_version: str) -> Plan[None]:
        root = "apis" if "/" in api_version else "api"
        path = path_of(root, *api_version.split("/"))
        document = yield from exists_after(get_request(path))
        # The server does not serve the group version.
        if document is None:
            return
        for resource in _list_resources(document, api_version):
            self._resources[resource.api_version, resource.kind] = resource


def _aggregate_resources(document: JSONObject) -> list[DiscoveredResource]:
    found = []
    for group in map(as_object, as_list(document.get("items"))):
        group_name = as_text(as_object(group.get("metadata")).get("name"))
        for version in map(as_object, as_list(group.get("versions"))):
            found += [
                DiscoveredResource(
                    group=group_name,
                    version=as_text(version.get("version")),
                    kind=as_text(as_object(entry.get("responseKind")).get("kind")),
                    plural=as_text(entry.get("resource")),
                    namespaced=entry.get("scope") == "Namespaced",
                    verbs=_texts(entry.get("verbs")),
                    singular=as_text(entry.get("singularResource")),
                    short_names=_texts(entry.get("shortNames")),
                )
                for entry in map(as_object, as_list(version.get("resources")))
            ]
    return found


def _list_resources(document: JSONObject, api_version: str) -> list[DiscoveredResource]:
    """Return the resources of an APIResourceList, but for subresources."""
    group, _, version = api_version.rpartition("/")
    # A name with a slash is that of a subresource.
    return [
        DiscoveredResource(
            group=group,
            version=version,
            kind=as_text(entry.get("kind")),
            plural=as_text(entry.get("name")),
            namespaced=entry.get("namespaced") is True,
            verbs=_texts(entry.get("verbs")),
            singular=as_text(entry.get("singularName")),
            short_names=_texts(entry.get("shortNames")),
        )
        for entry in map(as_object, as_list(document.get("resources")))
        if "/" not in as_text(entry.get("name"))
    ]


def _texts(value: JSON | Absent) -> tuple[str, ...]:
    return tuple(map(as_text, as_list(value)))
