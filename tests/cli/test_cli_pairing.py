"""Objects of two inputs are paired by group, kind, namespace and name."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import Ran, config_map, run, values


def applied_report(new: str, live: str) -> Ran:
    Path("new.yaml").write_text(new)
    Path("live.yaml").write_text(live)
    return run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "report")


def test_a_missing_namespace_matches_the_only_candidate() -> None:
    ran = applied_report(config_map(x="1"), config_map(namespace="shop"))
    assert "1 object: 1 changed" in ran.stdout
    ran = applied_report(config_map(namespace="shop", x="1"), config_map())
    assert "1 object: 1 changed" in ran.stdout


def test_different_namespaces_do_not_match() -> None:
    ran = applied_report(config_map(namespace="here"), config_map(namespace="there"))
    assert "1 object: 1 new, 1 skipped" in ran.stdout
    assert "skipped 1 document" in ran.stderr


def test_a_missing_namespace_with_several_candidates_is_an_error() -> None:
    several = config_map(namespace="here") + config_map(namespace="there")
    for new, live in ((config_map(), several), (several, config_map())):
        ran = applied_report(new, live)
        assert ran.exit_code == 2
        assert "several objects match without a namespace" in ran.stderr
        assert "hint:   set metadata.namespace" in ran.stderr


def test_an_exact_match_is_not_a_candidate_for_an_object_without_namespace() -> None:
    new = config_map(namespace="here", x="1") + config_map(x="2")
    ran = applied_report(
        new, config_map(namespace="here") + config_map(namespace="there")
    )
    assert "2 objects: 2 changed" in ran.stdout


def test_objects_of_two_versions_of_a_group_are_paired() -> None:
    autoscaler = "kind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    Path("old.yaml").write_text("apiVersion: autoscaling/v1\n" + autoscaler)
    Path("new.yaml").write_text("apiVersion: autoscaling/v2\n" + autoscaler)
    assert values(run("diff", "old.yaml", "new.yaml").stdout) == [
        {"apiVersion": "autoscaling/v2"}
    ]
    ran = run("apply", "-f", "new.yaml", "--live", "old.yaml")
    assert ran.exit_code == 2
    assert "apiVersion must not change" in ran.stderr


def test_objects_with_generated_names_are_always_created() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n---\n"
    ran = applied_report(job * 2, job)
    assert ran.stdout.count("batch/v1 Job run-*: to be created") == 2
