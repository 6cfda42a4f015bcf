"""Record what a real kube-apiserver stores of manifests, and what kubectl adds to it.

``SMP_KUBE_APISERVER=build python -m tests.record.fleet`` applies the manifests of
tests/data/fleet/stored.yaml with ``kubectl apply``, and writes each with its live
object to stored.jsonl; then it applies some more, adds fields to them as somebody at a
terminal does, and writes additions.json.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from smp._values.values import JSONObject
from smp.documents import read
from tests.record.kubectl_commands import kubectl_version
from tests.support.apiserver import ApiServer, running, version
from tests.support.kubectl import kubectl_path
from tests.support.paths import DATA

FOLDER: Final = DATA / "fleet"
# The server must know a new kind before it takes objects of it.
_ATTEMPTS: Final = 20
# A misspelt field is dropped with a warning, as the server does for others.
_APPLY: Final = ("apply", "-f", "-", "--validate=warn")


class Kubectl:
    """The real kubectl, as a client of a server."""

    def __init__(self, server: ApiServer) -> None:
        token = server.headers["Authorization"].removeprefix("Bearer ")
        self._command = [
            str(kubectl_path()),
            f"--server={server.url}",
            f"--token={token}",
            "--insecure-skip-tls-verify",
        ]

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command, and return what it prints."""
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def apply(self, manifest: JSONObject, *options: str) -> None:
        """Apply a manifest, as soon as the server knows its kind."""
        for attempt in range(_ATTEMPTS):
            try:
                self.run(*_APPLY, *options, stdin=json.dumps(manifest))
            except subprocess.CalledProcessError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(1)
            else:
                return

    def get(self, manifest: JSONObject) -> Any:
        """Return the live object of a manifest."""
        options = ("-o", "json", "--show-managed-fields")
        printed = self.run("get", "-f", "-", *options, stdin=json.dumps(manifest))
        # What comes from a stream is printed as a list.
        (live,) = json.loads(printed)["items"]
        return live


def record_stored(kubectl: Kubectl) -> None:
    """Write what the server stores of the manifests of stored.yaml."""
    text = (FOLDER / "stored.yaml").read_bytes()
    manifests: list[Any] = [document.value for document in read(text)]
    lines = []
    for manifest in manifests:
        kubectl.apply(manifest)
    for manifest in manifests:
        pair = {"desired": manifest, "live": kubectl.get(manifest)}
        lines.append(f"{json.dumps(pair)}\n")
    (FOLDER / "stored.jsonl").write_text("".join(lines))


def record_additions(kubectl: Kubectl) -> None:
    """Write objects to which something was added that no manifest has."""
    recorded = json.loads((FOLDER / "additions.json").read_text())
    manifests = recorded["desired"]
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        if name == "created":
            kubectl.run("create", "-f", "-", stdin=json.dumps(manifest))
        else:
            options = ["--server-side"] if name == "ssa" else []
            kubectl.apply(manifest, *options)
    privileged = {"name": "a", "securityContext": {"privileged": True}}
    spec = {"hostNetwork": True, "containers": [privileged]}
    patch = json.dumps({"spec": {"template": {"spec": spec}}})
    port = [{"port": 80, "targetPort": 8080}]
    service = {"spec": {"sessionAffinity": "ClientIP", "ports": port}}
    kubectl.run("patch", "deployment", "web", "-p", patch)
    kubectl.run("scale", "deployment", "web", "--replicas=3")
    kubectl.run("patch", "deployment", "ssa", "-p", patch)
    kubectl.run("rollout", "restart", "deployment", "ssa")
    kubectl.run("label", "deployment", "created", "by=hand")
    kubectl.run("patch", "configmap", "cm", "-p", '{"data": {"b": "2"}}')
    kubectl.run("patch", "service", "s", "-p", json.dumps(service))
    about = (
        f"kube-apiserver {version().removeprefix('v')}, kubectl"
        f" {kubectl_version().removeprefix('v')}: objects that were applied or created,"
        " and what kubectl patch, label, scale and rollout restart then added"
    )
    live = [kubectl.get(manifest) for manifest in manifests]
    data = {"about": about, "desired": manifests, "live": live}
    Path(FOLDER / "additions.json").write_text(f"{json.dumps(data, indent=1)}\n")


def record() -> None:
    """Write both files again."""
    with running() as server:
        kubectl = Kubectl(server)
        record_stored(kubectl)
        record_additions(kubectl)


if __name__ == "__main__":
    record()
