"""The real kubectl against the handler: its patches, and what it prints of refusals."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from smp._values.last_applied import with_last_applied
from smp._values.values import JSONObject
from smp.handler import JSON_PATCH, MERGE
from tests.support.handler_objects import MODIFIED, WEB
from tests.support.handler_server import ApiServer
from tests.support.kubectl import kubectl_path, needs_kubectl

pytestmark = [needs_kubectl, pytest.mark.slow]

WIDGET: Final[JSONObject] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "shop", "resourceVersion": "1"},
}
MANIFEST: Final[JSONObject] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": WEB["spec"],
}


class Run(NamedTuple):
    """How a run of kubectl ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """kubectl for one server, with a home directory of its own."""

    def __init__(self, home: Path, server: ApiServer) -> None:
        self.home = home
        self.server = server

    def __call__(self, *arguments: str) -> Run:
        kubectl = kubectl_path()
        assert kubectl is not None
        environment = {
            "HOME": str(self.home),
            "KUBECONFIG": os.devnull,
            "PATH": os.defpath,
        }
        options = ["--server", self.server.url, "--namespace", "shop"]
        run = subprocess.run(
            [str(kubectl), *arguments, *options],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Run(run.returncode, run.stdout, run.stderr.rstrip("\n"))

    def file(self, obj: object) -> str:
        """Write a manifest."""
        path = self.home / "manifest.json"
        path.write_text(json.dumps(obj))
        return str(path)

    def patch(self, patch: object, *options: str) -> Run:
        """Patch the deployment."""
        return self(
            "patch", "deployment", "web", "--patch", json.dumps(patch), *options
        )


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    with ApiServer(with_last_applied(copy.deepcopy(WEB)), WIDGET) as server:
        yield Kubectl(tmp_path, server)


def in_spec(**fields: object) -> Any:
    """Return the manifest with other fields in its spec."""
    spec = MANIFEST["spec"]
    assert isinstance(spec, dict)
    return {**MANIFEST, "spec": {**spec, **fields}}


def stored(kubectl: Kubectl) -> Any:
    return kubectl.server.objects["apps/deployments/web"]


BAD_REQUEST: Final = "Error from server (BadRequest): "
INVALID: Final = 'The Deployment "web" is invalid: '
UNSUPPORTED_TYPE: Final = (
    'spec.strategy.type: Unsupported value: "Odd": '
    'supported values: "Recreate", "RollingUpdate"'
)
# Patches, options of kubectl, and what kubectl prints: spec/kubectl_wire, 1.5.
PATCHES: Final[dict[str, tuple[object, tuple[str, ...], str]]] = {
    "an invalid value": (
        {"spec": {"strategy": {"type": "Odd", "rollingUpdate": None}}},
        (),
        INVALID + UNSUPPORTED_TYPE,
    ),
    "a failed test": (
        [{"op": "test", "path": "/spec/replicas", "value": 9}],
        ("--type", "json"),
        (
            f"{INVALID}spec.replicas: test failed: the document has another value at "
            "this path (operation 0 test /spec/replicas)"
        ),
    ),
    "a malformed operation": (
        [{"op": "spam", "path": "/spec"}],
        ("--type", "json"),
        f"{INVALID}spec: unknown operation 'spam' (operation 0 spam /spec)",
    ),
    "a wrong type": (
        {"spec": {"replicas": "2"}},
        ("--type", "merge"),
        (
            f"{INVALID}patch: json: cannot unmarshal string into field "
            "spec.replicas of type integer"
        ),
    ),
    "a missing merge key": (
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}},
        (),
        (
            f"{BAD_REQUEST}spec.template.spec.containers[0]: the element does not "
            "contain its merge key 'name' ('name' identifies the elements of this list)"
        ),
    ),
    "another name": (
        {"metadata": {"name": "db"}},
        (),
        (
            f"{BAD_REQUEST}the name of the object (db) does not match the name on the "
            "URL (web)"
        ),
    ),
    "an old version": (
        {"metadata": {"resourceVersion": "6"}},
        (),
        f"Error from server (Conflict): {MODIFIED}",
    ),
    "a patch that admission forbids": (
        {"metadata": {"labels": {"refuse": "me"}}},
        (),
        (
            'Error from server (Forbidden): deployments.apps "web" is forbidden: '
            "no such label on Fridays"
        ),
    ),
}


@pytest.mark.parametrize(("patch", "options", "text"), PATCHES.values(), ids=PATCHES)
def test_kubectl_prints_why_a_patch_is_refused(
    kubectl: Kubectl, patch: object, options: tuple[str, ...], text: str
) -> None:
    before = stored(kubectl)
    assert kubectl.patch(patch, *options) == (1, "", text)
    assert stored(kubectl) is before


def test_kubectl_lists_several_causes(kubectl: Kubectl) -> None:
    probed = {"name": "app", "livenessProbe": {"periodSeconds": 5}}
    template = {"spec": {"containers": [probed]}}
    run = kubectl.patch({"spec": {"strategy": {"type": "Odd"}, "template": template}})
    first, *others = run.err.split("\n")
    assert first == 'The Deployment "web" is invalid: '
    assert f"* {UNSUPPORTED_TYPE}" in others
    assert any(
        line.startswith("* spec.template.spec.containers[0].livenessProbe: ")
        for line in others
    )


