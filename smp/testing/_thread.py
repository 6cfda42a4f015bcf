"""The server on a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, Final

from smp.server.run import Server, open_listening_socket
from smp.server.settings import Listener, Settings
from smp.testing._faults import KubernetesApiError
from smp.testing._server import TestServer, run

_LISTENER: Final = Listener(port=0)


class ServerThread:
    """A server that runs from its making until ``stop``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # What other threads need of the thread of the server.
        self._started: Future[
            tuple[str, asyncio.AbstractEventLoop, Server, TestServer]
        ] = Future()
        # A test that forgets to stop it must not keep the process from ending.
        self._thread = threading.Thread(
            target=self._run, name="smp-kubernetes-api", daemon=True
        )
        self._thread.start()
        self.url, self._loop, self._server, self._test_server = self._started.result()

    def call(self, operation: str, *arguments: Any) -> Any:
        """Call a method of the TestServer, in its event loop.

        Raises what it raises, and KubernetesApiError after ``stop``.
        """
        if not self._thread.is_alive():
            raise KubernetesApiError("the API server is not running")
        answer = getattr(self._test_server, operation)(*arguments)
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()

    def stop(self) -> None:
        """End the server and its thread; a second time does nothing."""
        self._server.end()
        self._thread.join()

    def _run(self) -> None:
        try:
            with open_listening_socket(_LISTENER) as listening:
                url = _LISTENER.url(listening.getsockname()[1])

                def ready(server: Server, test_server: TestServer) -> None:
                    loop = asyncio.get_running_loop()
                    self._started.set_result((url, loop, server, test_server))

                asyncio.run(run(self._settings, _LISTENER, listening, ready))
        except BaseException as error:
            # The thread that waits for the start raises it.
            if self._started.done():
                raise
            self._started.set_exception(error)
