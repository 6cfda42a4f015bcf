"""Who owns which value of an object, from its managedFields alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from random import Random

import pytest

import smp
from smp._values.values import JSON, JSONArray, JSONObject, as_object
from smp.documents import read
from smp.managed_fields import (
    Blame,
    FieldSet,
    Ownership,
    blame,
    fieldset_of,
    owners_of,
)
from smp.paths import Path
from tests.record import field_sets
from tests.record.owned import OWNED
from tests.support.field_sets import random_set, random_value, subjects

EVERY = subjects()["Every"][2]


def with_entries(obj: JSONObject, **fields: JSONObject) -> JSONObject:
    """Return an object with an entry of managedFields for each manager."""
    entries: JSONArray = []
    for manager, document in fields.items():
        entry: JSONObject = {"manager": manager, "operation": "Apply"}
        entries.append({**entry, "fieldsType": "FieldsV1", "fieldsV1": document})
    metadata = as_object(obj.get("metadata"))
    return {**obj, "metadata": {**metadata, "managedFields": entries}}


def owned_objects() -> list[JSONObject]:
    """Return the objects that a real kube-apiserver had after writes by several."""
    documents = read(OWNED.read_bytes(), source=str(OWNED))
    return [as_object(document.value) for document in documents]


def ownerships(found: Blame) -> dict[str, tuple[str, list[str]]]:
    """Return by path how a value is owned, and by which managers."""
    return {
        str(value.path): (
            value.ownership.value,
            [owner.manager for owner in value.owners],
        )
        for value in found.values
    }


def assert_complete(found: Blame) -> None:
    """Compare the blame with the field sets that it comes from, path by path."""
    for owner in found.owners:
        owned = [
            value.path
            for value in found.values
            if value.ownership is Ownership.FIELD and owner in value.owners
        ]
        absent = [field.path for field in found.absent if owner in field.owners]
        assert _texts((*owned, *absent)) == _texts(owner.fields.paths())


def _texts(paths: Iterable[Path]) -> set[str]:
    # As path elements: a path of Go has 1 where the object has 1.0.
    return {json.dumps(FieldSet.of(path).to_v1()) for path in paths}


def test_every_path_that_an_api_server_stored_is_found() -> None:
    _, *records = field_sets.read(field_sets.APPLIED)
    for record in records:
        obj = record["configuration"]
        metadata = {**obj["metadata"], "managedFields": record["managedFields"]}
        found = blame({**obj, "metadata": metadata})
        assert_complete(found)
        assert found.absent == ()
        for value in found.values:
            # A list of type set or map that is empty has nothing to be owned.
            if value.ownership is Ownership.NONE:
                assert "[]" in json.dumps(value.value)


def test_objects_of_several_managers_are_found_whole() -> None:
    deployment, secret, every = owned_objects()
    for obj in (deployment, secret, every):
        assert_complete(blame(obj))
    # Their API server drops an empty value of an env variable, and keeps its owner.
    [absent] = blame(deployment).absent
    steps = "spec.template.spec.containers[name=app].env[name=A].value"
    assert str(absent.path) == steps
    assert [owner.manager for owner in absent.owners] == ["alice"]
    assert blame(every).absent == ()


def test_owners_are_found_on_every_type_of_list_and_map() -> None:
    _, _, every = owned_objects()
    found = ownerships(blame(every))
    assert found["spec.ports"] == ("inner", [])
    assert found["spec.ports[port=1,protocol=TCP]"] == ("field", ["alice"])
    assert found["spec.ports[port=1,protocol=TCP].protocol"] == ("none", [])
    udp = "spec.ports[port=1,protocol=UDP]"
    assert found[udp] == ("field", ["alice", "bob"])
    assert found[f"{udp}.tags[=t]"] == ("field", ["alice", "bob"])
    assert found[f"{udp}.tags[=u]"] == ("field", ["bob"])
    assert found["spec.numbers[=2.5]"] == ("field", ["alice", "bob"])
    assert found["spec.atomicList"] == ("field", ["alice", "bob"])
    assert found["spec.atomicList[1]"] == ("whole", ["alice", "bob"])
    assert found["spec.atomicStruct.b"] == ("whole", ["alice"])
    assert found["spec.granularMap.one"] == ("field", ["alice", "bob"])
    assert found["spec.granularMap.one.b"] == ("field", ["bob"])


def test_owners_are_those_that_owners_of_names() -> None:
    for obj in owned_objects():
        for value in blame(obj).values:
            expected = owners_of(obj, value.path)
            if value.ownership in (Ownership.FIELD, Ownership.WHOLE):
                assert value.owners == expected, value.path
            else:
                assert expected == (), value.path


def test_the_sets_of_random_objects_are_found() -> None:
    random = Random("blame")
    shared = 0
    for _ in range(300):
        value = random_value(random, EVERY.type, 0)
        fields = fieldset_of(value, EVERY)
        part = fields.difference(FieldSet.from_v1(random_set_of(random)))
        leaves = fields.leaves()
        obj = with_entries(value, a=fields.to_v1(), b=part.to_v1(), c=leaves.to_v1())
        found = blame(obj)
        assert_complete(found)
        shared += sum(len(value.owners) > 1 for value in found.values)
    assert shared > 1000


def random_set_of(random: Random) -> JSONObject:
    """Return the set of a part of a random object."""
    return fieldset_of(random_value(random, EVERY.type, 0), EVERY).to_v1()


def test_sets_that_do_not_fit_the_object_are_absent() -> None:
    random = Random("blame of anything")
    for _ in range(300):
        value = random_value(random, EVERY.type, 0)
        documents: list[JSONObject] = []
        while len(documents) < 2:
            document = json.loads(random_set(random))
            try:
                documents.append(FieldSet.from_v1(document).to_v1())
            except smp.SmpError:
                continue
        assert_complete(blame(with_entries(value, a=documents[0], b=documents[1])))


def test_what_an_api_server_does_not_track_is_told_from_what_is_unowned() -> None:
    metadata: JSONObject = {"name": "a", "uid": "1", "labels": {"x": "1"}}
    obj: JSONObject = {"apiVersion": "v1", "kind": "K", "metadata": metadata}
    found = ownerships(blame({**obj, "name": "b"}))
    assert found["apiVersion"] == found["metadata"] == ("untracked", [])
    assert found["metadata.name"] == found["metadata.uid"] == ("untracked", [])
    assert found["metadata.labels"] == ("none", [])
    assert found["metadata.labels.x"] == ("none", [])
    assert found["name"] == ("none", [])


def test_the_struct_that_grew_belongs_to_those_who_own_its_fields() -> None:
    # ``emptyDir: {}`` was applied by one, and its medium set by another.
    obj = with_entries(
        {"emptyDir": {"medium": "Memory", "sizeLimit": "1"}},
        a={"f:emptyDir": {}},
        b={"f:emptyDir": {"f:medium": {}}},
    )
    found = ownerships(blame(obj))
    assert found["emptyDir"] == ("field", ["a"])
    assert found["emptyDir.medium"] == ("field", ["b"])
    assert found["emptyDir.sizeLimit"] == ("whole", ["a"])


@pytest.mark.parametrize(
    ("elements", "fields", "expected"),
    [
        pytest.param(
            [{"port": 1}, {"port": 1, "name": "x"}],
            {
                "a": {'k:{"port":1}': {}},
                "b": {'k:{"name":"x","port":1}': {}},
            },
            {"l[port=1]": ["a"], "l[name=x,port=1]": ["b"]},
            id="an optional key",
        ),
        pytest.param(
            [{"port": 1, "protocol": "TCP"}],
            {
                "a": {'k:{"port":1}': {}},
                "b": {'k:{"port":1,"protocol":"TCP"}': {}},
            },
            {"l[port=1,protocol=TCP]": ["a", "b"]},
            id="a key that another version of the API has not",
        ),
        pytest.param(
            [{"port": 1}, {"port": 2}],
            {"a": {'k:{"port":1,"protocol":"TCP"}': {}}},
            {"l[port=1,protocol=TCP]": ["a"], "l[port=2]": []},
            id="a key with a default",
        ),
        pytest.param(
            [{}],
            {"a": {'k:{"name":""}': {}}},
            {"l[name=]": ["a"]},
            id="a key that is a zero value",
        ),
        pytest.param(
            [{"port": 1}],
            {
                "a": {
                    'k:{"port":1,"protocol":"TCP"}': {},
                    'k:{"port":1,"protocol":"UDP"}': {},
                }
            },
            {"l[port=1]": []},
            id="a default that may be either",
        ),
        pytest.param(
            [{"name": "a"}, {"name": "a"}],
            {"a": {'k:{"name":"a"}': {}}},
            {"l[name=a]": ["a"]},
            id="an element that is there twice",
        ),
        pytest.param(
            ["x", 1, True, 1.5],
            {"a": {'v:"x"': {}, "v:true": {}}, "b": {"v:1": {}}},
            {"l[=x]": ["a"], "l[=1]": ["b"], "l[=true]": ["a"], "l[=1.5]": []},
            id="a set",
        ),
        pytest.param(
            ["x", "y"], {"a": {"i:1": {}}}, {"l[0]": [], "l[1]": ["a"]}, id="indexes"
        ),
    ],
)
def test_the_element_that_a_path_element_means(
    elements: list[JSON],
    fields: dict[str, JSONObject],
    expected: dict[str, list[str]],
) -> None:
    sets: dict[str, JSONObject] = {name: {"f:l": fields[name]} for name in fields}
    found = blame(with_entries({"l": elements}, **sets))
    managers = {
        str(value.path): [owner.manager for owner in value.owners]
        for value in found.values
        if len(value.path.steps) == 2 and value.path.steps[0] == "l"
    }
    assert managers == expected


def test_an_entry_that_cannot_be_read_leaves_the_others() -> None:
    obj = with_entries({"x": 1, "y": 2}, a={"f:x": {}}, b={"y": {}}, c={"f:y": {}})
    before = copy.deepcopy(obj)
    found = blame(obj)
    assert ownerships(found)["x"] == ("field", ["a"])
    assert ownerships(found)["y"] == ("field", ["c"])
    [problem] = found.problems
    assert problem.code == "invalid-managed-fields"
    assert str(problem.path) == "metadata.managedFields[1].fieldsV1"
    assert before == obj
    found = blame({"metadata": {"managedFields": {}}})
    assert [str(problem.path) for problem in found.problems] == [
        "metadata.managedFields"
    ]


def test_managed_fields_are_shown_on_demand() -> None:
    obj = with_entries({"x": 1}, a={"f:x": {}})
    assert "metadata.managedFields" not in ownerships(blame(obj))
    found = blame(obj, show_managed_fields=True)
    assert ownerships(found)["metadata.managedFields[0].manager"] == ("untracked", [])
    assert found.obj is obj
