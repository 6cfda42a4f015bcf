"""The paths of an OpenAPI document: which operations a resource has, what they take and
what they answer.

Their form, and the ids of operations, are those of the documents in k8s.io/kubernetes,
api/openapi-spec/v3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from smp.schema.openapi_writer import REFERENCE_PREFIX
from smp.server.objects.resources import SUBRESOURCE_VERBS, Resource
from smp.values import JSON, JSONObject


class Operation(NamedTuple):
    """An operation: its method, the verb in discovery that it needs, its query, and
    what it reads and answers.
    """

    method: str
    verb: str
    query: tuple[str, ...] = ()
    reads: str = ""
    answers: str = "object"


_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETING: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
)
_SELECTING: Final = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
)
_WATCHING: Final = (
    "allowWatchBookmarks",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_BOOLEANS: Final = {
    "allowWatchBookmarks",
    "orphanDependents",
    "sendInitialEvents",
    "watch",
}
_INTEGERS: Final = {"gracePeriodSeconds", "limit", "timeoutSeconds"}

_LIST: Final = Operation("get", "list", (*_SELECTING, *_WATCHING), answers="list")
_COLLECTION: Final = (
    _LIST,
    Operation("post", "create", _WRITING, reads="object"),
    Operation(
        "delete",
        "deletecollection",
        (*_DELETING, *_SELECTING),
        reads="options",
        answers="status",
    ),
)
_READ_AND_WRITE: Final = (
    Operation("get", "get"),
    Operation("put", "update", _WRITING, reads="object"),
    Operation("patch", "patch", _WRITING, reads="patch"),
)
_ITEM: Final = (
    *_READ_AND_WRITE,
    Operation("delete", "delete", _DELETING, reads="options", answers="status"),
)

_VERBS: Final = {
    "create": "create",
    "delete": "delete",
    "deletecollection": "delete",
    "get": "read",
    "list": "list",
    "patch": "patch",
    "update": "replace",
}
_JSON: Final = "application/json"
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC: Final = "application/strategic-merge-patch+json"


def paths(resource: Resource, components: Mapping[str, str]) -> dict[str, JSONObject]:
    """Return the paths of a resource and of its subresources.

    ``components`` names the schemas of its ``object`` and ``list``, and of ``scale``,
    ``options``, ``status`` and ``patch``; what it lacks is an object of any kind.
    """
    return {path: item.document(components) for path, item in _items(resource)}


def _items(resource: Resource) -> Iterator[tuple[str, _Item]]:
    namespaced = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{resource.prefix}{namespaced}/{resource.plural}"
    parameters = ("namespace",) if resource.namespaced else ()
    if resource.namespaced:
        yield (
            f"{resource.prefix}/{resource.plural}",
            _Item(resource, (_LIST,), (), "ForAllNamespaces"),
        )
    yield collection, _Item(resource, _COLLECTION, parameters)
    yield f"{collection}/{{name}}", _Item(resource, _ITEM, ("name", *parameters))
    for name in resource.subresources:
        yield (
            f"{collection}/{{name}}/{name}",
            _Item(resource, _READ_AND_WRITE, ("name", *parameters), name.title()),
        )


class _Item(NamedTuple):
    """One path: its operations, its parameters, and what sets their ids apart from
    those of the object itself.
    """

    resource: Resource
    operations: tuple[Operation, ...]
    parameters: tuple[str, ...]
    suffix: str = ""

    def document(self, components: Mapping[str, str]) -> JSONObject:
        verbs = (
            SUBRESOURCE_VERBS
            if self.suffix in {"Scale", "Status"}
            else self.resource.verbs
        )
        own = (
            {**components, "object": components.get("scale", "")}
            if self.suffix == "Scale"
            else components
        )
        operations = {
            one.method: self._operation(one, own)
            for one in self.operations
            if one.verb in verbs
        }
        return {**operations, **_parameters(self.parameters, "path")}

    def _operation(self, one: Operation, components: Mapping[str, str]) -> JSONObject:
        content = _content((_JSON,), components.get(one.answers))
        return {
            "operationId": self._id(one),
            **_parameters(one.query, "query"),
            **self._body(one, components),
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": one.verb
            if one.verb in {"list", "deletecollection"}
            else one.method,
            "x-kubernetes-group-version-kind": self._kind(),
        }

    def _body(self, one: Operation, components: Mapping[str, str]) -> JSONObject:
        if not one.reads:
            return {}
        media_types: Iterable[str] = (_JSON,)
        if one.reads == "patch":
            media_types = _PATCHES if self.resource.custom else (*_PATCHES, _STRATEGIC)
        body: JSONObject = {"content": _content(media_types, components.get(one.reads))}
        return {
            "requestBody": body
            if one.reads == "options"
            else {**body, "required": True}
        }

    def _id(self, one: Operation) -> str:
        group = (self.resource.group or "core").removesuffix(".k8s.io").split(".")
        collection = "Collection" if one.verb == "deletecollection" else ""
        scope = "Namespaced" if "namespace" in self.parameters else ""
        words = (
            *group,
            self.resource.version,
            collection,
            scope,
            self.resource.kind,
            self.suffix,
        )
        return _VERBS[one.verb] + "".join(word[:1].upper() + word[1:] for word in words)

    def _kind(self) -> JSONObject:
        if self.suffix == "Scale":
            return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        return {
            "group": self.resource.group,
            "version": self.resource.version,
            "kind": self.resource.kind,
        }


def _content(media_types: Iterable[str], component: str | None) -> JSONObject:
    schema: JSONObject = (
        {"$ref": REFERENCE_PREFIX + component} if component else {"type": "object"}
    )
    return {media_type: {"schema": schema} for media_type in media_types}


def _parameters(names: Iterable[str], place: str) -> JSONObject:
    listed: list[JSON] = [
        {
            "name": name,
            "in": place,
            "schema": {"type": _type(name)},
            **({"required": True} if place == "path" else {}),
        }
        for name in names
    ]
    return {"parameters": listed} if listed else {}


def _type(name: str) -> str:
    return (
        "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string"
    )
