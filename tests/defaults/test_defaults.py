"""The defaults of built-in kinds, beside kube-apiserver's own functions.

tests/record/default_answers.py recorded what these made of random objects.
``SMP_FUZZ_CASES`` sets the number of more such objects, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, Final

import pytest

import smp
from smp._storage.defaults import with_defaults
from smp._storage.typed_storage import stored
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object, same
from smp.errors import DepthError, ObjectError
from smp.schema.model import Type
from tests.record.default_answers import DECODED, SERVED
from tests.support.defaulted_manifests import bases, compared
from tests.support.defaulted_objects import needs_oracle, oracle, undefaulted
from tests.support.reference import as_go_prints
from tests.support.typed_objects import VERSION

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "20000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
CATALOG: Final = smp.kubernetes(VERSION)
# Where the functions do something else than to fill in defaults: docs/deviations.md.
EXPLAINED: Final = re.compile(
    r"""
    .*\.timeAdded                                          # the time of the request
    | DaemonSet\.metadata\.annotations.*                   # conversions
    | HorizontalPodAutoscaler\.metadata\.annotations.*
    | CustomResourceDefinition\.spec\.conversion\.webhook  # an empty one is dropped
    """,
    re.VERBOSE,
)

# What a server drops beside: fields of features that are off by default, and what its
# registry (PrepareForCreate) or its encoding for etcd makes of odd values.
DROPPED: Final = re.compile(
    r"""
    .*\.(schedulingGroup|clusterTrustBundle)
    | CSIDriver\.spec\.preventPodSchedulingIfMissing
    | Lease\.spec\.(preferredHolder|strategy)
    | StatefulSet\.spec\.updateStrategy\.rollingUpdate\.maxUnavailable
    | Node\.spec(\.configSource)?                          # an empty one
    | PersistentVolumeClaim\.spec\.dataSource              # an empty one
    | (Cluster)?Role\.rules                                # null where it was empty
    """,
    re.VERBOSE,
)
# At least this many of the valid objects have nothing to explain.
AGREEMENT: Final = 0.97


@cache
def recorded() -> list[dict[str, Any]]:
    with lzma.open(DECODED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def differences(one: JSON, other: JSON, path: str) -> Iterator[str]:
    """Yield the paths at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            if name in one and name in other:
                yield from differences(one[name], other[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for mine, theirs in zip(one, other, strict=True):
            yield from differences(mine, theirs, f"{path}[]")
    elif not same(one, other):
        yield path


def disagreements(obj: JSONObject, decoded: JSON) -> list[str]:
    """Return where an object with its defaults is not what the functions made of it."""
    schema = CATALOG.schema_of(obj)
    ours = as_go_prints(stored(with_defaults(obj, schema), schema))
    found = differences(ours, decoded, str(obj["kind"]))
    return [path for path in found if not EXPLAINED.fullmatch(path)]


def test_objects_get_the_defaults_of_an_api_server() -> None:
    failures: Counter[str] = Counter()
    kinds = set()
    for record in recorded():
        failures.update(disagreements(record["object"], record["decoded"]))
        kinds.add(record["object"]["kind"])
    assert failures == {}
    assert len(kinds) > 60


def test_valid_objects_are_stored_with_their_defaults() -> None:
    with lzma.open(SERVED, "rt", encoding="utf-8") as lines:
        _server, *answers = [json.loads(line) for line in lines]
    failures: Counter[str] = Counter()
    verbs: Counter[str] = Counter()
    kinds = set()
    equal = 0
    for answer in answers:
        obj = answer["object"]
        schema = CATALOG.schema_of(obj)
        ours = as_object(as_go_prints(stored(with_defaults(obj, schema), schema)))
        kind = str(obj["kind"])
        found = [*differences(compared(ours), answer["stored"], kind)]
        equal += not found
        failures.update(path for path in found if not DROPPED.fullmatch(path))
        verbs[answer["verb"]] += 1
        kinds.add((obj["apiVersion"], kind))
    assert failures == {}
    assert equal / len(answers) >= AGREEMENT
    assert verbs["POST"] > 2000
    assert verbs["PUT"] > 400
    assert len(kinds) > 50


@pytest.mark.slow
@needs_oracle
def test_random_objects_get_the_defaults_of_an_api_server() -> None:
    program = oracle()
    assert program is not None
    asked = undefaulted(SEED, CASES)
    failures: Counter[str] = Counter()
    for obj, answer in zip(asked, program.run(asked), strict=True):
        if "error" not in answer:
            failures.update(disagreements(obj, answer))
    assert failures == {}


def test_defaults_are_filled_in_once() -> None:
    for record in recorded()[::5]:
        schema = CATALOG.schema_of(record["object"])
        once = with_defaults(record["object"], schema)
        assert with_defaults(once, schema) is once


def test_the_object_is_not_changed() -> None:
    for record in recorded()[::5]:
        before = deepcopy(record["object"])
        with_defaults(record["object"], CATALOG.schema_of(before))
        assert same(record["object"], before)


def deployment(*images: str) -> JSONObject:
    containers: JSONArray = [{"name": image, "image": image} for image in images]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": containers},
            },
        },
    }


