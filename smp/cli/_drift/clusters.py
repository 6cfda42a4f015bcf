"""The live objects of one cluster, or of many, in a run of ``smp drift``.

Theory of operation. Each context of the configuration of kubectl is a cluster of that
name, and a manifest that names no cluster is for each of them; a context that is alone
answers for whatever cluster a manifest names. The objects are listed, by the kinds and
namespaces of the manifests, in pages: up to ``_CLUSTERS`` clusters at one time, each by
a thread, with up to ``_LISTS`` lists at one time. What they read goes through a short
queue to the one that pairs, so that memory does not grow with the clusters. Each
cluster says at the end how its custom resources are defined. A cluster that fails is a
gap, and its objects are unreadable; a list that fails makes those unreadable that were
not read by then. Who may not list what manifests name is asked for each.

With a state, the pages of a list are kept until its end. The next run goes on behind
them where the server still knows what the list began with, and otherwise reads it anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatchcase
from hashlib import blake2b
from queue import Full, Queue
from threading import Event
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import asdict

from smp._values.codec import encode
from smp._values.values import JSONObject, as_list, as_object
from smp.cli._drift.increments import DriftRun
from smp.cli._drift.records import Record
from smp.cli._drift.state import KeptList
from smp.cli._errors import CommandFailure, UsageError
from smp.cli._identity import identity_of
from smp.cli._live import (
    CLUSTER,
    ClusterDefinitions,
    ignore_unverified,
    is_cluster,
    kind_of,
    read_definitions,
)
from smp.cli._options import CommandSettings
from smp.cluster import ApiError, Cluster, ConnectionOverrides
from smp.cluster.connect import Contexts, client_of_context
from smp.cluster.plan.listing import ListedPage
from smp.documents import Document
from smp.errors import SmpError

_CLUSTERS: Final = 16
_LISTS: Final = 4
# Answers that wait to be paired.
_WAITING: Final = 64
_PATIENCE: Final = 0.1
_DIGEST: Final = 16
_FORBIDDEN: Final = 403
# The group and kind of objects, and their namespace.
_Place: TypeAlias = tuple[str, str, str]


class _WantedNames(msgspec.Struct, frozen=True):
    """The names of the objects of a kind that manifests have, and their version."""

    # A server converts between the versions of a kind: the first one counts.
    api_version: str
    names: set[str] = set()


# What manifests are about; one that names no namespace is for that of a context.
_Wanted: TypeAlias = dict[_Place, _WantedNames]


def _add_to(wanted: _Wanted, record: Record) -> None:
    _cluster, group, kind, name = record.key
    place = group, kind, record.namespace
    wanted.setdefault(place, _WantedNames(record.api_version)).names.add(name)


def _within(namespace: str, *wanted: _Wanted) -> _Wanted:
    """Return all that is wanted, in the namespaces to list."""
    found: _Wanted = {}
    for some in wanted:
        for (group, kind, space), named in some.items():
            place = group, kind, space or namespace
            known = found.setdefault(place, _WantedNames(named.api_version))
            known.names.update(named.names)
    return found


class _Answer(msgspec.Struct):
    """What was read of a cluster: a page of a list, or why nothing more was.

    ``records`` are to be paired; with the first page they are also those that an
    earlier run has read, ``since`` a time. ``page`` is what a later run has to know of
    the page, and ``made`` what a controller has made. Without a list the cluster
    failed, or these are its definitions.
    """

    cluster: str
    records: list[Record] = []
    page: list[Record] = []
    since: str = ""
    error: SmpError | None = None
    made: list[Record] = []
    list: bytes | None = None
    more: str = ""
    is_first: bool = True
    definitions: ClusterDefinitions | None = None


class ContextClients:
    """The clients of the contexts that ``--live`` and ``--contexts`` name.

    Several contexts have ``names``; one that is alone has none.
    """

    def __init__(
        self, live: tuple[str, ...], globs: tuple[str, ...], settings: CommandSettings
    ) -> None:
        """Raise UsageError and ConfigurationError."""
        ignore_unverified()
        self.release: str | None = settings.kubernetes
        self._namespace = settings.namespace
        self._path = live[0] if live else CLUSTER
        self._alone: tuple[Any, str] | None = None
        self.names: list[str] = []
        kubeconfig = settings.kubeconfig or None
        overrides = ConnectionOverrides.of_options(asdict(settings))
        if globs or len(live) > 1:
            # Each context would be read at one address, and be the same cluster.
            if settings.server or settings.context:
                reason = "'--server' and '--context' are of one cluster, not of several"
                raise UsageError(reason)
            self._contexts = Contexts(kubeconfig, overrides)
            self.names = self._named(live, globs)
        else:
            context = self._path.partition(":")[2] or settings.context or None
            self._alone = client_of_context(context, kubeconfig, overrides)

    def _named(self, live: tuple[str, ...], globs: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        for side in live:
            if not is_cluster(side) or side == CLUSTER:
                raise UsageError("several '--live' are contexts: cluster:CONTEXT")
            found.append(side.partition(":")[2])
        for glob in globs:
            matches = [name for name in self._contexts.names if fnmatchcase(name, glob)]
            if not matches:
                raise UsageError(f"no context is called {glob!r}")
            found += matches
        return [*dict.fromkeys(found)]

    def fleet(self, run: DriftRun, *, extra: bool) -> LiveFleet:
        """Return what reads the objects of the clusters."""
        return LiveFleet(run, self, extra=extra)

    @property
    def is_alone(self) -> bool:
        """Whether there is one context for all manifests."""
        return self._alone is not None

    def place(self, name: str) -> str:
        """Return where the objects of a cluster are read."""
        return self._path if self.is_alone else f"{CLUSTER}:{name}"

    def label(self, name: str) -> str:
        """Return the cluster for a reader."""
        return self._path if self.is_alone else f"context {name}"

    def cluster(self, name: str) -> tuple[Cluster, str]:
        """Return a cluster, and the address of its server.

        Raises ConfigurationError.
        """
        client, namespace = self._alone or self._contexts.client(name)
        namespace = self._namespace or namespace
        cluster = Cluster(client, namespace=namespace, parallel=_LISTS)
        return cluster, client.configuration.host


class LiveFleet:
    """The live objects of the clusters of contexts.

    ``definitions`` are those of the custom resources of each cluster, and ``notices``
    what a reader should know, in no order, when all was read.
    """

    def __init__(self, run: DriftRun, clients: ContextClients, *, extra: bool) -> None:
        self._clients = clients
        self._inputs = run.inputs
        self._gaps = run.gaps
        self._increment = run.increment
        self._extra = extra
        self.notices: list[str] = []
        self.definitions: dict[str, list[JSONObject]] = {}
        self._shared: _Wanted = {}
        self._wanted: dict[str, _Wanted] = {}
        self._queue: Queue[_Answer | None] = Queue(_WAITING)
        self._is_over = Event()

    def of_each(self, wanted: Iterator[Record]) -> Iterator[Record]:
        """Yield each manifest for its cluster, or for all."""
        for record in wanted:
            if record.cluster or self._clients.is_alone:
                _add_to(self._wanted.setdefault(record.cluster, {}), record)
                yield record
                continue
            _add_to(self._shared, record)
            for name in self._clients.names:
                yield msgspec.structs.replace(record, cluster=name)

    def applied(
        self, selector: str, *, is_everywhere: bool
    ) -> Iterator[tuple[Record, Record]]:
        """Read what was applied in a namespace, or in all: its configuration, and it.

        Raises ApiError.
        """
        cluster, _ = self._clients.cluster("")
        namespace = "" if is_everywhere else None
        drifts = cluster.drift(namespace=namespace, selector=selector)
        met = [kind_of(found.item.object) for found in drifts]
        self._define("", read_definitions(cluster, met, self._clients.release))
        path = self._clients.place("")
        for found in drifts:
            if found.live is not None and found.error is None:
                self._gaps.heard.add("")
                yield (
                    record_of(found.item.object, "", f"{path}: last-applied"),
                    record_of(found.live, "", path),
                )

    def _define(self, name: str, definitions: ClusterDefinitions) -> None:
        # What else a cluster says of a definition is its own: uid, versions, status.
        self.definitions[name] = [
            {
                "apiVersion": each["apiVersion"],
                "kind": each["kind"],
                "metadata": {"name": as_object(each.get("metadata")).get("name")},
                "spec": each.get("spec"),
            }
            for each in definitions.found
        ]
        place = "" if self._clients.is_alone else f"{self._clients.label(name)}: "
        self.notices += [f"warning: {place}{text}" for text in definitions.problems]

    def records(self) -> Generator[Record, None, None]:
        """Yield the live objects of all clusters, as they come."""
        names = [*self._wanted] if self._clients.is_alone else self._clients.names
        with ThreadPoolExecutor(_CLUSTERS) as threads:
            try:
                for name in names:
                    threads.submit(self._read, name)
                left = len(names)
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
        name = answer.cluster
        if answer.definitions is not None:
            self._define(name, answer.definitions)
            return
        if answer.error is not None:
            failure = CommandFailure(answer.error, None, self._clients.label(name))
            self._inputs.problems.append(failure)
        if answer.list is None:
            self._gaps.add(name, str(answer.error), is_desired=False)
            return
        self._gaps.heard.add(name)
        if answer.error is not None and self._extra:
            self._gaps.of_extra[name].append(str(answer.error))
        if self._increment is not None and answer.error is None:
            page = KeptList("", answer.more, answer.page)
            self._increment.keep_page(answer.list, page, is_first=answer.is_first)
        if answer.since:
            place = self._clients.place(name)
            self.notices.append(
                f"{place}: a list goes on that was begun at {answer.since}"
            )
        for record in answer.made:
            reason = f"{record.label}: a controller made it"
            self._inputs.skipped.append((Document(None, record.place, 0), reason))
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
        cluster, server = self._clients.cluster(name)
        own = self._wanted.get(name, {})
        places = _within(cluster.namespace, self._shared, own)
        origin = self._clients.place(name)
        facts = name, origin, server, self._extra
        lists = {
            place: _ListReading(*facts, place, wanted, {*wanted.names})
            for place, wanted in places.items()
        }
        after: dict[_Place, str] = {}
        for place, each in lists.items():
            if self._increment is not None:
                each.earlier = self._increment.kept_list(each.key)
            if each.earlier is not None:
                after[place] = each.earlier.more
        kinds = {place: wanted.api_version for place, wanted in places.items()}
        # Those of the whole cluster are listed for each namespace.
        seen: set[tuple[str, ...]] = set()
        for page in cluster.list_each(kinds, after=after):
            reading = lists[page.place]
            yield reading.answer(reading.allowed(page, cluster), seen)
        met = [(version, kind) for (_, kind, _), version in kinds.items()]
        definitions = read_definitions(cluster, met, self._clients.release)
        yield _Answer(name, definitions=definitions)


class _ListReading(msgspec.Struct):
    """A list of a cluster while it is read: of what manifests name, or of all.

    ``origin`` is the cluster for a reader. One that is made anew may have the name of
    another one, and has another ``server``. ``left`` are the names that were not met.
    """

    cluster: str
    origin: str
    server: str
    extra: bool
    place: _Place
    wanted: _WantedNames
    left: set[str]
    # What an earlier run has read, until it is known whether that counts.
    earlier: KeptList | None = None

    @property
    def key(self) -> bytes:
        """What the list, and what is read of it, is known by from run to run."""
        wanted = self.wanted.api_version, sorted(self.wanted.names)
        facts = (self.cluster, self.place, *wanted, self.extra, self.server)
        encoded = msgspec.json.encode(facts)
        return blake2b(encoded, digest_size=_DIGEST).digest()

    def answer(self, page: ListedPage, seen: set[tuple[str, ...]]) -> _Answer:
        """Return what came of a page, without objects that were seen in others."""
        earlier, self.earlier = self.earlier, None
        if earlier is None or page.is_first or page.error is not None:
            earlier = KeptList("", "", [])
        found, made = list[Record](), list[Record]()
        for live in page.objects:
            if as_object(live.get("metadata")).get("name") in self.wanted.names:
                found.append(self._record_of(live))
            elif self.extra:
                of_controller = is_controlled(live)
                (made if of_controller else found).append(self._record_of(live))
        new: list[Record] = []
        for record in (*earlier.records, *found):
            if _key(record) not in seen:
                new.append(record)
            seen.add(_key(record))
            self.left.discard(record.name)
        if page.error is not None:
            # What was not read of the list is not known.
            new = [self._unknown(name, page.error) for name in sorted(self.left)]
        return _Answer(
            self.cluster,
            new,
            found,
            earlier.since,
            page.error,
            [record for record in made if _key(record) not in seen],
            self.key,
            page.more,
            page.is_first,
        )

    def allowed(self, page: ListedPage, cluster: Cluster) -> ListedPage:
        """Return a page; where no list is allowed, with what may be read one by one."""
        error = page.error
        if self.extra or not isinstance(error, ApiError) or error.status != _FORBIDDEN:
            return page
        _group, kind, namespace = self.place
        head = {"apiVersion": self.wanted.api_version, "kind": kind}
        wanted = [
            {**head, "metadata": {"name": name, "namespace": namespace}}
            for name in sorted(self.wanted.names)
        ]
        with suppress(SmpError):
            found = cluster.get_all(wanted)
            return ListedPage(page.place, [live for live in found if live is not None])
        return page

    def _record_of(self, live: JSONObject) -> Record:
        return record_of(live, self.cluster, self.origin)

    def _unknown(self, name: str, error: SmpError) -> Record:
        """Return what stands for the live object of a manifest that was not read."""
        _group, kind, namespace = self.place
        return Record(
            self.cluster,
            self.wanted.api_version,
            kind,
            namespace,
            name,
            b"",
            "",
            error=str(error),
        )


def _key(record: Record) -> tuple[str, ...]:
    return *record.key, record.namespace


def is_controlled(live: JSONObject) -> bool:
    """Tell whether a controller has made an object."""
    owners = as_object(live.get("metadata")).get("ownerReferences")
    # Go: metav1.GetControllerOf.
    return any(as_object(owner).get("controller") is True for owner in as_list(owners))


def record_of(live: JSONObject, cluster: str, place: str) -> Record:
    """Return a live object of a cluster."""
    return Record(cluster, *identity_of(live).head, encode(live), place)
