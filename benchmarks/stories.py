"""The cases of the benchmark, each a story of one change.

A configuration was applied, the server has stored it as a live object, and now another
configuration is applied, which differs in one thing.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import NamedTuple

from benchmarks.live_objects import (
    DEPLOYMENT_MANAGERS,
    DEPLOYMENT_STATUS,
    SEED,
    annotated,
    defaulted_deployment,
    defaulted_pod,
    defaulted_service,
    load_balancer_status,
    stored,
    with_spec,
)
from benchmarks.manifests import (
    full_container,
    image_patch,
    manifest,
    plain_container,
    pod_spec,
    properties,
    section_schema,
    service_spec,
    volume,
    volume_name,
)
from smp._values.values import JSON, JSONObject


class Story(NamedTuple):
    """The applied configuration, the next one, the live object, and a patch for it.

    ``annotated`` is the live object with the last-applied annotation, where the story
    has one.
    """

    last_applied: JSONObject
    modified: JSONObject
    live: JSONObject
    patch: JSONObject
    annotated: JSONObject | None = None


def small_config_map() -> Story:
    """Change one of three settings."""

    def configured(level: str) -> JSONObject:
        labels: JSONObject = {"app": "shop", "tier": "web"}
        data: JSONObject = {
            "log.level": level,
            "cache.size": "64Mi",
            "feature.flags": "search,basket",
        }
        return manifest("v1", "ConfigMap", "settings", labels, data=data)

    config = configured("info")
    live = stored(config, managers={"kubectl-client-side-apply": {}})
    patch: JSONObject = {"data": {"log.level": "debug"}}
    return Story(config, configured("debug"), live, patch, annotated(live, config))


def large_config_map(keys: int = 100, length: int = 4_930) -> Story:
    """Change one of many configuration files, half a megabyte in all."""
    random = Random(SEED)

    def configured(data: JSONObject) -> JSONObject:
        return manifest("v1", "ConfigMap", "files", {"app": "shop"}, data=data)

    data: JSONObject = {}
    for index in range(keys):
        data[f"file-{index:03}.properties"] = properties(random, length)
    changed: JSONObject = {"file-050.properties": properties(random, length)}
    config = configured(data)
    modified = configured({**data, **changed})
    return Story(config, modified, stored(config), {"data": changed})


def deployment(containers: int = 5) -> Story:
    """Change the image of a container; the object has managed fields and a status."""

    def configured(tag: str) -> JSONObject:
        labels: JSONObject = {"app": "shop", "tier": "web"}
        template: JSONObject = {
            "metadata": {"labels": labels},
            "spec": pod_spec(plain_container, containers, tag),
        }
        spec: JSONObject = {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": template,
        }
        return manifest("apps/v1", "Deployment", "shop", labels, spec=spec)

    config = configured("1.4.2")
    live = stored(
        defaulted_deployment(config),
        managers=DEPLOYMENT_MANAGERS,
        status=DEPLOYMENT_STATUS,
    )
    pod_patch = image_patch(containers, "1.4.3")
    patch: JSONObject = {"spec": {"template": {"spec": pod_patch}}}
    return Story(config, configured("1.4.3"), live, patch, annotated(live, config))


def pod(containers: int = 100, variables: int = 2) -> Story:
    """Change the image of one of many containers, which have all usual fields."""

    def configured(tag: str) -> JSONObject:
        container = partial(full_container, variables=variables)
        spec = pod_spec(container, containers, tag)
        return manifest("v1", "Pod", "shop", {"app": "shop"}, spec=spec)

    config = configured("1.4.2")
    live = stored(defaulted_pod(config))
    patch: JSONObject = {"spec": image_patch(containers, "1.4.3")}
    return Story(config, configured("1.4.3"), live, patch)


def service(ports: int = 50) -> Story:
    """Change the target of one of many ports."""

    def configured(target: int) -> JSONObject:
        spec = service_spec(ports, target)
        return manifest("v1", "Service", "gateway", {"app": "gateway"}, spec=spec)

    config = configured(9000)
    live = stored(defaulted_service(config), status=load_balancer_status(ports))
    port: JSONObject = {"port": 8000, "protocol": "TCP", "targetPort": 9999}
    return Story(config, configured(9999), live, {"spec": {"ports": [port]}})


def volumes(count: int = 1_000, *, all_change: bool = False) -> Story:
    """Change one of very many volumes, or all of them."""
    changed = range(count) if all_change else [count // 2]

    def configured(prefix: str) -> JSONObject:
        elements: list[JSON] = [volume(index, "cm") for index in range(count)]
        for index in changed:
            elements[index] = volume(index, prefix)
        container: JSONObject = {"name": "app", "image": "registry.example/shop:1.4.2"}
        spec: JSONObject = {"containers": [container], "volumes": elements}
        return manifest("v1", "Pod", "shop", {"app": "shop"}, spec=spec)

    config = configured("cm")
    defaulted: list[JSON] = [
        volume(index, "cm", defaultMode=420) for index in range(count)
    ]
    live = stored(with_spec(config, {"volumes": defaulted}))
    spec: JSONObject = {}
    if all_change:
        spec["$setElementOrder/volumes"] = [
            {"name": volume_name(index)} for index in range(count)
        ]
    spec["volumes"] = [
        {"$retainKeys": ["configMap", "name"], **volume(index, "cn")}
        for index in changed
    ]
    return Story(config, configured("cn"), live, {"spec": spec})


def custom_resource_definition(fields: int = 1_000) -> Story:
    """Change a description in the middle of a CustomResourceDefinition."""

    def configured(word: str) -> JSONObject:
        sections: JSONObject = {}
        for number in range(fields // 10):
            changed = word if number == fields // 20 else "shop"
            sections[f"section{number:03}"] = section_schema(number, changed)
        root: JSONObject = {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": sections}},
        }
        names: JSONObject = {"plural": "shops", "singular": "shop", "kind": "Shop"}
        version: JSONObject = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": root},
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "shops.example.com", "labels": {"app": "shop"}},
            "spec": {
                "group": "example.com",
                "names": {**names, "listKind": "ShopList"},
                "scope": "Namespaced",
                "versions": [version],
            },
        }

    config = configured("shop")
    live = with_spec(stored(config), {"conversion": {"strategy": "None"}})
    return Story(config, configured("store"), live, {})
