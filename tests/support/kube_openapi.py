"""OpenAPI documents of Kubernetes 1.24, v2 and v3: the test data of kube-openapi."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from smp._values.values import JSONObject
from tests.support.paths import GO_MODULE


@cache
def testdata() -> Path | None:
    """Return the directory of the Go module, or None if it is not in the cache."""
    go = shutil.which("go")
    if go is None:
        return None
    command = [go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kube-openapi"]
    listed = subprocess.run(
        command, cwd=GO_MODULE, capture_output=True, text=True, check=False
    )
    directory = (
        Path(listed.stdout.strip() or "/nowhere")
        / "pkg"
        / "openapiconv"
        / "testdata_generated_from_k8s"
    )
    return directory if directory.is_dir() else None


needs_kube_openapi = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].testdata() is None",
    reason="no go, or k8s.io/kube-openapi is not in its module cache",
)


def published(version: str, group_version: str) -> JSONObject:
    """Return a document.

    The arguments are the version of OpenAPI, such as ``v2``, and the group and version,
    such as ``api.v1``.
    """
    directory = testdata()
    assert directory is not None
    document: JSONObject = json.loads(
        (directory / f"{version}_{group_version}.json").read_bytes()
    )
    return document
