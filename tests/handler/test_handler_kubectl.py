"""The real kubectl against the handler: what it prints of refusals and warnings, and
that its patches work.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from smp.handler import JSON_PATCH, MERGE
from smp.three_way import with_last_applied
from smp.values import JSONObject
from tests.support.handler_objects import WEB
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


class Printed(NamedTuple):
    """How a run of kubectl ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """kubectl, with a home of its own, talking to one server."""

    def __init__(self, home: Path, server: ApiServer) -> None:
        self.home, self.server = home, server

    def __call__(self, *arguments: str) -> Printed:
        kubectl = kubectl_path()
        assert kubectl is not None
        environment = {
            "HOME": str(self.home),
            "KUBECONFIG": os.devnull,
            "PATH": os.defpath,
        }
        command = [
            str(kubectl),
            *arguments,
            "--server",
            self.server.url,
            "--namespace",
            "shop",
        ]
        ran = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Printed(ran.returncode, ran.stdout, ran.stderr.rstrip("\n"))

    def file(self, obj: object) -> str:
        """Write a manifest."""
        path = self.home / "manifest.json"
        path.write_text(json.dumps(obj))
        return str(path)

    def patch(self, patch: object, *options: str) -> Printed:
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


# What kubectl prints of which Status: spec/kubectl_wire, 1.5; the texts are ours.
UNSUPPORTED: Final = 'spec.strategy.type: Unsupported value: "Odd": supported values: "Recreate", "RollingUpdate"'
MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"
UNTESTED: Final = "test failed: the document has another value at this path (operation 0 test /spec/replicas)"
MISTYPED: Final = (
    "json: cannot unmarshal string into field spec.replicas of type integer"
)
UNKEYED: Final = "the element lacks its merge key 'name' (each element of this list is known by its 'name')"
PATCHES: Final[dict[str, tuple[object, tuple[str, ...], str]]] = {
    "an invalid value": (
        {"spec": {"strategy": {"type": "Odd", "rollingUpdate": None}}},
        (),
        f'The Deployment "web" is invalid: {UNSUPPORTED}',
    ),
    "a failed test": (
        [{"op": "test", "path": "/spec/replicas", "value": 9}],
        ("--type", "json"),
        f'The Deployment "web" is invalid: spec.replicas: {UNTESTED}',
    ),
    "a malformed operation": (
        [{"op": "spam", "path": "/spec"}],
        ("--type", "json"),
        "Error from server (BadRequest): spec: unknown operation 'spam' (operation 0 spam /spec)",
    ),
    "a wrong type": (
        {"spec": {"replicas": "2"}},
        ("--type", "merge"),
        f'Error from server (BadRequest): Deployment in version "v1" cannot be handled as a Deployment: {MISTYPED}',
    ),
    "a lost merge key": (
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}},
        (),
        f"Error from server (BadRequest): spec.template.spec.containers[0]: {UNKEYED}",
    ),
    "another name": (
        {"metadata": {"name": "db"}},
        (),
        "Error from server (BadRequest): the name of the object (db) does not match the name on the URL (web)",
    ),
    "an old version": (
        {"metadata": {"resourceVersion": "6"}},
        (),
        f'Error from server (Conflict): Operation cannot be fulfilled on deployments.apps "web": {MODIFIED}',
    ),
    "what admission refuses": (
        {"metadata": {"labels": {"refuse": "me"}}},
        (),
        'Error from server (Forbidden): deployments.apps "web" is forbidden: no such label on Fridays',
    ),
}


@pytest.mark.parametrize(("patch", "options", "text"), PATCHES.values(), ids=PATCHES)
def test_a_refused_patch_is_explained(
    kubectl: Kubectl, patch: object, options: tuple[str, ...], text: str
) -> None:
    before = stored(kubectl)
    assert kubectl.patch(patch, *options) == (1, "", text)
    assert stored(kubectl) is before


def test_several_causes_are_listed(kubectl: Kubectl) -> None:
    probed = {"name": "app", "livenessProbe": {"periodSeconds": 5}}
    ran = kubectl.patch(
        {
            "spec": {
                "strategy": {"type": "Odd"},
                "template": {"spec": {"containers": [probed]}},
            }
        }
    )
    first, *others = ran.err.split("\n")
    assert first == 'The Deployment "web" is invalid: '
    assert f"* {UNSUPPORTED}" in others
    assert any(
        line.startswith("* spec.template.spec.containers[0].livenessProbe: ")
        for line in others
    )


def test_what_is_not_there(kubectl: Kubectl) -> None:
    ran = kubectl("get", "deployment", "db")
    assert ran.err == 'Error from server (NotFound): deployments.apps "db" not found'


def test_a_name_that_is_taken(kubectl: Kubectl) -> None:
    ran = kubectl("create", "-f", kubectl.file(MANIFEST))
    assert ran.err.startswith("Error from server (AlreadyExists): ")
    assert ran.err.endswith('deployments.apps "web" already exists')


