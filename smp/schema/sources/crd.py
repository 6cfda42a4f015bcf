"""CustomResourceDefinitions, turned into the OpenAPI document that a server publishes.

A server supplies what the author of a CRD leaves out: apiVersion, kind and metadata, of
the whole resource and of embedded ones (Go: apiextensions-apiserver,
controller/openapi/builder). Lists stay as published: list types and map keys are those
of server-side apply, and no patch strategy is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text, type_name
from smp.errors import SchemaError, bounded
from smp.paths import Path

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_KIND: Final = "CustomResourceDefinition"
_LISTS: Final = ("List", f"{_KIND}List")
_V1_BETA_1: Final = "apiextensions.k8s.io/v1beta1"
_API_VERSIONS: Final = ("apiextensions.k8s.io/v1", _V1_BETA_1)
_SPEC: Final = Path(("spec",))
_STRING: Final[JSONObject] = {"type": "string"}
_KEPT_OF_SPEC: Final = ("group", "names", "scope", "version")
_KEPT_OF_SCHEMA: Final = (
    "default",
    "nullable",
    "required",
    "x-kubernetes-preserve-unknown-fields",
)
_FREE_FORM: Final[JSONObject] = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}


@bounded("the CustomResourceDefinition")
def to_openapi(documents: JSON) -> JSONObject:
    """Return the OpenAPI v3 document of a CustomResourceDefinition, or of a list.

    v1 and v1beta1 are read, and every version that is served; without a schema, which
    only v1beta1 allows, objects are free-form. A keyword that is null counts as absent.
    The ``items`` of a List object are read as a list. Metadata refers to
    ``OBJECT_META``, which the result does not define. Raises SchemaError, with the
    path, for what is not a CustomResourceDefinition, and DepthError.
    """
    schemas: JSONObject = {}
    for definition in definitions(documents):
        group = _text_at(definition, _SPEC / "group")
        kind = _text_at(definition, _SPEC / "names" / "kind")
        for path, version, schema in _find_served_versions(definition):
            stated = schema.get("type") if isinstance(schema, dict) else None
            if not isinstance(schema, dict) or stated not in (None, "object"):
                raise SchemaError(
                    "a served version needs a schema of type object", path=path
                )
            # A server names the type by the group reversed: com.example.v1.Widget.
            name = ".".join([*reversed(group.split(".")), version, kind])
            names: JSONObject = {"group": group, "version": version, "kind": kind}
            # The root is a resource like those that are embedded in it.
            schemas[name] = {
                **_add_type_meta(_supply_defaults(schema)),
                "type": "object",
                "x-kubernetes-group-version-kind": [names],
            }
    if not schemas:
        raise SchemaError(
            "no CustomResourceDefinition that serves a version",
            hint="spec.versions[].served",
        )
    return {"components": {"schemas": schemas}}


def drop_status(documents: JSON) -> Iterator[tuple[str, str]]:
    """Yield apiVersion and kind of each version without the subresource ``status``.

    The status of its objects is written as all else. The documents are valid.
    """
    for definition in definitions(documents):
        group = _text_at(definition, _SPEC / "group")
        kind = _text_at(definition, _SPEC / "names" / "kind")
        shared = _value_at(definition, _SPEC / "subresources" / "status")
        for path, version, _ in _find_served_versions(definition):
            own = _value_at(definition, path / "subresources" / "status")
            if own is None and shared is None:
                yield f"{group}/{version}", kind


def definitions(documents: JSON) -> Iterator[JSONObject]:
    """Yield the definitions in a document, in a List object, or in a list of them.

    Raises SchemaError for what is not a CustomResourceDefinition.
    """
    for document in documents if isinstance(documents, list) else [documents]:
        if not isinstance(document, dict):
            raise SchemaError(f"a {_KIND} is an object, not {type_name(document)}")
        items = document.get("items")
        if document.get("kind") in _LISTS and isinstance(items, list):
            # As kubectl get prints several.
            yield from definitions(items)
        elif (
            document.get("kind") == _KIND
            and document.get("apiVersion") in _API_VERSIONS
        ):
            yield document
        else:
            raise SchemaError(
                f"the document is not a {_KIND}",
                hint="apiVersion: " + " or ".join(_API_VERSIONS),
            )


class StructuralVersion(msgspec.Struct, frozen=True):
    """The schema of a version as its definition has it, and its subresources."""

    schema: dict[str, Any]
    subresources: dict[str, Any] = {}


def structural_schemas(documents: JSON) -> dict[tuple[str, str], StructuralVersion]:
    """Return the schemas of definitions, which have the defaults, by their kinds."""
    schemas: dict[tuple[str, str], StructuralVersion] = {}
    for definition in definitions(documents):
        spec = as_object(definition.get("spec"))
        kind = as_text(as_object(spec.get("names")).get("kind"))
        # v1beta1 has no defaults, unless it prunes (Go: apiextensions, validation).
        for version in as_list(spec.get("versions")):
            name = as_text(as_object(version).get("name"))
            schema = as_object(as_object(version).get("schema"))
            api_version = f"{as_text(spec.get('group'))}/{name}"
            schemas[api_version, kind] = StructuralVersion(
                as_object(schema.get("openAPIV3Schema")),
                as_object(as_object(version).get("subresources")),
            )
    return schemas


def condense(definition: JSONObject) -> JSONObject:
    """Return a definition with what its types do not hold.

    These are the names and the scope of the resource, and of its schemas the structure
    with defaults, required fields, where a null is allowed, and what is not pruned.
    """
    spec = as_object(definition.get("spec"))
    kept: JSONObject = {name: spec[name] for name in _KEPT_OF_SPEC if name in spec}
    validation = as_object(spec.get("validation"))
    if validation:
        kept["validation"] = _add_structure(validation)
    if "versions" in spec:
        versions: list[JSON] = []
        for version in as_list(spec["versions"]):
            described = as_object(version)
            versions.append(
                {
                    "name": described.get("name"),
                    "served": described.get("served"),
                    "schema": _add_structure(as_object(described.get("schema"))),
                }
            )
        kept["versions"] = versions
    return {
        "apiVersion": definition.get("apiVersion"),
        "kind": definition.get("kind"),
        "spec": kept,
    }


def _add_structure(owner: JSONObject) -> JSONObject:
    schema = owner.get("openAPIV3Schema")
    return {"openAPIV3Schema": _structure(schema)} if isinstance(schema, dict) else {}


def _structure(schema: JSONObject) -> JSONObject:
    """Return a schema with what defaulting and merging read, and what is required."""
    kept: JSONObject = {
        name: schema[name] for name in _KEPT_OF_SCHEMA if name in schema
    }
    return {**kept, **_inner_schemas(schema, _structure)}


def _inner_schemas(
    schema: JSONObject, change: Callable[[JSONObject], JSONObject]
) -> JSONObject:
    """Return the keywords that have the schemas of fields or elements, changed."""
    changed: JSONObject = {}
    for keyword in ("items", "additionalProperties"):
        inner = schema.get(keyword)
        if isinstance(inner, dict):
            changed[keyword] = change(inner)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        fields: JSONObject = {}
        for name, field in properties.items():
            fields[name] = change(field) if isinstance(field, dict) else field
        changed["properties"] = fields
    return changed


def _find_served_versions(definition: JSONObject) -> Iterator[tuple[Path, str, JSON]]:
    # v1beta1 may have one schema for all versions, and one version instead of a list.
    shared = _value_at(definition, _SPEC / "validation" / "openAPIV3Schema")
    if shared is None and definition.get("apiVersion") == _V1_BETA_1:
        # apiextensions v1beta1, CustomResourceDefinitionSpec: validation is optional,
        # and preserveUnknownFields is true unless stated otherwise.
        shared = _FREE_FORM
    versions = _value_at(definition, _SPEC / "versions")
    if versions is None:
        yield _SPEC, _text_at(definition, _SPEC / "version"), shared
        return
    if not isinstance(versions, list):
        raise SchemaError(
            f"versions are a list, not {type_name(versions)}", path=_SPEC / "versions"
        )
    for index in range(len(versions)):
        path = _SPEC / "versions" / index
        # The API requires ``served``; a version without it is taken as served.
        if _value_at(definition, path / "served") is not False:
            name = _text_at(definition, path / "name")
            schema = _value_at(definition, path / "schema" / "openAPIV3Schema")
            yield path, name, shared if schema is None else schema


def _supply_defaults(node: JSONObject) -> JSONObject:
    """Supply what the resources that are embedded in a schema leave out."""
    # Go decodes a keyword that is null as absent.
    node = {name: value for name, value in node.items() if value is not None}
    supplied = {**node, **_inner_schemas(node, _supply_defaults)}
    if node.get("x-kubernetes-embedded-resource") is True:
        return _add_type_meta(supplied)
    return supplied


def _add_type_meta(node: JSONObject) -> JSONObject:
    """Add apiVersion and kind where missing, and the metadata of Kubernetes."""
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        # An error, for the compiler of schemas to raise with its path.
        return node
    # Metadata is never the author's: a CRD can restrict only its name and generateName.
    metadata: JSONObject = {"$ref": f"#/components/schemas/{OBJECT_META}"}
    return {
        **node,
        "properties": {
            "apiVersion": _STRING,
            "kind": _STRING,
            **properties,
            "metadata": metadata,
        },
    }


def _text_at(document: JSON, path: Path) -> str:
    value = _value_at(document, path)
    if not isinstance(value, str) or not value:
        raise SchemaError(f"{path.steps[-1]} is missing", path=path)
    return value


def _value_at(document: JSON, path: Path) -> JSON:
    """Return the value at a path, and None where the path leads nowhere."""
    for step in path.steps:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int):
            document = document[step]
        else:
            return None
    return document
