"""The OpenAPI v3 documents that the server publishes.

There is an index with hashes, and a document for each group and version. kubectl needs
three things of them: the patch operation of a kind states that the server validates
fields and which patches it accepts, the components state how lists are merged, and
``kubectl explain`` shows the components. Source: "The Kubernetes API" in the Kubernetes
documentation ("OpenAPI interface definition").
"""

from __future__ import annotations

from smp.server.openapi._documents import (
    V2_BODY,
    V2_CONTENT_TYPE,
    OpenAPI,
    OpenAPIDocument,
)

__all__ = ["V2_BODY", "V2_CONTENT_TYPE", "OpenAPI", "OpenAPIDocument"]
