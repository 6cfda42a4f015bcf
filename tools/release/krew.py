"""Print the manifest by which krew installs ``kubectl smp``.

``python tools/release/krew.py TAG REPOSITORY_URL kubectl-smp-linux-amd64.tar.gz ...``:
each archive is one that executable.py made, and is a file of the release of the tag.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, Final

_ARCHIVE: Final = re.compile(
    r"kubectl-smp-(linux|darwin|windows)-(amd64|arm64)\.tar\.gz"
)
_DESCRIPTION: Final = """\
Shows what kubectl apply and an API server make of a manifest, a live object
and what was applied last, and why a field changes or does not: patches,
results, causes with proved remedies, hazards and owners. Lints manifests and
patches, compares states with normalizers, and serves a small API for tests.
"""


def manifest(tag: str, repository: str, archives: list[Path]) -> dict[str, Any]:
    """Return the manifest. Raises ValueError for a file that is no archive of ours."""
    platforms = []
    for archive in sorted(archives):
        named = _ARCHIVE.fullmatch(archive.name)
        if named is None:
            raise ValueError(f"{archive.name} is not kubectl-smp-OS-ARCH.tar.gz")
        ending = ".exe" if named[1] == "windows" else ""
        platforms.append(
            {
                "selector": {"matchLabels": {"os": named[1], "arch": named[2]}},
                "uri": f"{repository}/releases/download/{tag}/{archive.name}",
                "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
                "bin": f"kubectl-smp/kubectl-smp{ending}",
            }
        )
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "smp"},
        "spec": {
            "version": tag,
            "homepage": repository,
            "shortDescription": "Explain, lint and compute strategic merge patches",
            "description": _DESCRIPTION,
            "platforms": platforms,
        },
    }


def main() -> int:
    """Print the manifest, as JSON, which is YAML."""
    tag, repository, *archives = sys.argv[1:]
    written = manifest(tag, repository, [Path(archive) for archive in archives])
    sys.stdout.write(json.dumps(written, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
