"""What a server requires of an Event.

What it requires of single texts are rows of validation.json, and what an update through
events.k8s.io keeps are rows of immutable.json. Objects are in the form of the core
group, in which events are stored. Go: k8s.io/kubernetes,
pkg/apis/core/validation/events.go, ValidateEventCreate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import JSONObject, as_object, as_text, same
from smp.paths import Path
from smp.violations import Violation, invalid, require

_OPEN_NAMESPACES: Final = ("default", "kube-system")


def find_event_violations(
    event: JSONObject, old: JSONObject | None, *, strict: bool
) -> Iterator[Violation]:
    """Yield what is wrong with an event; ``old`` is None for a new one.

    ``strict`` is a write through events.k8s.io.
    """
    yield from _check_namespace(event)
    if not strict:
        return
    if old is None or not same(event.get("series"), old.get("series")):
        yield from _check_series(as_object(event.get("series")), has="series" in event)
    if old is None:
        yield from _check_new(event)


def _check_namespace(event: JSONObject) -> Iterator[Violation]:
    involved = as_object(event.get("involvedObject")).get("namespace", "")
    namespace = as_object(event["metadata"]).get("namespace", "")
    if event.get("eventTime") is None:
        agrees = namespace == (involved or "default")
    else:
        agrees = bool(involved) or namespace in _OPEN_NAMESPACES
    if not agrees:
        path = Path(("involvedObject", "namespace"))
        yield invalid(path, involved, "does not match event.namespace")


def _check_new(event: JSONObject) -> Iterator[Violation]:
    if event.get("eventTime") is None:
        yield require(Path(("eventTime",)))
    if event.get("type") not in ("Normal", "Warning"):
        text = as_text(event.get("type"))
        yield invalid(Path(("type",)), "", f"has invalid value: {text}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(name) not in (None, 0, {}):
            yield invalid(Path((name,)), "", "needs to be unset")


def _check_series(series: JSONObject, *, has: bool) -> Iterator[Violation]:
    if not has:
        return
    count = series.get("count", 0)
    if isinstance(count, int) and count <= 1:
        yield invalid(Path(("series", "count")), "", "should be at least 2")
    if series.get("lastObservedTime") is None:
        yield require(Path(("series", "lastObservedTime")))
