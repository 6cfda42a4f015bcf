"""One request about objects: which operation, of which objects, with which options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Final, ParamSpec, TypeVar

from msgspec.structs import replace
from starlette.requests import Request

from smp._storage import protobuf
from smp._storage.workloads import DAEMON_SETS, count_templates
from smp._values.values import JSONObject
from smp.handler import STOCK_SERVER, Options, manager_of, requested
from smp.handler.headers import read_header
from smp.managed_fields import Serving
from smp.schema.resources import Resource
from smp.schema.structural import add_schema_defaults
from smp.server.admission import AdmissionReviewer, find_admission
from smp.server.endpoints.answers import AnswerFormat, media_type, negotiate
from smp.server.endpoints.list_options import ListOptions
from smp.server.metrics import Labels, labels_of
from smp.server.objects import subresources
from smp.server.registry.kinds import Kind
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target
from smp.server.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

_WRITE: Final = 3e-7  # seconds for each byte of an object whose schema is simple
_MOST_OPTIONS: Final = 100  # of each kind that are remembered
_LARGE: Final = 1 << 20  # bytes of an answer
# The member of the ASGI scope with which a large answer waits for room.
RESERVE: Final = "smp.reserve"
# The member of the ASGI scope that has the Call of a request about objects.
CALL: Final = "smp.call"


class Call:
    """A request about objects whose path was found to name a resource.

    ``kind``, ``format`` and ``options`` may raise, and are computed when they are first
    needed.
    """

    def __init__(
        self, state: ServerState, request: Request, target: Target, verb: str
    ) -> None:
        self.state = state
        self.request = request
        self.target = target
        self.verb = verb
        self.admission: AdmissionReviewer | None = None

    async def begin_admission(
        self, operation: str, options: JSONObject | None = None
    ) -> None:
        """Look for what is to be asked about the request."""
        if options is None:
            options = self._operation_options()
        self.admission = await find_admission(
            self.state, self.target, operation, options
        )
        if self.admission is not None:
            self.options = replace(self.options, admit=self.admission.change)

    def _operation_options(self) -> JSONObject:
        """Return what the query says, as the options of a create or an update."""
        options: JSONObject = {}
        if self.options.dry_run:
            options["dryRun"] = ["All"]
        for name in ("fieldManager", "fieldValidation"):
            if self.query.get(name):
                options[name] = self.query[name]
        return options

    @cached_property
    def kind(self) -> Kind:
        """What is needed to handle the objects. Raises UnknownResourceError."""
        return self.state.kinds.of(self.target.resource)

    @cached_property
    def format(self) -> AnswerFormat:
        """The form of answer that the client prefers. Raises RefusalError."""
        return negotiate(read_header(self.request.scope, b"accept"))

    @cached_property
    def options(self) -> Options:
        """The options of the handler. Raises InvalidError."""
        content_type = read_header(self.request.scope, b"content-type")
        options = requested(
            self._usual_options(),
            # Request.url would parse more than that.
            self.request.scope["query_string"].decode("latin-1"),
            method=self.request.method,
            media_type=content_type,
        )
        if media_type(content_type) == protobuf.MEDIA_TYPE:
            # A message has no unknown fields to report: its decoder skips them.
            options = replace(options, field_validation="Ignore")
        return options

    def _usual_options(self) -> Options:
        """Return the options of a request without a query."""
        known = self.kind.options
        subresource = self.target.subresource
        manager = manager_of(read_header(self.request.scope, b"user-agent"))
        options = known.get((subresource, manager))
        if options is None:
            # Clients choose their names: there may be any number of them.
            if len(known) >= _MOST_OPTIONS:
                known.clear()
            options = _options(self.state.settings, self.kind, subresource, manager)
            known[subresource, manager] = options
        return options

    @cached_property
    def list_options(self) -> ListOptions:
        """The options of a list or a watch. Raises what ListOptions.parse raises."""
        return ListOptions.parse(self.query, self.target.resource)

    async def work(
        self, seconds: float, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Do work that is estimated to take so many seconds (smp.server.work).

        Raises what the work raises, RefusalError and ClientDisconnect.
        """
        workers = self.state.workers
        asked = partial(work, *args, **kwargs)
        if self.admission is not None:
            return await workers.wait(asked)
        return await workers.run(self.request, seconds, asked)

    async def reserve(self, size: int) -> None:
        """Wait until there is room for an answer of so many bytes."""
        reserve = self.request.scope.get(RESERVE)
        # There is none where a test calls the application without a socket.
        if reserve and size > _LARGE:
            await reserve(size)

    def seconds_to_write(self, size: int) -> float:
        """Estimate how long it takes to compute a write of so many bytes."""
        return size * _WRITE * self.kind.weight

    @property
    def query(self) -> Mapping[str, str]:
        """The query; the last value of a repeated parameter counts."""
        return self.request.query_params

    @property
    def labels(self) -> Labels:
        """The labels of the request in the metrics."""
        target = self.target
        return (self.verb, *labels_of(target.resource), target.subresource)


def _options(settings: Settings, kind: Kind, subresource: str, manager: str) -> Options:
    resource, defined = kind.resource, kind.defined
    # The defaults of built-in kinds are code in an API server: here they have none.
    default = partial(add_schema_defaults, schema=defined.schema) if defined else None
    return replace(
        STOCK_SERVER,
        profile=settings.union_profile,
        on_conflict=settings.on_conflict,
        ratchet=settings.ratchet,
        limits=settings.limits,
        default=default,
        prepare=partial(_prepare, resource, subresource),
        manager=manager,
        subresource=subresource,
        # The metadata of a custom resource is judged with the rest of it.
        validation=defined is None,
        # Others write what an update of the object may not.
        immutable_fields=subresource in ("", "status"),
        serving=Serving(
            has_status=resource.status or defined is None,
            versions=kind.versions,
            custom=defined is not None,
            kubernetes=settings.catalog.version,
        ),
        unconditional=not resource.strategy.conditional,
        custom=defined is not None,
        resource=resource.qualified,
    )


def _prepare(
    resource: Resource, subresource: str, old: JSONObject | None, new: JSONObject
) -> JSONObject:
    """Return a new object with what an endpoint does not write as it was."""
    if subresource and old is not None:
        return subresources.on_subresource_update(subresource, old, new, resource)
    if old is None:
        new = subresources.on_create(new, resource)
        if resource.key == DAEMON_SETS:
            new = count_templates(None, new)
        return new
    return subresources.on_update(old, new, resource)
