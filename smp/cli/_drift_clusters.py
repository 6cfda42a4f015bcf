"""The live objects of many clusters in one run of ``smp drift``.

Theory of operation. Each context of the configuration of kubectl is a cluster of that
name. A manifest that names no cluster is for each of them. The objects are listed, by
the kinds and namespaces of the manifests, in pages: up to ``_CLUSTERS`` clusters at one
time, each by a thread, with up to ``_LISTS`` lists at one time. What they read goes
through a short queue to the one that pairs, so that memory does not grow with the
clusters. A cluster that fails is a gap, and its objects are unreadable; a list that
fails makes those unreadable that were not read by then.

With a state, the pages of a list are kept until its end. The next run goes on behind
them where the server still knows what the list began with, and otherwise reads it anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from hashlib import blake2b
from queue import Full, Queue
from threading import Event
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from smp._values.values import JSONObject
from smp.cli._drift_gaps import ReadingGaps
from smp.cli._drift_increments import Increment
from smp.cli._drift_live import is_controlled, record_of
from smp.cli._drift_records import Record
from smp.cli._drift_state import KeptList
from smp.cli._errors import CommandFailure, UsageError
from smp.cli._inputs import Inputs
from smp.cli._live import CLUSTER, ignore_unverified, is_cluster
from smp.errors import SmpError

if TYPE_CHECKING:
    from smp.cluster.plan.listing import ListedPage

_CLUSTERS: Final = 16
_LISTS: Final = 4
# Answers that wait to be paired.
_WAITING: Final = 64
_PATIENCE: Final = 0.1
_DIGEST: Final = 16
# The group and kind of objects, and their namespace.
_Place: TypeAlias = tuple[str, str, str]


class _Wanted(msgspec.Struct):
    """What manifests are about: kinds with their version, and names by kind."""

    kinds: dict[_Place, str] = {}
    names: dict[_Place, set[str]] = {}

    def add(self, record: Record) -> None:
        """Add a manifest; one that names no namespace is for that of a context."""
        _cluster, group, kind, name = record.key
        place = group, kind, record.namespace
        # A server converts between the versions of a kind.
        self.kinds.setdefault(place, record.api_version)
        self.names.setdefault(place, set()).add(name)

    def within(self, namespace: str) -> dict[_Place, tuple[str, set[str]]]:
        """Return the version and the names of each kind, in the namespaces to list."""
        found: dict[_Place, tuple[str, set[str]]] = {}
        for (group, kind, space), api_version in self.kinds.items():
            place = group, kind, space or namespace
            version, names = found.get(place, (api_version, set()))
            found[place] = version, names | self.names[group, kind, space]
        return found


class _Answer(msgspec.Struct):
    """What was read of a cluster: a page of a list, or why nothing more was.

    ``records`` are to be paired; with the first page they are also those that an
    earlier run has read, ``since`` a time. ``page`` is what a later run has to know of
    the page. Without a list it is the cluster that failed.
    """

    cluster: str
    records: list[Record] = []
    page: list[Record] = []
    since: str = ""
    error: SmpError | None = None
    list: bytes | None = None
    more: str = ""
    is_first: bool = True


class LiveFleet:
    """The live objects of the clusters of contexts."""

    def __init__(
        self,
        contexts: list[str],
        inputs: Inputs,
        gaps: ReadingGaps,
        increment: Increment | None,
        *,
        extra: bool,
    ) -> None:
        from smp.cluster.connect import Contexts  # noqa: PLC0415  # 150 ms; most runs read files

        ignore_unverified()
        self._contexts = Contexts()
        self._names = contexts
        self._inputs = inputs
        self._gaps = gaps
        self._increment = increment
        self._extra = extra
        # The lists that were continued, for a reader.
        self.continued: list[str] = []
        self._shared = _Wanted()
        self._wanted: dict[str, _Wanted] = {}
        self._queue: Queue[_Answer | None] = Queue(_WAITING)
        self._is_over = Event()

    def of_each(self, wanted: Iterator[Record]) -> Iterator[Record]:
        """Yield each manifest for its cluster, or for all."""
        for record in wanted:
            if record.cluster:
                self._wanted.setdefault(record.cluster, _Wanted()).add(record)
                yield record
                continue
            self._shared.add(record)
            for name in self._names:
                yield msgspec.structs.replace(record, cluster=name)

    def records(self) -> Generator[Record, None, None]:
        """Yield the live objects of all clusters, as they come."""
        with ThreadPoolExecutor(min(_CLUSTERS, len(self._names))) as threads:
            try:
                for name in self._names:
                    threads.submit(self._read, name)
                left = len(self._names)
                while left:
                    answer = self._queue.get()
                    if answer is None:
                        left -= 1
                    else:
                        yield from self._taken(answer)
            finally:
                # What is left of the clusters is not asked for any more.
                self._is_over.set()
                threads.shutdown(wait=False, cancel_futures=True)

    def _taken(self, answer: _Answer) -> Iterator[Record]:
        if answer.error is not None:
            failure = CommandFailure(answer.error, None, f"context {answer.cluster}")
            self._inputs.problems.append(failure)
        if answer.list is None:
            self._gaps.add(answer.cluster, str(answer.error), is_desired=False)
            return
        self._gaps.hear(answer.cluster)
        if answer.error is not None and self._extra:
            self._gaps.add_of_extra(answer.cluster, str(answer.error))
        if self._increment is not None and answer.error is None:
            page = KeptList("", answer.more, answer.page)
            self._increment.keep_page(answer.list, page, is_first=answer.is_first)
        if answer.since:
            self.continued.append(
                f"{answer.cluster}: a list goes on that was begun at {answer.since}"
            )
        yield from answer.records

    def _put(self, answer: _Answer | None) -> None:
        while not self._is_over.is_set():
            try:
                self._queue.put(answer, timeout=_PATIENCE)
            except Full:
                continue
            return

    def _read(self, name: str) -> None:
        """Read what there is of a cluster, on a thread."""
        try:
            for answer in self._answers(name):
                self._put(answer)
                if self._is_over.is_set():
                    return
        except SmpError as error:
            self._put(_Answer(name, error=error))
        # Whatever a client raises is about this cluster alone.
        except Exception as error:  # noqa: BLE001  # see above
            problem = SmpError(f"{type(error).__name__}: {error}", code="unreadable")
            self._put(_Answer(name, error=problem))
        finally:
            self._put(None)

    def _answers(self, name: str) -> Iterator[_Answer]:
        from smp.cluster import Cluster  # noqa: PLC0415  # as above

        client, namespace = self._contexts.client(name)
        cluster = Cluster(client, namespace=namespace, parallel=_LISTS)
        places = self._shared.within(namespace)
        own = self._wanted.get(name, _Wanted()).within(namespace)
        for place, (version, names) in own.items():
            known = places.get(place, (version, set()))
            places[place] = known[0], known[1] | names
        lists = {
            place: _ListReading(name, place, version, names, extra=self._extra)
            for place, (version, names) in places.items()
        }
        after: dict[_Place, str] = {}
        for place, each in lists.items():
            each.server = client.configuration.host
            if self._increment is not None:
                each.earlier = self._increment.kept_list(each.key)
            if each.earlier is not None:
                after[place] = each.earlier.more
        kinds = {place: version for place, (version, _) in places.items()}
        # Those of the whole cluster are listed for each namespace.
        seen: set[tuple[str, ...]] = set()
        for page in cluster.list_each(kinds, after=after):
            yield lists[page.place].answer(page, seen)


class _ListReading:
    """A list of a cluster while it is read: of what manifests name, or of all."""

    def __init__(
        self,
        cluster: str,
        place: _Place,
        api_version: str,
        names: set[str],
        *,
        extra: bool,
    ) -> None:
        self._cluster = cluster
        self._place = place
        self._api_version = api_version
        self._left = {*names}
        self._names = names
        self._extra = extra
        # The address of the cluster: one made anew may have the name of another one.
        self.server = ""
        # What an earlier run has read, until it is known whether that counts.
        self.earlier: KeptList | None = None

    @property
    def key(self) -> bytes:
        """What the list, and what is read of it, is known by from run to run."""
        facts = (self._cluster, self._place, self._api_version, sorted(self._names))
        encoded = msgspec.json.encode((*facts, self._extra, self.server))
        return blake2b(encoded, digest_size=_DIGEST).digest()

    def answer(self, page: ListedPage, seen: set[tuple[str, ...]]) -> _Answer:
        """Return what came of a page, without objects that were seen in others."""
        earlier, self.earlier = self.earlier, None
        if earlier is None or page.is_first or page.error is not None:
            earlier = KeptList("", "", [])
        found = [
            record_of(live, self._cluster, f"{CLUSTER}:{self._cluster}")
            for live in page.objects
            if _is_named(live, self._names) or (self._extra and not is_controlled(live))
        ]
        new: list[Record] = []
        for record in (*earlier.records, *found):
            if _key(record) not in seen:
                new.append(record)
            seen.add(_key(record))
            self._left.discard(record.name)
        if page.error is not None:
            # What was not read of the list is not known.
            new = [self._unknown(name, page.error) for name in sorted(self._left)]
        return _Answer(
            self._cluster,
            new,
            found,
            earlier.since,
            page.error,
            self.key,
            page.more,
            page.is_first,
        )

    def _unknown(self, name: str, error: SmpError) -> Record:
        """Return what stands for the live object of a manifest that was not read."""
        _group, kind, namespace = self._place
        return Record(
            self._cluster,
            self._api_version,
            kind,
            namespace,
            name,
            b"",
            "",
            error=str(error),
        )


def _key(record: Record) -> tuple[str, ...]:
    return *record.key, record.namespace


def _is_named(live: JSONObject, names: set[str]) -> bool:
    metadata = live.get("metadata")
    return isinstance(metadata, dict) and metadata.get("name") in names


def contexts_of(live: tuple[str, ...], globs: tuple[str, ...]) -> list[str]:
    """Return the contexts that are named, in order; none where one side is read.

    Raises UsageError and ConfigurationError.
    """
    if not globs and len(live) <= 1:
        return []
    found: list[str] = []
    for side in live:
        if not is_cluster(side) or side == CLUSTER:
            raise UsageError("several '--live' are contexts: cluster:CONTEXT")
        found.append(side.partition(":")[2])
    if globs:
        from smp.cluster.connect import Contexts  # noqa: PLC0415  # as above

        names = Contexts().names
        for glob in globs:
            matches = [name for name in names if fnmatchcase(name, glob)]
            if not matches:
                raise UsageError(f"no context is called {glob!r}")
            found += matches
    return [*dict.fromkeys(found)]
