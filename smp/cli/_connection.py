"""The connection of a command to a cluster, by the configuration of kubectl."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smp.cluster import Cluster


def connect(context: str | None = None, **keywords: Any) -> Cluster:
    """Connect to the cluster of a context. Raises ConfigurationError."""
    from smp.cluster import Cluster  # noqa: PLC0415  # 60 ms, and few runs look at one

    # urllib3 would warn of each request where the configuration of kubectl has
    # insecure-skip-tls-verify, which is what its user asked for; kubectl is quiet.
    warnings.filterwarnings("ignore", message="Unverified HTTPS request is being made")
    return Cluster.connect(context, **keywords)
