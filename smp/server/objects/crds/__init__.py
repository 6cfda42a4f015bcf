"""CustomResourceDefinitions: read and checked, and what they become: resources,
schemas, columns. Pure.

Only ``apiextensions.k8s.io/v1``, and without conversion: the versions of a resource
differ in their apiVersion alone. Source: "Extend the Kubernetes API with
CustomResourceDefinitions" and "Versions in CustomResourceDefinitions" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.catalog import Catalog
from smp.schema.openapi_writer import REFERENCE_PREFIX
from smp.schema.sources.crd import to_openapi
from smp.server.errors import InvalidError, UnknownResourceError, invalid, raise_invalid
from smp.server.objects.crds._printer_columns import columns, is_supported
from smp.server.objects.crds._rules import problems
from smp.server.objects.crds._schema_rules import unevaluated
from smp.server.objects.crds._spec import Crd, Scale, Version, read
from smp.server.objects.crds._status import is_established, with_status
from smp.server.objects.crds.json_path import member_names
from smp.server.objects.resources import Resource, ScalePaths
from smp.server.objects.tables.columns import Column
from smp.values import JSON, JSONObject

__all__ = ["DefinedVersion", "Definition", "is_established", "with_status"]

_KINDS: Final = "x-kubernetes-group-version-kind"


@dataclass(frozen=True, slots=True)
class DefinedVersion:
    """One served version of a custom resource: what it is, the schema of its objects,
    and the columns of its table.

    ``components`` are the schemas that are published: of an object and of a list, by
    name.
    """

    resource: Resource
    schema: JSONObject
    columns: tuple[Column, ...]
    components: dict[str, JSONObject]


class Definition:
    """A CustomResourceDefinition that was found valid; two are equal only if they are
    one.

    ``catalog`` has the schemas of its served versions for the handler; ``warnings`` say
    what is not evaluated here.
    """

    def __init__(self, crd: Crd, document: JSONObject) -> None:
        self.name = crd.metadata.name
        self.catalog = Catalog.from_crd(document)
        self.warnings = tuple(_warnings(crd))
        schemas = _members(_members(to_openapi(document)["components"]).get("schemas"))
        self._versions = {
            one.name: _defined(crd, one, schemas)
            for one in crd.spec.versions
            if one.served
        }
        self.resources = tuple(one.resource for one in self._versions.values())

    @classmethod
    def read(cls, document: JSONObject) -> Definition:
        """Read a CustomResourceDefinition. Raises InvalidError, StatusError and DepthError."""
        crd = read(document)
        raise_invalid(problems(crd))
        try:
            return cls(crd, document)
        except SchemaError as error:
            raise InvalidError(
                [invalid(Path(("spec", "versions")), crd.metadata.name, str(error))]
            ) from None

    def version(self, name: str) -> DefinedVersion:
        """Return a served version. Raises UnknownResourceError."""
        if name not in self._versions:
            raise UnknownResourceError(f"{self.name} does not serve {name}")
        return self._versions[name]


def _defined(crd: Crd, version: Version, schemas: JSONObject) -> DefinedVersion:
    resource = _resource(crd, version)
    own: JSONObject = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
    }
    name = next(
        name for name, node in schemas.items() if _members(node).get(_KINDS) == [own]
    )
    listed_kind: JSONObject = {**own, "kind": resource.list_kind}
    components = {
        name: _members(schemas[name]),
        f"{name}List": _list(name, listed_kind),
    }
    schema = version.schema.openapi or {}
    return DefinedVersion(
        resource, schema, columns(version.additional_printer_columns), components
    )


def _resource(crd: Crd, version: Version) -> Resource:
    names, spec = crd.spec.names, crd.spec
    scale = version.subresources.scale
    return Resource(
        group=spec.group,
        version=version.name,
        kind=names.kind,
        plural=names.plural,
        namespaced=spec.scope == "Namespaced",
        singular=names.singular,
        list_kind=names.list_kind,
        short_names=names.short_names,
        categories=names.categories,
        status=version.subresources.status is not None,
        scale=_scale_paths(scale) if scale else None,
        storage_version=next(one.name for one in spec.versions if one.storage),
        custom=True,
    )


def _scale_paths(scale: Scale) -> ScalePaths:
    selector = (
        member_names(scale.label_selector_path) if scale.label_selector_path else ()
    )
    return ScalePaths(
        member_names(scale.spec_replicas_path),
        member_names(scale.status_replicas_path),
        selector,
    )


def _list(name: str, kind: JSONObject) -> JSONObject:
    """Return the schema of a list of objects whose schema has a name."""
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "$ref": f"{REFERENCE_PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
            },
            "items": {"type": "array", "items": {"$ref": REFERENCE_PREFIX + name}},
        },
        _KINDS: [kind],
    }


def _warnings(crd: Crd) -> Iterator[str]:
    """Yield what of a definition is not evaluated."""
    for index, version in enumerate(crd.spec.versions):
        path = Path(("spec", "versions", index))
        for place in unevaluated(
            version.schema.openapi or {}, path / "schema" / "openAPIV3Schema"
        ):
            yield f"{place}: not evaluated by this server"
        for number, column in enumerate(version.additional_printer_columns):
            if not is_supported(column.json_path):
                place = path / "additionalPrinterColumns" / number / "jsonPath"
                yield f"{place}: not supported by this server, the column stays empty"


def _members(value: JSON) -> JSONObject:
    return value if isinstance(value, dict) else {}
