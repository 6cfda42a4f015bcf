"""Pairs of OpenAPI documents, v2 and v3, that Kubernetes 1.24 published: the test data
of kube-openapi.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from smp.values import JSONObject
from tests.support.paths import GO_MODULE


@cache
def testdata() -> Path | None:
    """Find the documents, which come with the Go module; None where it is not there."""
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
    """Return the document of a group and version (``api.v1``) in an OpenAPI version
    (``v2``).
    """
    directory = testdata()
    assert directory is not None
    document: JSONObject = json.loads(
        (directory / f"{version}_{group_version}.json").read_bytes()
    )
    return document
