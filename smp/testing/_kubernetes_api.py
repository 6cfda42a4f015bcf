"""The API server of a test, as one object."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

from smp.documents.objects import Objects, objects_of
from smp.server.kubeconfig import kubeconfig, write_kubeconfig
from smp.server.settings import Settings
from smp.testing._faults import Fault, KubernetesApiError, KubernetesApiWarning
from smp.testing._running import ServerProcess, ServerThread
from smp.testing._server import Snapshot
from smp.testing._traffic import Request
from smp.testing._webhooks import ServedWebhook, WebhookHandler


class KubernetesApi:
    """A Kubernetes API server on a free port of this machine, until ``stop``.

    It starts when it is made, with its objects in memory: on a thread of this process,
    or with ``process`` as a process of its own, which takes longer to start. As a
    context manager it stops at the end of the block. ``settings`` say how it behaves;
    without them, uids and other allocated values are the same in each run.
    ``url`` is where it listens, ``kubeconfig`` the path of a file for
    clients, ``namespace`` where ``apply`` puts objects that name none. All methods may
    be called from any thread, and raise KubernetesApiError after ``stop``.
    """

    def __init__(
        self, settings: Settings | None = None, *, process: bool = False
    ) -> None:
        self.namespace: str = "default"
        self._numbers = count(1)
        self._open = ExitStack()
        with ExitStack() as starting:
            directory = starting.enter_context(
                tempfile.TemporaryDirectory(prefix="smp-kubernetes-api-")
            )
            start = ServerProcess if process else ServerThread
            if settings is None:
                settings = Settings(seed=0)
            self._server: ServerProcess | ServerThread = start(settings)
            starting.callback(self._server.stop)
            starting.callback(self._warn)
            self.url: str = self._server.url
            self.kubeconfig: Path = Path(directory, "kubeconfig")
            write_kubeconfig(self.kubeconfig, kubeconfig(self.url))
            self._initial = self.snapshot()
            # Without an error, ``stop`` does what the end of this block would do.
            self._open = starting.pop_all()

    def stop(self) -> None:
        """End the server, its clients and watches; a second time does nothing."""
        self._open.close()

    def client(self, name: str = "kubernetes") -> Any:
        """Make a client of the official package, or of another one.

        ``kubernetes`` and ``kubernetes_asyncio`` are their ApiClient, ``lightkube`` its
        Client, ``kr8s`` its Api, ``kr8s.asyncio`` a coroutine that returns it, and
        ``httpx`` its Client with ``url`` as the base. Ask for ``kubernetes_asyncio``
        within an event loop. ``stop`` closes those of ``kubernetes`` and ``httpx``.

        Raises KubernetesApiError for another name, and where the package is missing.
        """
        made = make_client(name, self.url, self.kubeconfig)
        if name in ("kubernetes", "httpx"):
            self._open.callback(made.close)
        if name == "kubernetes":
            # ``close`` leaves its connections open.
            self._open.callback(made.rest_client.pool_manager.clear)
        return made

    def apply(self, objects: Objects) -> list[dict[str, Any]]:
        """Apply objects as ``kubectl apply --server-side --force-conflicts`` does.

        ``objects`` is an object, YAML or JSON text, a pathlib.Path of a file or a
        directory, or any number of these. Namespaces and definitions come first. A
        status is written, too; what only a server sets is left out. Returns the objects
        as they are stored. ``requests`` does not have these requests, and faults do not
        concern them.

        Raises KubernetesApiError with the message of the server, UnknownResourceError,
        DocumentError, ObjectError and OSError.
        """
        given = [each.object for each in objects_of(objects)]
        try:
            stored: list[dict[str, Any]] = self._server.call(
                "apply", given, self.namespace
            )
        finally:
            self._warn()
        return stored

    def set_status(
        self, obj: Mapping[str, Any], status: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Merge a status into that of a stored object, as a controller does.

        Of ``obj`` count its apiVersion, kind, name and namespace: it may be what
        ``apply`` returned. Returns the object as it is stored. Raises
        KubernetesApiError and UnknownResourceError.
        """
        stored: dict[str, Any] = self._server.call(
            "set_status", dict(obj), dict(status), self.namespace
        )
        return stored

    def collect_garbage(self) -> list[str]:
        """Play the garbage collector: delete what has owners of which none is left.

        What was deleted with the propagation policy ``Foreground`` or ``Orphan``, and
        waits for the garbage collector, is deleted then. Returns what was deleted:
        ``["pods/web-1"]``. Without it dependents stay, as no controller runs.
        """
        deleted: list[str] = self._server.call("collect_garbage")
        return deleted

    def webhook(
        self, handler: WebhookHandler, at: str = "default/webhook"
    ) -> ServedWebhook:
        """Serve a function as a webhook; configurations name it as a service.

        ``at`` is ``NAMESPACE/NAME`` of the service in the ``clientConfig``, which may
        go on with a path where several webhooks are behind one service, or the begin
        of a URL. No Service has to exist, and the ``caBundle`` is not looked at.

        The function gets the request of an AdmissionReview. It returns None or True to
        allow it, False or a text to deny it, a list of operations of a JSON Patch, or
        the response of the review without its uid: a dict, whose ``patch`` may be such
        a list. What it raises is logged, and the server says that the call failed. It
        runs on a thread of its own, and may send requests to the server.

        It is served until ``stop``, and its name is forgotten by ``reset``.
        """
        served = ServedWebhook(handler)
        self._open.callback(served.stop)
        self._server.call("serve_webhook", at, served.url)
        return served

    def snapshot(self) -> Snapshot:
        """Return all objects of the server."""
        snapshot: Snapshot = self._server.call("snapshot")
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Bring all objects back to what they were.

        What differs is written, and has a new resourceVersion: watches get its changes.
        Allocated values, such as uids, go on as they did after the snapshot.
        """
        self._server.call("restore", snapshot)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Restore the objects at the end of the block; no fault outlives it.

        ``requests`` has those of the block.
        """
        before = self.snapshot()
        with self.alone():
            try:
                yield
            finally:
                self.restore(before)

    @contextmanager
    def in_namespace(self) -> Iterator[str]:
        """Work in a new namespace, and delete it at the end of the block.

        ``namespace`` is its name in the block; no fault outlives the block, and
        ``requests`` has those of the block.
        """
        name, outer = f"test-{next(self._numbers)}", self.namespace
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
        self.namespace = name
        with self.alone():
            try:
                yield name
            finally:
                self.namespace = outer
                self._server.call("delete_namespace", name)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no fault outlive the block; ``requests`` has those of the block."""
        self.clear_faults()
        self.clear_requests()
        try:
            yield
        finally:
            self.clear_faults()
            self._warn()

    def _warn(self) -> None:
        """Tell the test what the server warned of."""
        texts: list[str] = []
        # A server that was ended has nothing to tell any more.
        with suppress(KubernetesApiError):
            texts = self._server.call("take_warnings")
        for text in texts:
            warnings.warn(text, KubernetesApiWarning, stacklevel=3)

    def reset(self) -> None:
        """Bring the server back to its start: no objects, faults or requests."""
        self.clear_faults()
        self.restore(self._initial)
        self.clear_requests()
        self._server.call("forget_webhooks")
        self.namespace = "default"

    def fail_next(
        self,
        status: int,
        *,
        verb: str = "",
        resource: str = "",
        times: int = 1,
        message: str = "",
        retry_after: int | None = None,
    ) -> None:
        """Answer the next requests with a Status, worded as an API server words it.

        ``verb`` is get, list, watch, create, update, patch, delete or deletecollection,
        ``resource`` as in the rules of a Role: ``pods``, ``deployments.apps``,
        ``pods/status``; empty for any. With ``times=0`` it lasts until
        ``clear_faults``. A ``message`` replaces that of the status. Only requests about
        objects fail.

        ``retry_after`` is the header Retry-After in seconds, and 0 for none; as of a
        kube-apiserver it is 1 with the status 429, and otherwise there is none. The
        official client, and all others over urllib3, repeat a GET, PUT or DELETE by
        themselves when they get a 429 or a 503 with this header, so that the code under
        test sees the answer to the second one.

        Raises KubernetesApiError for an unknown verb or status.
        """
        fault = Fault(
            verb=verb,
            resource=resource,
            status=status,
            times=times,
            message=message,
            retry_after=retry_after,
        )
        self._server.call("add_fault", fault)

    def delay(
        self, seconds: float, *, verb: str = "", resource: str = "", times: int = 0
    ) -> None:
        """Let requests wait before they are answered; see ``fail_next``."""
        fault = Fault(verb=verb, resource=resource, seconds=seconds, times=times)
        self._server.call("add_fault", fault)

    def clear_faults(self) -> None:
        """Answer all requests again, without delay."""
        self._server.call("clear_faults")

    @property
    def requests(self) -> list[Request]:
        """The requests that were answered, in their order.

        These are the last 10,000, and those whose bodies have 64 MB in all.
        """
        requests: list[Request] = self._server.call("requests")
        return requests

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._server.call("clear_requests")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<KubernetesApi {self.url}>"


def make_client(name: str, url: str, kubeconfig: Path) -> Any:
    """Make a client. Raises KubernetesApiError."""
    make = _CLIENTS.get(name)
    if make is None:
        raise KubernetesApiError(
            f"unknown client {name!r}", hint="known are " + ", ".join(_CLIENTS)
        )
    package = name.partition(".")[0]
    try:
        import_module(package)
    except ImportError as error:
        raise KubernetesApiError(
            f"the client {name} cannot be imported: {error}",
            hint=f"pip install {package}",
            code="missing-package",
        ) from error
    return make(name, url, kubeconfig)


# Each without the proxies that the environment names: the server is on this machine.


def _api_client(name: str, url: str, _kubeconfig: Path) -> Any:
    module = import_module(f"{name}.client")
    configuration = module.Configuration(host=url)
    configuration.proxy = None
    return module.ApiClient(configuration)


def _lightkube(name: str, _url: str, kubeconfig: Path) -> Any:
    module = import_module(name)
    config = module.KubeConfig.from_file(kubeconfig)
    return module.Client(config=config, trust_env=False)


def _kr8s(name: str, _url: str, kubeconfig: Path) -> Any:
    return import_module(name).api(kubeconfig=str(kubeconfig))


def _httpx(name: str, url: str, _kubeconfig: Path) -> Any:
    return import_module(name).Client(base_url=url, trust_env=False)


_CLIENTS: Final[Mapping[str, Callable[[str, str, Path], Any]]] = {
    "kubernetes": _api_client,
    "kubernetes_asyncio": _api_client,
    "lightkube": _lightkube,
    "kr8s": _kr8s,
    "kr8s.asyncio": _kr8s,
    "httpx": _httpx,
}
