"""AdmissionReviewer in the server: the webhooks and policies that are stored, asked.

``find_admission`` reads what is stored of them, once for each request; without any
there is nothing to do. ``AdmissionReviewer.change`` is the hook of the handler:
mutating policies, then mutating webhooks. ``AdmissionReviewer.validate`` comes when the
object is as it is to be stored: validating policies, then webhooks. Both wait for
webhooks, so they run in a thread. Go: k8s.io/apiserver, pkg/admission/plugin.
"""

from __future__ import annotations

from smp.server.admission._admission import USER, AdmissionReviewer, find_admission

__all__ = ["USER", "AdmissionReviewer", "find_admission"]
