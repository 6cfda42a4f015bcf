"""CustomResourceDefinitions, turned into the OpenAPI document that an API server
publishes for them.

A server supplies what the author of a CRD leaves bare: apiVersion, kind and metadata,
of the whole resource and of embedded ones (Go: apiextensions-apiserver,
controller/openapi/builder). Lists stay as published: list types and map keys are
server-side apply's, and no patch strategy is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp.errors import DepthError, SchemaError
from smp.paths import Path
from smp.values import JSON, JSONObject, type_name

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_KIND: Final = "CustomResourceDefinition"
_LISTS: Final = ("List", f"{_KIND}List")
_VERSIONS: Final = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
_SPEC: Final = Path(("spec",))
_STRING: Final[JSONObject] = {"type": "string"}


def to_openapi(documents: JSON) -> JSONObject:
    """Return the OpenAPI v3 document of one CustomResourceDefinition, or of several in
    a list.

    v1 and v1beta1 are read, and every version that is served; the ``items`` of a List
    object count as several. Metadata refers to ``OBJECT_META``, which the document
    itself does not define. Raises SchemaError, with the path, for what is not a
    definition, and DepthError.
    """
    try:
        schemas = dict(
            schema
            for definition in _definitions(documents)
            for schema in _schemas(definition)
        )
    except RecursionError:
        raise DepthError("the CustomResourceDefinition is nested too deeply") from None
    if not schemas:
        raise SchemaError(
            "no CustomResourceDefinition that serves a version",
            hint="spec.versions[].served",
        )
    return {"components": {"schemas": schemas}}


def _definitions(documents: JSON) -> Iterator[JSONObject]:
    for document in documents if isinstance(documents, list) else [documents]:
        if not isinstance(document, dict):
            raise SchemaError(f"a {_KIND} is an object, not {type_name(document)}")
        if document.get("kind") in _LISTS and isinstance(document.get("items"), list):
            yield from _definitions(document["items"])
        elif document.get("kind") == _KIND and document.get("apiVersion") in _VERSIONS:
            yield document
        else:
            raise SchemaError(
                f"the document is not a {_KIND}",
                hint="apiVersion: " + " or ".join(_VERSIONS),
            )


def _schemas(definition: JSONObject) -> Iterator[tuple[str, JSON]]:
    group = _text(definition, _SPEC / "group")
    kind = _text(definition, _SPEC / "names" / "kind")
    for path, version, schema in _served(definition):
        name = ".".join([*reversed(group.split(".")), version, kind])
        names: JSONObject = {"group": group, "version": version, "kind": kind}
        if not isinstance(schema, dict) or schema.get("type", "object") != "object":
            raise SchemaError(
                "a served version needs a schema of type object", path=path
            )
        whole = _resource(_supplied(schema))
        yield (
            name,
            {**whole, "type": "object", "x-kubernetes-group-version-kind": [names]},
        )


def _served(definition: JSONObject) -> Iterator[tuple[Path, str, JSON]]:
    """Yield path, name and schema of each version; v1beta1 may have one version and one
    schema for all.
    """
    versions = _at(definition, _SPEC / "versions")
    if versions is None:
        yield (
            _SPEC,
            _text(definition, _SPEC / "version"),
            _at(definition, _SPEC / "validation" / "openAPIV3Schema"),
        )
    elif not isinstance(versions, list):
        raise SchemaError(
            f"versions are a list, not {type_name(versions)}", path=_SPEC / "versions"
        )
    else:
        shared = _at(definition, _SPEC / "validation" / "openAPIV3Schema")
        for path in (_SPEC / "versions" / index for index in range(len(versions))):
            if _at(definition, path / "served") is not False:
                own = _at(definition, path / "schema" / "openAPIV3Schema")
                yield (
                    path,
                    _text(definition, path / "name"),
                    shared if own is None else own,
                )


def _supplied(node: JSONObject) -> JSONObject:
    """Supply what a resource leaves bare, and what the resources embedded in it do, at
    any depth.
    """
    children: JSONObject = {
        word: _supplied(child)
        for word in ("items", "additionalProperties")
        if isinstance(child := node.get(word), dict)
    }
    properties = node.get("properties")
    if isinstance(properties, dict):
        children["properties"] = {
            name: _supplied(child) if isinstance(child, dict) else child
            for name, child in properties.items()
        }
    supplied = {**node, **children}
    return (
        _resource(supplied)
        if node.get("x-kubernetes-embedded-resource") is True
        else supplied
    )


def _resource(node: JSONObject) -> JSONObject:
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        # an error, which the compiler of schemas finds and knows the path of
        return node
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


def _text(document: JSON, path: Path) -> str:
    value = _at(document, path)
    if not isinstance(value, str) or not value:
        raise SchemaError("a name is missing here", path=path)
    return value


def _at(document: JSON, path: Path) -> JSON:
    for step in path.steps:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int):
            document = document[step]
        else:
            return None
    return document
