"""Counters, gauges and histograms, printed in the text format of Prometheus (version
0.0.4).

The names are those of Kubernetes' API servers, so that their dashboards and alerts
work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels: TypeAlias = tuple[str, ...]

_SECONDS: Final = (
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
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@dataclass
class Counter:
    """A number for each combination of label values, that only grows."""

    type: ClassVar[str] = "counter"

    name: str
    help: str
    labels: Labels = ()
    values: dict[Labels, float] = field(default_factory=dict)

    def add(self, *labels: str, by: float = 1) -> None:
        """Add to the number of these label values."""
        self.values[labels] = self.values.get(labels, 0) + by

    def samples(self) -> Iterator[str]:
        """Yield a line for each number."""
        for labels, value in self.values.items():
            yield f"{self.name}{_braced(self.labels, labels)} {value:.17g}"


@dataclass
class Gauge(Counter):
    """A number for each combination of label values, that goes up and down."""

    type: ClassVar[str] = "gauge"


@dataclass
class Histogram:
    """How many observations took at most so many seconds, for each combination of label
    values.
    """

    type: ClassVar[str] = "histogram"

    name: str
    help: str
    labels: Labels = ()
    values: dict[Labels, _Buckets] = field(default_factory=dict)

    def observe(self, seconds: float, *labels: str) -> None:
        """Count one observation."""
        buckets = self.values.get(labels) or self.values.setdefault(labels, _Buckets())
        buckets.counts[bisect_left(_SECONDS, seconds)] += 1
        buckets.total += seconds

    def samples(self) -> Iterator[str]:
        """Yield the cumulative buckets, the sum and the count of each combination."""
        for labels, buckets in self.values.items():
            count = 0
            for bound, number in zip(
                (*map(str, _SECONDS), "+Inf"), buckets.counts, strict=True
            ):
                count += number
                yield f"{self.name}_bucket{_braced((*self.labels, 'le'), (*labels, bound))} {count}"
            yield f"{self.name}_sum{_braced(self.labels, labels)} {buckets.total:.9g}"
            yield f"{self.name}_count{_braced(self.labels, labels)} {count}"


@dataclass
class _Buckets:
    counts: list[int] = field(default_factory=lambda: [0] * (len(_SECONDS) + 1))
    total: float = 0


_REQUEST: Final = ("verb", "group", "version", "resource", "subresource")


@dataclass
class Metrics:
    """What the server measures."""

    requests: Counter = field(
        default_factory=lambda: Counter(
            "apiserver_request_total", "Requests answered.", (*_REQUEST, "code")
        )
    )
    durations: Histogram = field(
        default_factory=lambda: Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excepted.",
            _REQUEST,
        )
    )
    in_flight: Gauge = field(
        default_factory=lambda: Gauge(
            "apiserver_current_inflight_requests",
            "Requests being answered.",
            values={(): 0},
        )
    )
    watches: Gauge = field(
        default_factory=lambda: Gauge(
            "apiserver_longrunning_requests",
            "Watches being served.",
            ("group", "version", "resource"),
        )
    )
    events: Counter = field(
        default_factory=lambda: Counter(
            "apiserver_watch_events_total",
            "Events sent to watchers.",
            ("group", "version", "kind"),
        )
    )
    conflicts: Counter = field(
        default_factory=lambda: Counter(
            "smp_write_conflicts_total",
            "Writes that met another writer.",
            ("group", "version", "resource"),
        )
    )

    def exposition(self) -> str:
        """Print all metrics."""
        return "".join(
            f"{line}\n" for metric in vars(self).values() for line in _described(metric)
        )


def _described(metric: Counter | Histogram) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.type}"
    yield from metric.samples()


def _braced(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    return (
        "{"
        + ",".join(
            f'{n}="{v.translate(_ESCAPES)}"' for n, v in zip(names, values, strict=True)
        )
        + "}"
    )
