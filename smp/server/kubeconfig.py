"""The kubeconfig that leads clients to a server."""

from __future__ import annotations

import os
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Final

from smp.documents import dump_yaml, read_one
from smp.errors import SmpError
from smp.server.settings import SettingsError
from smp.values import JSON, JSONObject, as_list

_NAME: Final = "smp"


def kubeconfig(url: str, *, token: str = "", authority: bytes = b"") -> JSONObject:
    """Return the kubeconfig for a URL; ``authority`` is the PEM of the certificates to
    trust, beside none.
    """
    cluster: JSONObject = {"server": url}
    if authority:
        cluster["certificate-authority-data"] = b64encode(authority).decode()
    user: JSONObject = {"token": token} if token else {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
        "current-context": _NAME,
    }


def write_kubeconfig(path: Path, config: JSONObject) -> None:
    """Write a kubeconfig, whole or not at all, readable by its owner only.

    Raises SettingsError rather than overwrite what is not a kubeconfig of this server,
    and OSError.
    """
    if path.exists() and not _is_own(path.read_bytes()):
        raise SettingsError(
            f"{path} exists and was not written by smp serve",
            code="not-overwritten",
            hint="name another file",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as fresh:
        try:
            # the file is created with mode 0600
            fresh.write(dump_yaml([config]).encode())
            fresh.flush()
            os.fsync(fresh.fileno())
            Path(fresh.name).replace(path)
        except BaseException:
            Path(fresh.name).unlink(missing_ok=True)
            raise


def _is_own(data: bytes) -> bool:
    if not data.strip():
        return True
    try:
        config = read_one(data).value
    except SmpError:
        return False
    clusters: JSON = config.get("clusters") if isinstance(config, dict) else None
    return [one.get("name") for one in as_list(clusters) if isinstance(one, dict)] == [
        _NAME
    ]
