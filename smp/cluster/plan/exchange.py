"""What a plan asks for, and what it is answered.

Theory of operation. A plan is a generator without I/O. It yields steps, and is sent an
answer for each:

- a ``PlannedRequest`` is answered with a ``Response``, or with a ``BrokenConnection``;
- a ``Pause`` is answered with the seconds since the run began; a pause of 0 seconds
  only asks for them;
- a ``Progress`` tells what was done; it has no answer;
- ``Together`` holds plans that may run at one time. It is answered with what each of
  them returned, in their order.

What the generator returns is the result of the plan. A driver (smp.cluster.drive) does
what the steps say, over a client, with or without asyncio, or from a transcript of an
earlier run. A plan has no clock, draws no random numbers and keeps nothing outside
itself, so that equal answers lead to equal steps.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")


class PlannedRequest(msgspec.Struct, frozen=True):
    """A request to an API server.

    ``path`` begins with a slash and is percent-encoded. ``query`` and ``headers`` are
    pairs, in order. ``body`` is empty for a request without one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Response(msgspec.Struct, frozen=True):
    """The answer of an API server; a header may be there several times."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the first value of a header; empty where there is none."""
        return next(iter(self.headers_named(name)), "")

    def headers_named(self, name: str) -> list[str]:
        """Return all values of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


class BrokenConnection(msgspec.Struct, frozen=True):
    """No answer: the connection broke, or there was none.

    ``reason`` says what is known of it. ``sent`` is False where the server cannot have
    seen the request.
    """

    reason: str
    sent: bool = True


class Pause(msgspec.Struct, frozen=True):
    """A pause of some seconds."""

    seconds: float


class Progress(msgspec.Struct, frozen=True):
    """How far a run is: so many of all objects, and what became of the last one.

    ``result`` is that as data: an Applied, or a Waited.
    """

    done: int
    total: int
    what: str
    result: object = None


class Together(msgspec.Struct, frozen=True):
    """Plans that may run at one time; none of them raises."""

    plans: tuple[Plan[Any], ...]


Step: TypeAlias = PlannedRequest | Pause | Progress | Together
Answer: TypeAlias = Response | BrokenConnection | float | list[Any] | None
Plan: TypeAlias = Generator[Step, Answer, T]


def pause(seconds: float) -> Plan[float]:
    """Wait, and return the seconds since the run began."""
    elapsed = yield Pause(seconds)
    if not isinstance(elapsed, (int, float)):
        raise TypeError("a pause is answered with the seconds since the run began")
    return elapsed


def together(plans: list[Plan[T]]) -> Plan[list[T]]:
    """Run plans at one time, and return their results in order."""
    if not plans:
        return []
    results = yield Together(tuple(plans))
    if not isinstance(results, list):
        raise TypeError("plans that run together are answered with a list of results")
    return results


def run_in_turn(plans: Iterable[Plan[T]]) -> Plan[list[T]]:
    """Run plans one after the other, and return their results in order."""
    results = []
    for plan in plans:
        results.append((yield from plan))  # noqa: PERF401  # no list has a yield
    return results