def test_a_patch_that_changes_nothing(kubectl: Kubectl) -> None:
    before = stored(kubectl)
    assert kubectl.patch({"spec": {"replicas": 1}}) == (
        0,
        "deployment.apps/web patched (no change)\n",
        "",
    )
    assert stored(kubectl) is before


def test_a_patch_survives_others_being_faster(kubectl: Kubectl) -> None:
    kubectl.server.overtaken = 2
    assert kubectl.patch({"spec": {"replicas": 4}}).code == 0
    assert stored(kubectl)["spec"]["replicas"] == 4
    assert stored(kubectl)["metadata"]["resourceVersion"] == "10"


def test_apply_comes_again_after_a_conflict_and_patch_does_not(
    kubectl: Kubectl,
) -> None:
    kubectl.server.overtaken = 7  # two more than the server tries by itself
    ran = kubectl("apply", "-f", kubectl.file(in_spec(replicas=5)))
    assert (ran.code, ran.out) == (0, "deployment.apps/web configured\n")
    assert (kubectl.server.overtaken, stored(kubectl)["spec"]["replicas"]) == (0, 5)
    kubectl.server.overtaken = 7
    ran = kubectl.patch({"spec": {"replicas": 6}})
    assert (
        ran.code,
        kubectl.server.overtaken,
        stored(kubectl)["spec"]["replicas"],
    ) == (1, 2, 5)
    assert ran.err.startswith(
        "Error from server (Conflict): Operation cannot be fulfilled on deployments.apps"
    )


def test_a_dry_run_stores_nothing(kubectl: Kubectl) -> None:
    before = stored(kubectl)
    ran = kubectl.patch(
        {"spec": {"replicas": 4}}, "--dry-run=server", "-o", "jsonpath={.spec.replicas}"
    )
    assert (ran.code, ran.out) == (0, "4")
    assert stored(kubectl) is before


def test_a_custom_resource_takes_no_strategic_patch(kubectl: Kubectl) -> None:
    ran = kubectl("patch", "widget", "w", "--patch", "{}")
    assert "is not supported by example.com/v1, Kind=Widget" in ran.err
    assert f"accepted media types include: {JSON_PATCH}, {MERGE}" in ran.err
    assert (
        kubectl(
            "patch", "widget", "w", "--type", "merge", "--patch", '{"spec":{"a":[1]}}'
        ).code
        == 0
    )


def test_server_side_apply_is_not_available(kubectl: Kubectl) -> None:
    ran = kubectl("apply", "--server-side", "-f", kubectl.file(MANIFEST))
    assert (
        "Server-side apply not available on the server: (the body of the request was in the server-side apply"
        in ran.err
    )


def test_apply_changes_a_union(kubectl: Kubectl) -> None:
    ran = kubectl("apply", "-f", kubectl.file(in_spec(strategy={"type": "Recreate"})))
    assert ran == (0, "deployment.apps/web configured\n", "")
    assert stored(kubectl)["spec"]["strategy"] == {"type": "Recreate"}
    assert kubectl(
        "apply", "-f", kubectl.file(in_spec(strategy={"type": "Recreate"}))
    ).out.endswith("unchanged\n")


def test_apply_creates(kubectl: Kubectl) -> None:
    manifest = {**MANIFEST, "metadata": {"name": "db", "namespace": "shop"}}
    assert kubectl("apply", "-f", kubectl.file(manifest)) == (
        0,
        "deployment.apps/db created\n",
        "",
    )


def test_apply_of_an_unknown_field(kubectl: Kubectl) -> None:
    manifest = kubectl.file(in_spec(bogus=1))
    strict = kubectl("apply", "-f", manifest)
    assert strict.code == 1
    assert "Error from server (BadRequest): " in strict.err
    assert 'strict decoding error: unknown field "spec.bogus"' in strict.err
    warned = kubectl("apply", "-f", manifest, "--validate=warn")
    assert warned.code == 0
    assert warned.err.endswith('Warning: unknown field "spec.bogus"')
    assert "bogus" not in stored(kubectl)["spec"]


def test_apply_of_an_invalid_value(kubectl: Kubectl) -> None:
    ran = kubectl("apply", "-f", kubectl.file(in_spec(strategy={"type": "Odd"})))
    assert ran.err.endswith(f'The Deployment "web" is invalid: {UNSUPPORTED}')


def test_replace_is_locked(kubectl: Kubectl) -> None:
    old: Any = copy.deepcopy(in_spec(replicas=4))
    old["metadata"]["resourceVersion"] = "6"
    ran = kubectl("replace", "-f", kubectl.file(old))
    assert ran.err.startswith("Error from server (Conflict): error when replacing ")
    old["metadata"]["resourceVersion"] = "7"
    assert kubectl("replace", "-f", kubectl.file(old)).code == 0
    assert stored(kubectl)["spec"]["replicas"] == 4
