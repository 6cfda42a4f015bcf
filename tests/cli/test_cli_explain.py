"""``smp explain``, and shell completion."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import pytest

from smp._values.values import JSON
from smp.schema.descriptions import Descriptions, compile_descriptions
from tests.record.descriptions import BUNDLED, published
from tests.record.resources import module, needs_kubernetes
from tests.support.command import config_map, process, run, values
from tests.support.kubectl import needs_kubectl
from tests.support.server_process import Kubectl, serving


@pytest.fixture
def applied(tmp_path: Path) -> list[str]:
    """Return the options that explain the apply of a ConfigMap and a Secret."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    new, live = tmp_path / "new.yaml", tmp_path / "live.yaml"
    new_secret = {**secret, "data": {"password": "bmV3"}}
    live_secret = {**secret, "data": {"password": "b2xk", "token": "c2VjcmV0"}}
    new_map = config_map(**{"a.b": "1", "kept": "2"})
    live_map = config_map(**{"a.b": "9", "kept": "2", "other": "3"})
    new.write_text(f"{new_map}---\n{json.dumps(new_secret)}\n")
    live.write_text(f"{live_map}---\n{json.dumps(live_secret)}\n")
    return ["-f", str(new), "--live", str(live)]


def test_an_apply_is_explained_with_causes_and_remedies(applied: list[str]) -> None:
    shown = run("explain", *applied).stdout
    assert '  data[a.b]: "9" -> "1"\n      the manifest sets it [set]\n' in shown
    assert (
        '  data.other: "3"\n'
        "      it is not in the manifest, and it cannot be pruned: there is no "
        "last-applied configuration [never-applied]\n"
        "      remedy: to remove it, set it to null in the manifest\n" in shown
    )
    # What is as expected is left out.
    assert "data.kept" not in shown
    assert "metadata.name" not in shown


def test_an_explained_apply_shows_no_value_of_a_secret(applied: list[str]) -> None:
    for output in ((), ("--format", "json")):
        shown = run("explain", *applied, *output).stdout
        assert "data.token" in shown
        for value in ("bmV3", "b2xk", "c2VjcmV0"):
            assert value not in shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("data.kept", ["data.kept"]),
        ("data[a.b]", ["data[a.b]"]),
        ("metadata", ["metadata.name"]),
        ("data.missing", []),
    ],
)
def test_an_apply_is_explained_at_a_path(
    applied: list[str], path: str, shown: list[str]
) -> None:
    first, *_ = json.loads(run("explain", *applied, path, "--format", "json").stdout)
    assert [cause["path"] for cause in first.get("causes", [])] == shown


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (
            "data.missing",
            "data.missing: neither the live object nor the new one has it",
        ),
        ("data[x.y]", "data[x.y]: neither the live object nor the new one has it"),
    ],
)
def test_a_path_that_no_object_has_is_said_and_no_patch_is_shown(
    applied: list[str], path: str, answer: str
) -> None:
    shown = run("explain", *applied, path).stdout
    first, _, second = shown.partition("\n\n")
    assert answer in first
    assert answer in second
    assert "data:" not in shown
    assert "{}" not in shown


def test_a_field_that_the_schema_does_not_know_fails_with_and_without_an_apply(
    applied: list[str],
) -> None:
    of_kind = run("explain", "cm", "metadata.lables.app")
    of_apply = run("explain", *applied, "metadata.lables.app")
    assert (of_kind.exit_code, of_apply.exit_code) == (2, 2)
    problem = "smp: error: the schema does not know this field\n"
    for done in (of_kind, of_apply):
        assert done.stderr.startswith(problem)
        assert "  path:   metadata.lables\n" in done.stderr
        assert "  hint:   did you mean labels?\n" in done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["-o", "table", "-f", "x"], ["a", "b", "-f", "x"]]
)
def test_what_cannot_be_explained_is_a_usage_error(arguments: list[str]) -> None:
    done = run("explain", *arguments)
    assert done.exit_code == 2
    assert "  usage:  smp explain" in done.stderr


