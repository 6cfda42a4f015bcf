"""Record what kubectl and openshift.dynamic.apply do in the same situations.

``python -m tests.record.object_applies`` writes apply_object.json.xz of this data.
It needs the packages openshift and kubernetes: ``pip install openshift==0.13.2``.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tempfile
from importlib import import_module, metadata
from typing import Any

import msgspec

from smp.testing import KubernetesApi
from tests.support.kubectl import kubectl_path
from tests.support.object_applies import (
    RECORDED,
    STOCK,
    Apply,
    Recording,
    played,
    situations,
)


def main() -> None:
    """Play every situation with both, and write what they did."""
    version = subprocess.run(
        [str(kubectl_path()), "version", "--client", "-o", "json"],
        capture_output=True,
        check=True,
    )
    versions = {
        "kubectl": msgspec.json.decode(version.stdout)["clientVersion"]["gitVersion"],
        "openshift": metadata.version("openshift"),
        "kubernetes": metadata.version("kubernetes"),
    }
    with KubernetesApi(STOCK) as api, tempfile.TemporaryDirectory() as home:
        tools = {"kubectl": _kubectl(api, home), "openshift": _openshift(api)}
        found = {
            situation.name: {
                tool: played(situation, api, apply) for tool, apply in tools.items()
            }
            for situation in situations()
        }
    data = msgspec.json.encode(Recording(versions, found))
    RECORDED.write_bytes(lzma.compress(data, preset=9))


def _kubectl(api: KubernetesApi, home: str) -> Apply:
    def apply(definition: dict[str, Any]) -> None:
        subprocess.run(
            [str(kubectl_path()), f"--kubeconfig={api.kubeconfig}", "apply", "-f", "-"],
            input=json.dumps(definition),
            text=True,
            env={"HOME": home},
            capture_output=True,
            check=True,
        )

    return apply


def _openshift(api: KubernetesApi) -> Apply:
    package = import_module("openshift.dynamic.apply")
    dynamic = import_module("openshift.dynamic")
    client = dynamic.DynamicClient(api.client("kubernetes"))

    def apply(definition: dict[str, Any]) -> None:
        resource = client.resources.get(
            api_version=definition["apiVersion"], kind=definition["kind"]
        )
        package.apply(resource, definition)

    return apply


if __name__ == "__main__":
    main()
