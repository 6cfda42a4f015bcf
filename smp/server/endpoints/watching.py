"""Watches: what is there, if it is asked for, and then every change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from smp.errors import SmpError
from smp.handler import to_status
from smp.server.endpoints.call import Call
from smp.server.endpoints.changes import Lines, event_line
from smp.server.endpoints.query import ListOptions
from smp.server.endpoints.selection import scope
from smp.server.endpoints.streams import Stream
from smp.server.registry.snapshots import check_reached, from_another_store, snapshot


def watch(call: Call) -> Stream:
    """Answer a watch; what goes wrong is an event of it, as for API servers."""
    settings, options = call.api.settings, ListOptions.read(call.query)
    lines = _lines(call, options)
    return Stream(
        lines,
        call.api.stopping,
        options.timeout or settings.watch_timeout,
        settings.send_timeout,
    )


async def _lines(call: Call, options: ListOptions) -> AsyncGenerator[bytes, None]:
    lines = Lines(call, options)
    store, prefix, since = (
        call.api.store,
        scope(call.target, options),
        options.revision or 0,
    )
    try:
        with _counted(call), from_another_store():
            if options.initial_events or not since:
                async with aclosing(snapshot(store, prefix)) as pages:
                    async for page in pages:
                        since = page.revision
                        check_reached(options.revision, since)
                        for line in lines.initial(page.items):
                            yield line
                for line in lines.end_of_initial(since):
                    yield line
            async with aclosing(store.watch(prefix, since)) as events:
                async for event in events:
                    for line in lines.of(event):
                        yield line
    except SmpError as error:
        yield event_line("ERROR", to_status(error).body)


@contextmanager
def _counted(call: Call) -> Iterator[None]:
    watches, resource = call.api.metrics.watches, call.target.resource
    labels = resource.group, resource.version, resource.plural
    watches.add(*labels)
    try:
        yield
    finally:
        watches.add(*labels, by=-1)
