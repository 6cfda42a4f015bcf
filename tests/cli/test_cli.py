"""The command: the installed one for what only a process shows, click's runner for the
rest.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from smp import documents, json_patch
from smp.cli import main
from smp.cli._changes import Change, changes
from smp.cli._main import cli
from smp.cli._reference import reference
from smp.paths import Path as Where
from smp.schema.catalog import kubernetes
from smp.values import ABSENT

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "cli"
ESCAPE = "\x1b["


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own with the data, as the current one."""
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, given: str | None = None) -> Result:
    result = CliRunner().invoke(cli, arguments, input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    return result


def installed() -> str:
    found = shutil.which("smp", path=Path(sys.executable).parent)
    assert found, "the command is not installed beside this Python: pip install -e ."
    return found


def process(
    *arguments: str, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed(), *arguments],
        input=given,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def config_map(name: str = "a", namespace: str = "", **data: str) -> str:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return (
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": data,
            }
        )
        + "\n"
    )


def values(text: str) -> list[object]:
    return [document.value for document in documents.read(text)]


# --- the process -----------------------------------------------------------------------------------------------------


def test_version_imports_nothing_that_it_does_not_need() -> None:
    probe = (
        "import sys; from smp.cli import main; main(['--version']);"
        "print([m for m in ('yaml', 'rich', 'deepdiff', 'jsonpatch') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(r"smp \d+\.\d+\.\d+\n\[\]\n", shown)


def test_report_without_a_terminal_does_not_import_rich() -> None:
    probe = (
        "import sys; from smp.cli import main; main(['diff', 'old.yaml', 'new.yaml', '-o', 'report']);"
        "sys.exit('rich' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", probe], capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("old.yaml", "old.yaml"), 0),
        (("old.yaml", "new.yaml"), 1),
        (("old.yaml", "none.yaml"), 2),
    ],
)
def test_exit_codes_of_diff(arguments: tuple[str, str], code: int) -> None:
    assert process("diff", *arguments).returncode == code


def test_module_is_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "smp", "diff", "old.yaml", "new.yaml"],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1


def test_standard_input_of_a_process() -> None:
    ran = process(
        "patch", "-", "-p", "data: {b: x}", "-o", "json", given=config_map(a="1")
    )
    assert json.loads(ran.stdout)["data"] == {"a": "1", "b": "x"}


def test_closed_standard_streams() -> None:
    without_input = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" diff - new.yaml <&-', installed()],
        capture_output=True,
        check=False,
    )
    assert without_input.returncode == 2
    assert b"Traceback" not in without_input.stderr
    without_output = subprocess.run(
        [
            "/bin/sh",
            "-c",
            'exec "$0" diff old.yaml new.yaml -o report >&-',
            installed(),
        ],
        capture_output=True,
        check=False,
    )
    assert (without_output.returncode, without_output.stderr) == (1, b"")


def test_broken_pipe_is_silent() -> None:
    many = "".join(
        config_map(f"name-{index}", x="y" * 1000) + "---\n" for index in range(200)
    )
    Path("many.yaml").write_text(many)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        ran = subprocess.run(
            [installed(), "apply", "-f", "many.yaml"],
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [installed(), "schema", "versions"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 2
    assert "No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("smp.cli._inputs.Inputs.data", interrupted)
    assert main(["diff", "old.yaml", "new.yaml"]) == 130


def on_a_terminal(*arguments: str, **environment: str) -> str:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [installed(), *arguments],
        stdout=slave,
        env={**os.environ, "TERM": "xterm", **environment},
    ) as ran:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 4096):
                shown += chunk
        except OSError:  # how Linux says that the other side is closed
            pass
        finally:
            os.close(master)
    assert ran.returncode == 1
    return shown.decode()


def test_colours_on_a_terminal_alone() -> None:
    command = ("diff", "old.yaml", "new.yaml", "-o", "report")
    assert ESCAPE in on_a_terminal(*command, NO_COLOR="")
    assert ESCAPE not in on_a_terminal(*command, NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(*command, TERM="dumb")
    assert ESCAPE not in on_a_terminal(*command, "--color", "never")
    assert ESCAPE in on_a_terminal(*command, "--color", "always", NO_COLOR="1")
    assert ESCAPE not in process(*command).stdout
    assert ESCAPE in process(*command, "--color", "always").stdout


def test_the_same_report_with_and_without_colours() -> None:
    command = ("diff", "old.yaml", "new.yaml", "-o", "report")
    assert (
        re.sub(r"\x1b\[[\d;]*m", "", run(*command, "--color", "always").stdout)
        == run(*command).stdout
    )


# --- diff ------------------------------------------------------------------------------------------------------------


def test_diff_prints_each_patch_under_its_object() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "--show-secrets")
    assert ran.exit_code == 1
    assert (
        ran.stdout
        == """\
# apps/v1 Deployment shop/web
metadata:
  labels: null
spec:
  replicas: 3
  strategy:
    type: Recreate
  template:
    spec:
      $setElementOrder/containers:
      - name: app
      containers:
      - image: nginx:1.26
        name: app
      - $patch: delete
        name: log
---
# v1 Secret shop/key
stringData:
  password: second-word
"""
    )
    assert ran.stderr == ""


