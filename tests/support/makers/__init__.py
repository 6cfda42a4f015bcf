"""Random Kubernetes objects, changes of them, patches for them, and broken documents.

Everything comes from the schemas under test (``subjects``) and from one integer. A
``Maker`` draws from ``random.Random(seed)``, which is a thousand times faster than
composed Hypothesis strategies; ``tests.support.strategies`` lets Hypothesis draw the
seed. Values come from small pools, so that names, ports and strings that are made
independently often turn out equal: only then do merge keys match and deletions hit.

Recorded data and the seeds in failure messages depend on the order of the random draws.
A change of that order is a change of the test data.

The class is built in layers, one module each:

- ``objects``: valid objects of a schema,
- ``changes``: the same object later, and the three objects of an apply,
- ``patches``: patches with directives, as people and controllers write them,
- ``faults``: documents that are broken in one to three places.
"""

from __future__ import annotations

from tests.support.makers.changes import Triple
from tests.support.makers.faults import DIRECTIVE_NAMES, Maker
from tests.support.makers.subjects import EVERY, PODS, Subject, subjects

__all__ = [
    "DIRECTIVE_NAMES",
    "EVERY",
    "PODS",
    "Maker",
    "Subject",
    "Triple",
    "subjects",
]
