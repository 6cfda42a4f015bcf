"""From the changes of the store to the events of a watch, each a line of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from smp.server.endpoints.answers import shown
from smp.server.endpoints.call import Call
from smp.server.endpoints.query import ListOptions
from smp.server.endpoints.selection import selection
from smp.server.registry.envelope import served, unpacked
from smp.server.store import Event, Stored
from smp.values import JSONObject
from smp.wire import encode

_INITIAL_END: Final = "k8s.io/initial-events-end"


class Lines:
    """The events of one watch, in the form that the client asked for; tables say their
    columns once.
    """

    def __init__(self, call: Call, options: ListOptions) -> None:
        self._call = call
        self._options = options
        self._selects = selection(options)
        self._says_columns = True

    def initial(self, items: Iterable[Stored]) -> Iterator[bytes]:
        """Yield the events of what was there when the watch began."""
        return (
            self._line("ADDED", item) for item in items if self._selects(item.value)
        )

    def end_of_initial(self, revision: int) -> Iterator[bytes]:
        """Yield the bookmark that a client waits for who asked for initial events."""
        if self._options.initial_events and self._options.bookmarks:
            yield self._bookmark(revision, {"annotations": {_INITIAL_END: "true"}})

    def of(self, event: Event) -> Iterator[bytes]:
        """Yield the event of a change, if it is about what is selected; what no longer
        is selected is deleted.
        """
        if event.type == "progress":
            if self._options.bookmarks:
                yield self._bookmark(event.revision, {})
            return
        was = event.before is not None and self._selects(event.before.value)
        now = event.type == "put" and self._selects(event.value)
        if was or now:
            kind = "MODIFIED" if was and now else "ADDED" if now else "DELETED"
            value = event.value if now or event.before is None else event.before.value
            yield self._line(kind, Stored(event.key, value, event.revision))

    def _bookmark(self, revision: int, members: JSONObject) -> bytes:
        resource = self._call.target.resource
        about: JSONObject = {"kind": resource.kind, "apiVersion": resource.api_version}
        return self._shown(
            "BOOKMARK",
            {**about, "metadata": {"resourceVersion": str(revision), **members}},
        )

    def _line(self, kind: str, item: Stored) -> bytes:
        resource = self._call.target.resource
        self._call.api.metrics.events.add(
            resource.group, resource.version, resource.kind
        )
        if self._call.answer.form == "object":
            return event_line(kind, served(item, resource))
        return self._shown(kind, unpacked(item, resource))

    def _shown(self, kind: str, obj: JSONObject) -> bytes:
        form = shown(self._call, obj)
        if "columnDefinitions" in form and not self._says_columns:
            form = {**form, "columnDefinitions": None}
        self._says_columns = False
        return event_line(kind, encode(form))


def event_line(kind: str, obj: bytes) -> bytes:
    """Return an event as the line of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), obj)