def test_a_field_is_shown_with_the_fields_below_it() -> None:
    path = "spec.template.spec.volumes"
    shown = run("explain", "apps/v1", "Deployment", path, "-o", "table").stdout
    assert (
        "type:         list of Volume\n"
        "strategy:     merge,retainKeys\n"
        "merge key:    name\n" in shown
    )
    assert re.search(r"^emptyDir +EmptyDirVolumeSource$", shown, re.MULTILINE)


def test_merge_keys_and_map_keys_are_shown_separately() -> None:
    path = "spec.containers[name=app].ports"
    answer = json.loads(run("explain", "v1", "Pod", path, "-o", "json").stdout)
    assert answer["merge_key"] == "containerPort"
    assert answer["map_keys"] == ["containerPort", "protocol"]
    rows = {row["field"]: row for row in answer["fields"]}
    assert rows["containerPort"]["type"] == "integer"


def test_a_whole_kind_a_map_and_a_scalar_are_shown() -> None:
    kind = run("explain", "v1", "ConfigMap", "-o", "table").stdout
    assert re.search(r"^data +map of string$", kind, re.MULTILINE)
    map_ = run("explain", "v1", "ConfigMap", "data", "-o", "table").stdout
    assert re.search(r"^\* +string$", map_, re.MULTILINE)
    scalar = run("explain", "v1", "Pod", "spec.nodeName").stdout
    assert "fields:" not in scalar


def test_the_values_of_an_enum_are_shown_the_empty_string_in_quotes() -> None:
    shown = run("explain", "v1", "Pod", "spec.containers.ports.protocol").stdout
    assert "enum:         SCTP, TCP, UDP\n" in shown
    row = run("explain", "v1", "Pod", "spec.volumes.hostPath", "-o", "table").stdout
    assert re.search(r'^type +string +"", BlockDevice, ', row, re.MULTILINE)
    path = "spec.accessModes"
    answer = run("explain", "v1", "PersistentVolumeClaim", path, "-o", "json").stdout
    assert "ReadWriteOncePod" in json.loads(answer)["enum"]


def test_the_facts_can_be_printed_as_yaml() -> None:
    [facts] = values(run("explain", "v1", "ConfigMap", "-o", "yaml").stdout)
    assert isinstance(facts, dict)
    assert facts["kind"] == "ConfigMap"


def test_a_union_is_shown_with_its_members() -> None:
    path = "spec.strategy"
    shown = run("explain", "apps/v1", "Deployment", path).stdout
    expected = (
        "union:        type: RollingUpdate -> rollingUpdate (optional), Recreate ["
    )
    assert expected in shown
    facts = json.loads(
        run("explain", "apps/v1", "Deployment", path, "-o", "json").stdout
    )
    [union] = facts["unions"]
    assert union["discriminator"] == "type"
    assert union["members"] == {"rollingUpdate": "RollingUpdate"}
    assert union["no_member"] == ["Recreate"]


def test_an_unknown_field_is_reported_with_similar_names() -> None:
    ran = run("explain", "apps/v1", "Deployment", "spec.tempate.spec")
    assert ran.exit_code == 2
    assert ran.stderr.endswith(
        "  path:   spec.tempate\n"
        "  hint:   did you mean template?\n"
        "  hint:   --kubernetes VERSION selects another version of the API\n"
    )
    assert "did you mean spec?" in run("explain", "v1", "Pod", "spce").stderr
    assert "fields: apiVersion, kind, " in run("explain", "v1", "Pod", "zzz").stderr
    assert run("explain", "v1", "Pod", "[0]").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(shell: str) -> None:
    script = run("completion", shell).stdout
    assert f"_SMP_COMPLETE={shell}_complete" in script


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("smp ex", "explain"),
        ("smp explain apps/", "apps/v1"),
        ("smp explain deplo", "deployments"),
        ("smp explain deploy spec.te", "spec.template"),
        ("smp explain apps/v1 Deplo", "Deployment"),
        ("smp explain apps/v1 Deployment spec.te", "spec.template"),
        ("smp explain v1 Pod sp", "spec"),
        ("smp explain --kubernetes 1.3", "1.33"),
        ("smp diff --live li", "file,li"),
    ],
)
def test_completion_offers_names_from_the_schemas(words: str, expected: str) -> None:
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
def test_completion_of_unknown_names_offers_nothing(words: str) -> None:
    ran = process(
        COMP_WORDS=words,
        COMP_CWORD=str(words.count(" ")),
        _SMP_COMPLETE="bash_complete",
    )
    assert (ran.stdout.strip(), ran.stderr) == ("", "")


