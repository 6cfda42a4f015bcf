"""What goes wrong between a client and an API server, worded as kubectl words it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

import msgspec

from smp._values import codec
from smp._values.values import JSONObject, as_list, as_object, as_text
from smp.cluster.plan.exchange import PlannedRequest, Response
from smp.errors import SmpError

# Go: metav1.StatusReason, of the answers that have no Status.
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
# Bad Gateway and Gateway Timeout, which a server itself calls Timeout.
_LOST: Final = (502, 504)
_SHOWN_BODY: Final = 2048


class StatusCause(msgspec.Struct, frozen=True):
    """One cause of a Status: a field, what is wrong with it, and the kind of error."""

    field: str
    message: str
    reason: str


class ApiError(SmpError):
    """An answer of the API server that is an error.

    ``is_unknown`` says that a write may have been done all the same: a proxy lost its
    server, or the server ran out of time. ``status`` is its HTTP status; ``reason``,
    ``message`` and ``causes`` are those of its Status. ``code`` is the reason in
    kebab-case, such as not-found, already-exists, conflict and invalid.
    """

    default_code = "refused-by-server"

    def __init__(self, answer: Response, request: PlannedRequest) -> None:
        body: JSONObject = {}
        with suppress(SmpError):
            body = codec.decode_object(answer.body)
        # A proxy may answer with JSON of its own.
        if body.get("kind") != "Status":
            body = {}
        details = as_object(body.get("details"))
        # Where a list may go on that took too long (Go: handleCompactedErrorForPaging).
        self.resume: str = as_text(as_object(body.get("metadata")).get("continue"))
        self.is_unknown: bool = request.method != "GET" and answer.status in _LOST
        self.status: int = answer.status
        # Go: errors.ReasonForError. A Status may have no reason, and is shown so.
        self._named = as_text(body.get("reason"))
        if not body:
            self._named = _REASONS.get(answer.status, "")
        self.reason: str = self._named or _REASONS.get(answer.status, "")
        self.message: str = as_text(body.get("message"))
        if not self.message:
            # A proxy answers without a Status (Go: errors.NewGenericServerResponse).
            text = answer.body[:_SHOWN_BODY].decode(errors="replace").strip()
            said = f": {text}" if text else ""
            verb = request.method.lower()
            self.message = (
                f"the server answered {answer.status} to {verb} {request.path}{said}"
            )
        self.causes: tuple[StatusCause, ...] = tuple(
            StatusCause(*[as_text(cause.get(n)) for n in StatusCause.__struct_fields__])
            for cause in map(as_object, as_list(details.get("causes")))
        )
        self.kind: str = as_text(details.get("kind"))
        self.name: str = as_text(details.get("name"))
        # NotFound is not-found.
        code = re.sub("(?<=[a-z])(?=[A-Z])", "-", self.reason).lower()
        super().__init__(self._text(), code=code or None)

    def _text(self) -> str:
        """Word the error. Go: k8s.io/kubectl, cmdutil.checkErr."""
        # Go: StandardErrorMessage.
        if self.reason == "Unauthorized":
            return f"You must be logged in to the server ({self.message})"
        if self.reason != "Invalid":
            named = f" ({self._named})" if self._named else ""
            return f"Error from server{named}: {self.message}"
        text = "The request is invalid"
        if self.kind or self.name:
            text = f'The {self.kind} "{self.name}" is invalid'
        elif self.message and not self.causes:
            text = f"{text}: {self.message}"
        # The causes say more than the message, which repeats them.
        texts = dict.fromkeys(
            f"{cause.field}: {cause.message}" for cause in self.causes
        )
        if len(texts) == 1:
            return f"{text}: {next(iter(texts))}"
        lines = "".join(f"\n* {line}" for line in texts)
        return f"{text}:{lines}" if lines else text


class BrokenConnectionError(SmpError):
    """A request that was not answered.

    ``sent`` is False where the server cannot have seen it. Otherwise a write may have
    been done, and only a look at the object tells: ``is_unknown`` is True.
    """

    default_code = "broken-connection"
    status = 503

    def __init__(self, method: str, reason: str, *, sent: bool = True) -> None:
        known = "" if sent else "; the request was not sent"
        hint = ""
        if sent and method != "GET":
            known = "; whether the server has done it is not known"
            hint = "run it again: what was done then shows as unchanged"
        super().__init__(
            f"the connection to the API server broke: {reason}{known}", hint=hint
        )
        self.sent = sent
        self.is_unknown: bool = sent and method != "GET"


class UnreadableAnswerError(SmpError):
    """A success whose answer is no object: it was cut, or is that of another program.

    Where it answers a write, what the server has stored is not known.
    """

    default_code = "unreadable-answer"
    status = 502

    def __init__(self, error: SmpError, *, is_write: bool = True) -> None:
        super().__init__(f"the answer of the API server cannot be read: {error}")
        self.is_unknown = is_write


class NoKindMatchError(SmpError):
    """A kind that the API server does not serve (Go: meta.NoKindMatchError)."""

    default_code = "no-kind-match"
    status = 404

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(
            f'no matches for kind "{kind}" in version "{api_version}"',
            hint="ensure CRDs are installed first",
        )


class NoResourceTypeError(NoKindMatchError):
    """A name that no resource of the API server has."""

    def __init__(self, name: str) -> None:
        # Go: k8s.io/cli-runtime/pkg/resource, Builder.mappingFor.
        SmpError.__init__(
            self,
            f'the server doesn\'t have a resource type "{name}"',
            hint="ensure CRDs are installed first",
        )


class NotInTimeError(SmpError):
    """Something that did not happen in time."""

    default_code = "timeout"
    status = 504