def test_diff_of_equals_prints_nothing_in_yaml_and_empty_patches_in_json() -> None:
    assert run("diff", "old.yaml", "old.yaml").output == ""
    assert values(run("diff", "old.yaml", "old.yaml", "-o", "json").stdout) == [{}, {}]
    assert values(run("diff", "old.yaml", "old.yaml", "-o", "jsonpatch").stdout) == [
        [],
        [],
    ]


def test_diff_with_live_is_the_three_way_patch() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "--live", "live.yaml", "-o", "json")
    assert ran.exit_code == 1
    patch = values(ran.stdout)[0]
    assert isinstance(patch, dict)
    assert patch["spec"] == {
        "replicas": 3,
        "strategy": {"type": "Recreate", "$retainKeys": ["type"]},
        "template": {
            "spec": {
                "containers": [
                    {"image": "nginx:1.26", "name": "app"},
                    {"$patch": "delete", "name": "log"},
                ],
                "$setElementOrder/containers": [{"name": "app"}],
            }
        },
    }


def test_diff_as_json_patch_leads_from_one_to_the_other() -> None:
    old, new = (
        documents.read(Path(name).read_bytes()) for name in ("old.yaml", "new.yaml")
    )
    patches = values(
        run("diff", "old.yaml", "new.yaml", "-o", "jsonpatch", "--show-secrets").stdout
    )
    for before, patch, after in zip(old, patches, new, strict=True):
        assert (
            json_patch.apply(before.value, json.loads(json.dumps(patch))) == after.value
        )


def test_diff_report() -> None:
    ran = run("diff", "old.yaml", "new.yaml", "-o", "report")
    assert (
        ran.stdout
        == """\
apps/v1 Deployment shop/web: changed
  - metadata.labels:
      - tier: front
  ~ spec.replicas: 2 -> 3
  ~ spec.template.spec.containers[name=app].image: "nginx:1.25" -> "nginx:1.26"
  - spec.template.spec.containers[name=log]:
      - name: log
      - image: busybox:1
  + spec.strategy:
      + type: Recreate

v1 Secret shop/key: changed
  ~ stringData.password: "*** (original)" -> "*** (modified)"

2 objects: 2 changed
"""
    )


def test_diff_report_of_equals() -> None:
    ran = run("diff", "old.yaml", "old.yaml", "-o", "report")
    assert ran.exit_code == 0
    assert ran.stdout.endswith("2 objects: 2 unchanged\n")


def test_a_new_object_is_its_own_patch() -> None:
    Path("a.yaml").write_text(config_map("a"))
    Path("both.yaml").write_text(config_map("a") + config_map("b", x="1"))
    ran = run("diff", "a.yaml", "both.yaml")
    assert ran.exit_code == 1
    assert ran.stdout.startswith("# v1 ConfigMap b (to be created)\n")
    assert values(run("diff", "a.yaml", "both.yaml", "-o", "jsonpatch").stdout)[1] == [
        {"op": "add", "path": "", "value": json.loads(config_map("b", x="1"))}
    ]
    assert "+ data:" in run("diff", "a.yaml", "both.yaml", "-o", "report").stdout


def test_an_object_that_is_gone_is_a_difference_and_named() -> None:
    Path("a.yaml").write_text(config_map("a"))
    Path("both.yaml").write_text(config_map("a") + config_map("b"))
    ran = run("diff", "both.yaml", "a.yaml")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert (
        ran.stderr
        == "smp: skipped 1 document:\n  both.yaml:2: v1 ConfigMap b: only in ORIGINAL\n"
    )


@pytest.mark.parametrize("output", ["yaml", "json", "jsonpatch", "report"])
def test_no_output_of_diff_shows_a_secret(output: str) -> None:
    for live in ((), ("--live", "live.yaml")):
        shown = run("diff", "old.yaml", "new.yaml", *live, "-o", output).output
        assert "-word" not in shown
        assert "***" in shown
        assert (
            "second-word"
            in run(
                "diff", "old.yaml", "new.yaml", *live, "-o", output, "--show-secrets"
            ).output
        )


# --- apply -----------------------------------------------------------------------------------------------------------


def test_apply_prints_the_object_as_stored() -> None:
    ran = run("apply", "-f", "new.yaml", "--live", "live.yaml")
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
    assert ran.stderr.count("\n") == 1
    assert "v1 Secret shop/key: there is no last-applied configuration" in ran.stderr


