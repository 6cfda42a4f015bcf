"""Record what the real kubectl makes of command lines as scripts have them.

``python -m tests.record.kubectl_lines`` runs tests/data/kubectl/lines.txt with
``smp serve``, and writes what was printed into the file.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from smp.testing import KubernetesApi
from tests.record.kubectl_commands import kubectl_version
from tests.support.kubectl import kubectl_path
from tests.support.kubectl_lines import play, read_lines, write_files, write_lines


def record() -> None:
    """Write what kubectl prints again."""
    kubectl = str(kubectl_path())

    def run(words: list[str], stdin: str) -> tuple[int, str]:
        done = subprocess.run(
            [kubectl, *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBECONFIG": str(api.kubeconfig), "HOME": folder},
        )
        return done.returncode, done.stdout

    _, lines = read_lines()
    before = Path.cwd()
    with KubernetesApi() as api, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files()
        ran = play(lines, run, URL=api.url, KUBECONFIG=str(api.kubeconfig))
        os.chdir(before)
    write_lines(f"# Printed by kubectl {kubectl_version()}", ran)


if __name__ == "__main__":
    record()
