"""Where etcd is and how to connect to it, from the URL of a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import grpc
import msgspec

from smp.server.store.errors import StoreError

_PORT: Final = 2379
_COMPACTION: Final = 300.0  # seconds, the default of a kube-apiserver
_SYNTAX: Final = "etcd://HOST[:PORT][,HOST[:PORT]...][/ROOT][?OPTIONS]"
# kube-apiserver has the flags --etcd-cafile, --etcd-compaction-interval and so on.
_FILES: Final = ("cafile", "certfile", "keyfile", "password-file")
_OPTIONS: Final = (*_FILES, "user", "compaction-interval")


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The members of an etcd, and what they ask for.

    The files are PEM. Without an ``authority`` that of the system counts.
    """

    addresses: Sequence[str]
    root: str = "smp"
    tls: bool = False
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password_file: Path | None = None
    compaction_interval: float = _COMPACTION

    @classmethod
    def parse(cls, url: str) -> Endpoints:
        """Read a URL, with TLS where the scheme is ``etcds``. Raises StoreError."""
        try:
            parts = urlsplit(url)
            options = dict(
                parse_qsl(parts.query, strict_parsing=True) if parts.query else ()
            )
            addresses = [_address(text) for text in parts.netloc.split(",")]
            interval = float(options.get("compaction-interval", _COMPACTION))
        except ValueError:
            raise _invalid("the URL of etcd is " + _SYNTAX) from None
        root = parts.path.strip("/") or "smp"
        # Credentials in a URL would be seen in the list of processes.
        if "@" in parts.netloc or parts.fragment or "/" in root:
            raise _invalid("the URL of etcd is " + _SYNTAX)
        for name in options:
            if name not in _OPTIONS:
                raise _invalid(
                    f"unknown option {name}, known are {', '.join(_OPTIONS)}"
                )
        tls = parts.scheme == "etcds"
        files = {name: Path(options[name]) for name in _FILES if name in options}
        if not tls and files.keys() - {"password-file"}:
            raise _invalid("certificates need TLS: etcds://")
        if ("certfile" in files) != ("keyfile" in files):
            raise _invalid("a certfile needs its keyfile, and a keyfile its certfile")
        if ("user" in options) != ("password-file" in files):
            raise _invalid("a user needs a password-file, and the reverse")
        return cls(
            addresses=addresses,
            root=root,
            tls=tls,
            authority=files.get("cafile"),
            certificate=files.get("certfile"),
            key=files.get("keyfile"),
            user=options.get("user", ""),
            password_file=files.get("password-file"),
            compaction_interval=interval,
        )

    def check_files(self) -> None:
        """Raise StoreError where a file cannot be read."""
        for path in (self.authority, self.certificate, self.key, self.password_file):
            _read(path)

    def password(self) -> str:
        """Return the first line of the file with the password."""
        content = _read(self.password_file) or b""
        return content.decode().partition("\n")[0]

    def channel(self, address: str, options: Sequence[tuple[str, int]]) -> Any:
        """Make a channel to a member, which is not connected yet."""
        if not self.tls:
            return grpc.aio.insecure_channel(address, options=options)
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_read(self.authority),
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )
        return grpc.aio.secure_channel(address, credentials, options=options)


def _address(text: str) -> str:
    """Return HOST:PORT. Raises ValueError."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("no host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{parts.port or _PORT}"


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}", code="unusable-store"
        ) from None


def _invalid(problem: str) -> StoreError:
    return StoreError(problem, code="invalid-store-url")