def test_apply_report() -> None:
    ran = run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "report")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert (
        ran.stdout
        == """\
apps/v1 Deployment shop/web: changed
  last applied: from the annotation of the live object
  - metadata.labels (pruned):
      - tier: front
  ~ metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: brought up to date
  ~ spec.replicas: 5 -> 3
  ~ spec.strategy.type: "RollingUpdate" -> "Recreate"
  - spec.strategy.rollingUpdate:
      - maxSurge: 25%
  ~ spec.template.spec.containers[name=app].image: "nginx:1.25" -> "nginx:1.26"
  - spec.template.spec.containers[name=log] (pruned):
      - name: log
      - image: busybox:1

v1 Secret shop/key: changed
  last applied: none, neither a file nor an annotation of the live object
  ~ stringData.password: "*** (live)" -> "*** (new)"
  warning: there is no last-applied configuration, so nothing can be pruned

2 objects: 2 changed
"""
    )


def test_last_applied_from_a_file() -> None:
    ran = run(
        "apply",
        "-f",
        "new.yaml",
        "--live",
        "live.yaml",
        "--last-applied",
        "old.yaml",
        "-o",
        "report",
    )
    assert "last applied: from old.yaml:1\n" in ran.stdout
    assert "last applied: from old.yaml:15\n" in ran.stdout
    assert "warning" not in ran.stdout


def test_a_file_without_the_object_is_not_the_annotation() -> None:
    Path("other.yaml").write_text(config_map())
    ran = run(
        "apply",
        "-f",
        "new.yaml",
        "--live",
        "live.yaml",
        "--last-applied",
        "other.yaml",
        "-o",
        "report",
    )
    assert "last applied: none, as the file does not have the object" in ran.stdout
    assert (
        "other.yaml:1: v1 ConfigMap a: applied last, but not in the new configuration"
        in ran.stderr
    )
    assert "pruned)" not in ran.stdout


def test_no_annotation_appears_where_live_has_none() -> None:
    Path("new.yaml").write_text(config_map(x="2"))
    Path("live.yaml").write_text(config_map(x="1", y="1"))
    Path("old.yaml").write_text(config_map(x="1", y="1"))
    ran = run(
        "apply", "-f", "new.yaml", "--live", "live.yaml", "--last-applied", "old.yaml"
    )
    assert values(ran.stdout) == [json.loads(config_map(x="2"))]
    assert ran.stderr == ""


def test_apply_outputs_lead_to_the_same_object() -> None:
    stored = values(
        run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "json").stdout
    )
    live = documents.read(Path("live.yaml").read_bytes())
    operations = values(
        run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "jsonpatch").stdout
    )
    for before, patch, after in zip(live, operations, stored, strict=True):
        assert json_patch.apply(before.value, json.loads(json.dumps(patch))) == after
    sent = documents.read(
        run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "patch").stdout
    )
    Path("sent.yaml").write_text(documents.dump_yaml([sent[0].value]))
    Path("deployment.yaml").write_text(documents.dump_yaml([live[0].value]))
    assert (
        values(run("patch", "deployment.yaml", "--patch-file", "sent.yaml").stdout)
        == stored[:1]
    )


def test_create_without_live() -> None:
    text = config_map(x="1").replace('"1"', '"1", "y": null')
    ran = run("apply", "-f", "-", given=text)
    assert (ran.exit_code, values(ran.stdout)) == (0, [json.loads(config_map(x="1"))])


def test_conflicts_only_without_overwriting() -> None:
    assert run("apply", "-f", "new.yaml", "--live", "live.yaml").exit_code == 0
    ran = run("apply", "-f", "new.yaml", "--live", "live.yaml", "--no-overwrite")
    assert (ran.exit_code, ran.stdout) == (2, "")
    block = """\
smp: error: 2 conflicts with changes made to the live object
  spec.replicas
    last applied 2, new 3, live 5
  spec.strategy.type
    last applied absent, new "Recreate", live "RollingUpdate"
  path:   spec.replicas
  file:   new.yaml:1
  object: apps/v1 Deployment shop/web
  hint:   --overwrite lets the modified configuration win
"""
    assert ran.stderr.startswith(block)


def test_an_error_tells_nothing_of_a_secret() -> None:
    template = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: %s-word}\n"
    )
    for name in ("old", "live", "new"):
        Path(f"{name}.yaml").write_text(template % name)
    command = (
        "apply",
        "-f",
        "new.yaml",
        "--live",
        "live.yaml",
        "--last-applied",
        "old.yaml",
        "--no-overwrite",
    )
    ran = run(*command)
    assert ran.exit_code == 2
    assert "-word" not in ran.output
    assert (
        'last applied "*** (last applied)", new "*** (new)", live "*** (live)"'
        in ran.stderr
    )
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
    ran = run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "report")
    assert '~ data.a: "*** (live)" -> "*** (new)"' in ran.stdout
    Path("none.yaml").write_text(json.dumps({**secret, "data": {"c": "x"}}))
    for other in (
        ran,
        run("diff", "live.yaml", "none.yaml", "-o", "report"),
        run("diff", "none.yaml", "live.yaml"),
    ):
        assert "b2xk" not in other.output
        assert "bmV3" not in other.output


