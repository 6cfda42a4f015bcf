"""The real kubectl against a server process: every command that a user has.

What is expected is what kubectl prints and does against a Kubernetes API server (its
own messages and exit codes)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.oracles import needs_kubectl
from tests.support.server_process import Kubectl, ServerProcess, manifest, serving

pytestmark = [needs_kubectl, pytest.mark.slow]

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server")
    with serving(directory, "--store", f"sqlite:{directory / 'objects.db'}") as running:
        yield running
        assert running.stop() == 0
        unexpected = [
            line for line in running.logged() if line["level"] in {"warning", "error"}
        ]
        assert not unexpected


@pytest.fixture
def kubectl(server: ServerProcess, tmp_path: Path) -> Kubectl:
    """kubectl in a namespace of its own."""
    namespace = f"test-{next(_NUMBERS)}"
    server.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Kubectl(server, tmp_path / "home", namespace)


def deployment(
    image: str = "nginx:1.25", name: str = "web", **spec: Any
) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
            **spec,
        },
    }


def config_map(
    name: str, labels: dict[str, str] | None = None, **data: str
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels or {}},
        "data": data,
    }


def web(kubectl: Kubectl) -> dict[str, Any]:
    live: dict[str, Any] = kubectl.live("deployments.apps/v1", "web")
    return live


def version(kubectl: Kubectl) -> tuple[str, int]:
    metadata = web(kubectl)["metadata"]
    return metadata["resourceVersion"], metadata["generation"]


def image(kubectl: Kubectl) -> str:
    return str(web(kubectl)["spec"]["template"]["spec"]["containers"][0]["image"])


# --- apply and diff ------------------------------------------------------------------------------------------------


def test_apply_creates_then_changes_then_sends_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(deployment()) == "deployment.apps/web created\n"
    assert version(kubectl)[1] == 1
    assert kubectl.apply(deployment("nginx:1.26")) == "deployment.apps/web configured\n"
    before = version(kubectl)
    assert before[1] == 2
    assert kubectl.apply(deployment("nginx:1.26")) == "deployment.apps/web unchanged\n"
    assert version(kubectl) == before
    assert image(kubectl) == "nginx:1.26"


def test_diff_says_by_its_exit_code_what_apply_would_do(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    before = version(kubectl)
    assert kubectl.run("diff", "-f", "-", given=manifest(deployment())).returncode == 0
    changed = kubectl.run("diff", "-f", "-", given=manifest(deployment("nginx:1.26")))
    assert changed.returncode == 1
    assert re.search(r"^-.*nginx:1.25\n\+.*nginx:1.26$", changed.stdout, re.MULTILINE)
    assert (
        kubectl.run(
            "diff", "-f", "-", given=manifest(config_map("new", a="b"))
        ).returncode
        == 1
    )
    assert version(kubectl) == before
    assert kubectl("get", "cm", "-o", "name") == ""


def test_apply_of_a_list_and_of_several_documents(kubectl: Kubectl) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("a"), deployment()],
    }
    assert kubectl.apply(listed, config_map("b")).splitlines() == [
        "configmap/a created",
        "deployment.apps/web created",
        "configmap/b created",
    ]


def test_what_kubectl_itself_prints_is_applied_once(kubectl: Kubectl) -> None:
    dry = ("--dry-run=client", "-o", "yaml")
    printed = [
        kubectl("create", "job", "j", "--image=x", *dry),
        kubectl("create", "service", "clusterip", "s", "--tcp=80", *dry),
        kubectl("create", "ingress", "i", "--rule=a.example.com/=s:80", *dry),
        kubectl("create", "deployment", "d", "--image=x", *dry),
    ]
    assert kubectl("apply", "-f", "-", given="---\n".join(printed)).count(
        " created\n"
    ) == len(printed)
    assert kubectl("apply", "-f", "-", given="---\n".join(printed)).count(
        " unchanged\n"
    ) == len(printed)


def test_apply_prune_deletes_what_is_no_longer_there(kubectl: Kubectl) -> None:
    labels = {"part": "of-it"}
    kubectl.apply(config_map("a", labels), config_map("b", labels), config_map("c"))
    printed = kubectl.apply(
        config_map("a", labels), options=("--prune", "-l", "part=of-it")
    )
    assert "configmap/b pruned" in printed
    assert kubectl("get", "cm", "-o", "name").split() == ["configmap/a", "configmap/c"]


def test_server_side_apply_is_refused_in_words(kubectl: Kubectl) -> None:
    refused = kubectl.run(
        "apply", "--server-side", "-f", "-", given=manifest(config_map("a"))
    )
    assert refused.returncode == 1
    assert (
        "Server-side apply not available on the server: (this server has no server-side apply"
        in refused.stderr
    )


# --- patch and edit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (
            "strategic",
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": "app", "image": "nginx:2"}]}
                    }
                }
            },
        ),
        (
            "merge",
            {
                "spec": {
                    "template": {
                        "spec": {"containers": [{"name": "app", "image": "nginx:2"}]}
                    }
                }
            },
        ),
        (
            "json",
            [
                {
                    "op": "replace",
                    "path": "/spec/template/spec/containers/0/image",
                    "value": "nginx:2",
                }
            ],
        ),
    ],
)
def test_patch_of_each_type(kubectl: Kubectl, kind: str, patch: Any) -> None:
    kubectl.apply(deployment())
    before = version(kubectl)
    arguments = ("patch", "deploy", "web", "--type", kind, "-p", json.dumps(patch))
    assert kubectl(*arguments, "--dry-run=server") == "deployment.apps/web patched\n"
    assert version(kubectl) == before
    assert kubectl(*arguments) == "deployment.apps/web patched\n"
    assert image(kubectl) == "nginx:2"
    assert version(kubectl)[1] == 2
    after = version(kubectl)
    assert kubectl(*arguments) == "deployment.apps/web patched (no change)\n"
    assert version(kubectl) == after


def test_patch_of_status_changes_nothing_else(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    patch = {"status": {"replicas": 2, "readyReplicas": 1}, "spec": {"replicas": 9}}
    kubectl(
        "patch",
        "deploy",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps(patch),
    )
    kubectl(
        "patch",
        "deploy",
        "web",
        "--type=merge",
        "-p",
        json.dumps({"status": {"replicas": 7}}),
    )
    live = web(kubectl)
    assert live["status"] == {"replicas": 2, "readyReplicas": 1}
    assert (live["spec"]["replicas"], live["metadata"]["generation"]) == (2, 1)


def test_edit(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(deployment())
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/nginx:1.25/nginx:1.99/ $1\n")
    editor.chmod(0o755)
    assert (
        kubectl("edit", "deploy", "web", KUBE_EDITOR=str(editor))
        == "deployment.apps/web edited\n"
    )
    assert image(kubectl) == "nginx:1.99"
    assert (
        "no changes made"
        in kubectl.run("edit", "deploy", "web", KUBE_EDITOR=str(editor)).stderr
    )


def test_edit_of_an_invalid_value_is_cancelled(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl.apply(deployment())
    editor = tmp_path / "editor"
    editor.write_text(
        "#!/bin/sh\nsed -i 's/  name: web$/  name: web\\n  labels: {a: \"not valid!\"}/' $1\n"
    )
    editor.chmod(0o755)
    refused = kubectl.run(
        "edit", "deploy", "web", KUBE_EDITOR=str(editor), TMPDIR=str(tmp_path)
    )
    assert refused.returncode == 1
    assert 'deployments.apps "web" is invalid' in refused.stderr
    assert any(
        "metadata.labels: Invalid value" in kept.read_text()
        for kept in tmp_path.glob("kubectl-edit-*.yaml")
    )


# --- the commands that change one thing ----------------------------------------------------------------------------


def test_label_annotate_set_image_and_restart(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    assert (
        kubectl("label", "deploy", "web", "tier=front")
        == "deployment.apps/web labeled\n"
    )
    assert (
        kubectl("label", "deploy", "web", "tier=front")
        == "deployment.apps/web not labeled\n"
    )
    assert (
        "already has a value"
        in kubectl.run("label", "deploy", "web", "tier=back").stderr
    )
    assert (
        kubectl("annotate", "deploy", "web", "note=x")
        == "deployment.apps/web annotated\n"
    )
    assert (
        kubectl("set", "image", "deploy/web", "app=nginx:3")
        == "deployment.apps/web image updated\n"
    )
    assert (
        kubectl("set", "env", "deploy/web", "A=b")
        == "deployment.apps/web env updated\n"
    )
    assert (
        kubectl("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    )
    assert (
        kubectl("label", "deploy", "web", "tier-") == "deployment.apps/web unlabeled\n"
    )
    live = web(kubectl)
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "app", "image": "nginx:3", "env": [{"name": "A", "value": "b"}]}
    ]
    assert live["metadata"]["annotations"]["note"] == "x"
    assert not live["metadata"].get("labels")


def test_scale(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    assert (
        kubectl("scale", "deploy/web", "--replicas=5") == "deployment.apps/web scaled\n"
    )
    assert (
        "Expected replicas to be 2, was 5"
        in kubectl.run(
            "scale", "deploy/web", "--replicas=1", "--current-replicas=2"
        ).stderr
    )
    assert (
        kubectl("scale", "deploy/web", "--replicas=1", "--current-replicas=5")
        == "deployment.apps/web scaled\n"
    )
    scale = kubectl.live("deployments.apps/v1", "web/scale")
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == (
        "Scale",
        {"replicas": 1},
        "app=web",
    )


def test_replace_locks_by_the_version_that_the_file_has(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    live = web(kubectl)
    assert (
        kubectl("replace", "-f", "-", given=manifest(deployment("nginx:4")))
        == "deployment.apps/web replaced\n"
    )
    stale = kubectl.run("replace", "-f", "-", given=manifest(live))
    assert "Error from server (Conflict)" in stale.stderr
    assert "Operation cannot be fulfilled on deployments.apps" in stale.stderr
    assert image(kubectl) == "nginx:4"
    uid = web(kubectl)["metadata"]["uid"]
    forced = kubectl(
        "replace", "--force", "-f", "-", given=manifest(deployment("nginx:5"))
    )
    assert forced.splitlines()[-1] == "deployment.apps/web replaced"
    assert web(kubectl)["metadata"]["uid"] != uid


def test_create_run_expose_and_delete(kubectl: Kubectl) -> None:
    assert kubectl("run", "pod", "--image=nginx", "--port=80") == "pod/pod created\n"
    assert kubectl("expose", "pod", "pod", "--port=80") == "service/pod exposed\n"
    again = kubectl.run(
        "create", "-f", "-", given=manifest(config_map("a"), config_map("a"))
    )
    assert (
        'Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" already exists'
        in again.stderr
    )
    named = kubectl(
        "create", "-o", "name", "-f", "-", given=manifest(generated := config_map("x"))
    )
    assert named == "configmap/x\n"
    generated["metadata"] = {"generateName": "some-"}
    names = {
        kubectl("create", "-o", "name", "-f", "-", given=manifest(generated))
        for _ in range(2)
    }
    assert len(names) == 2
    assert all(re.fullmatch(r"configmap/some-[a-z0-9]{5}\n", name) for name in names)
    assert 'configmap "a" deleted' in kubectl("delete", "cm", "a")
    assert 'configmaps "a" not found' in kubectl.run("delete", "cm", "a").stderr
    kubectl("delete", "cm,pods,svc", "--all")
    assert "No resources found" in kubectl.run("get", "cm,pods,svc").stderr


# --- reading -------------------------------------------------------------------------------------------------------


def test_get_prints_tables_and_documents(kubectl: Kubectl) -> None:
    kubectl.apply(
        deployment(),
        config_map("a", {"x": "1"}, k="v"),
        config_map("b", {"x": "2"}, k="v", m="w"),
    )
    table = [line.split() for line in kubectl("get", "deploy").splitlines()]
    assert table[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert table[1][:4] == ["web", "0/2", "0", "0"]
    wide = [
        line.split() for line in kubectl("get", "deploy", "-o", "wide").splitlines()
    ]
    assert wide[0][5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert wide[1][5:] == ["app", "nginx:1.25", "app=web"]
    assert [line.split()[:2] for line in kubectl("get", "cm").splitlines()] == [
        ["NAME", "DATA"],
        ["a", "1"],
        ["b", "2"],
    ]
    assert kubectl("get", "cm", "-l", "x in (2,3)", "-o", "name") == "configmap/b\n"
    assert (
        kubectl("get", "cm", "--field-selector", "metadata.name!=a", "-o", "name")
        == "configmap/b\n"
    )
    assert (
        kubectl("get", "cm", "--chunk-size=1", "-o", "name")
        == "configmap/a\nconfigmap/b\n"
    )
    assert kubectl("get", "cm", "a", "-o", "yaml").startswith(
        "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"
    )
    assert json.loads(kubectl("get", "cm", "-o", "json"))["kind"] == "List"
    assert (
        kubectl("get", "cm", "-o", "custom-columns=N:.metadata.name", "--no-headers")
        == "a\nb\n"
    )
    assert "web" in kubectl("get", "all")


def test_watch_shows_changes_as_they_happen(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", k="v"))
    with kubectl.start(
        "get", "cm", "-w", "--output-watch-events", "--no-headers"
    ) as watching:
        assert watching.stdout
        lines = (line.split()[:3] for line in watching.stdout)
        assert next(lines) == ["ADDED", "a", "1"]
        kubectl.apply(config_map("b"))
        assert next(lines) == ["ADDED", "b", "0"]
        kubectl.apply(config_map("a", k="v", l="w"))
        assert next(lines) == ["MODIFIED", "a", "2"]
        kubectl("delete", "cm", "b")
        assert next(lines) == ["DELETED", "b", "0"]
        watching.terminate()


def test_watch_prints_one_header(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", k="v"))
    with kubectl.start("get", "cm", "-w") as watching:
        assert watching.stdout
        assert next(watching.stdout).split() == ["NAME", "DATA", "AGE"]
        assert next(watching.stdout).split()[:2] == ["a", "1"]
        kubectl.apply(config_map("b"))
        assert next(watching.stdout).split()[:2] == ["b", "0"]
        watching.terminate()


def test_wait(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    with kubectl.start(
        "wait", "deploy/web", "--for=condition=Available", "--timeout=30s"
    ) as waiting:
        condition = {"type": "Available", "status": "True"}
        status = json.dumps({"status": {"conditions": [condition]}})
        kubectl(
            "patch",
            "deploy",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        )
        out, err = waiting.communicate(timeout=30)
    assert (out, err) == ("deployment.apps/web condition met\n", "")
    with kubectl.start(
        "wait", "deploy/web", "--for=delete", "--timeout=30s"
    ) as waiting:
        kubectl("delete", "deploy", "web")
        assert waiting.communicate(timeout=30)[1] == ""
    assert waiting.returncode == 0


def test_rollout_status(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    with kubectl.start("rollout", "status", "deploy/web", "--timeout=30s") as waiting:
        counts = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2
        )
        status = json.dumps({"status": {"observedGeneration": 1, **counts}})
        kubectl(
            "patch",
            "deploy",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        )
        out, _ = waiting.communicate(timeout=30)
    assert out.splitlines()[-1] == 'deployment "web" successfully rolled out'


def test_explain_version_and_api_resources(kubectl: Kubectl) -> None:
    explained = kubectl("explain", "deployment.spec.strategy")
    assert "FIELD: strategy <DeploymentStrategy>" in explained
    assert re.search(
        r"^  rollingUpdate\t<RollingUpdateDeployment>$", explained, re.MULTILINE
    )
    assert "Server Version: v1.37" in kubectl("version")
    listed = kubectl("api-resources", "--no-headers")
    assert re.search(
        r"^deployments +deploy +apps/v1 +true +Deployment$", listed, re.MULTILINE
    )
    assert "apps/v1" in kubectl("api-versions").split()


# --- errors --------------------------------------------------------------------------------------------------------


def test_errors_are_printed_as_those_of_an_api_server(kubectl: Kubectl) -> None:
    bogus = deployment(bogus=1)
    strict = kubectl.run("apply", "-f", "-", given=manifest(bogus))
    assert 'strict decoding error: unknown field "spec.bogus"' in strict.stderr
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", given=manifest(bogus))
    assert 'Warning: unknown field "spec.bogus"' in warned.stderr
    assert warned.returncode == 0
    assert "bogus" not in web(kubectl)["spec"]
    keyless = json.dumps(
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}
    )
    refused = kubectl.run("patch", "deploy", "web", "-p", keyless)
    assert "Error from server (BadRequest)" in refused.stderr
    assert (
        'deployments.apps "other" not found'
        in kubectl.run("get", "deploy", "other").stderr
    )
    elsewhere = Kubectl(kubectl.server, kubectl.home, "nowhere")
    missing = elsewhere.run("create", "-f", "-", given=manifest(config_map("a")))
    assert 'namespaces "nowhere" not found' in missing.stderr
    invalid = kubectl.run("apply", "-f", "-", given=manifest(config_map("Not_Valid")))
    assert (
        'The ConfigMap "Not_Valid" is invalid: metadata.name: Invalid value: "Not_Valid"'
        in invalid.stderr
    )
    unknown = kubectl.run("get", "wonders")
    assert "the server doesn't have a resource type" in unknown.stderr


# --- namespaces and finalizers -------------------------------------------------------------------------------------


def test_a_namespace_takes_its_objects_along(kubectl: Kubectl) -> None:
    namespace = kubectl.namespace
    kubectl.apply(deployment(), config_map("a"))
    assert f'namespace "{namespace}" deleted' in kubectl(
        "delete", "namespace", namespace
    )
    assert "NotFound" in kubectl.run("get", "namespace", namespace).stderr
    assert "No resources found" in kubectl.run("get", "cm,deploy").stderr
    refused = kubectl.run("delete", "namespace", "default")
    assert (
        'namespaces "default" is forbidden: this namespace may not be deleted'
        in refused.stderr
    )


def test_finalizers_delay_deletion(kubectl: Kubectl) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(held)
    namespace = kubectl.namespace
    kubectl("delete", "namespace", namespace, "--wait=false")
    with kubectl.start(
        "wait", f"namespace/{namespace}", "--for=delete", "--timeout=30s"
    ) as waiting:
        kubectl(
            "wait",
            "cm/held",
            "--for=jsonpath={.metadata.deletionTimestamp}",
            "--timeout=30s",
        )
        assert (
            kubectl.server.get(f"/api/v1/namespaces/{namespace}")["status"]["phase"]
            == "Terminating"
        )
        refused = kubectl.run("create", "-f", "-", given=manifest(config_map("late")))
        assert "because it is being terminated" in refused.stderr
        kubectl(
            "patch",
            "cm",
            "held",
            "--type=merge",
            "-p",
            json.dumps({"metadata": {"finalizers": None}}),
        )
        assert waiting.communicate(timeout=30)[1] == ""
    assert waiting.returncode == 0


# --- custom resources ----------------------------------------------------------------------------------------------


def definition(group: str) -> dict[str, Any]:
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "default": "slow"},
            "replicas": {"type": "integer"},
            "items": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["size"],
    }
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": spec,
                    "status": {
                        "type": "object",
                        "properties": {"replicas": {"type": "integer"}},
                    },
                },
            }
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            },
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
        ],
    }
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "shortNames": ["wd"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [served],
        },
    }


def widget(group: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": spec,
    }


def test_custom_resources_from_the_definition_to_the_end(kubectl: Kubectl) -> None:
    group = "one.example.com"
    crd = f"customresourcedefinition.apiextensions.k8s.io/widgets.{group}"
    assert kubectl.apply(definition(group)) == f"{crd} created\n"
    assert (
        kubectl("wait", crd, "--for=condition=Established", "--timeout=10s")
        == f"{crd} condition met\n"
    )
    assert kubectl.apply(definition(group)) == f"{crd} unchanged\n"
    assert (
        kubectl.apply(widget(group, size=3, items=["a", "b"]))
        == f"widget.{group}/w created\n"
    )
    assert (
        kubectl.apply(widget(group, size=4, items=["b"]))
        == f"widget.{group}/w configured\n"
    )
    assert (
        kubectl.apply(widget(group, size=4, items=["b"]))
        == f"widget.{group}/w unchanged\n"
    )
    assert kubectl.live(f"widgets.{group}/v1", "w")["spec"] == {
        "size": 4,
        "mode": "slow",
        "items": ["b"],
    }
    assert [line.split() for line in kubectl("get", "widgets").splitlines()] == [
        ["NAME", "SIZE"],
        ["w", "4"],
    ]
    invalid = kubectl.run("apply", "-f", "-", given=manifest(widget(group, size=0)))
    assert 'The Widget "w" is invalid: spec.size: Invalid value: 0' in invalid.stderr
    assert (
        "spec.size: Required value"
        in kubectl.run("apply", "-f", "-", given=manifest(widget(group))).stderr
    )
    assert "FIELDS:" in kubectl("explain", "widget.spec")
    kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    assert kubectl("scale", "widget/w", "--replicas=3") == f"widget.{group}/w scaled\n"
    kubectl(
        "patch",
        "widget",
        "w",
        "--subresource=status",
        "--type=merge",
        "-p",
        '{"status":{"replicas":3}}',
    )
    live = kubectl.live(f"widgets.{group}/v1", "w")
    assert (
        live["spec"]["replicas"],
        live["status"],
        live["metadata"]["generation"],
    ) == (3, {"replicas": 3}, 4)
    strategic = kubectl.run(
        "patch", "widget", "w", "--type=strategic", "-p", '{"spec":{"size":9}}'
    )
    assert strategic.returncode == 1
    assert f"is not supported by {group}/v1, Kind=Widget" in strategic.stderr
    assert kubectl("delete", "crd", f"widgets.{group}").startswith(
        "customresourcedefinition"
    )
    assert (
        "the server doesn't have a resource type"
        in kubectl.run("get", f"widgets.{group}").stderr
    )
    kubectl.apply(definition(group))
    assert "No resources found" in kubectl.run("get", f"widgets.{group}").stderr


# --- unions --------------------------------------------------------------------------------------------------------


def test_apply_changes_a_discriminator_although_the_old_member_is_nobodys(
    kubectl: Kubectl,
) -> None:
    """A StatefulSet whose rollingUpdate was set beside apply: the plain merge would
    leave both members.
    """
    template = deployment()["spec"]["template"]
    stateful: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
            "updateStrategy": {"type": "RollingUpdate"},
        },
    }
    kubectl.apply(stateful)
    defaulted = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
    kubectl("patch", "sts", "db", "-p", json.dumps(defaulted))
    stateful["spec"]["updateStrategy"] = {"type": "OnDelete"}
    assert kubectl.apply(stateful) == "statefulset.apps/db configured\n"
    assert kubectl.live("statefulsets.apps/v1", "db")["spec"]["updateStrategy"] == {
        "type": "OnDelete"
    }
    assert kubectl.apply(stateful) == "statefulset.apps/db unchanged\n"


# --- many at one time ----------------------------------------------------------------------------------------------


def test_nothing_is_lost_where_many_patch_one_object(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("shared"))
    running = [
        kubectl.start(
            "patch",
            "cm",
            "shared",
            "--type=merge",
            "-p",
            json.dumps({"data": {f"k{number}": "v"}}),
        )
        for number in range(6)
    ]
    for one in running:
        with one:
            assert one.communicate(timeout=60)[1] == ""
    assert sorted(kubectl.live("configmaps.v1", "shared")["data"]) == [
        f"k{number}" for number in range(6)
    ]


def test_the_kubeconfig_is_for_its_owner_only(server: ServerProcess) -> None:
    assert server.kubeconfig.stat().st_mode & 0o777 == 0o600
