"""Record what the real kubectl sends in the situations of tests/data/cluster.

``python -m tests.record.cluster_applies`` writes tests/data/cluster/kubectl.json.xz:
the version of kubectl, and what was played, by the name of the situation.
"""

from __future__ import annotations

import lzma
import subprocess
import tempfile
from pathlib import Path

import msgspec

from smp.testing import KubernetesApi
from tests.support.cluster_sides import (
    RECORDED,
    Played,
    Recording,
    kubectl_apply,
    played,
)
from tests.support.cluster_situations import situations
from tests.support.kubectl import kubectl_path


def main() -> None:
    """Play every situation with kubectl, and write what it did."""
    version = subprocess.run(
        [str(kubectl_path()), "version", "--client", "-o", "json"],
        capture_output=True,
        check=True,
    )
    found: dict[str, Played] = {}
    with KubernetesApi() as api, tempfile.TemporaryDirectory() as folder:
        for situation in situations():
            apply = kubectl_apply(api, Path(folder))
            found[situation.name] = played(situation, api, apply)
    client = msgspec.json.decode(version.stdout)["clientVersion"]["gitVersion"]
    data = msgspec.json.encode(Recording(client, found))
    RECORDED.write_bytes(lzma.compress(data, preset=9))


if __name__ == "__main__":
    main()