@pytest.mark.parametrize(
    ("words", "api_version", "kind", "field"),
    [
        ("deployment", "apps/v1", "Deployment", None),
        ("deploy spec.strategy", "apps/v1", "Deployment", "spec.strategy"),
        ("Deployment spec.strategy", "apps/v1", "Deployment", "spec.strategy"),
        ("deployments.spec strategy", "apps/v1", "Deployment", "spec.strategy"),
        ("deployments.apps spec", "apps/v1", "Deployment", "spec"),
        ("deployments.v1.apps.spec", "apps/v1", "Deployment", "spec"),
        ("apps/v1 deploy spec", "apps/v1", "Deployment", "spec"),
        ("hpa", "autoscaling/v2", "HorizontalPodAutoscaler", None),
        ("autoscaling/v1 hpa", "autoscaling/v1", "HorizontalPodAutoscaler", None),
        # The core group comes first, as with kubectl.
        ("events", "v1", "Event", None),
        ("events.events.k8s.io", "events.k8s.io/v1", "Event", None),
        ("po.spec.containers[name=a.b].env", "v1", "Pod", "spec.containers.env"),
        # Kinds that no discovery document of the newest version lists.
        ("podsecuritypolicies --kubernetes 1.24", "", "", None),
        ("flowschemas --kubernetes 1.25", "flowcontrol.apiserver.k8s.io/v1beta2",
         "FlowSchema", None),
        ("tokenreviews", "authentication.k8s.io/v1", "TokenReview", None),
    ],
)  # fmt: skip
def test_a_kind_is_named_as_kubectl_names_it(
    words: str, api_version: str, kind: str, field: str | None
) -> None:
    ran = run("explain", *words.split(), "-o", "json")
    if not kind:
        assert ran.exit_code == 2
        return
    facts = json.loads(ran.stdout)
    assert (facts["api_version"], facts["kind"]) == (api_version, kind)
    assert facts.get("field") == field


@needs_kubectl
@pytest.mark.slow
def test_every_resource_type_has_the_kind_that_kubectl_has(tmp_path: Path) -> None:
    """Short names, plural and singular names, against the real kubectl and a server."""
    with serving(tmp_path) as server:
        kubectl = Kubectl(server, tmp_path)
        listed = kubectl.run("api-resources", "--no-headers").stdout.splitlines()
        for line in listed:
            words = line.split()
            api_version, kind = words[-3], words[-1]
            names = [words[0], kind]
            if len(words) == 5:
                names += words[1].split(",")
            group = api_version.rpartition("/")[0]
            for name in names:
                facts = json.loads(
                    run("explain", f"{name}.{group}", "-o", "json").stdout
                    if group
                    else run("explain", name, "-o", "json").stdout
                )
                assert (facts["api_version"], facts["kind"]) == (api_version, kind)
    assert len(listed) > 60


def test_fields_have_descriptions_defaults_and_required_marks() -> None:
    shown = run("explain", "pods.spec.containers").stdout
    assert (
        "  A single application container that you want to run within a pod." in shown
    )
    assert (
        "  name <string> -required-\n"
        "    Name of the container specified as a DNS_LABEL." in shown
    )
    facts = json.loads(run("explain", "pods.spec", "-o", "json").stdout)
    rows = {row["field"]: row for row in facts["fields"]}
    required = {name for name, row in rows.items() if row["required"]}
    assert required == {"containers"}
    ports = json.loads(run("explain", "svc.spec.ports", "-o", "json").stdout)
    rows = {row["field"]: row for row in ports["fields"]}
    assert (rows["protocol"]["default"], rows["port"]["required"]) == ("TCP", True)
    assert "default: TCP; enum: " in run("explain", "svc.spec.ports").stdout


