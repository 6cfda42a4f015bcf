"""Sequences of writes by several managers, before any of them is sent."""

from __future__ import annotations

from datetime import UTC, datetime

import smp
from smp._values.values import JSON, JSONObject, as_object
from smp.managed_fields import Step, Verb, owners, release, simulate
from tests.support.recorded_writes import schema_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = smp.kubernetes().schema("apps/v1", "Deployment")
LABELS: JSONObject = {"app": "web"}


def deployment(**spec: JSON) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }


def volume(**source: JSON) -> JSONObject:
    pod: JSONObject = {"volumes": [{"name": "data", **source}]}
    return deployment(template={"spec": pod})


def test_a_scaled_object_is_a_conflict_for_the_applier_and_no_fight() -> None:
    run = simulate(
        None,
        [
            Step("pipeline", deployment(replicas=2)),
            Step("autoscaler", 5, "scale"),
            Step("pipeline", deployment(replicas=2)),
            Step("pipeline", deployment(paused=True)),
        ],
        SCHEMA,
        now=NOW,
    )
    errors = [state.error and state.error.code for state in run.states]
    assert errors == [None, None, "apply-conflict", None]
    assert run.object is not None
    assert as_object(run.object["spec"])["replicas"] == 5
    assert run.fights == ()


def test_different_values_of_one_field_are_a_fight() -> None:
    run = simulate(
        None,
        [
            Step("one", deployment(replicas=1)),
            Step("two", deployment(replicas=2), force=True),
        ],
        SCHEMA,
    )
    [fight] = run.fights
    assert (fight.manager, fight.other) == ("one", "two")
    assert str(fight.path) == str(fight.other_path) == "spec.replicas"


def test_a_configuration_that_is_always_refused_fights_with_no_other() -> None:
    refused = deployment(replicas=2)
    refused["metadata"] = {"name": "web", "managedFields": []}
    run = simulate(
        None,
        [Step("pipeline", deployment(replicas=1)), Step("tuner", refused)],
        SCHEMA,
        now=NOW,
    )
    assert run.states[1].error is not None
    assert run.fights == ()


def test_a_scale_and_an_object_do_not_fight_over_their_kinds() -> None:
    scale: JSONObject = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3},
    }
    run = simulate(
        None,
        [
            Step("pipeline", deployment(replicas=1)),
            Step("autoscaler", scale, subresource="scale"),
        ],
        SCHEMA,
        now=NOW,
    )
    assert [str(fight.path) for fight in run.fights] == ["spec.replicas"]


def test_different_members_of_one_union_are_a_fight() -> None:
    run = simulate(
        None,
        [
            Step("one", volume(emptyDir={})),
            Step("two", volume(hostPath={"path": "/data"})),
        ],
        SCHEMA,
    )
    [fight] = run.fights
    paths = (str(fight.path), str(fight.other_path))
    above = "spec.template.spec.volumes[name=data]"
    assert paths == (f"{above}.emptyDir", f"{above}.hostPath")


def test_what_only_updates_own_is_an_orphan() -> None:
    run = simulate(
        None,
        [
            Step("installer", deployment(replicas=1, paused=True), "update"),
            Step("pipeline", deployment(replicas=1)),
        ],
        SCHEMA,
    )
    # The manager that creates an object owns its defaults, too.
    paths = {str(orphan.path) for orphan in run.orphans}
    assert {"spec.paused", "spec.revisionHistoryLimit"} <= paths
    assert "spec.replicas" not in paths
    for orphan in run.orphans:
        assert [owner.manager for owner in orphan.owners] == ["installer"]


def test_a_default_that_another_manager_created_is_a_conflict() -> None:
    # kube-apiserver 1.36.3 answers these to the two writes.
    created = deployment(selector={"matchLabels": {"a": "b"}})
    creations: tuple[tuple[Verb, str], ...] = (
        ("update", "creator"),
        ("client-side apply", "kubectl-client-side-apply"),
    )
    changes: tuple[tuple[JSONObject, str], ...] = (
        ({"strategy": {"type": "Recreate"}}, ".spec.strategy.type"),
        ({"replicas": 3}, ".spec.replicas"),
    )
    for verb, manager in creations:
        for spec, field in changes:
            steps = [Step(manager, created, verb), Step("flux", deployment(**spec))]
            error = simulate(None, steps, SCHEMA, now=NOW).states[1].error
            assert error is not None, field
            assert error.problem == (
                f'Apply failed with 1 conflict: conflict with "{manager}" '
                f"using apps/v1: {field}"
            )


def test_no_step_and_no_end_of_a_sequence_raises() -> None:
    # A server stores it in a custom resource, and tracks nothing of the write.
    schema = schema_of("example.com/v1", "Widget", "1.36")
    widget: JSONObject = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
    }
    steps = [
        Step("a", {**widget, "spec": {"text": "x"}}, "update"),
        Step("b", {**widget, "spec": {"pairs": [{"a": "x", "b": 1}]}}, "update"),
        Step("c", {"spec": {"pairs": 1}}, "merge patch"),
    ]
    run = simulate(None, steps, schema, now=NOW)
    codes = [state.error and state.error.code for state in run.states]
    assert codes == [None, None, "wrong-type"]


def test_kubectl_changes_from_client_side_to_server_side_apply() -> None:
    run = simulate(
        None,
        [
            Step(
                "kubectl-client-side-apply",
                deployment(replicas=1, paused=True),
                "client-side apply",
            ),
            Step("kubectl", deployment(replicas=1), "kubectl apply"),
        ],
        SCHEMA,
        now=NOW,
    )
    assert run.object is not None
    assert "paused" not in as_object(run.object["spec"])
    found = {(owner.manager, owner.operation) for owner in owners(run.object)}
    assert found == {("kubectl", "Apply"), ("kubectl-last-applied", "Apply")}
    assert run.orphans == ()


def test_a_step_that_is_refused_changes_nothing() -> None:
    run = simulate(None, [Step("autoscaler", 3, "scale")], SCHEMA)
    assert run.object is None
    assert run.states[0].error is not None
    assert run.states[0].error.code == "not-found"


def test_releasing_is_the_inverse_of_an_apply() -> None:
    before = smp.server_side_apply(
        None, deployment(replicas=1), SCHEMA, manager="one", now=NOW
    ).object
    applied = smp.server_side_apply(
        before, volume(emptyDir={}), SCHEMA, manager="two", now=NOW
    ).object
    assert release(applied, SCHEMA, "three") is applied
    released = release(applied, SCHEMA, "two")
    assert released["metadata"] == before["metadata"]
    assert as_object(released["spec"])["replicas"] == 1
