"""Requests about objects: from a path and a method to what is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from smp.errors import SmpError
from smp.handler import MethodNotAllowedError
from smp.server.endpoints.answers import refused
from smp.server.endpoints.call import CALL, Call
from smp.server.endpoints.deletes import delete, delete_collection
from smp.server.endpoints.lists import list_objects
from smp.server.endpoints.objects import create, get
from smp.server.endpoints.query import ListOptions
from smp.server.endpoints.updates import patch, update
from smp.server.endpoints.watching import watch
from smp.server.registry.api import API
from smp.server.registry.parents import ParentNotFoundError
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


class TooManyRequestsError(SmpError):
    """More requests at one time than the server takes."""

    default_code = "too-many-requests"
    status = 429


class DeadlineError(SmpError):
    """A request that takes too long."""

    default_code = "deadline"
    status = 504


async def dispatch(
    api: API, request: Request, group: str, version: str, path: str
) -> ASGIApp:
    """Do what a request asks for, and return the answer. Raises UnknownResourceError."""
    target = await api.kinds.locate(group, version, path)
    try:
        return await _call(api, request, target)
    except MethodNotAllowedError as error:
        response = refused(error, target)
        response.headers["allow"] = ", ".join(
            method for method in METHODS if target.verb(method)
        )
        return response
    except ParentNotFoundError as error:
        return refused(error, error.target)
    except SmpError as error:
        return refused(error, target)


async def _call(api: API, request: Request, target: Target) -> ASGIApp:
    verb = target.verb(request.method)
    if verb is None:
        raise MethodNotAllowedError(
            "the server does not allow this method on the requested resource"
        )
    is_watch = verb == "list" and ListOptions.read(request.query_params).watch
    call = Call(api, request, target, "watch" if is_watch else verb)
    request.scope[CALL] = call
    if is_watch:
        return watch(call)
    with _in_flight(api):
        try:
            async with asyncio.timeout(api.settings.request_timeout):
                return await _OPERATIONS[verb](call)
        except TimeoutError:
            raise DeadlineError(
                "the request did not complete within the allotted time"
            ) from None


@contextmanager
def _in_flight(api: API) -> Iterator[None]:
    gauge = api.metrics.in_flight
    if gauge.values[()] >= api.settings.max_in_flight:
        raise TooManyRequestsError("too many requests, please try again later")
    gauge.add(by=1)
    try:
        yield
    finally:
        gauge.add(by=-1)
