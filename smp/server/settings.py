"""How a server behaves and where it listens, checked when it is configured."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final, get_args

import msgspec

from smp._values.options import BOOLEANS, require_options
from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.handler import Limits
from smp.schema.catalog import Catalog, kubernetes
from smp.unions import PROFILES, OnConflict

# Addresses that mean every address of the machine, and the one to reach them from here.
_CLIENT_HOSTS: Final = {
    "": "127.0.0.1",
    "0.0.0.0": "127.0.0.1",  # noqa: S104 - compared with, not bound to
    "::": "::1",
}


class SettingsError(SmpError):
    """Settings that contradict each other."""

    default_code = "invalid-settings"


class FeatureGates(msgspec.Struct, frozen=True):
    """Features that can be switched off, as with those of a kube-apiserver.

    Without ``APIUnions`` unions are neither normalized nor validated, and those that
    CustomResourceDefinitions declare are stored as they are (KEP-1027). Without
    ``OpenAPIEnums`` the built-in kinds have no enums (KEP-2887). The enums of custom
    resources are part of their structural schemas, and stay.
    """

    APIUnions: bool = True
    OpenAPIEnums: bool = True

    @classmethod
    def parse(cls, text: str) -> FeatureGates:
        """Read gates as ``OpenAPIEnums=false,APIUnions=true``.

        Raises SettingsError. Go: k8s.io/component-base, featuregate.Set.
        """
        states = _read_switches(text, "")
        for name in states:
            if name not in cls.__struct_fields__:
                raise SettingsError(
                    f"unrecognized feature gate: {name}",
                    hint="known are " + ", ".join(cls.__struct_fields__),
                )
        return cls(**states)


def _read_switches(text: str, default: str) -> dict[str, bool]:
    """Read ``NAME=BOOLEAN,...``; a name alone has the default. Raises SettingsError."""
    switches: dict[str, bool] = {}
    for entry in filter(None, text.split(",")):
        name, equals, value = entry.partition("=")
        name, value = name.strip(), value.strip() if equals else default
        if value not in BOOLEANS:
            # Go words the two in this way.
            problem = f"invalid value {'' if default else 'of '}{name}={value}"
            if not equals:
                problem = f"missing bool value for {name}"
            raise SettingsError(problem, hint=f"{name}=true or {name}=false")
        switches[name] = BOOLEANS[value]
    return switches


# What versions of a group are called that are not stable: v1alpha1, v2beta3.
_UNSTABLE: Final = re.compile(r"v\d+(?P<level>alpha|beta)\d+")


class RuntimeConfig(msgspec.Struct, frozen=True):
    """Which versions of the built-in groups are served, as by a kube-apiserver.

    Stable versions are, others have to be switched on: all of a level, ``alpha`` or
    ``beta``, or one by its group and version (API conventions, KEP-3136).
    """

    switches: dict[str, bool] = {}

    def serves(self, group: str, version: str) -> bool:
        """Tell whether a version is served; what names it most exactly counts."""
        # "v1" and "v2" are stable.
        unstable = _UNSTABLE.fullmatch(version)
        level = unstable["level"] if unstable else "ga"
        group_version = f"{group}/{version}" if group else version
        for name in (group_version, f"api/{level}", "api/all"):
            if name in self.switches:
                return self.switches[name]
        return level == "ga"

    @classmethod
    def parse(cls, text: str) -> RuntimeConfig:
        """Read switches as ``api/beta=true,resource.k8s.io/v1alpha3=true``.

        A name alone switches on. Raises SettingsError. Go: k8s.io/apiserver,
        pkg/server/options/api_enablement.go.
        """
        switches = _read_switches(text, "true")
        for name in switches:
            # The core group has no name: its version stands alone.
            if "/" not in name and name != "v1":
                raise SettingsError(
                    f"unknown api groups {name}",
                    hint="api/all, api/ga, api/beta, api/alpha, or GROUP/VERSION",
                )
        return cls(switches)


_CHOICES: Final[Mapping[str, Collection[str]]] = {
    "profile": PROFILES,
    "on_conflict": get_args(OnConflict),
}
_NUMBER: Final = (int, float)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "token": (str,),
    "catalog": (Catalog,),
    "feature_gates": (FeatureGates,),
    "runtime_config": (RuntimeConfig,),
    "ratchet": (bool,),
    "limits": (Limits,),
    "seed": (int, type(None)),
    **dict.fromkeys(("overlay", "webhooks"), (dict,)),
    **dict.fromkeys(("max_in_flight", "max_watches"), (int,)),
    **dict.fromkeys(("max_unsent", "max_arriving"), (int,)),
    **dict.fromkeys(("body_timeout", "request_timeout"), _NUMBER),
    **dict.fromkeys(("watch_timeout", "send_timeout"), _NUMBER),
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a server behaves; times are in seconds.

    ``catalog`` has the built-in kinds; ``overlay`` corrects them and the custom
    resources (smp.schema.overlay). ``runtime_config`` says which versions of the
    built-in groups are served. Without a ``token`` there is no authentication, and
    only requests addressed to this machine are answered. ``profile``, ``on_conflict``
    and ``ratchet`` are those of the handler's options. ``max_in_flight`` bounds the
    requests answered at one time, watches excepted; of these there are ``max_watches``.
    A request whose body has not arrived is none of these; of such bodies there are at
    most ``max_arriving`` bytes. A client that reads nothing of an answer for
    ``send_timeout`` is disconnected, and the slowest ones where clients have not read
    ``max_unsent`` bytes in all. With a ``seed`` the random parts of new objects, such
    as their uids, are the same in each run. ``webhooks`` says where webhooks are served
    that a configuration names as a service: ``{"shop/hooks": "http://127.0.0.1:9443"}``
    for the service hooks in the namespace shop. A name may go on with a path, or be the
    begin of a URL.
    """

    token: str = ""
    catalog: Catalog = msgspec.field(default_factory=kubernetes)
    overlay: JSONObject = msgspec.field(default_factory=dict)
    feature_gates: FeatureGates = FeatureGates()
    runtime_config: RuntimeConfig = msgspec.field(default_factory=RuntimeConfig)
    profile: str = "kep1027"
    on_conflict: OnConflict = "clear"
    ratchet: bool = True
    limits: Limits = msgspec.field(default_factory=Limits)
    max_in_flight: int = 400
    max_watches: int = 2000
    body_timeout: float = 30
    request_timeout: float = 60
    watch_timeout: float = 1800
    send_timeout: float = 30
    max_unsent: int = 64 << 20
    max_arriving: int = 128 << 20
    seed: int | None = None
    webhooks: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        """Raise SmpError (code invalid-option) for another value of a setting."""
        require_options(self, _CHOICES, _TYPES)

    @property
    def union_profile(self) -> str:
        """The profile of unions that is in force."""
        return self.profile if self.feature_gates.APIUnions else "off"

    def __repr__(self) -> str:
        # The token is a secret: it must not reach a log through the repr.
        return f"Settings(profile={self.profile!r}, limits={self.limits!r})"


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, and its certificate.

    ``authority`` is the certificate that clients are to trust. Port 0 is any free one.
    Raises SettingsError for a certificate without a key, and the reverse.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    def __post_init__(self) -> None:
        # Without a certificate the server speaks plain HTTP.
        if (self.certificate is None) != (self.key is None):
            raise SettingsError(
                "a certificate needs its key, and a key its certificate"
            )
        if self.authority and not self.certificate:
            raise SettingsError(
                "a certificate authority needs the certificate that it signed"
            )

    def check(self, settings: Settings) -> None:
        """Raise SettingsError where other machines could connect without a token."""
        # Without a token every client may do everything.
        if not settings.token and not is_loopback(self.host):
            raise SettingsError(
                f"listening on {self.host or 'every address'} needs a token",
                code="token-required",
                hint="without a token, listen on 127.0.0.1, ::1 or localhost",
            )

    def url(self, port: int) -> str:
        """Return the URL for clients on this machine, given the port that was bound."""
        host = _CLIENT_HOSTS.get(self.host, self.host)
        if ":" in host:  # an IPv6 address
            host = f"[{host}]"
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Tell whether a host, as it is written in a URL, can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
