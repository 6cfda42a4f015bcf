"""Apply to a live cluster from Python, as kubectl does, over a client that you have.

``Cluster`` and ``AsyncCluster`` are what users call. Below them: ``plan`` (what is sent
and when, as generators without I/O), ``drive`` (runs a plan), ``clients`` (sends a
request over a client), ``connect`` (the configuration of kubectl), ``documents``
(compiled OpenAPI documents on disk).
"""

from smp.cluster._apply_object import apply_object
from smp.cluster._cluster import AsyncCluster, Cluster
from smp.cluster.connect import ConfigurationError, ConnectionOverrides
from smp.cluster.plan.apply import Run, RunError
from smp.cluster.plan.applysets import ApplySetError, ApplySetState
from smp.cluster.plan.failures import (
    ApiError,
    BrokenConnectionError,
    NoKindMatchError,
    NotInTimeError,
    StatusCause,
)
from smp.cluster.plan.objects import Applied
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.reading import Difference
from smp.cluster.plan.undoing import NotRestorableError, RollbackStep
from smp.cluster.plan.waiting import Waited

__all__ = [
    "ApiError",
    "Applied",
    "ApplyOptions",
    "ApplySetError",
    "ApplySetState",
    "AsyncCluster",
    "BrokenConnectionError",
    "Cluster",
    "ConfigurationError",
    "ConnectionOverrides",
    "Difference",
    "NoKindMatchError",
    "NotInTimeError",
    "NotRestorableError",
    "RollbackStep",
    "Run",
    "RunError",
    "StatusCause",
    "Waited",
    "apply_object",
]
