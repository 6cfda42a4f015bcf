"""The OpenAPI v3 documents that the server publishes.

There is an index with hashes, and a document for each group and version. kubectl needs
three things of them: the patch operation of a kind states that the server validates
fields and which patches it accepts, the components state how lists are merged, and
``kubectl explain`` shows the components. Source: "The Kubernetes API" in the Kubernetes
documentation ("OpenAPI interface definition").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from smp._values import codec
from smp._values.values import JSON, JSONObject, objects_in
from smp.schema.catalog import Catalog
from smp.schema.descriptions import describe
from smp.schema.openapi_writer import (
    REFERENCE_PREFIX,
    add_description,
    add_enums,
    write_schemas,
)
from smp.schema.resources import Resource, Resources, api_version
from smp.schema.sources.openapi import Kind
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import Definition

# The names of schemas, by role: object, list, scale, options, status and patch.
Components: TypeAlias = Mapping[str, str]

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


class Operation(msgspec.Struct, frozen=True):
    """One operation of a path.

    ``prefix`` is how its id begins, and ``query`` names its query parameters. ``reads``
    and ``answers`` are the roles of the schemas of its request and response; an
    operation without a request body reads "".
    """

    method: str
    prefix: str
    query: tuple[str, ...] = ()
    reads: str = ""
    answers: str = "object"


# By the verb in discovery.
_OPERATIONS: Final = {
    "list": Operation("get", "list", (*_SELECT_QUERY, *_WATCH_QUERY), answers="list"),
    "create": Operation("post", "create", _WRITE_QUERY, "object"),
    "deletecollection": Operation(
        "delete", "delete", (*_DELETE_QUERY, *_SELECT_QUERY), "options", "status"
    ),
    "get": Operation("get", "read"),
    "update": Operation("put", "replace", _WRITE_QUERY, "object"),
    "patch": Operation("patch", "patch", _WRITE_QUERY, "patch"),
    "delete": Operation("delete", "delete", _DELETE_QUERY, "options", "status"),
}
_COLLECTION: Final = ("list", "create", "deletecollection")
_SUBRESOURCE: Final = ("get", "update", "patch")
_JSON_TYPE: Final = "application/json"
_PATCH_TYPES: Final = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC_PATCH_TYPE: Final = "application/strategic-merge-patch+json"


def paths(resource: Resource, components: Components) -> dict[str, JSONObject]:
    """Return the paths of a resource and of its subresources.

    A role that ``components`` lacks is an object of any form.
    """
    documents: dict[str, JSONObject] = {}

    def add(path: str, verbs: Iterable[str], names: tuple[str, ...], end: str) -> None:
        # The object of this subresource is of a kind of its own.
        roles = components
        if end == "Scale":
            roles = {**components, "object": components.get("scale", "")}
        document = _parameters(names, "path")
        for verb in verbs:
            document[_OPERATIONS[verb].method] = {
                "operationId": _operation_id(resource, verb, names, end),
                **_operation(resource, verb, roles, is_scale=end == "Scale"),
            }
        documents[path] = document

    allowed = resource.verbs
    collection = f"{resource.prefix}/{resource.plural}"
    parameters: tuple[str, ...] = ()
    if resource.namespaced:
        # Without a namespace, the objects of all namespaces can be listed.
        if "list" in allowed:
            add(collection, ("list",), (), "ForAllNamespaces")
        collection = f"{resource.prefix}/namespaces/{{namespace}}/{resource.plural}"
        parameters = ("namespace",)
    add(collection, [each for each in _COLLECTION if each in allowed], parameters, "")
    if "get" in allowed:
        item, parameters = f"{collection}/{{name}}", ("name", *parameters)
        verbs = [each for each in (*_SUBRESOURCE, "delete") if each in allowed]
        add(item, verbs, parameters, "")
        for name in ("scale", "status"):
            if name in resource.subresources:
                add(f"{item}/{name}", _SUBRESOURCE, parameters, name.title())
    return documents


def _operation_id(
    resource: Resource, verb: str, parameters: tuple[str, ...], end: str
) -> str:
    """Return an id such as ``deleteAppsV1CollectionNamespacedDeployment``."""
    group = (resource.group or "core").removesuffix(".k8s.io")
    parts = [*group.split("."), resource.version]
    if verb == "deletecollection":
        parts.append("Collection")
    if "namespace" in parameters:
        parts.append("Namespaced")
    # Not capitalize(), which would lower the rest of "NetworkPolicy".
    parts = [part[:1].upper() + part[1:] for part in (*parts, resource.kind, end)]
    return _OPERATIONS[verb].prefix + "".join(parts)


def _operation(
    resource: Resource, verb: str, components: Components, *, is_scale: bool
) -> JSONObject:
    operation = _OPERATIONS[verb]
    document = _parameters(operation.query, "query")
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
    kind = (resource.group, resource.version, resource.kind)
    group, version, name = ("autoscaling", "v1", "Scale") if is_scale else kind
    # kubectl looks for the patch operation of a kind by these two extensions.
    is_of_many = verb in {"list", "deletecollection"}
    return {
        **document,
        "responses": {"200": {"description": "OK", "content": answer}},
        "x-kubernetes-action": verb if is_of_many else operation.method,
        _KINDS: {"group": group, "version": version, "kind": name},
    }


def _content(media_types: Iterable[str], component: str | None) -> JSONObject:
    # Without a schema, an object of any form.
    schema: JSONObject = {"type": "object"}
    if component:
        schema = {"$ref": REFERENCE_PREFIX + component}
    return {media_type: {"schema": schema} for media_type in media_types}


def _parameters(names: Iterable[str], place: str) -> JSONObject:
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


V2_CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# An empty protobuf message. kubectl asks for the v2 document where the v3 documents do
# not answer a question, accepts an empty one, and does not read it as JSON.
V2_BODY: Final = b""

_KINDS: Final = "x-kubernetes-group-version-kind"
_PATCH: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
# The kinds that operations on any resource refer to, by their role in an operation.
_COMMON_KINDS: Final[dict[str, Kind]] = {
    "scale": ("autoscaling/v1", "Scale"),
    "options": ("v1", "DeleteOptions"),
    "status": ("v1", "Status"),
}


# The enums of places such as TYPE.FIELD: values, and what they mean.
Enums: TypeAlias = Mapping[str, Mapping[str, str]]
_NO_ENUMS: Final[Enums] = {}


class OpenAPIDocument(msgspec.Struct, frozen=True):
    """A document as bytes of JSON, and the SHA-256 of these bytes."""

    body: bytes
    hash: str


class _Content(msgspec.Struct, frozen=True):
    """What a document describes: the resources of one group and version.

    ``definitions`` are those of the custom resources among them. Definitions are equal
    only if they are identical, so equal contents give equal documents.
    """

    resources: tuple[Resource, ...]
    definitions: tuple[Definition, ...]


class OpenAPI:
    """The documents of the resources that are served.

    ``enums`` are those of the built-in kinds (smp.schema.openapi_writer.add_enums).
    Each document is built when it is first asked for, and kept.
    """

    def __init__(
        self,
        resources: Resources,
        catalog: Catalog,
        definitions: Iterable[Definition] = (),
        *,
        enums: Enums = _NO_ENUMS,
    ) -> None:
        self._catalog = catalog
        self._enums = enums
        # The names of the schemas in the catalog: "#name" is a reference to one.
        self._schema_names: dict[Kind, str] = {}
        for kind in catalog.kinds():
            reference = str(catalog.schema(*kind).document)
            self._schema_names[kind] = reference.removeprefix("#")
        self._contents = dict(_contents(resources, tuple(definitions)))
        self._built: dict[_Content, OpenAPIDocument] = {}

    def with_resources(
        self, resources: Resources, definitions: Iterable[Definition] = ()
    ) -> OpenAPI:
        """Return the documents of other resources.

        A document that is the same in both is not built again.
        """
        other = OpenAPI(resources, self._catalog, definitions, enums=self._enums)
        for content in other._contents.values():
            if content in self._built:
                other._built[content] = self._built[content]
        return other

    def index(self) -> bytes:
        """Return the index: the URL of each document, with its hash.

        A client keeps a document as long as its URL does not change.
        """
        urls: JSONObject = {}
        for name in self._contents:
            url = f"/openapi/v3/{name}?hash={self.document(name).hash}"
            urls[name] = {"serverRelativeURL": url}
        return codec.encode({"paths": urls})

    def document(self, name: str) -> OpenAPIDocument:
        """Return the document of a group and version: ``api/v1``, ``apis/apps/v1``.

        Raises UnknownResourceError.
        """
        content = self._contents.get(name)
        if content is None:
            raise UnknownResourceError(f"OpenAPI document {name} not found")
        # The index needs the hashes, so it builds all documents.
        if content not in self._built:
            body = codec.encode(self._build(content))
            digest = hashlib.sha256(body).hexdigest()
            self._built[content] = OpenAPIDocument(body, digest)
        return self._built[content]

    def _build(self, content: _Content) -> JSONObject:
        # The schemas of custom resources come from their definitions.
        version = content.resources[0].version
        custom: dict[str, JSONObject] = {}
        for definition in content.definitions:
            custom |= definition.version(version).components
        names = {**self._schema_names}
        for name, schema in custom.items():
            for kind in objects_in(schema.get(_KINDS)):
                group_version = api_version(str(kind["group"]), str(kind["version"]))
                names[group_version, str(kind["kind"])] = name

        # The operations, and the names of the schemas that they refer to.
        path_items: JSONObject = {}
        wanted: set[str] = set()
        for resource in content.resources:
            components = _components(resource, names)
            path_items |= paths(resource, components)
            wanted |= set(components.values())

        # All other schemas come from the catalog, with those that they refer to.
        references = _references([*custom.values()])
        schemas: JSONObject = {
            **self._catalog_schemas([*wanted - custom.keys(), *references]),
            **custom,
            _PATCH: {"type": "object"},
        }
        return {
            "openapi": "3.0.0",
            "info": {
                "title": "Kubernetes",
                "version": self._catalog.version or "unversioned",
            },
            "paths": path_items,
            "components": {"schemas": schemas},
        }

    def _catalog_schemas(self, names: Iterable[str]) -> dict[str, JSONObject]:
        """Return schemas of the catalog, each with the kinds that it is the schema of.

        Several kinds may share one: DeleteOptions is a kind of every group.
        """
        kinds: dict[str, list[JSON]] = {}
        for (group_version, kind), name in self._schema_names.items():
            group, _, version = group_version.rpartition("/")
            kinds.setdefault(name, []).append(
                {"group": group, "version": version, "kind": kind}
            )
        schemas = write_schemas(names, self._catalog.load)
        schemas = add_enums(schemas, self._enums)
        schemas = {
            name: add_description(schema, describe(name))
            for name, schema in schemas.items()
        }
        for name in schemas.keys() & kinds.keys():
            schemas[name] = {**schemas[name], _KINDS: kinds[name]}
        return schemas


def _contents(
    resources: Resources, definitions: tuple[Definition, ...]
) -> Iterator[tuple[str, _Content]]:
    for group in resources.groups():
        for version in resources.versions(group):
            served = resources.in_version(group, version)
            own_definitions = tuple(
                definition
                for definition in definitions
                if not set(served).isdisjoint(definition.resources)
            )
            yield served[0].prefix.removeprefix("/"), _Content(served, own_definitions)


def _components(resource: Resource, names: dict[Kind, str]) -> dict[str, str]:
    """Return the names of the schemas that operations on a resource refer to.

    They are given by role; a role without a schema is left out.
    """
    kinds: dict[str, Kind] = {
        "object": (resource.api_version, resource.kind),
        "list": (resource.api_version, resource.list_kind),
        **_COMMON_KINDS,
    }
    components = {role: names[kind] for role, kind in kinds.items() if kind in names}
    return {**components, "patch": _PATCH}


def _references(schema: JSON) -> Iterator[str]:
    if isinstance(schema, list):
        for element in schema:
            yield from _references(element)
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(REFERENCE_PREFIX)
        for value in schema.values():
            yield from _references(value)