def test_broken_annotation_names_the_live_document() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{"}
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": annotations},
    }
    Path("live.json").write_text(json.dumps(live))
    ran = run("apply", "-f", "-", "--live", "live.json", given=config_map())
    assert ran.exit_code == 2
    assert (
        "  path:   metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]\n"
        in ran.stderr
    )
    assert "  file:   live.json:1\n" in ran.stderr


def test_strict_answers_for_what_is_unmet() -> None:
    ports = [
        {"containerPort": 53, "protocol": "TCP"},
        {"containerPort": 53, "protocol": "UDP"},
    ]

    def pod(*ports: object) -> str:
        spec = {"containers": [{"name": "dns", "ports": ports}]}
        return json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        )

    Path("both.yaml").write_text(pod(*ports))
    Path("one.yaml").write_text(pod(ports[0]))
    command = (
        "apply",
        "-f",
        "one.yaml",
        "--live",
        "both.yaml",
        "--last-applied",
        "both.yaml",
    )
    ran = run(*command)
    assert ran.exit_code == 0
    assert "the result does not have it" in ran.stderr
    assert run(*command, "--strict").exit_code == 1
    assert (
        run("apply", "-f", "new.yaml", "--live", "live.yaml", "--strict").exit_code == 0
    )


# --- patch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", "data: {a: null, b: x}"),
        ("merge", '{"data": {"a": null, "b": "x"}}'),
        (
            "json",
            '[{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/b", "value": "x"}]',
        ),
    ],
)
def test_patch_types(kind: str, patch: str) -> None:
    ran = run("patch", "-", "-p", patch, "--type", kind, given=config_map(a="1"))
    assert values(ran.stdout) == [json.loads(config_map(b="x"))]
    Path("patch.yaml").write_text(patch)
    assert (
        run(
            "patch",
            "-",
            "--patch-file",
            "patch.yaml",
            "--type",
            kind,
            given=config_map(a="1"),
        ).stdout
        == ran.stdout
    )


def test_patch_outputs() -> None:
    command = ("patch", "-", "-p", "data: {b: x}", "-o")
    assert values(run(*command, "jsonpatch", given=config_map(a="1")).stdout) == [
        [{"op": "add", "path": "/data/b", "value": "x"}]
    ]
    report = run(*command, "report", given=config_map(a="1")).stdout
    assert report == 'v1 ConfigMap a: changed\n  + data.b: "x"\n\n1 object: 1 changed\n'


def test_patch_of_any_document_but_the_strategic_one() -> None:
    assert values(
        run("patch", "-", "-p", "b: 2", "--type", "merge", given="a: 1").stdout
    ) == [{"a": 1, "b": 2}]
    report = run(
        "patch", "-", "-p", "[1]", "--type", "merge", "-o", "report", given="a: 1"
    ).stdout
    assert report.startswith(
        "<stdin>:1: changed\n  ~ the whole document:\n      - a: 1\n      + - 1\n"
    )
    assert (
        "no Kubernetes object" in run("patch", "-", "-p", "b: 2", given="a: 1").stderr
    )


def test_patch_report_masks_secrets_and_the_object_does_not() -> None:
    command = (
        "patch",
        "live.yaml",
        "-p",
        "stringData: {password: third-word}",
        "--type",
        "merge",
    )
    assert "third-word" in run(*command).stdout
    report = run(*command, "-o", "report").stdout
    secret = report[report.index("v1 Secret") :]
    assert 'stringData.password: "*** (before)" -> "*** (after)"' in secret
    assert "-word" not in secret


def test_patch_takes_one_source() -> None:
    for sources in ((), ("-p", "a: 1", "--patch-file", "new.yaml")):
        ran = run("patch", "live.yaml", *sources)
        assert ran.exit_code == 2
        assert "either in --patch-file or in --patch" in ran.stderr


def test_invalid_patches_say_where() -> None:
    ran = run(
        "patch",
        "new.yaml",
        "-p",
        "spec: {template: {spec: {containers: [{image: x}]}}}",
    )
    assert ran.exit_code == 2
    assert ran.stderr.startswith("smp: error: the element lacks its merge key 'name'\n")
    assert (
        "  path:   spec.template.spec.containers[0]\n  file:   --patch:1\n"
        in ran.stderr
    )
    ran = run(
        "patch",
        "live.yaml",
        "-p",
        '[{"op": "remove", "path": "/stringData/none"}]',
        "--type",
        "json",
    )
    assert ran.exit_code == 2
    assert "path not found in the document\n  path:   stringData.none\n" in ran.stderr
    assert "-word" not in ran.stderr
    assert "is an object, not array" in run("patch", "live.yaml", "-p", "[1]").stderr


# --- explain, schema, completion -------------------------------------------------------------------------------------


def test_explain_shows_a_field_and_what_is_below_it() -> None:
    shown = run("explain", "apps/v1", "Deployment", "spec.template.spec.volumes").stdout
    assert (
        "type:         list of Volume\nstrategy:     merge,retainKeys\nmerge key:    name\n"
        in shown
    )
    assert re.search(r"^emptyDir +EmptyDirVolumeSource$", shown, re.MULTILINE)


