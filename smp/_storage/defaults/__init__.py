"""The defaults that an API server fills into an object before it stores it.

For built-in kinds they are data: smp/schema/bundled/defaults.json (``_table``) has what
kube-apiserver publishes in its OpenAPI schemas, and what its defaulting functions do,
which it does not publish. What is not a constant there is a function (``_rules``). For
custom resources they are the structural defaults of their schemas. One rule on the walk
(``_filling``) fills in both.

Not here are the values that a server allocates or computes when it creates an object,
and those of its admission plugins: docs/deviations.md lists them.
"""

from __future__ import annotations

from smp._storage.defaults._operations import with_defaults

__all__ = ["with_defaults"]
