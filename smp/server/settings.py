"""How a server behaves and where it listens, checked when it is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from smp.errors import SmpError
from smp.handler import Limits
from smp.schema.catalog import Catalog, kubernetes


class SettingsError(SmpError):
    """Settings that do not go together."""

    default_code = "invalid-settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a server behaves; times are in seconds.

    Without a ``token`` there is no authentication, and only requests that are addressed
    to this very machine are answered. ``max_in_flight`` bounds the requests answered at
    one time, watches excepted. A watcher that takes nothing for ``send_timeout`` is
    given up.
    """

    token: str = field(default="", repr=False)
    catalog: Catalog = field(default_factory=kubernetes, repr=False)
    profile: str = "kep1027"
    limits: Limits = field(default_factory=Limits)
    max_in_flight: int = 400
    body_timeout: float = 30
    request_timeout: float = 60
    watch_timeout: float = 1800
    send_timeout: float = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Where a server listens, and its certificate; ``authority`` is the certificate of
    who signed it.

    Port 0 is any free one. Raises SettingsError for a certificate without a key.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise SettingsError(
                "a certificate needs its key, and a key its certificate"
            )
        if self.authority and not self.certificate:
            raise SettingsError(
                "a certificate authority without a certificate that it signed"
            )

    def check(self, settings: Settings) -> None:
        """Refuse to be reached from other machines without a token. Raises
        SettingsError.
        """
        if not settings.token and not is_loopback(self.host):
            raise SettingsError(
                f"listening on {self.host or 'every address'} needs a token",
                code="token-required",
                hint="without one, only this machine is served: 127.0.0.1, ::1 or localhost",
            )

    def url(self, port: int) -> str:
        """Return the URL for clients on this machine, given the port that was bound."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(
            self.host, self.host
        )
        scheme = "https" if self.certificate else "http"
        return (
            f"{scheme}://[{host}]:{port}"
            if ":" in host
            else f"{scheme}://{host}:{port}"
        )


def is_loopback(host: str) -> bool:
    """Tell whether a host, as one writes it in a URL, is this machine and nothing else."""
    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
