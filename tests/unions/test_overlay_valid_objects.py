"""The bundled overlay never harms a valid object."""

from __future__ import annotations

import copy

from smp._values.values import JSONObject, as_list, as_object, same
from smp.schema.catalog import kubernetes, versions
from smp.unions import PROFILES, normalize_unions, validate_unions
from tests.support.overlay_rows import CORE, unions_of, valid_objects
from tests.support.rows import each_row

POD = valid_objects()[0]
STRATEGY: JSONObject = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"},
}
DEPLOYMENT: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "spec": {"strategy": STRATEGY, "template": {"spec": POD["spec"]}},
}
OLDEST, NEWEST = versions()[0], versions()[-1]
VALID = [
    *((OLDEST, obj) for obj in (DEPLOYMENT, *valid_objects())),
    *((NEWEST, obj) for obj in (DEPLOYMENT, *valid_objects())),
    *((NEWEST, obj) for obj in valid_objects(newest=True)),
]


@each_row("profile", PROFILES)
@each_row(
    ("version", "obj"),
    VALID,
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_a_valid_object_is_valid_and_neither_its_create_nor_its_echo_changes(
    version: str, obj: JSONObject, profile: str
) -> None:
    schema = kubernetes(version).schema_of(obj)
    assert validate_unions(None, obj, schema, profile=profile) == ()
    for old in (None, copy.deepcopy(obj)):
        result = normalize_unions(old, obj, schema, profile=profile)
        assert same(result.object, obj)
        assert (result.changes, result.warnings) == ((), ())


def test_every_kind_of_volume_is_among_the_valid_objects() -> None:
    members: set[str] = set()
    for obj in (*valid_objects(), *valid_objects(newest=True)):
        for volume in as_list(as_object(obj.get("spec")).get("volumes")):
            members |= as_object(volume).keys()
    (union,) = unions_of(f"{CORE}Volume")
    assert members == {"name", *union.names}


def test_switching_deep_inside_a_pod_clears_the_old_member() -> None:
    """Elements are paired by their merge keys, in any order."""

    def pod(probe: JSONObject, env: JSONObject, volume: JSONObject) -> JSONObject:
        app: JSONObject = {
            "name": "app",
            "livenessProbe": probe,
            "env": [{"name": "A", **env}],
        }
        return {"spec": {"containers": [app], "volumes": [{"name": "v", **volume}]}}

    old = pod({"httpGet": {"port": 80}}, {"value": "a"}, {"emptyDir": {}})
    source: JSONObject = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    new = pod(
        {"httpGet": {"port": 80}, "exec": {"command": ["true"]}, "periodSeconds": 5},
        {"value": "a", **source},
        {"emptyDir": {}, "hostPath": {"path": "/"}},
    )
    result = normalize_unions(old, new, kubernetes().schema("v1", "Pod"))
    assert result.object == pod(
        {"exec": {"command": ["true"]}, "periodSeconds": 5},
        source,
        {"hostPath": {"path": "/"}},
    )
    assert sorted(str(change.path) for change in result.changes) == [
        "spec.containers[name=app].env[name=A].value",
        "spec.containers[name=app].livenessProbe.httpGet",
        "spec.volumes[name=v].emptyDir",
    ]
