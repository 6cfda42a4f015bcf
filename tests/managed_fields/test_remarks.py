"""What a server without unions answers to an apply, and how to get the same from it."""

from __future__ import annotations

import smp
from smp import merge_patch
from smp.managed_fields import track
from smp.schema.model import Schema
from smp.values import JSON, JSONObject, as_object

SCHEMA = smp.kubernetes().schema("v1", "Pod")


def pod(**source: JSON) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "containers": [{"name": "app", "image": "app:1"}],
            "volumes": [{"name": "data", **source}],
        },
    }


def volumes(obj: JSONObject) -> JSON:
    return as_object(obj["spec"])["volumes"]


HOST_PATH = pod(hostPath={"path": "/data"})


def test_without_a_union_there_is_no_remark() -> None:
    result = smp.server_side_apply(None, pod(emptyDir={}), SCHEMA, manager="one")
    assert result.remark is None


def test_the_member_of_another_applier_can_be_dropped_by_it() -> None:
    live = smp.server_side_apply(None, pod(emptyDir={}), SCHEMA, manager="one").object
    result = smp.server_side_apply(live, HOST_PATH, SCHEMA, manager="two")
    assert volumes(result.object) == [
        {"name": "data", "hostPath": {"path": "/data", "type": ""}}
    ]
    remark = result.remark
    assert remark is not None
    assert str(remark.path) == "spec.volumes[name=data].emptyDir"
    assert "may not specify more than 1 volume type" in remark.answer
    remedy = remark.remedy
    assert remedy is not None
    assert (remedy.means, remedy.manager) == ("drop", "one")
    # As the remedy says: first the other manager, then this one.
    dropped = smp.server_side_apply(
        live, remedy.body, SCHEMA, manager="one", profile="off"
    ).object
    applied = smp.server_side_apply(
        dropped, remedy.then, SCHEMA, manager="two", profile="off", force=remedy.force
    ).object
    assert applied["spec"] == result.object["spec"]


def test_the_member_of_an_update_takes_a_patch() -> None:
    live = track(None, pod(emptyDir={}), SCHEMA, manager="installer")
    result = smp.server_side_apply(live, HOST_PATH, SCHEMA, manager="two")
    assert result.remark is not None
    remedy = result.remark.remedy
    assert remedy is not None
    assert remedy.means == "patch"
    patched = as_object(merge_patch.apply(live, remedy.body))
    assert volumes(patched) == volumes(result.object)


def test_a_configuration_can_have_the_discriminator_itself() -> None:
    union: JSONObject = {
        "discriminator": "type",
        "members": {"one": "One", "two": "Two"},
    }
    spec: JSONObject = {
        "fields": {"type": "string", "one": "integer", "two": "integer"},
        "unions": [union],
    }
    names: JSONObject = {"fields": {"name": "string"}}
    fields: JSONObject = {"apiVersion": "string", "metadata": names, "spec": spec}
    schema = Schema.inline({"fields": fields})
    configuration: JSONObject = {
        "apiVersion": "example.com/v1",
        "metadata": {"name": "a"},
        "spec": {"one": 1},
    }
    result = smp.server_side_apply(
        None, configuration, schema, manager="one", profile="kep2019"
    )
    assert result.object["spec"] == {"one": 1, "type": "One"}
    assert result.remark is not None
    remedy = result.remark.remedy
    assert remedy is not None
    assert remedy.means == "apply"
    assert remedy.body["spec"] == {"one": 1, "type": "One"}
