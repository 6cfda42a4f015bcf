"""CustomResourceDefinitions: read, checked, and turned into resources and schemas.

Only ``apiextensions.k8s.io/v1``, and without webhooks: the versions of a resource
differ in their apiVersion, and in what their schemas know. Source: "Extend the
Kubernetes API with CustomResourceDefinitions" and "Versions in
CustomResourceDefinitions" in the Kubernetes documentation.
"""

from __future__ import annotations

from smp.server.objects.crds._definition import (
    DefinedVersion,
    Definition,
    SchemaSettings,
    accepting_unions,
)
from smp.server.objects.crds._status import is_established, set_status

__all__ = [
    "DefinedVersion",
    "Definition",
    "SchemaSettings",
    "accepting_unions",
    "is_established",
    "set_status",
]
