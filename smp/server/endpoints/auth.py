"""Who may ask: the bearer of the token, or, without one, a program on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from smp.errors import SmpError
from smp.server.settings import is_loopback

_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz"})


class UnauthorizedError(SmpError):
    """A request without the token."""

    default_code = "unauthorized"
    status = 401


class StrangerError(SmpError):
    """A request that does not come from this machine."""

    default_code = "forbidden"
    status = 403


@dataclass(frozen=True, slots=True)
class Guard:
    """The check of every request; ``token`` empty: none is needed."""

    token: str

    def check(self, path: str, headers: Headers) -> None:
        """Raise UnauthorizedError or StrangerError where a request is not to be
        answered. Health is public.
        """
        if path in _OPEN:
            return
        if self.token:
            self._authenticate(headers)
        else:
            _refuse_browsers(headers)

    def _authenticate(self, headers: Headers) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not compare_digest(
            token.strip().encode(), self.token.encode()
        ):
            raise UnauthorizedError("Unauthorized")


def _refuse_browsers(headers: Headers) -> None:
    """Refuse what a page from elsewhere has a browser ask for: by an Origin, or by a
    name rebound to this machine.
    """
    host, origin = headers.get("host"), headers.get("origin")
    for url in (host and f"//{host}", origin):
        if url and not is_loopback(_host(url)):
            raise StrangerError(
                f"without a token only this machine is served, not {url.removeprefix('//'):.100}"
            )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
