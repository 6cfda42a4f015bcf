"""The paths of a document: the operations on a resource, what they read and answer.

Their form, and the ids of operations, are those of the documents in k8s.io/kubernetes,
api/openapi-spec/v3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from smp._values.values import JSON, JSONObject
from smp.schema.openapi_writer import REFERENCE_PREFIX
from smp.server.objects.resources import SUBRESOURCE_VERBS, Resource

# The names of schemas, by role: object, list, scale, options, status and patch.
Components: TypeAlias = Mapping[str, str]


class Operation(msgspec.Struct, frozen=True):
    """One operation of a path.

    ``verb`` is its verb in discovery, and ``query`` names its query parameters.
    ``reads`` and ``answers`` are the roles of the schemas of its request and response;
    an operation without a request body reads "".
    """

    method: str
    verb: str
    query: tuple[str, ...] = ()
    reads: str = ""
    answers: str = "object"


_WRITE_QUERY: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE_QUERY: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
)
_SELECT_QUERY: Final = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
)
_WATCH_QUERY: Final = (
    "allowWatchBookmarks",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
# All other parameters are strings.
_QUERY_TYPES: Final = {
    "allowWatchBookmarks": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}

_LIST: Final = Operation("get", "list", (*_SELECT_QUERY, *_WATCH_QUERY), answers="list")
_COLLECTION: Final = (
    _LIST,
    Operation("post", "create", _WRITE_QUERY, reads="object"),
    Operation(
        "delete",
        "deletecollection",
        (*_DELETE_QUERY, *_SELECT_QUERY),
        reads="options",
        answers="status",
    ),
)
_SUBRESOURCE: Final = (
    Operation("get", "get"),
    Operation("put", "update", _WRITE_QUERY, reads="object"),
    Operation("patch", "patch", _WRITE_QUERY, reads="patch"),
)
_ITEM: Final = (
    *_SUBRESOURCE,
    Operation("delete", "delete", _DELETE_QUERY, reads="options", answers="status"),
)

# How the id of an operation begins, by verb.
_ID_PREFIXES: Final = {
    "create": "create",
    "delete": "delete",
    "deletecollection": "delete",
    "get": "read",
    "list": "list",
    "patch": "patch",
    "update": "replace",
}
_JSON_TYPE: Final = "application/json"
_PATCH_TYPES: Final = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC_PATCH_TYPE: Final = "application/strategic-merge-patch+json"


class _PathItem(msgspec.Struct, frozen=True):
    """The operations on one path.

    ``suffix`` ends the ids of its operations, so that they differ from those of other
    paths of the resource.
    """

    resource: Resource
    operations: tuple[Operation, ...]
    parameters: tuple[str, ...]
    suffix: str = ""

    def document(self, operation: Operation, components: Components) -> JSONObject:
        """Return one of the operations, as an OpenAPI Operation Object."""
        resource = self.resource
        document: JSONObject = {
            "operationId": self.operation_id(operation),
            **_parameters(operation.query, "query"),
        }
        if operation.reads:
            media_types: tuple[str, ...] = (_JSON_TYPE,)
            if operation.reads == "patch":
                media_types = _PATCH_TYPES
                # Custom resources have no patch strategies, so an API server does not
                # accept strategic merge patches of them.
                if not resource.custom:
                    media_types = (*_PATCH_TYPES, _STRATEGIC_PATCH_TYPE)
            body = _content(media_types, components.get(operation.reads))
            request: JSONObject = {"content": body}
            # DeleteOptions may be left out.
            if operation.reads != "options":
                request["required"] = True
            document["requestBody"] = request

        answer = _content((_JSON_TYPE,), components.get(operation.answers))
        document["responses"] = {"200": {"description": "OK", "content": answer}}

        # kubectl looks for the patch operation of a kind by these two extensions.
        action = operation.method
        if operation.verb in {"list", "deletecollection"}:
            action = operation.verb
        document["x-kubernetes-action"] = action
        kind = (resource.group, resource.version, resource.kind)
        if self.suffix == "Scale":
            kind = ("autoscaling", "v1", "Scale")
        group, version, name = kind
        document["x-kubernetes-group-version-kind"] = {
            "group": group,
            "version": version,
            "kind": name,
        }
        return document

    def operation_id(self, operation: Operation) -> str:
        """Return an id such as ``deleteAppsV1CollectionNamespacedDeployment``."""
        resource = self.resource
        group = (resource.group or "core").removesuffix(".k8s.io")
        parts = [*group.split("."), resource.version]
        if operation.verb == "deletecollection":
            parts.append("Collection")
        if "namespace" in self.parameters:
            parts.append("Namespaced")
        parts += [resource.kind, self.suffix]
        text = _ID_PREFIXES[operation.verb]
        for part in parts:
            # Not capitalize(), which would lower the rest of "NetworkPolicy".
            text += part[:1].upper() + part[1:]
        return text


def paths(resource: Resource, components: Components) -> dict[str, JSONObject]:
    """Return the paths of a resource and of its subresources.

    A role that ``components`` lacks is an object of any form.
    """
    documents: dict[str, JSONObject] = {}
    for path, item in _path_items(resource):
        verbs = resource.verbs
        if item.suffix in {"Scale", "Status"}:
            verbs = SUBRESOURCE_VERBS
        roles = components
        # The object of this subresource is of a kind of its own.
        if item.suffix == "Scale":
            roles = {**components, "object": components.get("scale", "")}
        document: JSONObject = {}
        for operation in item.operations:
            if operation.verb in verbs:
                document[operation.method] = item.document(operation, roles)
        documents[path] = {**document, **_parameters(item.parameters, "path")}
    return documents


def _path_items(resource: Resource) -> Iterator[tuple[str, _PathItem]]:
    """Yield the paths of a resource, and what can be done there."""
    collection = f"{resource.prefix}/{resource.plural}"
    parameters: tuple[str, ...] = ()
    if resource.namespaced:
        # Without a namespace, the objects of all namespaces can be listed.
        if "list" in resource.verbs:
            yield collection, _PathItem(resource, (_LIST,), (), "ForAllNamespaces")
        collection = f"{resource.prefix}/namespaces/{{namespace}}/{resource.plural}"
        parameters = ("namespace",)
    yield collection, _PathItem(resource, _COLLECTION, parameters)

    if "get" not in resource.verbs:
        return
    item = f"{collection}/{{name}}"
    parameters = ("name", *parameters)
    yield item, _PathItem(resource, _ITEM, parameters)
    for name in ("scale", "status"):
        if name not in resource.subresources:
            continue
        subresource = _PathItem(resource, _SUBRESOURCE, parameters, name.title())
        yield f"{item}/{name}", subresource


def _content(media_types: Iterable[str], component: str | None) -> JSONObject:
    # Without a schema, an object of any form.
    schema: JSONObject = {"type": "object"}
    if component:
        schema = {"$ref": REFERENCE_PREFIX + component}
    return {media_type: {"schema": schema} for media_type in media_types}


def _parameters(names: Iterable[str], place: str) -> JSONObject:
    """Return parameters in the path or in the query, if there are any."""
    listed: list[JSON] = []
    for name in names:
        parameter: JSONObject = {
            "name": name,
            "in": place,
            "schema": {"type": _QUERY_TYPES.get(name, "string")},
        }
        # OpenAPI demands this of every parameter in a path.
        if place == "path":
            parameter["required"] = True
        listed.append(parameter)
    return {"parameters": listed} if listed else {}
