"""The resources of tests of the whole chain of managed fields, and their schemas.

Each is known to the Go program in tests/managed_fields/oracle by its OpenAPI schemas,
and to smp by a ``Schema`` of the same definitions.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

import msgspec

import smp
from smp._values.values import JSONObject, as_object
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from smp.schema.openapi_writer import write_schemas
from smp.schema.sources.crd import OBJECT_META, to_openapi

VERSIONS: Final = ("v1", "v1beta1")
"""The versions of the custom resources; they differ by name alone."""
GROUP: Final = "chain.example.com"

_STRING: Final[JSONObject] = {"type": "string"}
_INTEGER: Final[JSONObject] = {"type": "integer"}
_BOOLEAN: Final[JSONObject] = {"type": "boolean"}
_TEXT_MAP: Final[JSONObject] = {"type": "object", "additionalProperties": _STRING}


def _object(**properties: JSONObject) -> JSONObject:
    return {"type": "object", "properties": {**properties}}


def _atomic_list(items: JSONObject) -> JSONObject:
    return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}


def _set(items: JSONObject) -> JSONObject:
    return {"type": "array", "items": items, "x-kubernetes-list-type": "set"}


def _map_list(items: JSONObject, *keys: str) -> JSONObject:
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [*keys],
    }


_PORT: Final[JSONObject] = {
    **_object(
        port=_INTEGER,
        protocol={"type": "string", "default": "TCP"},
        name=_STRING,
        hosts=_set(_STRING),
    ),
    "required": ["port"],
}
_PAIR: Final = _object(a=_STRING, b=_INTEGER)
_NULLABLE_PAIR: Final[JSONObject] = {**_PAIR, "nullable": True}
_CONTAINER: Final[JSONObject] = {
    **_object(
        name=_STRING,
        image=_STRING,
        command=_atomic_list(_STRING),
        env=_map_list(
            {**_object(name=_STRING, value=_STRING), "required": ["name"]}, "name"
        ),
        ports=_map_list(_PORT, "port", "protocol"),
        resources=_object(
            limits={
                "type": "object",
                "additionalProperties": {"x-kubernetes-int-or-string": True},
            }
        ),
        probe=_object(path=_STRING, delay=_INTEGER),
    ),
    "required": ["name"],
}
_APP_SPEC: Final = _object(
    replicas=_INTEGER,
    paused=_BOOLEAN,
    selector={
        "x-kubernetes-map-type": "atomic",
        **_object(matchLabels=_TEXT_MAP),
    },
    template=_object(
        labels=_TEXT_MAP,
        containers=_map_list(_CONTAINER, "name"),
        volumes=_map_list(
            {
                **_object(
                    name=_STRING,
                    emptyDir=_object(medium=_STRING),
                    configMap=_object(name=_STRING, items=_atomic_list(_PAIR)),
                ),
                "required": ["name"],
            },
            "name",
        ),
        tolerations=_atomic_list(_object(key=_STRING, operator=_STRING)),
    ),
    finalizers=_set(_STRING),
)
_CONDITIONS: Final = _map_list(
    {
        **_object(type=_STRING, status=_STRING, reason=_STRING),
        "required": ["type", "status"],
    },
    "type",
)
_EVERY_SPEC: Final = _object(
    text=_STRING,
    number={"type": "number"},
    flag=_BOOLEAN,
    either={"x-kubernetes-int-or-string": True},
    plainList={"type": "array", "items": _PAIR},
    atomicList=_atomic_list(_STRING),
    texts=_set(_STRING),
    numbers=_set(_INTEGER),
    eithers=_set({"x-kubernetes-int-or-string": True}),
    named=_map_list({**_PAIR, "required": ["a"]}, "a"),
    ports=_map_list(_PORT, "port", "protocol"),
    triple=_map_list(
        {
            **_object(
                x=_STRING,
                y=_INTEGER,
                z={"type": "boolean", "default": False},
                note=_STRING,
                deep=_map_list({**_PAIR, "required": ["a"]}, "a"),
            ),
            "required": ["x"],
        },
        "x",
        "y",
        "z",
    ),
    defaulted=_map_list(
        _object(name={"type": "string", "default": ""}, value=_INTEGER), "name"
    ),
    struct=_PAIR,
    nested=_object(one=_object(two=_object(three=_STRING, four=_PAIR))),
    nullable=_NULLABLE_PAIR,
    nullableMap={**_TEXT_MAP, "nullable": True},
    nullableList={**_map_list({**_PAIR, "required": ["a"]}, "a"), "nullable": True},
    nullableText={"type": "string", "nullable": True},
    atomicStruct={**_PAIR, "x-kubernetes-map-type": "atomic"},
    granularStruct={**_PAIR, "x-kubernetes-map-type": "granular"},
    map=_TEXT_MAP,
    mapOfMaps={"type": "object", "additionalProperties": _TEXT_MAP},
    mapOfLists={
        "type": "object",
        "additionalProperties": _map_list({**_PAIR, "required": ["a"]}, "a"),
    },
    granularMap={
        "type": "object",
        "additionalProperties": _PAIR,
        "x-kubernetes-map-type": "granular",
    },
    atomicMap={**_TEXT_MAP, "x-kubernetes-map-type": "atomic"},
    preserved={
        **_object(
            known=_PAIR,
            list={"type": "array", "items": _PAIR},
            named=_map_list({**_PAIR, "required": ["a"]}, "a"),
        ),
        "x-kubernetes-preserve-unknown-fields": True,
    },
    free={"x-kubernetes-preserve-unknown-fields": True},
    freeObject={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    embedded={
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
)
_DEFAULTED_SPEC: Final = _object(
    mode={"type": "string", "default": "auto"},
    size={"type": "integer", "default": 1},
    strategy={
        **_object(type={"type": "string", "default": "Rolling"}, surge=_INTEGER),
        "default": {},
    },
    items=_map_list(
        {
            **_object(
                name=_STRING,
                weight={"type": "integer", "default": 10},
                options={**_TEXT_MAP, "default": {"a": "b"}},
            ),
            "required": ["name"],
        },
        "name",
    ),
    tags={**_set(_STRING), "default": ["a"]},
    maybe={"type": "string", "nullable": True, "default": "here"},
)
_SPECS: Final[dict[str, JSONObject]] = {
    "Every": _EVERY_SPEC,
    "App": _APP_SPEC,
    "Defaulted": _DEFAULTED_SPEC,
}
_STATUS: Final = _object(
    replicas=_INTEGER, conditions=_CONDITIONS, addresses=_set(_STRING), note=_STRING
)
# What the strategy of a custom resource with a status subresource resets. Go:
# registry/customresource, GetResetFields.
_RESET: Final[JSONObject] = {
    "": '{"f:status":{}}',
    "status": '{"f:metadata":{},"f:spec":{}}',
}


# The same of built-in kinds. Go: the strategies of k8s.io/kubernetes, pkg/registry.
_RESET_THROUGH_STATUS: Final[dict[str, JSONObject]] = {
    "Pod": {
        "status": '{"f:spec":{},"f:metadata":'
        '{"f:deletionTimestamp":{},"f:ownerReferences":{}}}'
    },
    "Deployment": {"status": '{"f:spec":{},"f:metadata":{"f:labels":{}}}'},
    "Service": {"status": '{"f:spec":{}}'},
}


class Resource(msgspec.Struct, frozen=True):
    """A resource as both sides know it."""

    name: str
    api_version: str
    kind: str
    # How the Go program is asked to define it.
    definition: JSONObject
    # By the version of the group.
    schemas: dict[str, Schema]

    @property
    def is_custom(self) -> bool:
        """Tell whether it is one of a CustomResourceDefinition."""
        return self.name in _SPECS

    @property
    def schema(self) -> Schema:
        """Return the schema of the first version."""
        return self.schemas[self.api_version]


def definition_of(kind: str) -> JSONObject:
    """Return the CustomResourceDefinition of a custom resource."""
    root = _object(spec=_SPECS[kind], status=_STATUS)
    subresources: JSONObject = {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": f"{kind.lower()}s", "kind": kind},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == "v1",
                    "schema": {"openAPIV3Schema": root},
                    "subresources": subresources,
                }
                for version in VERSIONS
            ],
        },
    }


def _custom(kind: str) -> Resource:
    document = definition_of(kind)
    catalog = Catalog.from_crd(document)
    openapi = as_object(as_object(to_openapi(document)["components"])["schemas"])
    metadata = write_schemas([OBJECT_META], smp.kubernetes().load)
    definition: JSONObject = {
        "op": "define",
        "name": kind,
        "definitions": {**openapi, **metadata, **_scale()},
        "kind": kind,
        "versions": [f"{GROUP}/{version}" for version in VERSIONS],
        "structural": _object(spec=_SPECS[kind], status=_STATUS),
        "reset": _RESET,
    }
    schemas = {
        f"{GROUP}/{version}": catalog.schema(f"{GROUP}/{version}", kind)
        for version in VERSIONS
    }
    return Resource(kind, f"{GROUP}/v1", kind, definition, schemas)


def _scale() -> dict[str, JSONObject]:
    """Return the schemas of what the scale subresource writes."""
    return _written("autoscaling/v1", "Scale")


def _written(api_version: str, kind: str) -> dict[str, JSONObject]:
    """Return the schemas of a built-in kind.

    Their names are others: a server stores what it knows by name as Go structs, but the
    Go program has no such storage.
    """
    catalog = smp.kubernetes()
    name = str(catalog.schema(api_version, kind).document).removeprefix("#")
    group, _, version = api_version.rpartition("/")
    schemas = write_schemas([name], catalog.load)
    names: JSONObject = {"group": group, "version": version, "kind": kind}
    schemas[name]["x-kubernetes-group-version-kind"] = [names]
    text = json.dumps(schemas).replace("io.k8s.api.", "example.")
    for name in ("Label", "Condition"):
        text = text.replace(f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}", name)
    renamed: dict[str, JSONObject] = json.loads(text)
    return renamed


def _built_in(api_version: str, kind: str) -> Resource:
    definitions: JSONObject = {**_written(api_version, kind), **_scale()}
    definition: JSONObject = {
        "op": "define",
        "name": kind,
        "definitions": definitions,
        "reset": {"": '{"f:status":{}}', **_RESET_THROUGH_STATUS.get(kind, {})},
    }
    catalog = Catalog.from_openapi({"components": {"schemas": definitions}})
    schema = catalog.schema(api_version, kind)
    return Resource(kind, api_version, kind, definition, {api_version: schema})


@cache
def resources() -> dict[str, Resource]:
    """Return all resources by name."""
    found = {kind: _custom(kind) for kind in _SPECS}
    for api_version, kind in (
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
    ):
        found[kind] = _built_in(api_version, kind)
    return found
