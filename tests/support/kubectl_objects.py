"""What the tests of kubectl read of the Deployment ``web`` on the server."""

from __future__ import annotations

from typing import Any

from tests.support.server_process import Kubectl


def live_deployment(kubectl: Kubectl) -> dict[str, Any]:
    """Return the Deployment."""
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
