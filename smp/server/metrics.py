"""Counters, gauges and histograms in the text format of Prometheus (version 0.0.4).

The names are those of Kubernetes' API servers, so that their dashboards and alerts
work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, TypeAlias

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels: TypeAlias = tuple[str, ...]

# Upper bounds of the buckets of a histogram, in seconds.
_BOUNDS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
# The characters that the text format escapes in the value of a label.
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_REQUEST_LABELS: Final = ("verb", "group", "version", "resource", "subresource")
_RESOURCE_LABELS: Final = ("group", "version", "resource")


class Counter:
    """A number for each combination of label values; it only grows."""

    type: ClassVar[str] = "counter"

    def __init__(self, name: str, description: str, labels: Labels = ()) -> None:
        self.name = name
        self.description = description
        self.labels = labels
        self.values: dict[Labels, float] = {}

    def add(self, *labels: str, by: float = 1) -> None:
        """Add to the number of these label values."""
        self.values[labels] = self.values.get(labels, 0) + by

    def value(self, *labels: str) -> float:
        """Return the number of these label values; 0 before anything was added."""
        return self.values.get(labels, 0)

    def samples(self) -> Iterator[str]:
        """Yield a line for each number."""
        for labels, value in self.values.items():
            yield f"{self.name}{_label_set(self.labels, labels)} {value:.17g}"


class Gauge(Counter):
    """A number for each combination of label values; it goes up and down."""

    type: ClassVar[str] = "gauge"

    def add(self, *labels: str, by: float = 1) -> None:
        """Add to the number of these label values; one that is 0 again is removed."""
        super().add(*labels, by=by)
        if labels and not self.values[labels]:
            del self.values[labels]


class Histogram:
    """How many observations took at most so many seconds, by label values."""

    type: ClassVar[str] = "histogram"

    def __init__(self, name: str, description: str, labels: Labels = ()) -> None:
        self.name = name
        self.description = description
        self.labels = labels
        self.values: dict[Labels, _Buckets] = {}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count one observation."""
        # An observation equal to a bound belongs to its bucket: "le" is less or equal.
        buckets = self.values.get(labels)
        if buckets is None:
            buckets = self.values[labels] = _Buckets()
        buckets.counts[bisect_left(_BOUNDS, seconds)] += 1
        buckets.total += seconds

    def samples(self) -> Iterator[str]:
        """Yield the cumulative buckets, the sum and the count of each combination."""
        bounds = [*map(str, _BOUNDS), "+Inf"]
        bucket_labels = (*self.labels, "le")
        for labels, buckets in self.values.items():
            # Prometheus' buckets are cumulative: each counts those below it as well.
            count = 0
            for bound, number in zip(bounds, buckets.counts, strict=True):
                count += number
                label_set = _label_set(bucket_labels, (*labels, bound))
                yield f"{self.name}_bucket{label_set} {count}"
            label_set = _label_set(self.labels, labels)
            yield f"{self.name}_sum{label_set} {buckets.total:.9g}"
            yield f"{self.name}_count{label_set} {count}"


class _Buckets:
    """The observations of one combination of label values; the last bucket is +Inf."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0


class Metrics:
    """What the server measures."""

    def __init__(self) -> None:
        self.requests: Counter = Counter(
            "apiserver_request_total", "Requests answered.", (*_REQUEST_LABELS, "code")
        )
        self.durations: Histogram = Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excepted.",
            _REQUEST_LABELS,
        )
        self.in_flight: Gauge = Gauge(
            "apiserver_current_inflight_requests", "Requests being answered."
        )
        # A gauge that was never changed would not be exported.
        self.in_flight.add(by=0)
        self.watches: Gauge = Gauge(
            "apiserver_longrunning_requests", "Watches being served.", _RESOURCE_LABELS
        )
        self.events: Counter = Counter(
            "apiserver_watch_events_total",
            "Events sent to watchers.",
            ("group", "version", "kind"),
        )
        self.conflicts: Counter = Counter(
            "smp_write_conflicts_total",
            "Writes that conflicted with another writer.",
            _RESOURCE_LABELS,
        )

    def forget(self, group: str, version: str, resource: str, kind: str) -> None:
        """Remove the numbers of a resource that is not served any more.

        Those of gauges go when they are 0.
        """
        names = ((group, version, resource), (group, version, kind))
        for metric in (self.requests, self.durations, self.events, self.conflicts):
            start = metric.labels.index("group")
            for labels in [*metric.values]:
                if labels[start : start + 3] in names:
                    del metric.values[labels]

    def exposition(self) -> str:
        """Print all metrics."""
        lines: list[str] = []
        metrics: Iterable[Counter | Histogram] = vars(self).values()
        for metric in metrics:
            lines.append(f"# HELP {metric.name} {metric.description}\n")
            lines.append(f"# TYPE {metric.name} {metric.type}\n")
            lines.extend(f"{sample}\n" for sample in metric.samples())
        return "".join(lines)


def _label_set(names: Labels, values: Labels) -> str:
    """Print ``{name="value",...}``, or nothing where there are no labels."""
    if not names:
        return ""
    pairs = [
        f'{name}="{value.translate(_ESCAPES)}"'
        for name, value in zip(names, values, strict=True)
    ]
    return "{" + ",".join(pairs) + "}"
