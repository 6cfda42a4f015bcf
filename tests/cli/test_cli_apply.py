"""``smp apply``: the object as an API server would store it."""

from __future__ import annotations

import json
from pathlib import Path

from smp import documents, json_patch
from tests.support.command import config_map, run, values

APPLY = ("apply", "-f", "new.yaml", "--live", "live.yaml")


def test_the_object_is_printed_as_a_server_would_store_it() -> None:
    ran = run(*APPLY)
    deployment, secret = values(ran.stdout)
    assert isinstance(deployment, dict)
    assert deployment["spec"] == {
        "replicas": 3,
        "strategy": {"type": "Recreate"},
        "template": {
            "spec": {
                "containers": [
                    {"name": "sidecar", "image": "mesh:2"},
                    {"name": "app", "image": "nginx:1.26", "imagePullPolicy": "Always"},
                ]
            }
        },
    }
    assert "labels" not in deployment["metadata"]
    annotation = deployment["metadata"]["annotations"][
        "kubectl.kubernetes.io/last-applied-configuration"
    ]
    assert json.loads(annotation)["spec"]["replicas"] == 3
    assert isinstance(secret, dict)
    assert secret["stringData"] == {"password": "second-word", "user": "same-word"}
    warning, summary = ran.stderr.splitlines()
    assert "v1 Secret shop/key: nothing can be pruned" in warning
    assert summary == "smp: 2 objects: 2 changed"


def test_a_dry_run_is_what_it_does_in_any_case() -> None:
    expected = run(*APPLY)
    for spelled in ("--dry-run", "--dry-run=client", "--dry-run=true"):
        assert run(*APPLY, spelled) == expected
    for spelled in ("--dry-run=server", "--dry-run=none", "--dry-run=false"):
        ran = run(*APPLY, spelled)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert "Invalid value for '--dry-run'" in ran.stderr


def test_a_directive_in_a_new_object_is_an_unknown_field() -> None:
    manifest = config_map(x="1")
    directive = manifest.replace('"data"', '"$patch": "delete", "data"')
    ran = run("apply", "-f", "-", stdin=directive)
    assert values(ran.stdout) == values(manifest)
    assert 'unknown field "$patch"' in ran.stderr
    ran = run("apply", "-f", "-", "--validate=strict", stdin=directive)
    assert (ran.exit_code, ran.stdout) == (2, "")
    # In the words of a kube-apiserver 1.36.3.
    assert 'strict decoding error: unknown field "$patch"' in ran.stderr


def test_the_report_lists_what_changes_and_why() -> None:
    ran = run(*APPLY, "-o", "report")
    assert (ran.exit_code, ran.stderr) == (0, "")
    expected = """\
apps/v1 Deployment shop/web: changed
  last-applied: from the annotation of the live object
  ~ metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: updated
  - metadata.labels (pruned):
      - tier: front
  ~ spec.replicas: 5 -> 3
  - spec.strategy.rollingUpdate:
      - maxSurge: 25%
  ~ spec.strategy.type: "RollingUpdate" -> "Recreate"
  ~ spec.template.spec.containers[name=app].image: "nginx:1.25" -> "nginx:1.26"
  - spec.template.spec.containers[name=log] (pruned):
      - image: busybox:1
      - name: log

v1 Secret shop/key: changed
  last-applied: none, neither a file nor an annotation of the live object
  ~ stringData.password: "*** (live)" -> "*** (manifest)"
  warning: nothing can be pruned without a last-applied configuration [no-last-applied]

2 objects: 2 changed
"""
    assert ran.stdout == expected


def test_the_last_applied_configuration_can_come_from_a_file() -> None:
    ran = run(*APPLY, "--last-applied", "old.yaml", "-o", "report")
    assert "last-applied: from old.yaml:1\n" in ran.stdout
    assert "last-applied: from old.yaml:15\n" in ran.stdout
    assert "warning" not in ran.stdout


def test_the_annotation_is_not_used_when_a_file_lacks_the_object() -> None:
    Path("other.yaml").write_text(config_map())
    ran = run(*APPLY, "--last-applied", "other.yaml", "-o", "report")
    assert "last-applied: none, as the file does not have the object" in ran.stdout
    assert (
        "other.yaml:1: v1 ConfigMap a: last-applied, but in no manifest" in ran.stderr
    )
    assert "pruned)" not in ran.stdout


def test_the_annotation_is_not_added_to_a_live_object_without_it() -> None:
    Path("new.yaml").write_text(config_map(x="2"))
    Path("live.yaml").write_text(config_map(x="1", y="1"))
    Path("old.yaml").write_text(config_map(x="1", y="1"))
    ran = run(*APPLY, "--last-applied", "old.yaml")
    assert values(ran.stdout) == [json.loads(config_map(x="2"))]
    assert ran.stderr == ""