def test_kubectl_prints_that_an_object_is_not_found(kubectl: Kubectl) -> None:
    run = kubectl("get", "deployment", "db")
    assert run.err == 'Error from server (NotFound): deployments.apps "db" not found'


def test_kubectl_prints_that_an_object_already_exists(kubectl: Kubectl) -> None:
    run = kubectl("create", "-f", kubectl.file(MANIFEST))
    assert run.err.startswith("Error from server (AlreadyExists): ")
    assert run.err.endswith('deployments.apps "web" already exists')


def test_a_patch_without_effect_stores_nothing(kubectl: Kubectl) -> None:
    before = stored(kubectl)
    run = kubectl.patch({"spec": {"replicas": 1}})
    assert run == (0, "deployment.apps/web patched (no change)\n", "")
    assert stored(kubectl) is before


def test_a_patch_is_computed_again_after_concurrent_writes(kubectl: Kubectl) -> None:
    kubectl.server.overtaken = 2
    assert kubectl.patch({"spec": {"replicas": 4}}).code == 0
    assert stored(kubectl)["spec"]["replicas"] == 4
    assert stored(kubectl)["metadata"]["resourceVersion"] == "10"


def test_apply_is_sent_again_after_a_conflict_and_patch_is_not(
    kubectl: Kubectl,
) -> None:
    kubectl.server.overtaken = 7  # two more than the server tries by itself
    run = kubectl("apply", "-f", kubectl.file(in_spec(replicas=5)))
    assert (run.code, run.out) == (0, "deployment.apps/web configured\n")
    assert (kubectl.server.overtaken, stored(kubectl)["spec"]["replicas"]) == (0, 5)
    kubectl.server.overtaken = 7
    run = kubectl.patch({"spec": {"replicas": 6}})
    assert run.code == 1
    assert (kubectl.server.overtaken, stored(kubectl)["spec"]["replicas"]) == (2, 5)
    assert run.err.startswith(
        "Error from server (Conflict): "
        "Operation cannot be fulfilled on deployments.apps"
    )


def test_a_dry_run_stores_nothing(kubectl: Kubectl) -> None:
    before = stored(kubectl)
    run = kubectl.patch(
        {"spec": {"replicas": 4}}, "--dry-run=server", "-o", "jsonpath={.spec.replicas}"
    )
    assert (run.code, run.out) == (0, "4")
    assert stored(kubectl) is before


def test_a_custom_resource_accepts_no_strategic_patch(kubectl: Kubectl) -> None:
    run = kubectl("patch", "widget", "w", "--patch", "{}")
    assert "is not supported by example.com/v1, Kind=Widget" in run.err
    assert f"accepted media types include: {JSON_PATCH}, {MERGE}" in run.err
    merge = ("--type", "merge", "--patch", '{"spec":{"a":[1]}}')
    assert kubectl("patch", "widget", "w", *merge).code == 0
    assert kubectl.server.objects["example.com/widgets/w"]["spec"] == {"a": [1]}


def test_an_object_with_broken_managed_fields_is_not_applied_to(
    kubectl: Kubectl,
) -> None:
    run = kubectl("apply", "--server-side", "-f", kubectl.file(MANIFEST))
    assert run.code == 1
    assert "failed to decode managed fields: missing fieldsType" in run.err


def test_apply_changes_a_union(kubectl: Kubectl) -> None:
    manifest = kubectl.file(in_spec(strategy={"type": "Recreate"}))
    run = kubectl("apply", "-f", manifest)
    assert run == (0, "deployment.apps/web configured\n", "")
    assert stored(kubectl)["spec"]["strategy"] == {"type": "Recreate"}
    assert kubectl("apply", "-f", manifest).out.endswith("unchanged\n")


def test_apply_creates_a_missing_object(kubectl: Kubectl) -> None:
    manifest = {**MANIFEST, "metadata": {"name": "db", "namespace": "shop"}}
    run = kubectl("apply", "-f", kubectl.file(manifest))
    assert run == (0, "deployment.apps/db created\n", "")


def test_apply_refuses_or_warns_of_an_unknown_field(kubectl: Kubectl) -> None:
    manifest = kubectl.file(in_spec(bogus=1))
    strict = kubectl("apply", "-f", manifest)
    assert strict.code == 1
    assert 'strict decoding error: unknown field "spec.bogus"' in strict.err
    warned = kubectl("apply", "-f", manifest, "--validate=warn")
    assert warned.code == 0
    assert warned.err.endswith('Warning: unknown field "spec.bogus"')
    assert "bogus" not in stored(kubectl)["spec"]


def test_apply_refuses_an_invalid_value(kubectl: Kubectl) -> None:
    run = kubectl("apply", "-f", kubectl.file(in_spec(strategy={"type": "Odd"})))
    assert run.err.endswith(INVALID + UNSUPPORTED_TYPE)


def test_replace_of_an_old_version_is_a_conflict(kubectl: Kubectl) -> None:
    old: Any = copy.deepcopy(in_spec(replicas=4))
    old["metadata"]["resourceVersion"] = "6"
    run = kubectl("replace", "-f", kubectl.file(old))
    assert run.err.startswith("Error from server (Conflict): error when replacing ")
    old["metadata"]["resourceVersion"] = "7"
    assert kubectl("replace", "-f", kubectl.file(old)).code == 0
    assert stored(kubectl)["spec"]["replicas"] == 4
