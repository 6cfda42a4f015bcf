"""Requests about objects: from a path and a method to an operation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from smp.errors import SmpError
from smp.handler import MethodNotAllowedError, warning_headers
from smp.server.endpoints import pods, reviews
from smp.server.endpoints.answers import error_response
from smp.server.endpoints.bodies import TooManyRequestsError
from smp.server.endpoints.call import CALL, Call
from smp.server.endpoints.lists import list_objects
from smp.server.endpoints.objects import create, delete, delete_collection, get
from smp.server.endpoints.updates import patch, update
from smp.server.endpoints.watch import watch
from smp.server.registry.objects import RelatedNotFoundError
from smp.server.registry.state import ServerState
from smp.server.registry.target import METHODS, Target

_OPERATIONS: Final[dict[str, Callable[[Call], Awaitable[Response]]]] = {
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
    "get": get,
    "list": list_objects,
    "patch": patch,
    "update": update,
}


# What is done with a resource, or a subresource, that is not written as an object is.
_ACTIONS: Final[dict[tuple[str, str, str], Callable[[Call], Awaitable[Response]]]] = {
    ("", "bindings", ""): pods.bind,
    ("", "componentstatuses", ""): reviews.component_statuses,
    ("", "nodes", "proxy"): pods.proxy,
    ("", "pods", "attach"): pods.connect,
    ("", "pods", "binding"): pods.bind,
    ("", "pods", "eviction"): pods.evict,
    ("", "pods", "exec"): pods.connect,
    ("", "pods", "log"): pods.log,
    ("", "pods", "portforward"): pods.connect,
    ("", "pods", "proxy"): pods.connect,
    ("", "serviceaccounts", "token"): reviews.service_account_token,
    ("", "services", "proxy"): pods.proxy,
    ("authentication.k8s.io", "selfsubjectreviews", ""): reviews.self_subject,
    ("authentication.k8s.io", "tokenreviews", ""): reviews.token,
    ("authorization.k8s.io", "localsubjectaccessreviews", ""): reviews.access,
    ("authorization.k8s.io", "selfsubjectaccessreviews", ""): reviews.access,
    ("authorization.k8s.io", "selfsubjectrulesreviews", ""): reviews.rules,
    ("authorization.k8s.io", "subjectaccessreviews", ""): reviews.access,
}


# Since which minor version resources are deprecated. Go: APILifecycleDeprecated, in
# zz_generated.prerelease-lifecycle.go of k8s.io/api.
_DEPRECATED: Final = {
    ("", "componentstatuses"): (19, "v1 ComponentStatus is deprecated in v1.19+"),
    ("", "endpoints"): (
        33,
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
}


class DeadlineError(SmpError):
    """A request that takes too long."""

    default_code = "deadline"
    status = 504


async def dispatch(
    state: ServerState, request: Request, group: str, version: str, path: str
) -> ASGIApp:
    """Execute a request about objects, and return the answer.

    Raises UnknownResourceError.
    """
    target = await state.kinds.locate(group, version, path)
    response = await _respond(state, request, target)
    call: Call | None = request.scope.get(CALL)
    if call is not None and call.admission and isinstance(response, Response):
        for value in warning_headers(call.admission.warnings):
            response.raw_headers.append((b"warning", value))
    return response


async def _respond(state: ServerState, request: Request, target: Target) -> ASGIApp:
    # Errors are answered here, where the object that they concern is known.
    try:
        return await _execute(state, request, target)
    except MethodNotAllowedError as error:
        response = error_response(error, target)
        allowed = [method for method in METHODS if target.verb(method)]
        response.headers["allow"] = ", ".join(allowed)  # RFC 9110, 15.5.6
        return response
    except RelatedNotFoundError as error:
        # It is not the target that was not found.
        return error_response(error, error.target)
    except SmpError as error:
        return error_response(error, target)


async def _execute(state: ServerState, request: Request, target: Target) -> ASGIApp:
    verb = target.verb(request.method)
    if verb is None:
        raise MethodNotAllowedError(
            "the server does not allow this method on the requested resource"
        )
    call = Call(state, request, target, verb)
    is_watch = verb == "list" and call.list_options.watch
    if is_watch:
        call.verb = "watch"
    request.scope[CALL] = call  # for the log and the metrics
    # Watches take long, and have no deadline.
    if is_watch:
        if not target.resource.is_stored:
            raise MethodNotAllowedError(
                "the server does not allow this method on the requested resource"
            )
        if state.watches >= state.settings.max_watches:
            raise TooManyRequestsError("too many watches, please try again later")
        return watch(call)
    if state.requests_under_way >= state.settings.max_in_flight:
        raise TooManyRequestsError("too many requests, please try again later")
    state.in_flight += 1
    try:
        async with asyncio.timeout(state.settings.request_timeout):
            return _add_deprecation(call, await _operation(call)(call))
    except TimeoutError:
        raise DeadlineError(
            "the request did not complete within the allotted time"
        ) from None
    finally:
        state.in_flight -= 1


def _operation(call: Call) -> Callable[[Call], Awaitable[Response]]:
    target = call.target
    resource = target.resource
    action = _ACTIONS.get((*resource.key, target.subresource))
    return action or _OPERATIONS[call.verb]


def _add_deprecation(call: Call, response: Response) -> Response:
    """Add the warning that a resource is deprecated, in versions where it is."""
    deprecated = _DEPRECATED.get(call.target.resource.key)
    if deprecated:
        minor, text = deprecated
        digits = call.state.kinds.catalog.version.partition(".")[2]
        # A catalog of another version is as the newest one.
        if not digits.isdecimal() or int(digits) >= minor:
            for value in warning_headers([text]):
                response.raw_headers.append((b"warning", value))
    return response
