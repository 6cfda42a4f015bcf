"""The OpenAPI v3 documents that the server publishes: an index with hashes, and a
document for each group and version.

What kubectl needs of them: the patch operation of a kind says that the server validates
fields and which patches it takes, components say how lists are merged, ``kubectl
explain`` reads components. Custom resources take no strategic merge patch. Source: "The
Kubernetes API" in the Kubernetes documentation ("OpenAPI interface definition").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from smp import codec
from smp.schema.catalog import Catalog
from smp.schema.openapi_writer import REFERENCE_PREFIX, write_schemas
from smp.schema.sources.openapi import Kind
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import Definition
from smp.server.objects.resources import Resource, Resources, api_version
from smp.server.openapi._operations import paths
from smp.values import JSON, JSONObject, as_list

Part: TypeAlias = tuple[tuple[Resource, ...], tuple[Definition, ...]]

V2_CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# an empty message: kubectl is content with it, and never reads the v2 document as JSON
V2_BODY: Final = b""

_KINDS: Final = "x-kubernetes-group-version-kind"
_PATCH: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
_SHARED: Final[dict[str, Kind]] = {
    "scale": ("autoscaling/v1", "Scale"),
    "options": ("v1", "DeleteOptions"),
    "status": ("v1", "Status"),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A document, and the hash of what it says."""

    body: bytes
    hash: str


class OpenAPI:
    """The documents of the resources that are served, each built when it is first asked
    for, and kept.
    """

    def __init__(
        self,
        resources: Resources,
        catalog: Catalog,
        definitions: Iterable[Definition] = (),
    ) -> None:
        self._catalog = catalog
        self._names = {
            kind: str(catalog.schema(*kind).document)[1:] for kind in catalog.kinds()
        }
        self._parts = dict(_parts(resources, tuple(definitions)))
        self._built: dict[Part, Document] = {}

    def with_resources(
        self, resources: Resources, definitions: Iterable[Definition] = ()
    ) -> OpenAPI:
        """Return the documents of other resources; what is the same in both is not
        built again.
        """
        other = OpenAPI(resources, self._catalog, definitions)
        other._built = {
            part: self._built[part]
            for part in other._parts.values()
            if part in self._built
        }
        return other

    def index(self) -> bytes:
        """Return the index: where each document is, with its hash."""
        places: JSONObject = {
            name: {
                "serverRelativeURL": f"/openapi/v3/{name}?hash={self.document(name).hash}"
            }
            for name in self._parts
        }
        return codec.encode({"paths": places})

    def document(self, name: str) -> Document:
        """Return the document of a group and version (``api/v1``, ``apis/apps/v1``).
        Raises UnknownResourceError.
        """
        part = self._parts.get(name)
        if part is None:
            raise UnknownResourceError(f"there is no OpenAPI document {name}")
        if part not in self._built:
            body = codec.encode(self._document(*part))
            self._built[part] = Document(body, hashlib.sha256(body).hexdigest())
        return self._built[part]

    def _document(
        self, resources: tuple[Resource, ...], definitions: tuple[Definition, ...]
    ) -> JSONObject:
        custom = {
            name: node
            for one in definitions
            for name, node in one.version(resources[0].version).components.items()
        }
        names = self._names | {
            kind: name for name, node in custom.items() for kind in _kinds(node)
        }
        operations = [paths(one, _components(one, names)) for one in resources]
        wanted = {
            name for one in resources for name in _components(one, names).values()
        }
        known = write_schemas(
            [*wanted - custom.keys(), *_references([*custom.values()])],
            self._catalog.load,
        )
        return {
            "openapi": "3.0.0",
            "info": {
                "title": "Kubernetes",
                "version": self._catalog.version or "unversioned",
            },
            "paths": {path: item for one in operations for path, item in one.items()},
            "components": {
                "schemas": {
                    **self._with_kinds(known),
                    **custom,
                    _PATCH: {"type": "object"},
                }
            },
        }

    def _with_kinds(self, known: dict[str, JSONObject]) -> JSONObject:
        kinds: dict[str, list[JSON]] = {}
        for (group_version, kind), name in self._names.items():
            group, _, version = group_version.rpartition("/")
            kinds.setdefault(name, []).append(
                {"group": group, "version": version, "kind": kind}
            )
        return {
            name: {**node, _KINDS: kinds[name]} if name in kinds else node
            for name, node in known.items()
        }


def _parts(
    resources: Resources, definitions: tuple[Definition, ...]
) -> Iterator[tuple[str, Part]]:
    for group in resources.groups():
        for version in resources.versions(group):
            served = resources.in_version(group, version)
            own = tuple(one for one in definitions if set(one.resources) & set(served))
            yield served[0].prefix[1:], (served, own)


def _components(resource: Resource, names: dict[Kind, str]) -> dict[str, str]:
    """Return the names of the schemas that the operations of a resource need, as far as
    they are known.
    """
    own = {
        "object": (resource.api_version, resource.kind),
        "list": (resource.api_version, resource.list_kind),
    }
    found = {role: names.get(kind) for role, kind in {**own, **_SHARED}.items()}
    return {role: name for role, name in found.items() if name} | {"patch": _PATCH}


def _kinds(node: JSONObject) -> Iterator[Kind]:
    for kind in as_list(node.get(_KINDS)):
        if isinstance(kind, dict):
            yield (
                api_version(str(kind["group"]), str(kind["version"])),
                str(kind["kind"]),
            )


def _references(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(REFERENCE_PREFIX)
        value = [*value.values()]
    for inner in value if isinstance(value, list) else ():
        yield from _references(inner)
