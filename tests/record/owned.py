"""Record objects of a real kube-apiserver that several managers have written.

``python -m tests.record.owned`` writes tests/data/managed_fields/owned.yaml: what
``kubectl get -o yaml --show-managed-fields`` prints after the requests below. Times,
uids and versions are normalized.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.documents import dump_yaml
from tests.record.field_sets import define
from tests.support.apiserver import ApiServer, running
from tests.support.paths import DATA

OWNED: Final = DATA / "managed_fields" / "owned.yaml"
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_DEPLOYMENT: Final = "/apis/apps/v1/namespaces/default/deployments/web"
_SECRET: Final = "/api/v1/namespaces/default/secrets/password"  # noqa: S105  # a path
_EVERY: Final = "/apis/example.com/v1/namespaces/default/everies/all"


def _object(api_version: str, kind: str, name: str, **content: JSON) -> JSONObject:
    metadata = as_object(content.pop("metadata", {}))
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        **content,
    }


def _template(*containers: JSON, **content: JSON) -> JSONObject:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [*containers], **content},
    }


# Verb, path and options, body, media type.
_REQUESTS: Final[tuple[tuple[str, str, JSONObject, str], ...]] = (
    (
        "PATCH",
        f"{_DEPLOYMENT}?fieldManager=alice",
        _object(
            "apps/v1",
            "Deployment",
            "web",
            metadata={
                "labels": {"app": "web", "tier": "front"},
                "finalizers": ["example.com/a"],
            },
            spec={
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": _template(
                    {
                        "name": "app",
                        "image": "a:1",
                        "args": ["x", "z"],
                        "env": [{"name": "A", "value": ""}],
                        "ports": [
                            {"containerPort": 80},
                            {"containerPort": 80, "protocol": "UDP"},
                        ],
                    },
                    {"name": "side", "image": "b:1"},
                    volumes=[{"name": "v", "emptyDir": {}}],
                ),
            },
        ),
        _APPLY,
    ),
    (
        "PATCH",
        f"{_DEPLOYMENT}?fieldManager=bob",
        _object(
            "apps/v1",
            "Deployment",
            "web",
            metadata={
                "labels": {"app": "web", "team": "b"},
                "finalizers": ["example.com/b"],
            },
            spec={
                "template": _template(
                    {"name": "app", "env": [{"name": "B", "value": "one\ntwo\n"}]}
                )
            },
        ),
        _APPLY,
    ),
    (
        "PATCH",
        f"{_DEPLOYMENT}/scale?fieldManager=scaler",
        {"spec": {"replicas": 5}},
        _MERGE,
    ),
    (
        "PATCH",
        f"{_DEPLOYMENT}/status?fieldManager=controller",
        {"status": {"observedGeneration": 1, "conditions": []}},
        _MERGE,
    ),
    (
        "PATCH",
        f"{_DEPLOYMENT}?fieldManager=carol",
        {
            "metadata": {"annotations": {"note": "x"}},
            "spec": {"paused": True},
        },
        _MERGE,
    ),
    (
        "POST",
        f"{_SECRET.rpartition('/')[0]}?fieldManager=creator",
        _object("v1", "Secret", "password", data={"key": "c2VjcmV0"}),
        "application/json",
    ),
    (
        "PATCH",
        f"{_SECRET}?fieldManager=alice",
        _object("v1", "Secret", "password", data={"more": "bW9yZQ=="}),
        _APPLY,
    ),
    (
        "PATCH",
        f"{_EVERY}?fieldManager=alice",
        _object(
            "example.com/v1",
            "Every",
            "all",
            spec={
                "texts": ["a", "b"],
                "numbers": [1, 2.5],
                "atomicList": ["x", "y"],
                "plainList": [{"name": "n"}],
                "atomicStruct": {"a": "1", "b": 2},
                "atomicMap": {"k": "v"},
                "granularMap": {"one": {"a": "1"}},
                "ports": [{"port": 1}, {"port": 1, "protocol": "UDP", "tags": ["t"]}],
                "free": {"list": [1, 2], "map": {"x": 1}},
            },
        ),
        _APPLY,
    ),
    (
        "PATCH",
        f"{_EVERY}?fieldManager=bob",
        _object(
            "example.com/v1",
            "Every",
            "all",
            spec={
                "texts": ["b", "c"],
                "numbers": [2.5],
                "atomicList": ["x", "y"],
                "granularMap": {"one": {"b": 2}},
                "ports": [{"port": 1, "protocol": "UDP", "tags": ["t", "u"]}],
            },
        ),
        _APPLY,
    ),
)


def _normalized(obj: JSONObject, number: int) -> JSONObject:
    metadata: JSONObject = {**as_object(obj["metadata"])}
    metadata |= {
        "uid": f"00000000-0000-0000-0000-{number:012}",
        "resourceVersion": str(number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    entries = []
    for index, entry in enumerate(as_list(metadata["managedFields"])):
        members = as_object(entry)
        # A write through /scale leaves an entry without a time.
        if "time" in members:
            members = {**members, "time": f"2026-01-01T00:00:{index:02}Z"}
        entries.append(members)
    return {**obj, "metadata": {**metadata, "managedFields": [*entries]}}


def _record(server: ApiServer) -> None:
    define(server)
    for verb, path, body, media_type in _REQUESTS:
        answer = server.request(verb, path, body, media_type)
        assert answer.code in (200, 201), answer.body
    items: list[JSON] = []
    for number, path in enumerate((_DEPLOYMENT, _SECRET, _EVERY), start=1):
        items.append(_normalized(server.request("GET", path).body, number))
    dumped = dump_yaml([{"apiVersion": "v1", "kind": "List", "items": items}])
    OWNED.write_text(dumped)


if __name__ == "__main__":
    with running() as the_server:
        _record(the_server)
