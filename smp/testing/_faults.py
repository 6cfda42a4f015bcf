"""Faults: which requests they concern, and the Status that a failed one gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec
from starlette.responses import Response

from smp.errors import SmpError
from smp.handler import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    ModifiedError,
    NotFoundError,
    StatusError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from smp.paths import Path
from smp.server.endpoints.answers import error_response
from smp.server.errors import RefusalError, UnknownResourceError, forbidden
from smp.server.registry.target import Target
from smp.server.store import StoreError

VERBS: Final = (
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
)


_SPEC: Final = Path() / "spec"
_TOO_MANY_REQUESTS: Final = 429


class KubernetesApiWarning(UserWarning):
    """A warning of the server about a write: a header Warning of its answer."""


class KubernetesApiError(SmpError):
    """What an API server for tests was asked for and cannot do."""

    default_code = "kubernetes-api"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to requests of a verb on a resource; empty stands for any.

    They wait for some seconds, and are answered with a status other than 0. ``times``
    is the number of requests that it concerns, 0 for all. ``retry_after`` is the header
    of this name, in seconds, 0 for none; None is what a kube-apiserver sends.
    """

    verb: str = ""
    resource: str = ""
    status: int = 0
    message: str = ""
    seconds: float = 0
    times: int = 0
    retry_after: int | None = None

    def __post_init__(self) -> None:
        # A misspelled fault would never happen, and its test would pass for nothing.
        if self.verb and self.verb not in VERBS:
            raise KubernetesApiError(
                f"unknown verb {self.verb!r}", hint="known are " + ", ".join(VERBS)
            )
        if self.status and self.status not in _ERRORS:
            raise KubernetesApiError(
                f"cannot answer the status {self.status}",
                hint="known are " + ", ".join([str(status) for status in _ERRORS]),
            )
        if min(self.seconds, self.times, self.retry_after or 0) < 0:
            raise KubernetesApiError("a number of seconds or times is negative")

    def concerns(self, verb: str, target: Target) -> bool:
        """Tell whether a request is one of them."""
        if self.verb not in ("", verb):
            return False
        if not self.resource:
            return True
        # As in the rules of a Role: ``pods`` are not ``pods/status``.
        plural, _, subresource = self.resource.partition("/")
        names = (target.resource.plural, target.resource.qualified)
        return plural in names and subresource == target.subresource

    def response(self, verb: str, target: Target) -> Response:
        """Answer a request."""
        error = _ERRORS[self.status](verb, target, self.message)
        response = error_response(error, target)
        seconds = self.retry_after
        if seconds is None:
            # Go: k8s.io/apiserver, server/filters, tooManyRequests. What else makes an
            # error says nothing of a retry: apierrors.NewServiceUnavailable.
            seconds = 1 if self.status == _TOO_MANY_REQUESTS else 0
        if seconds:
            response.headers["retry-after"] = str(seconds)
        else:
            del response.headers["retry-after"]
        return response


class _ForbiddenCollectionError(ForbiddenError):
    """A request about a collection that is not allowed (Go: apierrors.NewForbidden)."""

    form = "{resource} is forbidden: {problem}"


class _UnavailableError(StoreError):
    """A server that cannot answer now."""

    status = 503


class _ExpiredError(SmpError):
    """A resourceVersion that is no longer in the history."""

    default_code = "expired"
    status = 410


def forbidden_error(verb: str, target: Target, message: str) -> SmpError:
    """Make the error of a request that is not allowed."""
    # Go: k8s.io/apiserver, endpoints/handlers/responsewriters, forbiddenMessage.
    resource = target.resource
    plural = resource.plural
    if target.subresource:
        plural = f"{plural}/{target.subresource}"
    scope = "at the cluster scope"
    if target.namespace:
        scope = f'in the namespace "{target.namespace}"'
    problem = message or (
        f'User "system:anonymous" cannot {verb} resource "{plural}"'
        f' in API group "{resource.group}" {scope}'
    )
    if target.name:
        return ForbiddenError(problem)
    return _ForbiddenCollectionError(problem)


def not_found_error(_verb: str, target: Target, message: str) -> SmpError:
    """Make the error of an object, or of a resource, that does not exist."""
    if target.name and not message:
        return NotFoundError("not found")
    # Go: apierrors.NewGenericServerResponse.
    return UnknownResourceError(
        message or "the server could not find the requested resource"
    )


def conflict_error(verb: str, _target: Target, message: str) -> SmpError:
    """Make the error of an object that exists, or was changed meanwhile."""
    if verb == "create":
        return AlreadyExistsError(message or "already exists")
    return ModifiedError(message)


def invalid_error(_verb: str, _target: Target, message: str) -> SmpError:
    """Make the error of an object with values that are not allowed."""
    detail = message or "the test refuses it"
    return InvalidError((forbidden(_SPEC, detail),))


def _make_error(
    error: Callable[[str], SmpError], text: str
) -> Callable[[str, Target, str], SmpError]:
    """Return what makes an error whose text does not depend on the request."""

    def make(_verb: str, _target: Target, message: str) -> SmpError:
        return error(message or text)

    return make


# The texts are those of Go's apierrors where it has one for the status.
_ERRORS: Final[Mapping[int, Callable[[str, Target, str], SmpError]]] = {
    400: _make_error(
        StatusError, "the server rejected our request for an unknown reason"
    ),
    401: _make_error(partial(RefusalError, 401), "Unauthorized"),
    403: forbidden_error,
    404: not_found_error,
    405: _make_error(
        MethodNotAllowedError,
        "the server does not allow this method on the requested resource",
    ),
    409: conflict_error,
    410: _make_error(
        _ExpiredError, "The provided resource version is too old to be served."
    ),
    413: _make_error(TooLargeError, "limit is 3145728"),
    415: _make_error(
        UnsupportedMediaTypeError,
        "the body of the request was in an unknown format",
    ),
    422: invalid_error,
    429: _make_error(
        partial(RefusalError, 429), "too many requests, please try again later"
    ),
    500: _make_error(
        partial(RefusalError, 500), "Internal error occurred: the test wants it"
    ),
    503: _make_error(
        _UnavailableError, "the server is currently unable to handle the request"
    ),
    504: _make_error(
        partial(RefusalError, 504),
        "Timeout: request did not complete within requested timeout"
        " - context deadline exceeded",
    ),
}