def test_explain_tells_merge_keys_and_map_keys_apart() -> None:
    answer = json.loads(
        run(
            "explain", "v1", "Pod", "spec.containers[name=app].ports", "-o", "json"
        ).stdout
    )
    assert answer["merge_key"] == "containerPort"
    assert answer["map_keys"] == ["containerPort", "protocol"]
    rows = {row["field"]: row for row in answer["fields"]}
    assert rows["containerPort"]["type"] == "integer"


def test_explain_of_a_whole_kind_a_map_and_a_scalar() -> None:
    assert re.search(
        r"^data +map of string$", run("explain", "v1", "ConfigMap").stdout, re.MULTILINE
    )
    assert re.search(
        r"^\* +string$", run("explain", "v1", "ConfigMap", "data").stdout, re.MULTILINE
    )
    assert "FIELD" not in run("explain", "v1", "Pod", "spec.nodeName").stdout
    whole = documents.read(run("explain", "v1", "ConfigMap", "-o", "yaml").stdout)[
        0
    ].value
    assert isinstance(whole, dict)
    assert whole["kind"] == "ConfigMap"


def test_explain_suggests() -> None:
    ran = run("explain", "apps/v1", "Deployment", "spec.tempate.spec")
    assert ran.exit_code == 2
    assert ran.stderr.endswith(
        "  path:   spec.tempate\n"
        "  hint:   did you mean template?\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )
    assert "did you mean spec?" in run("explain", "v1", "Pod", "spce").stderr
    assert "did you mean" not in run("explain", "v1", "Pod", "zzz").stderr
    assert run("explain", "v1", "Pod", "[0]").exit_code == 2


def test_schema_versions() -> None:
    assert "1.37\n" in run("schema", "versions").stdout


def test_schema_compile_and_use() -> None:
    assert (
        run(
            "schema",
            "compile",
            "openapi.json",
            "-o",
            "gadget.types",
            "--source",
            "a test",
        ).exit_code
        == 0
    )
    for path in ("gadget.types", "openapi.json"):
        answer = json.loads(
            run(
                "explain",
                "example.com/v1",
                "Gadget",
                "parts",
                "--openapi",
                path,
                "-o",
                "json",
            ).stdout
        )
        assert (answer["strategy"], answer["merge_key"]) == ("merge", "id")
    out = CliRunner().invoke(
        cli, ["schema", "compile", "openapi.json", "-o", "-", "--source", "a test"]
    )
    assert out.stdout_bytes == Path("gadget.types").read_bytes()


def test_schema_compile_errors() -> None:
    ran = run("schema", "compile", "new.yaml", "-o", "x", "--source", "x")
    assert ran.exit_code == 2
    assert "the document describes no schemas" in ran.stderr
    assert "  file:   new.yaml:1\n" in ran.stderr
    assert (
        "cannot write it"
        in run(
            "schema", "compile", "openapi.json", "-o", "no/such", "--source", "x"
        ).stderr
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    assert "_SMP_COMPLETE" in run("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("smp ex", "explain"),
        ("smp explain apps/", "apps/v1"),
        ("smp explain apps/v1 Deplo", "Deployment"),
        ("smp explain apps/v1 Deployment spec.te", "spec.template"),
        ("smp explain v1 Pod sp", "spec"),
        ("smp explain --kubernetes 1.3", "1.33"),
        ("smp diff --live li", "file,li"),
    ],
)
def test_completion(words: str, expected: str) -> None:
    shown = process(
        COMP_WORDS=words,
        COMP_CWORD=str(words.count(" ")),
        _SMP_COMPLETE="bash_complete",
    ).stdout
    assert any(expected in line for line in shown.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        "smp explain nope/v1 Nope sp",
        "smp explain v1 Pod spec.nope.",
        "smp explain --kubernetes 0.1 v",
    ],
)
def test_completion_of_the_unknown_is_empty(words: str) -> None:
    ran = process(
        COMP_WORDS=words,
        COMP_CWORD=str(words.count(" ")),
        _SMP_COMPLETE="bash_complete",
    )
    assert (ran.stdout.strip(), ran.stderr) == ("", "")


# --- test ------------------------------------------------------------------------------------------------------------


def test_cases_pass() -> None:
    ran = run("test", "cases.yaml")
    assert (ran.exit_code, ran.stdout) == (0, "1 passed, 0 failed\n")


def test_failing_case_is_shown_and_updated(directory: Path) -> None:
    right = Path("cases.yaml").read_text()
    folder = directory / "suite"
    folder.mkdir()
    case = folder / "cases.yaml"
    case.write_text(
        right.replace('two_way: {data: {a: "2"}}', 'two_way: {data: {a: "3"}}')
    )
    ran = run("test", "suite")
    assert ran.exit_code == 1
    assert ran.stdout.startswith("suite/cases.yaml:4: a value changes\n    two_way:\n")
    assert ran.stdout.endswith("\n0 passed, 1 failed\n")
    assert run("test", "suite", "--update").exit_code == 0
    assert case.read_text() == right


