"""What a server without unions answers to an apply, and how to get the same from it."""

from __future__ import annotations

import pytest

import smp
from smp import json_patch
from smp._values.values import JSON, JSONObject, as_object, same
from smp.errors import UnionConflictError
from smp.managed_fields import owners, predict_refusal, track
from smp.paths import KeyedElement, Path
from smp.schema.model import Schema

SCHEMA = smp.kubernetes().schema("apps/v1", "Deployment")


def deployment(**pod_spec: JSON) -> JSONObject:
    labels: JSONObject = {"labels": {"a": "b"}}
    containers: JSONObject = {"containers": [{"name": "app", "image": "app:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": labels, "spec": {**containers, **pod_spec}},
        },
    }


def with_volume(**source: JSON) -> JSONObject:
    return deployment(volumes=[{"name": "data", **source}])


def volumes(obj: JSONObject) -> JSON:
    template = as_object(as_object(obj["spec"])["template"])
    return as_object(template["spec"])["volumes"]


HOST_PATH = with_volume(hostPath={"path": "/data"})
VOLUME = Path(
    ("spec", "template", "spec", "volumes", KeyedElement((("name", "data"),)))
)


def test_without_a_union_there_is_no_remark() -> None:
    result = smp.server_side_apply(
        None, with_volume(emptyDir={}), SCHEMA, manager="one"
    )
    assert result.remark is None


def test_the_member_of_another_applier_can_be_dropped_by_it() -> None:
    live = smp.server_side_apply(
        None, with_volume(emptyDir={}), SCHEMA, manager="one"
    ).object
    result = smp.server_side_apply(live, HOST_PATH, SCHEMA, manager="two")
    assert volumes(result.object) == [
        {"name": "data", "hostPath": {"path": "/data", "type": ""}}
    ]
    remark = result.remark
    assert remark is not None
    assert remark.path == VOLUME / "emptyDir"
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


def test_the_member_of_an_update_can_be_taken() -> None:
    live = track(None, with_volume(emptyDir={}), SCHEMA, manager="installer")
    result = smp.server_side_apply(live, HOST_PATH, SCHEMA, manager="two")
    assert result.remark is not None
    remedy = result.remark.remedy
    assert remedy is not None
    assert (remedy.means, remedy.force) == ("take", False)
    assert [owner.manager for owner in remedy.owners] == ["installer"]
    assert '"installer" (Update)' in str(remedy)
    first, last = remedy.requests("/apis/apps/v1/namespaces/default/deployments/web")
    assert first.media_type == "application/json-patch+json"
    assert last.media_type == "application/apply-patch+yaml"
    taken = json_patch.apply(live, first.body)
    assert volumes(taken) == volumes(live)
    applied = smp.server_side_apply(
        taken, last.body, SCHEMA, manager="two", profile="off"
    ).object
    assert volumes(applied) == volumes(result.object)
    former = VOLUME / "emptyDir"
    assert not any(owner.fields.has(former) for owner in owners(applied))


def test_a_member_that_another_one_applies_is_taken_with_force_only() -> None:
    live = smp.server_side_apply(
        None, with_volume(emptyDir={}), SCHEMA, manager="one"
    ).object
    remark = predict_refusal(live, HOST_PATH, SCHEMA, manager="two")
    assert remark is not None
    assert remark.remedy is not None
    assert remark.remedy.force
    assert "with force" in str(remark.remedy)


def test_a_body_that_drops_a_member_has_no_null_to_own() -> None:
    # A manager owns the null that it applies, which the other apply would conflict
    # with (recorded: 409 for preStop and env.valueFrom).
    def with_hook(**hook: JSON) -> JSONObject:
        container: JSONObject = {"name": "app", "image": "app:1"}
        container["lifecycle"] = {"preStop": hook}
        return deployment(containers=[container])

    before, after = with_hook(exec={"command": ["a"]}), with_hook(httpGet={"port": 80})
    live = smp.server_side_apply(None, before, SCHEMA, manager="one").object
    remark = smp.server_side_apply(live, after, SCHEMA, manager="two").remark
    assert remark is not None
    remedy = remark.remedy
    assert remedy is not None
    assert (remedy.means, remedy.manager, remedy.force) == ("drop", "one", False)
    assert same(remedy.body, deployment())


def test_a_remedy_keeps_all_rules_of_the_kind() -> None:
    # Without rules an Ingress needs a backend, so that no manager can drop the one that
    # it has (Go: networking ValidateIngressSpec; recorded: 422).
    def ingress(backend: JSONObject) -> JSONObject:
        spec: JSONObject = {"ingressClassName": "x", "defaultBackend": backend}
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web"},
            "spec": spec,
        }

    service = ingress({"service": {"name": "s", "port": {"number": 80}}})
    resource = ingress({"resource": {"kind": "K", "name": "n", "apiGroup": "g.e.com"}})
    schema = smp.kubernetes().schema("networking.k8s.io/v1", "Ingress")
    live = smp.server_side_apply(None, service, schema, manager="one").object
    remark = smp.server_side_apply(live, resource, schema, manager="two").remark
    assert remark is not None
    assert remark.remedy is not None
    assert remark.remedy.means == "take"


def test_a_member_beside_the_choice_of_another_manager_is_remarked() -> None:
    def strategy(**fields: JSON) -> JSONObject:
        obj = deployment()
        obj["spec"] = {**as_object(obj["spec"]), "strategy": fields}
        return obj

    live = smp.server_side_apply(
        None, strategy(type="Recreate"), SCHEMA, manager="one"
    ).object
    result = smp.server_side_apply(
        live, strategy(rollingUpdate={"maxSurge": 1}), SCHEMA, manager="two"
    )
    assert result.remark is not None
    assert result.remark.refuses
    assert "may not be specified when strategy `type` is" in result.remark.answer


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


def test_a_member_that_its_discriminator_does_not_select_is_told_so() -> None:
    """The draft of 2022: the discriminator decides, also where it is left as it is."""
    union: JSONObject = {
        "discriminator": "mode",
        "fields-to-discriminateBy": {"red": {"discriminatorValue": "Red"}},
    }
    spec: JSONObject = {
        "fields": {"mode": "string", "red": {"fields": {"a": "string"}}},
        "unions": [union],
    }
    head = dict.fromkeys(("apiVersion", "kind"), "string")
    schema = Schema.inline({"fields": {**head, "metadata": "any", "spec": spec}})
    manifest: JSONObject = {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"red": {"a": "x"}},
    }
    text = "the configuration sets this member of a union and leaves its discriminator"
    with pytest.raises(UnionConflictError, match=f"^spec.red: {text} 'mode'"):
        smp.server_side_apply(
            None, manifest, schema, manager="m", profile="kep1027-draft"
        )
