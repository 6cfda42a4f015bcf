"""A certificate of this machine, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """Return the files of a certificate and of its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate")
    certificate, key = directory / "tls.crt", directory / "tls.key"
    command = [
        *(openssl, "req", "-x509", "-nodes", "-days", "1"),
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        *("-out", str(certificate), "-keyout", str(key)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
