"""What the server measures, for Prometheus.

The names are those of Kubernetes' API servers, so that their dashboards and alerts
work.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.exposition import generate_latest

from smp.schema.resources import Resource

__all__ = ["CONTENT_TYPE", "Labels", "Metrics", "labels_of"]

Labels: TypeAlias = tuple[str, ...]

_REQUEST: Final = ("verb", "group", "version", "resource", "subresource")
_RESOURCE: Final = ("group", "version", "resource")
# Upper bounds of the buckets of a histogram, in seconds.
_BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60),
)


def labels_of(resource: Resource) -> Labels:
    """Return the labels of a resource; those that clients define come and go."""
    if resource.custom:
        return ("", "", "")
    return (resource.group, resource.version, resource.plural)


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        labels = (*_REQUEST, "code")
        name, text = "apiserver_request_total", "Requests answered."
        self.requests: Counter = Counter(name, text, labels, registry=registry)
        self.durations: Histogram = Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excepted.",
            _REQUEST,
            registry=registry,
            buckets=_BUCKETS,
        )
        name, text = "apiserver_current_inflight_requests", "Requests being answered."
        self.in_flight: Gauge = Gauge(name, text, registry=registry)
        name, text = "apiserver_longrunning_requests", "Watches being served."
        self.watches: Gauge = Gauge(name, text, _RESOURCE, registry=registry)
        name, text = "apiserver_watch_events_total", "Events sent to watchers."
        self.events: Counter = Counter(name, text, _RESOURCE, registry=registry)
        name = "smp_write_conflicts_total"
        text = "Writes that conflicted with another writer."
        self.conflicts: Counter = Counter(name, text, _RESOURCE, registry=registry)

    def exposition(self) -> bytes:
        """Print all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
