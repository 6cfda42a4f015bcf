"""The typed client of client-go against a server process: it sends protobuf.

The program in tests/server/typed_client creates, reads, updates, patches, applies,
watches and deletes a Deployment, and its status and scale.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.server_process import serving

MODULE = Path(__file__).parent / "typed_client"
GO = shutil.which("go")


@pytest.mark.exhaustive
@pytest.mark.skipif(GO is None, reason="go is not installed")
def test_the_typed_client_of_client_go_reads_and_writes(tmp_path: Path) -> None:
    program = tmp_path / "client"
    built = subprocess.run(
        [str(GO), "build", "-o", program, "."],
        cwd=MODULE,
        check=False,
        capture_output=True,
        text=True,
    )
    if built.returncode and "go: " in built.stderr:
        pytest.skip("the modules of client-go cannot be fetched")
    assert built.returncode == 0, built.stderr
    with serving(tmp_path / "server") as server:
        ran = subprocess.run(
            [program, server.kubeconfig],
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        assert ran.stdout == "ok\n", ran.stderr
