"""JSON Patch (RFC 6902): apply and diff.

``apply`` is RFC 6902 (_rfc6902.py), ``apply_as_server`` what a Kubernetes API server
makes of the same operations (_server.py). Both have limits, arguments that are never
changed, and errors that say which operation failed, where, and whether it was malformed
(400) or did not apply (422, as a Kubernetes API server answers).
"""

from __future__ import annotations

from smp.json_patch._rfc6902 import (
    MAX_COPIED,
    MAX_OPERATIONS,
    OperationError,
    apply,
    diff,
)
from smp.json_patch._server import apply_as_server

__all__ = [
    "MAX_COPIED",
    "MAX_OPERATIONS",
    "OperationError",
    "apply",
    "apply_as_server",
    "diff",
]