def test_cases_that_cannot_be_run_are_errors() -> None:
    Path("bad.yaml").write_text(
        re.sub(r" +original:.*\n", "", Path("cases.yaml").read_text())
    )
    Path("latin.yaml").write_bytes(b"\xff\xfe\xfa")
    ran = run("test", "bad.yaml", "none.yaml", "latin.yaml", "cases.yaml")
    assert ran.exit_code == 2
    assert ran.stdout == "1 passed, 0 failed\n"
    assert ran.stderr.count("smp: error:") == 3
    assert "  file:   bad.yaml:4\n" in ran.stderr


# --- inputs ----------------------------------------------------------------------------------------------------------


def test_directories_at_any_depth_and_several_files(directory: Path) -> None:
    (directory / "d" / "deeper").mkdir(parents=True)
    (directory / "d" / "one.yml").write_text(config_map("one"))
    (directory / "d" / "deeper" / "two.json").write_text(config_map("two"))
    (directory / "d" / "README.md").write_text("no document")
    (directory / "d" / "void.yaml").write_text("# nothing\n")
    Path("three.yaml").write_text(config_map("three"))
    ran = run("apply", "-f", "d", "-f", "three.yaml", "-o", "json")
    assert [
        value["metadata"]["name"]
        for value in values(ran.stdout)
        if isinstance(value, dict)
    ] == [
        "two",
        "one",
        "three",
    ]
    assert (
        ran.stderr == "smp: skipped 1 document:\n  d/void.yaml:1: no document found\n"
    )


def test_skipped_documents_are_counted_and_named() -> None:
    Path("mixed.yaml").write_text("a: 1\n---\n" + config_map("a", x="1") + "---\n- 1\n")
    Path("live.yaml").write_text(config_map("a") + "---\n" + config_map("b", "shop"))
    for output in ("yaml", "json", "jsonpatch", "report"):
        assert run(
            "apply", "-f", "mixed.yaml", "--live", "live.yaml", "-o", output
        ).stderr.endswith("""\
smp: skipped 3 documents:
  mixed.yaml:1: not a Kubernetes object: no apiVersion, no kind
  mixed.yaml:5: not a Kubernetes object: no apiVersion, no kind
  live.yaml:3: v1 ConfigMap shop/b: live, but not in the new configuration
""")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            ("diff", "none.yaml", "new.yaml"),
            "cannot read it: No such file or directory\n  file:   none.yaml\n",
        ),
        (
            ("diff", "empty", "new.yaml"),
            "there is no document in the directory\n  file:   empty\n",
        ),
        (
            ("diff", "empty.yaml", "new.yaml"),
            "no document found\n  file:   empty.yaml\n",
        ),
        (
            ("diff", "plain.yaml", "new.yaml"),
            "no Kubernetes object in it\n  file:   plain.yaml\n",
        ),
        (("diff", "bad.yaml", "new.yaml"), "  file:   bad.yaml:2:8\n"),
        (
            ("diff", "-", "-"),
            "standard input can be read only once\n  file:   <stdin>\n",
        ),
        (
            ("diff", "half.yaml", "half.yaml"),
            "kind is missing\n  path:   kind\n  file:   half.yaml:1\n",
        ),
        (
            ("diff", "twice.yaml", "new.yaml"),
            "the same object is also in twice.yaml:1\n  file:   twice.yaml:2\n",
        ),
        (("diff", "deep.json", "new.yaml"), "smp: error: the document is nested"),
        (("apply", "-f", "unknown.yaml"), "did you mean apps/v1 Deployment"),
        (
            ("apply", "-f", "unknown.yaml"),
            "--crd FILE or --openapi FILE describes more kinds\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--kubernetes", "0.9"),
            "Kubernetes 0.9 is not bundled\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--crd", "new.yaml"),
            "the document is not a CustomResourceDefinition\n  file:   new.yaml:1\n",
        ),
        (
            ("apply", "-f", "new.yaml", "--openapi", "broken.types"),
            "not a compiled catalog\n  file:   broken.types:1\n",
        ),
    ],
)
def test_errors_are_one_readable_block(arguments: tuple[str, ...], shown: str) -> None:
    Path("empty").mkdir()
    Path("empty.yaml").write_text("---\n")
    Path("plain.yaml").write_text("a: 1\n")
    Path("bad.yaml").write_text("apiVersion: v1\nkind: [}\n")
    Path("half.yaml").write_text("apiVersion: v1\n")
    Path("twice.yaml").write_text(config_map() * 2)
    Path("deep.json").write_text("[" * 3000 + "]" * 3000)
    Path("unknown.yaml").write_text("apiVersion: apps/v1\nkind: Deploymint\n")
    Path("broken.types").write_bytes(b"\x78\xda no")
    ran = run(*arguments, given=config_map())
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("smp: error: ")
    assert shown in ran.stderr


