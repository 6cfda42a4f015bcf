"""A Kubernetes API server for tests, in any test framework.

``KubernetesApi`` starts one on a thread of this process, or as a process. Needs the
packages of the extra ``server``.
"""

from smp.testing._faults import KubernetesApiError, KubernetesApiWarning
from smp.testing._kubernetes_api import KubernetesApi
from smp.testing._server import Snapshot
from smp.testing._traffic import Request
from smp.testing._webhooks import ServedWebhook, WebhookHandler

__all__ = [
    "KubernetesApi",
    "KubernetesApiError",
    "KubernetesApiWarning",
    "Request",
    "ServedWebhook",
    "Snapshot",
    "WebhookHandler",
]
