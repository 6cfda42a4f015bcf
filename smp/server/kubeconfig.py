"""The kubeconfig with which clients reach a server."""

from __future__ import annotations

import os
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Final

from smp._values.values import JSONObject, as_list, as_object
from smp.documents import dump_yaml, read_one
from smp.errors import SmpError
from smp.server.settings import SettingsError

_NAME: Final = "smp"  # of the cluster, the user and the context


def kubeconfig(url: str, *, token: str = "", authority: bytes = b"") -> JSONObject:
    """Return the kubeconfig for a URL.

    ``authority`` is the PEM of the certificates to trust; empty: those of the system.
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


def check_kubeconfig(path: Path) -> None:
    """Raise SettingsError where a kubeconfig cannot be written to a path.

    A file that is not a kubeconfig of this server is not overwritten.
    """
    # A misspelled directory is not made: no client would find the file there.
    if not path.parent.is_dir():
        hint = f"mkdir -p {path.parent}"
        raise _unwritable(path, f"there is no directory {path.parent}", hint)
    try:
        may_write = not path.exists() or _may_overwrite(path.read_bytes())
    except OSError as error:
        raise _unwritable(path, error.strerror) from None
    if not may_write:
        raise SettingsError(
            f"{path} exists and was not written by smp serve",
            code="not-overwritten",
            hint="name another file",
        )


def write_kubeconfig(path: Path, config: JSONObject) -> None:
    """Write a kubeconfig atomically, readable by its owner only.

    Raises SettingsError, also rather than overwrite a file that is not a kubeconfig of
    this server.
    """
    check_kubeconfig(path)
    try:
        # A temporary file has mode 0600, and a rename replaces the old file at once.
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as temporary:
            try:
                temporary.write(dump_yaml([config]).encode())
                temporary.flush()
                os.fsync(temporary.fileno())
                Path(temporary.name).replace(path)
            except BaseException:
                Path(temporary.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise _unwritable(path, error.strerror) from None


def _unwritable(path: Path, problem: str | None, hint: str = "") -> SettingsError:
    problem = f"cannot write {path}: {problem}"
    return SettingsError(problem, code="unwritable", hint=hint)


def _may_overwrite(data: bytes) -> bool:
    """Tell whether a file is empty, or a kubeconfig with our one cluster."""
    # An empty file may have been made by mktemp, for this purpose.
    if not data.strip():
        return True
    try:
        config = as_object(read_one(data).value)
    except SmpError:
        return False
    # What was written before has our cluster and no other, so it can be replaced.
    clusters = as_list(config.get("clusters"))
    names = [cluster.get("name") for cluster in clusters if isinstance(cluster, dict)]
    return names == [_NAME]
