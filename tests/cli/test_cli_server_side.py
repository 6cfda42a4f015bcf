"""``smp apply --server-side``: as the real kubectl and a real kube-apiserver do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smp._values.values import JSONObject, as_object
from tests.record.field_sets import CRD
from tests.record.server_side import RECORDED
from tests.support.command import Ran, run

RECORDS: list[Any] = [json.loads(line) for line in RECORDED.read_text().splitlines()]


def comparable(obj: JSONObject) -> JSONObject:
    """Return an object without what only a server counts, and without times."""
    metadata: JSONObject = {**as_object(obj["metadata"])}
    for name in ("uid", "resourceVersion", "generation", "creationTimestamp"):
        metadata.pop(name, None)
    entries = []
    for entry in metadata.pop("managedFields"):  # type: ignore[union-attr]
        members = {**as_object(entry)}
        members.pop("time", None)
        entries.append(members)
    # The server sorts by times, which are those of the recording.
    entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return {**obj, "metadata": {**metadata, "managedFields": [*entries]}}


def apply(record: Any, *arguments: str) -> Ran:
    """Apply a recorded configuration to the recorded live object."""
    Path("new.json").write_text(json.dumps(record["configuration"]))
    Path("crd.json").write_text(json.dumps(CRD))
    words = ["apply", *record["arguments"], "-f", "new.json", "--crd", "crd.json"]
    if record["live"] is not None:
        Path("live.json").write_text(json.dumps(record["live"]))
        words += ["--live", "live.json"]
    return run(*words, *arguments)


def named(name: str) -> Any:
    [record] = [record for record in RECORDS if record["name"] == name]
    return record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_the_result_is_that_of_kubectl_and_a_server(record: Any) -> None:
    ran = apply(record, "-o", "json")
    if "error" in record:
        assert ran.exit_code == 2
        expected = record["error"].partition("Please review")[0].splitlines()
        headline = expected[0].partition("error: ")[2].removeprefix("from server: ")
        headline = headline or expected[0].removeprefix("Error from server: ")
        printed = ran.stderr.splitlines()
        assert printed[0] == f"smp: error: {headline}"
        assert [line.strip() for line in printed[1 : len(expected)]] == expected[1:]
        return
    assert ran.exit_code == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert comparable(found) == comparable(record["after"])


def test_the_recording_has_all_that_matters() -> None:
    errors = [record["error"] for record in RECORDS if "error" in record]
    assert sum("Apply failed with" in error for error in errors) >= 4
    assert sum("field not declared in schema" in error for error in errors) >= 2
    assert sum(record["live"] is None for record in RECORDS) >= 3
    assert len(RECORDS) >= 20


HINT = (
    "a field that the configuration leaves out keeps its managers; one with the live "
    "value gets one more"
)
GIVE_UP = "give it up (the configuration leaves it out)"
SHARE = "share it (the configuration has the live value)"
TAKE = "take it (--force-conflicts)"
CONFLICT = "a Deployment of several managers, step 4"
FORCED = "a Deployment of several managers, step 5"


def test_a_conflict_names_the_owner_and_both_values() -> None:
    ran = apply(named(CONFLICT), "-o", "report")
    assert ran.stdout == (
        "apps/v1 Deployment default/web: not applied\n"
        "  applied by kubectl\n"
        "  conflict: spec.template.spec.containers[name=app].image: owned by alice "
        '(Apply); live "a:1", manifest "a:2"\n'
        f"    {GIVE_UP}: owned by alice (Apply)\n"
        f"    {SHARE}: owned by alice (Apply), kubectl (Apply)\n"
        f"    {TAKE}: owned by kubectl (Apply)\n"
        "  conflict: spec.replicas: owned by scaler (Update scale); live 5, "
        "manifest 3\n"
        f"    {GIVE_UP}: owned by scaler (Update scale)\n"
        f"    {SHARE}: owned by kubectl (Apply), scaler (Update scale)\n"
        f"    {TAKE}: owned by kubectl (Apply)\n"
        "\n"
        "1 object: 1 failed\n"
    )
    assert ran.exit_code == 2
    assert ran.stderr.splitlines()[-3:] == [
        "  object: apps/v1 Deployment default/web",
        "  hint:   --force-conflicts takes these fields over",
        f"  hint:   {HINT}",
    ]
    for output in ("yaml", "jsonpatch", "patch", "unified"):
        assert "a:2" not in apply(named(CONFLICT), "-o", output).stdout


def test_records_have_conflicts_and_managers() -> None:
    [record] = json.loads(apply(named(CONFLICT), "--format", "json").stdout)
    assert record["verdict"] == "failed"
    assert record["result"] == record["live"]
    assert record["changes"] == []
    assert [
        (conflict["path"], conflict["manager"], conflict["live"], conflict["manifest"])
        for conflict in record["conflicts"]
    ] == [
        ("spec.template.spec.containers[name=app].image", "alice", "a:1", "a:2"),
        ("spec.replicas", "scaler", 5, 3),
    ]
    assert record["conflicts"][1]["subresource"] == "scale"
    assert not any(row["gained"] or row["lost"] for row in record["managers"])

    [record] = json.loads(apply(named(FORCED), "--format", "json").stdout)
    assert (record["verdict"], record["conflicts"]) == ("changed", [])
    rows = {row["manager"]: row for row in record["managers"]}
    assert rows["scaler"]["lost"] == ["spec.replicas"]
    assert rows["alice"]["lost"] == ["spec.template.spec.containers[name=app].image"]
    assert "spec.replicas" in rows["kubectl"]["gained"]
    assert all(
        change["path"] != "metadata.managedFields" for change in record["changes"]
    )


def test_the_report_has_the_owners_before_and_after() -> None:
    shown = apply(named(FORCED), "-o", "report").stdout.splitlines()
    assert shown[:2] == [
        "apps/v1 Deployment default/web: changed",
        "  applied by kubectl",
    ]
    assert "  ~ spec.replicas: 5 -> 3" in shown
    assert "  owner: spec.replicas: scaler (Update scale) -> kubectl (Apply)" in shown
    assert (
        "  owner: metadata.labels.app: alice (Apply) -> alice (Apply), kubectl (Apply)"
    ) in shown
    assert not any("managedFields" in line for line in shown)
    created = apply(named("a Secret, step 1"), "-o", "report").stdout
    assert "v1 Secret default/password: to be created\n" in created
    assert "  owner: alice (Apply)\n" in created


def test_outputs_for_a_reader_leave_out_managed_fields_and_others_have_them() -> None:
    for output in ("unified", "report"):
        assert "managedFields" not in apply(named(FORCED), "-o", output).stdout
    for output in ("yaml", "json", "jsonpatch"):
        assert "managedFields" in apply(named(FORCED), "-o", output).stdout
    # So the object can be the live one of the next apply.
    Path("next.yaml").write_text(apply(named(FORCED)).stdout)
    ran = run(
        "apply", "--server-side", "-f", "new.json", "--live", "next.yaml", "--stat"
    )
    assert ran.stdout == (
        "apps/v1 Deployment default/web: unchanged\n1 object: 1 unchanged\n"
    )


def test_one_object_with_a_conflict_leaves_the_others() -> None:
    conflict, other = named(CONFLICT), named("a Secret, step 3")
    texts = [json.dumps(record["configuration"]) for record in (conflict, other)]
    Path("new.json").write_text("\n".join(texts))
    texts = [json.dumps(record["live"]) for record in (conflict, other)]
    Path("live.json").write_text("\n".join(texts))
    words = ("apply", "--server-side", "-f", "new.json", "--live", "live.json")
    ran = run(*words)
    assert ran.exit_code == 3
    assert "kind: Secret" in ran.stdout
    assert "kind: Deployment" not in ran.stdout
    assert ran.stderr.endswith("smp: 2 objects: 1 failed, 1 changed\n")
    records = json.loads(run(*words, "--format", "json").stdout)
    assert [record["verdict"] for record in records] == ["failed", "changed"]
    ran = run(*words, "--force-conflicts")
    assert ran.exit_code == 0
    assert ran.stderr == "smp: 2 objects: 2 changed\n"


def test_the_values_of_secrets_are_masked_for_a_reader_and_in_errors() -> None:
    record = named("a Secret, step 2")
    shown = apply(record, "-o", "report")
    assert (
        '  conflict: data.key: owned by alice (Apply); live "*** (live)", '
        'manifest "*** (manifest)"\n'
    ) in shown.stdout
    assert "b3RoZXI=" not in shown.output
    assert "b3RoZXI=" in apply(record, "-o", "report", "--show-secrets").stdout
    # Nor do the ways out of a conflict show one to another program.
    records = apply(record, "--format", "json")
    assert '"ways"' in records.stdout
    assert "b3RoZXI=" not in records.output
    forced = apply(record, "--force-conflicts")
    assert "key: b3RoZXI=" in forced.stdout
    # The words of a server have the value of a wrong type.
    wrong = {**record["configuration"], "data": {"key": [1234567]}}
    shown = apply({**record, "configuration": wrong})
    assert shown.exit_code == 2
    assert "1234567" not in shown.output
    assert "a server cannot apply this Secret" in shown.stderr
    assert (
        "1234567" in apply({**record, "configuration": wrong}, "--show-secrets").output
    )


def test_an_object_of_client_side_apply_is_migrated() -> None:
    record = named("from client-side apply, step 2")
    shown = apply(record, "-o", "report").stdout
    assert "  what client-side apply owned belongs to this manager now\n" in shown
    assert '  - data.b: "1"\n' in shown
    assert (
        "  owner: data.x: kubectl-client-side-apply (Update) -> kubectl (Apply)\n"
    ) in shown


def test_a_live_object_without_managed_fields_is_warned_of() -> None:
    record = named("a Secret, step 3")
    live = json.loads(json.dumps(record["live"]))
    del live["metadata"]["managedFields"]
    ran = apply({**record, "live": live})
    assert ran.exit_code == 0
    assert "smp: warning: v1 Secret default/password: the live object has no " in (
        ran.stderr
    )
    assert "manager: before-first-apply\n" in ran.stdout


def test_an_empty_value_that_each_apply_writes_anew_is_warned_of() -> None:
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "deny-all"},
        "spec": {"podSelector": {}, "ingress": []},
    }
    Path("new.json").write_text(json.dumps(policy))
    ran = run("apply", "--server-side", "-f", "new.json")
    assert ran.exit_code == 0
    assert "spec.ingress: a server does not store the empty value" in ran.stderr


def test_a_kind_without_a_schema_is_applied_with_a_note() -> None:
    custom = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"list": [1, 2], "map": {"a": 1}},
    }
    Path("new.json").write_text(json.dumps(custom))
    words = ("apply", "--server-side", "-f", "new.json")
    ran = run(*words, "--format", "json")
    [record] = json.loads(ran.stdout)
    assert record["managers"][0]["gained"] == [
        "spec",
        "spec.list",
        "spec.map",
        "spec.map.a",
    ]
    assert "its lists are applied as a whole" in run(*words).stderr
    assert run(*words, "--strict").exit_code == 2


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (
            {"generateName": "a-"},
            "from a-: cannot use generate name with apply",
        ),
        ({}, "resource name may not be empty"),
    ],
)
def test_what_has_no_name_is_not_applied(metadata: JSONObject, problem: str) -> None:
    new: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    Path("new.json").write_text(json.dumps(new))
    ran = run("apply", "--server-side", "-f", "new.json")
    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"smp: error: {problem}\n")


def test_a_live_object_of_another_version_is_refused() -> None:
    record = named(FORCED)
    live = {**record["live"], "apiVersion": "apps/v1beta1"}
    ran = apply({**record, "live": live})
    assert ran.exit_code == 2
    assert "the live object has apiVersion apps/v1beta1" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--force-conflicts"], "--force-conflicts only works with --server-side"),
        (["--field-manager", "a"], "--field-manager only works with --server-side"),
        (
            ["--server-side", "--last-applied", "new.json"],
            "--last-applied and --no-overwrite do not work with --server-side",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], problem: str
) -> None:
    Path("new.json").write_text(json.dumps(RECORDS[0]["configuration"]))
    ran = run("apply", "-f", "new.json", *arguments)
    assert ran.exit_code == 2
    assert problem in ran.stderr


def test_what_a_server_rejects_is_an_error() -> None:
    record = named("a Deployment of several managers, step 1")
    assert apply(record, "--strict").exit_code == 0
    wrong = json.loads(json.dumps(record))
    wrong["configuration"]["spec"]["strategy"] = {"type": "Recreat"}
    ran = apply(wrong)
    assert ran.exit_code == 2
    [line] = ran.stderr.splitlines()
    assert line.startswith("smp: error: ")
    assert 'spec.strategy.type: Unsupported value: "Recreat"' in line
    assert "(a server would reject this)" in line


RECREATE: JSONObject = {"type": "Recreate"}
PATH = "/apis/apps/v1/namespaces/default/deployments/web"


def deployment(strategy: JSONObject | None = None) -> str:
    """Write a Deployment as a line of JSON."""
    labels: JSONObject = {"app": "web"}
    container: JSONObject = {"name": "app", "image": "web:1"}
    spec: JSONObject = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container]},
        },
    }
    if strategy is not None:
        spec["strategy"] = strategy
    metadata: JSONObject = {"name": "web", "namespace": "default"}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": spec,
        }
    )


def recreate(*arguments: str, manager: str = "helm") -> Ran:
    """Apply the strategy Recreate to a Deployment that helm has applied."""
    words = ("apply", "--server-side", "--field-manager")
    live = json.loads(
        run(*words, "helm", "-f", "-", "-o", "json", stdin=deployment()).stdout
    )
    live["metadata"]["resourceVersion"] = "7"
    Path("live.json").write_text(json.dumps(live))
    Path("new.json").write_text(deployment(RECREATE))
    files = ("-f", "new.json", "--live", "live.json")
    return run(*words, manager, *files, *arguments)


@pytest.mark.parametrize("profile", ["kep1027", "validate-only", "off"])
def test_a_choice_that_a_server_refuses_is_an_error(profile: str) -> None:
    # Recorded: tests/managed_fields/test_union_requests.py.
    ran = recreate("--profile", profile)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert (
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy"
        " `type` is 'Recreate'"
    ) in ran.stderr
    assert "-o requests prints both requests" in ran.stderr
    assert recreate("-q").exit_code == 2


def test_the_requests_that_make_it_pass_are_an_output() -> None:
    ran = recreate("-o", "requests")
    assert (ran.exit_code, ran.stderr) == (0, "")
    first, last = json.loads(ran.stdout)
    assert [each["method"] for each in (first, last)] == ["PATCH", "PATCH"]
    assert [each["path"] for each in (first, last)] == [PATH, PATH]
    assert first["mediaType"] == "application/json-patch+json"
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    assert first["body"][-1] == guard
    assert last["mediaType"] == "application/apply-patch+yaml"
    assert last["query"] == {"fieldManager": "helm", "force": "false"}
    assert last["body"] == json.loads(deployment(RECREATE))
    # All that is known has them, too.
    [record] = json.loads(recreate("--format", "json").stdout)
    assert record["verdict"] == "failed"
    assert record["requests"] == [first, last]
    # What is not refused is one request.
    [only] = json.loads(
        run(
            "apply", "--server-side", "-f", "-", "-o", "requests", stdin=deployment()
        ).stdout
    )
    assert only["body"] == json.loads(deployment())


def test_what_another_one_has_applied_is_taken_with_force_alone() -> None:
    # Of two appliers of one field, each has its own entry.
    words = ("apply", "--server-side", "-f", "-", "-o", "yaml")
    rolling: JSONObject = {"rollingUpdate": {"maxSurge": 1}}
    live = run(*words, "--field-manager", "argocd", stdin=deployment(rolling)).stdout
    Path("live.yaml").write_text(live)
    Path("new.json").write_text(deployment(RECREATE))
    files = ("-f", "new.json", "--live", "live.yaml", "-o", "requests")
    ran = run("apply", "--server-side", *files)
    assert ran.exit_code == 2
    assert '"argocd" (Apply): --force-conflicts takes it' in ran.stderr
    ran = run("apply", "--server-side", "--force-conflicts", *files)
    assert ran.exit_code == 0
    first, _ = json.loads(ran.stdout)
    assert {
        "op": "test",
        "path": "/metadata/managedFields/0/manager",
        "value": "argocd",
    } in (first["body"])


def test_what_no_request_helps_with_is_refused_all_the_same() -> None:
    live = run("apply", "--server-side", "-f", "-", stdin=pod(emptyDir={})).stdout
    Path("live.yaml").write_text(live)
    Path("new.json").write_text(pod(hostPath={"path": "/x"}))
    # The volumes of a Pod are immutable.
    words = ("apply", "--server-side", "--field-manager", "other", "-f", "new.json")
    ran = run(*words, "--live", "live.yaml")
    assert ran.exit_code == 2
    assert "may not specify more than 1 volume type" in ran.stderr
    assert "-o requests" not in ran.stderr


def test_requests_are_those_of_a_server_side_apply() -> None:
    ran = run("apply", "-f", "-", "-o", "requests", stdin=deployment())
    assert ran.exit_code == 2
    assert "-o requests only works with --server-side" in ran.stderr


def pod(**source: JSONObject) -> str:
    """Write a Pod with a volume as a line of JSON."""
    volume = {"name": "v", **source}
    container = {"name": "app", "image": "a"}
    spec = {"containers": [container], "volumes": [volume]}
    metadata = {"name": "web", "namespace": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return json.dumps(pod) + "\n"


def test_a_conflict_has_ways_out_with_what_they_lead_to() -> None:
    [record] = json.loads(apply(named(CONFLICT), "--format", "json").stdout)
    ways = {way["way"]: way for way in record["conflicts"][1]["ways"]}
    assert [way["value"] for way in ways.values()] == [5, 5, 3]
    assert [way["force"] for way in ways.values()] == [False, False, True]
    given = ways["give up"]
    assert "replicas" not in given["configuration"]["spec"]
    assert given["object"]["spec"]["replicas"] == 5
    # It is applied without a conflict.
    Path("new.json").write_text(json.dumps(given["configuration"]))
    words = ("apply", "--server-side", "-f", "new.json", "--live", "live.json")
    [record] = json.loads(run(*words, "--format", "json").stdout)
    assert record["conflicts"] == []
    assert record["result"]["spec"]["replicas"] == 5


def explain(*arguments: str) -> Ran:
    """Explain the recorded conflict."""
    apply(named(CONFLICT))
    files = ("-f", "new.json", "--live", "live.json")
    return run("explain", "--server-side", *files, *arguments)


def test_a_conflict_is_explained() -> None:
    ran = explain("spec.replicas")
    assert (
        "  spec.replicas: 5\n"
        "      it belongs to scaler (Update scale), and the manifest has another value:"
        " a server-side apply is refused [conflict]\n"
        f"      remedy: {GIVE_UP}: owned by scaler (Update scale); {SHARE}: owned by"
    ) in ran.stdout
    assert "image" not in ran.stdout.partition("spec.replicas: 5")[2]
    assert ran.exit_code == 2
    assert "containers[name=app].image" in explain().stdout
    [record] = json.loads(explain("spec.replicas", "--format", "json").stdout)
    [cause] = record["causes"]
    assert cause["code"] == "conflict"
    assert cause["remedy"]["way"] == "server-side"
    ran = explain("spec.selector")
    assert "spec.selector: no conflict; owned by" in ran.stdout


def test_fields_are_explained_without_server_side_apply() -> None:
    ran = run("explain", "deploy", "--server-side")
    assert ran.exit_code == 2
    assert "--server-side is for what -f FILE --live FILE says" in ran.stderr
