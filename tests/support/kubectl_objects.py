"""What the tests of kubectl do with the objects of a server, and how they read them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.server_process import Kubectl


def live_deployment(kubectl: Kubectl) -> dict[str, Any]:
    """Return the Deployment ``web`` as the server has it."""
    live: dict[str, Any] = kubectl.live("deployments.apps/v1", "web")
    return live


def version_of(kubectl: Kubectl) -> tuple[str, int]:
    """Return its resource version and its generation."""
    metadata = live_deployment(kubectl)["metadata"]
    return metadata["resourceVersion"], metadata["generation"]


def image_of(kubectl: Kubectl) -> str:
    """Return the image of its first container."""
    template = live_deployment(kubectl)["spec"]["template"]
    return str(template["spec"]["containers"][0]["image"])


def merge_patch(
    kubectl: Kubectl, kind: str, name: str, patch: object, *options: str
) -> str:
    """Send a JSON merge patch with kubectl."""
    return kubectl(
        "patch", kind, name, "--type=merge", "-p", json.dumps(patch), *options
    )


def error_of(kubectl: Kubectl, *arguments: str, stdin: str | None = None) -> str:
    """Run kubectl, which must fail, and return its error message."""
    run = kubectl.run(*arguments, stdin=stdin)
    assert run.returncode != 0
    return run.stderr
