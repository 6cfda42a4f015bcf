"""What typed storage makes of objects, beside Go's structs.

tests/record/typed_storage.py recorded what Go printed. ``SMP_FUZZ_CASES`` sets the
number of random objects, ``SMP_FUZZ_SEED`` the seed.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

import smp
from smp.errors import DepthError
from smp.schema.model import Schema
from smp.typed_storage import stored
from smp.values import JSON, JSONObject, as_list, as_object
from tests.record.typed_storage import PRINTED
from tests.support.reference import as_go_prints
from tests.support.typed_objects import VERSION, needs_oracle, objects, oracle

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "6000"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
CATALOG: Final = smp.kubernetes(VERSION)
POD: Final = CATALOG.schema("v1", "Pod")


def _recorded() -> Iterator[tuple[JSONObject, JSONObject]]:
    with lzma.open(PRINTED, "rt", encoding="utf-8") as lines:
        for line in lines:
            record: Any = json.loads(line)
            yield record["object"], record["printed"]


def _text(value: JSON) -> str:
    """Return what tells 1 from true and 1.0."""
    return json.dumps(value, sort_keys=True)


def test_objects_are_stored_as_go_prints_them() -> None:
    failures = []
    kinds = set()
    for obj, printed in _recorded():
        found = as_go_prints(stored(obj, CATALOG.schema_of(obj)))
        if _text(found) != _text(printed):
            failures.append((obj, printed, found))
        kinds.add(obj["kind"])
    assert failures == []
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
        found = as_go_prints(stored(obj, CATALOG.schema_of(obj)))
        if "object" in answer and _text(found) != _text(answer["object"]):
            failures.append(f"{_text(obj)}\n{_text(answer)}\n{_text(found)}")
    assert not failures, "\n\n".join(sorted(failures, key=len)[:3])


def test_what_is_stored_twice_is_the_same_object() -> None:
    for _, printed in _recorded():
        schema = CATALOG.schema_of(printed)
        once = stored(printed, schema)
        assert stored(once, schema) is once


def test_the_object_is_not_changed() -> None:
    for obj, _ in _recorded():
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


def test_an_object_of_a_custom_resource_is_returned_as_it_is() -> None:
    schema = Schema.inline({"fields": {"spec": {"fields": {"text": "string"}}}})
    obj: JSONObject = {"spec": {"text": "", "other": None}}
    assert stored(obj, schema) is obj


def test_an_object_that_is_too_deep_is_refused() -> None:
    definition: JSONObject = {"type": "object"}
    for _ in range(5000):
        definition = {"not": definition}
    version: JSONObject = {"schema": {"openAPIV3Schema": definition}}
    schema = CATALOG.schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    with pytest.raises(DepthError):
        stored({"spec": {"versions": [version]}}, schema)