def test_all_errors_are_shown_and_nothing_else() -> None:
    Path("unknown.yaml").write_text(
        config_map()
        + "---\napiVersion: a/v1\nkind: B\n---\napiVersion: c/v1\nkind: D\n"
    )
    ran = run("apply", "-f", "unknown.yaml")
    assert (ran.exit_code, ran.stdout, ran.stderr.count("smp: error: ")) == (2, "", 2)
    assert "file:   unknown.yaml:3\n" in ran.stderr
    assert "file:   unknown.yaml:6\n" in ran.stderr


def test_a_terminal_never_sees_control_characters() -> None:
    Path("odd.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\ndata: {a: "1\\n\\e[2J"}\n'
    )
    Path("old.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "\\e[31m"}\n'
    )
    Path("unknown.yaml").write_text('apiVersion: v1\nkind: "\\e[31m"\n')
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml").output
    assert "\x1b" not in run("diff", "old.yaml", "odd.yaml", "-o", "report").output
    assert "\x1b" not in run("diff", "unknown.yaml", "odd.yaml").output
    assert "\x1b" not in run("apply", "-f", "unknown.yaml").output


# --- pairs -----------------------------------------------------------------------------------------------------------


def paired(new: str, live: str) -> Result:
    Path("new.yaml").write_text(new)
    Path("live.yaml").write_text(live)
    return run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "report")


def test_a_missing_namespace_matches_the_only_candidate() -> None:
    assert (
        "1 object: 1 changed"
        in paired(config_map(x="1"), config_map(namespace="shop")).stdout
    )
    assert (
        "1 object: 1 changed"
        in paired(config_map(namespace="shop", x="1"), config_map()).stdout
    )


def test_namespaces_that_differ_do_not_match() -> None:
    ran = paired(config_map(namespace="here"), config_map(namespace="there"))
    assert "1 object: 1 to be created" in ran.stdout
    assert "skipped 1 document" in ran.stderr


def test_a_missing_namespace_that_could_be_several_is_an_error() -> None:
    several = config_map(namespace="here") + config_map(namespace="there")
    for new, live in ((config_map(), several), (several, config_map())):
        ran = paired(new, live)
        assert ran.exit_code == 2
        assert "no telling which object it is" in ran.stderr
        assert "hint:   set metadata.namespace" in ran.stderr


def test_an_exact_match_leaves_the_other_to_the_one_without_namespace() -> None:
    new = config_map(namespace="here", x="1") + config_map(x="2")
    ran = paired(new, config_map(namespace="here") + config_map(namespace="there"))
    assert "2 objects: 2 changed" in ran.stdout


def test_versions_of_a_group_are_one_object() -> None:
    Path("old.yaml").write_text(
        "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    )
    Path("new.yaml").write_text(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    )
    assert values(run("diff", "old.yaml", "new.yaml").stdout) == [
        {"apiVersion": "autoscaling/v2"}
    ]
    ran = run("apply", "-f", "new.yaml", "--live", "old.yaml")
    assert ran.exit_code == 2
    assert "apiVersion must not change" in ran.stderr


def test_generated_names_are_new_objects_each_time() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n---\n"
    ran = paired(job * 2, job)
    assert ran.stdout.count("batch/v1 Job run-*: to be created") == 2


# --- schemas ---------------------------------------------------------------------------------------------------------

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: %d, more: {a: %d, b: 1}}\n"


def widgets() -> tuple[str, str]:
    Path("before.yaml").write_text(WIDGET % (1, 1))
    Path("after.yaml").write_text(WIDGET % (2, 2))
    Path("crd.yaml").write_text(DEFINITION)
    return "before.yaml", "after.yaml"


def test_kinds_of_definitions() -> None:
    assert run("diff", *widgets()).exit_code == 2
    ran = run("diff", *widgets(), "--crd", "crd.yaml", "--unknown-fields", "merge")
    assert values(ran.stdout) == [{"spec": {"size": 2, "more": {"a": 2}}}]


def test_definitions_among_the_inputs_serve_their_kinds() -> None:
    before, after = widgets()
    for path in (before, after):
        Path(path).write_text(Path(path).read_text() + "---" + DEFINITION)
    ran = run("diff", before, after, "--unknown-fields", "merge")
    assert values(ran.stdout) == [{"spec": {"size": 2, "more": {"a": 2}}}]


def test_unknown_fields_are_refused_with_a_hint() -> None:
    ran = run("diff", *widgets(), "--crd", "crd.yaml")
    assert ran.exit_code == 2
    assert "  path:   spec.more\n" in ran.stderr
    assert ran.stderr.endswith(
        "  hint:   a misspelled name, or a field of another version of the API\n"
        "  hint:   --unknown-fields merge merges it by RFC 7396\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "before.yaml", "after.yaml"),
        ("apply", "-f", "after.yaml", "--live", "before.yaml"),
        ("patch", "before.yaml", "-p", "spec: {more: {a: 2}}"),
    ],
)
def test_unknown_fields_merged_are_reported(command: tuple[str, ...]) -> None:
    widgets()
    options = ("--crd", "crd.yaml", "--unknown-fields", "merge")
    warning = "spec.more: unknown to the schema; merged by RFC 7396\n"
    assert (
        f"smp: warning: example.com/v1 Widget w: {warning}"
        in run(*command, *options).stderr
    )
    assert f"  warning: {warning}" in run(*command, *options, "-o", "report").stdout


