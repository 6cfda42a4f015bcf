"""Patches that are accepted, and the unions of the objects that they make."""

from __future__ import annotations

import copy
import json
from typing import Final

import pytest

from smp import handler
from smp._values.values import JSON, JSONObject, as_object, same
from smp.handler import JSON_PATCH, MERGE, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from smp.unions import OnConflict
from tests.support.handler_objects import (
    DEPLOYMENT,
    REPLICAS,
    WEB,
    accepted,
    causes,
    dump,
    in_pod,
    message_of,
    patch_web,
    refused,
    value_at,
    web_with,
)

PATCHES: Final[dict[str, tuple[str, object]]] = {
    "strategic": (STRATEGIC, REPLICAS),
    "merge": (MERGE, REPLICAS),
    "json": (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    "parameters": (f"{MERGE}; charset=utf-8", REPLICAS),
}


@pytest.mark.parametrize("stored", [WEB, dump(WEB)], ids=["dict", "bytes"])
@pytest.mark.parametrize(("media_type", "body"), PATCHES.values(), ids=PATCHES)
def test_a_patch_is_applied(
    stored: bytes | JSONObject, media_type: str, body: object
) -> None:
    before = copy.deepcopy(WEB)
    outcome = accepted(handler.patch(stored, dump(body), media_type, DEPLOYMENT))
    assert outcome.object == web_with(replicas=5)
    assert (outcome.code, outcome.changed) == (200, True)
    assert (outcome.warnings, outcome.changes) == ((), ())
    assert json.loads(outcome.body) == outcome.object
    assert before == WEB


WITHOUT_EFFECT: Final[dict[str, tuple[str, object]]] = {
    "an empty patch": (STRATEGIC, {}),
    "the present value": (MERGE, {"spec": {"replicas": 1}}),
    "no operations": (JSON_PATCH, []),
    "a test that holds": (
        JSON_PATCH,
        [{"op": "test", "path": "/spec/replicas", "value": 1}],
    ),
    "there and back": (
        JSON_PATCH,
        [
            {"op": "replace", "path": "/spec/replicas", "value": value}
            for value in (2, 1)
        ],
    ),
    "an absent field removed": (MERGE, {"spec": {"paused": None}}),
    "identity removed, which is kept": (
        MERGE,
        {
            "kind": None,
            "metadata": dict.fromkeys(("uid", "resourceVersion", "namespace")),
        },
    ),
    "identity set to empty strings": (
        MERGE,
        {"metadata": dict.fromkeys(("uid", "resourceVersion", "namespace"), "")},
    ),
    "fields that only a server sets": (
        MERGE,
        {
            "metadata": {
                "creationTimestamp": None,
                "generation": 9,
            }
        },
    ),
    "managed fields removed": (MERGE, {"metadata": {"managedFields": None}}),
    "an unknown field": (STRATEGIC, {"spec": {"bogus": {"a": [1]}}}),
}


@pytest.mark.parametrize(
    ("media_type", "body"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT
)
def test_a_patch_without_effect_gives_back_the_stored_object(
    media_type: str, body: object
) -> None:
    outcome = accepted(patch_web(body, media_type))
    assert outcome.object is WEB
    assert not outcome.changed


def test_replacing_by_the_manifest_changes_nothing() -> None:
    manifest = {**WEB, "metadata": {"name": "web"}}
    assert accepted(handler.replace(WEB, dump(manifest), DEPLOYMENT)).object is WEB


def test_untouched_parts_are_shared() -> None:
    outcome = accepted(patch_web(REPLICAS))
    template = value_at(WEB, "spec", "template")
    assert value_at(outcome.object, "spec", "template") is template
    replaced = accepted(handler.replace(WEB, dump(web_with(replicas=5)), DEPLOYMENT))
    assert value_at(replaced.object, "spec", "template") is template


def test_the_outcome_of_a_dry_run_is_marked() -> None:
    outcome = accepted(patch_web(REPLICAS, options=Options(dry_run=True)))
    assert outcome.dry_run is True
    assert accepted(patch_web(REPLICAS)).dry_run is False


def test_managed_fields_can_be_replaced() -> None:
    entries = [{"manager": "mine", "fieldsV1": {"f:metadata": {}}}]
    operation = {"op": "replace", "path": "/metadata/managedFields", "value": entries}
    outcome = accepted(patch_web([operation], JSON_PATCH))
    assert value_at(outcome.object, "metadata", "managedFields") == entries


def test_a_cluster_scoped_object_stays_without_a_namespace() -> None:
    node: JSONObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    body = dump({"metadata": {"namespace": "shop"}})
    outcome = handler.patch(node, body, MERGE, kubernetes().schema("v1", "Node"))
    assert accepted(outcome).object is node


def test_generate_name_is_a_field_like_others() -> None:
    outcome = accepted(patch_web({"metadata": {"generateName": "web-"}}, MERGE))
    assert value_at(outcome.object, "metadata", "generateName") == "web-"


def test_the_old_member_of_a_union_is_cleared() -> None:
    outcome = accepted(patch_web({"spec": {"strategy": {"type": "Recreate"}}}))
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}
    assert [str(change.path) for change in outcome.changes] == [
        "spec.strategy.rollingUpdate"
    ]


LISTED: JSONObject = {"$retainKeys": ["rollingUpdate", "type"], "type": "Recreate"}


@pytest.mark.parametrize("on_conflict", ["clear", "error"])
def test_a_name_in_retain_keys_gives_no_field_a_value(on_conflict: OnConflict) -> None:
    # What `kubectl edit` sends, and `kubectl apply` of a manifest with a member that
    # the new type excludes. A PUT of the same object leads to the same.
    options = Options(on_conflict=on_conflict)
    outcome = accepted(patch_web({"spec": {"strategy": LISTED}}, options=options))
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}
    assert outcome.warnings == ()

    strategy = as_object(value_at(WEB, "spec", "strategy"))
    body = dump(web_with(strategy={**strategy, "type": "Recreate"}))
    put = handler.replace(WEB, body, DEPLOYMENT, options)
    assert same(accepted(put).object, outcome.object)


