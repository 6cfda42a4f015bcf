"""The OpenAPI documents: read back by our own reader, beside those that Kubernetes
publishes, used by kubectl.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any, Final

import pytest

import smp
from smp.server.errors import UnknownResourceError
from smp.server.objects.crds import Definition
from smp.server.objects.resources import Resources
from smp.server.openapi import OpenAPI
from smp.values import JSON, JSONObject
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
    found: list[str] = [*json.loads(builtin().index())["paths"]]
    return found


def test_the_index_has_every_group_and_version() -> None:
    assert sorted(names()) == sorted({one.prefix[1:] for one in BUILTIN})


def test_a_hash_depends_on_the_content() -> None:
    index = json.loads(builtin().index())["paths"]
    for name in ("api/v1", "apis/apps/v1"):
        found = builtin().document(name)
        assert found.hash == hashlib.sha256(found.body).hexdigest()
        assert index[name] == {
            "serverRelativeURL": f"/openapi/v3/{name}?hash={found.hash}"
        }
    assert OpenAPI(BUILTIN, smp.kubernetes()).index() == builtin().index()


def test_the_documents_read_back_are_the_catalog() -> None:
    """All types, and by them all kinds, are those that the documents were made of."""
    bundled = smp.kubernetes()
    read = smp.Catalog.from_openapi([document(name) for name in names()])
    served = {
        kind
        for one in BUILTIN
        for kind in ((one.api_version, one.kind), (one.api_version, one.list_kind))
    }
    assert served <= {*read.kinds()} <= {*bundled.kinds()}
    for kind in read.kinds():
        assert read.schema(*kind).document == bundled.schema(*kind).document
    types = {name for one in names() for name in document(one)["components"]["schemas"]}
    assert len(types) > 600
    for name in types - {"io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}:
        assert read.load(name) == bundled.load(name), name


@pytest.mark.parametrize("minor", ["1.25", "1.33"])
def test_older_catalogs_are_published_as_well(minor: str) -> None:
    catalog = smp.kubernetes(minor)
    api = OpenAPI(Resources.builtin(catalog), catalog)
    read = smp.Catalog.from_openapi(
        [
            json.loads(api.document(name).body)
            for name in json.loads(api.index())["paths"]
        ]
    )
    for one in Resources.builtin(catalog):
        name = str(catalog.schema(one.api_version, one.kind).document)[1:]
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
    """Each of ours has the id, the action, the kind and the query of theirs; of their
    media types, those of JSON.
    """
    sources = module()
    assert sources is not None
    path = (
        sources
        / "api"
        / "openapi-spec"
        / "v3"
        / f"{name.replace('/', '__')}_openapi.json"
    )
    theirs = json.loads(path.read_bytes())["paths"]
    for place, item in document(name)["paths"].items():
        shared = theirs[place]["parameters"]
        for method in item.keys() - {"parameters"}:
            published = {
                **theirs[place][method],
                "parameters": [*theirs[place][method].get("parameters", []), *shared],
            }
            assert summary(item[method]) == summary(published), (place, method)


def summary(operation: Any) -> Any:
    ours = {
        "allowWatchBookmarks",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "labelSelector",
        "watch",
    }
    body = operation.get("requestBody", {}).get("content", {})
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return {
        "id": operation["operationId"],
        "action": operation["x-kubernetes-action"],
        "kind": operation["x-kubernetes-group-version-kind"],
        "query": sorted(
            {one["name"] for one in operation.get("parameters", [])} & ours
        ),
        "patches": sorted({*body} & {*PATCHES, STRATEGIC}),
        **(
            {"answer": answer} if operation["x-kubernetes-action"] != "delete" else {}
        ),  # theirs differ among themselves
    }


def test_a_group_that_is_not_served_has_no_document() -> None:
    with pytest.raises(UnknownResourceError):
        builtin().document("apis/example.com/v1")


def test_a_definition_adds_a_document_and_the_others_stay() -> None:
    definition = Definition.read(CRON_TABS)
    more = BUILTIN.with_resources(definition.resources)
    api = builtin().with_resources(more, [definition])
    assert api.document("apis/apps/v1") is builtin().document("apis/apps/v1")
    own = json.loads(api.document("apis/stable.example.com/v1").body)
    operation = own["paths"][
        "/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}"
    ]["patch"]
    assert [*operation["requestBody"]["content"]] == [*PATCHES]
    replicas = own["components"]["schemas"]["com.example.stable.v1.CronTab"][
        "properties"
    ]["spec"]["properties"]["replicas"]
    assert replicas["maximum"] == 10
    catalog = smp.Catalog.from_openapi(own)
    assert (
        catalog.schema("stable.example.com/v1", "CronTabList")
        .descend("items", "spec", "image")
        .name
        == "image"
    )
    metadata = catalog.schema("stable.example.com/v1", "CronTab").descend(
        "metadata", "finalizers"
    )
    assert metadata.merges
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
        assert (
            f"com.example.stable.{version}.CronTabList" in own["components"]["schemas"]
        )
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
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "finalizers": ["example.com/a"],
        },
        "spec": spec,
    }


def applied(
    live: JSONObject, modified: JSONObject, *definitions: Definition
) -> Request:
    """Return the request that kubectl apply sends where our documents are published."""
    resources = BUILTIN.with_resources(
        resource for one in definitions for resource in one.resources
    )
    resource = resources.of_kind(str(live["apiVersion"]), str(live["kind"]))
    path = f"{resource.prefix}/namespaces/shop/{resource.plural}/web"
    annotations: JSONObject = {LAST_APPLIED: json.dumps(live)}
    recorded: JSONObject = {
        **live,
        "metadata": {**as_object(live["metadata"]), "annotations": annotations},
    }
    with Loopback(
        {**published(BUILTIN, definitions), path: Answer(encoded(recorded))}
    ) as server:
        assert "configured" in server.printed("apply", stdin=modified)
    (request,) = server.requests
    assert (request.method, request.path) == ("PATCH", path)
    return request


def as_object(value: JSON) -> JSONObject:
    assert isinstance(value, dict)
    return value


@needs_kubectl
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [case[1:] for case in APPLIED],
    ids=[case[0] for case in APPLIED],
)
def test_kubectl_patches_by_the_documents_as_by_its_built_in_types(
    kind: str, before: JSON, after: JSON
) -> None:
    live, modified = manifest(kind, before), manifest(kind, after)
    request = applied(live, modified)
    assert request.content_type == STRATEGIC
    # and no validation by kubectl, which would ask for v2
    assert request.query["fieldValidation"] == "Strict"
    assert without_last_applied(as_object(request.body)) == without_last_applied(
        as_object(capture_apply(live, modified, live))
    )


@needs_kubectl
def test_kubectl_leaves_validation_to_the_server() -> None:
    live = manifest("apps/v1 Deployment", {"replicas": 1})
    request = applied(
        live, manifest("apps/v1 Deployment", {"replicas": "many", "bogus": True})
    )
    assert as_object(as_object(request.body)["spec"]) == {
        "replicas": "many",
        "bogus": True,
    }


@needs_kubectl
def test_kubectl_merges_custom_resources() -> None:
    definition = Definition.read(CRON_TABS)
    live = manifest(
        "stable.example.com/v1 CronTab",
        {"image": "a", "tags": ["a", "b"], "replicas": 2},
    )
    modified = manifest("stable.example.com/v1 CronTab", {"image": "b", "tags": ["b"]})
    request = applied(live, modified, definition)
    assert request.content_type == "application/merge-patch+json"
    assert request.query["fieldValidation"] == "Strict"
    body = without_last_applied(as_object(request.body))
    assert body == {"spec": {"image": "b", "tags": ["b"], "replicas": None}}


@needs_kubectl
def test_kubectl_explains_a_kind_of_every_document() -> None:
    definition = Definition.read(CRON_TABS)
    of_each = {one.prefix: one for one in (*BUILTIN, *definition.resources)}
    with Loopback(published(BUILTIN, (definition,))) as server:
        for one in of_each.values():
            explained = server.printed(
                "explain", one.plural, "--api-version", one.api_version
            )
            assert f"KIND:       {one.kind}\nVERSION:    {one.version}\n" in explained
            assert "metadata\t<ObjectMeta>" in explained


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