def pod_spec(obj: JSONObject) -> JSONObject:
    return as_object(as_object(as_object(obj["spec"])["template"])["spec"])


DEPLOYMENT: Final = CATALOG.schema("apps/v1", "Deployment")


def test_what_does_not_change_is_shared() -> None:
    obj = deployment("a:1")
    result = with_defaults(obj, DEPLOYMENT)
    assert result["metadata"] is obj["metadata"]
    assert as_object(result["spec"])["selector"] is as_object(obj["spec"])["selector"]


def test_what_is_shared_with_the_old_object_is_not_looked_at() -> None:
    # This container has no defaults, so that it shows where it was looked at.
    old = deployment("a:1", "b:1")
    kept = as_list(pod_spec(old)["containers"])[0]
    new = deployment("a:1", "c:1")
    as_list(pod_spec(new)["containers"])[0] = kept
    result = with_defaults(new, DEPLOYMENT, old=old)
    first, second = as_list(pod_spec(result)["containers"])
    assert first is kept
    assert as_object(second)["imagePullPolicy"] == "IfNotPresent"


def test_each_object_has_defaults_of_its_own() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    first = with_defaults(deployment("a"), schema)
    strategy = as_object(as_object(first["spec"])["strategy"])
    as_object(strategy["rollingUpdate"])["maxSurge"] = 5
    second = with_defaults(deployment("a"), schema)
    strategy = as_object(as_object(second["spec"])["strategy"])
    assert strategy["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}


@pytest.mark.parametrize(
    ("version", "field"),
    [
        ("1.26", None),
        ("1.27", {"whenDeleted": "Retain", "whenScaled": "Retain"}),
    ],
)
def test_defaults_are_those_of_the_minor_version(version: str, field: JSON) -> None:
    schema = smp.kubernetes(version).schema("apps/v1", "StatefulSet")
    spec = as_object(with_defaults({}, schema)["spec"])
    assert spec.get("persistentVolumeClaimRetentionPolicy") == field


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ObjectError):
        with_defaults([], DEPLOYMENT)  # type: ignore[arg-type]  # that is the test


def test_an_object_that_is_too_deep_is_refused() -> None:
    definition: JSONObject = {"type": "object"}
    for _ in range(5000):
        definition = {"not": definition}
    version: JSONObject = {"schema": {"openAPIV3Schema": definition}}
    schema = CATALOG.schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    with pytest.raises(DepthError):
        with_defaults({"spec": {"versions": [version]}}, schema)


def test_a_custom_resource_gets_the_defaults_of_its_definition() -> None:
    spec: JSONObject = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "mode": {
                "type": "object",
                "default": {},
                "properties": {"fast": {"type": "boolean", "default": False}},
            },
        },
    }
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": spec},
                        }
                    },
                }
            ],
        },
    }
    catalog = smp.kubernetes() | smp.Catalog.from_crd(definition)
    schema = catalog.schema("example.com/v1", "Thing")
    obj: JSONObject = {"spec": {"size": None, "tags": ["a"]}}
    result = with_defaults(obj, schema)
    assert result == {"spec": {"size": 1, "tags": ["a"], "mode": {"fast": False}}}
    assert as_object(result["spec"])["tags"] is as_object(obj["spec"])["tags"]
    assert with_defaults(result, schema) is result


def unknown_names(value: JSON, type_: Type, path: str) -> Iterator[str]:
    """Yield the members of a value that its type does not know."""
    if isinstance(value, list):
        for element in value:
            yield from unknown_names(element, type_.items, f"{path}[]")
    if isinstance(value, dict):
        for name, member in value.items():
            field = type_.field(name)
            if field is None:
                yield f"{path}.{name}"
            else:
                yield from unknown_names(member, field.type, f"{path}.{name}")


@pytest.mark.parametrize("version", smp.versions())
def test_defaults_are_of_fields_that_the_minor_version_has(version: str) -> None:
    catalog = smp.kubernetes(version)
    for base in bases():
        kind = str(base["apiVersion"]), str(base["kind"])
        if kind in catalog.kinds():
            schema = catalog.schema(*kind)
            before = {*unknown_names(base, schema.type, kind[1])}
            result = with_defaults(base, schema)
            assert {*unknown_names(result, schema.type, kind[1])} <= before