def test_a_member_added_beside_another_one_that_is_listed_clears_it() -> None:
    # kubectl edit: a hostPath was added, the emptyDir stayed.
    volume = {
        "$retainKeys": ["emptyDir", "hostPath", "name"],
        "name": "data",
        "hostPath": {"path": "/data"},
    }
    body = {"spec": {"template": {"spec": {"volumes": [volume]}}}}
    outcome = accepted(patch_web(body))
    assert value_at(outcome.object, "spec", "template", "spec", "volumes") == [
        {"name": "data", "hostPath": {"path": "/data"}}
    ]


CONTRADICTION: JSONObject = {
    "spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 2}}}
}


def test_a_member_that_the_patch_sets_is_cleared_with_a_warning() -> None:
    # KEP-1027 of 2019, Future Work: such a patch is normalized after it was applied.
    outcome = accepted(patch_web(CONTRADICTION))
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}
    assert outcome.warnings == (
        (
            "spec.strategy.rollingUpdate: the patch sets this field; cleared: the"
            " discriminator selects no member"
        ),
    )


BROKEN: JSONObject = web_with(
    strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
)


@pytest.mark.parametrize("stored", [BROKEN, dump(BROKEN)], ids=["dict", "bytes"])
@pytest.mark.parametrize("body", [{}, REPLICAS])
def test_without_ratcheting_an_invalid_object_has_to_be_made_valid(
    stored: bytes | JSONObject, body: JSONObject
) -> None:
    # KEP-1027: "we require that all modifying requests (update/patch) fail unless the
    # data passes union validation".
    accepted(handler.patch(stored, dump(body), MERGE, DEPLOYMENT))
    naive = Options(ratchet=False)
    outcome = handler.patch(stored, dump(body), MERGE, DEPLOYMENT, naive)
    assert [field for _, field, _ in causes(outcome)] == ["spec.strategy.rollingUpdate"]
    repair = dump({"spec": {"strategy": {"rollingUpdate": None}}})
    accepted(handler.patch(stored, repair, MERGE, DEPLOYMENT, naive))


def test_a_member_that_the_patch_sets_can_be_refused() -> None:
    message = "the patch sets this member of a union and asks for another one"
    outcome = patch_web(CONTRADICTION, options=Options(on_conflict="error"))
    assert causes(outcome) == [
        ("FieldValueInvalid", "spec.strategy.rollingUpdate", message)
    ]


def test_every_violation_is_a_cause() -> None:
    probed = {"name": "app", "livenessProbe": {"periodSeconds": 5}}
    template = {"spec": {"containers": [probed]}}
    outcome = patch_web({"spec": {"strategy": {"type": "Odd"}, "template": template}})
    listed = causes(outcome)
    unsupported = (
        'Unsupported value: "Odd": supported values: "Recreate", "RollingUpdate"'
    )
    assert ("FieldValueNotSupported", "spec.strategy.type", unsupported) in listed
    fields = [field for _, field, _ in listed]
    assert "spec.template.spec.containers[0].livenessProbe" in fields
    texts = ", ".join(f"{field}: {message}" for _, field, message in listed)
    assert message_of(outcome) == f'Deployment.apps "web" is invalid: [{texts}]'
    details = refused(outcome).status["details"]
    assert isinstance(details, dict)
    object_of_status = (details["name"], details["group"], details["kind"])
    assert object_of_status == ("web", "apps", "Deployment")


def test_a_violation_of_the_stored_object_does_not_block_a_patch() -> None:
    volumes: list[JSON] = [{"name": "data", "emptyDir": {}, "hostPath": {"path": "/"}}]
    unchecked = Options(profile="off")
    stored = accepted(patch_web(in_pod(volumes=volumes), MERGE, unchecked)).object
    scaled = accepted(handler.patch(stored, dump(REPLICAS), STRATEGIC, DEPLOYMENT))
    assert value_at(scaled.object, "spec", "replicas") == 5
    assert value_at(scaled.object, "spec", "template", "spec", "volumes") == volumes
    # A violation that the patch adds does block it.
    second = in_pod(volumes=[*volumes, {"name": "b", "emptyDir": {}, "nfs": {}}])
    outcome = handler.patch(stored, dump(second), MERGE, DEPLOYMENT)
    fields = [field for _, field, _ in causes(outcome)]
    assert fields == ["spec.template.spec.volumes[1].nfs"]
