"""Objects that kustomize makes of a directory with a kustomization.yaml."""

from __future__ import annotations

from typing import Final

from smp.errors import DocumentError

# kubectl has a copy of kustomize.
_PROGRAMS: Final = (("kustomize", "build"), ("kubectl", "kustomize"))


def built(directory: str) -> bytes:
    """Return the YAML that kustomize makes of a directory.

    Raises DocumentError where it fails, or neither it nor kubectl is installed.
    """
    import shutil  # noqa: PLC0415  # 3 ms, and few runs need it
    import subprocess  # noqa: PLC0415  # 3 ms, and few runs need it

    for program, command in _PROGRAMS:
        path = shutil.which(program)
        if path is None:
            continue
        ran = subprocess.run(  # noqa: S603  # a program that the user asks for
            [path, command, "--", directory], capture_output=True, check=False
        )
        if ran.returncode == 0:
            return ran.stdout
        reason = ran.stderr.decode(errors="replace").strip()
        raise DocumentError(
            f"{program} {command} failed: {reason.removeprefix('error: ')}",
            code="kustomize-failed",
            source=directory,
        )
    raise DocumentError(
        "neither kustomize nor kubectl is installed to read a kustomization",
        code="no-kustomize",
        source=directory,
        hint="install one of them, or render it elsewhere: kustomize build DIR",
    )
