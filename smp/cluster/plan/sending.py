"""Sending a request as client-go does: what is sent again, and what is an error."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from smp._values import codec
from smp._values.last_applied import print_by_go
from smp._values.values import JSON, JSONObject
from smp.cluster.plan.exchange import (
    BrokenConnection,
    Plan,
    PlannedRequest,
    Response,
    pause,
)
from smp.cluster.plan.failures import (
    ApiError,
    BrokenConnectionError,
    UnreadableAnswerError,
)
from smp.errors import SmpError

# Go: k8s.io/client-go/rest, Request.maxRetries.
MAX_RETRIES: Final = 10
# A code, the agent, and quoted text in which a backslash takes the next character.
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
JSON_TYPE: Final = "application/json"
_UNESCAPED: Final = "$&+,:;=@"
# Go: checkWait.
_BUSY: Final = (429,)
_SERVER_ERRORS: Final = 500
# What is redirected was not done either: an API server redirects no such request.
_ERRORS: Final = 300
_MOST_DIGITS: Final = 9  # of the seconds to wait


def body_of(value: JSON) -> bytes:
    """Print the body of a request as Go does: keys in order, <, > and & escaped."""
    return print_by_go(value).encode()


def get_request(path: str, query: tuple[tuple[str, str], ...] = ()) -> PlannedRequest:
    """Make a request that reads JSON."""
    return PlannedRequest("GET", path, query, (("Accept", JSON_TYPE),))


def write_request(
    method: str,
    path: str,
    query: tuple[tuple[str, str], ...],
    body: bytes,
    media_type: str = JSON_TYPE,
) -> PlannedRequest:
    """Make a request that writes a body, and reads JSON."""
    headers = (("Accept", JSON_TYPE), ("Content-Type", media_type))
    return PlannedRequest(method, path, query, headers, body)


def exchange(request: PlannedRequest, *, waits: bool = True) -> Plan[Response]:
    """Send a request and return the answer, whatever its status is.

    Unless it ``waits``, a server that cannot be reached is an error at once.

    A request is sent again where the server says when (429 and 5xx with Retry-After),
    and a GET where the connection broke; a write is never, as it may have been done.
    Raises BrokenConnectionError (Go: k8s.io/client-go/rest, withRetry.IsNextRetry).
    """
    for attempt in range(MAX_RETRIES + 1):
        answer = yield request
        if isinstance(answer, Response):
            is_busy = answer.status in _BUSY or answer.status >= _SERVER_ERRORS
            seconds = answer.header("Retry-After")
            # Go: retryAfterSeconds, which reads a number, no date. A longer one is no
            # time that a client could wait.
            is_asked = seconds.isascii() and seconds.isdecimal()
            is_asked = is_asked and len(seconds) <= _MOST_DIGITS
            if not is_busy or not is_asked or attempt == MAX_RETRIES:
                return answer
            yield from pause(int(seconds))
        elif not isinstance(answer, BrokenConnection):
            raise TypeError("a request is answered with a Response")
        elif (
            request.method != "GET"
            or attempt == MAX_RETRIES
            or not (answer.sent or waits)
        ):
            raise BrokenConnectionError(request.method, answer.reason, sent=answer.sent)
        else:
            # Go: retryAfterResponse, which asks for one second.
            yield from pause(1)
    raise AssertionError("the last attempt returns or raises")


def send(request: PlannedRequest) -> Plan[Response]:
    """Send a request and return the answer, which is a success.

    Raises ApiError for all others, and BrokenConnectionError.
    """
    answer = yield from exchange(request)
    if answer.status >= _ERRORS:
        raise ApiError(answer, request)
    return answer


def send_for_object(request: PlannedRequest) -> Plan[JSONObject]:
    """Send a request that is answered with an object, and return it.

    Raises what ``send`` raises, and UnreadableAnswerError.
    """
    answer = yield from send(request)
    return object_of(answer, is_write=request.method != "GET")


def object_of(answer: Response, *, is_write: bool = True) -> JSONObject:
    """Return the object of an answer. Raises UnreadableAnswerError."""
    try:
        return codec.decode_object(answer.body)
    except SmpError as error:
        raise UnreadableAnswerError(error, is_write=is_write) from error


def exists_after(
    request: PlannedRequest, *, waits: bool = True
) -> Plan[JSONObject | None]:
    """Send a GET and return the object, or None where there is none.

    Raises what ``send_for_object`` raises for other answers.
    """
    answer = yield from exchange(request, waits=waits)
    if is_not_found(answer):
        return None
    if answer.status >= _ERRORS:
        raise ApiError(answer, request)
    return object_of(answer, is_write=False)


def is_not_found(answer: Response) -> bool:
    """Tell whether a server says that an object does not exist.

    A path that no resource has is answered with 404 as well, and no Status of that
    reason (Go: errors.IsNotFound looks at the reason, then at the code).
    """
    return answer.status == 404  # noqa: PLR2004  # Not Found


def warnings_of(answer: Response) -> list[str]:
    """Return the texts of the Warning headers with the code 299.

    RFC 7234, section 5.5: ``299 - "text"``, where a quote has a backslash before it.
    """
    found = []
    for header in answer.headers_named("Warning"):
        match = _WARNING.match(header)
        if match is not None:
            found.append(re.sub(r"\\(.)", r"\1", match[1]))
    return found


def path_of(*segments: str) -> str:
    """Join the segments of a path, percent-encoded; empty ones are left out.

    Go: net/url, shouldEscape of encodePath.
    """
    return "".join(
        f"/{quote(segment, safe=_UNESCAPED)}" for segment in segments if segment
    )
