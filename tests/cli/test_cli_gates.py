"""What a server refuses is said by every command, and decides the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support.command import run
from tests.support.server_definitions import CRON_TABS

LABELS: Final = {"app": "web"}
METADATA: Final = {"name": "web", "namespace": "default"}


def deployment(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    base = {"selector": {"matchLabels": LABELS}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": METADATA,
        "spec": {**base, **spec},
    }


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def job(image: str) -> dict[str, Any]:
    container = {"name": "a", "image": image}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec = {"template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": METADATA, "spec": spec}


def write(name: str, obj: dict[str, Any]) -> str:
    Path(name).write_text(json.dumps(obj))
    return name


# By Go: ValidateObjectMeta, ValidateDeployment and json.UnmarshalTypeError.
REFUSED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "a wrong type": (deployment(replicas="2"), "spec.replicas"),
    "a selector": (
        deployment(selector={"matchLabels": {"app": "other"}}),
        "`selector` does not match template `labels`",
    ),
    "no selector": (deployment(selector=None), "Required value"),
    "a name": (config_map(name="BAD_NAME"), "a lowercase RFC 1123 subdomain"),
    "a prefix": (config_map(generateName="BAD-"), "a lowercase RFC 1123 subdomain"),
    "a namespace": (config_map(name="a", namespace="a.b"), "must not contain dots"),
    "no name": (config_map(), "name or generateName is required"),
}
ACCEPTED: Final = (
    deployment(),
    config_map(name="a.b"),
    config_map(generateName="a-"),
    # Go: features.RelaxedServiceNameValidation, on since 1.36.
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "1a"},
        "spec": {"ports": [{"port": 80}]},
    },
)
COMMANDS: Final[dict[str, tuple[Callable[[str], tuple[str, ...]], int]]] = {
    "apply": (lambda path: ("apply", "-q", "-f", path), 2),
    "server-side": (lambda path: ("apply", "--server-side", "-q", "-f", path), 2),
    "explain": (lambda path: ("explain", "-f", path), 2),
    "diff": (lambda path: ("diff", "--live", "other.json", "-q", path), 2),
    "lint": (lambda path: ("lint", path), 1),
}


def test_what_a_server_refuses_is_said_by_every_command() -> None:
    write("other.json", config_map(name="other"))
    failures = []
    for name, (obj, text) in REFUSED.items():
        path = write("new.json", obj)
        for command, (words, code) in COMMANDS.items():
            # It names no object that could be applied (Go: applyOneObject).
            if command == "server-side" and "name" not in obj["metadata"]:
                continue
            ran = run(*words(path))
            if ran.exit_code != code or text not in ran.output:
                failures.append((command, name, ran.exit_code, ran.output))
    assert not failures


def test_a_word_that_is_a_boolean_in_yaml_is_to_be_quoted() -> None:
    Path("n.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: n}}")
    said = [run(*words).output for words in (("apply", "-f", "n.yaml"), ("lint", "."))]
    assert [text.count("n, no, off, y, yes and on") for text in said] == [1, 1]


def test_what_a_server_accepts_is_no_error() -> None:
    write("other.json", config_map(name="other"))
    for obj in ACCEPTED:
        path = write("new.json", obj)
        assert run("apply", "-q", "-f", path).exit_code == 0
        assert run("lint", path).exit_code == 0


def test_an_update_is_judged_by_what_it_changes() -> None:
    live = write("live.json", job("a:1"))
    new = write("new.json", job("a:2"))
    # Go: ValidateJobUpdate.
    for command in (
        ("apply", "-q", "-f", new, "--live", live),
        ("diff", "-q", live, new),
        ("diff", "-q", new, "--live", live),
    ):
        ran = run(*command)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert "spec.template: Invalid value" in ran.stderr
        assert "field is immutable" in ran.stderr
    broken = deployment(selector={"matchLabels": {"app": "other"}})
    live = write("live.json", broken)
    new = write("new.json", deployment(**{**broken["spec"], "replicas": 3}))
    assert run("diff", "-q", live, new).exit_code == 1


def test_without_the_rules_of_unions_a_server_still_has_its_own() -> None:
    live = deployment(
        strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    )
    new = deployment(strategy={"type": "Recreate"})
    # Two managers: this one does not own what the other has set.
    paths = write("new.json", new), write("live.json", live)
    ran = run(
        *("apply", "--server-side", "-q", "--profile", "off", "--force-conflicts"),
        *("-f", paths[0], "--live", paths[1], "--field-manager", "helm"),
    )
    assert ran.exit_code == 2
    # Go: ValidateDeploymentStrategy.
    assert "spec.strategy.rollingUpdate: Forbidden" in ran.stderr


def test_a_gate_that_looks_at_nothing_is_not_open() -> None:
    Path("empty.yaml").write_text("")
    Path("plain.yaml").write_text("hello\n")
    new = write("new.json", config_map(name="a"))
    for command in (
        ("lint", "empty.yaml"),
        ("lint", "plain.yaml"),
        ("apply", "-f", "empty.yaml"),
        ("apply", "-f", new, "-l", "app=nothing"),
        ("apply", "-f", new, "--include-kind", "deploy", "-q"),
        ("diff", new, new, "-l", "app=nothing", "-o", "patch"),
    ):
        ran = run(*command)
        assert (ran.exit_code, ran.stdout) == (2, ""), command
        assert "smp: error: no " in ran.stderr


def test_the_same_object_in_two_files_is_found() -> None:
    paths = write("a.json", config_map(name="a")), write("b.json", config_map(name="a"))
    for arguments in (paths, (".", "--severity", "warning")):
        ran = run("lint", *arguments)
        assert ran.exit_code != 0
        assert "repeated-object" in ran.stdout
        assert "a.json:1; what is applied last counts" in ran.stdout


def test_a_definition_judges_its_objects_in_every_command() -> None:
    # Go: apiextensions-apiserver, pkg/registry/customresource, Validate.
    crontab = {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "c"},
        "spec": {"replicas": 4},
    }
    crd = ("--crd", write("crd.json", CRON_TABS))
    good = write("good.json", crontab)
    bad = write("bad.json", {**crontab, "spec": {"replicas": 11}})
    for command in (
        ("apply", "-q", "-f", bad),
        ("apply", "-q", "-f", bad, "--live", good),
        ("diff", "-o", "patch", good, bad),
    ):
        ran = run(*command, *crd)
        assert ran.exit_code == 2, command
        assert "spec.replicas in body should be less than or equal to 10" in ran.stderr
    assert run("lint", bad, *crd).exit_code == 1
    assert run("apply", "-q", "-f", good, *crd).exit_code == 0


def test_an_annotation_that_does_not_fit_is_a_refusal() -> None:
    for name, value in (("new", "y" * 300_000), ("live", "1")):
        obj = {**config_map(name="a"), "data": {"a": value}}
        Path(f"{name}.json").write_text(json.dumps(obj))
    ran = run("apply", "-f", "new.json", "--live", "live.json", "-q")
    assert (ran.exit_code, "oversized-last-applied" in ran.stderr) == (2, True)
    server_side = ("--server-side", "--force-conflicts", "-q")
    ran = run("apply", "-f", "new.json", "--live", "live.json", *server_side)
    assert (ran.exit_code, ran.stderr) == (0, "")
