"""A cluster over a client that a user has: apply, diff, get, wait and delete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack

from smp.cluster import drive
from smp.cluster.clients import async_transport_over, transport_over
from smp.cluster.connect import (
    ConnectionOverrides,
    async_client_of_context,
    client_of_context,
)
from smp.cluster.documents import DiskDocuments
from smp.cluster.plan.apply import Run, Session, apply
from smp.cluster.plan.applysets import (
    ApplySetState,
    Parent,
    list_sets,
    parent,
    repair,
    resource_named,
    verify,
)
from smp.cluster.plan.conditions import read_wait_condition
from smp.cluster.plan.deleting import deleted
from smp.cluster.plan.differences import differences, drifts, drifts_of_applied
from smp.cluster.plan.exchange import Plan, Progress, run_in_turn, together
from smp.cluster.plan.failures import NoKindMatchError
from smp.cluster.plan.listing import ListedPage, ListedResource, listed
from smp.cluster.plan.objects import Applied, Item
from smp.cluster.plan.options import (
    ApplyOptions,
    Cascade,
    DryRun,
    Order,
    Unions,
    Validation,
)
from smp.cluster.plan.reading import Difference
from smp.cluster.plan.rollback import rollback
from smp.cluster.plan.schemas import Documents
from smp.cluster.plan.waiting import Waited, wait
from smp.documents.objects import Objects, objects_of
from smp.errors import ObjectError, SmpError
from smp.hazards import Policy

T = TypeVar("T")
TransportT = TypeVar("TransportT")


class DiffKeywords(TypedDict, total=False):
    """The keyword arguments of a diff; see ``smp.cluster.plan.options``."""

    field_manager: str | None
    server_side: bool
    force_conflicts: bool
    give_up: tuple[str, ...]
    skip_conflicts: bool
    overwrite: bool
    unions: Unions
    hazards: Policy
    applyset: str | None
    tooling: str
    prune: str | None
    prune_allowlist: tuple[tuple[str, str], ...]
    prunes: bool


class ApplyKeywords(DiffKeywords, total=False):
    """The keyword arguments of an apply: more than those of a diff."""

    force: bool
    dry_run: DryRun
    validate: Validation
    order: Order
    strict: bool
    cascade: Cascade
    grace_period: int | None
    timeout: float | None
    wait: float | None


class _Plans(ABC, Generic[TransportT]):
    """What both kinds of cluster do, as plans, and the client that runs them."""

    def __init__(
        self,
        client: object,
        *,
        namespace: str = "default",
        enforce_namespace: bool = False,
        documents: Documents | None = None,
        parallel: int = drive.PARALLEL,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.namespace = namespace
        self._enforce_namespace = enforce_namespace
        self._documents = DiskDocuments() if documents is None else documents
        self._transport = self._transport_over(client)
        self._parallel = parallel
        self._progress = progress or drive.no_progress

    @staticmethod
    @abstractmethod
    def _transport_over(client: object) -> TransportT:
        """Return how requests are sent over a client. Raises TypeError."""

    def _session(self) -> Session:
        # A session knows what the server serves now; the next one asks again.
        return Session(
            self._documents,
            namespace=self.namespace,
            enforce_namespace=self._enforce_namespace,
        )

    def _apply(self, objects: Objects, keywords: ApplyKeywords) -> Plan[Run]:
        return apply(self._session(), _items(objects), ApplyOptions(**keywords))

    def _diff(self, objects: Objects, keywords: DiffKeywords) -> Plan[list[Difference]]:
        options = ApplyOptions(**keywords)
        return differences(self._session(), _items(objects), options)

    def _drift(
        self, objects: Objects | None, namespace: str | None, selector: str
    ) -> Plan[list[Difference]]:
        # With manifests only their objects are read.
        if objects is not None:
            return drifts(self._session(), _items(objects))
        within = self.namespace if namespace is None else namespace
        return drifts_of_applied(self._session(), within, selector)

    def _list(
        self, resource: str, namespace: str | None, selector: str
    ) -> Plan[list[dict[str, Any]]]:
        session = self._session()
        # The name may be a short one, such as deploy.
        found = yield from resource_named(session.discovery, resource)
        within = self.namespace if namespace is None else namespace
        return (yield from listed(found, within, selector))

    def _applysets(self, namespace: str | None) -> Plan[list[Parent]]:
        within = self.namespace if namespace is None else namespace
        return list_sets(self._session().discovery, within)

    def _applyset(
        self, name: str, *, full: bool, repairs: bool, tooling: str
    ) -> Plan[ApplySetState]:
        session = self._session()
        found = yield from parent(session.discovery, name, self.namespace, tooling)
        # A repair looks for the members in all resources.
        if repairs:
            return (yield from repair(session.discovery, found, ApplyOptions()))
        return (yield from verify(session.discovery, found, full=full))

    def _get(self, obj: Objects) -> Plan[list[dict[str, Any] | None]]:
        session = self._session()
        # Kinds are looked up in turn: the first one of a kind asks for all of them.
        targets = yield from run_in_turn([session.target(item) for item in _items(obj)])
        return (yield from together([target.read() for target in targets]))

    def _get_one(self, obj: Objects) -> Plan[dict[str, Any] | None]:
        items = _items(obj)
        if len(items) != 1:
            raise ObjectError(
                f"get takes one object, and not {len(items)}",
                code="not-an-object",
                hint="get_all takes any number of objects",
            )
        target = yield from self._session().target(items[0])
        return (yield from target.read())

    def _definitions(
        self, kinds: Iterable[tuple[str, str]]
    ) -> Plan[dict[tuple[str, str], dict[str, Any] | SmpError]]:
        session = self._session()
        found: dict[tuple[str, str], dict[str, Any] | SmpError] = {}
        for place in kinds:
            try:
                resource = yield from session.discovery.resource(*place)
                definition = yield from session.schemas.definition(resource)
            except SmpError as error:
                found[place] = error
                continue
            if definition:
                found[place] = definition
        return found

    def _heads(
        self, resource: str, names: Iterable[str], namespace: str | None
    ) -> Plan[list[dict[str, Any]]]:
        found = yield from resource_named(self._session().discovery, resource)
        within = self.namespace if namespace is None else namespace
        heads: list[dict[str, Any]] = []
        for name in names:
            metadata = {"name": name}
            if found.namespaced:
                metadata["namespace"] = within
            head = {"apiVersion": found.api_version, "kind": found.kind}
            heads.append({**head, "metadata": metadata})
        return heads

    def _wait(
        self, objects: Objects, timeout: float | None, conditions: Iterable[str]
    ) -> Plan[list[Waited]]:
        wanted = [read_wait_condition(text) for text in conditions]
        session = self._session()
        plans = [session.target(item) for item in _items(objects)]
        targets = yield from run_in_turn(plans)
        return (yield from wait(targets, timeout=timeout, conditions=wanted))

    def _delete(
        self, objects: Objects, options: ApplyOptions, *, wait: bool
    ) -> Plan[list[Applied]]:
        return deleted(self._session(), _items(objects), options, wait=wait)


def _items(objects: Objects) -> list[Item]:
    items = [Item(given.object, given.source) for given in objects_of(objects)]
    for item in items:
        # kubectl refuses it as well, before it sends anything.
        if item.kind == "List":
            raise ObjectError("a list within a list", code="not-an-object")
    return items


class Cluster(_Plans[drive.Transport]):
    """A cluster, over a client that blocks.

    ``client`` is a kubernetes.client.ApiClient, a kubernetes.dynamic.DynamicClient, a
    lightkube.Client, what kr8s.api() returns, or an httpx.Client whose base URL is that
    of the API server. ``namespace`` is that of objects that name none; with
    ``enforce_namespace`` an object of another one is an error. ``documents`` keeps the
    compiled OpenAPI documents of the server, by default a folder of this user.
    ``progress`` is called with what was done. Raises TypeError for other clients.
    """

    @staticmethod
    def _transport_over(client: object) -> drive.Transport:
        return transport_over(client)

    @classmethod
    def connect(
        cls,
        context: str | None = None,
        *,
        kubeconfig: str | None = None,
        overrides: ConnectionOverrides | None = None,
        **keywords: Any,
    ) -> Self:
        """Connect to the cluster of a context of the configuration of kubectl.

        The current context is the default; in a Pod without a configuration, its own
        cluster. ``kubeconfig`` is a file in place of those of $KUBECONFIG, and
        ``overrides`` what takes the place of its values. Raises ConfigurationError.
        """
        client, namespace = client_of_context(context, kubeconfig, overrides)
        return cls(client, **{"namespace": namespace, **keywords})

    def apply(self, objects: Objects, **options: Unpack[ApplyKeywords]) -> Run:
        """Apply objects as kubectl does, and return what became of each.

        ``objects`` is an object, a model of a client, YAML or JSON text, a pathlib.Path
        of a file or a directory, or any number of these. The options are those of
        ApplyOptions. Raises ObjectError, DocumentError and OSError for what cannot be
        read, before anything is sent; what goes wrong with one object is in its result.
        """
        return self._run(self._apply(objects, options))

    def rollback(self, run: Run) -> Run:
        """Restore the objects as they were before a run of this cluster.

        ``run.rollback_plan()`` says what that is. First all objects are read: where
        others have changed since what would be restored, nothing is written, and the
        result is ``stopped``. Of what goes wrong later the results have the error.
        """
        return self._run(rollback(run))

    def diff(
        self, objects: Objects, **options: Unpack[DiffKeywords]
    ) -> list[Difference]:
        """Ask the server what an apply would change and prune; nothing is written."""
        return self._run(self._diff(objects, options))

    def drift(
        self,
        objects: Objects | None = None,
        *,
        namespace: str | None = None,
        selector: str = "",
    ) -> list[Difference]:
        """Compare live objects with manifests, without asking the server for more.

        Without manifests, all live objects that have a last-applied configuration are
        compared with that: those of a namespace, by default that of the cluster, or of
        all of them (``""``), with labels.
        """
        return self._run(self._drift(objects, namespace, selector))

    def list_objects(
        self, resource: str, *, namespace: str | None = None, selector: str = ""
    ) -> list[dict[str, Any]]:
        """Return the objects of a resource: ``deploy``, ``deployments.apps``.

        Those of a namespace, by default that of the cluster, or of all of them
        (``""``), with labels. Raises NoKindMatchError and ApiError.
        """
        return self._run(self._list(resource, namespace, selector))

    def list_each(
        self,
        kinds: Mapping[tuple[str, str, str], str],
        *,
        after: Mapping[tuple[str, str, str], str] | None = None,
    ) -> Iterator[ListedPage]:
        """List the objects of kinds, page by page, several kinds at one time.

        ``kinds`` are group, kind and namespace, with the apiVersion to read; ``after``
        has ``more`` of a page after which a list goes on. A kind that cannot be listed,
        or not to its end, is a page with an error. Raises ApiError and
        BrokenConnectionError where the server cannot be asked for its kinds.
        """
        session = self._session()
        waiting: deque[tuple[tuple[str, str, str], ListedResource]] = deque()
        for place, api_version in kinds.items():
            plan = session.discovery.resource(api_version, place[1])
            try:
                resource = self._run(plan)
            except NoKindMatchError as error:
                yield ListedPage(place, [], error=error)
                continue
            more = (after or {}).get(place, "")
            waiting.append((place, ListedResource(resource, place[2], more)))

        def read(place: tuple[str, str, str], pages: ListedResource) -> ListedPage:
            try:
                page = self._run(pages.next_page())
            except SmpError as error:
                return ListedPage(place, [], pages.more, is_first=False, error=error)
            return ListedPage(place, page.objects, page.more, page.is_first)

        running: dict[Future[ListedPage], ListedResource] = {}
        with ThreadPoolExecutor(self._parallel) as threads:
            while waiting or running:
                # No more pages are in memory than are read at one time.
                while waiting and len(running) < self._parallel:
                    place, pages = waiting.popleft()
                    running[threads.submit(read, place, pages)] = pages
                done, _ = wait_for_futures(running, return_when=FIRST_COMPLETED)
                for future in done:
                    pages, page = running.pop(future), future.result()
                    yield page
                    if page.more and page.error is None:
                        waiting.appendleft((page.place, pages))

    def applysets(self, *, namespace: str | None = None) -> list[Parent]:
        """Return the ApplySets of a namespace, or of all of them (``""``)."""
        return self._run(self._applysets(namespace))

    def verify_applyset(
        self, name: str, *, full: bool = True, tooling: str = ""
    ) -> ApplySetState:
        """Look whether an ApplySet names all kinds and namespaces of its members.

        With ``full`` members are looked for in all resources of the server. Raises
        ApplySetError and ApiError.
        """
        return self._run(
            self._applyset(name, full=full, repairs=False, tooling=tooling)
        )

    def repair_applyset(self, name: str, *, tooling: str = "") -> ApplySetState:
        """Have an ApplySet name exactly what has members. Raises as verify does."""
        return self._run(self._applyset(name, full=True, repairs=True, tooling=tooling))

    def get(self, obj: Objects) -> dict[str, Any] | None:
        """Return the live object of a manifest; None where there is none.

        Raises ObjectError for none and for several manifests, ApiError and
        BrokenConnectionError.
        """
        return self._run(self._get_one(obj))

    def get_all(self, objects: Objects) -> list[dict[str, Any] | None]:
        """Return the live object of each manifest; None where there is none.

        Raises what ``get`` raises.
        """
        return self._run(self._get(objects))

    def definitions(
        self, kinds: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], dict[str, Any] | SmpError]:
        """Return the CustomResourceDefinitions of kinds: apiVersion and kind.

        A kind without one is left out; of one that cannot be asked for there is why.
        """
        return self._run(self._definitions(kinds))

    def name_objects(
        self, resource: str, names: Iterable[str], *, namespace: str | None = None
    ) -> list[dict[str, Any]]:
        """Return manifests of apiVersion, kind and metadata alone, for get or delete.

        ``resource`` and ``namespace`` are as in ``list_objects``, which see.
        """
        return self._run(self._heads(resource, names, namespace))

    def wait(
        self,
        objects: Objects,
        *,
        timeout: float | None = None,
        conditions: Iterable[str] = (),
    ) -> list[Waited]:
        """Wait until objects are ready, for at most some seconds.

        Ready is what kstatus calls current. ``conditions`` are those of kubectl wait,
        in place of it: ``create``, ``delete``, ``condition=Available``,
        ``jsonpath={.status.phase}=Running``. What does not come to it has an error.
        Raises WaitConditionError and JSONPathError.
        """
        return self._run(self._wait(objects, timeout, conditions))

    def delete(
        self,
        objects: Objects,
        *,
        wait_until_gone: bool = True,
        **options: Unpack[ApplyKeywords],
    ) -> list[Applied]:
        """Delete objects, and wait until they are gone."""
        return self._run(
            self._delete(objects, ApplyOptions(**options), wait=wait_until_gone)
        )

    def _run(self, plan: Plan[T]) -> T:
        return drive.run(
            plan, self._transport, parallel=self._parallel, progress=self._progress
        )


class AsyncCluster(_Plans[drive.AsyncTransport]):
    """A cluster, over a client of asyncio; the methods are those of Cluster.

    ``client`` is a kubernetes_asyncio.client.ApiClient, a lightkube.AsyncClient, what
    kr8s.asyncio.api() returns, or an httpx.AsyncClient.
    """

    @staticmethod
    def _transport_over(client: object) -> drive.AsyncTransport:
        return async_transport_over(client)

    @classmethod
    async def connect(
        cls,
        context: str | None = None,
        *,
        kubeconfig: str | None = None,
        **keywords: Any,
    ) -> Self:
        """Connect to the cluster of a context; see Cluster.connect."""
        client, namespace = await async_client_of_context(context, kubeconfig)
        return cls(client, **{"namespace": namespace, **keywords})

    async def apply(self, objects: Objects, **options: Unpack[ApplyKeywords]) -> Run:
        """Apply objects; see Cluster.apply."""
        return await self._run(self._apply(objects, options))

    async def rollback(self, run: Run) -> Run:
        """Restore what was before a run; see Cluster.rollback."""
        return await self._run(rollback(run))

    async def diff(
        self, objects: Objects, **options: Unpack[DiffKeywords]
    ) -> list[Difference]:
        """Ask the server what an apply would change; see Cluster.diff."""
        return await self._run(self._diff(objects, options))

    async def drift(
        self,
        objects: Objects | None = None,
        *,
        namespace: str | None = None,
        selector: str = "",
    ) -> list[Difference]:
        """Compare live objects with manifests; see Cluster.drift."""
        return await self._run(self._drift(objects, namespace, selector))

    async def list_objects(
        self, resource: str, *, namespace: str | None = None, selector: str = ""
    ) -> list[dict[str, Any]]:
        """Return the objects of a resource; see Cluster.list_objects."""
        return await self._run(self._list(resource, namespace, selector))

    async def applysets(self, *, namespace: str | None = None) -> list[Parent]:
        """Return the ApplySets; see Cluster.applysets."""
        return await self._run(self._applysets(namespace))

    async def verify_applyset(
        self, name: str, *, full: bool = True, tooling: str = ""
    ) -> ApplySetState:
        """Look whether an ApplySet is whole; see Cluster.verify_applyset."""
        return await self._run(
            self._applyset(name, full=full, repairs=False, tooling=tooling)
        )

    async def repair_applyset(self, name: str, *, tooling: str = "") -> ApplySetState:
        """Repair an ApplySet; see Cluster.repair_applyset."""
        return await self._run(
            self._applyset(name, full=True, repairs=True, tooling=tooling)
        )

    async def get(self, obj: Objects) -> dict[str, Any] | None:
        """Return the live object of a manifest; see Cluster.get."""
        return await self._run(self._get_one(obj))

    async def get_all(self, objects: Objects) -> list[dict[str, Any] | None]:
        """Return the live object of each manifest; see Cluster.get_all."""
        return await self._run(self._get(objects))

    async def definitions(
        self, kinds: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], dict[str, Any] | SmpError]:
        """Return the definitions of kinds; see Cluster.definitions."""
        return await self._run(self._definitions(kinds))

    async def name_objects(
        self, resource: str, names: Iterable[str], *, namespace: str | None = None
    ) -> list[dict[str, Any]]:
        """Return manifests of the names alone; see Cluster.name_objects."""
        return await self._run(self._heads(resource, names, namespace))

    async def wait(
        self,
        objects: Objects,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # what is late is a result
        conditions: Iterable[str] = (),
    ) -> list[Waited]:
        """Wait until objects are ready; see Cluster.wait."""
        return await self._run(self._wait(objects, timeout, conditions))

    async def delete(
        self,
        objects: Objects,
        *,
        wait_until_gone: bool = True,
        **options: Unpack[ApplyKeywords],
    ) -> list[Applied]:
        """Delete objects; see Cluster.delete."""
        return await self._run(
            self._delete(objects, ApplyOptions(**options), wait=wait_until_gone)
        )

    async def _run(self, plan: Plan[T]) -> T:
        return await drive.run_async(
            plan, self._transport, parallel=self._parallel, progress=self._progress
        )
