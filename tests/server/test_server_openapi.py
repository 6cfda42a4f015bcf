"""The OpenAPI documents: read back, compared with Kubernetes, and used by kubectl."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any, Final

import pytest

import smp
from smp._values.values import JSON, JSONObject, as_object
from smp.schema.resources import Resources
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import Definition
from smp.server.openapi import OpenAPI
from tests.record.resources import module, needs_kubernetes
from tests.support.kubectl import (
    LAST_APPLIED,
    capture_apply,
    needs_kubectl,
    without_last_applied,
)
from tests.support.loopback import Answer, Loopback, Request, encoded, published
from tests.support.server_definitions import CRON_TABS

BUILTIN: Final = Resources.builtin()
PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json")
STRATEGIC: Final = "application/strategic-merge-patch+json"


@cache
def builtin() -> OpenAPI:
    return OpenAPI(BUILTIN, smp.kubernetes())


@cache
def document(name: str) -> Any:
    return json.loads(builtin().document(name).body)


def names() -> list[str]:
    return [*json.loads(builtin().index())["paths"]]


def test_the_index_has_every_group_and_version() -> None:
    assert sorted(names()) == sorted({resource.prefix[1:] for resource in BUILTIN})


def test_a_hash_depends_on_the_content() -> None:
    index = json.loads(builtin().index())["paths"]
    for name in ("api/v1", "apis/apps/v1"):
        published_document = builtin().document(name)
        digest = hashlib.sha256(published_document.body).hexdigest()
        assert published_document.hash == digest
        assert index[name] == {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
    assert OpenAPI(BUILTIN, smp.kubernetes()).index() == builtin().index()


def test_the_documents_read_back_are_the_catalog() -> None:
    """Types and kinds are those of the catalog from which the documents were made."""
    bundled = smp.kubernetes()
    read = smp.Catalog.from_openapi([document(name) for name in names()])
    served = set()
    for resource in BUILTIN:
        served.add((resource.api_version, resource.kind))
        if "list" in resource.verbs:
            served.add((resource.api_version, resource.list_kind))
    assert served <= {*read.kinds()} <= {*bundled.kinds()}
    for kind in read.kinds():
        assert read.schema(*kind).document == bundled.schema(*kind).document
    types: set[str] = set()
    for name in names():
        types.update(document(name)["components"]["schemas"])
    assert len(types) > 600
    for name in types - {"io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}:
        loaded, own = read.load(name), bundled.load(name)
        # Required fields are published with the descriptions, and a catalog reads them
        # where there are unions.
        if isinstance(loaded, dict) and "required" not in as_object(own):
            loaded = {word: loaded[word] for word in loaded if word != "required"}
        assert loaded == own, name


@pytest.mark.parametrize("minor", ["1.25", "1.33"])
def test_older_catalogs_are_published_as_well(minor: str) -> None:
    catalog = smp.kubernetes(minor)
    api = OpenAPI(Resources.builtin(catalog), catalog)
    documents = [
        json.loads(api.document(name).body) for name in json.loads(api.index())["paths"]
    ]
    read = smp.Catalog.from_openapi(documents)
    for resource in Resources.builtin(catalog):
        schema = catalog.schema(resource.api_version, resource.kind)
        name = str(schema.document)[1:]
        assert read.load(name) == catalog.load(name)


def test_a_document_has_the_types_that_its_group_and_version_reaches() -> None:
    types = document("apis/apps/v1")["components"]["schemas"]
    assert "io.k8s.api.core.v1.PodSpec" in types
    assert "io.k8s.api.core.v1.Node" not in types
    assert not [name for name in types if name.startswith("io.k8s.api.batch")]


def test_a_type_names_its_group_version_and_kind() -> None:
    types = document("apis/apps/v1")["components"]["schemas"]
    kinds = types["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
    assert kinds == [{"group": "apps", "version": "v1", "kind": "Deployment"}]


@needs_kubernetes
@pytest.mark.parametrize("name", names())
def test_operations_are_those_that_kubernetes_publishes(name: str) -> None:
    """Each operation has the id, action, kind and query parameters of Kubernetes.

    Of its media types it has those of JSON.
    """
    sources = module()
    assert sources is not None
    directory = sources / "api" / "openapi-spec" / "v3"
    file = directory / f"{name.replace('/', '__')}_openapi.json"
    theirs = json.loads(file.read_bytes())["paths"]
    for path, item in document(name)["paths"].items():
        shared = theirs[path]["parameters"]
        for method in item.keys() - {"parameters"}:
            operation = theirs[path][method]
            operation["parameters"] = [*operation.get("parameters", []), *shared]
            assert summary(item[method]) == summary(operation), (path, method)


def summary(operation: Any) -> Any:
    """Return the parts of an operation that the server shares with Kubernetes."""
    ours = {
        "allowWatchBookmarks",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "labelSelector",
        "watch",
    }
    body = operation.get("requestBody", {}).get("content", {})
    parameters = {parameter["name"] for parameter in operation.get("parameters", [])}
    shared = {
        "id": operation["operationId"],
        "action": operation["x-kubernetes-action"],
        "kind": operation["x-kubernetes-group-version-kind"],
        "query": sorted(parameters & ours),
        "patches": sorted({*body} & {*PATCHES, STRATEGIC}),
    }
    # In Kubernetes the answers to DELETE differ from resource to resource.
    if operation["x-kubernetes-action"] != "delete":
        content = operation["responses"]["200"]["content"]
        shared["answer"] = content["application/json"]["schema"]
    return shared


def test_a_group_that_is_not_served_has_no_document() -> None:
    with pytest.raises(UnknownResourceError):
        builtin().document("apis/example.com/v1")


def test_a_definition_adds_a_document_and_the_others_stay() -> None:
    definition = Definition.read(CRON_TABS)
    more = BUILTIN.with_resources(definition.resources)
    api = builtin().with_resources(more, [definition])
    assert api.document("apis/apps/v1") is builtin().document("apis/apps/v1")
    own = json.loads(api.document("apis/stable.example.com/v1").body)
    path = "/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}"
    operation = own["paths"][path]["patch"]
    assert [*operation["requestBody"]["content"]] == [*PATCHES]
    cron_tab = own["components"]["schemas"]["com.example.stable.v1.CronTab"]
    spec = cron_tab["properties"]["spec"]
    assert spec["properties"]["replicas"]["maximum"] == 10
    catalog = smp.Catalog.from_openapi(own)
    list_schema = catalog.schema("stable.example.com/v1", "CronTabList")
    assert list_schema.descend("items", "spec", "image").name == "image"
    schema = catalog.schema("stable.example.com/v1", "CronTab")
    assert schema.descend("metadata", "finalizers").merges is True
    with pytest.raises(UnknownResourceError):
        builtin().document("apis/stable.example.com/v1")


EVERYTHING: Final[JSONObject] = {
    "components": {
        "schemas": {
            "Deployment": {
                "type": "object",
                "properties": {
                    "phase": {"type": "string", "enum": ["On", "Off"]},
                    "free": {"x-kubernetes-preserve-unknown-fields": True},
                    "half": {
                        "type": "object",
                        "properties": {"a": {"type": "string"}},
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                    "size": {"x-kubernetes-int-or-string": True},
                    "whole": {"type": "object", "x-kubernetes-embedded-resource": True},
                    "labels": {
                        "type": "object",
                        "additionalProperties": {"$ref": "#/components/schemas/Label"},
                    },
                    "keyed": {
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/Label"},
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["key"],
                        "x-kubernetes-patch-strategy": "merge",
                        "x-kubernetes-patch-merge-key": "key",
                    },
                    "one": {
                        "allOf": [{"$ref": "#/components/schemas/Label"}],
                        "x-kubernetes-patch-strategy": "retainKeys",
                        "x-kubernetes-map-type": "atomic",
                    },
                },
                "x-kubernetes-group-version-kind": [
                    {"group": "apps", "version": "v1", "kind": "Deployment"}
                ],
            },
            "Label": {
                "type": "object",
                "properties": {
                    "key": {"type": "string"},
                    "left": {"type": "number"},
                    "right": {"type": "boolean"},
                },
                "x-kubernetes-unions": [
                    {"fields-to-discriminateBy": {"left": "Left", "right": "Right"}}
                ],
            },
        }
    }
}


def test_every_property_of_a_catalog_is_published() -> None:
    catalog = smp.Catalog.from_openapi(EVERYTHING)
    body = OpenAPI(Resources.builtin(catalog), catalog).document("apis/apps/v1").body
    read = smp.Catalog.from_openapi(json.loads(body))
    assert read.kinds() == catalog.kinds()
    for name in ("Deployment", "Label"):
        assert read.load(name) == catalog.load(name)


def test_a_document_describes_one_version() -> None:
    text = json.dumps(CRON_TABS)
    definition = json.loads(text)
    versions = definition["spec"]["versions"]
    versions.append({**versions[0], "name": "v2", "storage": False})
    read = Definition.read(definition)
    api = builtin().with_resources(BUILTIN.with_resources(read.resources), [read])
    for version, other in (("v1", "v2"), ("v2", "v1")):
        own = json.loads(api.document(f"apis/stable.example.com/{version}").body)
        types = own["components"]["schemas"]
        assert f"com.example.stable.{version}.CronTabList" in types
        assert f"com.example.stable.{other}" not in json.dumps(own)
        assert not [path for path in own["paths"] if other in path]


def test_a_changed_definition_changes_its_document() -> None:
    def api(definition: JSONObject) -> OpenAPI:
        read = Definition.read(definition)
        return builtin().with_resources(BUILTIN.with_resources(read.resources), [read])

    text = json.dumps(CRON_TABS)
    name = "apis/stable.example.com/v1"
    assert api(json.loads(text)).document(name) == api(CRON_TABS).document(name)
    changed = json.loads(text.replace('"maximum": 10', '"maximum": 11'))
    assert api(changed).document(name).hash != api(CRON_TABS).document(name).hash


APPLIED: Final[list[tuple[str, str, JSON, JSON]]] = [
    (
        "a changed image",
        "apps/v1 Deployment",
        {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "app", "image": "a:1"},
                        {"name": "log", "image": "l:1"},
                    ]
                }
            }
        },
        {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "app", "image": "a:2"},
                        {"name": "log", "image": "l:1"},
                    ]
                }
            }
        },
    ),
    (
        "emptyDir becomes hostPath",
        "v1 Pod",
        {
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ]
        },
        {
            "volumes": [
                {"name": "data", "hostPath": {"path": "/srv"}},
                {"name": "tmp", "emptyDir": {}},
            ]
        },
    ),
    (
        "another strategy",
        "apps/v1 Deployment",
        {"replicas": 1},
        {"replicas": 1, "strategy": {"type": "Recreate"}},
    ),
    (
        "one port fewer",
        "v1 Service",
        {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 80}]},
        {"ports": [{"port": 80}]},
    ),
    (
        "an atomic list",
        "batch/v1 CronJob",
        {
            "jobTemplate": {
                "spec": {
                    "template": {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}
                }
            }
        },
        {
            "jobTemplate": {
                "spec": {"template": {"spec": {"tolerations": [{"key": "b"}]}}}
            }
        },
    ),
    (
        "deep inside",
        "apps/v1 StatefulSet",
        {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "app",
                            "env": [{"name": "A", "value": "a"}, {"name": "B"}],
                        }
                    ]
                }
            }
        },
        {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "app", "env": [{"name": "B"}, {"name": "C"}]}
                    ]
                }
            }
        },
    ),
]


def manifest(kind: str, spec: JSON) -> JSONObject:
    api_version, kind = kind.split()
    metadata: JSONObject = {
        "name": "web",
        "namespace": "shop",
        "finalizers": ["example.com/a"],
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def request_of_apply(
    live: JSONObject, modified: JSONObject, *definitions: Definition
) -> Request:
    """Return the request that kubectl apply sends where our documents are published."""
    resources = BUILTIN
    for definition in definitions:
        resources = resources.with_resources(definition.resources)
    resource = resources.of_kind(str(live["apiVersion"]), str(live["kind"]))
    path = f"{resource.prefix}/namespaces/shop/{resource.plural}/web"
    annotations: JSONObject = {LAST_APPLIED: json.dumps(live)}
    metadata: JSONObject = {**as_object(live["metadata"]), "annotations": annotations}
    stored = Answer(encoded({**live, "metadata": metadata}))
    with Loopback({**published(BUILTIN, definitions), path: stored}) as server:
        assert "configured" in server.printed("apply", stdin=modified)
    (request,) = server.requests
    assert (request.method, request.path) == ("PATCH", path)
    return request


@pytest.mark.slow
@needs_kubectl
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [case[1:] for case in APPLIED],
    ids=[case[0] for case in APPLIED],
)
def test_kubectl_patches_by_the_documents_as_by_its_built_in_types(
    kind: str, before: JSON, after: JSON
) -> None:
    live = manifest(kind, before)
    modified = manifest(kind, after)
    request = request_of_apply(live, modified)
    assert request.content_type == STRATEGIC
    # The server validates; kubectl itself would ask for the OpenAPI v2 document.
    assert request.query["fieldValidation"] == "Strict"
    expected = as_object(capture_apply(live, modified, live))
    body = as_object(request.body)
    assert without_last_applied(body) == without_last_applied(expected)


@needs_kubectl
def test_kubectl_leaves_validation_to_the_server() -> None:
    live = manifest("apps/v1 Deployment", {"replicas": 1})
    invalid: JSONObject = {"replicas": "many", "bogus": True}
    request = request_of_apply(live, manifest("apps/v1 Deployment", invalid))
    assert as_object(request.body)["spec"] == invalid


@needs_kubectl
def test_kubectl_merges_custom_resources() -> None:
    definition = Definition.read(CRON_TABS)
    live = manifest(
        "stable.example.com/v1 CronTab",
        {"image": "a", "tags": ["a", "b"], "replicas": 2},
    )
    modified = manifest("stable.example.com/v1 CronTab", {"image": "b", "tags": ["b"]})
    request = request_of_apply(live, modified, definition)
    assert request.content_type == "application/merge-patch+json"
    assert request.query["fieldValidation"] == "Strict"
    body = without_last_applied(as_object(request.body))
    assert body == {"spec": {"image": "b", "tags": ["b"], "replicas": None}}


@pytest.mark.slow
@needs_kubectl
def test_kubectl_explains_a_kind_of_every_document() -> None:
    definition = Definition.read(CRON_TABS)
    by_document = {
        resource.prefix: resource for resource in (*BUILTIN, *definition.resources)
    }
    with Loopback(published(BUILTIN, (definition,))) as server:
        for resource in by_document.values():
            text = server.printed(
                "explain", resource.plural, "--api-version", resource.api_version
            )
            assert f"KIND:       {resource.kind}\n" in text
            assert f"VERSION:    {resource.version}\n" in text
            assert "metadata\t<ObjectMeta>" in text


@needs_kubectl
def test_kubectl_explains_fields() -> None:
    definition = Definition.read(CRON_TABS)
    with Loopback(published(BUILTIN, (definition,))) as server:
        spec = server.printed("explain", "deployment.spec")
        ports = server.printed("explain", "svc.spec.ports")
        own = server.printed("explain", "crontabs.spec.replicas")
    assert "strategy\t<DeploymentStrategy>" in spec
    assert "template\t<PodTemplateSpec>" in spec
    assert "FIELD: ports <[]ServicePort>" in ports
    assert "targetPort\t<IntOrString>" in ports
    assert "FIELD: replicas <integer>" in own
    assert "How many pods it runs." in own