def test_every_output_format_leads_to_the_same_object() -> None:
    stored = values(run(*APPLY).stdout)
    assert values(run(*APPLY, "-o", "json").stdout) == stored
    live = documents.read(Path("live.yaml").read_bytes())
    operations = values(run(*APPLY, "-o", "jsonpatch").stdout)
    for before, patch, after in zip(live, operations, stored, strict=True):
        assert json_patch.apply(before.value, json.loads(json.dumps(patch))) == after

    sent = documents.read(run(*APPLY, "-o", "patch").stdout)
    Path("sent.yaml").write_text(documents.dump_yaml([sent[0].value]))
    Path("deployment.yaml").write_text(documents.dump_yaml([live[0].value]))
    patched = run("patch", "deployment.yaml", "--patch-file", "sent.yaml")
    assert values(patched.stdout) == stored[:1]


def test_without_a_live_object_the_object_is_created_without_nulls() -> None:
    text = config_map(x="1").replace('"1"', '"1", "y": null')
    ran = run("apply", "-f", "-", stdin=text)
    assert (ran.exit_code, values(ran.stdout)) == (0, [json.loads(config_map(x="1"))])


def test_conflicts_are_an_error_only_with_no_overwrite() -> None:
    assert run(*APPLY).exit_code == 0
    ran = run(*APPLY, "--no-overwrite")
    assert (ran.exit_code, ran.stdout) == (2, "")
    block = """\
smp: error: 2 conflicts with changes made to the live object
  spec.replicas
    last-applied 2, manifest 3, live 5
  spec.strategy.type
    last-applied absent, manifest "Recreate", live "RollingUpdate"
  path:   spec.replicas
  file:   new.yaml:1
  object: apps/v1 Deployment shop/web
  hint:   --overwrite lets the manifest win
"""
    assert ran.stderr.startswith(block)


def test_an_error_shows_no_value_of_a_secret() -> None:
    template = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: %s-word}\n"
    )
    for name in ("old", "live", "new"):
        Path(f"{name}.yaml").write_text(template % name)
    command = (*APPLY, "--last-applied", "old.yaml", "--no-overwrite")
    ran = run(*command)
    assert ran.exit_code == 2
    assert "-word" not in ran.output
    sides = ("last-applied", "manifest", "live")
    assert ", ".join(f'{side} "*** ({side})"' for side in sides) in ran.stderr
    assert "old-word" in run(*command, "--show-secrets").stderr


def test_secrets_in_the_annotation_are_masked_in_reports() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": "b2xk"},
    }
    Path("new.yaml").write_text(json.dumps({**secret, "data": {"a": "bmV3"}}))
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(secret)
    }
    live = {**secret, "metadata": {"name": "s", "annotations": annotations}}
    Path("live.yaml").write_text(json.dumps(live))
    ran = run(*APPLY, "-o", "report")
    assert '~ data.a: "*** (live)" -> "*** (manifest)"' in ran.stdout
    Path("none.yaml").write_text(json.dumps({**secret, "data": {"c": "x"}}))
    for other in (
        ran,
        run("diff", "live.yaml", "none.yaml", "-o", "report"),
        run("diff", "none.yaml", "live.yaml", "-o", "patch"),
    ):
        assert "b2xk" not in other.output
        assert "bmV3" not in other.output


def test_an_invalid_annotation_is_reported_with_the_live_document() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{"}
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": annotations},
    }
    Path("live.json").write_text(json.dumps(live))
    ran = run("apply", "-f", "-", "--live", "live.json", stdin=config_map())
    assert ran.exit_code == 2
    assert (
        "  path:   metadata.annotations"
        "[kubectl.kubernetes.io/last-applied-configuration]\n" in ran.stderr
    )
    assert "  file:   live.json:1\n" in ran.stderr


