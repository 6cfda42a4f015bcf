"""What typed storage makes of objects, beside Go's structs and a real server.

tests/record/typed_storage.py recorded what Go printed, and what a kube-apiserver
stored. ``SMP_FUZZ_CASES`` sets the number of random objects, ``SMP_FUZZ_SEED`` the
seed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

import pytest

import smp
from smp._storage.typed_storage import find_decoding_problem, stored
from smp._storage.typed_storage._plan import go_types
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_list, as_object
from smp.errors import DepthError
from smp.schema.model import ObjectType, Schema, Type
from smp.schema.plan import find_following_types
from tests.record.field_sets import read
from tests.record.typed_storage import CREATED, PRINTED, TABLE, compiled
from tests.support.reference import as_go_prints
from tests.support.typed_objects import VERSION, needs_oracle, objects, oracle

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "6000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
CATALOG: Final = smp.kubernetes(VERSION)
POD: Final = CATALOG.schema("v1", "Pod")

# Fields that a kube-apiserver fills in where they are zero, or does not store.
DEFAULTED: Final = (
    "*.containers.livenessProbe.grpc.service",
    "*.containers.readinessProbe.grpc.service",
    "PriorityLevelConfiguration.spec.limited.nominalConcurrencyShares",
    "PriorityLevelConfiguration.spec.limited.limitResponse.queuing.handSize",
    "PriorityLevelConfiguration.spec.limited.limitResponse.queuing.queueLengthLimit",
    "PriorityLevelConfiguration.spec.limited.limitResponse.queuing.queues",
    "Service.spec.ports.targetPort",
)
NOT_STORED: Final = (
    "*.metadata.deletionGracePeriodSeconds",
    # Its feature gate is off.
    "*.spec.schedulingGroup",
    "PersistentVolumeClaim.spec.dataSource",
    "Secret.stringData",
)
# Values that the server changes: stringData is written over data, and admission adds
# tolerations.
CHANGED: Final = ("Secret.data.*", "Pod.spec.tolerations")


def _text(value: JSON | Absent) -> str:
    """Return what tells 1 from true and 1.0."""
    return "" if isinstance(value, Absent) else json.dumps(value, sort_keys=True)


def _check(
    obj: JSONObject, printed: JSONObject, *, at_rest: bool
) -> tuple[str, str, str] | None:
    found = stored(obj, CATALOG.schema_of(obj), at_rest=at_rest)
    if _text(as_go_prints(found)) == _text(printed):
        return None
    return _text(obj), _text(printed), _text(found)


def _structs(type_: Type, found: dict[str, ObjectType]) -> None:
    """Collect the named types with fields that a type leads to."""
    queue = [type_]
    seen = set()
    for current in queue:
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, ObjectType) and current.name and current.structured:
            found[current.name] = current
        queue.extend(find_following_types(current))


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_the_table_has_all_types_of_objects(version: str) -> None:
    catalog = smp.kubernetes(version)
    structs: dict[str, ObjectType] = {}
    for api_version, kind in catalog.kinds():
        type_ = catalog.schema(api_version, kind).type
        field = type_.field("metadata")
        if field is not None and field.reference.endswith(".ObjectMeta"):
            _structs(type_, structs)
    table = go_types()
    for name in structs:
        package, _, simple_name = name.rpartition(".")
        assert simple_name in table[package], name
    assert len(structs) > 600


def test_the_fields_of_the_table_are_those_of_types() -> None:
    compared = 0
    catalogs = [smp.kubernetes(version) for version in ("1.36", "1.37")]
    for package, types in go_types().items():
        for name, facts in types.items():
            documents = [each.load(f"{package}.{name}") for each in catalogs]
            known: set[str] = set()
            for document in documents:
                known.update(as_object(as_object(document).get("fields")))
            # Types of older versions have fewer fields than their Go sources today.
            if known:
                fields = " ".join(facts.values()).split()
                assert known.issuperset(fields), name
                compared += len(fields)
    assert compared > 1500


@pytest.mark.exhaustive
@needs_oracle
def test_the_table_is_what_the_go_types_say() -> None:
    assert TABLE.read_text() == compiled()


def test_objects_are_stored_as_go_prints_them() -> None:
    kinds = set()
    for record in read(PRINTED):
        obj, printed = record["object"], record["printed"]
        assert _check(obj, printed, at_rest=False) is None
        assert _check(obj, record.get("atRest", printed), at_rest=True) is None
        kinds.add(obj["kind"])
    assert len(kinds) > 60


@pytest.mark.slow
@needs_oracle
def test_random_objects_are_stored_as_go_prints_them() -> None:
    program = oracle()
    assert program is not None
    asked = objects(SEED, CASES)
    answers = program.run([{"object": obj} for obj in asked])
    failures = []
    for obj, answer in zip(asked, answers, strict=True):
        # What a server cannot decode, it refuses.
        if "error" in answer:
            continue
        failures.append(_check(obj, as_object(answer["object"]), at_rest=False))
        failures.append(_check(obj, as_object(answer["atRest"]), at_rest=True))
    wrong = ["\n".join(failure) for failure in failures if failure is not None]
    assert not wrong, "\n\n".join(sorted(wrong, key=len)[:3])


def _differences(
    path: str, obj: JSON | Absent, ours: JSON | Absent, theirs: JSON | Absent
) -> Iterator[tuple[str, JSON | Absent, JSON | Absent, JSON | Absent]]:
    """Yield the scalars, and what is empty or of several types, with their paths."""
    if isinstance(theirs, dict) and (ours is ABSENT or isinstance(ours, dict)):
        for name in {**as_object(obj), **as_object(ours), **theirs}:
            values = [as_object(v).get(name, ABSENT) for v in (obj, ours, theirs)]
            yield from _differences(f"{path}.{name}", *values)
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            yield path, obj, ours, theirs
            return
        for index, element in enumerate(theirs):
            before = as_list(obj)[index] if as_list(obj) else ABSENT
            yield from _differences(path, before, ours[index], element)
    elif _text(ours) != _text(theirs):
        yield path, obj, ours, theirs


def test_a_server_stored_what_it_was_sent_as_typed_storage_does() -> None:
    kinds: Counter[str] = Counter()
    for record in read(CREATED):
        obj, theirs = record["object"], record["stored"]
        kind = obj["kind"]
        schema = CATALOG.schema_of(obj)
        # What a server answers is what typed storage makes of it.
        assert stored(theirs, schema, at_rest=True) is theirs
        ours = stored(obj, schema, at_rest=True)
        for path, sent, was, value in _differences(kind, obj, ours, theirs):
            if was is ABSENT:
                # The server added it: it is not what was sent, and dropped here.
                assert sent is ABSENT or _text(sent) != _text(value), path
                continue
            decided = (*DEFAULTED, *NOT_STORED, *CHANGED)
            matches = [fnmatchcase(path, pattern) for pattern in decided]
            assert any(matches), (path, sent, was, value)
        kinds[kind] += 1
    assert len(kinds) > 20
    assert kinds.total() > 500


def test_what_is_stored_twice_is_the_same_object() -> None:
    for record in read(PRINTED):
        printed = record["printed"]
        schema = CATALOG.schema_of(printed)
        once = stored(printed, schema)
        assert stored(once, schema) is once


def test_the_object_is_not_changed() -> None:
    for record in islice(read(PRINTED), 300):
        obj = record["object"]
        before = deepcopy(obj)
        stored(obj, CATALOG.schema_of(obj))
        assert _text(obj) == _text(before)


def test_an_empty_object_has_what_is_always_printed() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    assert stored({}, schema) == {
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }


def test_subtrees_without_a_change_are_shared() -> None:
    pod: JSONObject = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {"name": "a", "resources": {}},
                {"name": "b", "resources": {}, "tty": False},
            ]
        },
        "status": {},
    }
    found = stored(pod, POD)
    assert found["metadata"] is pod["metadata"]
    before = as_list(as_object(pod["spec"])["containers"])
    after = as_list(as_object(found["spec"])["containers"])
    assert after[0] is before[0]
    assert after[1] == {"name": "b", "resources": {}}


def test_what_the_object_shares_with_the_old_one_is_not_visited() -> None:
    # These are not stored objects: what is visited would change.
    labels: JSONObject = {"app": None}
    container: JSONObject = {"name": "a"}
    shared: JSONObject = {"metadata": {"labels": labels}, "spec": {}}
    old: JSONObject = {**shared, "spec": {"containers": [container]}}
    other: JSONObject = {"name": "b", "resources": {}}
    new: JSONObject = {**shared, "spec": {"containers": [other, container]}}
    assert stored(new, POD, old) == {**new, "status": {}}
    found = stored(new, POD)
    assert found["metadata"] == {"labels": {"app": ""}}
    assert found["spec"] == {"containers": [other, {"name": "a", "resources": {}}]}


@pytest.mark.parametrize(
    "value",
    [0, 1.5, "", "text", True, False, None, [], ["a"], {}, {"a": {"b": []}}],
    ids=repr,
)
def test_values_of_wrong_types_stay(value: JSON) -> None:
    obj: JSONObject = {
        "metadata": {"labels": value, "creationTimestamp": value},
        "spec": {
            "containers": value,
            "hostNetwork": value,
            "nodeName": value,
            "overhead": {"cpu": value},
        },
    }
    found = as_object(stored(obj, POD)["spec"])
    dropped: dict[str, tuple[JSON, ...]] = {
        "hostNetwork": (None, False),
        "nodeName": (None, ""),
    }
    for name, empty in dropped.items():
        if any(_text(value) == _text(each) for each in empty):
            assert name not in found
        else:
            assert found[name] is value


def test_unknown_fields_stay() -> None:
    obj: JSONObject = {"metadata": {"extra": None}, "spec": {"containers": [], "x": ""}}
    assert stored(obj, POD) == {**obj, "status": {}}


def test_an_object_of_an_unknown_type_is_returned_as_it_is() -> None:
    schema = Schema.inline({"fields": {"spec": {"fields": {"text": "string"}}}})
    obj: JSONObject = {"spec": {"text": "", "other": None}}
    assert stored(obj, schema) is obj


def test_of_a_custom_resource_only_metadata_is_stored_as_go_prints_it() -> None:
    embedded: JSONObject = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    spec: JSONObject = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "one": embedded,
            "several": {"type": "array", "items": embedded},
            "named": {"type": "object", "additionalProperties": embedded},
        },
    }
    root: JSONObject = {"type": "object", "properties": {"spec": spec}}
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": root}}],
        },
    }
    schema = smp.Catalog.from_crd(definition).schema("example.com/v1", "Foo")
    sent: JSONObject = {"name": "x", "labels": {}, "annotations": {"a": None}}
    # As kube-apiserver 1.36.3 stored it.
    kept: JSONObject = {"name": "x", "annotations": {"a": ""}}

    def resource(metadata: JSONObject) -> JSONObject:
        content: JSONObject = {"metadata": metadata, "spec": {"a": ""}, "b": None}
        return {
            "metadata": metadata,
            "spec": {
                "text": "",
                "other": None,
                "one": content,
                "several": [content],
                "named": {"a": content},
            },
        }

    assert stored(resource(sent), schema) == resource(kept)
    obj = resource(kept)
    assert stored(obj, schema) is obj


def test_a_server_reads_null_for_an_empty_list_that_is_always_printed() -> None:
    schema = CATALOG.schema("rbac.authorization.k8s.io/v1", "Role")
    role: JSONObject = {"metadata": {}, "rules": []}
    assert stored(role, schema) is role
    # As kube-apiserver 1.36.3 stored it.
    assert stored(role, schema, at_rest=True) == {"metadata": {}, "rules": None}


def test_a_server_keeps_an_empty_list_of_a_definition() -> None:
    schema = CATALOG.schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    # As kube-apiserver 1.36.3 answered a PUT of the status, and a GET after it.
    names: JSONObject = {"kind": "Foo", "plural": "foos"}
    status: JSONObject = {
        "acceptedNames": names,
        "conditions": [],
        "storedVersions": ["v1"],
    }
    found = stored({"status": status}, schema, at_rest=True)
    assert found["status"] is status


def test_an_object_that_is_too_deep_is_refused() -> None:
    definition: JSONObject = {"type": "object"}
    for _ in range(5000):
        definition = {"not": definition}
    version: JSONObject = {"schema": {"openAPIV3Schema": definition}}
    schema = CATALOG.schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    with pytest.raises(DepthError):
        stored({"spec": {"versions": [version]}}, schema)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"cpu": "1", "memory": "1.5Gi"}, ""),
        ({"cpu": 1}, ""),
        ({"cpu": "one"}, "quantities must match the regular expression"),
        ({"cpu": "1Q"}, "quantities must match the regular expression"),
        ({"cpu": "1mm"}, "unable to parse quantity's suffix"),
        ({"cpu": []}, "quantities must match the regular expression"),
    ],
)
def test_quantities_are_decoded(limits: JSONObject, problem: str) -> None:
    container: JSONObject = {"name": "app", "resources": {"limits": limits}}
    pod: JSONObject = {"spec": {"containers": [container]}}
    found = find_decoding_problem(pod, smp.kubernetes().schema("v1", "Pod"))
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


# What a kube-apiserver 1.36.3 answers.
TIMES: Final = [
    ("2024-02-29T23:59:59.5+01:00", ""),
    ("bad", ' as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'),
    ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
    ("2024-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
    ("2024-13-01T00:00:00Z", ": month out of range"),
    ("2024-01-01T24:00:00Z", ": hour out of range"),
    ("2023-02-29T00:00:00Z", ": day out of range"),
]


@pytest.mark.parametrize(("time", "problem"), TIMES)
def test_times_are_decoded(time: str, problem: str) -> None:
    taint: JSONObject = {"key": "a", "effect": "NoExecute", "timeAdded": time}
    schema = smp.kubernetes().schema("v1", "Node")
    found = find_decoding_problem({"spec": {"taints": [taint]}}, schema)
    assert found == (f'parsing time "{time}"{problem}' if problem else "")


def test_a_micro_time_has_six_digits() -> None:
    schema = smp.kubernetes().schema("coordination.k8s.io/v1", "Lease")
    time = "2024-01-01T00:00:00Z"
    assert find_decoding_problem({"spec": {"renewTime": time}}, schema) == (
        f'parsing time "{time}" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse "Z" as ".000000"'
    )
    exact = "2024-01-01T00:00:00.000000Z"
    assert not find_decoding_problem({"spec": {"renewTime": exact}}, schema)


# What a kube-apiserver 1.36.3 answers: the byte, or None for what it reads.
BYTES: Final[list[tuple[str, int | None]]] = [
    ("YQ==", None),
    ("YQ==\n", None),
    ("////", None),
    ("!!", 0),
    ("YQ", 0),
    ("YQ=", 3),
    ("Y Q==", 1),
    ("Y_-=", 1),
]


@pytest.mark.parametrize(("text", "byte"), BYTES)
def test_bytes_are_decoded(text: str, byte: int | None) -> None:
    found = find_decoding_problem(
        {"data": {"a": text}}, smp.kubernetes().schema("v1", "Secret")
    )
    assert found == (
        "" if byte is None else f"illegal base64 data at input byte {byte}"
    )


def test_what_is_shared_with_a_stored_object_is_not_decoded_again() -> None:
    schema = smp.kubernetes().schema("v1", "Service")
    broken: JSONObject = {"ports": [{"port": 1, "targetPort": []}]}
    problem = "json: cannot unmarshal array into Go value of type int32"
    assert find_decoding_problem({"spec": broken}, schema) == problem
    assert not find_decoding_problem(
        {"spec": broken, "kind": ""}, schema, {"spec": broken}
    )
