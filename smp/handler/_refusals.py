"""Refusals in the words of an API server: errors, and the ``v1`` Status that tells them
to a client.

Words and shapes are those of Go's k8s.io/apimachinery, pkg/api/errors and
pkg/util/validation/field, because kubectl prints some of them by their reason: an
Invalid by its causes only, never by its message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from smp import codec
from smp.errors import SmpError, UnionError
from smp.values import JSON, JSONObject
from smp.violations import Violation


class StatusError(SmpError):
    """A request that is refused: a BadRequest, unless a subclass says otherwise.

    ``reason`` is that of the Status, ``form`` its message.
    """

    default_code = "bad-request"
    reason: ClassVar[str] = "BadRequest"
    form: ClassVar[str] = "{problem}"


class ForbiddenError(StatusError):
    """What somebody may not do."""

    default_code = "forbidden"
    status = 403
    reason = "Forbidden"
    form = "{resource} {name} is forbidden: {problem}"


class NotFoundError(StatusError):
    """An object that is not there."""

    default_code = "not-found"
    status = 404
    reason = "NotFound"
    form = "{resource} {name} not found"


class MethodNotAllowedError(StatusError):
    """A method that an endpoint does not have."""

    default_code = "method-not-allowed"
    status = 405
    reason = "MethodNotAllowed"


class AlreadyExistsError(StatusError):
    """A name that is taken."""

    default_code = "already-exists"
    status = 409
    reason = "AlreadyExists"
    form = "{resource} {name} already exists"


class ModifiedError(StatusError):
    """An object that is not, or no longer, the one that the request is about."""

    default_code = "modified"
    status = 409
    reason = "Conflict"
    form = "Operation cannot be fulfilled on {resource} {name}: {problem}"

    def __init__(
        self,
        problem: str = "the object has been modified; please apply your changes to the latest version and try again",
    ) -> None:
        super().__init__(problem)


class TooLargeError(StatusError):
    """A body, or a patch, beyond the limits."""

    default_code = "too-large"
    status = 413
    reason = "RequestEntityTooLarge"
    form = "Request entity too large: {problem}"


class UnsupportedMediaTypeError(StatusError):
    """A patch of a type that is not accepted."""

    default_code = "unsupported-media-type"
    status = 415
    reason = "UnsupportedMediaType"


class InvalidError(StatusError):
    """An object with values that are not allowed; ``violations`` are the causes of its
    Status.
    """

    default_code = "invalid"
    status = 422
    reason = "Invalid"
    form = "{kind} {name} is invalid: {problem}"

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(map(str, self.violations)))


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused request: the Status to answer, with its HTTP code, and warnings."""

    status: JSONObject
    code: int
    warnings: tuple[str, ...] = ()

    @property
    def body(self) -> bytes:
        """The Status as JSON."""
        return codec.encode(self.status)


# How to word the errors of others, by their status.
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_FORMS: Final = {409: ModifiedError.form, 422: InvalidError.form}
_ABOUT_A_RESOURCE: Final = frozenset(
    {"Forbidden", "NotFound", "MethodNotAllowed", "AlreadyExists", "Conflict"}
)


def to_status(
    problem: SmpError | Iterable[Violation],
    *,
    name: str = "",
    group: str = "",
    kind: str = "",
    resource: str = "",
    warnings: Iterable[str] = (),
) -> Refused:
    """Word an error, or violations, as the Status that an API server would answer.

    ``resource`` is the plural name without its group. An error may bring a ``reason``
    and a ``form`` as a StatusError does, and ``violations``; another one is worded by its
    status. What is Invalid always has causes.
    """
    error = problem if isinstance(problem, SmpError) else InvalidError(problem)
    reason = str(getattr(error, "reason", "") or _REASONS.get(error.status, "Unknown"))
    causes = _causes(error) if reason == "Invalid" else []
    words = {
        "problem": _aggregated(causes)
        or (error.problem if reason in _ABOUT_A_RESOURCE else str(error)),
        "name": json.dumps(name, ensure_ascii=False),
        "kind": _qualified(kind, group),
        "resource": _qualified(resource, group),
    }
    form = str(getattr(error, "form", "") or _FORMS.get(error.status, "{problem}"))
    about = (
        resource if reason in _ABOUT_A_RESOURCE else kind if reason == "Invalid" else ""
    )
    details = (
        _details(name=name, group=group, kind=about, causes=[*causes])
        if about or causes
        else {}
    )
    status = _status(reason, form.format_map(words), error.status, details)
    return Refused(status, error.status, tuple(warnings))


def _status(reason: str, message: str, code: int, details: JSONObject) -> JSONObject:
    failure: JSONObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
    }
    return {
        **failure,
        "message": message,
        "reason": reason,
        **({"details": details} if details else {}),
        "code": code,
    }


def _details(**members: JSON) -> JSONObject:
    return {name: value for name, value in members.items() if value}


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _causes(error: SmpError) -> list[JSONObject]:
    violations: Iterable[Violation] = getattr(error, "violations", ())
    return [violation.cause for violation in violations] or [
        *map(_cause, _parts(error))
    ]


def _parts(error: SmpError) -> Iterable[SmpError]:
    return error.problems if isinstance(error, UnionError) else (error,)


def _cause(error: SmpError) -> JSONObject:
    # The advice alone: the client of a server cannot set an option of this library.
    message = error.problem + (f" ({error.advice})" if error.advice else "")
    cause = Violation(error.code, error.path, "FieldValueInvalid", message).cause
    # What is wrong with the whole is wrong with the patch.
    return {**cause, "field": cause["field"] or "patch"}


def _aggregated(causes: list[JSONObject]) -> str:
    """Join causes as Go does (field.ErrorList.ToAggregate): each once, several of them
    in brackets.
    """
    texts = list(
        dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes)
    )
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)
