"""Programs in Go against a server process.

The typed client of client-go sends protobuf: it creates, reads, updates, patches,
applies, watches and deletes a Deployment, and its status and scale. The operator on
controller-runtime has a finalizer, an object that it owns, a status, a rule in CEL and
a webhook; the same program is the test of it, and passes on a kube-apiserver as well.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support import apiserver
from tests.support.server_process import serving

HERE: Final = Path(__file__).parent
GO: Final = shutil.which("go")
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(GO is None, reason="go is not installed"),
]


def build(module: str, folder: Path) -> Path:
    """Build a program of this folder, or skip where its modules cannot be fetched."""
    program = folder / module
    built = subprocess.run(
        [str(GO), "build", "-o", program, "."],
        cwd=HERE / module,
        check=False,
        capture_output=True,
        text=True,
    )
    if built.returncode and "go: " in built.stderr:
        pytest.skip(f"the modules of {module} cannot be fetched")
    assert built.returncode == 0, built.stderr
    return program


def run(program: Path, *arguments: str | Path) -> None:
    ran = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=90
    )
    assert ran.stdout == "ok\n", ran.stderr


def test_the_typed_client_of_client_go_reads_and_writes(tmp_path: Path) -> None:
    program = build("typed_client", tmp_path)
    with serving(tmp_path / "server") as server:
        run(program, server.kubeconfig)


def test_an_operator_on_controller_runtime_does_its_work(tmp_path: Path) -> None:
    program = build("operator", tmp_path)
    with serving(tmp_path / "server") as server:
        run(program, server.kubeconfig, tmp_path)
    if apiserver.binary() is None:
        pytest.skip("no kube-apiserver to compare with")
    with apiserver.running() as original:
        token = original.headers["Authorization"].split()[1]
        cluster = {"server": original.url, "insecure-skip-tls-verify": True}
        context = {"cluster": "tests", "user": "tests"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": context}],
            "current-context": "tests",
        }
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        run(program, kubeconfig, tmp_path)
