"""Who is answered: clients with the token or, without one, clients on this machine."""

from __future__ import annotations

from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from smp.errors import SmpError
from smp.handler.headers import read_header
from smp.server.settings import is_loopback

_OTHER_SITES: Final = ("cross-site", "same-site")
_PUBLIC: Final = frozenset({"/healthz", "/livez", "/readyz"})


class UnauthorizedError(SmpError):
    """A request without the token."""

    default_code = "unauthorized"
    status = 401


class NotLocalError(SmpError):
    """A request that is not addressed to this machine."""

    default_code = "forbidden"
    status = 403


class Guard:
    """The check of every request; an empty ``token`` means that none is needed."""

    def __init__(self, token: str) -> None:
        self._token = token

    def check(self, scope: Scope) -> None:
        """Raise UnauthorizedError or NotLocalError for a request to refuse."""
        # Probes of an orchestrator have no token, and may use the address of the pod.
        if scope["path"] in _PUBLIC:
            return
        if not self._token:
            _check_local(scope)
            return
        scheme, _, token = read_header(scope, b"authorization").partition(" ")
        # compare_digest takes the same time for every wrong token.
        is_right = compare_digest(token.strip().encode(), self._token.encode())
        if scheme.lower() != "bearer" or not is_right:
            raise UnauthorizedError("Unauthorized")


def _check_local(scope: Scope) -> None:
    """Refuse requests that a browser makes for a page from elsewhere.

    Such a request has the Origin of the page, or a Host name that was made to resolve
    to this machine (DNS rebinding). Images and the like are requested without an
    Origin, and Sec-Fetch-Site tells of which site the page is (Fetch Metadata Request
    Headers, W3C).
    """
    if read_header(scope, b"sec-fetch-site") in _OTHER_SITES:
        raise NotLocalError("requests for pages of other sites need a token")
    host, origin = read_header(scope, b"host"), read_header(scope, b"origin")
    for url in (host and f"//{host}", origin):
        if not url:  # clients other than browsers need not send them
            continue
        if not _is_local(url):
            raise NotLocalError(
                "requests from or to another host need a token: "
                f"{url.removeprefix('//'):.100}"
            )


def _is_local(url: str) -> bool:
    """Tell whether a URL, or the part of it with the host, is of this machine."""
    # A URL that cannot be parsed does not count as local.
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        name = ""
    return is_loopback(name)