@needs_kubectl
@pytest.mark.slow
def test_the_marks_and_descriptions_are_those_of_kubectl_explain(
    tmp_path: Path,
) -> None:
    """The server publishes no descriptions, so of kubectl the fields are compared."""
    for path in ("deployments.spec", "pods.spec.containers", "ing.spec.rules.http"):
        with serving(tmp_path) as server:
            shown = Kubectl(server, tmp_path).run("explain", path).stdout
        fields = re.findall(r"^  (\w+)\t", shown, re.MULTILINE)
        ours = run("explain", path).stdout
        assert re.findall(r"^  ([\w$]+) <", ours, re.MULTILINE) == fields
        assert fields


def test_a_definition_brings_its_names_and_descriptions(tmp_path: Path) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wi"]},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
                }
                for name in ("v1alpha1", "v1")
            ],
        },
    }
    file = tmp_path / "crd.yaml"
    file.write_text(json.dumps(definition))
    for name in ("wi", "widget", "widgets.example.com.spec", "wi.spec"):
        shown = run("explain", name, "--crd", str(file)).stdout
        assert "api version:  example.com/v1\n" in shown
    assert "description:\n  What is wanted.\n" in shown
    assert (
        "  size <integer> -required-\n    default: 3\n    How large it is.\n" in shown
    )


WIDGET_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What is wanted.",
            "required": ["size"],
            "properties": {
                "size": {
                    "type": "integer",
                    "default": 3,
                    "description": "How large it is.",
                }
            },
        }
    },
}


def test_types_that_refer_to_themselves_have_an_end() -> None:
    document: JSON = {
        "components": {
            "schemas": {
                "A": {"description": "a", "items": {"$ref": "#/components/schemas/A"}},
                "B": {"description": "b", "$ref": "#/components/schemas/B"},
            }
        }
    }
    descriptions = Descriptions([document])
    assert descriptions.of_type("A").type_text == "a"
    assert descriptions.of_field(descriptions.of_type("A"), "x").text == ""
    assert descriptions.of_type("B").type_text == "b"


@needs_kubernetes
def test_the_descriptions_are_what_the_published_documents_compile_to() -> None:
    sources = module()
    assert sources is not None
    compiled = compile_descriptions(published(sources))
    assert zlib.decompress(BUNDLED.read_bytes()) == zlib.decompress(compiled)


def test_only_explain_loads_the_descriptions() -> None:
    assert BUNDLED.stat().st_size < 300_000
    loaded = process("apply", "-f", "-", stdin=config_map(), PYTHONVERBOSE="1").stderr
    assert "smp.cli.apply" in loaded
    assert "smp.schema.descriptions" not in loaded


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("applz", "resource types: componentstatuses, configmaps, "),
        ("deploymnt", "did you mean deployment or deployments or "),
        ("apps/v1 Zyx", "the kinds of apps/v1: ControllerRevision, DaemonSet, "),
        ("extensions/v1beta1 Deployment", "did you mean apps/v1 Deployment?"),
        ("v1 Pod spec.nope", "fields: activeDeadlineSeconds, affinity, "),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_there_are(
    words: str, hint: str
) -> None:
    ran = run("explain", *words.split())
    assert ran.exit_code == 2
    assert f"  hint:   {hint}" in ran.stderr


@pytest.mark.parametrize("words", ["v1", "deploy spec more", "apps/v1 Deployment a b"])
def test_words_that_do_not_fit_are_named(words: str) -> None:
    ran = run("explain", *words.split())
    assert ran.exit_code == 2
    assert "missing: smp explain v1 KIND" in ran.stderr or "too many: " in ran.stderr
