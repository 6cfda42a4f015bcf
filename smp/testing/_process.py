"""The server as a process of its own, with an interpreter of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from threading import Lock
from typing import IO, Any, cast

from smp.server.settings import Settings
from smp.testing._faults import KubernetesApiError


class ServerProcess:
    """A server that runs from its making until ``stop``, or until this process ends."""

    def __init__(self, settings: Settings) -> None:
        # One operation at a time: the answers have no names.
        self._lock = Lock()
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
