"""Several processes that serve on one socket, so that all processors work.

The parent accepts no connections. It starts the processes, says that the server is
ready when all of them are, starts another one in place of one that ends, and ends them
all when it is asked to. They are forked before there is a thread or an event loop, and
share the memory of what has been imported.

Each has one end of a pipe, whose other end the parent alone has: when the parent closes
it, or is killed, the process finishes its requests and ends. So signals concern the
parent alone; the processes are in a process group of their own, where an interrupt from
the terminal does not reach them.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Final, TypeAlias

from smp.errors import SmpError
from smp.server.settings import SettingsError

# Serves until the connection is closed; calls the function when it is ready.
Serving: TypeAlias = Callable[[Connection, Callable[[], None]], None]

_LOG: Final = logging.getLogger(__name__)


def serve_in_processes(
    count: int, serving: Serving, on_ready: Callable[[], None]
) -> None:
    """Serve with several processes until SIGINT or SIGTERM.

    ``on_ready`` is called once, when all are ready. Raises what ``serving`` raises
    before it is ready, and SettingsError where a process ends before that.
    """
    processes = _Processes(count, serving)
    with processes.ended_by_signals():
        try:
            processes.start()
            if not processes.is_ending():
                on_ready()
            processes.watch()
        finally:
            processes.end()


class _Processes:
    """The processes, by the connection on which each says that it is ready."""

    def __init__(self, count: int, serving: Serving) -> None:
        self._count = count
        self._serving = serving
        self._context = multiprocessing.get_context("fork")
        # No process gets anything from this pipe but its end.
        self._alive, self._parent_end = self._context.Pipe(duplex=False)
        self._running: list[BaseProcess] = []

    @contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """Let the first signal end the processes gracefully, the second at once."""

        def handle(sig: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's
            if self.is_ending():
                for process in self._running:
                    process.kill()
            self._parent_end.close()

        numbers = (signal.SIGINT, signal.SIGTERM)
        former = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def start(self) -> None:
        """Start all, and wait until they are ready."""
        for connection in [self._begin() for _ in range(self._count)]:
            self._await_ready(connection)

    def watch(self) -> None:
        """Start another process in place of each that ends, until they are to end."""
        while not self.is_ending():
            ended = wait([process.sentinel for process in self._running])
            for process in [each for each in self._running if each.sentinel in ended]:
                process.join()
                self._running.remove(process)
                if self.is_ending():
                    continue
                fields = {"pid": process.pid, "exit_code": process.exitcode}
                _LOG.error("a process of the server ended", extra={"fields": fields})
                self._await_ready(self._begin())

    def end(self) -> None:
        """End all, and wait for that."""
        self._parent_end.close()
        for process in self._running:
            process.join()

    def is_ending(self) -> bool:
        """Tell whether the processes were asked to end."""
        return self._parent_end.closed

    def _begin(self) -> Connection:
        """Start a process; return the connection on which it says that it is ready."""
        answers, answer = self._context.Pipe(duplex=False)
        process = self._context.Process(target=self._serve, args=(answer,))
        process.start()
        # What only the process has ends with it.
        answer.close()
        self._running.append(process)
        return answers

    def _serve(self, answer: Connection) -> None:
        """Serve, in a process of its own."""
        self._parent_end.close()
        os.setpgid(0, 0)
        try:
            self._serving(self._alive, lambda: answer.send(None))
        except SmpError as error:
            answer.send(error)

    def _await_ready(self, connection: Connection) -> None:
        with connection:
            try:
                error: SmpError | None = connection.recv()
            except EOFError:
                if self.is_ending():
                    return
                raise SettingsError(
                    "a process of the server ended before it was ready", code="ended"
                ) from None
        if error is not None:
            raise error
