"""Objects of Python clients are taken wherever a dict is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from typing import Any

import pytest

import smp
from smp._values.values import JSONObject
from smp.errors import DepthError, ObjectError
from smp.lint import form_of, lint
from smp.managed_fields import extract, rename, track

PLAIN: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "web:1"}]},
        },
    },
}
CHANGED: JSONObject = {**PLAIN, "metadata": {"name": "web", "labels": {"app": "api"}}}
SCHEMA = smp.kubernetes().schema("apps/v1", "Deployment")
# The template of the object is no field of it.
OTHER_SCHEMA = smp.kubernetes().schema("v1", "Pod")


def of_models(package: str) -> Any:
    """Make the object of the models of the official client, which has snake case."""
    client: Any = pytest.importorskip(f"{package}.client")
    labels = {"app": "web"}
    container = client.V1Container(name="app", image="web:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[container]),
    )
    return client.V1Deployment(
        api_version="apps/v1",
        kind="Deployment",
        metadata=client.V1ObjectMeta(name="web", labels=labels),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels=labels),
            template=template,
        ),
    )


def of_the_dynamic_client() -> Any:
    resource: Any = import_module("kubernetes.dynamic.resource")
    return resource.ResourceInstance(None, PLAIN)


def of_lightkube() -> Any:
    pytest.importorskip("lightkube")
    apps: Any = import_module("lightkube.resources.apps_v1")
    return apps.Deployment.from_dict(PLAIN)


def of_kr8s() -> Any:
    pytest.importorskip("kr8s")
    objects: Any = import_module("kr8s.objects")
    return objects.Deployment(PLAIN, api=object())


NOW = datetime(2026, 1, 1, tzinfo=UTC)
OBJECTS: dict[str, Callable[[], Any]] = {
    "kubernetes": lambda: of_models("kubernetes"),
    "kubernetes_asyncio": lambda: of_models("kubernetes_asyncio"),
    "dynamic client": of_the_dynamic_client,
    "lightkube": of_lightkube,
    "kr8s": of_kr8s,
}
OPERATIONS: dict[str, Callable[[Any], object]] = {
    "schema_of": lambda obj: smp.kubernetes().schema_of(obj).kind,
    "two_way_patch": lambda obj: smp.two_way_patch(obj, CHANGED, SCHEMA),
    "three_way_patch": lambda obj: smp.three_way_patch(obj, CHANGED, obj, SCHEMA),
    "apply_patch": lambda obj: smp.apply_patch(obj, {"metadata": None}, SCHEMA),
    "three_way_apply": lambda obj: smp.three_way_apply(obj, CHANGED, obj, SCHEMA),
    "normalize_unions": lambda obj: smp.normalize_unions(None, obj, SCHEMA).object,
    "validate_unions": lambda obj: smp.validate_unions(None, obj, SCHEMA),
    "validate_enums": lambda obj: smp.validate_enums(obj, SCHEMA),
    "with_defaults": lambda obj: smp.with_defaults(obj, SCHEMA),
    "with_last_applied": smp.with_last_applied,
    "last_applied_configuration": smp.last_applied_configuration,
    "merge_patch.diff": lambda obj: smp.merge_patch.diff(obj, CHANGED),
    "merge_patch.apply": lambda obj: smp.merge_patch.apply(obj, {"spec": None}),
    "json_patch.diff": lambda obj: smp.json_patch.diff(obj, CHANGED),
    "json_patch.apply": lambda obj: smp.json_patch.apply(
        obj, [{"op": "remove", "path": "/spec"}]
    ),
    "server_side_apply": lambda obj: (
        smp.server_side_apply(None, obj, SCHEMA, manager="me", now=NOW).object
    ),
    "find_hazards": lambda obj: smp.find_hazards(obj, obj, obj, SCHEMA),
    "find_hazards of a manifest": lambda obj: smp.find_hazards(None, obj, None, SCHEMA),
    "explain_apply": lambda obj: smp.explain_apply(obj, CHANGED, obj, SCHEMA),
    "compare": lambda obj: smp.compare(obj, CHANGED, SCHEMA),
    "lint": lambda obj: {*map(str, lint(obj, OTHER_SCHEMA, "manifest"))},
    "form_of": lambda obj: form_of(obj, SCHEMA, custom=False),
    "extract": lambda obj: extract(obj, SCHEMA, "me"),
    "rename": lambda obj: smp.as_object(rename(obj, "me", "you")),
    "track": lambda obj: track(None, obj, SCHEMA, manager="me", now=NOW),
}


@pytest.mark.parametrize("client", OBJECTS)
def test_an_object_of_a_client_becomes_a_plain_one(client: str) -> None:
    obj = OBJECTS[client]()
    assert smp.as_object(obj) == PLAIN


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("client", OBJECTS)
def test_an_operation_takes_an_object_of_a_client(client: str, operation: str) -> None:
    obj = OBJECTS[client]()
    call = OPERATIONS[operation]
    assert call(obj) == call(PLAIN)


def test_a_part_of_an_object_may_be_of_a_client() -> None:
    spec = smp.as_object({"spec": of_models("kubernetes").spec})
    assert spec == {"spec": PLAIN["spec"]}


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (
            datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2))),
            "2026-01-02T01:04:05.000006Z",
        ),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05Z"),  # noqa: DTZ001  # a time without a zone
    ],
)
def test_a_time_is_text_in_utc(time: datetime, text: str) -> None:
    obj = {"metadata": {"creationTimestamp": time}}
    assert smp.as_object(obj) == {"metadata": {"creationTimestamp": text}}


@pytest.mark.parametrize("value", [3, "text", [], None, object(), dict])
def test_other_values_are_no_objects(value: object) -> None:
    with pytest.raises(ObjectError):
        smp.as_object(value)


def test_a_model_within_itself_is_too_deep() -> None:
    class Model:
        def to_dict(self) -> dict[str, object]:
            return {"inner": self}

    with pytest.raises(DepthError):
        smp.as_object(Model())
