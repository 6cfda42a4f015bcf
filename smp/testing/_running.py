"""The server while it runs: on a thread of this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import IO, Any, Final, cast

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


class ServerProcess:
    """A server that runs from its making until ``stop``, or until this process ends."""

    def __init__(self, settings: Settings) -> None:
        # One operation at a time: the answers have no names.
        self._lock = threading.Lock()
        # Its modules are found where those of this process were. In a session of its
        # own an interrupt at the terminal does not reach it before the tests end.
        self._process = subprocess.Popen(  # this interpreter
            [sys.executable, "-m", "smp.testing._child"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        # There are both, as they are pipes.
        self._operations = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        try:
            self.url: str = self._exchange(settings)
        except BaseException:
            self.stop()
            raise

    def call(self, operation: str, *arguments: Any) -> Any:
        """Call a method of the TestServer, in the process.

        Raises what it raises, and KubernetesApiError where the process ended.
        """
        return self._exchange((operation, arguments))

    def stop(self) -> None:
        """End the process; a second time does nothing."""
        # The end of its input ends it; what it still answers is not read.
        self._operations.close()
        self._answers.close()
        self._process.wait()

    def _exchange(self, message: Any) -> Any:
        """Send a message and return the answer, or raise it."""
        with self._lock:
            try:
                self._operations.write(pickle.dumps(message))
                self._operations.flush()
                # From our own process.
                error, value = pickle.load(self._answers)  # noqa: S301
            except (OSError, EOFError, ValueError):  # ValueError: the pipe was closed
                raise KubernetesApiError("the API server is not running") from None
        if error:
            raise error
        return value
