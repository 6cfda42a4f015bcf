"""``smp cluster``: what it prints and its exit codes, beside those of kubectl."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from smp.cluster import drive
from smp.cluster.plan.exchange import Progress
from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.support.command import Ran, run
from tests.support.kubectl import kubectl_path, needs_kubectl
from tests.support.waiting import refusing_port

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1"}]}
"""
CREDENTIALS = """
apiVersion: v1
kind: Secret
metadata: {name: s, labels: {app: web}}
stringData: {password: opensesame}
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: web}}
data: {k: "1"}
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Order, plural: orders, shortNames: [ord]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              count: {type: integer, maximum: 9}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, size: {type: integer}}
"""
ORDER = """
apiVersion: example.com/v1
kind: Order
metadata: {name: one}
spec: {count: 1, items: [{name: a}]}
"""
POLICIES = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE],
       resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= int(params.data.most)
    messageExpression: "'at most ' + params.data.most"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec:
  policyName: replicas
  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
"""

Smp = Callable[..., Ran]


@pytest.fixture(scope="module")
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server


@pytest.fixture
def smp(api: KubernetesApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Smp]:
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))

    def call(*arguments: str, stdin: str | None = None) -> Ran:
        # What kubectl has under one roof; this asks the server as kubectl diff does.
        if arguments[0] == "diff":
            return run(*arguments, "--live", "cluster", "--dry-run=server")
        return run("cluster", *arguments, stdin=stdin)

    with api.unchanged():
        yield call


def written(*texts: str, name: str = "manifests.yaml") -> str:
    Path(name).write_text("---".join(texts), encoding="utf-8")
    return name


@pytest.mark.parametrize("command", ["diff", "apply", "get", "delete"])
def test_the_files_are_closed_when_they_were_read(smp: Smp, command: str) -> None:
    # Read by its place in the file, as all objects are whose head is in block style.
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    # Python warns of an open file that goes, and warnings are errors here.
    smp(command, "-f", written(text))
    gc.collect()


class TestApply:
    def test_a_line_for_each_object(self, smp: Smp) -> None:
        ran = smp("apply", "-f", written(WEB, CONFIG))
        assert ran.stdout == "deployment.apps/web created\nconfigmap/a created\n"
        assert (ran.exit_code, ran.stderr) == (0, "")
        ran = smp("apply", "-f", written(WEB.replace("web:1", "web:2"), CONFIG))
        assert ran.stdout == "deployment.apps/web configured\nconfigmap/a unchanged\n"

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--dry-run=client"], "configmap/a created (dry run)"),
            (["--dry-run=server"], "configmap/a created (server dry run)"),
            (["--server-side"], "configmap/a serverside-applied"),
            (["-o", "name"], "configmap/a"),
        ],
    )
    def test_the_words_of_kubectl(
        self, smp: Smp, options: list[str], line: str
    ) -> None:
        ran = smp("apply", "-f", "-", *options, stdin=CONFIG)
        assert (ran.exit_code, ran.stdout) == (0, f"{line}\n")

    def test_the_others_go_on(self, smp: Smp) -> None:
        bad = CONFIG.replace("name: a", "name: Not_a_name")
        ran = smp("apply", "-f", written(bad, WEB))
        assert ran.exit_code == 1
        assert ran.stdout == "deployment.apps/web created\n"
        assert 'The ConfigMap "Not_a_name" is invalid: metadata.name' in ran.stderr
        assert "manifests.yaml:2" in ran.stderr

    def test_a_document_that_cannot_be_read_is_an_error(self, smp: Smp) -> None:
        ran = smp("apply", "-f", written(CONFIG, "\nkind: A\na: [\n"))
        assert (ran.exit_code, ran.stdout) == (1, "configmap/a created\n")
        assert "manifests.yaml:" in ran.stderr

    def test_every_document_is_an_object(self, smp: Smp) -> None:
        ran = smp("apply", "-f", written(CONFIG, "\na: 1\n"))
        assert (ran.exit_code, ran.stdout) == (1, "configmap/a created\n")
        assert "not a Kubernetes object" in ran.stderr

    def test_objects_are_printed(self, smp: Smp) -> None:
        ran = smp("apply", "-f", written(CONFIG), "-o", "json")
        assert json.loads(ran.stdout)["data"] == {"k": "1"}
        ran = smp("apply", "-f", written(CONFIG, WEB), "-o", "yaml")
        assert ran.stdout.startswith("apiVersion: v1\nitems:\n- ")

    def test_a_report_masks_secrets(self, smp: Smp) -> None:
        smp("apply", "-f", written(CREDENTIALS))
        changed = written(CREDENTIALS.replace("opensesame", "other-word"))
        ran = smp("apply", "-f", changed, "-o", "report")
        assert ran.exit_code == 0
        assert "v1 Secret default/s: changed" in ran.stdout
        assert "*** (live)" in ran.stdout
        encoded = "b3BlbnNlc2FtZQ"
        assert encoded not in ran.output
        assert "other-word" not in ran.output
        ran = smp("apply", "-f", written(CREDENTIALS), "-o", "report", "--show-secrets")
        assert encoded in ran.stdout

    def test_a_strict_run_writes_nothing(self, smp: Smp, api: KubernetesApi) -> None:
        wrong = WEB + "  strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}\n"
        api.clear_requests()
        ran = smp("apply", "-f", written(CONFIG, wrong), "--strict")
        assert ran.exit_code == 1
        assert "smp: nothing was written" in ran.stderr
        assert {request.method for request in api.requests} == {"GET"}

    def test_hazards_are_warnings(self, smp: Smp) -> None:
        twice = CONFIG.replace('{k: "1"}', '{k: "1", gone: null}')
        ran = smp("apply", "-f", written(twice))
        assert "Warning: configmap/a: data.gone" in ran.stderr
        ran = smp("apply", "-f", written(twice), "--hazards", "ignore")
        assert not ran.stderr

    def test_what_is_not_there_any_more_is_pruned(self, smp: Smp) -> None:
        both, one = written(WEB, CONFIG), written(WEB, name="one.yaml")
        options = ["--prune", "-l", "app=web", "--prune-allowlist", "core/v1/ConfigMap"]
        assert smp("apply", "-f", both, *options).exit_code == 0
        for manifests in (["-f", one], [one]):
            preview = smp("diff", *manifests, *options, "-o", "report")
            assert preview.exit_code == 1
            assert "v1 ConfigMap default/a: to be removed" in preview.stdout
        assert smp("diff", one, both, *options).exit_code == 2
        for dry_run in ("client", "server"):
            ran = smp("apply", "-f", one, *options, f"--dry-run={dry_run}")
            assert "configmap/a pruned (" in ran.stdout
            assert smp("get", "cm", "a").exit_code == 0
        ran = smp("apply", "-f", one, *options)
        assert ran.stdout == "deployment.apps/web unchanged\nconfigmap/a pruned\n"

    @pytest.mark.parametrize(
        "broken", ["\nkind: A\na: [\n", "\na: 1\n", "\na: {\n", f"{CONFIG}kind: A\n"]
    )
    def test_nothing_is_pruned_where_a_manifest_cannot_be_read(
        self, smp: Smp, broken: str
    ) -> None:
        # It may be the manifest of what would be pruned.
        options = ["--prune", "-l", "app=web"]
        smp("apply", "-f", written(CONFIG, WEB), *options)
        ran = smp("apply", "-f", written(WEB, broken), *options)
        assert (ran.exit_code, ran.stdout) == (1, "deployment.apps/web unchanged\n")
        assert smp("get", "-f", written(CONFIG)).exit_code == 0
        ran = smp("diff", "-f", written(WEB, broken), *options, "-o", "patch")
        assert ran.stdout == ""

        both = ["--prune", "--applyset", "app"]
        smp("apply", "-f", written(CONFIG, WEB), *both)
        ran = smp("apply", "-f", written(WEB, broken), *both)
        assert (ran.exit_code, ran.stdout) == (1, "deployment.apps/web unchanged\n")
        assert smp("get", "-f", written(CONFIG)).exit_code == 0

    def test_flags_may_have_a_value_as_in_kubectl(self, smp: Smp) -> None:
        file = written(CONFIG)
        ran = smp("apply", "-f", file, "--server-side=true", "--wait=false")
        assert (ran.exit_code, ran.stdout) == (0, "configmap/a serverside-applied\n")
        ran = smp("apply", "-f", file, "--server-side=false", "--overwrite=false")
        assert (ran.exit_code, ran.stdout) == (0, "configmap/a configured\n")
        ran = smp("apply", "-f", file, "--server-side=maybe")
        assert ran.exit_code == 1
        assert "'maybe' is not true or false" in ran.stderr
        ran = smp("delete", "-f", file, "--wait=false", "--ignore-not-found=true")
        assert ran.exit_code == 0

    @pytest.mark.parametrize("options", [[], ["--prune"]])
    def test_a_selection_of_no_object_is_an_error(
        self, smp: Smp, options: list[str]
    ) -> None:
        smp("apply", "-f", written(CONFIG))
        ran = smp("apply", "-f", written(WEB), "-l", "app=other", *options)
        assert (ran.exit_code, ran.stdout) == (1, "")
        assert "no objects passed to apply" in ran.stderr
        ran = smp("delete", "-f", written(WEB), "-l", "app=other")
        assert (ran.exit_code, ran.stdout) == (0, "No resources found\n")

    def test_a_file_of_another_tool_is_no_object(self, smp: Smp) -> None:
        kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\n"
        file = written(kustomization, name="kustomization.yaml")
        ran = smp("apply", "-f", file)
        assert (ran.exit_code, ran.stdout) == (1, "")
        assert "kustomization.yaml: not an object of a cluster" in ran.stderr
        assert "no objects passed to apply" in ran.stderr

    def test_it_waits_until_objects_are_ready(self, smp: Smp) -> None:
        ran = smp("apply", "-f", written(WEB), "--wait", "--timeout", "10ms")
        assert ran.exit_code == 1
        assert ran.stdout == "deployment.apps/web created\n"
        assert "is not ready after 0.01 s: Replicas: 0/1" in ran.stderr
        assert smp("apply", "-f", written(CONFIG), "--wait").exit_code == 0

    def test_objects_are_selected_by_labels(self, smp: Smp) -> None:
        other = CONFIG.replace("app: web", "app: db")
        ran = smp("apply", "-f", written(WEB, other), "-l", "app=db")
        assert ran.stdout == "configmap/a created\n"

    def test_an_object_of_another_namespace_is_an_error(self, smp: Smp) -> None:
        elsewhere = CONFIG.replace("name: a,", "name: a, namespace: other,")
        ran = smp("apply", "-f", written(elsewhere), "-n", "default")
        assert ran.exit_code == 1
        assert "does not match the namespace" in ran.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["-f", "x.yaml", "--applyset", "a"],
            ["-f", "x.yaml", "--tooling", "kubectl/v1.37"],
            ["-f", "x.yaml", "--applyset", "a", "--prune", "-l", "a=b"],
            ["-f", "x.yaml", "--prune"],
            ["-f", "x.yaml", "--prune", "-l", "a=b", "--prune-allowlist", "v1"],
            ["-f", "x.yaml", "-l", "!!"],
            ["-f", "x.yaml", "--timeout", "soon"],
        ],
    )
    def test_what_cannot_be_meant_is_a_usage_error(
        self, smp: Smp, arguments: list[str]
    ) -> None:
        written(CONFIG, name="x.yaml")
        ran = smp("apply", *arguments)
        assert ran.exit_code == 1
        assert "  usage:  smp cluster apply" in ran.stderr

    def test_without_a_cluster_it_is_an_error(
        self, smp: Smp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", "missing.yaml")
        ran = smp("apply", "-f", written(CONFIG))
        assert ran.exit_code == 1
        assert ran.stderr.startswith("smp: error: ")


def test_directories_are_read_in_the_order_of_names(smp: Smp) -> None:
    for name in ("b", "a", "sub/c"):
        path = Path("manifests", f"{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONFIG.replace("name: a", f"name: {path.stem}"))
    ran = smp("apply", "-f", "manifests")
    assert ran.stdout == "configmap/a created\nconfigmap/b created\n"
    ran = smp("apply", "-R", "-f", "manifests")
    assert ran.stdout.endswith("configmap/c created\n")
    Path("empty").mkdir()
    assert "no document found" in smp("apply", "-f", "empty").stderr


class TestDiff:
    def test_nothing_differs(self, smp: Smp) -> None:
        smp("apply", "-f", written(WEB))
        ran = smp("diff", "-f", written(WEB), "-o", "unified")
        assert (ran.exit_code, ran.stdout) == (0, "")

    def test_something_differs(self, smp: Smp) -> None:
        smp("apply", "-f", written(WEB))
        ran = smp(
            "diff",
            "-f",
            written(WEB.replace("web:1", "web:2"), CONFIG),
            "-o",
            "unified",
        )
        assert ran.exit_code == 1
        assert "-      - image: web:1\n+      - image: web:2\n" in ran.stdout
        assert "--- /dev/null\n+++ v1 ConfigMap default/a\n" in ran.stdout

    def test_an_error_is_more_than_one(self, smp: Smp) -> None:
        wrong = WEB.replace('image: "web:1"', "image: 7")
        assert smp("diff", "-f", written(wrong)).exit_code == 2
        assert smp("diff", "-f", written(wrong, CONFIG)).exit_code == 3

    @pytest.mark.parametrize(
        "output",
        ["-o=report", "-o=json", "-o=patch", "--format=json", "--format=html"],
    )
    def test_the_reports_of_smp_diff(self, smp: Smp, output: str) -> None:
        smp("apply", "-f", written(WEB))
        changed = written(WEB.replace("web:1", "web:2"))
        ran = smp("diff", "-f", changed, output)
        assert ran.exit_code == 1
        assert "web:2" in ran.stdout

    def test_server_side(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG), "--server-side")
        changed = written(CONFIG.replace('"1"', '"2"'))
        ran = smp("diff", "-f", changed, "--server-side", "-o", "report")
        assert ran.exit_code == 1
        assert 'data.k: "1" -> "2"' in ran.stdout

    def test_what_is_ignored_is_no_difference(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG))
        changed = written(CONFIG.replace('"1"', '"2"'))
        assert smp("diff", "-f", changed, "--ignore", "data").exit_code == 0
        rules = 'version: 1\nrules: [{paths: ["data.*"], reason: theirs}]\n'
        options = ["--rules", written(rules, name="rules.yaml"), "--stat"]
        ran = smp("diff", "-f", changed, *options)
        assert ran.exit_code == 0
        assert "1 difference set aside" in ran.stdout

    def test_what_is_warned_of_is_a_failure_where_that_is_asked_for(
        self, smp: Smp
    ) -> None:
        twice = written(
            "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec:\n  ports:\n"
            "  - {name: a, port: 53, protocol: UDP}\n"
            "  - {name: b, port: 53, protocol: TCP}\n"
        )
        smp("apply", "-f", twice)
        assert smp("diff", "-f", twice).exit_code == 0
        assert smp("diff", "-f", twice, "--strict").exit_code != 0

    def test_no_option_is_read_and_forgotten(self, smp: Smp) -> None:
        ran = smp("diff", "-f", written(CONFIG), "--include-kind", "cm")
        assert ran.exit_code == 2
        assert "--include-kind does not work where a server is asked" in ran.stderr
        assert smp("diff", "-f", written(CONFIG), "--max-bytes", "9").exit_code == 2
        for option in (
            *("--force-conflicts", "--skip-conflicts", "--give-up=data", "--tooling=a"),
            *("--no-overwrite", "--applyset=a", "--prune-allowlist=v1/Pod"),
        ):
            ran = run("diff", "manifests.yaml", "--live", "cluster", option)
            name = option.partition("=")[0]
            assert (ran.exit_code, ran.stdout) == (2, "")
            assert f"{name} only works where a server is asked" in ran.stderr


class TestDrift:
    def test_what_others_changed(self, smp: Smp, api: KubernetesApi) -> None:
        smp("apply", "-f", written(WEB, CREDENTIALS, CONFIG))
        whole = ("drift", "--live", "cluster")
        assert run(*whole).exit_code == 0
        path = "/api/v1/namespaces/default/configmaps/a"
        api.client("httpx").patch(
            path,
            json={"data": {"k": "9", "other": "x"}},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        api.clear_requests()
        for options in ([], ["-A"], ["-n", "default"], ["-l", "app=web"]):
            ran = run(*whole, *options)
            assert ran.exit_code == 1
            assert "v1 ConfigMap default/a" in ran.stdout
            assert "data.k" in ran.stdout
            assert "data.other" not in ran.stdout
        assert run(*whole, "-n", "shop").exit_code != 1
        assert {request.method for request in api.requests} == {"GET"}
        refused = run("drift", "-f", "manifests.yaml", "--live", "cluster", "-A")
        assert "where no manifests are given" in refused.stderr

    def test_the_old_names_answer_with_the_new_ones(self) -> None:
        for name in ("diff", "drift"):
            ran = run("cluster", name, "-f", "a.yaml")
            new = f"it is now: smp {name} -f a.yaml --live cluster"
            assert (ran.exit_code, new in ran.stderr) == (2, True)

    def test_the_names_of_kubectl_answer_with_those_of_the_group(self) -> None:
        for name in ("get", "wait", "delete"):
            ran = run(name, "-f", "a.yaml")
            assert f"did you mean smp cluster {name}?" in ran.stderr


class TestGet:
    def test_objects_of_manifests_and_of_resources(self, smp: Smp) -> None:
        smp("apply", "-f", written(WEB, CONFIG))
        ran = smp("get", "-f", "manifests.yaml", "-o", "name")
        assert ran.stdout == "deployment.apps/web\nconfigmap/a\n"
        ran = smp("get", "deploy", "web", "-o", "json")
        assert json.loads(ran.stdout)["metadata"]["name"] == "web"
        assert "managedFields" not in ran.stdout
        ran = smp("get", "deployments.apps", "-A", "--show-managed-fields")
        assert "managedFields" in ran.stdout

    def test_resources_are_named_as_for_kubectl(self, smp: Smp) -> None:
        smp("apply", "-f", written(WEB, CONFIG))
        both = "deployment.apps/web\nconfigmap/a\n"
        assert smp("get", "deploy,cm", "-o", "name").stdout == both
        assert smp("get", "deploy/web", "cm/a", "-o", "name").stdout == both
        ran = smp("get", "deployments.v1.apps", "-o", "name")
        assert ran.stdout == "deployment.apps/web\n"
        ran = smp("get", "deploy/web", "a")
        assert (ran.exit_code, ran.stdout) == (1, "")
        ran = smp("get", "gizmos")
        assert 'the server doesn\'t have a resource type "gizmos"' in ran.stderr

    def test_what_does_not_exist_is_an_error(self, smp: Smp) -> None:
        for arguments in (["cm", "none"], ["-f", written(CONFIG)], ["widgets"]):
            ran = smp("get", *arguments)
            assert (ran.exit_code, ran.stdout) == (1, "")
        assert smp("get").exit_code == 1


class TestWait:
    def test_all_are_ready(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG))
        ran = smp("wait", "-f", "manifests.yaml")
        assert (ran.exit_code, ran.stdout) == (0, "configmap/a is ready\n")

    def test_one_is_not(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG, WEB))
        ran = smp("wait", "-f", "manifests.yaml", "--timeout", "0s")
        assert (ran.exit_code, ran.stdout) == (1, "configmap/a is ready\n")
        assert "Replicas: 0/1" in ran.stderr


class TestDelete:
    def test_the_words_of_kubectl(self, smp: Smp) -> None:
        smp("apply", "-f", written(WEB, NAMESPACE))
        ran = smp("delete", "-f", "manifests.yaml", "--dry-run=server")
        assert ran.stdout.endswith('namespace "shop" deleted (server dry run)\n')
        ran = smp("delete", "-f", "manifests.yaml", "--dry-run=client", "-o", "name")
        assert ran.stdout == "deployment.apps/web\nnamespace/shop\n"
        ran = smp("delete", "-f", "manifests.yaml")
        assert ran.exit_code == 0
        assert ran.stdout == (
            'deployment.apps "web" deleted from default namespace\n'
            'namespace "shop" deleted\n'
        )

    def test_what_does_not_exist(self, smp: Smp) -> None:
        ran = smp("delete", "-f", written(CONFIG))
        assert ran.exit_code == 1
        assert 'configmaps "a" not found' in ran.stderr
        ran = smp("delete", "-f", written(CONFIG), "--ignore-not-found")
        assert (ran.exit_code, ran.output) == (0, "")

    def test_what_does_not_go_in_time_is_an_error(self, smp: Smp) -> None:
        kept = CONFIG.replace("name: a,", "name: a, finalizers: [example.com/keep],")
        smp("apply", "-f", written(kept))
        ran = smp("delete", "-f", "manifests.yaml", "--timeout", "1ms")
        assert ran.exit_code == 1
        assert "still exists after" in ran.stderr
        assert smp("delete", "-f", "manifests.yaml", "--no-wait").exit_code == 0


class TestApplySets:
    def test_they_are_listed_verified_and_repaired(
        self, smp: Smp, api: KubernetesApi
    ) -> None:
        prune = ["--prune", "--applyset", "set"]
        assert smp("apply", "-f", written(CONFIG, WEB), *prune).exit_code == 0
        assert smp("applysets").stdout.startswith("secrets/set in default: smp/v")
        assert [
            each["name"] for each in json.loads(smp("applysets", "-o", "json").stdout)
        ] == ["set"]
        ran = smp("applysets", "set")
        assert ran.exit_code == 0
        assert ran.stdout == (
            "secrets/set: 2 members\n  v1 ConfigMap default/a\n"
            "  apps/v1 Deployment default/web\n"
        )
        api.client("httpx").patch(
            "/api/v1/namespaces/default/secrets/set",
            json={
                "metadata": {
                    "annotations": {
                        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap"
                    }
                }
            },
            headers={"Content-Type": "application/merge-patch+json"},
        )
        ran = smp("applysets", "set", "-o", "json")
        assert ran.exit_code == 1
        assert "of the kind Deployment.apps" in ran.stderr
        assert json.loads(ran.stdout)["kinds"] == ["ConfigMap"]
        assert smp("applysets", "set", "--repair").exit_code == 0
        assert smp("applysets", "set").exit_code == 0
        # What is left out of the next apply goes.
        one = written(CONFIG, name="one.yaml")
        preview = smp("diff", "-f", one, *prune, "-o", "report")
        assert "apps/v1 Deployment default/web: to be removed" in preview.stdout
        ran = smp("apply", "-f", one, *prune)
        assert ran.stdout == "configmap/a unchanged\ndeployment.apps/web pruned\n"

    def test_a_set_of_another_tool_is_left_alone(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG), "--prune", "--applyset", "set")
        ran = smp("applysets", "none")
        assert ran.exit_code == 1
        assert smp("applysets", "--repair").exit_code == 1


class TestLive:
    """``--live cluster`` of the commands that work offline."""

    def test_live_objects_are_read_and_nothing_is_written(
        self, smp: Smp, api: KubernetesApi
    ) -> None:
        smp("apply", "-f", written(WEB, CONFIG))
        generated = CONFIG.replace("name: a,", "generateName: a-,")
        changed = written(WEB.replace("web:1", "web:2"), CONFIG, generated)
        api.clear_requests()
        ran = run("apply", "-f", changed, "--live", "cluster", "-o", "report")
        assert ran.exit_code == 0
        assert 'image: "web:1" -> "web:2"' in ran.stdout
        assert "v1 ConfigMap default/a: unchanged" in ran.stdout
        ran = run("diff", changed, changed, "--live", "cluster", "-o", "report")
        assert ran.exit_code == 1
        assert 'image: "web:1" -> "web:2"' in ran.stdout
        # What is live in a file, and what is in the cluster, go together.
        Path("live.yaml").write_text(CONFIG.replace('"1"', '"0"').replace("a,", "b,"))
        ran = run("apply", "-f", changed, "--live", "live.yaml", "--live", "cluster")
        assert "web:2" in ran.stdout
        assert {request.method for request in api.requests} == {"GET"}

    def test_policies_are_read_with_their_parameters(
        self, smp: Smp, api: KubernetesApi
    ) -> None:
        limited = CONFIG.replace("name: a,", "name: limits,").replace("k:", "most:")
        assert smp("apply", "-f", written(POLICIES, limited)).exit_code == 0
        new = written(WEB.replace("spec:", "spec:\n  replicas: 2", 1))
        api.clear_requests()
        linted = run("lint", new, "--policies", "cluster")
        assert "denied-by-policy" in linted.stdout
        assert "at most 1" in linted.stdout
        applied = run("apply", "-f", new, "--policies", "cluster")
        assert applied.exit_code == 2
        assert {request.method for request in api.requests} == {"GET"}
        smp("delete", "-f", written(POLICIES))
        assert run("lint", new, "--policies", "cluster").exit_code == 2

    def test_definitions_are_those_of_the_cluster(
        self, smp: Smp, api: KubernetesApi
    ) -> None:
        assert smp("apply", "-f", written(DEFINITION, ORDER)).exit_code == 0
        assert smp("wait", "-f", "manifests.yaml", "--timeout", "9s").exit_code == 0
        too_many = written(ORDER.replace("count: 1", "count: 10"))
        api.clear_requests()
        refused = "less than or equal to 9"
        live = ("--live", "cluster")
        said = {
            "apply": run("apply", "-f", too_many, *live, "-o", "report"),
            "diff": run("diff", too_many, *live, "-o", "report"),
            "explain": run("explain", "-f", too_many, *live),
            "drift": run("drift", "-f", too_many, *live, "--format", "ndjson"),
        }
        # The elements of the list are merged by the key that the definition names.
        patch = '{"spec": {"items": [{"name": "b", "size": 2}]}}'
        patched = run("patch", "-f", too_many, *live, "-p", patch)
        assert "name: a" in patched.stdout, patched.stderr
        by_name = ("--include-kind", "ord")
        assert "Order" in run("blame", too_many, *live, *by_name).stdout
        smp("apply", "-f", written(DEFINITION.replace("maximum: 9", "maximum: 0")))
        said["lint"] = run("lint", written(ORDER), *live, "--as", "manifest")
        missed = [
            name
            for name, ran in said.items()
            if (refused if name != "lint" else "equal to 0")
            not in ran.stdout + ran.stderr
        ]
        assert not missed, {name: said[name] for name in missed}
        # Those of an option, and those among the manifests, come before.
        written(ORDER.replace("count: 1", "count: 10"))
        Path("other.yaml").write_text(DEFINITION.replace("maximum: 9", "maximum: 5"))
        described = run("apply", "-f", too_many, *live, "--crd", "other.yaml")
        assert "equal to 5" in described.stdout + described.stderr
        both = run("apply", "-f", too_many, "-f", "other.yaml", *live)
        assert "equal to 5" in both.stdout + both.stderr

    def test_a_server_side_apply_goes_by_the_managed_fields(self, smp: Smp) -> None:
        smp("apply", "-f", written(CONFIG), "--server-side", "--field-manager", "me")
        changed = written(CONFIG.replace('"1"', '"2"'))
        ran = run("apply", "-f", changed, "--live", "cluster", "--server-side")
        assert ran.exit_code == 2
        assert "conflict" in ran.stderr

    def test_without_a_cluster_it_is_an_error(
        self, smp: Smp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert smp("apply", "-f", written(CONFIG)).exit_code == 0
        monkeypatch.setenv("KUBECONFIG", "missing.yaml")
        ran = run("diff", "manifests.yaml", "manifests.yaml", "--live", "cluster")
        assert ran.exit_code == 2


def test_how_far_it_is_is_shown_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from smp.cli._cluster_printing import ProgressLine  # noqa: PLC0415  # not public

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        line = ProgressLine(None)
        line(Progress(1, 2, "waits"))
        line.clear()
        assert (stream.getvalue() != "") is shown
    assert ProgressLine(None)(Progress(1, 1, "done")) is None
    ProgressLine(None).interrupted()
    assert "smp: interrupted: nothing is done" in stream.getvalue()


@pytest.mark.usefixtures("directory")
def test_both_requests_of_a_changed_union_are_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A server of today judges unions, and normalizes none.
    settings = Settings(seed=0, profile="validate-only")
    with KubernetesApi(settings) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        words = ("cluster", "apply", "--server-side", "--field-manager", "helm", "-f")
        assert run(*words, written(WEB)).exit_code == 0
        file = written(f"{WEB}  strategy: {{type: Recreate}}")
        ran = run(*words, file, "--profile", "validate-only")
        assert ran.exit_code == 1
        assert "may not be specified when strategy `type` is" in ran.stderr
        ran = run(*words, file)
    assert (ran.exit_code, ran.stdout) == (
        0,
        "deployment.apps/web serverside-applied\n",
    )
    warning, first, last = ran.stderr.splitlines()
    assert warning.startswith(
        "Warning: deployment.apps/web: spec.strategy.rollingUpdate:"
    )
    place = "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=helm"
    sent = f"smp: note: deployment.apps/web: PATCH {place}"
    assert first.startswith(f"{sent} (application/json-patch+json): [")
    assert last == f"{sent}&force=false (application/apply-patch+yaml)"


@needs_kubectl
@pytest.mark.slow
@pytest.mark.parametrize("first", ["kubectl", "smp"])
def test_an_applyset_is_worked_on_by_kubectl_and_by_smp(
    smp: Smp, api: KubernetesApi, directory: Path, first: str
) -> None:
    environment = {**os.environ, "KUBECONFIG": str(api.kubeconfig)}
    environment |= {"HOME": str(directory), "KUBECTL_APPLYSET": "true"}

    def kubectl(*manifests: str) -> tuple[int, str]:
        ran = subprocess.run(
            [str(kubectl_path()), "apply", "-f", written(*manifests), *both],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    def as_kubectl(*manifests: str) -> tuple[int, str]:
        file = written(*manifests)
        ran = smp("apply", "-f", file, *both, "--tooling", "kubectl/v1.37")
        return ran.exit_code, ran.stdout + ran.stderr

    both = ["--prune", "--applyset=set", "--namespace=default"]
    turns = [kubectl, as_kubectl] if first == "kubectl" else [as_kubectl, kubectl]
    assert turns[0](WEB, CONFIG)[0] == 0
    # Without the option each leaves the sets of the other alone.
    refused = smp("apply", "-f", written(CONFIG), *both)
    assert refused.exit_code == 1
    assert "--tooling kubectl/v1.37" in refused.stderr
    # The other one prunes what the first one has applied, and hands it back.
    code, said = turns[1](CONFIG)
    assert (code, "deployment.apps/web pruned" in said) == (0, True), said
    code, said = turns[0](WEB)
    assert (code, "configmap/a pruned" in said) == (0, True), said
    found = smp("applysets", "set", "--tooling", "kubectl/v1.37")
    assert found.stdout == "secrets/set: 1 members\n  apps/v1 Deployment default/web\n"
    parent = api.client("httpx").get("/api/v1/namespaces/default/secrets/set").json()
    managers = {entry["manager"] for entry in parent["metadata"]["managedFields"]}
    assert managers == {"kubectl-applyset"}


@needs_kubectl
@pytest.mark.slow
def test_kubectl_leaves_a_set_of_smp_alone(
    smp: Smp, api: KubernetesApi, directory: Path
) -> None:
    environment = {**os.environ, "KUBECONFIG": str(api.kubeconfig)}
    environment |= {"HOME": str(directory), "KUBECTL_APPLYSET": "true"}
    both = ["--prune", "--applyset=set", "--namespace=default"]
    assert smp("apply", "-f", written(CONFIG), *both).exit_code == 0
    ran = subprocess.run(
        [str(kubectl_path()), "apply", "-f", written(CONFIG), *both],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert 'managed by tooling "smp" instead of "kubectl"' in ran.stderr


@needs_kubectl
@pytest.mark.slow
def test_lines_and_exit_codes_are_those_of_kubectl(
    api: KubernetesApi, directory: Path
) -> None:
    web2 = WEB.replace("web:1", "web:2")
    bad = CONFIG.replace("name: a", "name: Not_a_name")
    steps = [
        ("apply", [NAMESPACE, WEB, CONFIG], []),
        ("apply", [WEB, CONFIG], []),
        ("diff", [WEB, CONFIG], []),
        ("diff", [web2], []),
        ("apply", [web2], ["--dry-run=server"]),
        ("apply", [web2], ["--dry-run=client"]),
        ("apply", [web2, CONFIG], ["-o", "name"]),
        ("apply", [bad, CONFIG], []),
        ("apply", [WEB, CONFIG], ["--server-side"]),
        ("apply", [WEB], ["--server-side", "--dry-run=server"]),
        ("delete", [CONFIG], ["--dry-run=server"]),
        ("delete", [WEB, CONFIG, NAMESPACE], []),
        ("delete", [WEB], []),
        ("delete", [WEB], ["--ignore-not-found"]),
    ]
    environment = {**os.environ, "KUBECONFIG": str(api.kubeconfig)}
    environment["HOME"] = str(directory)
    said = []
    for of_kubectl in (True, False):
        with api.unchanged():
            lines = []
            for verb, objects, options in steps:
                path = written(*objects)
                if of_kubectl:
                    ran = subprocess.run(
                        [str(kubectl_path()), verb, "-f", path, *options],
                        capture_output=True,
                        text=True,
                        env=environment,
                        check=False,
                    )
                    code, text = ran.returncode, ran.stdout
                else:
                    to = ["--kubeconfig", str(api.kubeconfig)]
                    names = ["cluster", verb]
                    if verb == "diff":
                        names = ["diff", "--live", "cluster", "--dry-run=server"]
                    ours = run(*names, "-f", path, *options, *to)
                    code, text = ours.exit_code, ours.stdout
                # The text of a diff is that of the program diff.
                lines.append((verb, options, code, "" if verb == "diff" else text))
            said.append(lines)
    assert said[0] == said[1]


def kubeconfig(server: str, **user: str) -> str:
    return json.dumps(
        {
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": server}}],
            "users": [{"name": "a", "user": user}],
            "current-context": "a",
        }
    )


def test_a_token_that_is_not_accepted_is_said_as_kubectl_says_it(smp: Smp) -> None:
    manifests = f"{CONFIG}---{WEB}"
    with KubernetesApi(Settings(token="right")) as api:
        Path("kubeconfig").write_text(kubeconfig(api.url, token="wrong"))
        ran = smp("apply", "-f", "-", "--kubeconfig", "kubeconfig", stdin=manifests)
    message = "You must be logged in to the server (Unauthorized)"
    assert (ran.exit_code, ran.stderr.count(message)) == (1, 2)


def test_the_server_of_an_option_is_asked_with_the_token_of_the_context(
    smp: Smp,
) -> None:
    # The client takes what it knows of the context again with each token.
    with KubernetesApi(Settings(token="right")) as api:
        Path("kubeconfig").write_text(kubeconfig("http://127.0.0.1:1", token="right"))
        get = ("get", "namespaces", "-o", "name", "--kubeconfig", "kubeconfig")
        ran = smp(*get, "--server", api.url)
    assert (ran.exit_code, "namespace/default" in ran.stdout) == (0, True)


def test_a_server_that_cannot_be_reached_is_not_waited_for(
    smp: Smp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(seconds: float) -> None:
        pytest.fail(f"it waited for {seconds} s")

    monkeypatch.setattr(drive, "run", partial(drive.run, sleep=sleep))
    with refusing_port() as port:
        Path("kubeconfig").write_text(kubeconfig(f"http://127.0.0.1:{port}"))
        ran = smp("apply", "-f", "-", "--kubeconfig", "kubeconfig", stdin=CONFIG)
    assert ran.exit_code == 1
    assert "Connection refused; the request was not sent" in ran.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "configuration of kubectl kubeconfig: while parsing"),
        ("clusters: 5", "kubeconfig: it is no configuration of kubectl"),
        ("", "kubeconfig file is empty"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_reported(
    smp: Smp, text: str, message: str
) -> None:
    Path("kubeconfig").write_text(text)
    ran = smp("get", "-f", "-", "--kubeconfig", "kubeconfig", stdin=CONFIG)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert message in ran.stderr


def test_groups_that_cannot_be_sent_together_are_refused() -> None:
    address = ("--server", "http://127.0.0.1:1")
    groups = ("--as", "jane", "--as-group", "a", "--as-group", "b")
    ran = run("cluster", "get", "pods", *address, *groups)
    assert ran.exit_code == 1
    assert "give --as-group once" in ran.stderr