def test_bundled_version() -> None:
    kind = ("resource.k8s.io/v1", "DeviceClass")
    assert run("explain", *kind).exit_code == 0
    assert run("explain", *kind, "--kubernetes", "1.25").exit_code == 2


# --- changes ---------------------------------------------------------------------------------------------------------


def found(old: dict[str, object], new: dict[str, object]) -> list[Change]:
    schema = kubernetes().schema("v1", "Pod")
    before, after = json.loads(json.dumps(old)), json.loads(json.dumps(new))
    return list(changes({"spec": before}, {"spec": after}, schema.type))


def test_changes_tell_types_apart() -> None:
    assert [(c.old, c.new) for c in found({"priority": 1}, {"priority": True})] == [
        (1, True)
    ]
    assert [(c.old, c.new) for c in found({"x": [True]}, {"x": [1]})] == [([True], [1])]


def test_changes_of_order() -> None:
    (change,) = found(
        {"containers": [{"name": "a"}, {"name": "b"}]},
        {"containers": [{"name": "b"}, {"name": "a"}]},
    )
    assert change == Change(
        Where(("spec", "containers")), ["a", "b"], ["b", "a"], is_order=True
    )


def test_changes_pair_by_a_key_that_is_distinct() -> None:
    def ports(*ports: tuple[str, int]) -> dict[str, object]:
        listed = [
            {"containerPort": 53, "protocol": protocol, "hostPort": port}
            for protocol, port in ports
        ]
        return {"containers": [{"name": "a", "ports": listed}]}

    (change,) = found(ports(("TCP", 1), ("UDP", 2)), ports(("TCP", 1), ("UDP", 3)))
    assert str(change.path) == "spec.containers[name=a].ports[protocol=UDP].hostPort"
    (change,) = found(ports(("TCP", 1), ("TCP", 2)), ports(("TCP", 1), ("TCP", 3)))
    assert str(change.path) == "spec.containers[name=a].ports"


def test_changes_of_what_the_schema_does_not_know() -> None:
    assert [
        str(c.path)
        for c in found(
            {"more": {"a": {"b": 1}, "c": [1]}}, {"more": {"a": {"b": 2}, "c": [2]}}
        )
    ] == [
        "spec.more.a.b",
        "spec.more.c",
    ]
    assert [c.old for c in found({}, {"more": {}})] == [ABSENT]


def test_long_texts_are_shown_as_a_diff() -> None:
    lines = [f"line {number}\n" for number in range(20)]
    Path("old.yaml").write_text(config_map(text="".join(lines)))
    Path("new.yaml").write_text(
        config_map(text="".join([*lines[:9], "new\n", *lines[10:], "end"]))
    )
    assert (
        run("diff", "old.yaml", "new.yaml", "-o", "report").stdout
        == """\
v1 ConfigMap a: changed
  ~ data.text:
      ...
        line 7
        line 8
      - line 9
      + new
        line 10
        line 11
      ...
        line 18
        line 19
      + end

1 object: 1 changed
"""
    )


# --- help and reference ----------------------------------------------------------------------------------------------


def contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            child = context.command.get_command(context, name)
            assert child is not None
            yield from contexts(click.Context(child, info_name=name, parent=context))


EVERY = list(contexts(click.Context(cli, info_name="smp", **cli.context_settings)))


@pytest.mark.parametrize("context", EVERY, ids=lambda context: context.command_path)
def test_help_ends_in_an_example_that_runs(context: click.Context) -> None:
    lines = context.command.get_help(context).splitlines()
    assert lines[-2].strip() == "Example:"
    program, *arguments = shlex.split(lines[-1])
    assert program == "smp"
    if arguments[0] == "serve":  # has no end; tests/test_server_cli.py runs it
        return
    assert run(*arguments).exit_code == (1 if "diff" in arguments else 0)


@pytest.mark.parametrize("context", EVERY, ids=lambda context: context.command_path)
def test_every_option_has_help(context: click.Context) -> None:
    options = [
        param for param in context.command.params if isinstance(param, click.Option)
    ]
    assert [
        option.name for option in options if not option.help and option.name != "output"
    ] == []


def test_reference_is_up_to_date() -> None:
    stale = "docs/cli.md is stale: python -m smp.cli._reference > docs/cli.md"
    assert (ROOT / "docs" / "cli.md").read_text() == reference(), stale