def test_strict_exits_with_1_when_the_result_lacks_something() -> None:
    ports = [
        {"containerPort": 53, "protocol": "TCP"},
        {"containerPort": 53, "protocol": "UDP"},
    ]

    def pod(*ports: object) -> str:
        spec = {"containers": [{"name": "dns", "image": "a", "ports": ports}]}
        return json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        )

    Path("both.yaml").write_text(pod(*ports))
    Path("one.yaml").write_text(pod(ports[0]))
    earlier = ("--live", "both.yaml", "--last-applied", "both.yaml")
    command = ("apply", "-f", "one.yaml", *earlier)
    ran = run(*command)
    # The ports of a Pod may not change (Go: ValidatePodUpdate).
    assert ran.exit_code == 2
    assert "the result is not what the manifest asks for" in ran.stderr
    Path("none.yaml").write_text(pod())
    ran = run(
        "apply", "-f", "none.yaml", "--live", "both.yaml", "--last-applied", "one.yaml"
    )
    assert "the element containerPort=53, protocol=UDP [lost-by-" in ran.stderr
    # There is a warning that nothing can be pruned from the Secret.
    assert run(*APPLY).exit_code == 0
    assert run(*APPLY, "--strict").exit_code == 1
    quiet = run(*APPLY, "--strict", "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (1, "")
    assert "nothing can be pruned" in quiet.stderr


def test_a_null_that_clears_a_field_is_no_cause_for_a_warning() -> None:
    def deployment(strategy: object) -> str:
        metadata = {"name": "web"}
        spec = {"strategy": strategy}
        document = {"apiVersion": "apps/v1", "kind": "Deployment"}
        return json.dumps({**document, "metadata": metadata, "spec": spec})

    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    Path("live.yaml").write_text(deployment(rolling))
    Path("last.yaml").write_text(deployment(rolling))
    Path("new.yaml").write_text(deployment({"type": "Recreate", "rollingUpdate": None}))
    files = ("-f", "new.yaml", "--live", "live.yaml", "--last-applied", "last.yaml")
    ran = run("apply", *files, "--strict", "--format", "json")
    assert ran.exit_code == 0
    assert ran.stderr == ""
    [record] = json.loads(ran.stdout)
    assert [each for each in record["findings"] if each["level"] != "note"] == []
    assert record["result"]["spec"] == {"strategy": {"type": "Recreate"}}


def test_every_contradiction_is_printed_on_its_line() -> None:
    volume = '{"name": "%s", "emptyDir": {}, "hostPath": {"path": "/"}}'
    spec = f'{{"volumes": [{volume % "v"}, {volume % "w"}]}}'
    text = '"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}'
    ran = run("apply", "-f", "-", stdin=f'{{{text}, "spec": {spec}}}')
    assert ran.exit_code == 2
    first, second, third, *_ = ran.stderr.splitlines()
    assert first == "smp: error: the configuration contradicts itself"
    assert second.startswith("  spec.volumes[name=v].hostPath: Forbidden")
    assert third.startswith("  spec.volumes[name=w].hostPath: Forbidden")


def broken_deployment(replicas: object = 1, **more: object) -> str:
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"replicas": replicas, **more},
        }
    )


def test_unknown_fields_and_wrong_types_are_reported_as_a_server_does() -> None:
    Path("new.yaml").write_text(broken_deployment("2", replcas=2))
    Path("live.yaml").write_text(broken_deployment(1))
    for live in ((), ("--live", "live.yaml")):
        command = ("apply", "-f", "new.yaml", *live)
        ran = run(*command)
        assert ran.exit_code == 2
        assert 'unknown field "spec.replcas" (a server drops it)' in ran.stderr
        assert (
            "cannot unmarshal string into field spec.replicas of type integer "
            "(a server would reject this)" in ran.stderr
        )
        [stored] = values(ran.stdout)
        assert isinstance(stored, dict)
        assert stored["spec"] == {"replicas": "2"}
        strict = run(*command, "--validate", "strict")
        assert (strict.exit_code, strict.stdout) == (2, "")
        assert 'strict decoding error: unknown field "spec.replcas", ' in strict.stderr
        assert "replcas" not in run(*command, "--validate", "ignore").output


def test_what_live_has_is_not_reported_again() -> None:
    Path("live.yaml").write_text(broken_deployment(1, replcas=2))
    Path("new.yaml").write_text(broken_deployment(2))
    assert "replcas" not in run(*APPLY).stderr


def test_an_object_to_be_created_is_validated() -> None:
    volume = {"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}
    container = {"name": "a", "image": "a", "imagePullPolicy": "Perhaps"}
    spec = {"containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    Path("enum.yaml").write_text(json.dumps(pod))
    Path("union.yaml").write_text(
        json.dumps({**pod, "spec": {"containers": [], "volumes": [volume]}})
    )
    ran = run("apply", "-f", "enum.yaml")
    assert ran.exit_code == 2
    [line] = ran.stderr.splitlines()
    assert 'imagePullPolicy: Unsupported value: "Perhaps"' in line
    assert run("apply", "-f", "enum.yaml", "--quiet").stderr == f"{line}\n"
    ran = run("apply", "-f", "union.yaml")
    assert ran.exit_code == 2
    assert "the configuration contradicts itself" in ran.stderr


def test_an_object_without_a_name_is_refused() -> None:
    nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"
    Path("nameless.yaml").write_text(nameless)
    Path("generated.yaml").write_text(nameless.replace("{}", "{generateName: a-}"))
    ran = run("apply", "-f", "nameless.yaml")
    assert ran.exit_code == 2
    # Go: ValidateObjectMeta.
    assert "metadata.name: Required value: name or generateName is" in ran.stderr
    assert run("apply", "-f", "generated.yaml", "--strict").exit_code == 0


def test_defaults_make_the_object_what_a_server_stores() -> None:
    Path("service.yaml").write_text(
        "{apiVersion: v1, kind: Service, metadata: {name: web},"
        " spec: {ports: [{port: 80}]}}"
    )
    ran = run("apply", "-f", "service.yaml", "--defaults")
    # kube-apiserver 1.36.3, but for the addresses that it allocates.
    assert values(ran.stdout) == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
                "sessionAffinity": "None",
                "type": "ClusterIP",
                "internalTrafficPolicy": "Cluster",
            },
            "status": {"loadBalancer": {}},
        }
    ]
